"""Functions of one kernel as piecewise Chebyshev polynomials of a transformed variable.

Read ``chebyshev`` first; ``asymptotics`` finds the behaviour at K = 0 and the largest kernel with a number.
"""
