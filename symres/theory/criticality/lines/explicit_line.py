"""Critical lines as formulas: C_b as a function of C_W, where quadratic equations give it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import sympy as sp

from ....core.errors import SymresError
from ....core.scalars import number
from ....core.symbols import C_W, C_b, K, gamma, xi
from ....functions.balls import enclose, evaluate
from ....functions.ranges import of_size, parameter_grid, signed_sizes
from ....functions.roots.bracketing import GRID
from ....gaussian.algebra.canonical import canonical
from ....gaussian.calculus.expectation import Expectation
from ....notation.factors import tidy_factors
from ....results.quantity import Quantity, Status
from ..conditions.critical_conditions import Maps, affine, expression_of, positive_root, power_form
from ..conditions.parameter_signs import WEIGHTS

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
        if branches and (found := _only(flow, perp, branches)) is not None:
            kernel, bias = found
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
    powers = _exponentials(masked, variable)
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
    found = sp.solve(numerator, unknown)
    return [value.xreplace({unknown: root}).xreplace(back) for root in found if isinstance(root, sp.Expr)]


def _exponentials(equation: sp.Expr, variable: sp.Symbol) -> dict[sp.Expr, sp.Expr]:
    """{exp(c*variable): c} of all exponentials of a variable; empty if one has another form."""
    found = {e: e.args[0].coeff(variable) for e in equation.atoms(sp.exp) if e.has(variable)}
    return found if all(e.args[0] == c * variable and c.is_Rational for e, c in found.items()) else {}


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
            here = {
                branch: found for branch in branches if (found := _solution(conditions, branch, values)) is not None
            }
            if not here:
                continue
            first = next(iter(here.values()))
            if any(abs(found - first) > _APART * (abs(first) + weight) for found in here.values()):
                return None
            able, seen = [branch for branch in able if branch in here], True
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
    """The bias variance of a branch at numbers for parameters, if both conditions hold there at a positive kernel.

    Args:
        conditions: what vanishes on the line.
        branch: the kernel and the bias variance as formulas.
        values: a number for every other symbol.
    """
    at = dict(values)
    try:
        for symbol, solution in zip((C_b, K), reversed(branch), strict=True):
            at[symbol] = number(evaluate(solution, at, 2 * _DIGITS)[0], str(symbol))
        if at[K] <= 0 or not all(abs(enclose(e, at, _BITS)) < _RESIDUE for e in conditions):
            return None
    except SymresError:  # no real number
        return None
    return at[C_b]
