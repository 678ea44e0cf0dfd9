"""The shortest form of a formula: the fewest symbols among expanded, factored and collected.

What is tried are identities, each made by sympy's own products and sums: what all terms of a sum share is taken out,
numbers and denominators too; what some terms share is collected; products of sums are multiplied out, polynomials
factored. One of equally short forms is the formula as it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial

import sympy as sp

from ..core.atoms import Opaque
from ..core.symbols import K, xi
from .long_numbers import is_decimal, is_long, short_factors, shortened
from .term_order import arranged, positive_arguments

_KEPT = 10_000  # expressions, parts of formulas, whose forms are remembered: those of a page, with room
_LARGEST = 250  # symbols: what is longer fills more than five lines of a page, and nobody would see it shortened
_DIGITS = 8  # of a number that is taken out of a sum: longer ones are decimals, each for itself
_TERMS = 24  # of a product that is multiplied out: with more, sums are longer than their product
_DEGREE = 6  # of a polynomial that is factored: higher ones have no short factors, and take their time


def readable(expr: sp.Expr, decimals: bool = True, dots: str = "...", ten: str = "e{}") -> sp.Expr:
    """The formula as one reads it: the shortest form, long constants rounded, odd functions of negative numbers turned
    round.

    Args:
        expr: the formula.
        decimals: whether rationals may be written as decimals.
        dots: what follows the digits of a long constant.
        ten: how a power of ten is written after them.
    """
    shown = shortest(short_factors(tidy_factors(sp.sympify(expr))), decimals)
    return _with_sizes(shortened(positive_arguments(shown), dots, ten))


def _with_sizes(expr: sp.Expr) -> sp.Expr:
    """A formula with |x| for roots of squares: all formulas are real."""

    def is_size(e: sp.Expr) -> bool:
        return e.is_Pow and abs(e.exp) == sp.Rational(1, 2) and e.base.is_Pow and e.base.exp == 2

    return expr.replace(is_size, lambda e: sp.Pow(sp.Abs(e.base.base, evaluate=False), 2 * e.exp))


@lru_cache(_KEPT)
def symbols(expr: sp.Basic, decimals: bool = True) -> int:
    """How many symbols are printed: names, numbers, operators, functions, roots and exponents, but no brackets."""
    if isinstance(expr, sp.Rational):
        return (expr.p < 0) + (1 if expr.q == 1 or is_decimal(expr, decimals) or is_long(expr) else 3)
    if not expr.args or isinstance(expr, Opaque):
        return 1
    if isinstance(expr, sp.Add):
        minus = sum(bool(_number(term) < 0) for term in expr.args)
        return _sum(expr.args, decimals) - minus + len(expr.args) - 1 + (minus == len(expr.args))
    if isinstance(expr, sp.Mul) or (expr.is_Pow and expr.exp.is_Rational and expr.exp.is_negative):
        product = arranged(expr, None)
        above, below = product.digits(decimals)
        over, under = _of_factors(above, product.over, decimals), _of_factors(below, product.under, decimals)
        return product.negative + (over or 1) + (1 + under if under else 0)
    if expr.is_Pow:
        exponent = 1 if expr.exp == sp.S.Half or expr.exp.is_Integer else 1 + symbols(expr.exp, decimals)
        return symbols(expr.base, decimals) + exponent
    return 1 + _sum(expr.args, decimals)


@lru_cache(_KEPT)
def shortest(expr: sp.Basic, decimals: bool = True) -> sp.Basic:
    """The formula in its shortest form: the same value, and never more symbols; rationals may become decimals."""
    if not expr.args or isinstance(expr, Opaque):
        return expr
    size = partial(_size, decimals)
    rebuilt, arguments = expr, [shortest(a, decimals) for a in expr.args]
    if arguments != list(expr.args):
        rebuilt = _product(*arguments) if isinstance(expr, sp.Mul) else expr.func(*arguments)
    if not isinstance(rebuilt, sp.Add | sp.Mul | sp.Pow) or symbols(rebuilt, decimals) > _LARGEST:
        return min(expr, rebuilt, key=size)
    starts = dict.fromkeys((rebuilt, expr))
    best = min((form for start in starts for form in (start, *_forms(start, decimals))), key=size)
    return best if size(best) >= size(expr) else shortest(best, decimals)


def _size(decimals: bool, expr: sp.Basic) -> tuple[int, int, int, int]:
    """How long a formula is. Among forms with as many symbols fractions inside of fractions make it longer, then
    fractions, then names and large numbers.
    """
    return symbols(expr, decimals), *_tie(expr)


@lru_cache(_KEPT)
def _tie(expr: sp.Basic) -> tuple[int, int, int]:
    """The numbers of fractions in fractions and of those with a term or a sum, and the weight of names and numbers."""
    if isinstance(expr, sp.Rational):
        return 0, 0, 0 if abs(expr) == 1 else int(abs(expr.p)).bit_length() + int(expr.q).bit_length()
    if not expr.args or isinstance(expr, Opaque):
        return 0, 0, 2
    nested, fractions, weight = (sum(counts) for counts in zip(*map(_tie, expr.args), strict=True))
    if isinstance(expr, sp.Add):
        fractions += sum(not _number(term).is_Integer for term in expr.args)
    elif isinstance(expr, sp.Mul | sp.Pow) and _is_fraction(expr):
        sums = {base: power for base, power in _powers(expr).items() if isinstance(base, sp.Add)}
        # (2 + a)/2 is no shorter than 1 + a/2; (2 + a)/(2(1 - a)) has its line anyway
        fractions += _number(expr).q > 1 and bool(sums) and all(power > 0 for power in sums.values())
        nested += sum(_is_fraction(term) for total in sums for term in total.args)
    return nested, fractions, weight


def _is_fraction(term: sp.Expr) -> bool:
    return not _number(term).is_Integer or any(exponent < 0 for exponent in _powers(term).values())


def _forms(expr: sp.Expr, decimals: bool) -> Iterator[sp.Expr]:
    """Other forms of the same value."""
    if isinstance(expr, sp.Add):
        if _is_series([*map(_powers, expr.args)]):
            return
        for total in dict.fromkeys((expr, sp.Add(*map(_multiplied_out, expr.args)))):
            yield total
            yield _collected(total, decimals)
            yield from _factored(total, decimals)
    else:
        yield _merged(expr, False, decimals)
        yield _merged(expr, True, decimals)
        if isinstance(expr, sp.Mul):
            yield from _partly_expanded(expr, decimals)


# ---- sums ----------------------------------------------------------------------------------------------------------


@lru_cache(_KEPT)
def _collected(total: sp.Expr, decimals: bool) -> sp.Expr:
    """A sum with shared factors taken out, as long as that makes it shorter."""
    best, size = total, partial(_size, decimals)
    while isinstance(best, sp.Add):
        shorter = min(_taken_out(best, decimals), key=size, default=best)
        if size(shorter) >= size(best):
            break
        best = shorter
    return best


def _taken_out(total: sp.Add, decimals: bool) -> Iterator[sp.Expr]:
    """A sum with what all of its terms, or some of them, share in front."""
    terms = total.args
    powers = [_powers(term) for term in terms]
    if _is_series(powers):
        return
    plain = [{base: power for base, power in of_term.items() if power > 0 or not base.is_Add} for of_term in powers]
    for shared in (powers, plain):  # the denominators of all terms, or only those that are no sums
        yield _in_front(terms, shared, _content(terms, decimals))
    for whole in (True, False):
        yield _in_front(terms, [{}] * len(terms), _content(terms, decimals, whole))
    for base in dict.fromkeys(base for of_term in powers for base in of_term):
        yield _in_front(terms, [{base: p[base]} if base in p else {} for p in powers], sp.S.One)
    # by equal powers only: 1 + 2K + 3K^2 is not to be written 1 + K (2 + 3K)
    for pair in dict.fromkeys(pair for of_term in powers for pair in of_term.items()):
        group = [k for k, of_term in enumerate(powers) if pair in of_term.items()]
        if 1 < len(group) < len(terms):
            yield from _grouped(terms, powers, group, decimals)
    divisors = [_number(term).q for term in terms]
    for divisor in sorted({*divisors} - {1}):
        group = [k for k, q in enumerate(divisors) if q == divisor]
        if 1 < len(group) < len(terms):
            yield from _grouped(terms, powers, group, decimals)


def _is_series(powers: list[dict[sp.Expr, sp.Rational]]) -> bool:
    """Whether terms are powers of the kernel, each another one: nobody writes an expansion as K (1 - 2K)."""
    is_sum = len({of_term.get(K, sp.S.Zero) for of_term in powers}) == len(powers)
    return is_sum and not any(base.has(K) for of_term in powers for base in of_term if base != K)


def _grouped(
    terms: tuple[sp.Expr, ...], powers: list[dict[sp.Expr, sp.Rational]], group: list[int], decimals: bool
) -> Iterator[sp.Expr]:
    members, others = tuple(terms[k] for k in group), [term for k, term in enumerate(terms) if k not in group]
    content = _content(members, decimals)
    for number in dict.fromkeys((content, sp.Integer(content.p))):  # denominators may stay, as in C_W/2 + gamma^2
        yield sp.Add(_in_front(members, [powers[k] for k in group], number), *others)


def _in_front(terms: tuple[sp.Expr, ...], powers: list[dict[sp.Expr, sp.Rational]], number: sp.Rational) -> sp.Expr:
    """The sum of terms with a number and the lowest powers that they have in common in front, those of denominators
    too.
    """
    bases = dict.fromkeys(base for of_term in powers for base in of_term)
    lowest = ((base, min(of_term.get(base, sp.S.Zero) for of_term in powers)) for base in bases)
    front = [base**power for base, power in lowest if power]
    if number == 1 and not front:
        return sp.Add(*terms)
    divisor = sp.Mul(number, *front)
    return _product(number, *front, sp.Add(*(term / divisor for term in terms)))


def _product(*factors: sp.Expr) -> sp.Expr:
    """A product, in which a number stays in front of a sum: sympy would multiply it in."""
    number, rest = sp.Mul(*(f for f in factors if f.is_Rational)), [f for f in factors if not f.is_Rational]
    if sum(isinstance(f, sp.exp) for f in rest) == 1:  # sympy would multiply out its exponent
        alone = next(f for f in rest if isinstance(f, sp.exp))
        others = sp.Mul(number, *(f for f in rest if f is not alone))
        return sp.Mul(*sp.Mul.make_args(others), alone, evaluate=False) if others != 1 else alone
    product = sp.Mul(*rest)
    return sp.Mul(number, product, evaluate=not (product.is_Add and number != 1))


def _content(terms: tuple[sp.Expr, ...], decimals: bool, whole: bool = True) -> sp.Rational:
    """The number that terms have in common, or only its denominator; 1 where one has a decimal to be read."""
    numbers = list(map(_number, terms))
    size = sp.Rational(sp.igcd(*(n.p for n in numbers)) if whole else 1, sp.ilcm(*(n.q for n in numbers)))
    if is_long(size, _DIGITS) or any(is_long(n, _DIGITS) or is_decimal(n, decimals) for n in numbers):
        return sp.S.One
    return -size if all(n < 0 for n in numbers) else size


def _powers(term: sp.Expr) -> dict[sp.Expr, sp.Rational]:
    """The factors of a term but its number, with their exponents."""
    powers: dict[sp.Expr, sp.Rational] = {}
    for factor in sp.Mul.make_args(term.as_coeff_Mul(rational=True)[1]):
        base, exponent = factor.as_base_exp()
        powers |= {base: exponent} if exponent.is_Rational else {factor: sp.S.One}
    powers.pop(sp.S.One, None)
    return powers


def _factored(total: sp.Expr, decimals: bool) -> Iterator[sp.Expr]:
    """A polynomial of low degree in its factors."""
    names = total.free_symbols
    if not (isinstance(total, sp.Add) and names and total.is_polynomial(*names)):
        return
    if any(not part.free_symbols for part in total.atoms(sp.Function, sp.Pow)):
        return  # sympy takes seconds for a polynomial with roots or functions of numbers as coefficients
    if _is_series([*map(_powers, total.args)]):
        return
    if _content(total.args, decimals, whole=False) == 1 and not all(_number(term).is_Integer for term in total.args):
        return  # decimals would become long integers
    if sp.Poly(total, *names).total_degree() <= _DEGREE:
        factored = sp.factor(total)
        yield factored
        if isinstance(factored, sp.Mul):
            yield from _partly_expanded(factored, decimals)


# ---- products ------------------------------------------------------------------------------------------------------


def _merged(product: sp.Expr, all_shared: bool, decimals: bool) -> sp.Expr:
    """A product whose sums have their number in front, or all that their terms share.

    8 + 2 sqrt(17) meets a power of 4 + sqrt(17), and 1/(1 + x/pi) is pi/(pi + x).
    """
    return _product(*(_bare(factor, all_shared, decimals) for factor in sp.Mul.make_args(product)))


def _bare(factor: sp.Expr, all_shared: bool, decimals: bool) -> sp.Expr:
    base, exponent = factor.as_base_exp()
    if not (isinstance(base, sp.Add) and exponent.is_Rational):
        return factor
    powers = list(map(_powers, base.args))
    taken = powers if all_shared and not _is_series(powers) else [{}] * len(powers)
    shared = _in_front(base.args, taken, _content(base.args, decimals))
    return factor if _number(shared) < 0 and not exponent.is_Integer else shared**exponent


def _multiplied_out(term: sp.Expr) -> sp.Expr:
    size = 1
    for factor in sp.Mul.make_args(term):
        base, exponent = factor.as_base_exp()
        if isinstance(base, sp.Add) and exponent.is_Integer and exponent > 0:
            size *= len(base.args) ** int(exponent)
    if not 1 < size <= _TERMS:
        return term
    return sp.expand(term, deep=False, power_base=False, power_exp=False, log=False, basic=False)


def _partly_expanded(product: sp.Mul, decimals: bool) -> Iterator[sp.Expr]:
    """A product with one factor multiplied into a sum, where that cancels: sqrt(a) (1/sqrt(a) + b) is 1 + b sqrt(a).

    Of two sums, (1 - gamma)(1 + gamma) is 1 - gamma^2, below a line too; (1 - gamma^2)(5 - gamma^2) shows more than its
    three terms do.
    """
    pairs = [(factor, *factor.as_base_exp()) for factor in product.args]
    for total, base, power in pairs:
        for factor, other, exponent in pairs:
            if factor is total or not (base.is_Add and exponent.is_Rational and power.is_Integer):
                continue
            if other.is_Add and exponent == power:
                joined = _collected(_multiplied_out(base * other), decimals)
                if len(sp.Add.make_args(joined)) > max(len(base.args), len(other.args)):
                    continue
            elif power in (1, -1):
                shift = exponent * power
                left = [(before := _powers(term).get(other, sp.S.Zero), before + shift) for term in base.args]
                cancels = any(before * shift < 0 for before, _ in left)
                if not cancels or (power < 0 and any(after < 0 for _, after in left)):  # no fraction below a line
                    continue
                joined = _collected(sp.Add(*(term * other**shift for term in base.args)), decimals)
            else:
                continue
            yield _product(joined**power, *(f for f in product.args if f not in (total, factor)))


# ---- factors in parameters alone, as one writes them --------------------------------------------------------------


def tidy_factors(expression: sp.Expr) -> sp.Expr:
    """An expression with (1 - gamma)(1 + gamma) written as 1 - gamma^2, and xi^2/|xi| as |xi|, as one does."""
    if expression.has(sp.Abs(xi)) and expression.subs(xi, -xi) == expression:  # even in xi: written in |xi|
        size = sp.Dummy(positive=True)
        expression = expression.subs(xi, size).subs(size, sp.Abs(xi))
    return expression.replace(lambda e: e.is_Mul, _with_squares)


def _with_squares(product: sp.Expr) -> sp.Expr:
    factors = dict(f.as_base_exp() for f in product.args)
    for base, exponent in factors.items():
        for s in base.free_symbols if base.is_Add else ():
            if factors.get(s + 1) != exponent or not (base == 1 - s or (base == s - 1 and exponent.is_Integer)):
                continue
            others = [f for f in product.args if f not in (base**exponent, (s + 1) ** exponent)]
            return sp.Mul(*((-1) ** exponent,) * (base == s - 1), *others, (1 - s**2) ** exponent)
    return product


# ---- counting ------------------------------------------------------------------------------------------------------


def _number(term: sp.Expr) -> sp.Rational:
    """The rational factor of a term."""
    return term.as_coeff_Mul(rational=True)[0]


def _sum(parts: tuple[sp.Basic, ...], decimals: bool) -> int:
    return sum(symbols(part, decimals) for part in parts)


def _of_factors(number: str, factors: tuple[sp.Expr, ...], decimals: bool) -> int:
    """Symbols of a product; a number stands next to what it multiplies, without an operator."""
    return _sum(factors, decimals) + max(len(factors) - 1, 0) + (number != "1")
