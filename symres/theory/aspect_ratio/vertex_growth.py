"""nu: how fast the four-point vertex of a layer grows with depth at a critical point, ``V^l = nu l (K^l)^2 + O(1)``.

Each layer adds the covariance of its noise H with itself and, twice, with that of all layers before. What neurons
remember beside it, the influence G, stays bounded. Where the response of the kernel is 1 (K = K*), V grows by

    nu K*^2 = Cov(H, H) + 2 sum_{d >= 1} Cov(H^l, H^{l+d}).

Where K flows to 0 as ``dK/dl = -a K^m``, small variations of the kernel shrink with it:
``dV/dl = -2 m a K^{m-1} V + N K^2`` with the N of the layer at small kernels. Its solution is ``V = N K^2 l/3`` for
every m.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import sympy as sp

from ...activations.atom import Formula, Phi
from ...activations.piecewise import derivative, value_at
from ...core.errors import NoClosedForm
from ...core.symbols import K, z
from ...layers.program import Draw, Instruction, Program
from .geometric_sum import GeometricSum
from .noise_covariances import NoiseCovariances, memory

FLOW_TO_ZERO = sp.Rational(1, 3)


@dataclass(frozen=True)
class StationaryNoise:
    """What one layer adds to n times the next kernel, at a kernel that the layer preserves.

    Args:
        program: the layer.
        values: of K and of parameters.
    """

    program: Program
    values: Mapping[sp.Symbol, sp.Expr]

    @cached_property
    def _noise(self) -> NoiseCovariances:
        return NoiseCovariances(self.program)

    def _at_point(self, expression: sp.Expr) -> sp.Expr:
        for name, value in reversed(self._noise.response.values.items()):
            expression = expression.xreplace({name: value})
        return expression.subs(dict(self.values), simultaneous=True)

    @cached_property
    def memory(self) -> sp.Expr:
        """rho: the weight of a neuron in the next stream."""
        return self._at_point(self._noise.at_one_kernel(self._noise.walk.weight))

    @cached_property
    def within_layer(self) -> sp.Expr:
        """``Cov(H, H)``."""
        return self._at_point(self._noise.within_layer)

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

    @cached_property
    def with_next_square(self) -> sp.Expr:
        """``Cov(H, z'^2)`` of one neuron and its next stream."""
        return self._at_point(self._noise.with_next_square)

    def settled(self, chi: sp.Expr, power: int) -> sp.Expr:
        """V after many layers where the kernel responds by a chi below 1.

        Args:
            chi: chi_parallel.
            power: p with ``chi = rho^p``.
        """
        noise = (self.within_layer + 2 * chi * self.across_layers(power)) / (1 - chi**2)
        return noise + 2 * self.with_next_square / (1 - chi * self.memory**2)

    @property
    def growth(self) -> sp.Expr:
        """What each layer adds to V where the kernel responds by 1."""
        return self.within_layer + 2 * self.across_layers()


def growth_at_zero(program: Program, values: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """N of the layer at small kernels: ``V = N K^2 l/3``.

    There every activation is its slope, or its two slopes at a kink, times the neuron.
    """
    return StationaryNoise(at_small_kernels(program), {**values, K: sp.Integer(1)}).growth


def at_small_kernels(program: Program) -> Program:
    """The layer whose activations are their slopes at 0.

    Raises:
        NoClosedForm: neurons inside of the layer are not small where the kernel is.
    """
    if program.divisors:
        raise NoClosedForm(
            "the growth of the vertex at K* = 0", "the layer normalises", "ask for vertex(depth, K) at some depths"
        )
    found: list[Instruction] = []
    for instruction in program.instructions:
        if isinstance(instruction, Draw):
            slopes = {phi: _at_zero(phi) for phi in instruction.u.atoms(Phi)}
            found.append(replace(instruction, u=instruction.u.xreplace(slopes)))
        else:
            found.append(instruction)
    return Program(tuple(found), program.out)


def _at_zero(phi: Phi) -> sp.Expr:
    """An activation of a small argument."""
    pieces, zero = phi.pieces, sp.Integer(0)
    sides = [pieces.part_at(side) for side in (-sp.Rational(1, 10**9), sp.Rational(1, 10**9))]
    if any(value_at(side, zero) != 0 for side in sides):
        raise NoClosedForm(f"{phi} of a small neuron", "it is not 0 at 0", "ask for vertex(depth, K)")
    left, right = (value_at(derivative(side), zero) for side in sides)
    if sp.expand(left - right) == 0:
        return right * phi.argument
    kink = sp.Piecewise((left * z, z < 0), (right * z, True))
    return Phi(Formula(f"slopes of {phi.formula.name} at 0", kink, ()), phi.argument, sp.Integer(0))
