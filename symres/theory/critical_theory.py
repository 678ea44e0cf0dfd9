"""A layer with the flow of its kernel: fixed points, phases, critical points and lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from ..core import symbols
from ..core.errors import DeclarationError, NoClosedForm, UnsupportedLayer
from ..core.scalars import Number, number, whole
from ..core.scalars import parameter as parameter_value
from ..core.work_budget import Stage, limited
from ..gaussian.algebra.canonical import canonical
from ..notation.shortest import tidy_factors
from ..results.arguments_of_quantities import require_range
from ..results.critical_point import Criticality, CriticalPoint, Exponents
from ..results.phases import DepthScales, FixedPoint, LinePoint, Phase
from .criticality import analysis, critical_line
from .criticality.at_fixed_point import FixedPointTheory, at_fixed_point
from .criticality.critical_conditions import Maps
from .criticality.explicit_line import explicit_line
from .criticality.kernel_flow import exponents_at
from .criticality.near_criticality import NearCriticality, near_criticality
from .criticality.phase import CorrelationMap, fixed_points, phase, variance_maps, with_kernel
from .observables.layer_theory import LayerTheory
from .quantities.build import unknown


@dataclass(frozen=True)
class CriticalTheory(LayerTheory):
    """What deep networks of one layer do to kernels, and where that is critical."""

    @limited(Stage.CRITICALITY, "fixed points")
    def fixed_points(self, /, **params: Number) -> tuple[FixedPoint, ...]:
        """The kernels that a layer preserves.

        Args:
            params: a number for every parameter of the layer, by name (C_W=, C_b=, gamma=...).

        Returns:
            FixedPoint(K, chi_parallel, chi_perp, phase) in increasing order of K, floats.

        Examples:
            For sin at ``C_W = 2``, ``C_b = 0`` a kernel is kept where ``K = 1 - exp(-2K)``:

            >>> zero, other = sr.derive("sin").fixed_points(C_W=2, C_b=0)
            >>> round(other.K, 6), other.phase
            (0.796812, 'chaotic')
        """
        found = fixed_points(self.flow_maps, params)
        return with_kernel(found, self.kernel_map, params) if self.has_covariance else found

    @limited(Stage.CRITICALITY, "the fixed point")
    def at_fixed_point(self, K: Number | None = None) -> FixedPointTheory:
        """What deep networks end in, as functions of the parameters of the layer.

        Closed where the kernel map is affine in K; elsewhere K* is the root of K' = K to which the kernel flows, a
        function of the parameters with derivatives.

        Args:
            K: the kernel of the input, of a batch its variance over the inputs; needed only where the end depends on
                it.

        Returns:
            FixedPointTheory: ``.K``, ``.chi_parallel``, ``.chi_perp``, ``.correlation_length`` and
            ``.critical_surface`` are Quantities.

        Raises:
            NoClosedForm: a map is unknown or depends on a covariance, too; every kernel is kept, or all grow.

        Source:
            Doshi et al., Theorem 1.3, (64), (69) and (70).

        Examples:
            A branch behind a normaliser, beside a skip connection of weight gamma:

            >>> star = sr.derive(sr.pre_ln("relu", gamma=sr.gamma)).at_fixed_point()
            >>> star.K.expr, star.chi_perp.expr
            ((C_W/2 + C_b)/(1 - gamma**2), C_W*(1 - gamma**2)/(C_W + 2*C_b) + gamma**2)

            Of sin K* is implicit, as exact as it is asked for, and has derivatives:

            >>> star = sr.derive("sin").at_fixed_point()
            >>> print(star)
            where deep networks end
              K_star = C_W*(1/2 - exp(-2*K_star)/2) + C_b
              chi_parallel_star(C_W, C_b) = C_W*exp(-2*K_star)
              chi_perp_star(C_W, C_b) = C_W*(1/2 + exp(-2*K_star)/2)
            >>> star.K(C_W=2, C_b=0)
            0.7968121300200199
        """
        return at_fixed_point(self.flow_maps, K)

    @limited(Stage.CRITICALITY, "an expansion beside a critical point")
    def near_criticality(
        self, parameter: str = "C_W", order: Number = 3, point: CriticalPoint | None = None
    ) -> NearCriticality:
        """The fixed point beside a critical point, in powers of the distance of one parameter from its critical value.

        Args:
            parameter: "C_W" or "C_b"; the other one keeps its critical value.
            order: number of terms of the kernel.
            point: a critical point with numbers, not a line of them; the most useful one by default.

        Returns:
            NearCriticality: ``.K`` and ``.chi_perp`` are Quantities, series compared with the next kernel; ``.exists``
            is the side on which the fixed point is.

        Raises:
            DeclarationError: another parameter.
            NoClosedForm: there is no such point; the maps have other powers of K than integers; no fixed point begins.

        Examples:
            Kernels of tanh grow like ``(C_W - 1)/2`` from 0, and ``chi_perp - 1`` by the power 2 only:

            >>> print(sr.derive("tanh").near_criticality("C_W", order=2))
            fixed point beside a critical point
              K_star_series(C_W) = C_W/2 + 5*(C_W - 1)**2/24 - 1/2
              chi_perp_star_series(C_W) = (C_W - 1)**2/3 + 1
              where: C_W > 1
        """
        symbol = next((s for s in (symbols.C_W, symbols.C_b) if s.name == parameter), None)
        if symbol is None:
            raise DeclarationError(f"an expansion in {parameter}", "it is not C_W or C_b", "pass one of them")
        chosen = point or next(iter(self.critical_points), None)
        if chosen is None or chosen.along is not None or chosen.K == symbols.K:
            found = "the layer has none that is a point"
            raise NoClosedForm("an expansion beside a critical point", found, "pass one")
        return near_criticality(self.flow_maps, chosen, symbol, whole(order, "order", 1))

    @limited(Stage.CRITICALITY, "the phase")
    def phase(self, /, K: Number | None = None, **params: Number) -> Phase:
        """What a deep network at given parameters ends in: an ordered, chaotic, critical or diverging phase.

        Args:
            K: the kernel of the input, of a batch its variance over the inputs; needed only where the end depends on
                it.
            params: a number for every parameter of the layer, by name.

        Examples:
            SELU is made so that K = 1 attracts at ``C_W = 1``; its gradients explode there, slowly:

            >>> end = sr.derive("selu").phase(K=1, C_W=1, C_b=0)
            >>> end.name, round(end.K, 6), round(end.chi_perp, 6)
            ('chaotic', 1.0, 1.071575)
        """
        return phase(self.flow_maps, fixed_points(self.flow_maps, params), params, K)

    @limited(Stage.CRITICALITY, "fixed points of correlations")
    def correlation_fixed_points(self, /, K: Number | None = None, **params: Number) -> tuple[float, ...]:
        """The correlations of two inputs that a layer keeps where the network ends, in increasing order.

        1 is one of them. It attracts in the ordered phase; in the chaotic phase the only one in [0, 1) does.

        Args:
            K: the kernel of the inputs; needed only where the end of the kernel depends on it.
            params: a number for every parameter of the layer, by name.

        Raises:
            UnsupportedLayer: the layer normalises over a batch.
            NoClosedForm: the kernel ends at 0, or diverges; or every correlation is kept.

        Source:
            Poole et al., arXiv:1606.05340, and Schoenholz et al., arXiv:1611.01232, for multilayer perceptrons.

        Examples:
            For sin the correlation c becomes ``sinh(c*K)/sinh(K)``, an odd function:

            >>> sr.derive("sin").correlation_fixed_points(C_W=2, C_b=0)
            (-1.0, 0.0, 1.0)
        """
        return self._correlations(K, params).fixed_points

    @limited(Stage.CRITICALITY, "depth scales")
    def depth_scales(self, /, K: Number | None = None, **params: Number) -> DepthScales:
        """How deep signals travel: (c, xi_q, xi_c) of Schoenholz et al., arXiv:1611.01232.

        Args:
            K: the kernel of the inputs; needed only where the end of the kernel depends on it.
            params: a number for every parameter of the layer, by name.

        Returns:
            DepthScales(c, xi_q, xi_c), floats with about 15 digits, the depths in layers.

        Raises:
            UnsupportedLayer: the layer normalises over a batch.
            NoClosedForm: the kernel ends at 0, or diverges.

        Examples:
            >>> scales = sr.derive("sin").depth_scales(C_W=2, C_b=0)
            >>> scales.c, round(scales.xi_q, 4), round(scales.xi_c, 4)  # xi_c is -1/log(K/sinh(K)) at K = 0.7968
            (0.0, 1.1105, 9.6465)
        """
        return self._correlations(K, params).scales

    def _correlations(self, start: Number | None, params: dict[str, Number]) -> CorrelationMap:
        """The map of correlations at the kernel in which the network ends.

        Raises:
            UnsupportedLayer: the layer normalises over a batch, or its inputs have positions.
        """
        if self.has_covariance:
            found = "a layer that normalises over a batch, or mixes positions, moves all correlations together"
            raise UnsupportedLayer("the correlation map", found, "iterate kernels(..., C=...)")
        return CorrelationMap(self.covariance_map, self.phase(start, **params), start, params)

    def correlation_length(self, /, K: Number | None = None, **params: Number) -> float:
        """The depth ``1/|log chi_perp|`` over which squared gradients grow or fall by a factor e (Doshi et al. (17)).

        In the ordered phase it is also the depth over which the correlation of two inputs approaches 1; in the chaotic
        phase correlations end elsewhere, over the depth ``depth_scales(...).xi_c``.

        Args:
            K: the kernel of the input; needed only where the end of the kernel depends on it.
            params: a number for every parameter of the layer, by name.

        Returns:
            A float with 15 digits; infinite where the network is critical.

        Raises:
            DeclarationError: it ends at several places, and K is not given.
            NoClosedForm: the kernel diverges, and the limit of chi_perp is not known, or it alternates.

        Examples:
            ReLU at half of the critical weight variance, where chi_perp is 1/2:

            >>> sr.derive("relu").correlation_length(C_W=1, C_b="1/10")  # 1/log(2)
            1.4426950408889634
        """
        return self.phase(K, **params).correlation_length

    @limited(Stage.LINE, "critical_line")
    def critical_line(self, /, C_W: Number, **params: Number) -> tuple[LinePoint, ...]:
        """The bias variances for which a layer keeps a kernel and chi_perp = 1 there, in increasing order.

        Args:
            C_W: the weight variance.
            params: numbers for all other parameters but C_b, by name.

        Returns:
            Numbers, floats with 15 digits, each with its kernel ``K``, ``chi_parallel`` there and whether the kernel
            flows to it (``reachable``).

        Examples:
            >>> (point,) = sr.derive("erf").critical_line(C_W=2)
            >>> round(point, 6), round(point.K, 6), point.reachable  # K = (64/pi^2 - 1)/4
            (0.324023, 1.371139, True)
        """
        values = self._numbers({"C_W": C_W, **params}, but={"C_b"})
        return critical_line.critical_line(self.flow_maps, values.pop(symbols.C_W), values)

    @cached_property
    def critical_line_expr(self) -> sp.Expr | None:
        """C_b on the critical line as a function of C_W and the other parameters; None where it is not explicit.

        Examples:
            >>> sr.derive("sin").critical_line_expr
            -C_W - log((2 - C_W)/C_W)/2 + 1
        """
        found = self.attempted(Stage.LINE, "explicit critical line", lambda: explicit_line(self.flow_maps), None)
        return None if found is None else found[1]

    @cached_property
    def critical_line_weights(self) -> tuple[sp.Expr, sp.Expr] | None:
        """The weight variances between which the explicit line has kernels, (pi/4, oo); None if that is all or unknown.

        The formula has values elsewhere too, which mean nothing.

        Examples:
            >>> sr.derive("sin").critical_line_weights  # C_W (1 + exp(-2K))/2 = 1 for K from 0 to infinity
            (1, 2)
        """
        if self.critical_line_expr is None:
            return None
        asked = "weight variances of the critical line"
        return self.attempted(Stage.LINE, asked, lambda: critical_line.line_weights(self.flow_maps), None)

    def critical_curve(self, /, kernels: Iterable[Number], **params: Number) -> list[tuple[float, float, bool]]:
        """(C_W, C_b, whether the kernel flows there) on the critical line, for each of some kernels.

        Args:
            kernels: numbers; of layers with biases inside of their averages, the variances there, and of other layers
                whose line is explicit in C_W, that.
            params: numbers for all parameters but C_W and C_b, by name.

        Returns:
            nan where there is none, a negative variance where none but a formal solution keeps the kernel; empty for
            layers whose line has no explicit form.

        Raises:
            DeclarationError: what is no number, or a parameter without one.

        Examples:
            For the bell ``C_W = (1 + 2K)^(3/2)/K``; the negative C_b says that no network keeps K = 1 there:

            >>> [(weight, bias, reachable)] = sr.derive("bell").critical_curve([1])
            >>> round(weight, 6), round(bias, 6)
            (5.196152, -2.0)
        """
        places = [number(k, "a kernel") for k in (kernels if isinstance(kernels, Iterable) else [kernels])]
        line = critical_line.CriticalLine.of(self.flow_maps, self._numbers(params, but={"C_W", "C_b"}))
        return [] if line is None else [line.row(place) for place in places]

    @cached_property
    def critical_line_parametric(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(C_W, C_b) on the critical line as functions of the kernel K; None where they are not explicit.

        Examples:
            >>> weight, bias = sr.derive("cos").critical_line_parametric
            >>> weight  # 1/<sin^2>
            2/(1 - exp(-2*K))
        """
        maps = self.flow_maps  # derived within budgets of their own
        asked = "critical line along the kernel"
        return self.attempted(Stage.LINE, asked, lambda: critical_line.parametric_line(maps), None)

    @cached_property
    def critical_line_averages(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(C_W, C_b) on the critical line along the kernel K in averages, C_b in C_W too.

        None where the line is explicit, a line of critical points, or has no such form.

        Examples:
            >>> sr.derive("tanh").critical_line_averages
            (1/<tanh'(z)**2>_{K}, -C_W*<tanh(z)**2>_{K} + K)
        """
        line = self.critical_line_parametric
        if self.critical_line_expr is not None or line is None or not any(e.has(symbols.K) for e in line):
            return None
        if any(point.K == symbols.K or point.along for point in self.critical_points):
            return None

        def in_averages() -> tuple[sp.Expr, sp.Expr]:
            weight, bias = critical_line.parametric_line(self.flow_maps, opened=True) or line
            return tidy_factors(sp.factor(weight)), tidy_factors(sp.collect(canonical(bias), symbols.K))

        return self.attempted(Stage.LINE, "critical line in averages", in_averages, None)

    @cached_property
    def flow_maps(self) -> Maps:
        """What the flow of the kernel is analysed by; of a batch, K is the variance over its inputs there.

        Of inputs with positions the maps are known where they depend on K alone.
        """
        maps = self.kernel_map, self.chi_parallel, self.chi_perp
        if self.has_positions:
            found = "it depends on the covariance of two positions, too"
            one, slope, perp = (unknown(q.name, (symbols.K,), found) if q.defined.has(symbols.C) else q for q in maps)
            return one, slope, perp
        return variance_maps(maps[0], self.covariance_map, maps[2]) if self.has_covariance else maps

    def _numbers(self, params: dict[str, Number], but: set[str]) -> dict[sp.Symbol, sp.Expr]:
        """Exact numbers for all parameters of the layer but some.

        Raises:
            DeclarationError: one is missing, is no parameter, or has the wrong sign.
        """
        needed = {s.name: s for s in self.layer.parameters if s.name not in but}
        for name in [*needed, *params]:
            if name not in needed or name not in params:
                found = "has no value" if name in needed else "is not a free parameter of it"
                listed = ", ".join(needed) or "none"
                raise DeclarationError(f"{name} of the layer {self.layer.name}", f"it {found}", f"pass: {listed}")
        values = {needed[name]: parameter_value(value, name) for name, value in params.items()}
        for symbol, value in values.items():
            require_range(f"the layer {self.layer.name}", symbol, value)
        return values

    @cached_property
    def _criticality(self) -> Criticality:
        if self.has_positions and any(q.defined.has(symbols.C) for q in (self.kernel_map, self.chi_perp)):
            return Criticality((), "undefined", ())
        maps, given_up = self.flow_maps, "the search for critical points was given up"
        without = Criticality((), "unknown", (given_up,))
        return self.attempted(Stage.CRITICALITY, "critical points", lambda: analysis.analyse(maps), without)

    @property
    def critical_points(self) -> tuple[CriticalPoint, ...]:
        """Where K' = K and both susceptibilities are 1 (PDLT (B.19)), the most useful first; exact where possible.

        Examples:
            SiLU at the half-stable kernel of PDLT, section 5.3.4:

            >>> point = sr.derive("silu").critical_points[0]
            >>> point.stability, [round(float(number), 6) for number in (point.K, point.C_W, point.C_b)]
            ('half-stable', [14.320174, 1.988005, 0.555143])
        """
        return self._criticality.points

    @property
    def universality_class(self) -> str:
        """The name of the class, a word of the literature.

        "scale-invariant", "K*=0" or "half-stable" for critical points; "everywhere-critical" or "subcritical" where
        every C_W and C_b is critical, with a power law or a stretched exponential; "none"; "unknown" if the search
        could not decide.

        Examples:
            >>> sr.derive("where(z > 0, z, z/5)").universality_class, sr.derive("sin").universality_class
            ('scale-invariant', 'K*=0')
        """
        return self._criticality.universality_class

    @cached_property
    def exponents(self) -> Exponents:
        """How kernel and Jacobian go with the depth at the critical point, or wherever all points are critical.

        ``K - K* ~ amplitude*l**-kernel`` and ``J ~ l**-jacobian`` (Doshi et al., appendix G), for the point that names
        the universality class.

        Examples:
            With ``K' = K (1 + K/2)^(-3/2) = K - 3 K^2/4 + ...`` the kernel falls like ``4/(3 l)``:

            >>> laws = sr.derive("z*exp(-z^2/8)").exponents
            >>> laws.amplitude, laws.kernel, laws.jacobian
            (4/3, 1, 1)
        """
        criticality = self._criticality
        if criticality.growth is not None:
            return criticality.growth.exponents
        named = {"scale-invariant": "neutral", "K*=0": "stable", "half-stable": "half-stable"}
        wanted = named.get(criticality.universality_class)
        point = next((p for p in criticality.points if p.stability == wanted), None)
        if point is None:
            why = "; ".join(criticality.remarks) or f"the universality class is {criticality.universality_class}"
            return Exponents(None, None, None, remark=why)
        return self.exponents_of(point)

    def exponents_of(self, point: CriticalPoint) -> Exponents:
        """How kernel and Jacobian go with the depth at one of several critical points, from the side that it attracts.

        Args:
            point: of ``critical_points``.

        Examples:
            GELU's stable and half-stable points; both kernels approach theirs like 1/l:

            >>> theory = sr.derive("gelu")
            >>> [(point.stability, theory.exponents_of(point).kernel) for point in theory.critical_points]
            [('half-stable', 1), ('unstable', 1)]
        """
        kernel_map, _, perp = self.flow_maps
        given_up = Exponents(None, None, None, remark="the derivation of exponents was given up")
        return self.attempted(Stage.CRITICALITY, "exponents", lambda: exponents_at(point, kernel_map, perp), given_up)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about the criticality analysis, such as why something is missing or unknown.

        Examples:
            >>> sr.derive("square").remarks
            ('at K = 0 no C_W > 0 makes the susceptibilities 1',)
        """
        return (*self._criticality.remarks, *self.given_up.values())
