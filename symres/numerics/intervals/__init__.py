"""Interval arithmetic with exact, open and infinite ends: proofs about all z of an interval.

Reading order: ``arithmetic.py`` (intervals and the elementary functions on them), ``evaluation.py`` (the range of an
expression; from it the sign of a constant, and the values of parameters that their assumptions admit).
"""
