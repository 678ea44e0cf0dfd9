"""Real zeros of the formulas at which a piecewise formula switches."""

from __future__ import annotations

from contextlib import suppress

import sympy as sp
from flint import ctx

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..functions.function_record import record_of
from ..functions.ranges import BITS, RangeProgram, range_of_assumptions, sign_of
from ..functions.records.elementary_functions import inverse_cosh
from ..numerics.interval_arithmetic import Undefined
from .domain_proof import Ends
from .isolated_zeros import isolated_zeros


def zeros(part: sp.Expr, ends: Ends = (None, None)) -> list[sp.Expr]:
    """Every real zero of a smooth formula in ``z``; none for a formula without ``z``.

    Monotone functions are inverted, products taken apart, polynomials factored into degrees one and two; other zeros
    are roots of equations, enclosed to any precision, of formulas without parameters.

    Args:
        part: the formula.
        ends: between which zeros that have no closed form are looked for.

    Raises:
        DeclarationError: the zeros depend on parameters and have no closed form, or are not isolated.
    """
    if not part.has(z):
        return []
    if isinstance(part, sp.Mul):
        return [root for factor in part.args for root in zeros(factor, ends)]
    if isinstance(part, sp.exp):
        return []
    if isinstance(part, sp.Pow):
        if part.exp.has(z) or sign_of(part.exp) == -1:
            return []
        return zeros(part.base, ends)
    if part.is_polynomial(z):
        polynomial = sp.Poly(part, z)
        if polynomial.degree() <= 2 or sum(c != 0 for c in polynomial.all_coeffs()[:-1]) > 1:
            return _polynomial_zeros(polynomial, ends)
    constant, moving = part.as_independent(z, as_Add=True)
    coefficient, function = moving.as_independent(z, as_Add=False)
    if not isinstance(function, sp.Add) and (roots := _inverted(function, -constant / coefficient, ends)) is not None:
        return roots
    return _enclosed(part, ends)


def _polynomial_zeros(polynomial: sp.Poly, ends: Ends) -> list[sp.Expr]:
    """The zeros of a polynomial."""
    if polynomial.degree() == 1:
        a, b = polynomial.all_coeffs()
        _require_sign(a)
        return [-b / a]
    if polynomial.degree() == 2:
        a, b, c = polynomial.all_coeffs()
        _require_sign(a)
        discriminant = sp.expand(b**2 - 4 * a * c)
        sign = _require_sign(discriminant, zero=True)
        if sign <= 0:
            return [-b / (2 * a)] * (sign + 1)
        root = sp.sqrt(discriminant)
        return [(-b - root) / (2 * a), (-b + root) / (2 * a)]
    roots = []
    for factor, _ in polynomial.factor_list()[1]:
        if factor.degree() <= 2:
            roots += _polynomial_zeros(sp.Poly(factor.as_expr(), z), ends)
        elif not (factor.domain.is_ZZ or factor.domain.is_QQ) or factor.count_roots() > 0:
            roots += _enclosed(factor.as_expr(), ends)
    return roots


def _inverted(function: sp.Expr, value: sp.Expr, ends: Ends) -> list[sp.Expr] | None:
    """Zeros of ``function - value``; None if the function has no inverse here."""
    if isinstance(function, sp.Pow) and not isinstance(function, sp.exp):
        return _inverted_power(function.base, function.exp, value, ends)
    record = record_of(function)
    if record is None:
        return None
    (u,) = function.args
    if isinstance(function, sp.cosh):
        if _require_sign(value - 1, zero=True) < 0:
            return []
        return [root for at in {inverse_cosh(value), -inverse_cosh(value)} for root in zeros(u - at, ends)]
    if record.limits is None:
        return None
    low, high = record.limits if record.is_increasing else reversed(record.limits)
    margins = [margin for margin in (value - low, high - value) if margin.is_finite]
    if any(_require_sign(margin, zero=True) <= 0 for margin in margins):
        return []
    if value == record.kind(0):
        return zeros(u, ends)
    return None if record.inverse is None else zeros(u - record.inverse(value), ends)


def _inverted_power(base: sp.Expr, exponent: sp.Expr, value: sp.Expr, ends: Ends) -> list[sp.Expr] | None:
    """Zeros of ``base**exponent - value``; None if there is no inverse here."""
    if exponent.has(z):
        if base.has(z) or _require_sign(value, zero=True) <= 0:
            return None if base.has(z) else []
        return zeros(exponent - sp.log(value) / sp.log(base), ends)
    if not exponent.is_number:
        return None
    sign = _require_sign(value, zero=True)
    if sign == 0:
        return zeros(base, ends) if exponent > 0 else []
    root = abs(value) ** (1 / exponent)
    if exponent.is_Integer and exponent.is_odd:
        return zeros(base - sign * root, ends)
    if sign < 0:
        return []
    return [*zeros(base - root, ends), *(zeros(base + root, ends) if exponent.is_Integer else [])]


def _require_sign(value: sp.Expr, zero: bool = False) -> int:
    """The sign of a formula in parameters; 0 only where zero is admitted.

    Raises:
        DeclarationError: it is unknown, or 0.
    """
    sign = sign_of(sp.expand(value))
    if sign is None or (sign == 0 and not zero):
        found = f"they depend on the sign of {value}, which is unknown"
        remedy = "declare the parameters with assumptions such as positive=True, or give them values"
        raise DeclarationError("the breakpoints of a formula", found, remedy)
    return sign


def _enclosed(part: sp.Expr, ends: Ends) -> list[sp.Expr]:
    """The zeros of a formula that is neither inverted nor factored.

    Raises:
        DeclarationError: they could not be told apart, or depend on parameters.
    """
    parameters = part.free_symbols - {z}
    if parameters:
        with suppress(Undefined), ctx.workprec(BITS):
            if RangeProgram(part, {s: range_of_assumptions(s) for s in parameters})().excludes_zero:
                return []
    symbols = parameters.union(*(end.free_symbols for end in ends if end is not None))
    roots = None if symbols else isolated_zeros(part, ends)
    if roots is None:
        asked = f"the breakpoints of a formula that switches where {part} = 0"
        found = "its zeros are infinitely many, or it touches 0 without crossing it, or they could not be told apart"
        remedy = "write the formula with finitely many switches, at simple zeros"
        if symbols:
            found = "its zeros depend on parameters, and have no closed form"
            remedy = f"give {', '.join(sorted(map(str, symbols)))} numbers"
        raise DeclarationError(asked, found, remedy)
    return roots
