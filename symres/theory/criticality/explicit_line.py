"""Critical lines as formulas: C_b as a function of C_W, where quadratic equations give it; lines of critical points.

In layers whose two susceptibilities are one function, chi_perp = 1 is enough: all of the line is critical.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, cycle

import sympy as sp

from ...core.errors import SymresError
from ...core.scalars import number
from ...core.symbols import C_W, C_b, K, S_in, gamma, kappa, xi
from ...functions.balls import enclose, evaluate
from ...functions.ranges import of_size, parameter_grid, samples, signed_sizes
from ...functions.roots.bracketing import GRID, sign, value_with_sign
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.shortest import tidy_factors
from ...results.critical_point import STABILITY, CriticalPoint, SearchResult
from ...results.quantity import Quantity, Status
from .critical_conditions import (
    Conditions,
    Maps,
    NoConditions,
    affine,
    expression_of,
    positive_root,
    power_form,
)
from .parameter_effects import WEIGHTS, at_generic, at_reference

_OTHERS = (sp.Rational(3, 5), sp.Rational(5, 11), sp.Rational(19, 8))  # other parameters
_STEP = 6  # of the kernels where many numbers are tried
_LEAST = 1e-100  # size of a weight: those of activations that grow exponentially go on to exp(-1e12)
_SKIPS = (sp.Rational(3, 5), sp.Rational(3, 2))  # on either side of 1
_APART = 1e-15  # biases that are no more so are one solution
_QUADRATIC = 2  # the degree to which solutions of polynomials are formulas that one can read
NON_ALGEBRAIC = (sp.Function, Expectation)  # what no algebraic equation in K contains
_DIGITS = 17
_BITS = 160
_RESIDUE = 1e-25  # of a condition that is met
_SIGN_BITS = 60
_LEAST_KERNELS = 4  # of a line at which its stability is judged
_NONE = "the susceptibilities agree at every kernel, but no "


def explicit_line(maps: Maps) -> tuple[sp.Expr, sp.Expr] | None:
    """(K, C_b) on the critical line as functions of C_W and the other parameters; None if it has no explicit form.

    Either chi_perp = 1 gives K, as an algebraic equation, and K' = K then C_b; or K' = K gives K, and chi_perp = 1
    then C_b. What is found is kept if it solves both at trial parameters.
    """
    if any(q.status is Status.UNKNOWN for q in maps) or C_W not in (*maps[0].symbols, *maps[0].unused):
        return None
    flow, _, perp = map(expression_of, maps)
    if perp.has(sp.oo):
        return None
    size = sp.Dummy("xi", positive=True)  # a branch has no sign: what is even in its weight depends on |xi|
    even = all(e.subs(xi, -xi) == e for e in (flow, perp))
    if even:
        flow, perp = flow.subs(xi, size), perp.subs(xi, size)
    for kernels, equation in ((_solved(perp - 1, K), flow - K), (_solved(flow - K, K), perp - 1)):
        branches: list[tuple[sp.Expr, sp.Expr]] = []
        for k in kernels:
            there = equation.subs(K, k)
            biases = _solved(there, C_b) or _solved(canonical(there), C_b)
            branches += [(k, bias) for bias in biases if not bias.has(K, C_b)]
        if branches and (branch := _only(flow, perp, branches)) is not None:
            kernel, bias = branch
            back = {size: sp.Abs(xi)} if even else {}
            tidy = canonical(bias).xreplace(back)
            if below_one(maps[2]):
                tidy = canonical(tidy.replace(sp.Abs, _size_below_one))
            if tidy.is_rational_function():
                tidy = sp.factor(tidy)
            return kernel.subs(C_b, bias).xreplace(back), tidy_factors(tidy)
    return None


def below_one(chi_perp: Quantity) -> bool:
    """Whether chi_perp is 1 somewhere with a skip connection below 1 and nowhere with one above, as trials tell."""
    perp = expression_of(chi_perp)
    if not perp.has(gamma) or perp.has(C_b) or power_form(perp) is None:
        return False
    names = sorted(perp.free_symbols - {K, C_W, gamma}, key=str)
    numbers = {s: of_size(s, _OTHERS[0] + sp.Rational(i, 10)) for i, s in enumerate(names)}
    below, above = (any(True for _ in _weights(perp.subs({gamma: g, **numbers}))) for g in _SKIPS)
    return below and not above


def _size_below_one(inner: sp.Expr) -> sp.Expr:
    """``|gamma**2 - 1|`` as ``1 - gamma**2``; the size of what may have both signs for ``|gamma| < 1``."""
    polynomial = inner.as_poly(gamma) if inner.free_symbols == {gamma} else None
    if polynomial is None or not polynomial.domain.is_QQ | polynomial.domain.is_ZZ:
        return sp.Abs(inner)
    if any(-1 < root < 1 for root in sp.real_roots(polynomial)):
        return sp.Abs(inner)
    return inner * sp.sign(inner.subs(gamma, 0))


def _solved(equation: sp.Expr, variable: sp.Symbol) -> list[sp.Expr]:
    """The solutions of an equation that is quadratic at most in a variable, or in the one root or exponential of it."""
    averages = {e: sp.Dummy(positive=True) for e in equation.atoms(*NON_ALGEBRAIC) if not e.has(variable)}
    masked, back = equation.xreplace(averages), {dummy: e for e, dummy in averages.items()}
    roots = {p.base for p in masked.atoms(sp.Pow) if not p.exp.is_Integer and p.has(variable)}
    powers = {e: e.args[0].coeff(variable) for e in masked.atoms(sp.exp) if e.has(variable)}
    if not all(e.args[0] == c * variable and c.is_Rational for e, c in powers.items()):
        powers = {}
    unknown = sp.Dummy(positive=True) if variable == K or roots or powers else sp.Dummy(real=True)
    value: sp.Expr = unknown
    if powers:
        rate = min(powers.values(), key=abs)
        value, masked = sp.log(unknown) / rate, masked.xreplace({e: unknown ** (c / rate) for e, c in powers.items()})
        if masked.has(variable):
            return []
    for base in roots:
        linear = affine(base, variable)
        if len(roots) > 1 or linear is None or linear[1] == 0:
            return []
        value, masked = (unknown**2 - linear[0]) / linear[1], masked.xreplace({base: unknown**2})
    if any(f.has(variable) for f in masked.atoms(*NON_ALGEBRAIC)):
        return []
    numerator = sp.fraction(sp.together(masked.xreplace({variable: value})))[0]
    if not numerator.is_polynomial(unknown) or not 0 < sp.degree(numerator, unknown) <= _QUADRATIC:
        return []
    polynomial = sp.Poly(numerator, unknown)
    last, first = polynomial.all_coeffs()[:-3:-1]
    candidates = list(sp.roots(polynomial)) if polynomial.degree() > 1 else [-last / first]
    if unknown.is_positive:
        candidates = [root for root in candidates if root.is_positive is not False]
    able = [root for root in candidates if root.is_real is not False]
    return [value.xreplace({unknown: root}).xreplace(back) for root in able]


def _only(flow: sp.Expr, perp: sp.Expr, branches: list[tuple[sp.Expr, sp.Expr]]) -> tuple[sp.Expr, sp.Expr] | None:
    """The kernel and the bias variance that solve both conditions wherever one of several pairs does.

    A solution of a squared equation need not solve it, or only at some weights or for one sign of a parameter; two
    that do are two lines: None.
    """
    names = sorted((flow.free_symbols | perp.free_symbols) - {K, C_b, C_W}, key=str)
    able = list(branches)
    seen = False
    conditions = flow / K - 1, perp - 1
    for numbers, kernels in _trials(names):
        for weight in _weights(perp.subs(numbers), kernels):
            values = {C_W: weight, **numbers}
            here = {branch: bias for branch in branches if (bias := _solution(conditions, branch, values)) is not None}
            if not here:
                continue
            first = next(iter(here.values()))
            if any(abs(bias - first) > _APART * (abs(first) + weight) for bias in here.values()):
                return None
            able, seen = [branch for branch in able if branch in here], True
            if len(branches) == 1:
                return branches[0]
    return able[0] if seen and able else None


def _trials(names: list[sp.Symbol]) -> Iterator[tuple[dict[sp.Symbol, sp.Rational], tuple[sp.Rational, ...]]]:
    """Numbers for parameters, with kernels to look at: dense ones for some sizes, a few for parameters of all kinds."""
    for other in _OTHERS if names else _OTHERS[:1]:
        # a skip connection is below 1, above there is no line to see
        sizes = [(min(other, _SKIPS[0]) if s == gamma else other) + sp.Rational(i, 10) for i, s in enumerate(names)]
        yield from ((numbers, GRID) for numbers in signed_sizes(names, sizes))
    scales = [{s: weights[known] for s in names for known in weights if s.name == known.name} for weights in WEIGHTS]
    free = [s for s in names if s not in scales[0]]
    for weights, numbers in zip(cycle(scales), parameter_grid(free) if free else ()):
        yield {**weights, **numbers}, GRID[::_STEP]


def _weights(perp: sp.Expr, kernels: tuple[sp.Rational, ...] = GRID) -> Iterator[sp.Rational]:
    """Weight variances with chi_perp = 1 at kernels of all magnitudes; without a formula for them, these magnitudes."""
    form = None if perp.has(C_b) else power_form(perp)
    if form is None:
        yield from kernels
        return
    solution = positive_root(1 - form[1], form[2], form[0])
    for kernel in kernels:
        try:
            weight = evaluate(solution, {K: kernel}, _DIGITS)[0]
        except SymresError:
            continue
        if _LEAST < weight < 1 / _LEAST:
            yield number(weight, str(C_W))


def _solution(
    conditions: tuple[sp.Expr, sp.Expr], branch: tuple[sp.Expr, sp.Expr], values: dict[sp.Symbol, sp.Expr]
) -> sp.Expr | None:
    """The bias variance of a branch, kernel and C_b as formulas, if both conditions hold there at a positive kernel."""
    at = dict(values)
    try:
        for symbol, solution in zip((C_b, K), reversed(branch), strict=True):
            at[symbol] = number(evaluate(solution, at, 2 * _DIGITS)[0], str(symbol))
        if at[K] <= 0 or not all(abs(enclose(e, at, _BITS)) < _RESIDUE for e in conditions):
            return None
    except SymresError:  # no real number
        return None
    return at[C_b]


def agree(conditions: Conditions | NoConditions, parallel: Quantity, perp: Quantity) -> bool:
    """Whether both susceptibilities are the same function of the kernel and of all parameters."""
    if isinstance(conditions, Conditions):
        return conditions.gap == 0
    difference = expression_of(parallel) - expression_of(perp)
    try:
        if not enclose(at_generic(difference), {}, _SIGN_BITS).contains(0):
            return False
    except SymresError:
        return False
    return canonical(difference) == 0


def line_of_points(conditions: Conditions | NoConditions, maps: Maps) -> SearchResult:
    """The points along the kernel, along C_W, or along the variance inside of averages, whichever is explicit."""
    if isinstance(conditions, Conditions) and conditions.variable == K:
        weight, bias = (e.xreplace(conditions.numbers) for e in (conditions.C_W, conditions.C_b))
        weight = sp.factor_terms(weight)
        bias = sp.Mul(*(canonical(f) if f.has(K) else f for f in sp.Mul.make_args(bias)))  # 1 - gamma**2 stays a factor
        if not weight.has(K):
            return SearchResult(remarks=(f"{_NONE}C_W > 0 makes them 1",))
        return _along(K, (K, weight, bias), "every K* > 0", maps[1])
    explicit = explicit_line(maps)
    if explicit is not None:
        kernel, bias = explicit
        return _along(C_W, (tidy_factors(canonical(kernel)), C_W, bias), "every C_W > 0", maps[1])
    if isinstance(conditions, NoConditions):
        why = f"the susceptibilities agree, so that all of the critical line is critical, but {conditions.reason}"
        return SearchResult(remarks=(why,), complete=False)
    place = (e.xreplace(conditions.numbers) for e in (conditions.kernel, conditions.C_W, conditions.C_b))
    kernel, weight, bias = map(sp.factor_terms, place)
    return _along(S_in, (kernel, weight, bias), "every variance S_in inside of the averages", maps[1])


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
        kept = [k for k, signs_of_place in signs.items() if signs_of_place in able]
        begins = begins or any(signs_of_place[:2] == (1, 1) for signs_of_place in signs.values())
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
