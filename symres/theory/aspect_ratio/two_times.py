"""The law of one neuron at two times of a stationary stream, l and l + d with d >= 1.

The stream is a Markov process: what happened at time l is known later only through the stream ``z^{l+1}`` that it made,
whose memory at time l + d is ``rho^{d-1}``, with rho the weight of the skip connection.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.symbols import z
from ..finite_width.layer_response import FluctuatingWalk
from ..walk.linear_forms import Place

EARLIER, LATER = 0, 1
memory = sp.Symbol("m", real=True)  # rho^{d-1}, bound in a sum over d


@dataclass
class TwoTimes(FluctuatingWalk):
    """The walk of one input whose neurons may be asked for at two times, ``mean((u, EARLIER), (v, LATER))``."""

    def at(self, expression: sp.Expr, a: int) -> sp.Expr:
        """An expression with the statistics, which are those of any time."""
        return super().at(expression, EARLIER)

    def _at_places(self, one: Place, other: Place) -> sp.Expr:
        (source, time), (later, later_time) = sorted((one, other), key=lambda place: place[1])
        if time == later_time:
            return super()._at_places((source, EARLIER), (later, EARLIER))
        if later != z:  # drawn afresh
            return sp.Integer(0)
        weight = dict(self.out(EARLIER)).get((source, EARLIER), sp.Integer(0))
        return weight * self.covariance(source, EARLIER, EARLIER) * memory
