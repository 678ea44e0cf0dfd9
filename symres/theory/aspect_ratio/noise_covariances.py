"""What each neuron adds to the next kernel by itself, H, and how that goes with what it adds later.

A layer sees its neurons through empirical averages ``(1/n) sum_i F_s(neuron i)``. One neuron's share of n times the
next kernel is ``H = sum_s w_s (F_s - <F_s>)``, with w_s the total derivative of the kernel in the average s.

Of one neuron at two times l < m, the stream is a Markov process: what happened at time l is known later only through
the stream ``z^{l+1}`` that it made, whose memory at time m is the product of the weights of the skip connections
between, ``rho_{l+1} ... rho_{m-1}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K1, K2, C, K, z
from ...layers.program import Program
from ..finite_width.layer_response import FluctuatingWalk, LayerResponse, total_slopes
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


@dataclass(frozen=True)
class TermAcross:
    """A term of ``Cov(H^l, H^m)``: that of two averages s and t of the layer.

    Args:
        averages: the names of s and t in the law of one time.
        factor: of the covariance.
        scale: by which the averages multiply F_s and F_t, over the number of neurons.
        covariance: of F_s at the earlier time and F_t at the later one.
    """

    averages: tuple[sp.Symbol, sp.Symbol]
    factor: sp.Expr
    scale: sp.Expr
    covariance: sp.Expr


@dataclass(frozen=True)
class NoiseCovariances:
    """The covariances of H, in the names that ``response`` and ``walk`` give the averages.

    Args:
        program: the layer.
    """

    program: Program

    @cached_property
    def response(self) -> LayerResponse:
        """The layer at one time, with kernel K."""
        return LayerResponse(self.program)

    @cached_property
    def walk(self) -> TwoTimes:
        """The layer at two times, with kernels K1 and K2."""
        return TwoTimes.of(self.program)

    @cached_property
    def weights(self) -> dict[sp.Symbol, sp.Expr]:
        """What each average's noise adds to the next kernel.

        Raises:
            NoClosedForm: averages shift the mean of the stream, which has a memory of its own.
        """
        response = self.response
        _, (means, weights) = total_slopes(response.slopes_after, response.slopes, response.state)
        if any(weight != 0 for weight in means):
            raise NoClosedForm(
                "the growth of the vertex",
                "averages in the layer shift the mean of preactivations",
                "ask for vertex(depth, K) at some depths",
            )
        return {s: w for s, w in zip(response.averages, weights, strict=True) if w != 0}

    @cached_property
    def within_layer(self) -> sp.Expr:
        """``Cov(H, H)`` at the kernel K."""
        pairs = ((s, t) for s in self.weights for t in self.weights)
        return sp.Add(*(self.weights[s] * self.weights[t] * self.response.covariance(s, t) for s, t in pairs))

    @cached_property
    def terms_across(self) -> tuple[TermAcross, ...]:
        """The terms of ``Cov(H^l, H^m)``, l < m, at the kernels K1 and K2 and with the memory m of ``z^{l+1}``."""
        found = []
        for s, one in self.weights.items():
            for t, other in self.weights.items():
                first, second = self.response.averages[s], self.response.averages[t]
                if first.width != second.width:
                    continue
                before, after = self._factors(s, EARLIER), self._factors(t, LATER)
                covariance = self.walk.mean(*before, *after) - self.walk.mean(*before) * self.walk.mean(*after)
                factor = one.xreplace(self._names_at(EARLIER)) * other.xreplace(self._names_at(LATER))
                found.append(TermAcross((s, t), factor, first.weight * second.weight / first.width, covariance))
        return tuple(found)

    @cached_property
    def across_layers(self) -> sp.Expr:
        """``Cov(H^l, H^m)`` at the kernels K1 and K2 of streams with the covariance C.

        Raises:
            NoClosedForm: neurons remember more than their stream.
        """
        found = sp.Add(*(t.factor * t.scale * t.covariance for t in self.terms_across))
        if not found.has(memory):
            return found
        if self.walk.weight == 0:
            raise NoClosedForm(
                "the memory of a layer",
                "the layer passes on neurons that it averages over, but not its input",
                "ask for vertex(depth, K)",
            )
        return found.xreplace({memory: C / (self.walk.weight * K1)})

    @cached_property
    def with_next_square(self) -> sp.Expr:
        """``Cov(H, z'^2)`` of one neuron and its next stream, at the kernel K."""
        total = sp.Integer(0)
        square = [(z, LATER), (z, LATER)]
        for s, one in self.weights.items():
            average = self.response.averages[s]
            if average.width != 1:
                continue
            before = self._factors(s, EARLIER)
            both = self.walk.mean(*before, *square) - self.walk.mean(*before) * self.walk.mean(*square)
            now = self.at_one_kernel(both).subs(memory, 1)  # the variance of the next stream cancels, whatever it is
            total += one * average.weight * sp.Add(*(sp.expand_mul(term, deep=False) for term in sp.Add.make_args(now)))
        return total

    def at_one_kernel(self, expression: sp.Expr) -> sp.Expr:
        """An expression of two times whose kernels are the same, in the names of one time."""
        back = {name: own for time in (EARLIER, LATER) for own, name in self._names_at(time).items()}
        return expression.xreplace(back)

    def _names_at(self, time: int) -> dict[sp.Symbol, sp.Symbol]:
        """The names at one of two times, by those of one time."""
        named = dict(zip(self.response.averages, self.walk.names_at(time), strict=True))
        return {**named, K: K1 if time == EARLIER else K2}

    def _factors(self, average: sp.Symbol, time: int) -> Sequence[tuple[sp.Expr, int]]:
        return [(u, time) for u, _ in self.response.averages[average].factors]
