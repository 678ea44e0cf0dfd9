"""Ball arithmetic: rigorous evaluation of sympy expressions with python-flint.

A ball ``[m +/- r]`` contains the exact value of the expression for every point of the balls put in. An expression is
compiled once to a straight-line program over its distinct nodes; the program runs on real balls (``arb``) and on
complex ones (``acb``), for which every instruction honours the ``analytic`` flag of ``acb.integral``.

Some sums are rewritten on the way, because they cancel or make balls overflow although the function is harmless:
``log(1 + exp(u))``, ``c*exp(u) - c``, ``c - c*erf(u)``, ``c - c*tanh(u)**2``, ``c + c*tanh(u)``; quotients, roots,
logarithms and inverse functions of sums of exponentials.

A real formula is taken at its word: where a ball sticks out of the domain of a root or an inverse sine (``sqrt`` of
``0 +/- 1e-20``), only the part inside the domain can hold the true point, and only that part is used.
"""

from .compiler import Ball, CompiledExpression, compile_ball
from .enclosure import as_float, enclose, evaluate, to_ball, value_and_radius

__all__ = [
    "Ball",
    "CompiledExpression",
    "as_float",
    "compile_ball",
    "enclose",
    "evaluate",
    "to_ball",
    "value_and_radius",
]
