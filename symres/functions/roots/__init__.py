"""Roots of equations in the kernel, from a search on a grid to numbers of any precision.

``bracketing`` finds all zeros on a grid of kernels, ``root`` has the numbers that one equation, or three, define.
"""
