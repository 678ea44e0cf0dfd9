"""Functions in double precision that are enclosed with balls where a part of their formula overflows.

The slope of ``log(1 + exp(z))``, written ``exp(z)/(1 + exp(z))``, is infinity by infinity in double precision from
z = 710 on, though it is 1 there. Ball arithmetic has no largest number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import sympy as sp
from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...core.symbols import z
from ...numerics.balls.compiler import compile_ball
from ..finite_width.float_averages import FunctionLibrary
from ..finite_width.float_quadrature import Array, FloatFunction

_BITS = 128


class EnclosedFunction(FloatFunction):
    """A function between its breakpoints, for arrays, without overflow on the way to finite values."""

    @cached_property
    def _parts(self) -> list[Callable[..., Array | float]]:
        arguments = [z, *self.parameters]
        return [
            _enclosed(sp.lambdify(arguments, part, modules="scipy", cse=True), part, arguments)
            for part in self.pieces.parts
        ]


class EnclosedLibrary(FunctionLibrary):
    """The functions of one layer, each compiled once."""

    def __getitem__(self, pieces: PiecewiseFunction) -> FloatFunction:
        return self._known.setdefault(pieces, EnclosedFunction(pieces))


def _enclosed(
    fast: Callable[..., Array | float], part: sp.Expr, arguments: list[sp.Symbol]
) -> Callable[..., Array | float]:
    """The same function, with the middles of balls where it is no finite number."""

    def values(w: Array, *parameters: float) -> Array | float:
        found = fast(w, *parameters)
        if np.all(np.isfinite(found)):
            return found
        program = compile_ball(part, arguments)
        found = np.array(np.broadcast_to(found, w.shape), dtype=float)
        missing = ~np.isfinite(found)
        with ctx.workprec(_BITS):
            fixed = [arb(p) for p in parameters]
            balls = [program([arb(place), *fixed]) for place in w[missing].tolist()]
            found[missing] = [float(b.mid()) if b.is_finite() else np.nan for b in balls]
        return found

    return values
