"""The law of one neuron at two times l < m, with a kernel of its own at each.

The stream is a Markov process: what happened at time l is known later only through the stream ``z^{l+1}`` that it made,
whose memory at time m is the product of the weights of the skip connections between, ``rho_{l+1} ... rho_{m-1}``.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.symbols import K1, K2, z
from ...layers.program import Program
from ..finite_width.layer_response import FluctuatingWalk
from ..walk.linear_forms import Place
from ..walk.walk import Kernel

EARLIER, LATER = 1, 2
AT_BOTH: Kernel = {(EARLIER, EARLIER): K1, (LATER, LATER): K2}
memory = sp.Symbol("m", real=True)  # of z^{l+1} at the later time


@dataclass
class TwoTimes(FluctuatingWalk):
    """The walk of one input whose neurons may be asked for at two times, ``mean((u, EARLIER), (v, LATER))``."""

    @classmethod
    def of(cls, program: Program) -> TwoTimes:
        """The law for kernels K1 at the earlier time and K2 at the later one."""
        return cls(program, AT_BOTH)

    @property
    def weight(self) -> sp.Expr:
        """rho: the weight of a neuron in the next stream, at the earlier time."""
        return dict(self.out(EARLIER)).get((z, EARLIER), sp.Integer(0))

    def names_at(self, time: int) -> list[sp.Symbol]:
        """The names of the averages at one time, in the order in which the layer computes them."""
        return [name for name, average in self.averages.items() if average.factors[0][1] == time]

    def _at_places(self, one: Place, other: Place) -> sp.Expr:
        (source, time), (later, later_time) = sorted((one, other), key=lambda place: place[1])
        if time == later_time:
            return super()._at_places((source, time), (later, time))
        if later != z:  # drawn afresh
            return sp.Integer(0)
        weight = dict(self.out(EARLIER)).get((source, EARLIER), sp.Integer(0))
        return weight * self.covariance(source, EARLIER, EARLIER) * memory
