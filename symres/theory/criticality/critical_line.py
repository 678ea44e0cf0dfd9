"""Critical lines: where a layer keeps a kernel, K' = K, and chi_perp = 1 there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import sympy as sp
from flint import arb, ctx

from ...core.errors import NoClosedForm, SymresError
from ...core.scalars import Number, number
from ...core.symbols import C_W, C_b, K, S_in
from ...functions.balls import compile_ball, enclose, evaluate
from ...functions.floats.float_averages import number_at
from ...functions.floats.float_compiler import CompiledFormula
from ...functions.ranges import parameter_grid
from ...functions.roots.bracketing import GRID
from ...functions.roots.root import scanned_roots, solution_near
from ...gaussian.algebra.canonical import canonical
from ...notation.shortest import tidy_factors
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...results.phases import LinePoint, attracts
from ...results.quantity import Status
from .critical_conditions import Maps, Nested, affine, expression_of, nested, positive_root, power_form
from .explicit_line import NON_ALGEBRAIC, below_one, explicit_line
from .numerical_search import kept_bias, sign_changes
from .parameter_effects import at_generic, at_reference

_DIGITS = 17
_BITS = 80
_LARGEST = 1e30  # of biases, relative to the kernel
_NEAR = sp.Rational(1, 10**30)  # a kernel that stands for the limit at 0
_ZERO = 1e-15  # a variance of biases below it, relative to the kernel, is 0 up to rounding
_VANISHES = 1e-14  # a condition that is no larger is met: its terms are of order 1
_CLEAR = 1e-6  # relative to a kernel, and to 1: floats are more exact
_REPELLED = 1.001  # a chi_parallel beyond which rounding is no question
_WEIGHTS = tuple(map(sp.Rational, (1, 2, "1/2", 4, "1/4", 16)))  # variances at which a line is looked for
_MAGNITUDES = tuple(float(f"{10 ** (k / 3):.3g}") for k in range(-15, 16))  # kernels along a line
# the same on the grid, where a search for critical points has taken averages already
_PLACES = tuple(k for k in GRID[::2] if sp.Rational(1, 10**5) <= k <= 10**5)


def critical_line(maps: Maps, weight: sp.Expr, values: dict[sp.Symbol, sp.Expr]) -> tuple[LinePoint, ...]:
    """The bias variances on the critical line at a number for C_W, and for all other parameters but C_b, increasing.

    Raises:
        NoClosedForm: a map is unknown.
    """
    for q in maps:
        if q.status is Status.UNKNOWN:
            raise NoClosedForm("the critical line", f"{q.name} is unknown: {q.reason}", "take another layer")
    fixed = {C_W: weight, **values}
    flow, parallel, perp = (expression_of(q).subs(fixed) for q in maps)
    if perp.has(sp.oo):
        return ()
    points = []
    inner = nested(maps)
    for k, bias in _solutions(flow, perp) if inner is None else _of_inner(inner, fixed):
        if _number(bias) >= -_ZERO * _number(k):
            slope = _number(parallel.subs({K: k or _NEAR, C_b: bias}))
            points.append(LinePoint(max(_number(bias), 0.0), _number(k), slope))
    return tuple(sorted(points))


def is_found(maps: Maps) -> bool:
    """Whether ``critical_line`` finds a bias variance at one of a few weight variances.

    Parameters other than C_W and C_b have reference values.
    """
    try:
        return any(critical_line(maps, weight, _reference(maps)) for weight in _WEIGHTS)
    except SymresError:  # an average without a number, or Newton's method without an end
        return False


def _reference(maps: Maps) -> dict[sp.Symbol, sp.Expr]:
    """Numbers for all parameters but C_W and C_b."""
    return {s: at_generic(s) for s in set().union(*({*q.symbols, *q.unused} for q in maps)) - {K, C_W, C_b}}


def _solutions(flow: sp.Expr, perp: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Pairs of kernel and bias variance."""
    linear = affine(flow, C_b)
    if linear is not None and linear[1] != 0:
        bias = (K - linear[0]) / linear[1]
        condition = perp.subs(C_b, bias) - 1
        if not condition.has(K):
            if abs(_number(condition)) < _VANISHES and not canonical(bias).has(K):
                yield sp.Integer(1), canonical(bias)
            return
        for k in scanned_roots(condition, K)[0]:
            yield k, bias.subs(K, k)
        yield from _at_zero(bias, condition)
    elif not flow.has(C_b):
        kernels = [flow] if not flow.has(K) else scanned_roots(flow / K - 1, K)[0]
        for k in kernels:
            condition = perp.subs(K, k) - 1
            if abs(_number(condition.subs(C_b, 0))) < _VANISHES:
                yield k, sp.Integer(0)
            for bias in scanned_roots(condition, C_b)[0]:
                yield k, bias
    else:
        yield from _by_search(flow, perp)


def _of_inner(maps: Nested, fixed: dict[sp.Symbol, sp.Expr]) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Biases inside of averages over one variance: it solves chi_perp = 1, then K' = K gives the kernel and C_b."""
    for inner in scanned_roots(maps.perp.subs(fixed) - 1, S_in)[0]:
        kernel = maps.kernel.subs(fixed).subs(S_in, inner)
        if _number(kernel) > 0:
            yield kernel, maps.bias.subs(K, kernel).subs(fixed).subs(S_in, inner)


def _at_zero(bias: sp.Expr, condition: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """K = 0 without biases, where chi_perp tends to 1."""
    try:
        ends = [abs(_number(e.subs(K, _NEAR))) for e in (bias, condition)]
    except SymresError:
        return
    if max(ends) < 1e-13:
        yield sp.Integer(0), sp.Integer(0)


def _by_search(flow: sp.Expr, perp: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Biases that stand inside of averages: for every kernel the bias that keeps it, then chi_perp = 1 there.

    K' grows with the biases, so a kernel has one bias variance, or none.
    """
    excess, steep = (number_at(e, (K, C_b), _BITS) for e in (flow / K - 1, perp - 1))

    def kept(k: float) -> float | None:
        return None if excess(k, 0.0) > 0 else kept_bias(partial(excess, k), k, _LARGEST * k)

    def ends() -> Iterator[float]:
        """Kernels that are kept by some bias, and between them and others those that are kept without one."""
        for low, high in pairwise(map(float, GRID)):
            if kept(low) is not None:
                yield low
            if (kept(low) is None) != (kept(high) is None):
                yield brent(lambda k: excess(k, 0.0), low, high, xtol=1e-300, rtol=1e-14)

    for k in sign_changes(lambda k: steep(k, kept(k) or 0.0), ends()):
        exact = solution_near((flow / K - 1, perp - 1), (K, C_b), (k, kept(k) or 0.0), _BITS)
        kernel, variance = (number(x, "the critical line") for x in exact)
        yield kernel, variance


def _number(expression: sp.Expr) -> float:
    return float(evaluate(expression, {}, _DIGITS)[0])


# ---- lines along the kernel ----------------------------------------------------------------------------------------


def line_weights(maps: Maps) -> tuple[sp.Expr, sp.Expr] | None:
    """The weight variances between which a critical line lies: C_W of small and of large kernels, in order.

    None where that says nothing (from 0 to infinity, or one value), or where C_W does not go one way with the kernel.
    """
    explicit = parametric_line(maps)
    if explicit is None:
        return None
    varying, constant = explicit[0].as_independent(K, as_Add=False)[::-1]
    if not varying.has(K) or any(not isinstance(f, sp.exp) for f in varying.atoms(*NON_ALGEBRAIC)):
        return None
    ends = [sp.limit(varying, K, end, "+-"[end == sp.oo]) for end in (sp.Integer(0), sp.oo)]
    limits = [sp.oo if limit.has(sp.oo, sp.zoo) else limit for limit in ends]  # weights are positive
    if set(limits) == {sp.Integer(0), sp.oo}:
        return None
    at_hand = at_reference(explicit[0])
    names = sorted(at_hand.free_symbols - {K}, key=str)
    weights = []
    for numbers in parameter_grid(names):
        compiled = compile_ball(at_hand.subs(numbers), (K,))
        with ctx.workprec(_BITS):
            run = [float(compiled([arb(k)])) for k in (float(_NEAR), *_MAGNITUDES, 1 / float(_NEAR))]
        if all(map(math.isfinite, run)):  # at zero a parameter may leave nothing
            weights.append(run)
    steps = {(high > low) - (high < low) for run in weights for low, high in pairwise(run)} - {0}  # but for rounding
    if len(steps) != 1 or not all(weight >= 0 for run in weights for weight in run):
        return None
    low, high = (end if end in (0, sp.oo) else tidy_factors(constant * end) for end in limits[:: min(steps)])
    return low, high


def parametric_line(maps: Maps, *, opened: bool = False) -> tuple[sp.Expr, sp.Expr] | None:
    """(C_W, C_b) on the critical line as functions of the kernel K; None if the maps are not linear in them.

    chi_perp = 1 gives C_W, and K' = K then C_b. Only kernels where both are positive belong to the line. If ``opened``
    they are written in averages, C_b in C_W too.
    """
    if any(q.status is Status.UNKNOWN for q in maps) or C_W not in (*maps[0].symbols, *maps[0].unused):
        return None
    flow, _, perp = (q.defined if opened else expression_of(q) for q in maps)
    slope = None if perp.has(C_b, sp.oo) else affine(perp, C_W)
    if slope is None or slope[1] == 0:
        return None
    weight = (1 - slope[0]) / slope[1]
    kept = affine(flow, C_b)
    if kept is None or kept[1] == 0 or kept[1].has(C_W):
        return None
    bias = (K - kept[0]) / kept[1]
    return sp.factor_terms(weight), bias if opened else bias.subs(C_W, weight)


@dataclass(frozen=True)
class CriticalLine:
    """A critical line along which kernel and variances are explicit, at numbers for all other parameters."""

    along: sp.Symbol  # what runs along it: the kernel K, the variance S_in inside of the averages, or C_W
    place: tuple[sp.Expr, ...]  # K, C_W and C_b as functions of that
    slope: sp.Expr  # chi_parallel, a function of K, C_W and C_b

    @classmethod
    def of(cls, maps: Maps, values: dict[sp.Symbol, sp.Expr]) -> CriticalLine | None:
        """The line of a layer at numbers for all parameters but C_W and C_b; None where it is not explicit."""
        if (variances := parametric_line(maps)) is not None:
            along, place = K, (K, *variances)
        elif (inner := nested(maps)) is not None and (form := power_form(inner.perp)) is not None:
            weight = positive_root(1 - form[1], form[2], form[0])
            kernel = inner.kernel.subs(C_W, weight)
            along, place = S_in, (kernel, weight, inner.bias.subs(K, kernel).subs(C_W, weight))
        elif (explicit := explicit_line(maps)) is not None:
            along, place = C_W, (explicit[0], C_W, explicit[1])
        else:
            return None
        return cls(along, tuple(e.subs(values) for e in place), expression_of(maps[1]).subs(values))

    def row(self, value: Number) -> tuple[float, float, bool]:
        """C_W, C_b and whether the kernel flows to a place on the line; nan where K or C_W is not positive."""
        try:
            star, weight, bias = (enclose(e, {self.along: value}, _BITS) for e in self.place)
            if star > 0 and weight > 0:
                slope = enclose(self.slope, {K: star, C_W: weight, C_b: bias}, _BITS)
                return float(weight), float(bias), attracts(slope)
        except SymresError:  # the root of a negative number
            pass
        return math.nan, math.nan, False

    def sides(self) -> Iterator[tuple[bool, bool]]:
        """Whether C_b >= 0 and whether the kernel flows to it, at places on the line.

        By floats, by balls where these are not clear.
        """
        runs = np.array([float(k) for k in _PLACES])
        try:
            with np.errstate(all="ignore"):
                numbers = CompiledFormula((self.along,), self.place)(runs)
                star, weights, biases = (np.broadcast_to(e, runs.shape) for e in numbers)
                slope = CompiledFormula((K, C_W, C_b), self.slope)(star, weights, biases)
                size = np.abs(np.broadcast_to(slope, runs.shape))
                clear = (star > 0) & (weights > 0) & (size < np.inf)
                clear &= np.abs(biases) > _CLEAR * np.maximum(star, weights)
                clear &= (size < 1 - _CLEAR) | (size > _REPELLED)
        except SymresError:
            clear = biases = size = np.zeros(runs.shape)
        for k, is_clear, at_bias, at_size in zip(_PLACES, clear, biases, size, strict=True):
            if is_clear:
                yield bool(at_bias > 0), bool(at_size < 1)
                continue
            weight, bias, flows = self.row(k)
            if math.isfinite(bias):
                yield bias >= -_ZERO * weight, flows


def separation(maps: Maps, explicit: sp.Expr | None) -> str:
    """Where a critical line separates phases, as a sentence: everywhere if it is empty, or nothing is known.

    It is read off at kernels of many magnitudes, and says so: between those a line may be another one. Parameters
    other than C_W and C_b have reference values. ``explicit`` is C_b as a function of C_W, where that is known.
    """
    if explicit is not None and (explicit / C_W).is_number and _number(explicit / C_W) < 0:
        return "it does not exist, as C_b would be negative"
    try:
        line = CriticalLine.of(maps, _reference(maps))
        rows = [] if line is None else list(line.sides())
    except SymresError:  # functions that oscillate too often under wide Gaussians
        return ""
    inside = [flows for biased, flows in rows if biased]
    tried = f"at all kernels tried, from {float(min(_PLACES)):g} to {float(max(_PLACES)):g},"
    if not rows:
        return f"it does not exist: {tried} no C_W > 0 keeps the kernel with chi_perp = 1"
    conditions = ["C_b >= 0"] * (len(inside) < len(rows)) + ["-1 <= chi_parallel <= 1"] * (not all(inside))
    if not inside:
        where = f"{tried} C_b is negative on it"
    elif not any(inside):
        where = f"{tried} the kernel flows away from it, so that deep networks are not affected"
    else:
        part = f"its part with {' and '.join(conditions)}"
        where = f"{part} separates ordered from chaotic networks" if conditions else ""
    skips = "the weight of the skip connection has to be below 1, |gamma| < 1" if below_one(maps[2]) else ""
    return "; ".join(filter(None, (where, skips)))
