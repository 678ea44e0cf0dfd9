"""Numbers of a declared formula, evaluated by code that SymPy writes.

Reading order: ``numeric_formula`` (evaluation, switching points, jumps and roots, which make chi_perp infinite),
``rounding_noise`` (digits that doubles lose).
"""
