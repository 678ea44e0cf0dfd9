"""Asymptotic expansions of ``<f>_K`` in powers of the variance K.

``puiseux.py`` has the series of formulas in powers of z, near 0 and, of algebraic ones, far out. ``variance_series.py``
makes the series at small K of it, and has that at large K: ``tail_decomposition.py`` splits f into a polynomial and a
remainder that decays exponentially, the moments of the remainder are exact in ``exact_tail_moments.py``, which also has
remainders that decay like a power of 1/z, and enclosed numerically in ``tail_moments.py``. ``truncation.py`` compares
an expansion with numbers and says for which K it is accurate.
"""
