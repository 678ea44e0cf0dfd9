"""Numbers for documents and records: as decimals, rounded, and without roots inside of roots."""

from __future__ import annotations

from decimal import ROUND_DOWN, Context
from functools import lru_cache

import mpmath as mp
import sympy as sp

from ..core.errors import SymresError
from ..core.symbols import gamma
from ..functions.balls import evaluate
from .shortest import shortest

_DIGITS, _OF_A_FLOAT = 15, 17
_ROUNDED = 8  # digits of a number that is shown with dots behind it
_PLAIN = (1e-4, 1e12)  # sizes of numbers that are written so
_LONG = 24  # characters of an exact number that is printed as it is
_EQUAL = sp.Rational(1, 10**30)  # difference of numbers of 40 digits that are equal
_AGREEING = 40  # in which a number and what is written for it agree
_KEPT = 256  # products whose roots are joined are remembered: the numbers of a layer share roots
_LONGEST = 4000  # characters: beyond, no rewriting makes a number fit to be read


def at_zero_gamma(expr: sp.Expr) -> sp.Expr | None:
    """The expression without a skip connection; None if other symbols remain."""
    value = sp.sympify(expr)
    if gamma in value.free_symbols:  # a long formula takes its time
        value = value.subs(gamma, 0)
    return None if value.free_symbols else value


def decimal(value: sp.Expr, digits: int = 20) -> str:
    """The correctly rounded decimal of a number."""
    value = sp.sympify(value)
    with mp.workdps(digits + 10):
        if value.is_Rational:
            number = mp.mpf(value.p) / value.q
        else:
            number = mp.mpf(value._mpf_) if value.is_Float else evaluate(value, {}, digits + 3)[0]
        return mp.nstr(number, digits).removesuffix(".0")


def plain_number(expr: sp.Expr | None) -> float | str | None:
    """A number as a float, without a skip connection; a formula of other parameters, or what is infinite, as text."""
    if expr is None:
        return None
    value = at_zero_gamma(expr)
    return str(expr) if value is None or not value.is_finite else float(decimal(value, _OF_A_FLOAT))


def rounded_law(expr: sp.Expr) -> sp.Expr:
    """A law to be read: a power of 1 - gamma^2 in front, and its number rounded where it is long."""
    at_zero = shortest(expr.subs(gamma, 0))  # parameters stand in front of its number
    front = sp.Integer(1)
    if at_zero == 0:
        return expr
    if expr.has(gamma) and at_zero.is_finite is not False:
        # powers of laws are halves of integers: those of standard deviations
        doubled = _generic(2 * sp.log(expr / at_zero) / sp.log(1 - gamma**2))
        nearest = round(sp.re(doubled))
        if abs(doubled - nearest) > _EQUAL:
            return expr
        front = (1 - gamma**2) ** sp.Rational(nearest, 2)
    number, rest = at_zero.as_independent(*at_zero.free_symbols, as_Add=False)
    return rounded(number) * rest * front


def rounded(number: sp.Expr) -> sp.Expr:
    """A number as it is, or its first digits: a long one is a symbol that prints as a decimal with dots behind it."""
    if number.free_symbols or len(str(number)) <= _LONG:
        return number
    value = evaluate(number, {}, _DIGITS)[0]
    sign, size = (1 if value > 0 else -1), abs(value)
    if not _PLAIN[0] < size < _PLAIN[1]:
        return sign * sp.Rational(mp.nstr(size, _DIGITS))
    first = Context(prec=_ROUNDED, rounding=ROUND_DOWN).create_decimal(mp.nstr(size, _DIGITS))
    return sign * sp.Symbol(f"{first:f}...", positive=True)


def vanishes(expression: sp.Expr) -> bool:
    """Whether it is 0 at generic parameters, whether or not sympy sees it."""
    return bool(abs(_generic(expression)) < _EQUAL)


def _generic(expression: sp.Expr) -> sp.Expr:
    """Its number at generic parameters between 0 and 1."""
    symbols = sorted(expression.free_symbols, key=str)
    values = {s: sp.Rational(7 + k, 11 + len(symbols)) for k, s in enumerate(symbols)}
    return sp.N(expression.subs(values), 40)


def denested(number: sp.Expr) -> sp.Expr:
    """A shorter form of a number, without roots inside of roots where it has such a form; else the number itself.

    sympy looks at each root alone. Here roots of a product are one root first: sqrt(sqrt(17) - 1) and
    sqrt(4 + sqrt(17)) do not denest, their quotient does. What sympy makes of a number is believed only where balls
    say that it is the same number.

    Args:
        number: without symbols.
    """
    if number.free_symbols or not number.has(sp.Pow) or len(str(number)) > _LONGEST:
        return number
    try:
        plain = number.replace(lambda e: e.is_Mul or e.is_Pow, _joined_roots)
        candidates = [plain]
        if plain.is_algebraic:  # with arcs of roots among its terms, rationalising takes many seconds
            candidates += [sp.radsimp(plain), sp.sqrtdenest(sp.radsimp(sp.expand(plain)))]
        shorter = min(candidates, key=lambda e: len(str(e)))
        if len(str(shorter)) < len(str(number)):
            value, radius = evaluate(shorter - number, {}, _AGREEING)
            size = abs(evaluate(number, {}, _AGREEING)[0])
            if abs(value) + radius <= size * sp.Float(10, 5) ** -(_AGREEING - 5):
                return sp.factor_terms(shorter)
    except SymresError:  # it has no enclosure: nothing can be compared
        pass
    return number


@lru_cache(_KEPT)
def _joined_roots(product: sp.Expr) -> sp.Expr:
    """A product with all of its square roots of sums under one root, where this denests."""
    roots = [f for f in sp.Mul.make_args(product) if f.is_Pow and f.exp.is_Rational and f.exp.q == 2 and f.base.is_Add]
    if not roots or not all(f.base.is_algebraic and f.base.is_positive for f in roots):
        return product
    square = sp.radsimp(sp.expand(sp.Mul(*(f.base ** (2 * f.exp) for f in roots))))
    root = sp.sqrtdenest(sp.sqrt(square))
    if any(power.exp.is_Rational and power.exp.q == 2 and power.base.is_Add for power in root.atoms(sp.Pow)):
        return product
    return root * sp.Mul(*(f for f in sp.Mul.make_args(product) if f not in roots))
