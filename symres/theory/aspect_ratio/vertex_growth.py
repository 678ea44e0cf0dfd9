"""What each neuron adds to the next kernels, now and later, and how fast the four-point vertex grows by that.

A layer sees its neurons through empirical averages ``(1/n) sum_i F_s(neuron i)``. One neuron's share of n times the
next kernel is ``H = sum_s w_s (F_s - <F_s>)``, with w_s the total derivative of the kernel in the average s. Of one
neuron at two times l < m, the stream is a Markov process: what happened at time l is known later only through the
stream ``z^{l+1}`` that it made, whose memory at time m is the product of the weights of the skip connections between,
``rho_{l+1} ... rho_{m-1}``.

At a critical point ``V^l = nu l (K^l)^2 + O(1)``: each layer adds the covariance of its noise H with itself and, twice,
with that of all layers before. What neurons remember beside it, the influence G, stays bounded. Where the response of
the kernel is 1 (K = K*), V grows by

    nu K*^2 = Cov(H, H) + 2 sum_{d >= 1} Cov(H^l, H^{l+d}).

Where K flows to 0 as ``dK/dl = -a K^m``, small variations of the kernel shrink with it:
``dV/dl = -2 m a K^{m-1} V + N K^2`` with the N of the layer at small kernels. Its solution is ``V = N K^2 l/3`` for
every m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import sympy as sp

from ...activations.atom import Formula, Phi
from ...activations.piecewise import derivative, value_at
from ...core.errors import NoClosedForm
from ...core.symbols import K1, K2, C, K, z
from ...gaussian.expansions.variance_series import sides_of_zero
from ...layers.layouts import TWO_INPUTS, Label
from ...layers.program import Draw, Instruction, Program
from ..finite_width.layer_response import FluctuatingWalk, LayerResponse, total_slopes
from ..walk.linear_forms import Place
from ..walk.walk import Kernel
from .geometric_sum import GeometricSum

EARLIER, LATER = Label(1), Label(2)
AT_BOTH: Kernel = {(EARLIER, EARLIER): K1, (LATER, LATER): K2}
memory = sp.Symbol("m", real=True)  # of z^{l+1} at the later time
FLOW_TO_ZERO = sp.Rational(1, 3)


@dataclass
class TwoTimes(FluctuatingWalk):
    """The walk of one input whose neurons may be asked for at two times, ``mean((u, EARLIER), (v, LATER))``."""

    @property
    def weight(self) -> sp.Expr:
        """rho: the weight of a neuron in the next stream, at the earlier time."""
        return dict(self.out(EARLIER)).get((z, EARLIER), sp.Integer(0))

    def _at_places(self, one: Place, other: Place) -> sp.Expr:
        (source, time), (later, later_time) = sorted((one, other), key=lambda place: place[1])
        if time == later_time:
            return super()._at_places((source, time), (later, time))
        if later != z:  # drawn afresh
            return sp.Integer(0)
        weight = dict(self.out(EARLIER)).get((source, EARLIER), sp.Integer(0))
        return weight * self.covariance(source, EARLIER, EARLIER) * memory


class TermAcross(NamedTuple):
    """A term ``factor*scale*covariance`` of ``Cov(H^l, H^m)``: that of two averages s and t of the layer."""

    averages: tuple[sp.Symbol, sp.Symbol]  # their names in the law of one time
    factor: sp.Expr
    scale: sp.Expr  # by which the averages multiply F_s and F_t, over the number of neurons
    covariance: sp.Expr  # of F_s at the earlier time and F_t at the later one


@dataclass(frozen=True)
class NoiseCovariances:
    """The covariances of H of a layer, in the names that ``response`` and ``walk`` give the averages."""

    program: Program

    @cached_property
    def response(self) -> LayerResponse:
        """The layer at one time, with kernel K."""
        return LayerResponse(self.program)

    @cached_property
    def walk(self) -> TwoTimes:
        """The layer at two times, with kernels K1 and K2."""
        return TwoTimes(self.program, TWO_INPUTS, AT_BOTH)

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
        terms = []
        for s, one in self.weights.items():
            for t, other in self.weights.items():
                first, second = self.response.averages[s], self.response.averages[t]
                if first.width != second.width:
                    continue
                before, after = self._factors(s, EARLIER), self._factors(t, LATER)
                covariance = self.walk.mean(*before, *after) - self.walk.mean(*before) * self.walk.mean(*after)
                factor = one.xreplace(self._names_at(EARLIER)) * other.xreplace(self._names_at(LATER))
                terms.append(TermAcross((s, t), factor, first.weight * second.weight / first.width, covariance))
        return tuple(terms)

    @cached_property
    def across_layers(self) -> sp.Expr:
        """``Cov(H^l, H^m)`` at the kernels K1 and K2 of streams with the covariance C.

        Raises:
            NoClosedForm: neurons remember more than their stream.
        """
        total = sp.Add(*(t.factor * t.scale * t.covariance for t in self.terms_across))
        if not total.has(memory):
            return total
        if self.walk.weight == 0:
            raise NoClosedForm(
                "the memory of a layer",
                "the layer passes on neurons that it averages over, but not its input",
                "ask for vertex(depth, K)",
            )
        return total.xreplace({memory: C / (self.walk.weight * K1)})

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
        back = {name: one for time in (EARLIER, LATER) for one, name in self._names_at(time).items()}
        return expression.xreplace(back)

    def _names_at(self, time: Label) -> dict[sp.Symbol, sp.Symbol]:
        """The names at one of two times, by those of one time."""
        there = [name for name, average in self.walk.averages.items() if average.factors[0][1] == time]
        named = dict(zip(self.response.averages, there, strict=True))
        return {**named, K: K1 if time == EARLIER else K2}

    def _factors(self, average: sp.Symbol, time: Label) -> Sequence[tuple[sp.Expr, Label]]:
        return [(u, time) for u, _ in self.response.averages[average].factors]


@dataclass(frozen=True)
class StationaryNoise:
    """What one layer adds to n times the next kernel, at a kernel that the layer preserves."""

    program: Program  # the layer
    values: Mapping[sp.Symbol, sp.Expr]  # of K and of parameters

    @cached_property
    def _noise(self) -> NoiseCovariances:
        return NoiseCovariances(self.program)

    def _at_point(self, expression: sp.Expr) -> sp.Expr:
        """An expression in averages, at infinite width, with the numbers of the stationary kernel."""
        for name, value in reversed(self._noise.response.values.items()):
            expression = expression.xreplace({name: value})
        return expression.subs(dict(self.values), simultaneous=True)

    @cached_property
    def memory(self) -> sp.Expr:
        """rho: the weight of a neuron in the next stream."""
        return self._at_point(self._noise.at_one_kernel(self._noise.walk.weight))

    def across_layers(self, power: int = 0) -> sp.Expr:
        """``sum_{d >= 1} rho^{power (d - 1)} Cov(H^l, H^{l+d})``."""
        total, response = sp.Integer(0), self._noise.response
        variances = {s: self._at_point(response.covariance(s, s)) for s in self._noise.weights}
        for term in self._noise.terms_across:
            factor, scale, both = (
                self._at_point(self._noise.at_one_kernel(e)) for e in (term.factor, term.scale, term.covariance)
            )
            bound = sp.sqrt(sp.Mul(*(variances[s] for s in term.averages))) / scale
            total += factor * scale * self._summed(both * memory**power, bound)
        return total

    def _summed(self, term: sp.Expr, bound: sp.Expr) -> sp.Expr:
        """The sum over all later times; where neurons are known by their stream alone, in its correlation."""
        ratio = self.memory
        if ratio.is_Symbol:
            moved = term.xreplace({memory: memory / ratio})
            if not any(p.base == ratio and p.exp.could_extract_minus_sign() for p in moved.atoms(sp.Pow)):
                return GeometricSum(moved, memory, ratio, bound, ratio)
        return GeometricSum(term, memory, ratio, bound)

    def settled(self, chi: sp.Expr, power: int) -> sp.Expr:
        """V after many layers where the kernel responds by ``chi_parallel = rho^power`` below 1."""
        within, with_square = map(self._at_point, (self._noise.within_layer, self._noise.with_next_square))
        noise = (within + 2 * chi * self.across_layers(power)) / (1 - chi**2)
        return noise + 2 * with_square / (1 - chi * self.memory**2)

    @property
    def growth(self) -> sp.Expr:
        """What each layer adds to V where the kernel responds by 1."""
        return self._at_point(self._noise.within_layer) + 2 * self.across_layers()


def at_small_kernels(program: Program) -> Program:
    """The layer whose activations are their slopes at 0, or two slopes at a kink, times the neuron.

    Raises:
        NoClosedForm: neurons inside of the layer are not small where the kernel is.
    """
    if program.divisors:
        raise NoClosedForm(
            "the growth of the vertex at K* = 0", "the layer normalises", "ask for vertex(depth, K) at some depths"
        )
    instructions: list[Instruction] = []
    for instruction in program.instructions:
        if isinstance(instruction, Draw):
            slopes = {phi: _at_zero(phi) for phi in instruction.u.atoms(Phi)}
            instructions.append(replace(instruction, u=instruction.u.xreplace(slopes)))
        else:
            instructions.append(instruction)
    return Program(tuple(instructions), program.out)


def _at_zero(phi: Phi) -> sp.Expr:
    """An activation of a small argument."""
    sides, zero = sides_of_zero(phi.pieces), sp.Integer(0)
    if any(value_at(side, zero) != 0 for side in sides):
        raise NoClosedForm(f"{phi} of a small neuron", "it is not 0 at 0", "ask for vertex(depth, K)")
    left, right = (value_at(derivative(side), zero) for side in sides)
    if sp.expand(left - right) == 0:
        return right * phi.argument
    kink = sp.Piecewise((left * z, z < 0), (right * z, True))
    slopes = tuple(sorted(kink.free_symbols - {z}, key=str))
    return Phi(Formula(f"slopes of {phi.formula.name} at 0", kink, slopes), phi.argument, sp.Integer(0), *slopes)
