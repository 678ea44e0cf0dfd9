"""Asymptotic expansions of ``<f>_K`` in powers of the variance K.

``small_variance.py`` is the series at small K, from the Taylor coefficients of f at 0. ``large_variance.py`` is the
series at large K: ``tail_decomposition.py`` splits f into a polynomial and a remainder that decays exponentially,
the moments of the remainder are exact in ``exact_tail_moments.py``, which also has remainders that decay like a power
of 1/z, and enclosed numerically in ``tail_moments.py``. ``truncation.py`` compares an expansion with
numbers and says for which K it is accurate.
"""
