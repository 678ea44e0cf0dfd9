"""Theories as walks over the program of a layer."""
