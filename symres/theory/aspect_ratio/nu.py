"""nu(gamma) and the optimal aspect ratio of a layer as quantities; its limits at gamma = 0 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import mpmath as mp
import sympy as sp

from ...core.errors import NoClosedForm, UnsupportedLayer
from ...core.proof import Proof
from ...core.symbols import C_W, C_b, K, gamma, n_L
from ...core.words import SeriesRange
from ...functions.balls import evaluate
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...layers.program import Program
from ...notation.shortest import tidy_factors
from ...results.critical_point import CriticalPoint
from ...results.quantity import NamedStep, Quantity, Status, Verification
from ..criticality.kernel_flow import without_bias
from ..quantities.build import build, unknown
from ..quantities.expansion import verified_terms
from .geometric_sum import GeometricSum
from .vertex_growth import FLOW_TO_ZERO, StationaryNoise, at_small_kernels

_DIGITS = 15
_NEAR = sp.Rational(1, 10**3)  # 1 - gamma, where the slope at 1 is compared with values
_CLOSE = 0.02  # largest relative distance there
_MEANING = {
    "neutral": "growth of the four-point vertex over the squared kernel, per layer of deep networks",
    "half-stable": "growth of the four-point vertex over the squared kernel, per layer of deep networks at K = K*",
    "stable": "growth of the four-point vertex over the squared kernel, per layer of deep networks where K flows to 0",
}
SKIPS = ((gamma, -1, 1),)  # skip weights at which kernels neither explode nor stay for ever
_APPROACH = "nu_log"


def expansion(quantity: Quantity, order: int, *, large: bool = False, checked: bool = True) -> Quantity:
    """The series of nu up to a power of gamma, or, for gamma -> 1 if ``large``, the first term ``c (1 - gamma^2)``.

    That of the aspect ratio, in which nu is a named step, is made of it. All are compared with values, whatever
    ``checked`` says.

    Raises:
        NoClosedForm: the covariance at two times has no closed form, or the memory is not gamma.
    """
    growth = quantity.steps[-1].expr if quantity.steps else quantity.body
    if growth.has(Expectation):
        raise NoClosedForm("an expansion of nu", "its averages have no closed form", "use evalf")
    body = _near_one(growth) if large else _near_zero(growth, order)
    if quantity.steps:
        body = quantity.body.xreplace({quantity.steps[-1].symbol: body})
        body = body if large else sp.series(body, gamma, 0, order + 1).removeO()
    return replace(
        quantity,
        name=f"{quantity.name}_{'asymptotics' if large else 'series'}",
        definition=body,
        body=body,
        status=Status.SERIES,
        steps=(),
        proof=Proof(body),
        reason=SeriesRange("the first term for gamma to 1" if large else f"terms up to gamma**{order}"),
        verifications=(_verified(quantity, body, order, large),),
        expansion=None,
    )


def near_identity(quantity: Quantity) -> sp.Expr | None:
    """The first term of nu for gamma to 1; None where it has no closed form, or nu does not depend on gamma."""
    if quantity.status is Status.UNKNOWN or not quantity.body.has(gamma):
        return None
    try:
        return expansion(quantity, 1, large=True).body
    except NoClosedForm:
        return None


def _near_zero(body: sp.Expr, order: int) -> sp.Expr:
    sums = {s: sp.Add(*(s.term.subs(s.variable, s.start * s.ratio**d) for d in range(order))) for s in _sums(body)}
    return sp.expand(sp.series(body.xreplace(sums), gamma, 0, order + 1).removeO())


def _near_one(body: sp.Expr) -> sp.Expr:
    """``sum_d c(gamma^d)`` becomes ``1/(1 - gamma)`` times the integral of c(r)/r."""
    integrals = {s: _integral(s.term.subs(gamma, 1), s.variable) / (1 - gamma) for s in _sums(body)}
    return sp.limit(sp.factor(body.xreplace(integrals)) / (1 - gamma**2), gamma, 1) * (1 - gamma**2)


def _sums(body: sp.Expr) -> list[GeometricSum]:
    """The sums over times in nu.

    Raises:
        NoClosedForm: one is over powers of another memory than gamma.
    """
    sums = sorted(body.atoms(GeometricSum), key=str)
    if any(s.ratio != gamma for s in sums):
        raise NoClosedForm("an expansion in gamma", "the weight of the skip connection is not gamma", "use evalf")
    return sums


def _integral(term: sp.Expr, r: sp.Symbol) -> sp.Expr:
    """The integral of ``term/r`` from 0 to 1, term by term.

    Raises:
        NoClosedForm: it has no closed form here.
    """
    u = sp.Dummy("u", positive=True)
    merged = (
        canonical(term)
        .xreplace({r: u})
        .replace(
            lambda e: e.is_Mul and sp.sqrt(1 - u) in e.args and sp.sqrt(1 + u) in e.args,
            lambda e: e / (sp.sqrt(1 - u) * sp.sqrt(1 + u)) * sp.sqrt(1 - u**2),
        )
    )
    total = sp.Integer(0)
    for summand in sp.Add.make_args(sp.expand(merged / u)):
        factor, function = summand.as_independent(u, as_Add=False)
        # by parts, and by u = sin(t): minus the integral of log(sin t) over a quarter turn, by Euler
        value = sp.pi * sp.log(2) / 2 if function == sp.asin(u) / u else sp.integrate(function, (u, 0, 1))
        total += factor * value
    if total.has(sp.Integral, sp.oo, sp.nan):
        raise NoClosedForm("nu near gamma = 1", "an integral over the memory has no closed form", "use evalf")
    return total


def _verified(quantity: Quantity, body: sp.Expr, order: int, large: bool) -> Verification:
    """Compare with the value of nu at one gamma.

    Raises:
        NoClosedForm: they differ.
    """
    place = 1 - _NEAR if large else sp.Rational(1, 20)
    expression = quantity.expr
    assert expression is not None
    point = {s: sp.Rational(1, 3) for s in body.free_symbols | expression.free_symbols} | {gamma: place}
    right, expected = (evaluate(e.subs(point), {}, _DIGITS)[0] for e in (expression, body))
    distance = float(abs(expected / right - 1)) if right else float(abs(expected))
    allowed = _CLOSE if large else float(mp.mpf(100) * mp.mpf(place.p) ** (order + 1) / mp.mpf(place.q) ** (order + 1))
    if distance > allowed:
        raise NoClosedForm(
            f"an expansion of {quantity.name}", f"it differs from values by {distance:.2g}", "report a defect of symres"
        )
    return Verification("values of nu", 1, distance)


def nu(program: Program, points: Sequence[CriticalPoint], parameters: Sequence[sp.Symbol]) -> Quantity:
    """The growth of V/K^2 for each layer of deep networks at the critical point that names the universality class."""
    point = useful_point(points)
    if point is None:
        return unknown("nu", (gamma,), "no kernel is critical at any C_W and C_b")
    values = {C_W: point.C_W, C_b: point.C_b}
    left = tuple(s for s in parameters if s not in (C_W, C_b))
    try:
        if point.K == 0:
            definition = FLOW_TO_ZERO * StationaryNoise(at_small_kernels(program), {**values, K: sp.Integer(1)}).growth
        else:
            kernel = sp.Integer(1) if point.K == K else point.K  # kernels of any size are alike
            definition = StationaryNoise(program, {**values, K: kernel}).growth / kernel**2
    except (NoClosedForm, UnsupportedLayer) as error:
        return unknown("nu", (gamma,), error.found)
    growth = build(
        "nu",
        (gamma,) if definition.has(gamma) else (),
        definition,
        meaning=_MEANING[point.stability],
        parameters=tuple(dict.fromkeys((gamma, *left))),
        within=SKIPS,
    )
    return replace(growth, expansion=expansion)


def vertex_limit(program: Program, kernel_map: Quantity, chi: Quantity, parameters: Sequence[sp.Symbol]) -> Quantity:
    """``V/K^2`` of an infinitely deep network whose kernel settles because chi_parallel is a number below 1."""
    arguments = (gamma, C_W, C_b)
    if kernel_map.expr is None or chi.expr is None:
        return unknown("vertex_limit", arguments, "the maps of the layer are unknown")
    settles = chi.expr in (0, gamma**2)
    kernel = canonical((kernel_map.expr - chi.expr * K) / (1 - chi.expr)) if settles else K
    if kernel.has(K):
        return unknown("vertex_limit", arguments, "the kernel of deep networks does not converge for every input")
    try:
        definition = StationaryNoise(program, {K: kernel}).settled(chi.expr, 2) / kernel**2
    except (NoClosedForm, UnsupportedLayer) as error:
        return unknown("vertex_limit", arguments, error.found)
    return build("vertex_limit", (), definition, parameters=parameters, within=SKIPS)


def useful_point(points: Sequence[CriticalPoint]) -> CriticalPoint | None:
    """The first critical point at which deep networks stay, if there is one; none on a line of points."""
    return next((p for p in points if p.stability in _MEANING and p.along is None), None)


def aspect_ratio(growth: Quantity) -> Quantity:
    """The depth/width that maximises the mutual information of two blocks of n_L/2 outputs (PDLT (B.36)), from nu."""
    if growth.status is Status.UNKNOWN:
        return unknown("aspect_ratio", (gamma, n_L), growth.reason)
    step = NamedStep(sp.Symbol("nu", positive=True), growth.definition, growth.body)
    definition = 4 / ((20 + 3 * n_L) * step.symbol)
    return replace(
        growth,
        name="aspect_ratio",
        symbols=(*growth.symbols, n_L),
        definition=definition,
        body=definition,
        steps=(step,),
        proof=Proof(definition),
        meaning="",
    )


def approach(kernel_map: Quantity, points: Sequence[CriticalPoint]) -> Quantity:
    """Kappa at the point that names the universality class: how fast growth becomes nu where kernels flow to 0.

    With ``K' = K - a K^m + b K^(2m - 1)`` the power ``u = K^(1 - m)`` grows by ``(m - 1)(a + (m a^2/2 - b)/u)`` a
    layer, so ``K^(m - 1) = (1 - kappa log(l)/l)/((m - 1) a l)`` with ``kappa = (m/2 - b/a^2)/(m - 1)``. Fluctuations
    shrink by ``(chi K/K')^2 = 1 - 2 (m - 1) a K^(m - 1)`` in units of K^2, to which each layer adds 3 nu. The solution
    is ``V/(nu K^2) = l + kappa log(l) + O(1)``, whatever the kernel of the input is; that and what neurons remember
    enter the constant.
    """
    point = useful_point(points)
    if point is None or point.K != 0:
        return unknown(_APPROACH, (gamma,), "kernels do not flow to 0 at the critical point")
    if not point.correction:
        return unknown(_APPROACH, (gamma,), "kernels flow to 0 more slowly than every power of the depth")
    coefficient, power = point.correction.as_independent(K, as_Add=False)
    m = power.as_base_exp()[1]
    try:
        series = verified_terms(without_bias(kernel_map), int(sp.ceiling(2 * m - 1)))
    except NoClosedForm as error:
        return unknown(_APPROACH, (gamma,), error.found)
    powers = {power: value.subs(C_W, point.C_W) for power, value in series.terms.items()}
    between = [p for p, c in powers.items() if m < p < 2 * m - 1 and canonical(c) != 0]
    if between:
        rate = (min(between) - m) / (m - 1)
        reason = f"K' has the power {min(between)} of K as well, and growth becomes nu like l**-{rate}"
        return unknown(_APPROACH, (gamma,), reason)
    second = powers.get(2 * m - 1, sp.Integer(0))
    kappa = tidy_factors(canonical((m / 2 - second / coefficient**2) / (m - 1)))
    arguments = (gamma,) if kappa.has(gamma) else ()
    quantity = build(_APPROACH, arguments, kappa, parameters=kernel_map.unused, within=SKIPS)
    return replace(quantity, verifications=series.verifications)
