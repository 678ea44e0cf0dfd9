"""Roots of equations in the kernel, from a search on a grid to numbers of any precision.

Reading order: ``bracketing.py`` (all zeros on a grid of kernels), ``implicit_number.py`` (a number that an equation
defines, as a sympy expression), ``root.py`` (the root of one equation), ``system_root.py`` (of three equations).
"""
