"""Averages of products of signs of Gaussian variables: the special functions in which averages close.

``S2(h, k, r)``   ``<sgn(h + x) sgn(k + y)>`` of standard normal x, y with correlation r
``Q2(h, k, r)``   the probability that ``x > h`` and ``y > k``, the upper tail of the bivariate normal law
``S4(r12, ...)``  ``<sgn(x1) sgn(x2) sgn(x3) sgn(x4)>`` of centred variables, six correlations
``T4(r)``         S4 where all correlations are r

``sign_functions`` declares them as sympy functions with derivatives; ``plackett`` encloses their values to any
precision, and ``correlations`` has the algebra of the six correlations of four variables.
"""

from .sign_functions import NUMBERS, Q2, S2, S4, SPECIAL, T4, legend

__all__ = ["NUMBERS", "Q2", "S2", "S4", "SPECIAL", "T4", "legend"]
