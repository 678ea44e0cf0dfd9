"""Inputs of kernel 0: where a normaliser divides by what vanishes with an input, that has no direction and no image."""

from __future__ import annotations

import sympy as sp

from ...core.errors import SymresError
from ...functions.balls import enclose
from .walk import Walk

_BITS = 64
_NOTHING = 1e-12  # more is left of what does not vanish
_ANY = sp.Rational(7, 10)  # a value for parameters


def needs_direction(walk: Walk) -> bool:
    """Whether a normaliser of the layer divides by 0 at an input of kernel 0, whatever the parameters are."""
    return any(_vanishes(walk, divisor) for divisor in walk.program.divisors)


def _vanishes(walk: Walk, divisor: sp.Expr) -> bool:
    value = walk.at(divisor, walk.first)
    for name, meaning in reversed(walk.assignments):
        value = value.xreplace({name: meaning})
    value = value.subs(dict.fromkeys(walk.arguments, sp.Integer(0)))
    values = {s: -_ANY if s.is_nonpositive else _ANY for s in value.free_symbols}
    try:
        size = abs(enclose(value.subs(values), {}, _BITS))
    except SymresError:
        return False
    return bool(size < _NOTHING)
