"""The quantities of one layer: each is a walk, or a derivative of one, made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import sympy as sp

from ...activations.atom import Phi
from ...core import symbols
from ...core.errors import NoClosedForm, UnsupportedLayer
from ...core.scalars import Number, scalar
from ...core.words import Obstruction, Reason
from ...gaussian.calculus.distributions import averaged
from ...gaussian.calculus.expectation import Gaussian
from ...layers.layer import Layer
from ...results.quantity import Quantity
from ...results.subjects import LayerMaps
from ..finite_width.layer_noise import CompiledLayer
from ..finite_width.layer_response import LayerResponse
from ..walk.assignments import total_derivative
from ..walk.normalisation_domain import needs_direction
from ..walk.rescaling import chi_delta
from ..walk.tangent import tangent
from ..walk.walk import BATCH, SHARED, Walk
from .build import build, unknown
from .lazy import LazyQuantities

_OF_ONE = "phi_squared"  # the average of one activation
_PAGE = (_OF_ONE, "kernel_map", "covariance_map", "chi_parallel", "chi_perp", "h")
_FURTHER = ("ntk_map", "chi_delta", "parameter_norm")


@dataclass(frozen=True)
class LayerTheory(LayerMaps):
    """What a layer does to kernels, gradients and tangent kernels: each quantity is derived when it is asked for.

    Args:
        layer: the forward equation.
    """

    layer: Layer

    @cached_property
    def _one(self) -> Walk:
        return Walk.of_one(self.layer.program)

    @cached_property
    def _two(self) -> Walk:
        return Walk.of_two(self.layer.program)

    @cached_property
    def phi_squared(self) -> Quantity:
        """g(K) = <phi(z)^2>, from which the maps of most layers are built (PDLT (B.13)); unknown for several phi."""
        return self._build(
            "phi_squared",
            self._one,
            self._squared,
            notation=r"\left\langle \phi^2 \right\rangle_K",
            meaning="Gaussian average of the squared activation",
            source="PDLT (B.13)",
        )

    @cached_property
    def _activations(self) -> frozenset[Phi]:
        """The activations of the layer, wherever they stand in it, as functions of one Gaussian variable."""
        atoms = self.layer.forward.atoms(Phi)
        return frozenset(Phi(phi.formula, symbols.x1, 0, *phi.args[3:]) for phi in atoms)

    def _squared(self) -> sp.Expr:
        count = len(self._activations)
        if count != 1:
            raise NoClosedForm("<phi(z)^2>", f"the layer has {count} activations", "ask for expect(phi(z)**2)")
        (phi,) = self._activations
        return averaged(phi**2, Gaussian((symbols.K,)))

    @cached_property
    def kernel_map(self) -> Quantity:
        """The next layer's kernel K' of one input, a function of K and the parameters (PDLT (B.12))."""
        return self._build(
            "kernel_map",
            self._one,
            lambda: self._next_kernel,
            notation="K'",
            meaning="kernel of the next layer, one input",
            source="PDLT (B.12)",
        )

    @cached_property
    def covariance_map(self) -> Quantity:
        """The next layer's covariance C' of two inputs, a function of K1, K2, C and the parameters (PDLT (B.11))."""
        return self._build_of_two(
            "covariance_map",
            lambda: self._two.stream(1, 2),
            notation="C'",
            meaning="covariance of the next layer, two inputs",
            source="PDLT (B.11)",
        )

    @cached_property
    def chi_parallel(self) -> Quantity:
        """The parallel susceptibility dK'/dK (PDLT (B.15))."""
        return self._build(
            "chi_parallel",
            self._one,
            lambda: total_derivative(self._next_kernel, self._one.assignments, symbols.K),
            notation=r"\chi_\parallel",
            meaning="parallel susceptibility dK'/dK",
            source="PDLT (B.15)",
        )

    @cached_property
    def chi_perp(self) -> Quantity:
        """The perpendicular susceptibility: growth of small angles and of gradients (PDLT (B.16))."""
        return self._build(
            "chi_perp",
            self._one,
            lambda: self._chi_perp,
            notation=r"\chi_\perp",
            meaning="perpendicular susceptibility: squared norm of the Jacobian per neuron",
            source="PDLT (B.16)",
        )

    @cached_property
    def _next_kernel(self) -> sp.Expr:
        return self._one.stream(self._one.first, self._one.first)

    @cached_property
    def _chi_perp(self) -> sp.Expr:
        return tangent(self._one, self._one.first, self._one.first, sp.Integer(1))

    @cached_property
    def h(self) -> Quantity:
        """PDLT's helper function h = (1/2) d chi_perp/dK (PDLT (B.18))."""
        return self._build(
            "h",
            self._one,
            self._half_slope,
            notation="h",
            meaning="half the slope of chi_perp",
            source="PDLT (B.18)",
        )

    def _half_slope(self) -> sp.Expr:
        if self._chi_perp.has(sp.oo):
            raise NoClosedForm(
                "the slope of chi_perp",
                Reason("chi_perp", "is infinite, it has no slope", Obstruction.INFINITE),
                "ask for chi_perp",
            )
        return total_derivative(self._chi_perp, self._one.assignments, symbols.K) / 2

    @cached_property
    def chi_delta(self) -> Quantity:
        """The coefficient of finite input dimension (Doshi et al. (35)); half of it generalises h in PDLT (B.14)."""
        return self._build(
            "chi_delta",
            self._one,
            lambda: chi_delta(self._one),
            notation=r"\chi_\Delta",
            meaning="coefficient of finite input dimension",
            source="Doshi et al. (35)",
        )

    @cached_property
    def memory(self) -> Quantity:
        """What is left of a neuron after the layer: its weight in the next stream, dz'_i/dz_i at infinite width.

        The covariance of a neuron with itself many layers before is its kernel there times the product of these, unless
        a batch normalisation acts on the stream itself (``shared_memory``).
        """
        return self._build(
            "memory",
            self._one,
            lambda: self._weight_of(self._one.first),
            notation="m",
            meaning="weight of a neuron in the next stream",
        )

    @cached_property
    def shared_memory(self) -> Quantity:
        """The weight, in a neuron of the next stream, of the batch average of that neuron; 0 unless it is normalised.

        As that average is the neuron of one more input, its covariances with the stream before are those of two inputs.
        """
        return self._build(
            "shared_memory",
            self._one,
            lambda: self._weight_of(SHARED),
            notation=r"\bar{m}",
            meaning="weight of a neuron's batch average in the next stream",
        )

    def _weight_of(self, input: int) -> sp.Expr:
        weights = dict(self._one.out(self._one.first))
        return self._one.in_lowest_terms(weights.get((symbols.z, input), sp.Integer(0)))

    @cached_property
    def parameter_norm(self) -> Quantity:
        """The squared gradient of one neuron of the next stream in the parameters of the layer.

        In the NTK parametrisation, as ``ntk_map``: what the layer itself adds to the tangent kernel of one input.
        """
        first = self._one.first
        return self._build(
            "parameter_norm",
            self._one,
            lambda: tangent(self._one, first, first, sp.Integer(0), (1, 1)),
            notation=r"\left\| \partial z' / \partial \theta \right\|^2",
            meaning="squared gradient in the parameters of the layer",
            source="Doshi et al. (37)",
        )

    @cached_property
    def covariance_slope(self) -> Quantity:
        """dC'/dC, equal to the tangent rule between two inputs."""
        return self._build_of_two(
            "covariance_slope",
            lambda: total_derivative(self._two.stream(1, 2), self._two.assignments, symbols.C),
            notation=r"\partial C'/\partial C",
            meaning="slope of the covariance map in the covariance",
        )

    @cached_property
    def ntk_map(self) -> Quantity:
        """The next layer's tangent kernel Theta' of two inputs, a function of K1, K2, C, Theta and the parameters.

        In the NTK parametrisation: weights ``sqrt(C_W/fan_in) w`` and biases ``sqrt(C_b) b`` with learning rate 1 for
        every w and b, those of all Dense nodes of the layer.
        """
        return self.tangent_kernel_map()

    def tangent_kernel_map(self, weight_rate: Number = 1, bias_rate: Number = 1) -> Quantity:
        """``ntk_map`` with learning rates of the weights and the biases.

        PDLT's lambda_W and lambda_b belong to weights that are not scaled: weight_rate = lambda_W/C_W and
        bias_rate = lambda_b/C_b.

        Args:
            weight_rate: of every w, a number or an expression in parameters.
            bias_rate: of every b.
        """
        rates = scalar(weight_rate, "weight_rate"), scalar(bias_rate, "bias_rate")
        return self._build_of_two(
            "ntk_map",
            lambda: tangent(self._two, 1, 2, symbols.Theta, rates),
            (symbols.Theta,),
            notation=r"\Theta'",
            meaning="tangent kernel of the next layer, two inputs",
        )

    @cached_property
    def fluctuating(self) -> Mapping[int, CompiledLayer]:
        """The layer at finite width in numbers, for one input and for two.

        Raises:
            UnsupportedLayer: it averages over a batch.
        """
        return {p: CompiledLayer(LayerResponse(self.layer.program, p)) for p in (1, 2)}

    @property
    def is_batch(self) -> bool:
        """Whether the maps depend on the kernel K and the covariance C of a batch of exchangeable inputs."""
        return self._one.kernel is BATCH

    @property
    def all_quantities(self) -> Mapping[str, Quantity]:
        """Everything that can be exported and checked by name, derived when it is looked up; the page's come first.

        ``phi_squared`` of one activation only.
        """
        known = (*_PAGE, *_FURTHER)
        return LazyQuantities(self, known if len(self._activations) == 1 else tuple(n for n in known if n != _OF_ONE))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """What a page, a document and a module of the theory hold, by name, in the order of the derivation."""
        known = self.all_quantities
        return {name: known[name] for name in known if name in _PAGE}

    def _build(
        self,
        name: str,
        walk: Walk,
        definition: Callable[[], sp.Expr],
        more: tuple[sp.Symbol, ...] = (),
        **words: str,
    ) -> Quantity:
        """The quantity; unknown, with the reason, where it has no definition in averages that exist."""
        arguments = (*walk.arguments, *more)
        try:
            defined = definition()
        except NoClosedForm as error:
            return unknown(name, arguments, error.found, **words)
        found = build(name, arguments, defined, walk.assignments, parameters=self.layer.parameters, **words)
        return found

    def _build_of_two(
        self, name: str, definition: Callable[[], sp.Expr], more: tuple[sp.Symbol, ...] = (), **words: str
    ) -> Quantity:
        """A quantity of two inputs; unknown, with the reason, where only the law of one input can be told."""
        one = self._one  # whose errors are those of the layer
        try:
            walk = self._two
        except UnsupportedLayer as error:
            return unknown(name, (symbols.K1, symbols.K2, symbols.C, *more), error.found, **words)
        found = self._build(name, walk, definition, more, **words)
        return replace(found, directed=True) if self._is_directed and walk.kernel is not one.kernel else found

    @cached_property
    def _is_directed(self) -> bool:
        return not self.is_batch and needs_direction(self._one)
