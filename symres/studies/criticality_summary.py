"""What a reader is shown of a report: criticality (conditions in averages, the flow near K* = 0, laws in the depth),
numbers, and expansions around 0 and far out of functions of one kernel that have no closed form.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import mpmath as mp
import sympy as sp

from ..core.atoms import Enclosable
from ..core.errors import NoClosedForm, OutOfBudget, SymresError
from ..core.symbols import C_W, C_b, K, gamma, xi
from ..core.words import SeriesRange
from ..core.work_budget import Stage, limited
from ..functions.balls import evaluate
from ..notation.decimals import at_zero_gamma, decimal, rounded, rounded_law, vanishes
from ..results.critical_point import CriticalPoint
from ..results.quantity import Quantity, Status
from ..results.report import Report

DIGITS = 15
SMALL, LARGE = 3, 2  # orders of expansions
_VALUES = 256  # of critical points that are remembered: all that a page shows, several times
STAR = sp.Symbol("K*", positive=True)
DEPTH = sp.Symbol("l", positive=True)
CLASSES = {
    "scale-invariant": "every kernel is a fixed point, kept from layer to layer",
    "K*=0": "at criticality the kernel decays to zero, slower than exponentially",
    "half-stable": "K* attracts nearby kernels on one side of it and repels them on the other",
    "everywhere-critical": "without a choice of C_W and C_b the Jacobian is at most a power of the depth",
    "subcritical": "without a choice of C_W and C_b the Jacobian is a stretched exponential of the depth",
    "unstable": "the critical point repels: nearby kernels flow away from it",
    "none": "no C_W and C_b make both susceptibilities 1 at a fixed point",
    "undefined": "critical points are those of one kernel, which depends on the covariance of two positions, too",
    "unknown": "the search for critical points could not decide; the remarks say why",
}
_STABILITY = {
    "neutral": "neutral: every kernel is preserved",
    "half-stable": "half-stable: it attracts nearby kernels from one side only",
    "marginal": "marginal: whether it is stable is undecided",
    "stable": "stable: it attracts the kernels around it",
    "unstable": "unstable: nearby kernels flow away from it",
}


def along(curve: tuple[sp.Expr, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """C_W and C_b on a critical line along the kernel, to be shown: K* is the fixed point that is critical."""
    weight, bias = (e.subs(K, STAR) for e in curve)
    return weight, bias


_SAMPLES = ("0.01", "0.1", "1", "10", "100")
_SAMPLED = ("phi_squared", "chi_parallel", "chi_perp")


# ---- words ---------------------------------------------------------------------------------------------------------


def fixed_by_user(report: Report) -> dict[str, str]:
    """The numbers of C_W and C_b, by name, where the user set them: nobody can tune these to criticality."""
    names = {C_W.name, C_b.name}
    return {name: value for name, value in report.settings if name in names}


def class_and_words(report: Report) -> tuple[str, str]:
    """The universality class and what it means; no words for one that is unknown here."""
    fixed = fixed_by_user(report)
    if fixed:
        free = [name for name in (C_W.name, C_b.name) if name not in fixed]
        numbers = " and ".join(f"{name} = {value}" for name, value in fixed.items())
        ask = f" For the fixed points, give {free[0]} a number, too." if free else ""
        return "not decided", (
            f"{numbers} {'is' if len(fixed) == 1 else 'are'} set, but criticality is a choice "
            f"of C_W and C_b. Leave them free for critical points and the universality class.{ask}"
        )
    words = CLASSES.get(report.universality_class, "")
    if report.universality_class == "none" and report.critical_points:
        words = CLASSES["unstable"]
    return report.universality_class, words


def stability(point: CriticalPoint) -> str:
    """The stability of a critical point in words; of a half-stable one, from which side it attracts."""
    if point.stability == "half-stable" and point.side:
        far = {"below": "above", "above": "below"}[point.side]
        return f"half-stable: it attracts nearby kernels from {point.side}; nearby kernels {far} move away from it"
    return _STABILITY.get(point.stability, point.stability)


def example(report: Report) -> CriticalPoint | None:
    """The first critical point at which a network can be built, with numbers."""
    return first_usable(report.critical_points)


def first_usable(points: Iterable[CriticalPoint]) -> CriticalPoint | None:
    """The first critical point at which a network with xi = 1 can be built; None if there is none."""
    for point in (single.at({xi: sp.Integer(1)}) for line in points for single in line.single()):
        weight, bias = value(point.C_W), value(point.C_b)
        if weight is not None and bias is not None and weight > 0 and bias >= 0:
            return point
    return None


def is_free(point: CriticalPoint) -> bool:
    """Whether the critical parameters depend on the skip connection."""
    return gamma in _parameters(point)


def conditions(report: Report) -> str:
    """The conditions that a critical point satisfies; with free parameters, also where the point exists."""
    holds = "K' = K, and both susceptibilities are 1"
    return f"{holds}, where C_W > 0 and C_b >= 0" if any(map(_parameters, report.critical_points)) else holds


def _parameters(point: CriticalPoint) -> set[sp.Symbol]:
    return (sp.sympify(point.C_W).free_symbols | sp.sympify(point.C_b).free_symbols) - {K, point.along}


# ---- the critical parameters ---------------------------------------------------------------------------------------


@lru_cache(maxsize=_VALUES)
def value(expr: sp.Expr) -> mp.mpf | None:
    """The number without a skip connection; None if other parameters remain. A root is searched once."""
    exact = at_zero_gamma(expr)
    return None if exact is None else evaluate(exact, {}, DIGITS + 3)[0]


def in_units(point: CriticalPoint, name: str) -> sp.Expr | None:
    """K, C_W or C_b where K* is measured in units of a parameter: the number rounded, ``14.32/beta**2``.

    None if K* is a number, or K is asked for and known exactly: then the value stands for itself.
    """
    expr = {"K": point.K, "C_W": point.C_W, "C_b": point.C_b}[name]
    if point.along is not None or not point.K.free_symbols - {K} or (name == "K" and point.exact):
        return None
    number, rest = sp.sympify(expr).as_independent(*expr.free_symbols, as_Add=False)
    if number.is_Rational:
        return None
    return sp.Symbol(decimal(evaluate(number, {}, DIGITS + 3)[0], DIGITS), positive=True) * rest


def in_averages(report: Report, point: CriticalPoint, name: str) -> sp.Expr | None:
    """C_W or C_b in averages at K*, written ``STAR``: where the closed form is long. None unless the numbers agree."""
    growth, perp = (named(report, n) for n in ("kernel_map", "chi_perp"))
    if growth is None or perp is None or growth.steps or perp.steps:
        return None
    weight = (1 - perp.definition.subs(C_W, 0)) / perp.definition.diff(C_W)
    bias = K - growth.definition.subs(C_b, 0)
    exact, general, shown = point.C_W, weight, weight
    if name == "C_b":
        exact, general, shown = point.C_b, bias.subs(C_W, weight), bias
    claimed, derived = value(exact), at_zero_gamma(general.subs(K, point.K))
    if claimed is None or derived is None:
        return None
    found, radius = evaluate(derived, {}, DIGITS)
    agree = abs(found - claimed) <= abs(claimed) * mp.mpf(10) ** (3 - DIGITS) + radius
    return shown.subs(K, STAR) if agree else None


# ---- the flow near K* = 0 ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flow:
    """How the kernel moves near K* = 0 at criticality."""

    step: sp.Expr  # K' to its first correction, ``K - 2*K**2``; K where every power's correction vanishes
    law: sp.Expr | None  # the kernel in a deep layer l, if it decays with a power of l


def flow(point: CriticalPoint) -> Flow | None:
    """The first correction to K' = K at a critical point K* = 0; None at other points."""
    if point.correction is None:
        return None
    if point.correction == 0:
        return Flow(K, None)
    coefficient, power = point.correction.as_independent(K, as_Add=False)
    exponent = power.as_base_exp()[1]
    if not sp.expand(coefficient).subs({gamma: 0, xi: 1}).is_negative:
        return Flow(K + _factored(sp.expand(coefficient)) * power, None)
    loss = _factored(sp.expand(-coefficient))  # dK/dl = -loss K**p
    law = ((exponent - 1) * loss * DEPTH) ** (-1 / (exponent - 1)) if exponent > 1 else None
    return Flow(K + sp.Mul(-1, loss, power), law)


def _factored(coefficient: sp.Expr) -> sp.Expr:
    """The coefficient with the parameters' common factor in front, mostly 1 - gamma**2."""
    front = 1 - gamma**2
    at_zero = coefficient.subs(gamma, 0)
    if coefficient.has(gamma) and vanishes(sp.expand(coefficient - front * at_zero)):
        return sp.factor_terms(coefficient) if at_zero.is_Rational else front * sp.factor_terms(_together(at_zero))
    return sp.factor_terms(_together(coefficient))


def _together(coefficient: sp.Expr) -> sp.Expr:
    """One fraction in the root of pi, if that is shorter."""
    root = sp.Dummy("root", positive=True)
    joined = sp.factor(sp.cancel(sp.together(coefficient.subs(sp.pi, root**2))))
    return min(coefficient, joined.subs(root, sp.sqrt(sp.pi)), key=lambda e: len(str(e)))


def weights(ends: tuple[sp.Expr, sp.Expr] | None) -> tuple[sp.Expr | str, ...]:
    """Where a critical line lies, as parts of an inequality: C_W > pi/4, or 0 < C_W < 32; empty if everywhere."""
    if ends is None:
        return ()
    low, high = ends
    return (C_W, ">", low) if high == sp.oo else (low, "<", C_W, "<", high)


# ---- deep networks -------------------------------------------------------------------------------------------------


def correction(report: Report) -> sp.Expr | None:
    """The relative correction to the law of the kernel; None where it is not known, or where there is no law."""
    order = report.exponents.next_order if deep(report) and report.exponents is not None else None
    return None if order is None else order.correction.subs(K, STAR)


def deep(report: Report) -> tuple[tuple[str, sp.Expr], ...]:
    """How kernel and Jacobian go with the depth l at criticality; empty if not known.

    ("K", 3*l/2) and ("J", 1/l), or ("log J", sqrt(l)).
    """
    exponents = report.exponents
    if exponents is None or exponents.kernel is None or report.universality_class == "scale-invariant":
        return ()
    rows = [
        (
            "K" if report.universality_class != "half-stable" else "K - K*",
            exponents.amplitude * DEPTH**-exponents.kernel,
        )
    ]
    if exponents.stretch is not None:
        rows.append(("log J", exponents.stretch.rate * DEPTH**exponents.stretch.power))  # J has a power of l in front
    elif exponents.jacobian is not None:
        rows.append(("J", DEPTH ** -rounded(exponents.jacobian)))
    return tuple((left, rounded_law(e).subs(K, STAR)) for left, e in rows)  # of a line: each K* has an amplitude


_DEEP = "this law holds in layers so deep that the kernel it gives is far below the first kernel"


def onset(report: Report) -> str:
    """From which layer on the law of the kernel holds, in words; empty where there is none, or it is not known.

    Near a half-stable point d' = d - d^2/a, so that 1/d = 1/d_0 + l/a: the law d ~ a/l begins at l = a/d_0. It is right
    within a share where that part of the first kernel and the next order of the law are both small.
    """
    exponents, point = report.exponents, example(report)
    if exponents is None or point is None or not deep(report) or not exponents.kernel or not exponents.amplitude:
        return ""
    half_stable = report.universality_class == "half-stable"
    first, size = value(point.K) if half_stable else mp.mpf(1), value(exponents.amplitude)
    if not first or size is None or exponents.kernel < 0:
        return _DEEP if exponents.kernel > 0 and not half_stable else ""
    within = ""
    relative = None if exponents.next_order is None else value(exponents.next_order.coefficient)
    if exponents.next_order is not None and relative is not None:
        order = 1 / exponents.kernel
        start = float(abs(size / first) ** order / order)
        layer = replace(exponents.next_order, coefficient=sp.Float(relative)).onset(start)
        within = "" if layer is None else f"right within 10 % from layer {_few_digits(layer)} on"
    if half_stable:
        begins = f"this law begins near layer {_few_digits(abs(size / first))} if the first kernel is twice K*"
        return f"{begins}, and is {within}; before, K hardly moves" if within else f"{begins}; before, K hardly moves"
    return f"this law is {within} if the first kernel is 1" if within else _DEEP


def _few_digits(layer: mp.mpf | int) -> str:
    return mp.nstr(mp.ceil(layer), 2, min_fixed=-1, max_fixed=9).removesuffix(".0")


# ---- numbers -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """A small table of a theory's functions."""

    names: tuple[str, ...]  # of the quantities, one column each
    rows: tuple[tuple[str, tuple[mp.mpf, ...]], ...]  # kernel as text, and the values
    setting: str  # numbers of the parameters, as text: "C_W = 1, gamma = 0"


def samples(report: Report, count: int = 10) -> Samples | None:
    """Some values of g and the susceptibilities, the critical kernel among them, to so many digits.

    None if parameters have no numbers, or formulas are there to put numbers in.
    """
    if all(q.status is not Status.NUMERIC or q.symbols[:1] != (K,) for q in report.quantities):
        return None
    point = example(report)
    numbers = {str(C_W): "1", str(C_b): "0"}
    if point is not None:
        numbers = {str(s): mp.nstr(value(e), 30) for s, e in ((C_W, point.C_W), (C_b, point.C_b))}
    numbers |= {str(gamma): "0", str(xi): "1"}
    quantities = [
        q for q in map(lambda n: named(report, n), _SAMPLED) if q is not None and q.status is not Status.UNKNOWN
    ]
    used = {str(s) for q in quantities for s in q.symbols} - {str(K)}
    if not quantities or used - numbers.keys():
        return None
    kernels = [(k, k) for k in _SAMPLES]
    star = None if point is None or point.K in (K, 0) else value(point.K)
    if star is not None:
        kernels.append((f"{mp.nstr(star, 9)} = K*", mp.nstr(star, 30)))
    kernels.sort(key=lambda pair: mp.mpf(pair[1]))
    try:
        rows = tuple(
            (shown, tuple(q.evalf(count, K=k, **{n: numbers[n] for n in names_of(q)}) for q in quantities))
            for shown, k in kernels
        )
    except SymresError:
        return None
    rounded = {name: mp.nstr(mp.mpf(number), 9).removesuffix(".0") for name, number in numbers.items()}
    setting = ", ".join(f"{n} = {rounded[n]}" for n in numbers if n in used)
    return Samples(tuple(q.name for q in quantities), rows, setting)


def names_of(quantity: Quantity) -> list[str]:
    """The parameters of a function of K."""
    return [str(s) for s in quantity.symbols if s != K]


def named(report: Report, name: str) -> Quantity | None:
    """The quantity of that name."""
    return next((q for q in report.quantities if q.name == name), None)


# ---- expansions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expansion:
    """An exact expansion, truncated."""

    limit: sp.Expr  # 0 or oo, where K goes
    body: sp.Expr | None  # its first terms; None where it was given up
    reach: str  # how far it is how good, measured; after how much work it was given up


def expansions(q: Quantity) -> list[Expansion]:
    """The expansions whose coefficients can be written down; none where there is a closed form."""
    if q.status is not Status.NUMERIC or q.symbols != (K,):
        return []
    out = []
    for expand, order, limit in ((q.series, SMALL, sp.S.Zero), (q.asymptotics, LARGE, sp.oo)):
        try:
            with limited(Stage.EXPANSION, q.name):
                series = expand(order)
        except OutOfBudget as error:
            out.append(Expansion(limit, None, error.found))
            continue
        except NoClosedForm:
            continue
        if series.body != 0 and not any(isinstance(node, Enclosable) for node in sp.preorder_traversal(series.body)):
            out.append(
                Expansion(limit, series.body, series.reason.reach if isinstance(series.reason, SeriesRange) else "")
            )
    return out
