"""Where a deep network neither explodes nor vanishes: critical points and the universality class.

A layer enters only through its maps K'(K), chi_parallel and chi_perp; no architecture has formulas of its own.
"""

from __future__ import annotations

import mpmath as mp
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import C_W, C_b, K, S_in, gamma, kappa, xi
from ...functions.balls import enclose, evaluate
from ...functions.roots.root import Root, scanned_roots
from ...gaussian.algebra.canonical import canonical, textbook
from ...results.critical_point import STABILITY, Criticality, CriticalPoint, KernelGrowth, SearchResult
from ...results.quantity import Quantity, Status
from .critical_conditions import (
    Conditions,
    Maps,
    NoConditions,
    affine,
    conditions_of,
    expression_of,
    nested_conditions,
    solved,
)
from .explicit_line import agree, line_of_points
from .kernel_flow import growth, zero_points
from .numerical_search import searched_points
from .parameter_effects import at_generic, generic_sign, sign_at_reference, signs_where

_LARGE = (sp.Integer(10) ** 4, sp.Integer(10) ** 7)
_BITS = 60
_DIGITS = 12
_LONGEST = 60  # of a condition in a sentence
_FALLS = (
    "the kernel grows without bound and chi_perp falls to 1, by a law that has no expansion in powers: compare "
    "jacobian() at several depths"
)
_CONVERGE = "kernels converge exponentially and Jacobians to a constant"
_UNSEEN = "not searched for critical points:"


def analyse(maps: Maps) -> Criticality:
    """Find the critical points of a layer and name its class."""
    kernel_map, parallel, perp = maps
    lost = [q for q in maps if q.status is Status.UNKNOWN]
    if lost:
        return Criticality((), "unknown", tuple(f"{q.name} is unknown: {q.reason}" for q in lost))
    if perp.body.has(sp.oo):
        steep = "the activation jumps or is at least as steep as a square root at 0, so that small angles grow"
        return Criticality((), "none", (f"chi_perp is infinite: {steep}",))
    grown = growth(kernel_map, perp)
    if grown is not None:
        return Criticality((), grown.universality_class, _grown(grown), grown)
    if C_W not in (*kernel_map.symbols, *kernel_map.unused):
        chosen = "C_W is not a free parameter of the layer: critical points are a choice of C_W and C_b"
        return Criticality((), "unknown", (chosen,))
    if (invariant := _scale_invariant(maps)) is not None:
        return invariant
    alone = _skip_alone(perp)
    if alone:
        return Criticality((), "unknown", (_FALLS,)) if _falls_to_one(perp) else Criticality((), "none", alone)
    conditions = nested_conditions(maps) or conditions_of(maps)
    fixed = next((q for q in (parallel, perp) if not expression_of(q).has(C_W) and expression_of(q) != 1), None)
    if fixed is not None:
        positive = SearchResult(remarks=(_never(fixed, maps),))
    elif agree(conditions, parallel, perp):
        positive = line_of_points(conditions, maps)
    elif isinstance(conditions, NoConditions):
        positive = _unsolved(conditions, maps)
    else:
        positive = _positive_points(conditions, parallel)
    zero = zero_points(maps)
    stable = tuple(p for p in zero.points if p.stability == "stable")
    others = tuple(p for p in zero.points if p.stability != "stable")
    named, why = _named(zero, positive)
    remarks = (*positive.remarks, *zero.remarks, *why)
    return Criticality((*stable, *positive.points, *others), named, remarks)


def _unsolved(why: NoConditions, maps: Maps) -> SearchResult:
    """Points of layers whose conditions have no formula: searched in numbers, where all else is numbers."""
    free = set().union(*({*q.symbols, *q.unused} for q in maps)) - {K}
    if free == {C_W, C_b}:
        return searched_points(maps)
    others = ", ".join(sorted(s.name for s in free - {C_W, C_b}))
    remedy = f"; set numbers for {others}" if others and not why.asks_for_numbers else ""
    return SearchResult(remarks=(f"{_UNSEEN} K* > 0, because {why.reason}{remedy}",), complete=False)


def _never(fixed: Quantity, maps: Maps) -> str:
    """Why no C_W makes both susceptibilities 1, of which one does not depend on it."""
    flow, parallel, perp = map(expression_of, maps)
    if fixed is not maps[1] or parallel.free_symbols & {K, C_W, C_b}:
        return f"{fixed.name} does not depend on C_W, so that no C_W is critical"
    begin, kept = f"chi_parallel = {_text(parallel)} at every kernel, so that no point is critical; ", affine(flow, K)
    if kept is not None and kept[1] != 1:
        there = canonical(sp.cancel(perp.subs(K, kept[0] / (1 - kept[1]))))
        if not there.free_symbols & {K, C_W, C_b}:
            return f"{begin}neither is a line, as chi_perp = {_text(there)} at the fixed point for all C_W and C_b"
    how = "one layer makes kernels and Jacobians constant" if parallel == 0 else _CONVERGE
    return f"{begin}where chi_perp = 1, on a critical line, {how}"


def _text(value: sp.Expr) -> str:
    """An expression in a sentence; irrational numbers with decimals."""
    if value.free_symbols or value.is_Rational:
        return str(value)
    return mp.nstr(evaluate(value, {}, _DIGITS)[0], _DIGITS)


def _grown(grown: KernelGrowth) -> tuple[str, ...]:
    """What a reader should know of kernels that grow."""
    which = "C_W and every C_b > 0 (set C_b = 0 for the law without biases)" if grown.needs_biases else "C_W and C_b"
    begin = f"for every {which} the kernel grows without bound and chi_perp falls to 1"
    if grown.universality_class == "subcritical":
        return (f"{begin} so slowly that the Jacobian is a stretched exponential of the depth",)
    return (f"{begin}: every initialisation is critical",)


def _falls_to_one(perp: Quantity) -> bool:
    """Whether chi_perp - 1 vanishes for large kernels, by a law that the expansions do not know, at the reference."""
    beyond = (expression_of(perp) - 1).subs({C_W: 1, C_b: sp.Rational(1, 10)})
    try:
        at_large, at_larger = (enclose(at_generic(beyond.subs(K, k)), {}, _BITS) for k in _LARGE)
    except SymresError:
        return True  # it may be so
    return not (at_larger > at_large / 2)


def _skip_alone(perp: Quantity) -> tuple[str, ...]:
    """A skip connection that leaves nothing to the branch."""
    alone = expression_of(perp).subs(C_W, 0)
    if not (alone.is_number and alone >= 1):
        return ()
    scaled = ", or a branch that is scaled down with the depth (C_W ~ 1/depth)" if alone == 1 else ""
    return (
        f"without the branch chi_perp is {float(alone):g} already: with every C_W > 0 gradients grow from layer to "
        f"layer; a critical layer needs a skip connection below 1{scaled}",
    )


def _named(zero: SearchResult, positive: SearchResult) -> tuple[str, tuple[str, ...]]:
    """The universality class, and why it is none or unknown."""
    if any(p.stability == "stable" for p in zero.points):
        return "K*=0", ()
    if not zero.complete:
        return "unknown", ()
    if any(p.stability == "half-stable" for p in positive.points):
        return "half-stable", ()
    marginal = [p for p in (*zero.points, *positive.points) if p.stability == "marginal"]
    if marginal:
        return "unknown", tuple(map(_undecided, marginal))
    named = "none" if positive.complete else "unknown"
    if any(p.stability == "unstable" for p in zero.points):
        return named, ("K* = 0 is critical but unstable: the kernel flows away from it",)
    return named, ()


def _undecided(point: CriticalPoint) -> str:
    """Why a point is neither stable nor unstable."""
    which = "the critical point" if point.K else "K* = 0"
    law = sp.factor(point.correction.subs(K, 1)) if point.correction else sp.Integer(0)
    signs = {f: signs_where(f, sp.Integer(1)) for f in sp.Mul.make_args(law)}
    # factors of one sign for all parameters, such as 1 - gamma**2, decide nothing
    varying = sp.Mul(*(f for f in signs if signs[f] != {1} and signs[f] != {-1}))
    if sum(sign == {-1} for sign in signs.values()) % 2:
        varying = -varying
    undecided = varying if law else point.K + point.C_W
    names = sorted(undecided.free_symbols - {K, C_W, S_in} - (set() if law else {gamma, xi}), key=str)
    if not names:
        return f"the stability of {which} is undecided"
    where = f": K' - K has the sign of {varying} near it" if law and len(str(varying)) < _LONGEST else ""
    return f"the stability of {which} depends on {' and '.join(map(str, names))}{where}"


def _scale_invariant(maps: Maps) -> Criticality | None:
    """Constant and equal susceptibilities: critical at every kernel, or at none."""
    flow, parallel, chi = map(expression_of, maps)
    if chi.has(K) or not all(q.status is Status.EXACT for q in maps) or canonical(parallel - chi) != 0:
        return None
    points = []
    for weight in solved(chi - 1):
        if generic_sign(weight) <= 0:
            continue
        kept = textbook((flow - K).subs(C_W, weight))
        without, slope = affine(kept, C_b) or (sp.nan, sp.nan)
        bias = sp.Integer(0) if without == 0 else -without / slope
        if bias == 0 or (bias.is_finite and sign_at_reference(bias) >= 0):
            points.append(CriticalPoint(K, weight, bias, "neutral"))
    if points:
        return Criticality(tuple(points), "scale-invariant")
    return Criticality((), "none", ("susceptibilities agree at every kernel, but no C_W > 0 and C_b >= 0 keep one",))


# ---- K* > 0 ------------------------------------------------------------------------------------------------------


def _positive_points(conditions: Conditions, parallel: Quantity) -> SearchResult:
    """The points where the gap of the conditions vanishes and both variances may be, with their stability.

    Where the susceptibilities meet at a variance that may not be, a remark says so.
    """
    points, remarks = [], []
    roots, unseen = _roots(conditions.gap, conditions.variable)
    if unseen:
        remarks.append(f"{_UNSEEN} {unseen}")
    for value, exact in roots:
        star = conditions.kernel_at(value, exact)
        weight, bias = (conditions.at(solution, value, exact) for solution in (conditions.C_W, conditions.C_b))
        place = {s: conditions.unit.removed(e) for s, e in ((K, star), (C_W, weight), (C_b, bias))}  # of the same signs
        lacks = "" if generic_sign(place[C_W]) > 0 else "C_W > 0"
        lacks = lacks or ("C_b >= 0" if sign_at_reference(place[C_b]) < 0 else "")
        if lacks:
            remarks.append(f"the susceptibilities meet at K = {sp.N(star, 6)}, but no {lacks} makes it critical")
            continue
        curvature = conditions.unit.removed(expression_of(parallel)).diff(K).subs(place)
        signs = signs_where(curvature, place[C_W])
        stability, side = STABILITY[signs.pop() if len(signs) == 1 else 0]
        inside = value if conditions.variable == S_in else None
        points.append(CriticalPoint(star, weight, bias, stability, exact, side=side, inside=inside))
    return SearchResult(tuple(points), tuple(remarks), not unseen)


def _roots(gap: sp.Expr, variable: sp.Symbol) -> tuple[list[tuple[sp.Expr, bool]], str]:
    """Positive zeros in order, exact from rational polynomials, the others by a scan; and what that has not seen."""
    algebraic, others = [], []
    for factor in sp.Mul.make_args(sp.factor_terms(sp.together(gap))):
        base = factor.as_base_exp()[0]
        if not base.has(variable):
            continue
        polynomial = sp.Poly(base, variable) if base.is_polynomial(variable) else None
        if polynomial is not None and polynomial.domain.is_QQ | polynomial.domain.is_ZZ:
            algebraic += _algebraic(polynomial)
        else:
            others.append(factor)
    scanned, unseen = scanned_roots(sp.Mul(*others), variable)
    roots = sorted({*algebraic, *scanned}, key=sp.N)
    return [(r, not isinstance(r, Root)) for r in roots], unseen


def _algebraic(polynomial: sp.Poly) -> list[sp.Expr]:
    """Positive zeros of a polynomial: in radicals up to degree 2, those of higher irreducible factors as roots."""
    zeros: list[sp.Expr] = []
    for factor, _ in polynomial.factor_list()[1]:
        if factor.degree() <= 2:
            zeros += [sp.radsimp(r) for r in sp.real_roots(factor) if r.is_positive]
            continue
        equation = factor.as_expr().xreplace({factor.gen: kappa})
        for (low, high), _ in factor.intervals(inf=0):
            while low == 0:  # no zero itself: the factor is irreducible
                low, high = factor.refine_root(low, high, steps=1)
            zeros.append(Root.between(equation, low, high))
    return zeros
