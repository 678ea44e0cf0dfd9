"""Averages of two piecewise functions as fixed sums of elementary terms, by Price's theorem.

``fixed_sum.py``: a sum over nodes that never change, as a node of formulas. ``correlation_path.py``: the way from
independent or parallel inputs to those of a given covariance, along which averages are integrated. ``piecewise_law.py``
and ``exponential_law.py``: averages over one variable of functions whose pieces are polynomials, or decaying
exponentials beside them; ``delta_averages.py``: those with delta functions. ``polynomial_pieces.py`` and
``exponential_pieces.py``: the averages of two such functions; ``pair_average.py``: of any pair for which there is a
sum; ``slopes.py``: their derivatives. ``written_code.py``: the parts of such an expression in straight-line code.
"""
