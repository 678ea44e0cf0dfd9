"""Functions of one kernel as piecewise Chebyshev polynomials of a transformed variable.

Read ``chebyshev`` first; ``small_kernel`` finds the behaviour at K = 0, ``overflow`` the largest kernel with a number.
"""
