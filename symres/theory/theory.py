"""From layers to the theory of deep networks: recursions, criticality, reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import mpmath as mp
import numpy as np
import sympy as sp

from ..activations.activation import Activation
from ..core import symbols
from ..core.display import Fact, Plain, Shown, preformatted, views
from ..core.errors import DeclarationError, NoClosedForm
from ..core.scalars import Number, number, parameter, whole
from ..gaussian.algebra.canonical import canonical
from ..layers.architectures import mlp
from ..layers.layer import Layer
from ..notation import latex
from ..notation.factors import tidy_factors
from ..notation.facts import equation
from ..results.arguments_of_quantities import require_range
from ..results.critical_point import CriticalPoint
from ..results.exponents import Exponents
from ..results.numbers.branch_limit import DeepBranchScale
from ..results.numbers.branches import Branches
from ..results.numbers.estimates import EstimatedNumber, Estimates
from ..results.numbers.growth_curve import GrowthCurve
from ..results.numbers.procedure import Procedure
from ..results.numbers.response import Response, ResponseDecay
from ..results.observable import DepthObservable, Section
from ..results.phases import FixedPoint, LinePoint, Phase
from ..results.quantity import Quantity, Status
from ..results.report import Report
from ..results.subjects import DerivedDepth, DerivedFluctuations
from ..results.verdict import Verdict
from .aspect_ratio.growth_numbers import growth_rows
from .aspect_ratio.limits_of_nu import near_identity
from .aspect_ratio.nu import useful_point
from .aspect_ratio.optimal_gamma import AspectRatioCurve
from .criticality import analysis, fixed_points
from .criticality.conditions.critical_conditions import Maps
from .criticality.decay_exponents import exponents_at
from .criticality.lines import critical_line
from .criticality.lines.explicit_line import explicit_line
from .criticality.phase import phase
from .depth.batch_flow import variance_maps, with_kernel
from .depth.fluctuating_network import Function, Kernels, entries, kernel_matrix
from .depth.infinite_depth import DepthLimit, depth_limit
from .depth.jacobian_product import jacobian_product
from .depth.layer_values import Parameter
from .depth.network import DualKernel, Network
from .depth.vertex_recursion import vertex_formulas, vertex_recursion
from .finite_width.deep_fluctuations import DeepFluctuations
from .finite_width.float_quadrature import Array
from .observables import growth, registry
from .observables.layer_observable import CriticalSubject
from .observables.layer_theory import Derived, LayerTheory
from .response.branch_scale import OutputResponse, scale_for
from .response.decay import response_decay
from .response.deep_branch_scale import deep_branch_scale
from .response.maximum_entropy import maximum_entropy_kernel
from .response.readout import readout_of
from .response.response_recursions import branch_scale_procedure, response_recursion


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

    Raises:
        DeclarationError: there are no layers.
    """
    theories: dict[Layer, Theory] = {}
    layers = list(layers)
    if not layers:
        raise DeclarationError("a network", "it has no layers", "pass at least one")
    listed = [layer if isinstance(layer, Layer) else mlp(layer) for layer in layers]
    return Network(tuple(theories.setdefault(layer, Theory(layer)) for layer in listed))


@dataclass(frozen=True)
class Theory(LayerTheory, CriticalSubject, DerivedDepth, DerivedFluctuations, Shown):
    """Kernels, susceptibilities, criticality and finite width of a deep network of equal layers.

    Args:
        layer: the forward equation.
    """

    nu = Derived(growth.NU)
    aspect_ratio = Derived(growth.ASPECT_RATIO)
    vertex_limit = Derived(growth.VERTEX_LIMIT)

    def _title(self) -> str:
        names = ", ".join(formula.name for formula in self.layer.formulas)
        return f"theory of {names or 'a linear layer'} in the layer {self.layer.name}"

    def _facts(self) -> list[Fact]:
        """The layer only: everything else is derived when it is asked for, and may take its time."""
        return [equation(str(left), latex(left), right) for left, right in self.layer.equations]

    def _repr_html_(self) -> str:
        return preformatted(self.page())

    def page(self, width: Number = 80) -> str:
        """The page that ``symres derive`` prints, without its comparisons with oracles: derives all that is on it.

        Args:
            width: columns, 40 or more.
        """
        return views().page(self, whole(width, "width", 40))

    def summary(self) -> dict[str, Plain]:
        """The results in words and floats, for programs: ``json.dumps`` writes them.

        Returns:
            activations, layer, forward, quantities (name: status), universality_class, critical_points (each with K,
            C_W, C_b, stability), numbers_at, critical_line, exponents and remarks. A formula that is no number, not
            even with gamma = 0, is text.
        """
        return views().summary(self)

    def subs(self, **values: Number) -> Theory:
        """The theory with numbers in the place of parameters, by name."""
        return Theory(self.layer.subs(**values))

    @property
    def depth_observables(self) -> Mapping[str, DepthObservable]:
        """The records of what is claimed of deep networks of finite width, by name."""
        records = registry.observables.items()
        return {name: record for name, record in records if isinstance(record, DepthObservable)}

    # ---- the deep network --------------------------------------------------------------------------------------

    @cached_property
    def jacobian_expr(self) -> sp.Expr | None:
        """``J^{l0,l}`` of any depth as a function of l0, l, the kernel K of layer 0 and the parameters.

        None where the product of chi_perp along the kernel's path has no closed form; of a batch, K is the variance
        over its inputs.
        """
        return jacobian_product(self._maps[0], self._maps[2])

    def network(self, depth: Number) -> Network:
        """So many of these layers, one after the other."""
        return Network((self,) * whole(depth, "depth", 0))

    def kernels(self, depth: Number, K: Number, **params: Parameter) -> list[mp.mpf]:
        """``[K^0, ..., K^depth]`` from K^0 = K, as mpmath numbers with 15 digits; see ``Network``."""
        return self.network(depth).kernels(K, **params)

    def fluctuations(self, depth: Number, K: Kernels, **params: Parameter) -> DeepFluctuations:
        """Means, kernels and vertices of 0 to ``depth`` layers at order 1/n; see ``Network``."""
        return self.network(depth).fluctuations(K, **params)

    def vertex(self, depth: Number, K: Kernels, **params: Parameter) -> Estimates | list[Array]:
        """``[V^0, ..., V^depth]``, the four-point vertex, V^0 = 0; see ``Network``."""
        return self.network(depth).vertex(K, **params)

    def kernel_fluctuation(self, depth: Number, K: Kernels, **params: Parameter) -> Estimates | list[Array]:
        """``[P^0, ..., P^depth]``, n times the variance of the conditional kernel; see ``Network``."""
        return self.network(depth).kernel_fluctuation(K, **params)

    @cached_property
    def vertex_recursion(self) -> Procedure:
        """``vertex`` and ``kernel_fluctuation`` of one input as a recursion in functions of the layer, for ``export``.

        Raises:
            NoClosedForm: averages of the layer shift the mean of the stream, or need too many neurons at once.
        """
        return vertex_recursion(self, {"vertex": self.vertex, "kernel_fluctuation": self.kernel_fluctuation})

    def covariance(self, f: Function, g: Function, depth: Number, K: Number, **params: Parameter) -> EstimatedNumber:
        """``n Cov(f(z_i), g(z_j))`` of two neurons after ``depth`` layers; see ``Network``."""
        return self.network(depth).covariance(f, g, K, **params)

    @cached_property
    def growth_curve(self) -> GrowthCurve | None:
        """Nu as numbers along gamma. None without a critical point."""
        point = useful_point(self.critical_points)
        rows = () if point is None else tuple(growth_rows(self.layer, point))
        if not rows:
            return None
        return GrowthCurve(rows, near_identity(self.nu) if self._growth_formulas else None)

    @cached_property
    def _growth_formulas(self) -> tuple[Quantity, ...]:
        """Nu and what follows from it, unless critical at one kernel only: there they are numbers, and slow."""
        point = useful_point(self.critical_points)
        if point is None or point.K not in (0, symbols.K):
            return ()
        found = self.of_section(Section.FINITE_WIDTH).values()
        return tuple(quantity for quantity in found if quantity.status is not Status.UNKNOWN)

    def optimal_gamma(self, r: Number, n_L: Number, **params: Number) -> Branches:
        """The skip weights gamma >= 0 for which a network of aspect ratio r = depth/width is as deep as is optimal.

        Args:
            r: depth/width.
            n_L: number of outputs.
            params: numbers for the parameters of the activation, by name.

        Returns:
            All solutions of ``aspect_ratio = r`` in increasing order; a single one is a number as well.

        Raises:
            DeclarationError: r is smaller than the optimal ratio at every gamma.
        """
        return self.aspect_ratio_curve(n_L, **params).solve(r)

    def aspect_ratio_curve(self, n_L: Number, **params: Number) -> AspectRatioCurve:
        """``r*(gamma)`` with its turning points and its least value, for n_L outputs."""
        return AspectRatioCurve(self.aspect_ratio, n_L, tuple(params.items()))

    @property
    def optimal_gamma_procedure(self) -> Procedure:
        """``optimal_gamma`` as a search in the aspect ratio, for ``export``."""
        return self.aspect_ratio_curve(1).inverse  # which takes n_L as an argument

    def response(self, depth: Number, K: Kernels, readout: LayerTheory | None = None, **params: Parameter) -> Response:
        """How kernels of all layers and of the output respond to the input's; see ``Network``."""
        return self.network(depth).response(K, readout, **params)

    @cached_property
    def response_decay(self) -> ResponseDecay:
        """The power with which the response falls with the depth (Fischer et al., figure 8).

        Raises:
            NoClosedForm: it falls exponentially, or no law is known.
        """
        return response_decay(self.kernel_map, self.chi_parallel, self.memory, self.exponents)

    def branch_scale(
        self, depth: Number, K: Kernels, readout: LayerTheory | None = None, scale: str = "xi", **params: Number
    ) -> float:
        """The weight of the branch at which the output responds most to the kernel of the input.

        Args:
            depth: number of layers.
            K: kernel of the input; of two inputs the matrix, then the response is ``dK12_out/dK12``.
            readout: the layer that makes the output; by default ``mlp(phi)`` with the same C_W and C_b.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Raises:
            NoClosedForm: the response has no interior maximum; the message says which way it goes.
        """
        last = readout or readout_of((self,))
        weight, values = self._but(scale, params)
        kernels = np.array([float(k) for k in entries(kernel_matrix(K))])
        return OutputResponse(self, last, whole(depth, "depth", 1), kernels, values, weight).optimum()

    @cached_property
    def maximum_entropy_kernel(self) -> mp.mpf:
        """The kernel at which the activation uses its range most evenly (Fischer et al., appendix E, corrected).

        Raises:
            NoClosedForm: there are several activations, or it is not bounded and increasing.
        """
        if len(self.walks.activations) != 1:
            found = f"the layer has {len(self.walks.activations)} activations"
            raise NoClosedForm("the kernel of maximum entropy", found, "ask for layers with one")
        return maximum_entropy_kernel(next(iter(self.walks.activations)))

    def branch_scale_for(
        self, final_kernel: Number, depth: Number, K: Number, scale: str = "xi", **params: Number
    ) -> float:
        """The weight of the branch for which a kernel is reached after ``depth`` layers.

        With ``final_kernel=theory.maximum_entropy_kernel`` it is the condition of Fischer et al., appendix E; with a
        quarter of the squared dynamic range that of their section III.

        Args:
            final_kernel: of the last layer.
            depth: number of layers.
            K: kernel of the input.
            scale: name of the weight.
            params: numbers for all other parameters, by name.

        Raises:
            NoClosedForm: no weight leads there.
        """
        weight, values = self._but(scale, params)
        target, start = float(number(final_kernel, "final_kernel")), float(number(K, "K"))
        return scale_for(self, target, whole(depth, "depth", 1), start, values, weight)

    def response_recursion(self, readout: LayerTheory | None = None) -> Procedure:
        """``response`` to the kernel of one input as a recursion in functions of the layer, for ``export``."""
        last = readout or readout_of((self,))
        return response_recursion(self, last, lambda **args: self.response(readout=last, **args).parts)

    def branch_scale_procedure(self, readout: LayerTheory | None = None, scale: str = "xi") -> Procedure:
        """``branch_scale`` of one input as a search in functions of the layer, for ``export``."""
        last = readout or readout_of((self,))
        exact = partial(self.branch_scale, readout=last, scale=scale)
        return branch_scale_procedure(self, last, self._weight(scale), exact)

    def branch_scale_limit(
        self, K: Number, readout: LayerTheory | None = None, scale: str = "xi", **params: Number
    ) -> DeepBranchScale:
        """The limit of ``branch_scale`` for many layers and one input: the final kernel, and c of ``c/sqrt(depth)``."""
        last = readout or readout_of((self,))
        _, values = self._but(scale, params)
        limit = self.depth_limit(scale)
        return deep_branch_scale(limit.kernel_rate, last.kernel_map, limit.power, float(number(K, "K")), values)

    def _but(self, scale: str, params: dict[str, Number]) -> tuple[sp.Symbol, dict[sp.Symbol, float]]:
        """The symbol of a weight, and numbers for all other parameters."""
        return self._weight(scale), {s: float(v) for s, v in self._numbers(params, but={scale}).items()}

    def _weight(self, scale: str) -> sp.Symbol:
        """The symbol of a weight."""
        names = {s.name: s for s in self.layer.parameters}
        if scale not in names:
            found = f"the parameters are {', '.join(names) or 'none'}"
            raise DeclarationError(f"a branch of weight {scale}", found, "write xi*branch, or pass scale=")
        return names[scale]

    def dual_kernels(
        self, depth: Number, K1: Number, K2: Number, C: Number, Theta: Number = 0, **params: Parameter
    ) -> list[DualKernel]:
        """Kernels and tangent kernels of two inputs after 0 to ``depth`` layers; see ``Network``."""
        return self.network(depth).dual_kernels(K1, K2, C, Theta, **params)

    def displacement(self, depth: Number, K: Number, **params: Parameter) -> list[mp.mpf]:
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

    def jacobian(self, l0: Number, l: Number, K: Number, **params: Parameter) -> mp.mpf:  # noqa: E741 (the name in the literature)
        """The averaged partial Jacobian norm ``J^{l0,l}`` for K^0 = K (Doshi et al. (14)); see ``Network``."""
        return self.network(l).jacobian(l0, l, K, **params)

    def fixed_points(self, **params: Number) -> tuple[FixedPoint, ...]:
        """The kernels that a layer preserves.

        Args:
            params: a number for every parameter of the layer, by name (C_W=, C_b=, gamma=...).

        Returns:
            FixedPoint(K, chi_parallel, chi_perp, phase) in increasing order of K, floats.
        """
        found = fixed_points.fixed_points(self._maps, params)
        return with_kernel(found, self.kernel_map, params) if self.is_batch else found

    def phase(self, K: Number | None = None, **params: Number) -> Phase:
        """What a deep network at given parameters ends in: an ordered, chaotic, critical or diverging phase.

        Args:
            K: the kernel of the input, of a batch its variance over the inputs; needed only where the end depends on
                it.
            params: a number for every parameter of the layer, by name.
        """
        return phase(self._maps, fixed_points.fixed_points(self._maps, params), params, K)

    def correlation_length(self, K: Number | None = None, **params: Number) -> float:
        """The depth ``1/|log chi_perp|`` over which gradients grow or fall by a factor e (Doshi et al. (17)).

        Args:
            K: the kernel of the input; needed only where the end of the kernel depends on it.
            params: a number for every parameter of the layer, by name.

        Returns:
            A float with 15 digits; infinite where the network is critical.

        Raises:
            DeclarationError: it ends at several places, and K is not given.
            NoClosedForm: the kernel diverges, and the limit of chi_perp is not known, or it alternates.
        """
        return self.phase(K, **params).correlation_length

    def critical_line(self, C_W: Number, **params: Number) -> tuple[LinePoint, ...]:
        """The bias variances for which a layer keeps a kernel and chi_perp = 1 there, in increasing order.

        Args:
            C_W: the weight variance.
            params: numbers for all other parameters but C_b, by name.

        Returns:
            Numbers, floats with 15 digits, each with its kernel ``K``, ``chi_parallel`` there and whether the kernel
            flows to it (``reachable``).
        """
        values = self._numbers({"C_W": C_W, **params}, but={"C_b"})
        return critical_line.critical_line(self._maps, values.pop(symbols.C_W), values)

    @cached_property
    def critical_line_expr(self) -> sp.Expr | None:
        """C_b on the critical line as a function of C_W and the other parameters; None where it is not explicit."""
        found = explicit_line(self._maps)
        return None if found is None else found[1]

    @cached_property
    def critical_line_weights(self) -> tuple[sp.Expr, sp.Expr] | None:
        """The weight variances between which the explicit line has kernels, (pi/4, oo); None if that is all or unknown.

        The formula has values elsewhere too, which mean nothing.
        """
        return None if self.critical_line_expr is None else critical_line.line_weights(self._maps)

    def critical_curve(self, kernels: Iterable[Number], **params: Number) -> list[tuple[float, float, bool]]:
        """(C_W, C_b, whether the kernel flows there) on the critical line, for each of some kernels.

        Args:
            kernels: numbers; of layers with biases inside of their averages, the variances there, and of other layers
                whose line is explicit in C_W, that.
            params: numbers for all parameters but C_W and C_b, by name.

        Returns:
            nan where there is none; empty for layers whose line has no explicit form.

        Raises:
            DeclarationError: what is no number, or a parameter without one.
        """
        places = [number(k, "a kernel") for k in (kernels if isinstance(kernels, Iterable) else [kernels])]
        return critical_line.curve(self._maps, self._numbers(params, but={"C_W", "C_b"}), places)

    @cached_property
    def critical_line_parametric(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(C_W, C_b) on the critical line as functions of the kernel K; None where they are not explicit."""
        return critical_line.parametric_line(self._maps)

    @cached_property
    def critical_line_averages(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(C_W, C_b) on the critical line along the kernel K in averages, C_b in C_W too.

        None where the line is explicit, a line of critical points, or has no such form.
        """
        known = self.critical_line_parametric
        if self.critical_line_expr is not None or known is None or not any(e.has(symbols.K) for e in known):
            return None
        if any(point.K == symbols.K or point.along for point in self.critical_points):
            return None
        weight, bias = critical_line.parametric_line(self._maps, opened=True) or known
        return tidy_factors(sp.factor(weight)), tidy_factors(sp.collect(canonical(bias), symbols.K))

    @cached_property
    def _maps(self) -> Maps:
        """What the flow of the kernel is analysed by; of a batch, K is the variance over its inputs there."""
        maps = self.kernel_map, self.chi_parallel, self.chi_perp
        return variance_maps(maps[0], self.covariance_map, maps[2]) if self.is_batch else maps

    def _numbers(self, params: dict[str, Number], but: set[str]) -> dict[sp.Symbol, sp.Expr]:
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
    def _criticality(self) -> analysis.Criticality:
        return analysis.analyse(*self._maps)

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
        kernel_map, _, perp = self._maps
        return exponents_at(point, kernel_map, perp)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about the criticality analysis: why something is missing or unknown."""
        return self._criticality.remarks

    @property
    def _searched(self) -> str:
        """How to look for a critical line that has no formula; empty where none was found."""
        perp = self.chi_perp
        free = {symbols.C_W, symbols.C_b} <= {*self.kernel_map.symbols, *self.kernel_map.unused}
        if not free or perp.expr is None or not perp.expr.has(symbols.C_W) or not perp.expr.has(symbols.K, symbols.C_b):
            return ""
        if any(point.K == symbols.K or point.along for point in self.critical_points):
            return ""
        if not critical_line.is_found(self._maps):
            return ""
        return "critical lines have no formula here: in Python critical_line(C_W=...) searches for their C_b"

    def report(
        self, settings: dict[str, str] | None = None, checks: tuple[Verdict, ...] = (), command: str = ""
    ) -> Report:
        """Everything that is known, as plain data for a page or a document."""
        explicit, curve = self.critical_line_expr, self.critical_line_averages
        known = explicit is not None or curve is not None
        return Report(
            activation=", ".join(f.name for f in self.layer.formulas),
            formulas=tuple((f.name, f.expr) for f in self.layer.formulas),
            heads=tuple(latex(f) for f in self.layer.formulas),
            layer=self.layer.name,
            equations=self.layer.equations,
            program=self.layer.program.lines,
            settings=tuple((settings or {}).items()),
            quantities=tuple(self.quantities.values()),
            critical_points=self.critical_points,
            universality_class=self.universality_class,
            critical_line=explicit,
            critical_line_weights=self.critical_line_weights,
            critical_curve=curve,
            line_remark=critical_line.separation(self._maps, explicit) if known else self._searched,
            exponents=self.exponents,
            vertex=vertex_formulas(self),
            growth=self.growth_curve,
            finite_width=() if self.growth_curve is None else self._growth_formulas,
            remarks=self.remarks,
            checks=checks,
            command=command,
        )
