"""Numbers of a declared formula, evaluated by code that SymPy writes.

Reading order: ``numeric_formula`` (evaluation and switching points), ``rounding_noise`` (digits that doubles lose),
``steepness`` (jumps and roots, which make chi_perp infinite).
"""
