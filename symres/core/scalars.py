"""Exact numbers from whatever a user passes: int, float, str, Fraction, Decimal, mpmath or sympy."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, Protocol, TypeAlias, runtime_checkable

import mpmath as mp
import sympy as sp

from .errors import DeclarationError
from .foreign import CONSTANTS, reader_of

Number: TypeAlias = int | float | str | Fraction | Decimal | sp.Expr | mp.mpf  # what users may pass as a number


@runtime_checkable
class _Array(Protocol):
    """An array or a tensor, of NumPy, PyTorch or another library; one of no dimension is a number."""

    shape: Any

    def item(self) -> Any:
        """Its only entry."""


_NUMERAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_LEAST = sp.Rational(1, 10**300)


def number(value: Number, name: str) -> sp.Expr:
    """An exact real number.

    Args:
        value: int, float (taken as the decimal that it prints), str such as "1/2", "0.1" or "2^(-1/2)", Fraction,
            Decimal, mpf, or a sympy number (closed forms such as sqrt(2) stay as they are).
        name: what it is, for messages.

    Raises:
        DeclarationError: not a finite real number.
    """
    ordinary = isinstance(value, sp.Expr | int | float | str | mp.mpf)  # Python takes long to see that it is no array
    if not ordinary and isinstance(value, _Array) and value.shape == ():
        value = value.item()
    if isinstance(value, bool):
        raise _refused(value, name)
    if isinstance(value, sp.Expr):
        exact = _exact(value, name)
        if exact.is_number and exact.is_extended_real and exact.is_finite is not False:
            return exact
    elif isinstance(value, Integral):
        return sp.Integer(int(value))
    elif isinstance(value, Fraction):
        return sp.Rational(value.numerator, value.denominator)
    elif isinstance(value, mp.mpf) and mp.isfinite(value):
        sign, mantissa, exponent, _ = value._mpf_
        return sp.Integer((-1) ** sign * int(mantissa)) * sp.Integer(2) ** exponent
    elif isinstance(value, Real | Decimal) and math.isfinite(value):
        return _decimal(str(float(value)) if isinstance(value, Real) else str(value), value, name)
    elif isinstance(value, str):
        return _read(value, name)
    raise _refused(value, name)


def parameter(value: Number, name: str) -> sp.Expr:
    """The exact value of a parameter, of a size that floating-point numbers can hold.

    Raises:
        DeclarationError: not a real number, or beyond 1e300, or nearer to 0 than 1e-300.
    """
    exact = number(value, name)
    size = abs(exact) if exact.is_Rational else abs(sp.N(exact, 15))
    if size != 0 and not _LEAST <= size <= 1 / _LEAST:
        raise DeclarationError(f"a number for {name}", "it is out of range", "use numbers from 1e-300 to 1e300")
    return exact


def whole(value: Number, name: str, least: int) -> int:
    """An integer that is not below ``least``: a number of digits, an order, a depth.

    Raises:
        DeclarationError: it is not.
    """
    exact = number(value, name)
    if not exact.is_Integer or exact < least:
        found = f"it is not a whole number >= {least}"
        raise DeclarationError(f"{name} {value}", found, f"pass one, such as {least + 1}")
    return int(exact)


def is_rounded(value: Any) -> bool:
    """Whether a number is the result of floating-point arithmetic, so that its last bit may be wrong."""
    if isinstance(value, sp.Expr):
        return value.has(sp.Float)
    return isinstance(value, mp.mpf) or (isinstance(value, Real) and not isinstance(value, Rational))


def scalar(value: Number, name: str) -> sp.Expr:
    """An argument of a declaration: an expression as it is (floats become exact decimals), else an exact number."""
    if isinstance(value, sp.Expr):
        return _exact(value, name)
    return number(value, name)


def equation(value: Any, name: str) -> sp.Expr:
    """Neurons, or functions of them, in a declaration.

    Raises:
        DeclarationError: text, as on the command line.
    """
    if isinstance(value, str):
        remedy = 'write the equation in sympy symbols, or as one text: sr.layer("z + Dense(phi(z))")'
        raise DeclarationError(f"{name} = {value!r}", "it is text", remedy)
    return scalar(value, name)


def _exact(value: sp.Expr, name: str) -> sp.Expr:
    """An expression whose floats are exact decimals, and whose logarithms of powers, log(4), cancel with log(2)."""
    numbers = {f: _decimal(_printed(f), f, name) for f in value.atoms(sp.Float)}
    logarithms = {f: sp.expand_log(f) for f in value.atoms(sp.log) if f.args[0].is_Rational}
    return value.xreplace(numbers | logarithms)


def _printed(value: sp.Float) -> str:
    """The decimal that a user wrote: sympy shows only 15 of the 17 digits that a double may need."""
    return repr(float(value)) if value._prec == 53 else str(value)


def _read(text: str, name: str) -> sp.Expr:
    """The number that a text stands for: a numeral, or a formula without z."""
    if _is_numeral(text):
        return sp.Rational(text.strip())
    try:
        exact = reader_of(CONSTANTS)(text)
    except DeclarationError as error:
        raise _refused(text, name, f": {error.found}") from None
    assert isinstance(exact, sp.Expr)
    return number(exact, name)


def _decimal(text: str, value: Any, name: str) -> sp.Rational:
    if not _is_numeral(text):
        raise _refused(value, name)
    return sp.Rational(text)


def _is_numeral(text: str) -> bool:
    return len(text) <= 400 and _NUMERAL.fullmatch(text.strip()) is not None


def _refused(value: Any, name: str, reason: str = "") -> DeclarationError:
    shown = str(value) if len(str(value)) <= 40 else f"{str(value)[:37]}..."
    found = f"{shown!r} is not a finite real number{reason}"
    return DeclarationError(f"a number for {name}", found, "write 0.5, 1/2, 2 or sqrt(2)")
