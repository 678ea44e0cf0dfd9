"""Where deep networks end at given parameters: kernels that a layer preserves, Jacobians there, correlations.

The flow of layers with BatchNorm is that of the variance K - C of a neuron over the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import mpmath as mp
import sympy as sp

from ...core.errors import DeclarationError, NoClosedForm
from ...core.scalars import Number, number
from ...core.symbols import C, K, kappa
from ...functions.balls import evaluate
from ...functions.roots.bracketing import at_kappa, first_positive, float_values, zero, zeros
from ...gaussian.algebra.canonical import canonical
from ...numerics.brent import brent
from ...results.phases import CRITICAL, DepthScales, FixedPoint, Phase, phase_name
from ...results.quantity import Quantity, Status
from ..quantities.build import build, derivative, unknown
from ..quantities.expansion import terms_of, verified_terms
from .critical_conditions import Maps, expression_of

_DIGITS = 22
_MARGINAL = 1e-9  # how close chi_parallel is to 1 where the flow along K tells the stability
_BESIDE_ZERO = sp.Rational(1, 10**20)
_BEYOND = sp.Integer(10) ** 12  # a kernel beyond all that are searched
_MAP_DIGITS = 32  # of the map: where a correlation is nearly 1, its distance from 1 still has 15
_GUARDED = 28  # digits of it in which values that are equal agree
_NEAREST = 1e-12  # to 1, of a fixed point: chi_perp - 1, half the curvature times that, counts as 0 at 1e-10


def fixed_points(maps: Maps, params: Mapping[str, Number]) -> tuple[FixedPoint, ...]:
    """The fixed points of the kernel map between 1e-9 and 1e12, and K = 0 where it is one, at numbers by name."""
    # critical values come as nested averages: once to 30 digits, not at every kernel
    exact = {name: number(value, name) for name, value in params.items()}
    params = {n: e if e.is_Rational else number(evaluate(e, {}, 30)[0], "a parameter") for n, e in exact.items()}

    def at(k: Any) -> FixedPoint:
        place = mp.mpf(1) if k == K else k
        parallel, perp = (
            math.nan if q.status is Status.UNKNOWN else float(q.evalf(16, K=place, **params)) for q in maps[1:]
        )
        return FixedPoint(k if k == K else float(k), parallel, perp, phase_name(perp))

    kernel_map = maps[0]
    kernel_map.evalf(5, K=1, **params)  # complains of missing and unknown parameters
    values = {s: params[s.name] for s in kernel_map.symbols[1:]}
    if canonical(kernel_map.proof.result.subs(values)) == K:
        return (at(K),)
    return (*_zero_fixed_point(maps, params), *map(at, _positive(kernel_map, maps[1], params)))


def _positive(kernel_map: Quantity, parallel: Quantity, params: dict[str, sp.Expr]) -> list[float]:
    """The zeros of the excess K'/K - 1: where it changes sign, and where its extremum touches zero.

    The slope of the excess in log K is chi_parallel - K'/K.
    """
    flow, turn = (
        expression_of(q).subs({s: params[s.name] for s in q.symbols[1:]}).xreplace({K: kappa})
        for q in (kernel_map, parallel)
    )
    excess, slope = (partial(at_kappa, e) for e in (flow / kappa - 1, turn - flow / kappa))
    seen = zeros(excess, slope, float_values(flow / kappa - 1))
    crossings = [zero(excess, *ends) for ends in seen.crossings]
    return sorted([*crossings, *map(float, seen.touches)])


def _zero_fixed_point(maps: tuple[Quantity, ...], params: Mapping[str, Number]) -> tuple[FixedPoint, ...]:
    """K = 0, where K' vanishes with K; the susceptibilities there are limits."""

    try:
        here = [q.at(**{s.name: params[s.name] for s in q.symbols[1:]}) for q in maps]
        if terms_of(here[0], 0, large=False):  # as with biases: to check that would take the orders beyond
            return ()
        flow, *slopes = (verified_terms(quantity, 0).terms for quantity in here)
    except NoClosedForm:
        return ()
    if flow or any(power != 0 for limit in slopes for power in limit):
        return ()
    parallel, perp = (float(limit.get(sp.Integer(0), sp.Integer(0))) for limit in slopes)
    return (FixedPoint(0.0, parallel, perp, phase_name(perp)),)


def phase(
    maps: Maps,
    points: Sequence[FixedPoint],
    params: Mapping[str, Number],
    start: Number | None,
) -> Phase:
    """The phase at given parameters, from all fixed points there.

    ``start`` is the kernel of the input; None if the network ends at one place whatever it is.

    Raises:
        DeclarationError: it ends at several places, and ``start`` is not given.
        NoClosedForm: the kernel alternates around a point that repels it, or falls to no fixed point.
    """
    if points and points[0].K == K:
        return _phase_at(points[0])
    numbers = [{s.name: number(params[s.name], s.name) for s in q.symbols if s != K} for q in maps]
    flow = partial(maps[0].evalf, _DIGITS, **numbers[0])
    if start is None:
        ends = [point for position, point in enumerate(points) if _attracts(flow, points, position)]
        grows = _direction(flow, _BEYOND) > 0
        if len(ends) + grows != 1:
            listed = " or ".join([f"K = {point.K:.6g}" for point in ends] + ["infinite K"] * grows)
            found = f"the kernel may end at {listed}" if listed else "no attracting fixed point was found"
            raise DeclarationError("the phase of a network", found, "pass the kernel of the input, K=1")
        return _phase_at(ends[0]) if ends else _at_infinity(maps[2], numbers[2])
    place = float(number(start, "K"))
    direction = _direction(flow, start if place else _BESIDE_ZERO)
    nearest = min(points, key=lambda point: abs(point.K - place), default=None)
    if nearest is not None and (not direction or abs(nearest.K - place) <= _MARGINAL * place):
        return _phase_at(nearest)
    ahead = [point for point in points if (point.K - place) * direction > 0]
    if ahead:
        return _phase_at(min(ahead, key=lambda point: abs(point.K - place)))
    if direction < 0:
        raise NoClosedForm("the phase of a network", "the kernel falls to no fixed point", "iterate kernels()")
    return _at_infinity(maps[2], numbers[2])


def _direction(flow: Callable[..., mp.mpf], k: Number) -> float:
    """The sign of K' - K at a kernel; 0 if it is 0 to about 20 digits."""
    exact = number(k, "K")
    apart = flow(K=exact) / mp.mpf(sp.Float(exact, _DIGITS + 8)) - 1
    return 0.0 if abs(apart) < mp.mpf(10) ** (2 - _DIGITS) else math.copysign(1.0, apart)


def _attracts(flow: Callable[..., mp.mpf], points: Sequence[FixedPoint], position: int) -> bool:
    """Whether the kernel flows to one of the fixed points, from one side at least."""
    point = points[position]
    if abs(point.chi_parallel - 1) > _MARGINAL:
        return abs(point.chi_parallel) < 1
    # the flow keeps its sign up to the next fixed point; beside this one it may be smaller than any number
    below = [point.K] if not position else [points[position - 1].K, point.K]
    above = [point.K, points[position + 1].K if position + 1 < len(points) else 3 * point.K or 2.0]
    return _direction(flow, sum(above) / 2) < 0 or (point.K != 0 and _direction(flow, sum(below) / 2) > 0)


def _at_infinity(perp: Quantity, numbers: Mapping[str, sp.Expr]) -> Phase:
    """The phase of a kernel that grows without bound, from chi_perp at numbers for its parameters."""
    try:
        terms = terms_of(perp.at(**numbers), 0, large=True)
    except NoClosedForm:
        return Phase("diverging", math.inf, math.nan, math.nan)
    if any(exponent < 0 for exponent in terms):
        return Phase("diverging", math.inf, math.nan, math.inf)
    limit = terms.get(sp.Integer(0), sp.Integer(0))
    return Phase("diverging", math.inf, math.nan, float(evaluate(limit, {}, 17)[0]))


def _phase_at(point: FixedPoint) -> Phase:
    """The phase of a network that ends in a fixed point.

    Raises:
        NoClosedForm: it does not: kernels alternate around the point, farther from layer to layer.
    """
    if point.chi_parallel < -1:
        found = f"the kernel alternates around K = {point.K:.6g}, which repels it"
        raise NoClosedForm("the phase of a network", found, "iterate kernels()")
    return Phase(phase_name(point.chi_perp), point.K, point.chi_parallel, point.chi_perp)


def variance_maps(kernel_map: Quantity, covariance_map: Quantity, perp: Quantity) -> Maps:
    """The variance over the batch of the next layer, its slope, and chi_perp, as functions of the variance, called K.

    Batch normalisation sees differences of inputs only, so the three do not depend on K and C otherwise.
    """
    names = ("kernel_map", "chi_parallel", "chi_perp")
    try:
        flow, chi = (_in_variance(e) for e in (kernel_map.defined - covariance_map.defined, perp.defined))
    except NoClosedForm as error:
        missing = [unknown(name, (K,), error.found) for name in names]
        return missing[0], missing[1], missing[2]
    parameters, definitions = _parameters(kernel_map), (flow, flow.diff(K), chi)
    made = [build(name, (K,), e, parameters=parameters) for name, e in zip(names, definitions, strict=True)]
    return made[0], made[1], made[2]


def with_kernel(
    points: tuple[FixedPoint, ...], kernel_map: Quantity, params: Mapping[str, Number]
) -> tuple[FixedPoint, ...]:
    """Fixed points of the variance over a batch, with the kernel in the place of the variance.

    Raises:
        NoClosedForm: the kernel depends on the covariance, or has not one fixed point of its own.
    """
    asked, remedy = "the fixed points of a batch", "iterate kernels()"
    if kernel_map.defined.has(C):
        raise NoClosedForm(asked, "its kernel depends on the covariance of inputs", remedy)
    parameters = _parameters(kernel_map)
    definitions = kernel_map.defined, kernel_map.defined.diff(K)
    flow, slope = (build("kernel_map", (K,), e, parameters=parameters) for e in definitions)
    kernels = fixed_points((flow, slope, slope), params)
    if len(kernels) != 1:
        raise NoClosedForm(asked, f"the kernel has {len(kernels)}", remedy)
    return tuple(replace(point, K=kernels[0].K) for point in points)


def _parameters(quantity: Quantity) -> tuple[sp.Symbol, ...]:
    return tuple(s for s in (*quantity.symbols, *quantity.unused) if s not in (K, C))


def _in_variance(expression: sp.Expr) -> sp.Expr:
    """A function of K - C as one of K."""
    apart = expression.subs(K, K + C)
    apart = apart.replace(lambda e: isinstance(e, sp.Add) and e.has(C), sp.expand)
    apart = sp.expand(apart) if apart.has(C) else apart
    if apart.has(C):
        found = "the next variance over the batch depends on the kernel, too"
        raise NoClosedForm("the flow of a batch", found, "iterate kernels() at given parameters")
    return apart


class CorrelationMap:
    """``f(c)``, what a layer makes of the correlation c of two inputs at the kernel K* in which a network ends.

    ``f(c) = C'(K*, K*, c K*)/K*`` (Poole et al., arXiv:1606.05340; Schoenholz et al., arXiv:1611.01232) maps positive
    definite kernels on spheres of any dimension to positive definite ones, so that it is a power series whose
    coefficients are not negative, whatever the layer (Schoenberg, 1942), and f(1) = 1. Therefore

    * f is convex between 0 and 1: beside c = 1 there is one fixed point c* in [0, 1) if f'(1) = chi_perp > 1, and none
      otherwise unless f(c) = c;
    * with odd and even parts, ``-f(-c) = odd(c) - even(c) <= c*odd(1) <= c``: fixed points below 0 need ``even = 0``,
      and then they are those above 0 with the other sign.

    Args:
        covariance: the covariance map of two inputs.
        phase: where the network ends.
        start: the kernel of the input, at which f is taken where every kernel is kept; None for 1.
        params: a number for every parameter, by name.

    Raises:
        NoClosedForm: the network ends at no positive kernel.
    """

    def __init__(self, covariance: Quantity, phase: Phase, start: Number | None, params: Mapping[str, Number]) -> None:
        if phase.K in (0, math.inf):
            found = f"the kernel ends at {phase.K:g}, where correlations depend on those of the input"
            raise NoClosedForm("the limit of correlations", found, "iterate dual_kernels()")
        self._kernel = number((1 if start is None else start) if phase.K == K else phase.K, "K")
        self._covariance, self._phase = covariance, phase
        self._params = dict(params)

    @cached_property
    def fixed_points(self) -> tuple[float, ...]:
        """All correlations that a layer keeps, in increasing order.

        Raises:
            NoClosedForm: every correlation is kept.
        """
        inner = self._inner
        if inner is None:
            # f(0) = 0, f(1) = 1 and f'(1) <= 1 leave nothing but f(c) = c to a convex function
            if self._value(sp.Integer(0)) == 0:
                raise NoClosedForm("the limit of correlations", "the layer keeps every correlation", "take another")
            return (1.0,)
        return (-1.0, 0.0, 1.0) if inner == 0 and self._is_odd else (inner, 1.0)

    @property
    def scales(self) -> DepthScales:
        """The correlation in which deep networks end, and the depths over which they go there."""
        inner = self._inner
        slope = self._phase.chi_perp
        if inner is not None:  # f'(c) is that of the covariance map in C
            there = self._pair(number(inner, "c"))
            slope = float(derivative(self._covariance, C).evalf(_MAP_DIGITS, **there))
        return DepthScales(1.0 if inner is None else inner, _depth(abs(self._phase.chi_parallel)), _depth(slope))

    @cached_property
    def _inner(self) -> float | None:
        """c* in [0, 1); None where correlations end at 1."""
        if not self._phase.chi_perp > 1 + CRITICAL:
            return None
        if self._value(sp.Integer(0)) == 0:
            return 0.0
        apart = first_positive(self._excess, 1.0, _NEAREST, 1 / 10)
        return None if apart is None else 1 - brent(self._excess, apart, 10 * apart, xtol=1e-300, rtol=1e-15)

    @property
    def _is_odd(self) -> bool:
        """Whether f(-c) = -f(c): f(-1) = -1 leaves no even power."""
        with mp.workdps(_MAP_DIGITS):
            ends = [self._value(sp.Integer(c)) for c in (-1, 1)]
            return bool(abs(sum(ends)) <= mp.mpf(10) ** -_GUARDED * ends[1])

    def _excess(self, apart: float) -> float:
        """``(1 - f(c))/(1 - c) - 1`` at c = 1 - apart: negative where c < c*, positive where c > c*."""
        if apart == 1:
            return -float(self._value(sp.Integer(0)))
        distance = sp.Rational(apart)
        with mp.workdps(_MAP_DIGITS):
            gained = (self._value(sp.Integer(1)) - self._value(1 - distance)) / mp.mpf(apart)
            return float(gained / mp.mpf(sp.Float(self._kernel, _MAP_DIGITS)) - 1)

    def _value(self, c: sp.Expr) -> mp.mpf:
        """The next covariance, K* f(c)."""
        return self._covariance.evalf(_MAP_DIGITS, **self._pair(c))

    def _pair(self, c: sp.Expr) -> dict[str, Number]:
        return {"K1": self._kernel, "K2": self._kernel, "C": c * self._kernel, **self._params}


def _depth(factor: float) -> float:
    """The number of layers over which something that is multiplied by a factor in each falls by a factor e."""
    if math.isnan(factor):
        return math.nan
    if abs(factor - 1) < CRITICAL or factor == math.inf:
        return math.inf
    return 0.0 if factor == 0 else 1 / abs(math.log(factor))
