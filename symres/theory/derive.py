"""From a layer to its theory: every quantity is a walk, made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy as sp

from .. import symbols
from ..declare.activation import Activation
from ..declare.architectures import mlp
from ..declare.layer import Layer
from ..declare.phi import Phi
from ..errors import DeclarationError, NoClosedForm
from ..gaussian.deltas import averaged
from ..gaussian.expectation import Gaussian
from ..notation import latex
from ..quantity import Quantity, require_range
from ..report import PointRow, Report
from ..scalars import parameter, scalar, whole
from . import criticality, fixedpoints, lines
from .batch import variance_maps, with_kernel
from .build import build, total_derivative, unknown
from .depth import DepthLimit, depth_limit
from .directions import needs_direction
from .exponents import Exponents, exponents_at
from .fixedpoints import FixedPoint
from .lines import LinePoint, Maps
from .named import Named
from .network import DualKernel, Network
from .phases import Phase, phase
from .points import CriticalPoint
from .products import jacobian_product
from .radial import chi_delta
from .tangent import tangent
from .walk import BATCH, Walk

_OF_ONE = "phi_squared"  # the average of one activation
_PAGE = (_OF_ONE, "kernel_map", "covariance_map", "chi_parallel", "chi_perp", "h")
_FURTHER = ("ntk_map", "chi_delta", "parameter_norm")


def derive(layer: Layer | Activation | str) -> Theory:
    """The theory of deep networks built from one layer.

    Args:
        layer: a Layer; an activation (or its name or formula) means the multilayer perceptron built from it.

    Returns:
        A lazy object: each quantity is derived, and verified, when it is first asked for.
    """
    return Theory(layer if isinstance(layer, Layer) else mlp(layer))


def network(layers: Iterable[Layer | Activation | str]) -> Network:
    """A deep network of different layers, each with its theory.

    Args:
        layers: in the order from input to output; equal ones are derived once. A read-in is ``Layer(Dense(z))``, a
            readout a layer without a skip, for instance ``mlp(phi)``.
    """
    theories: dict[Layer, Theory] = {}
    listed = [layer if isinstance(layer, Layer) else mlp(layer) for layer in layers]
    return Network(tuple(theories.setdefault(layer, Theory(layer)) for layer in listed))


@dataclass(frozen=True)
class Theory:
    """Kernels, susceptibilities and criticality of a deep network of equal layers at infinite width.

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
        return self._build(
            "covariance_map",
            self._two,
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
            raise NoClosedForm("the slope of chi_perp", "chi_perp is infinite, it has no slope", "ask for chi_perp")
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

        The covariance of a neuron with itself many layers before is its kernel there times the product of these.
        """
        walk = self._one
        coefficient = self.layer.program.coefficients.get(symbols.z, sp.Integer(0))
        return self._build(
            "memory",
            walk,
            lambda: walk.written_out(walk.at(coefficient, walk.first)),
            notation="m",
            meaning="weight of a neuron in the next stream",
        )

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
        return self._build(
            "covariance_slope",
            self._two,
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

    def tangent_kernel_map(self, weight_rate: Any = 1, bias_rate: Any = 1) -> Quantity:
        """``ntk_map`` with learning rates of the weights and the biases.

        PDLT's lambda_W and lambda_b belong to weights that are not scaled: weight_rate = lambda_W/C_W and
        bias_rate = lambda_b/C_b.

        Args:
            weight_rate: of every w, a number or an expression in parameters.
            bias_rate: of every b.
        """
        rates = scalar(weight_rate, "weight_rate"), scalar(bias_rate, "bias_rate")
        first = self._two.first
        second = max(b for _, b in self._two.kernel)
        return self._build(
            "ntk_map",
            self._two,
            lambda: tangent(self._two, first, second, symbols.Theta, rates),
            (symbols.Theta,),
            notation=r"\Theta'",
            meaning="tangent kernel of the next layer, two inputs",
        )

    @property
    def all_quantities(self) -> Mapping[str, Quantity]:
        """Everything that can be exported and checked by name, derived when it is looked up; the page's come first.

        ``phi_squared`` of one activation only.
        """
        known = (*_PAGE, *_FURTHER)
        return Named(self, known if len(self._activations) == 1 else tuple(n for n in known if n != _OF_ONE))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """What a page, a document and a module of the theory hold, by name, in the order of the derivation."""
        known = self.all_quantities
        return {name: known[name] for name in known if name in _PAGE}

    def subs(self, **values: Any) -> Theory:
        """The theory with numbers in the place of parameters, by name."""
        return Theory(self.layer.subs(**values))

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
        return replace(found, directed=True) if walk is self._two and self._is_directed else found

    @cached_property
    def _is_directed(self) -> bool:
        return not self.is_batch and needs_direction(self._one)

    # ---- the deep network --------------------------------------------------------------------------------------

    @cached_property
    def jacobian_expr(self) -> sp.Expr | None:
        """``J^{l0,l}`` of any depth as a function of l0, l, the kernel K of layer 0 and the parameters.

        None where the product of chi_perp along the kernel's path has no closed form; of a batch, K is the variance
        over its inputs.
        """
        return jacobian_product(self._maps[0], self._maps[2])

    @property
    def is_batch(self) -> bool:
        """Whether the maps depend on the kernel K and the covariance C of a batch of exchangeable inputs."""
        return self._one.kernel is BATCH

    def network(self, depth: Any) -> Network:
        """So many of these layers, one after the other."""
        return Network((self,) * whole(depth, "depth", 0))

    def kernels(self, depth: Any, K: Any, **params: Any) -> list[Any]:
        """``[K^0, ..., K^depth]`` from K^0 = K, as mpmath numbers with 15 digits; see ``Network``."""
        return self.network(depth).kernels(K, **params)

    def dual_kernels(self, depth: Any, K1: Any, K2: Any, C: Any, Theta: Any = 0, **params: Any) -> list[DualKernel]:
        """Kernels and tangent kernels of two inputs after 0 to ``depth`` layers; see ``Network``."""
        return self.network(depth).dual_kernels(K1, K2, C, Theta, **params)

    def displacement(self, depth: Any, K: Any, **params: Any) -> list[Any]:
        """Mean squared change of a neuron after 0 to ``depth`` layers, ``Delta_l^2`` of Chizat; see ``Network``."""
        return self.network(depth).displacement(K, **params)

    def depth_limit(self, scale: str = "xi") -> DepthLimit:
        """The limit of many layers whose branches are small: ODEs in depth, critical scale, regimes of training.

        Args:
            scale: name of the parameter that weighs the branch.

        Raises:
            NoClosedForm: the layer is no identity without its branch.
        """
        return depth_limit(self, scale)

    def jacobian(self, l0: Any, l: Any, K: Any, **params: Any) -> Any:  # noqa: E741 (the name in the literature)
        """The averaged partial Jacobian norm ``J^{l0,l}`` for K^0 = K (Doshi et al. (14)); see ``Network``."""
        return self.network(l).jacobian(l0, l, K, **params)

    def fixed_points(self, **params: Any) -> tuple[FixedPoint, ...]:
        """The kernels that a layer preserves.

        Args:
            params: a number for every parameter of the layer, by name (C_W=, C_b=, gamma=...).

        Returns:
            FixedPoint(K, chi_parallel, chi_perp, phase) in increasing order of K, floats.
        """
        found = fixedpoints.fixed_points(self._maps, params)
        return with_kernel(found, self.kernel_map, params) if self.is_batch else found

    def phase(self, K: Any = None, **params: Any) -> Phase:
        """What a deep network at given parameters ends in: an ordered, chaotic, critical or diverging phase.

        Args:
            K: the kernel of the input, of a batch its variance over the inputs; needed only where the end depends on
                it.
            params: a number for every parameter of the layer, by name.
        """
        return phase(self._maps, fixedpoints.fixed_points(self._maps, params), params, K)

    def correlation_length(self, K: Any = None, **params: Any) -> float:
        """The depth ``1/|log chi_perp|`` over which gradients grow or fall by a factor e (Doshi et al. (17)).

        Args:
            K: the kernel of the input; needed only where the end of the kernel depends on it.
            params: a number for every parameter of the layer, by name.

        Returns:
            A float with 15 digits; infinite where the network is critical.
        """
        return self.phase(K, **params).correlation_length

    def critical_line(self, C_W: Any, **params: Any) -> tuple[LinePoint, ...]:
        """The bias variances for which a layer keeps a kernel and chi_perp = 1 there, in increasing order.

        Args:
            C_W: the weight variance.
            params: numbers for all other parameters but C_b, by name.

        Returns:
            Numbers, floats with 15 digits, each with its kernel ``K``, ``chi_parallel`` there and whether the kernel
            flows to it (``reachable``).
        """
        values = self._numbers({"C_W": C_W, **params}, but={"C_b"})
        return lines.critical_line(self._maps, values.pop(symbols.C_W), values)

    @cached_property
    def critical_line_expr(self) -> sp.Expr | None:
        """C_b on the critical line as a function of C_W and the other parameters; None where it is not explicit."""
        return lines.explicit_line(self._maps)

    def critical_curve(self, kernels: Iterable[float], **params: Any) -> list[tuple[float, float, bool]]:
        """(C_W, C_b, whether the kernel flows there) on the critical line, for each of some kernels.

        Args:
            kernels: numbers; of layers with biases inside of their averages, the variances there.
            params: numbers for all parameters but C_W and C_b, by name.

        Returns:
            nan where there is none; empty for layers whose line has no explicit form.
        """
        return lines.curve(self._maps, self._numbers(params, but={"C_W", "C_b"}), kernels)

    @cached_property
    def critical_line_parametric(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(C_W, C_b) on the critical line as functions of the kernel K; None where they are not explicit."""
        return lines.parametric_line(self._maps)

    @cached_property
    def _maps(self) -> Maps:
        """What the flow of the kernel is analysed by; of a batch, K is the variance over its inputs there."""
        maps = self.kernel_map, self.chi_parallel, self.chi_perp
        return variance_maps(maps[0], self.covariance_map, maps[2]) if self.is_batch else maps

    def _numbers(self, params: dict[str, Any], but: set[str]) -> dict[sp.Symbol, sp.Expr]:
        """Exact numbers for all parameters of the layer but some.

        Raises:
            DeclarationError: one is missing, is no parameter, or has the wrong sign.
        """
        known = {s.name: s for s in self.layer.parameters if s.name not in but}
        for name in [*known, *params]:
            if name not in known or name not in params:
                found = "has no value" if name in known else "is no parameter that has a choice here"
                listed = ", ".join(known) or "none"
                raise DeclarationError(f"{name} of the layer {self.layer.name}", f"it {found}", f"pass: {listed}")
        values = {known[name]: parameter(value, name) for name, value in params.items()}
        for symbol, value in values.items():
            require_range(f"the layer {self.layer.name}", symbol, value)
        return values

    @cached_property
    def _criticality(self) -> criticality.Criticality:
        return criticality.analyse(*self._maps)

    @property
    def critical_points(self) -> tuple[CriticalPoint, ...]:
        """Where K' = K and both susceptibilities are 1 (PDLT (B.19)), the most useful first; exact where possible."""
        return self._criticality.points

    @property
    def universality_class(self) -> str:
        """The name of the class, a word of the literature.

        "scale-invariant", "K*=0" or "half-stable" for critical points; "everywhere-critical" or "subcritical" where
        every C_W and C_b is critical, with a power law or a stretched exponential; "none"; "unknown" if the search
        could not decide.
        """
        return self._criticality.universality_class

    @cached_property
    def exponents(self) -> Exponents:
        """How kernel and Jacobian go with the depth at the critical point, or wherever all points are critical.

        ``K - K* ~ amplitude*l**-kernel`` and ``J ~ l**-jacobian`` (Doshi et al., appendix G), for the point that names
        the universality class.
        """
        found = self._criticality
        if found.growth is not None:
            return found.growth.exponents
        named = {"scale-invariant": "neutral", "K*=0": "stable", "half-stable": "half-stable"}
        wanted = named.get(found.universality_class)
        point = next((p for p in found.points if p.stability == wanted), None)
        if point is None:
            why = "; ".join(found.remarks) or f"the universality class is {found.universality_class}"
            return Exponents(None, None, None, remark=why)
        return exponents_at(point, self.kernel_map, self.chi_perp)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about the criticality analysis: why something is missing or unknown."""
        return self._criticality.remarks

    def report(self, settings: dict[str, str] | None = None, checks: tuple[Any, ...] = (), command: str = "") -> Report:
        """Everything that is known, as plain data for a page or a document."""
        return Report(
            activation=", ".join(f.name for f in self.layer.formulas),
            formulas=tuple((f.name, f.expr) for f in self.layer.formulas),
            heads=tuple(latex(f) for f in self.layer.formulas),
            layer=self.layer.name,
            forward=self.layer.forward,
            program=self.layer.program.lines,
            settings=tuple((settings or {}).items()),
            quantities=tuple(self.quantities.values()),
            critical_points=tuple(PointRow(**vars(p)) for p in self.critical_points),
            universality_class=self.universality_class,
            critical_line=self.critical_line_expr,
            exponents=self.exponents,
            remarks=self.remarks,
            checks=checks,
            command=command,
        )
