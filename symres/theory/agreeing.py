"""Lines of critical points: layers in which both susceptibilities are one function, so that chi_perp = 1 is enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import sympy as sp
from flint import arb

from ..balls import enclose
from ..errors import SymresError
from ..gaussian.canonical import canonical
from ..quantity import Quantity
from ..symbols import C_W, C_b, K, S_in, gamma, kappa, xi
from .conditions import (
    Conditions,
    Maps,
    at_generic,
    at_reference,
    joined,
    stability_where,
    written_out,
)
from .explicit import WEIGHTS, explicit_line
from .points import STABILITY, CriticalPoint, Found
from .scan import GRID, scan, sign

_BITS = 60
_STEP = 6  # of the grid of variances at which a line is looked at
_LOOKS = 4  # kernels of a line, at least, at which its stability is looked at
_NONE = "the susceptibilities agree at every kernel, but no "


def agree(conditions: Conditions | str, parallel: Quantity, perp: Quantity) -> bool:
    """Whether both susceptibilities are the same function of the kernel and of all parameters."""
    if isinstance(conditions, Conditions):
        return conditions.gap == 0
    difference = written_out(parallel) - written_out(perp)
    try:
        if not enclose(at_generic(difference), {}, _BITS).contains(0):
            return False
    except SymresError:
        return False
    return canonical(difference) == 0


def line_of_points(conditions: Conditions | str, maps: Maps) -> Found:
    """The points along the kernel, along C_W, or along the variance inside of averages, whichever is explicit.

    Args:
        conditions: solved, or why they are not.
        maps: kernel_map, chi_parallel, chi_perp.
    """
    if isinstance(conditions, Conditions) and conditions.kernel == K:
        return _along_kernel(conditions, maps[1])
    explicit = explicit_line(maps)
    if explicit is not None:
        kernel, bias = explicit
        return _along(C_W, (joined(canonical(kernel)), C_W, bias), WEIGHTS, "every C_W > 0", maps[1])
    if isinstance(conditions, str):
        why = f"the susceptibilities agree, so that all of the critical line is critical, but {conditions}"
        return Found(remarks=(why,), complete=False)
    place = (conditions.written_out(e).subs(K, S_in) for e in (conditions.kernel, conditions.C_W, conditions.C_b))
    kernel, weight, bias = map(sp.factor_terms, place)
    return _along(S_in, (kernel, weight, bias), GRID[::_STEP], "every variance S_in inside of the averages", maps[1])


def _along_kernel(conditions: Conditions, parallel: Quantity) -> Found:
    """Every kernel has a C_W and a C_b of its own."""
    weight, bias = map(conditions.written_out, (conditions.C_W, conditions.C_b))
    weight = sp.factor_terms(weight)
    bias = sp.Mul(*(canonical(f) if f.has(K) else f for f in sp.Mul.make_args(bias)))  # 1 - gamma**2 stays a factor
    if not weight.has(K):
        return Found(remarks=(f"{_NONE}C_W > 0 makes them 1",))
    allowed, places = "with C_b >= 0", [sp.Integer(1)]
    reduced = [at_reference(e).xreplace({K: kappa}) for e in (weight, bias)]
    if all(e.free_symbols <= {kappa} for e in reduced):
        weights, biases = (dict(scan(partial(_at_kappa, e)).rows) for e in reduced)
        positive = [k for k, value in weights.items() if sign(value) > 0]
        places = [k for k in positive if k in biases and sign(biases[k]) >= 0]
        if not places:
            return Found(remarks=(f"{_NONE}{'C_b >= 0 keeps one' if positive else 'C_W > 0 makes them 1'}",))
        if len(places) == len(weights):
            allowed = "each with a C_W and a C_b of its own"
    slope = written_out(parallel).diff(K).subs(C_W, weight)
    told = {stability_where(slope.subs(K, k), weight.subs(K, k)) for k in places[:: max(len(places) // _LOOKS, 1)]}
    stability, side = told.pop() if len(told) == 1 else STABILITY[0]
    point = CriticalPoint(K, weight, bias, stability, side=side, along=K)
    return Found((point,), (f"a line of critical points: every K* > 0, {allowed}",))


def _along(
    runs: sp.Symbol, place: tuple[sp.Expr, sp.Expr, sp.Expr], values: Iterable[sp.Expr], every: str, parallel: Quantity
) -> Found:
    """K*, C_W and C_b as functions of what runs along the line."""
    seen = list(_admissible(runs, place, values))
    if not any(seen):
        return Found(remarks=(f"{_NONE}C_b >= 0 keeps one",))
    others = set().union(*(e.free_symbols for e in place)) - {runs, gamma, xi}  # of which one value was tried
    allowed = "each with a K* and a C_b of its own" if all(seen) and not others else "with K* > 0 and C_b >= 0"
    curvature = written_out(parallel).diff(K).subs(dict(zip((K, C_W, C_b), place, strict=True)), simultaneous=True)
    stability, side = stability_where(curvature, place[1])
    point = CriticalPoint(*place, stability, side=side, along=runs)
    return Found((point,), (f"a line of critical points: {every}, {allowed}",))


def _admissible(runs: sp.Symbol, place: tuple[sp.Expr, ...], values: Iterable[sp.Expr]) -> Iterator[bool]:
    """Whether the kernel and the variances are positive, at the reference, along the line."""
    for value in values:
        try:
            balls = [enclose(at_generic(e.subs(runs, value)), {}, _BITS) for e in place]
        except SymresError:  # no number there
            yield False
        else:
            yield not any(ball < 0 for ball in balls) and balls[0] > 0


def _at_kappa(expression: sp.Expr, k: sp.Rational, bits: int) -> arb:
    return enclose(expression, {kappa: k}, bits)
