"""Build a component, run its generated NumPy code, and measure its error against ball arithmetic."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import cycle, product
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from ...balls import enclose, evaluate, to_ball
from ...errors import SymresError
from ...special import S4, SPECIAL, T4
from ...symbols import K1, K2, C, K, x1, z
from . import numpy as printer
from .angles import angle_form
from .corner import settled
from .emit import Dialect, LosesDigits, NoSpelling
from .fit import Fit, fit, grid
from .plan import ACCURATE, INACCURATE, Component
from .quadrature import averages
from .rewrite import stabilise
from .stable import TwoSigns, TwoTails

_SLOW = (TwoSigns, TwoTails, S4, T4)
Point = tuple[float, float, float]  # K1, K2, C
Values = dict[sp.Symbol, sp.Rational]  # of parameters
BITS = 240
NEAR_ZERO = (1e-300, 1e-200, 1e-120, 1e-60, 1e-20)  # where only the lack of a value is found out
PARAMETER = sp.Rational(3, 4)  # the value that free parameters of an activation have while errors are measured
GREAT, SLIGHT = sp.Integer(12), sp.Rational(1, 12)
ELSEWHERE = ((GREAT, GREAT), (GREAT, SLIGHT), (SLIGHT, GREAT))  # those that they have in turn: steep or far out or both
RHO = (0.3, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 1e-6)
KERNELS = (
    (1e-8, 1e-8), (1e-8, 1e-4), (1e-4, 1e-4), (1e-2, 3e-2), (0.7, 0.7), (1.0, 30.0), (60.0, 60.0),
    (1e4, 1e4), (1.0, 1e4), (2e-3, 2e-3),
)  # fmt: skip
LARGEST, SMALLEST = sys.float_info.max, 1e-300
UNLIKE = 50.0  # covariance of kernels 1 and 1e4: the law of one given the other is wide or narrow
DIAGONAL = (1e-100, 1e-200)  # kernels between which a function with a limit at 0 does not change
SHORTEST = 0.5  # kernels of order one, without which a function is of no use
FEW_DIGITS = 1e-13  # a larger error of a closed form in special functions, and its average is integrated instead
LOST = 1e-9  # a larger error of any closed form, beside the largest value for the same kernels, and the same is done
HARD = ((1e-8, 1e-8, 3e-9), (1e-8, 1e-4, 9e-7), (0.7, 0.7, 0.7 * (1 - 1e-12)), (60.0, 60.0, 18.0), (1e4, 1e4, 9.99e3),
        (1e4, 1e4, (1e-12 - 1) * 1e4))  # fmt: skip
TINY = ((1e-8, 1e-8, 1e-18), (1e-8, 1e-8, -1e-22), (1.5e-7, 7.7e-7, -3.4e-15), (0.7, 0.7, 7e-9))  # next to C = 0
LITTLE = 64  # bits
ENDS = {  # pairs of points: with one that has no value where code divides by 0, one beside it
    "where the inputs are parallel": tuple(
        ((a, b, c), (a, b, c * (1 - 1e-12)))
        for a, b, c in ((0.7, 0.7, 0.7), (0.7, 0.7, -0.7), (1.0, 4.0, 2.0), (4.0, 1.0, -2.0))
    ),
    "where a kernel is 0": tuple(
        ((a, b, 0.0), (a or 1e-30, b or 1e-30, 0.0)) for a, b in ((0.0, 0.7), (0.7, 0.0), (0.0, 0.0))
    ),
}
ALIKE = 1e-4  # of the largest value: how far it may be from one end to the point beside it
PARALLEL = ((0.7, 0.7, 0.7), (0.7, 0.7, -0.7), (0.0, 0.7, 0.0), (0.0, 0.0, 0.0))
SHARED = 64  # entries with the same kernels, as in a matrix: such averages are computed another way than single ones


def build_component(
    name: str,
    symbols: tuple[sp.Symbol, ...],
    formula: sp.Expr,
    dialect: Dialect = printer.NUMPY,
    at_any_price: bool = False,
) -> Component:
    """Choose how to compute a function of kernels, and measure how well it does.

    Args:
        name: of the function.
        symbols: its arguments.
        formula: what it computes.
        dialect: the target language.
        at_any_price: whether a closed form is taken although its terms cancel in floats.

    Raises:
        SymresError: no way of computing it was found to work.
        NoSpelling: a closed form in functions that the language does not have; its average may still be computed.
        LosesDigits: a closed form whose terms cancel in floats, or whose limit at K = 0 depends on parameters; the
            same holds.
    """
    if C in symbols and formula.has(*SPECIAL) and not at_any_price:
        _check_digits(name, symbols, formula, dialect.name)
    component = _built(name, symbols, formula)
    if not isinstance(component.code, sp.Expr):
        return component
    lost = component.beside_largest or 0.0
    if C in symbols and not at_any_price and lost > LOST:
        raise _refused(component, dialect.name, f"its terms cancel in floats (error {lost:.0e} of the largest value)")
    unspelled = dialect.unspelled(component.code)
    if not unspelled and not _is_unspelled(component):
        return component
    if symbols != (K,):
        raise NoSpelling.of(dialect.name, formula, unspelled)
    return _fitted(name, formula)


@lru_cache(maxsize=256)
def _check_digits(name: str, symbols: tuple[sp.Symbol, ...], formula: sp.Expr, language: str) -> None:
    """Refuse a closed form in special functions that is inaccurate where terms are most likely to cancel."""
    component = Component(name, symbols, formula, settled(stabilise(formula)))
    if _is_unspelled(component):
        return
    formula, extra = _with_numbers(component, None)
    function = run(component)
    with np.errstate(all="ignore"):
        values = {point: float(function(*map(np.array, point), *extra)) for point in (*PARALLEL, *HARD)}
    if not all(math.isfinite(values[point]) for point in PARALLEL):
        raise _refused(component, language, "it is 0/0 in floats where inputs are parallel")
    for point in HARD:
        _check_error(
            component, language, _pair_deviation(formula, formula.diff(C), point, values[point]), _named(point)
        )
    measured = _built(name, symbols, component.formula)
    _check_error(component, language, measured.error, measured.worst)


def _check_error(component: Component, language: str, error: float, place: str) -> None:
    if not error <= FEW_DIGITS:
        raise _refused(component, language, f"its terms cancel in floats (error {error:.0e} at {place})")


def _refused(component: Component, language: str, found: str) -> LosesDigits:
    return LosesDigits(f"{language} code for {str(component.formula)[:80]}", found, "export to LaTeX")


@lru_cache(maxsize=256)
def _built(name: str, symbols: tuple[sp.Symbol, ...], formula: sp.Expr) -> Component:
    """The component for NumPy."""
    open_ = bool(averages(formula))
    if C in symbols:
        if open_:
            return _measured(_measured_quadrature, Component(name, symbols, formula, None))
        form = angle_form(formula, (K1, C, K2))
        component = Component(
            name, symbols, formula, settled(stabilise(formula) if form is None else form.stable()), form
        )
        return component if _is_unspelled(component) else _measured(_measured_pair, component)
    if open_ and len(symbols) > 1:
        return _measured(_measured_kernel, Component(name, symbols, formula, None))
    closed = Component(name, symbols, formula, stabilise(formula))
    if not open_ and not _is_unspelled(closed):
        closed = _measured(_measured_kernel, closed)
        if closed.error <= ACCURATE or len(symbols) > 1:
            return closed
        try:
            fitted = _fitted(name, formula)
        except SymresError:  # waves
            return closed
        # a closed form of exponentials goes on to the largest floats: a fit that ends before must be much better
        return fitted if math.isinf(fitted.stop) or 10 * fitted.error < closed.error else closed
    return closed if len(symbols) > 1 else _fitted(name, formula)


def _is_unspelled(component: Component) -> bool:
    """Whether NumPy has no code, or code that is slow beside a fit."""
    if not isinstance(component.code, sp.Expr):
        return False
    return bool(printer.NUMPY.unspelled(component.code)) or (component.symbols == (K,) and component.code.has(*_SLOW))


@lru_cache(maxsize=256)
def _fitted(name: str, formula: sp.Expr) -> Component:
    """A function of one kernel as a fit."""
    fitted = fit(_values(formula), str(formula))
    return _measured_kernel(Component(name, (K,), formula, fitted, stop=fitted.stop, reason=fitted.reason))


def _values(formula: sp.Expr) -> Callable[[mp.mpf], mp.mpf]:
    def value(k: mp.mpf) -> mp.mpf:
        try:
            return evaluate(formula, {K: k}, 20)[0]
        except SymresError:  # smaller than any precision: exp(-1/K) and the like
            ball = enclose(formula, {K: k}, 2 * BITS)
            if ball.is_finite() and float(ball.rad()) < 1e-30:
                return mp.mpf(float(ball.mid()))
            raise

    return value


def run(component: Component) -> Callable[..., Any]:
    """The component's generated NumPy function; averages of equal entries are integrated once."""
    space: dict[str, Any] = {}
    exec(compile(printer.standalone(component), component.name, "exec"), space)
    if "_by_quadrature" in space:
        space["_by_quadrature"] = _once(space["_by_quadrature"])
    return space[component.name]


def _once(integrate: Callable[..., Any]) -> Callable[..., Any]:
    """A rule for entries, which computes equal ones once: what the measured matrices have many of."""

    def wrapped(rule: Any, few: int, f: Any, g: Any, some: Any, *kernels: Any) -> Any:
        columns = np.stack([column[some] for column in kernels[:3]])
        _, first, place = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        return integrate(rule, few, f, g, some[first], *kernels)[place.reshape(-1)]

    return wrapped


def _measured(measure: Callable[[Component, Values | None], Component], component: Component) -> Component:
    """A component with its error, and what is found with other values of the parameters of an activation."""
    found, texts = measure(component, None), []
    for values in _elsewhere(_parameters(component)):
        where = "with " + ", ".join(f"{name} = {value}" for name, value in values.items())
        try:
            other = measure(component, values)
        except SymresError as error:
            texts.append(f"not measured {where}: {error.found}")
            continue
        if found.origin != other.origin:
            raise LosesDigits(
                f"code for {str(component.formula)[:80]}", "its limit at K = 0 depends on parameters", "export to LaTeX"
            )
        texts.append(f"{_told(other, found.stop)} {where}")
    return replace(found, elsewhere="; ".join(texts))


def _parameters(component: Component) -> tuple[sp.Symbol, ...]:
    return component.symbols[3 if component.is_pair else 1 :]


def _elsewhere(names: tuple[sp.Symbol, ...]) -> list[Values]:
    """Other values of parameters, each set of them once: 0 for all that may be, where terms cancel, and ELSEWHERE."""
    found = [dict(zip(names, cycle(values), strict=False)) for values in ELSEWHERE if names]
    found.append({name: PARAMETER if name.is_nonzero else sp.Integer(0) for name in names})
    seen = [dict.fromkeys(names, PARAMETER)]
    return [values for place, values in enumerate(found) if values not in (*found[:place], *seen)]


def _told(found: Component, stop: float) -> str:
    """The error of a component, as text; kernels up to ``stop`` are known to be meant."""
    if not math.isfinite(found.error):
        return f"no value at {found.worst}"
    text = f"at most {round_up(found.error):.0e}"
    text += f" (worst at {found.worst})" if found.error > FEW_DIGITS else ""
    return text + (f" for kernels up to {found.stop:g}" if found.stop < stop else "")


def _measured_kernel(component: Component, values: Values | None = None) -> Component:
    """Error relative to max(|f|, |K f'|) on K = 1e-8 .. 1e4; a value at K = 0 is supplied where the code has none.

    Averages without a closed form, and what decays at small K, are judged by |f| alone.
    """
    formula, extra = _with_numbers(component, values)
    points = np.array([k for k in grid()[:: 4 if averages(formula) else 1] if k <= component.stop])
    slope = None if component.by_value else formula.diff(K)
    function = run(component)
    with np.errstate(all="ignore"):
        found = function(points, *extra) * np.ones(points.shape)
        tiny = function(np.array(NEAR_ZERO), *extra) * np.ones(len(NEAR_ZERO))
    origin, divides = _at_zero(function, extra)
    undefined = np.isnan(tiny)
    if divides or undefined.any() or not math.isfinite(origin):
        if isinstance(component.code, sp.Expr):
            limit = _limit(formula)
            if limit is not None or not math.isfinite(origin):
                origin = math.nan if limit is None else limit
        if math.isnan(origin):
            return replace(component, error=math.inf, worst="K = 0")
        start = _start(tiny, origin) if undefined.any() else 0.0
        if start is None:
            return replace(component, error=math.inf, worst=f"K = {NEAR_ZERO[np.argmax(undefined)]:g}")
        component = replace(component, origin=origin, start=start)
    errors = []
    for k, value in zip(points, found, strict=True):
        scale = 0.0 if slope is None else _size(enclose(slope, {K: Fraction(k)}, BITS)) * float(k)
        errors.append((_deviation(formula, {K: k}, float(value), scale), f"K = {k:.3g}"))
    if isinstance(component.code, Fit) and component.code.absolute:
        exact = np.array([float(enclose(formula, {K: Fraction(k)}, BITS).mid()) for k in points])
        component = replace(component, beside_largest=float(np.max(np.abs(found - exact)) / np.max(np.abs(exact))))
    worst, where = max(errors)
    poor = [k for k, (error, _) in zip(points, errors, strict=True) if error > INACCURATE]
    if poor and component.beside_largest is not None:
        where = f"K in {min(poor):.1e}..{max(poor):.1e}"
    return replace(component, error=worst, worst=where)


def _at_zero(function: Callable[..., Any], extra: list[Any]) -> tuple[float, bool]:
    """The value at K = 0, and whether it takes a division by zero."""
    divisions: list[str] = []
    with np.errstate(all="ignore", divide="call"), np.errstate(call=lambda kind, _: divisions.append(kind)):
        value = float((function(np.zeros(1), *extra) * np.ones(1))[0])
    return value, bool(divisions)


def _start(tiny: Any, limit: float) -> float | None:
    """A kernel below which a function is its limit or, in floats, no number; None if some value is neither."""
    close = np.isnan(tiny) | (np.abs(tiny - limit) <= 1e-16 * abs(limit))
    last = int(np.argmin(close)) if not close.all() else len(NEAR_ZERO)
    return None if np.isnan(tiny[last:]).any() else NEAR_ZERO[last - 1]


def _limit(formula: sp.Expr) -> float | None:
    """The value at K -> 0, from two small kernels; None if they disagree."""
    near, nearer = (enclose(formula, {K: sp.Rational(1, 10**n)}, 4 * BITS) for n in (60, 80))
    if not (near.is_finite() and nearer.is_finite()):
        return None
    a, b = float(near.mid()), float(nearer.mid())
    if abs(b) > 100 * abs(a) > 1e6:
        return math.copysign(math.inf, b)
    if abs(a) < 1e-18 and abs(b) <= abs(a):
        return 0.0
    return b if abs(a - b) <= 1e-16 * abs(b) else None


def _measured_pair(component: Component, values: Values | None = None) -> Component:
    """Error relative to max(|F|, |C dF/dC|) over kernels 1e-8 .. 1e4 and correlations to 1 - 1e-12."""
    component = _ended(component, values)
    formula, extra = _with_numbers(component, values)
    points = _open_pairs() if formula.has(S4) else _pairs()  # a ball of S4 takes a second
    function = run(component)
    with np.errstate(all="ignore"):
        found = function(*map(np.array, zip(*points, strict=True)), *extra) * np.ones(len(points))
    slope = formula.diff(C)
    errors = []
    for point, value in zip(points, found, strict=True):
        errors.append((_pair_deviation(formula, slope, point, float(value)), _named(point)))
    worst, where = max(errors)
    beside = _beside_largest(formula, points, found) if worst > FEW_DIGITS else None
    return replace(component, error=worst, worst=where, beside_largest=beside, gap=_gap(function, extra))


def _ended(component: Component, values: Values | None) -> Component:
    """A closed form with values where inputs are parallel or vanish: as it is, floored, or known to have none."""
    floored = replace(component, floored=True)
    if not _undefined(component, values) or _undefined(floored, values):
        return replace(component, undefined=_undefined(component, values))
    return floored


def _undefined(component: Component, values: Values | None) -> str:
    """Where a closed form has no value in floats, or a floored one none that continues those beside it."""
    function, (_, extra) = run(component), _with_numbers(component, values)
    found = []
    for name, ends in ENDS.items():
        with np.errstate(all="ignore"):
            at, beside = (
                function(*map(np.array, zip(*points, strict=True)), *extra) for points in zip(*ends, strict=True)
            )
        jumps = np.abs(at - beside) > ALIKE * np.max(np.abs(beside))
        if np.any(np.isnan(at)) or (component.floored and np.any(jumps)):
            found.append(name)
    return " and ".join(found)


def _beside_largest(formula: sp.Expr, points: Sequence[Point], found: Any) -> float:
    """The largest error of a pair kernel, relative to its largest value for the same two kernels."""
    errors: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for (k1, k2, c), value in zip(points, found, strict=True):
        exact = enclose(formula, _exact({K1: k1, K2: k2, C: c}), BITS)
        if exact.is_finite():
            errors.setdefault((k1, k2), []).append((abs(float(value) - float(exact.mid())), _size(exact)))
    return max(max(e for e, _ in group) / max(max(size for _, size in group), SMALLEST) for group in errors.values())


def _pair_deviation(formula: sp.Expr, slope: sp.Expr, point: Point, value: float) -> float:
    """The error of a value, relative to max(|F|, |C dF/dC|)."""
    at = dict(zip((K1, K2, C), point, strict=True))
    scale = _size(enclose(slope, _exact(at), BITS)) * abs(point[2])
    return _deviation(formula, at, value, scale)


def _gap(function: Callable[..., Any], extra: list[Any]) -> tuple[float, float] | None:
    """The value of a pair kernel at vanishing kernels and its limit along the diagonal, if they differ.

    They do for activations that jump at 0: the correlation of what vanishes counts as 0.
    """
    diagonal = np.array([0.0, *DIAGONAL])
    with np.errstate(all="ignore"):
        corner, near, nearer = map(float, function(diagonal, diagonal, diagonal, *extra) * np.ones(3))
    if not abs(near - nearer) <= 1e-9 * abs(nearer) or not abs(corner - nearer) > 1e-9 * abs(nearer):
        return None
    return corner, nearer


def _measured_quadrature(component: Component, values: Values | None = None) -> Component:
    """Error relative to sqrt(<f**2> <g**2>), of single entries and of matrices; it ends with the accurate kernels.

    Raises:
        SymresError: kernels of order one are inaccurate.
    """
    formula, extra = _with_numbers(component, values)
    function = run(component)
    points = sorted(_open_pairs(), key=_larger)[:: 1 if values is None else 2]  # balls take most of the time
    largest = _bound(formula)
    with np.errstate(all="ignore"):
        single = [float(function(*map(np.array, point), *extra)) for point in points]
        matrix = function(*(np.repeat(column, SHARED) for column in np.array(points).T), *extra)[::SHARED]
    errors, stop = [(0.0, "")], math.inf
    for place, (point, *found) in enumerate(zip(points, single, matrix, strict=True)):
        error, reason = _pair_error(formula, point, found, largest)
        if error < INACCURATE:
            errors.append((error, _named(point)))
            continue
        stop = max((_larger(p) for p in points[:place] if _larger(p) < _larger(point)), default=0.0)
        if stop < SHORTEST:
            raise SymresError(f"code for {component.formula}", reason, "export it to LaTeX")
        component = replace(component, stop=stop, reason=reason)
        break
    worst, where = max(errors)
    tiny = _next_to_zero(formula, [(point, float(function(*map(np.array, point), *extra))) for point in TINY])
    return replace(component, error=worst, worst=where, gap=_gap(function, extra), next_to_zero=tiny)


def _next_to_zero(formula: sp.Expr, found: Iterable[tuple[Point, float]]) -> float:
    """The largest error relative to the value itself at tiny covariances, where it may be as small as they are."""
    errors = [0.0]
    for point, value in found:
        exact = enclose(formula, _exact(dict(zip((K1, K2, C), point, strict=True))), LITTLE)
        if exact.rel_accuracy_bits() > 45 and _size(exact) > SMALLEST:
            errors.append(abs(value / float(exact.mid()) - 1))
    return max(errors)


def _pair_error(
    formula: sp.Expr,
    point: Point,
    found: Sequence[float],
    largest: Callable[[float, float], float],
) -> tuple[float, str]:
    """The error of values of a pair kernel, infinite where it cannot be told, and what to say of a large one."""
    if not np.isfinite(found).all():
        return math.inf, f"quadrature has no number at {_named(point)}"
    try:
        scale = largest(*point[:2])
        at = _exact(dict(zip((K1, K2, C), point, strict=True)))
        exact = float(enclose(formula, at, 60).mid()) if scale > 1e-290 else 0.0
    except SymresError as error:
        return math.inf, f"{error.found} at {_named(point)}"
    deviation = max(abs(float(value) - exact) for value in found) / max(scale, 1e-290)
    if not math.isfinite(deviation):
        return math.inf, f"the values are no floats at {_named(point)}"
    return deviation, f"quadrature is off by {deviation:.1e} at {_named(point)}"


def _larger(point: Point) -> float:
    return max(point[:2])


def _named(point: Point) -> str:
    k1, k2, c = point
    return f"K1 = {k1:g}, K2 = {k2:g}, C = {c:g}"


def _bound(formula: sp.Expr) -> Callable[[float, float], float]:
    """The inequality of Cauchy and Schwarz, |<f g>| <= sqrt(<f**2> <g**2>), for a sum of averages."""
    nodes = {node: sp.Dummy() for node in averages(formula)}
    linear = formula.xreplace(nodes)

    @cache
    def square(node: Any, factor: Any, k: float) -> float:
        squared = factor.map(lambda u: u * u).as_expr().subs(z, x1)
        return _size(enclose(node.func(squared, K), {K: Fraction(k)}, 60))

    def bound(k1: float, k2: float) -> float:
        total = 0.0
        for node, dummy in nodes.items():
            outer = linear.diff(dummy)
            for coefficient, (f, g) in node.terms:
                size = abs(float(outer * coefficient))
                total += size * math.sqrt(square(node, f, k1)) * math.sqrt(square(node, g, k2))
        return total

    return bound


def _open_pairs() -> list[tuple[float, float, float]]:
    """Two correlations of either sign for each pair of kernels, the diagonal, and either order of unlike kernels."""
    out = [(k1, k2, sign * UNLIKE) for k1, k2 in ((1.0, 1e4), (1e4, 1.0)) for sign in (1, -1)]
    for i, (k1, k2) in enumerate(KERNELS):
        for j in range(2):
            out.append((k1, k2, (-1) ** (i + j) * RHO[(i + 3 * j) % len(RHO)] * math.sqrt(k1) * math.sqrt(k2)))
        if k1 == k2:
            out.append((k1, k1, (-1) ** i * k1))
    return out


def _with_numbers(component: Component, values: Values | None) -> tuple[sp.Expr, list[Any]]:
    """The formula with numbers for free parameters, and the arrays to pass to the code."""
    names = _parameters(component)
    values = values or dict.fromkeys(names, PARAMETER)
    return component.formula.xreplace(values), [np.float64(values[p]) for p in names]


def _pairs() -> Sequence[tuple[float, float, float]]:
    out = []
    for (k1, k2), rho, sign in product(KERNELS, RHO, (1.0, -1.0)):
        out.append((k1, k2, sign * rho * math.sqrt(k1) * math.sqrt(k2)))
    return out


def _exact(at: dict[sp.Symbol, Any]) -> dict[sp.Symbol, Any]:
    """Floats as the binary numbers that they are."""
    return {s: Fraction(v) for s, v in at.items()}


def _deviation(formula: sp.Expr, at: dict[sp.Symbol, Any], value: float, scale: float) -> float:
    exact = _known(formula, at)
    if math.isinf(value) and exact.is_finite() and math.copysign(1.0, value) * exact > LARGEST:
        return 0.0  # it is no float
    if not math.isfinite(value) or not exact.is_finite():
        return math.inf
    distance = float(abs(exact - to_ball(Fraction(value), BITS)).mid())
    size = max(_size(exact), scale)
    if size < 1e-290:  # underflow is no error
        return 0.0 if distance < 1e-290 else math.inf
    return distance / size


def _known(formula: sp.Expr, at: dict[sp.Symbol, Any]) -> Any:
    """The value to more digits than floats have, unless it is less than any float or out of reach."""
    for attempt in range(5):
        ball = enclose(formula, _exact(at), BITS << attempt)
        if not ball.is_finite() or ball.rel_accuracy_bits() > 60 or ball.abs_upper() < SMALLEST:
            break
    return ball


def _size(ball: Any) -> float:
    return abs(float(ball.mid())) if ball.is_finite() else 0.0


def round_up(error: float) -> float:
    """The next of 1, 2, 5 times a power of ten, after doubling: another processor rounds a little differently."""
    if not math.isfinite(error) or error <= 0:
        return 1e-16 if error == 0 else error
    doubled = max(2 * error, 1e-16)
    power = 10.0 ** math.floor(math.log10(doubled))
    return next(float(f"{m * power:.0e}") for m in (1, 2, 5, 10) if m * power >= doubled)
