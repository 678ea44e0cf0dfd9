"""Gaussian averages ``<f(x1) g(x2)>``: exact, as a series, or as numbers with an error bound. Knows no network.

Reading order; a room uses only rooms that stand before it:

1. ``quadrature``: an average as a ball, a number with a proved error bound.
2. ``algebra``: the canonical form in which equal closed forms are equal expressions.
3. ``calculus``: ``Expectation``, the unevaluated average, and its derivatives by Price's theorem and Stein's lemma.
4. ``closed_form``: the exact engine; ``average.py`` derives a closed form and verifies it by quadrature.
5. ``expansions``: series in the variance, for small variances and for large ones.
"""
