"""Where a deep network neither explodes nor vanishes: critical points and the universality class.

A layer enters only through its maps K'(K), chi_parallel and chi_perp; no architecture has formulas of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import sympy as sp

from ..balls import enclose
from ..errors import NoClosedForm
from ..gaussian.canonical import canonical
from ..quantity import Quantity
from ..symbols import C_W, C_b, K, gamma, kappa, xi
from .expansion import powers_of_kernel
from .root import Root
from .scan import scan, sign

_SIGN_BITS = (60, 240)
UNSEEN = "not searched for critical points:"
_ORDER = 3  # the kernel map is expanded so far around K = 0


@dataclass(frozen=True)
class CriticalPoint:
    """A fixed point with both susceptibilities equal to 1 (PDLT (B.19)).

    Args:
        K: the kernel; ``sr.K`` itself if every kernel is one (scale-invariant layers).
        C_W: the critical weight variance, an expression in the remaining parameters (gamma...).
        C_b: the critical bias variance.
        stability: "stable" or "unstable" (K flows to the point or away from it), "half-stable" (to it from one
            side only), "neutral" (K is preserved everywhere), "marginal" (undecided).
        exact: whether K is a closed form; otherwise it is a root that evaluates to any number of digits.
    """

    K: sp.Expr
    C_W: sp.Expr
    C_b: sp.Expr
    stability: str
    exact: bool = True


@dataclass(frozen=True)
class Criticality:
    """The outcome of the analysis, with what a reader should know about it."""

    points: tuple[CriticalPoint, ...]
    universality_class: str
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Conditions:
    """The critical conditions of a layer that is affine in C_W and in C_b.

        chi_perp = p0 + p1 C_W = 1,    chi_parallel = q0 + q1 C_W = 1,    K' = k0 + k1 C_b = K

    Args:
        C_W: its solution, with ``numbers`` standing for functions of K alone.
        C_b: likewise.
        numbers: {stand-in: function of K}, so that the parameters' part factors visibly: (1 - gamma**2)*number.
        gap: the function of K that vanishes where both susceptibilities can be 1 together.
    """

    C_W: sp.Expr
    C_b: sp.Expr
    numbers: dict[sp.Symbol, sp.Expr]
    gap: sp.Expr

    def written_out(self, solution: sp.Expr) -> sp.Expr:
        """A solution as a function of K."""
        return solution.xreplace(self.numbers)

    def at(self, solution: sp.Expr, k: sp.Expr, exact: bool) -> sp.Expr:
        """A solution at one kernel."""
        values = {s: _at(f, k, exact) for s, f in self.numbers.items()}
        return solution.subs(K, k).xreplace(values)


def analyse(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> Criticality:
    """Find the critical points of a layer and name its class.

    Args:
        kernel_map: K'(K).
        parallel: chi_parallel(K).
        perp: chi_perp(K).
    """
    if perp.body.has(sp.oo):
        return Criticality(
            (), "none", ("chi_perp is infinite: the activation jumps or is infinitely steep, small angles always grow",)
        )
    fixed = [s.name for s in (C_W, C_b) if s not in (*kernel_map.symbols, *kernel_map.unused)]
    if fixed:
        return Criticality(
            (), "unknown", (f"{' and '.join(fixed)} has a value: leave it free to find critical points",)
        )
    conditions = _conditions(kernel_map, parallel, perp)
    if isinstance(conditions, str):
        zero, remarks = _zero_points(kernel_map, parallel, perp)
        return Criticality(zero, "unknown", (f"critical points with K* > 0 are unknown: {conditions}", *remarks))
    if conditions.gap == 0:
        return _scale_invariant(conditions)
    positive, remarks = _positive_points(conditions, parallel)
    zero, more = _zero_points(kernel_map, parallel, perp)
    points = (*(p for p in zero if p.stability == "stable"), *positive, *(p for p in zero if p.stability != "stable"))
    if any(p.stability == "stable" for p in zero):
        named = "K*=0"
    elif any(p.stability == "half-stable" for p in positive):
        named = "half-stable"
    else:
        named = "none"
        if any(remark.startswith(UNSEEN) for remark in remarks):
            named = "unknown"
        if any(p.stability == "unstable" for p in zero):
            remarks = (*remarks, "K* = 0 is critical but unstable: the kernel flows away from it")
        elif points:
            named, remarks = "unknown", (*remarks, "the stability of the critical point is undecided")
    return Criticality(points, named, (*remarks, *more))


def _written_out(quantity: Quantity) -> sp.Expr:
    expr = quantity.expr
    assert expr is not None
    return expr


def _conditions(kernel_map: Quantity, parallel: Quantity, perp: Quantity) -> _Conditions | str:
    in_weight = [_affine(_written_out(q), C_W) for q in (perp, parallel)]
    in_bias = _affine(_written_out(kernel_map), C_b)
    pairs = [pair for pair in (*in_weight, in_bias) if pair is not None and pair[1] != 0]
    if len(pairs) < 3 or any(e.has(C_b) for pair in pairs for e in pair):
        return "the maps are not linear in C_W and C_b"
    (p0, p1), (q0, q1), (k0, k1) = pairs
    # (1 - p0) q1 = (1 - q0) p1: with equal skip parts the parameters drop out
    gap = canonical(q1 - p1) if sp.expand(p0 - q0) == 0 else canonical((1 - p0) * q1 - (1 - q0) * p1)
    if gap.free_symbols - {K}:
        names = ", ".join(sorted(s.name for s in gap.free_symbols - {K}))
        if not _vanishes(gap):
            return f"the condition on K contains {names}; set numbers for them"
        gap = sp.Integer(0)
    numbers: dict[sp.Symbol, sp.Expr] = {}

    def number(e: sp.Expr) -> sp.Expr:
        if e.free_symbols == {K}:
            numbers[sp.Dummy("number", real=True)] = e
            return next(reversed(numbers))
        return e

    offset, slope = _affine(k0, C_W) or (k0, sp.Integer(0))
    weight = (1 - p0) / number(p1)
    bias = _grouped(sp.factor((K - offset - number(slope) * weight) / k1), {K, *numbers})
    return _Conditions(weight, bias, numbers, gap)


def _grouped(product: sp.Expr, kernels: set[sp.Symbol]) -> sp.Expr:
    """The factors in parameters alone multiplied out: (1 - gamma**2) instead of -(gamma - 1)*(gamma + 1)."""
    parameters = [f for f in sp.Mul.make_args(product) if not f.free_symbols & kernels]
    rest = [f for f in sp.Mul.make_args(product) if f.free_symbols & kernels]
    return sp.Mul(*rest) * sp.factor_terms(sp.expand(sp.Mul(*parameters)))


def _affine(expression: sp.Expr, s: sp.Symbol) -> tuple[sp.Expr, sp.Expr] | None:
    slope = expression.diff(s) if expression.has(s) else sp.Integer(0)
    if slope.has(s):
        slope = sp.expand(slope)
        if slope.has(s):
            return None
    return expression.subs(s, 0), slope


def _vanishes(expression: sp.Expr) -> bool:
    return canonical(sp.expand(expression)) == 0


def _scale_invariant(conditions: _Conditions) -> Criticality:
    """chi_parallel = chi_perp for every K; critical where they do not depend on K."""
    weight = sp.factor_terms(conditions.written_out(conditions.C_W))
    if weight.has(K):
        line = f"C_W = {weight}, C_b = {conditions.written_out(conditions.C_b)}"
        remark = f"a line of critical points: every K* > 0 with C_b >= 0 is one, at {line} with K = K*"
        return Criticality((), "unknown", (remark,))
    bias = canonical(conditions.written_out(conditions.C_b))
    if bias != 0:
        return Criticality((), "unknown", ("the susceptibilities are constant but the kernel map is not linear",))
    if _sign_at_reference(weight) < 0 or weight == 0:
        return Criticality((), "none", ("every kernel has equal susceptibilities, but no C_W > 0 makes them 1",))
    return Criticality((CriticalPoint(K, weight, bias, "neutral"),), "scale-invariant")


# ---- K* > 0 ------------------------------------------------------------------------------------------------------


def _positive_points(conditions: _Conditions, parallel: Quantity) -> tuple[tuple[CriticalPoint, ...], tuple[str, ...]]:
    (roots, unseen), points, remarks = _roots(conditions.gap), [], []
    if unseen:
        remarks.append(f"{UNSEEN} {unseen}")
    for k, exact in roots:
        weight, bias = (conditions.at(solution, k, exact) for solution in (conditions.C_W, conditions.C_b))
        if _sign_at_reference(weight) <= 0:
            remarks.append(f"the susceptibilities meet at K = {_short(k)}, but no C_W > 0 is critical there")
            continue
        if _sign_at_reference(bias) < 0:
            remarks.append(f"the susceptibilities meet at K = {_short(k)}, but no C_b >= 0 is critical there")
            continue
        slope = _written_out(parallel).diff(K).subs(K, k)
        curvature = _sign_at_reference(slope.subs(C_W, weight))
        points.append(CriticalPoint(k, weight, bias, "half-stable" if curvature else "marginal", exact))
    return tuple(points), tuple(remarks)


def _roots(gap: sp.Expr) -> tuple[list[tuple[sp.Expr, bool]], str]:
    """Positive zeros, exact from polynomial factors, the others by a sign scan; and what the scan has not seen."""
    exact, rest = [], []
    for factor in sp.Mul.make_args(sp.factor_terms(sp.together(gap))):
        base = factor.as_base_exp()[0]
        if not base.has(K):
            continue
        if base.is_polynomial(K) and not base.free_symbols - {K}:
            exact += [r for r in sp.real_roots(sp.Poly(base, K)) if r.is_positive]
        else:
            rest.append(factor)
    exact = [sp.radsimp(r) if r.is_algebraic else r for r in dict.fromkeys(exact)]
    scanned, unseen = _scanned(sp.Mul(*rest))
    return [(r, True) for r in exact] + [(r, False) for r in scanned], unseen


def _scanned(function: sp.Expr) -> tuple[list[Root], str]:
    if not function.has(K):
        return [], ""
    equation = function.xreplace({K: kappa})
    seen = scan(lambda k, bits: (enclose(equation, {kappa: k}, bits),))
    decided = [(k, sign(value)) for k, (value,) in seen.rows if sign(value)]
    roots = [Root.between(equation, a, b) for (a, before), (b, after) in pairwise(decided) if before * after < 0]
    return roots, seen.stopped


def _at(expression: sp.Expr, k: sp.Expr, exact: bool) -> sp.Expr:
    result = expression.subs(K, k)
    return canonical(result) if exact and not result.has(Root) else result


def _sign_at_reference(expression: sp.Expr) -> int:
    """The sign without skip connection (critical variances scale with 1 - gamma**2); 0 if it cannot be told."""
    at_reference = expression.subs({gamma: 0, xi: 1})
    if at_reference.free_symbols:
        factored = sp.factor(at_reference)
        return 1 if factored.is_positive else -1 if factored.is_negative else 0
    return next(filter(None, (sign(enclose(at_reference, {}, bits)) for bits in _SIGN_BITS)), 0)


def _short(k: sp.Expr) -> str:
    return str(sp.N(k, 6))


# ---- K* = 0 ------------------------------------------------------------------------------------------------------


def _zero_points(
    kernel_map: Quantity, parallel: Quantity, perp: Quantity
) -> tuple[tuple[CriticalPoint, ...], tuple[str, ...]]:
    """Around K = 0 the maps are series: K' must vanish with K and both susceptibilities tend to one value."""
    try:
        growth = _without_bias(kernel_map).series(_ORDER).body
        limits = [_without_bias(q).series(0).body for q in (parallel, perp)]
    except NoClosedForm as error:
        return (), (f"K* = 0 was not examined: {error.found}",)
    if growth.subs(K, 0) != 0:
        return (), ("K* = 0 is no fixed point: the activation does not vanish at 0",)
    if any(limit.has(K) for limit in limits) or sp.expand(limits[0] - limits[1]) != 0:
        return (), ("the susceptibilities differ at K = 0",)
    solutions = [w for w in _solved(limits[0] - 1) if _sign_at_reference(w) > 0]
    if not solutions:
        return (), ("at K = 0 no C_W > 0 makes the susceptibilities 1",)
    return tuple(CriticalPoint(sp.Integer(0), w, sp.Integer(0), _flow(growth, kernel_map, w)) for w in solutions), ()


def _without_bias(quantity: Quantity) -> Quantity:
    """K' vanishes with K only without biases."""
    steps = tuple(replace(step, definition=step.definition.subs(C_b, 0)) for step in quantity.steps)
    return replace(quantity, definition=quantity.definition.subs(C_b, 0), steps=steps)


def _solved(equation: sp.Expr) -> list[sp.Expr]:
    """The solutions for C_W; a linear equation as (1 - gamma**2)/number rather than expanded."""
    if not equation.has(C_W):
        return []
    affine = _affine(sp.expand(equation), C_W)
    if affine is not None:
        return [sp.factor_terms(-affine[0] / affine[1])]
    return [sp.factor(w) for w in sp.solve(equation, C_W)]


def _flow(growth: sp.Expr, kernel_map: Quantity, weight: sp.Expr) -> str:
    """The sign of K' - K near 0: of its lowest power, or, where all powers vanish, of its value."""
    excess = sp.expand(sp.expand(growth - K).subs(C_W, weight))
    words = {-1: "stable", 1: "unstable", 0: "marginal"}
    for _, found in sorted(powers_of_kernel(excess).items()):
        coefficient = canonical(found)
        sign = _sign_at_reference(coefficient)
        if sign or coefficient.subs({gamma: 0, xi: 1}).free_symbols:
            return words[sign]
        # zero to all digits: a linear coefficient cancels by the choice of C_W, whether or not sympy sees it
    drift = (_written_out(kernel_map) - K).subs({C_b: 0, C_W: weight})
    return words[_sign_at_reference(drift.subs(K, sp.Rational(1, 20)))]
