"""The exact number behind a floating-point number in the code of a module."""

from __future__ import annotations

import math
from fractions import Fraction

import sympy as sp

from ...core.scalars import number

_LONG = 15  # significant digits from which on a decimal is the rounding of some other number
_DENOMINATOR = 1000
# published with more digits than a double holds: Klambauer and others, arXiv:1706.02515
_PUBLISHED = tuple(map(sp.Rational, ("1.0507009873554804934193349852946", "1.6732632423543772848170429916717")))


def exact_constant(value: int | float) -> sp.Expr:
    """The number that a double in a formula stands for.

    Short decimals are taken as they are written. One that needs all digits of a double is a rounding: of a small
    fraction, of the root of one, possibly with powers of pi (``math.sqrt(2/math.pi)``), or of a published constant,
    if one of these differs from it by no more than a rounding error.

    Args:
        value: a finite number.

    Raises:
        DeclarationError: the number is not finite.
    """
    decimal = number(value, "a constant of the module")
    if isinstance(value, int) or len(repr(abs(value)).partition("e")[0].replace(".", "").strip("0")) < _LONG:
        return decimal
    for published in _PUBLISHED:
        if abs(float(published)) == abs(value):
            return published if value > 0 else -published
    candidates = [sp.Rational(Fraction(value).limit_denominator(_DENOMINATOR))]
    for power in (0, 1, -1, 2, -2):
        square = Fraction(value * value / math.pi**power).limit_denominator(_DENOMINATOR)
        candidates.append((-1 if value < 0 else 1) * sp.sqrt(sp.Rational(square) * sp.pi**power))
    for candidate in candidates:
        if candidate != 0 and abs(float(candidate) - value) <= math.ulp(value):
            return candidate
    return decimal
