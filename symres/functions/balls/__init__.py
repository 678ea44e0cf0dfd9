"""Ball arithmetic: rigorous evaluation of sympy expressions with python-flint.

A ball ``[m +/- r]`` contains the exact value of the expression for every point of the balls put in.

Read ``enclosure`` first (what callers ask for), then ``compiler`` (a straight-line program over the distinct nodes of
an expression), with sums of exponentials in ``exponential_forms`` and error functions far out in ``far_form``.

A real formula is taken at its word: where a ball sticks out of the domain of a root (``sqrt`` of ``0 +/- 1e-20``),
only the part inside of the domain can hold the true point, and only that part is used.
"""

from .compiler import Ball as Ball
from .compiler import CompiledExpression as CompiledExpression
from .compiler import compile_ball as compile_ball
from .enclosure import Number as Number
from .enclosure import as_float as as_float
from .enclosure import as_mpf as as_mpf
from .enclosure import enclose as enclose
from .enclosure import evaluate as evaluate
from .enclosure import exact_middle as exact_middle
from .enclosure import to_ball as to_ball
from .enclosure import value_and_radius as value_and_radius
