"""Asymptotic expansions of ``<f>_K`` in powers of the variance K.

``small_variance.py`` is the series at small K, from the Taylor coefficients of f at 0. ``large_variance.py`` is the
series at large K: ``tail_decomposition.py`` splits f into a polynomial and a remainder that decays exponentially,
``algebraic_tails.py`` does so where the remainder decays like a power of 1/z; the moments of the remainder are exact in
``exact_tail_moments.py`` and enclosed numerically in ``tail_moments.py``. ``truncation.py`` compares an expansion with
numbers and says for which K it is accurate.
"""
