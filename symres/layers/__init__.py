"""Layers as forward equations, and the straight-line program that each of them lowers to.

A layer is declared once, ``gamma*z + Dense(phi(z))``: the theory walks its program, the oracles its equation, and the
two meet nowhere else. Reading order: ``nodes`` (what an equation is made of besides algebra), ``normalisation`` (nodes
that measure a layer), ``program`` (lowering to averages and draws), ``layer`` (a declared layer), ``architectures``
(the usual layers), ``equation_parser`` (layers as text).
"""
