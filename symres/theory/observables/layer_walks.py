"""The laws of a layer's neurons that its observables are derived from, and where inputs of kernel 0 have none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ...activations.atom import Phi
from ...core import symbols
from ...core.errors import NoClosedForm, SymresError, UnsupportedLayer
from ...functions.balls import enclose
from ...gaussian.calculus.distributions import averaged
from ...gaussian.calculus.expectation import Gaussian
from ...layers.across import HERE
from ...layers.grids import Lattice
from ...layers.layer import Layer
from ...layers.layouts import BATCH, ONE, TWO, TWO_INPUTS, Axis, Label, Layout, Pair
from ..walk.assignments import total_derivative
from ..walk.tangent import Rates, tangent
from ..walk.walk import Walk

_BITS = 64
_NOTHING = 1e-12  # more is left of what does not vanish
_ANY = sp.Rational(7, 10)  # a value for parameters


def _vanishes_at_zero(walk: Walk, divisor: sp.Expr) -> bool:
    """Whether a divisor is 0 at an input of kernel 0, whatever the parameters are."""
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


@dataclass(frozen=True)
class LayerWalks:
    """The walk of one input and that of two, and what several observables are made of."""

    layer: Layer  # the forward equation
    positions: Axis = ONE

    @property
    def layout(self) -> Layout:
        """The places that maps of one input know: any two inputs of a batch, any two positions."""
        if self.layer.program.has_batch and self.positions == ONE:
            return BATCH
        return Layout(ONE, self.positions)

    @cached_property
    def one(self) -> Walk:
        """The law for one input; of a batch, for any two."""
        return self._walk(self.layout)

    @cached_property
    def two(self) -> Walk:
        """The law for two inputs; of a batch or of positions, for any two of these."""
        return self.one if self.layout.has_pairs else Walk(self.layer.program, TWO_INPUTS)

    @cached_property
    def sequences(self) -> Walk:
        """The law for two inputs with positions."""
        return self._walk(Layout(TWO, self.positions))

    def _walk(self, layout: Layout) -> Walk:
        """The law of a layout; without covariances of positions where the layer has none.

        Raises:
            UnsupportedLayer: it averages over a batch of inputs with positions, or positions are unlike one another.
        """
        if isinstance(layout.positions, Lattice) and not layout.positions.is_homogeneous:
            found = "no two are alike, so that kernels are matrices"
            raise UnsupportedLayer(f"a formula for {layout.positions}", found, "ask for kernels(depth, K) or apjn")
        if self.layer.program.has_batch and layout.positions != ONE:
            found = "formulas know no variance over a batch and over positions"
            remedy = "normalise over neurons: LayerNorm, RMSNorm; on a Torus ask for kernels(depth, K, M=...)"
            raise UnsupportedLayer(f"the layer {self.layer.name}", found, remedy)
        kernel = layout.kernel
        if self.layer.program.is_uncorrelated:
            kernel = {pair: value if layout.is_one_position(pair) else sp.S.Zero for pair, value in kernel.items()}
        return Walk(self.layer.program, layout, kernel)

    @property
    def pair(self) -> Pair:
        """Two places of the law of two inputs."""
        return self.two.layout.two

    @cached_property
    def is_directed(self) -> bool:
        """Whether inputs of kernel 0 have no image: a normaliser of the layer divides by their size."""
        divisors = () if self.one.program.has_batch else self.one.program.divisors
        return any(_vanishes_at_zero(self.one, divisor) for divisor in divisors)

    @cached_property
    def activations(self) -> frozenset[Phi]:
        """The activations of the layer, wherever they stand in it, as functions of one Gaussian variable."""
        atoms = self.layer.forward.atoms(Phi)
        return frozenset(Phi(phi.formula, symbols.x1, 0, *phi.args[3:]) for phi in atoms)

    @property
    def squared(self) -> sp.Expr:
        """<phi(z)^2> of the only activation.

        Raises:
            NoClosedForm: there are several, or none.
        """
        if len(self.activations) != 1:
            found = f"the layer has {len(self.activations)} activations"
            raise NoClosedForm("<phi(z)^2>", found, "ask for expect(phi(z)**2)")
        (phi,) = self.activations
        return averaged(phi**2, Gaussian((symbols.K,)))

    @cached_property
    def next_kernel(self) -> sp.Expr:
        """K'."""
        return self.one.stream(self.one.first, self.one.first)

    @cached_property
    def next_covariance(self) -> sp.Expr:
        """C'."""
        return self.two.stream(*self.pair)

    @cached_property
    def perpendicular(self) -> sp.Expr:
        """chi_perp; infinite where an activation jumps."""
        return self.tangent(sp.Integer(1))

    def tangent(self, start: sp.Expr, rates: Rates = (0, 0)) -> sp.Expr:
        """The squared tangent of one place after the layer, for that of each before it, and learning rates."""
        starts = {(a, b): start if a == b else sp.S.Zero for a, b in self.one.layout.pairs}
        return tangent(self.one, self.one.first, self.one.first, starts, rates)

    def tangents(self, pair: Pair) -> sp.Expr:
        """The covariance of changes after the layer, at one or two positions, from t and s before it."""
        apart = sp.S.Zero if self.layer.program.is_uncorrelated else symbols.s
        start = {(a, b): symbols.t if a == b else apart for a, b in self.layout.pairs}
        return tangent(self.one, *pair, start)

    def fresh(self, pair: Pair, letter: str) -> sp.Expr:
        """The tangent kernel at one or two positions of one weight of the attention of the layer, W_Q for instance."""
        still = dict.fromkeys(self.layout.pairs, sp.S.Zero)
        return tangent(self.one, *pair, still, lambda draw: ({letter: 1} if draw.across != HERE else 0, 0))

    def slope(self, expression: sp.Expr) -> sp.Expr:
        """The derivative of an expression of one input in its kernel, through all averages."""
        return total_derivative(expression, self.one.assignments, symbols.K)

    def weight_of(self, place: Label) -> sp.Expr:
        """The weight of the stream's neuron, at a place, in the next stream of the first one."""
        weights = dict(self.one.out(self.one.first))
        return self.one.in_lowest_terms(weights.get((symbols.z, place), sp.Integer(0)))
