"""Lines of critical points: layers in which both susceptibilities are one function, so that chi_perp = 1 is enough."""

from __future__ import annotations

from itertools import chain

import sympy as sp

from ....core.errors import SymresError
from ....core.symbols import C_W, C_b, K, S_in, kappa
from ....functions.balls import enclose
from ....functions.ranges import parameter_grid, samples
from ....functions.roots.bracketing import GRID, sign, value_with_sign
from ....gaussian.algebra.canonical import canonical
from ....notation.factors import tidy_factors
from ....results.critical_point import STABILITY, CriticalPoint, SearchResult
from ....results.quantity import Quantity
from ..conditions.critical_conditions import Conditions, Maps, NoConditions, expression_of
from ..conditions.parameter_signs import at_generic, at_reference
from .explicit_line import explicit_line

_BITS = 60
_STEP = 6  # of the kernels where many parameters are tried
_LEAST_KERNELS = 4  # of a line at which its stability is judged
_NONE = "the susceptibilities agree at every kernel, but no "


def agree(conditions: Conditions | NoConditions, parallel: Quantity, perp: Quantity) -> bool:
    """Whether both susceptibilities are the same function of the kernel and of all parameters."""
    if isinstance(conditions, Conditions):
        return conditions.gap == 0
    difference = expression_of(parallel) - expression_of(perp)
    try:
        if not enclose(at_generic(difference), {}, _BITS).contains(0):
            return False
    except SymresError:
        return False
    return canonical(difference) == 0


def line_of_points(conditions: Conditions | NoConditions, maps: Maps) -> SearchResult:
    """The points along the kernel, along C_W, or along the variance inside of averages, whichever is explicit.

    Args:
        conditions: solved, or why they are not.
        maps: kernel_map, chi_parallel, chi_perp.
    """
    if isinstance(conditions, Conditions) and conditions.variable == K:
        return _along_kernel(conditions, maps[1])
    explicit = explicit_line(maps)
    if explicit is not None:
        kernel, bias = explicit
        return _along(C_W, (tidy_factors(canonical(kernel)), C_W, bias), "every C_W > 0", maps[1])
    if isinstance(conditions, NoConditions):
        why = f"the susceptibilities agree, so that all of the critical line is critical, but {conditions.sentence}"
        return SearchResult(remarks=(why,), complete=False)
    place = (conditions.as_function(e) for e in (conditions.kernel, conditions.C_W, conditions.C_b))
    kernel, weight, bias = map(sp.factor_terms, place)
    return _along(S_in, (kernel, weight, bias), "every variance S_in inside of the averages", maps[1])


def _along_kernel(conditions: Conditions, parallel: Quantity) -> SearchResult:
    """Every kernel has a C_W and a C_b of its own."""
    weight, bias = map(conditions.as_function, (conditions.C_W, conditions.C_b))
    weight = sp.factor_terms(weight)
    bias = sp.Mul(*(canonical(f) if f.has(K) else f for f in sp.Mul.make_args(bias)))  # 1 - gamma**2 stays a factor
    if not weight.has(K):
        return SearchResult(remarks=(f"{_NONE}C_W > 0 makes them 1",))
    return _along(K, (K, weight, bias), "every K* > 0", parallel)


def _along(runs: sp.Symbol, place: tuple[sp.Expr, sp.Expr, sp.Expr], every: str, parallel: Quantity) -> SearchResult:
    """K*, C_W and C_b as functions of what runs along the line: looked at where it exists, at admissible parameters."""
    slope = expression_of(parallel).diff(K).subs(dict(zip((K, C_W, C_b), place, strict=True)), simultaneous=True)
    line = tuple(at_reference(e).xreplace({runs: kappa}) for e in (*place, slope))
    names = sorted(set().union(*(e.free_symbols for e in line)) - {kappa}, key=str)
    begins, exists, everywhere, slopes = False, False, True, set[int | None]()
    # where parameters are tiny or huge, a C_b that cannot be told from 0 may be a negative one
    dense = ((numbers, GRID, {(1, 1, 0), (1, 1, 1)}) for numbers in samples(names))
    few = ((numbers, GRID[::_STEP], {(1, 1, 1)}) for numbers in (parameter_grid(names) if names else ()))
    for numbers, kernels, able in chain(dense, few):
        signs = {k: tuple(_sign(numbers, e, k) for e in line[:3]) for k in kernels}
        kept = [k for k, found in signs.items() if found in able]
        begins = begins or any(found[:2] == (1, 1) for found in signs.values())
        exists, everywhere = exists or bool(kept), everywhere and not any({None, -1} & {*s} for s in signs.values())
        slopes |= {_sign(numbers, line[3], k) for k in kept[:: max(len(kept) // _LEAST_KERNELS, 1)]}
    if not exists:
        return SearchResult(remarks=(f"{_NONE}{'C_b >= 0 keeps one' if begins else 'C_W > 0 makes them 1'}",))
    stability, side = STABILITY[next(iter(slopes)) or 0 if len(slopes) == 1 else 0]
    allowed = f"each with a {'C_W' if runs == K else 'K*'} and a C_b of its own" if everywhere else "with C_b >= 0"
    point = CriticalPoint(*place, stability, side=side, along=runs, inside=S_in if runs == S_in else None)
    depends = (f"the stability of these points depends on {' and '.join(map(str, names))}",) if len(slopes) > 1 else ()
    return SearchResult((point,), (f"a line of critical points: {every}, {allowed}", *depends))


def _sign(numbers: dict[sp.Symbol, sp.Rational], expression: sp.Expr, value: sp.Rational) -> int | None:
    """The sign of a function of kappa; None where it has no value."""
    try:
        return sign(value_with_sign(lambda k, bits: enclose(expression, {**numbers, kappa: k}, bits), value))
    except SymresError:
        return None
