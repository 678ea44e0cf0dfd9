"""Numbers of many digits in formulas: taken out of factors, and rounded for readers; programs get all digits.

A formula with decimals, 0.8944*relu(z)^2, has exact results whose fractions have integers that nobody reads.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal
from fractions import Fraction

import sympy as sp

from ..core.atoms import Opaque

_LONG = 12  # digits of a numerator or a denominator: beyond, a number is a decimal
_IN_FRONT = 8  # the same, beyond which a number in front of a sum is multiplied into it
_SHOWN = 8  # digits for a reader
_FIRST = Context(prec=_SHOWN, rounding=ROUND_DOWN, Emin=MIN_EMIN, Emax=MAX_EMAX)


def is_long(number: sp.Rational, digits: int = _LONG) -> bool:
    """Whether a fraction has an integer of more digits."""
    return bool(max(abs(number.p), number.q) >= 10**digits)


def short_factors(expr: sp.Expr) -> sp.Expr:
    """The same formula, with long numbers in front of a sum multiplied into it: what they have in common cancels.

    ``(195288750722*x - 244125781250)/976503125000`` is ``312481*x/1562500 - 1/4``.
    """
    if not expr.args or isinstance(expr, Opaque):
        return expr
    expr = _multiplied(expr)  # before its parts: what is multiplied into a term may meet a sum there
    arguments = [short_factors(a) for a in expr.args]
    return expr if arguments == list(expr.args) else expr.func(*arguments)


def _multiplied(expr: sp.Expr) -> sp.Expr:
    """A product whose number has gone into the first sum that takes it."""
    number, rest = expr.as_coeff_Mul() if isinstance(expr, sp.Mul) else (sp.S.One, expr)
    if not (number.is_Rational and is_long(number, _IN_FRONT)):
        return expr
    factors = list(sp.Mul.make_args(rest))
    for place, factor in enumerate(factors):
        base, power = factor.as_base_exp()
        if not (isinstance(base, sp.Add) and power.is_Integer and power > 0):
            continue
        sign = -1 if number < 0 and power != 1 else 1
        share = (sign * number) ** (1 / power)
        if share.is_Rational:
            factors[place] = sp.Add(*(share * term for term in base.args)) ** power
            return sp.Mul(sign, *factors)
    return expr


def is_decimal(number: sp.Expr, decimals: bool = True) -> bool:
    """Whether a rational is written as a decimal: one of three digits or more, shorter so than as a fraction.

    Where there are no decimals, every rational is a fraction.
    """
    if not (decimals and number.is_Rational and number.q >= 1000):
        return False
    has_end = 10 ** int(number.q).bit_length() % int(number.q) == 0
    return has_end and len(decimal_text(number)) <= len(str(number))


def shortened(expr: sp.Expr, dots: str = "...", ten: str = "e{}") -> sp.Expr:
    """The formula with constants of many digits (those of selu) as 8 digits and dots: to be read, not computed.

    Nodes that know their own notation (averages, roots) are left as they are. ``ten`` is how a power of ten is written
    after the dots.
    """
    expr = sp.sympify(expr)
    if isinstance(expr, sp.Rational):
        return _rounded(expr, dots, ten) if is_long(expr) else expr
    if not expr.args or isinstance(expr, Opaque):
        return expr
    arguments = [shortened(a, dots, ten) for a in expr.args]
    return expr if arguments == list(expr.args) else expr.func(*arguments)


def _rounded(number: sp.Rational, dots: str, ten: str) -> sp.Expr:
    """A symbol that prints as the number's first digits; they are cut, not rounded: the dots stand for the rest."""
    first = _FIRST.divide(Decimal(int(abs(number.p))), Decimal(int(number.q)))
    is_exact = Fraction(first) == Fraction(int(abs(number.p)), int(number.q))
    digits, end = (first.normalize(), "") if is_exact else (first, dots)
    size = digits.adjusted()
    text = f"{digits:f}{end}"
    if not -5 <= size < _SHOWN:
        text = f"{digits.scaleb(-size):f}{end}{ten.format(size)}".removeprefix(r"1 \cdot ")
    symbol = sp.Symbol(text, positive=True)
    return symbol if number > 0 else -symbol


def decimal_text(number: sp.Rational) -> str:
    """All digits of a terminating decimal."""
    if number.is_Integer:
        return str(number)
    places = int(number.q).bit_length()  # enough: q divides 10**places
    digits = str(abs(int(number.p)) * 10**places // int(number.q)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0")
    return f"-{text}" if number.is_negative else text
