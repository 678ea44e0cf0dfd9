"""The order of a formula, and what stands above and below a fraction's line: the same for every printer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from ..core.atoms import ActivationNode, Opaque
from ..core.symbols import K1, K2, C, K, gamma
from ..functions.function_record import record_of
from .long_numbers import decimal_text, is_decimal

Text = Callable[
    [sp.Basic], str
]  # how a printer writes an expression: what it cannot order otherwise, it orders by text

_REMEMBERED = 10_000  # sums of numbers whose signs are remembered: each takes milliseconds
_ALGEBRA = (sp.Add, sp.Mul, sp.Pow, sp.Atom)


@dataclass(frozen=True)
class Product:
    """A product as one writes it."""

    negative: bool  # whether a minus sign stands in front
    number: sp.Rational  # its positive rational factor
    over: tuple[sp.Expr, ...]  # the other factors above the line, in order
    under: tuple[sp.Expr, ...]  # factors below it

    def digits(self, decimals: bool) -> tuple[str, str]:
        """The number as texts above and below the line: a fraction, or all of a decimal above it."""
        if is_decimal(self.number, decimals):
            return decimal_text(self.number), "1"
        return str(self.number.p), str(self.number.q)


def ordered_terms(terms: Iterable[sp.Expr], text: Text) -> list[sp.Expr]:
    """The terms of a sum as one writes them; a sum does not begin with a minus sign if it can be helped."""
    terms = list(terms)
    if powers := _falling(terms):
        return sorted(terms, key=lambda e: -powers[e])
    # sympy's own order would compare the text of a root in sympy's own printer: a number that takes its time
    ordered = sorted(terms, key=lambda e: (_complexity(e), len(text(e)), text(e)))
    positive = [t for t in ordered if not t.could_extract_minus_sign()]
    if positive and ordered[0] not in positive:
        ordered.remove(positive[0])
        ordered.insert(0, positive[0])
    return ordered


def _falling(terms: list[sp.Expr]) -> dict[sp.Expr, sp.Expr]:
    """The powers in an expansion at infinity, numbers times powers of one symbol; empty for any other sum."""
    symbols = set().union(*(term.free_symbols for term in terms))
    if len(symbols) != 1 or len(terms) < 3:
        return {}
    (s,) = symbols
    powers = {}
    for term in terms:
        base, exponent = term.as_independent(s, as_Add=False)[1].as_base_exp()
        if base not in (s, 1) or not exponent.is_Rational:
            return {}
        powers[term] = exponent if base == s else sp.Integer(0)
    return powers if min(powers.values()) < 0 else {}


def arranged(product: sp.Expr, text: Text | None) -> Product:
    """A product, or a power, in order and with its denominator; for whom only counts its factors, without a text."""
    coefficient, rest = product.as_coeff_Mul()
    coefficient, parts = _turned(coefficient, sp.Mul.make_args(rest))
    factors = sorted(parts, key=lambda f: _rank(f, text)) if text and len(parts) > 1 else parts  # none calls itself
    coefficient, under = _lowered_root(coefficient, factors)
    over: list[sp.Expr] = []
    for factor in factors:
        if factor in under:
            continue
        base, exponent = factor.as_base_exp()
        if not isinstance(factor, sp.exp) and exponent.is_Rational and exponent.is_negative:
            shared = common_denominator(base) if exponent.is_Integer else 1
            coefficient *= shared**-exponent  # 1/(1/4 + K/2) is written 4/(1 + 2K)
            under.append(sp.Pow(scaled(base, shared), -exponent))
        elif factor != 1:
            over.append(factor)
    over, under = _common_root(_one_root(over), _one_root(under))
    return Product(bool(coefficient.is_negative), abs(coefficient), tuple(over), tuple(under))


def common_denominator(expr: sp.Expr) -> sp.Integer:
    """The least common denominator of a sum's rational coefficients; 1 for what is no sum."""
    if not isinstance(expr, sp.Add):
        return sp.Integer(1)
    return sp.ilcm(1, 1, *(term.as_coeff_Mul()[0].q for term in expr.args if term.as_coeff_Mul()[0].is_Rational))


def scaled(expr: sp.Expr, factor: sp.Expr) -> sp.Expr:
    """A sum times a number, term by term."""
    return sp.Add(*(factor * term for term in expr.args)) if isinstance(expr, sp.Add) and factor != 1 else factor * expr


def is_activation(expr: sp.Basic) -> bool:
    """Whether an expression is an activation of an argument."""
    return isinstance(expr, ActivationNode)


def has_decimals(*formulas: sp.Expr) -> bool:
    """Whether results are written with decimals: only if a declared formula has one; True if no formula is known."""
    return not formulas or any(is_decimal(number) for formula in formulas for number in formula.atoms(sp.Rational))


def positive_arguments(expr: sp.Expr) -> sp.Expr:
    """-asin((1 - sqrt(17))/4) is written asin((sqrt(17) - 1)/4)."""
    if not expr.args or isinstance(expr, Opaque):
        return expr
    arguments = [positive_arguments(a) for a in expr.args]
    record = record_of(expr)
    if record is not None and record.is_odd and arguments[0].is_algebraic and arguments[0].is_negative:
        return -expr.func(-arguments[0], evaluate=False)
    return expr if arguments == list(expr.args) else expr.func(*arguments)


# ---- what comes first ----------------------------------------------------------------------------------------------


def _is_involved(expr: sp.Expr) -> bool:
    """Whether it contains a function, an average, an activation: anything beyond algebra."""
    return any(not isinstance(node, _ALGEBRA) for node in sp.preorder_traversal(expr))


def _complexity(e: sp.Expr) -> tuple[int, sp.Expr]:
    """Powers before fractions of sums, functions last, low powers before high ones: 1 + 2K."""
    factors = [factor.as_base_exp() for factor in sp.Mul.make_args(e)]
    degree = sp.Add(*(exponent for base, exponent in factors if base.free_symbols and exponent.is_Rational))
    if _is_involved(e):
        return 2, degree
    involved = any(not base.is_Symbol and not (n.is_Integer and n > 0) for base, n in factors if base.free_symbols)
    return int(involved), degree


def _rank(factor: sp.Expr, text: Text) -> tuple[int, str]:
    """Numbers, parameters, kernels, other powers, sums, functions."""
    base, _ = factor.as_base_exp()
    if is_activation(base):
        return 5, f"{base.order}{text(factor)}"  # phi before its derivatives
    if _is_involved(factor):
        return 6, text(factor)
    if not factor.free_symbols:
        return 0 if not isinstance(base, sp.Add) else 3, text(factor)
    if base.is_Symbol:
        return (2 if base in (K, K1, K2, C) or base.name == "K*" else 1), base.name
    return (4 if base.is_Add else 3), text(factor)


def _turned(coefficient: sp.Expr, factors: Iterable[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr]]:
    """-(K - 4 - 12K**2) is written 4 + 12K**2 - K, and -1/(C - K) as 1/(K - C): sums are positive if that is known.

    What is left of a minus sign goes into a difference that begins with a number then: -(K**2 - 5) is written 5 - K**2.
    """
    result: list[sp.Expr] = []
    factors = list(factors)
    if coefficient > 0 and len(factors) == 1 and factors[0].is_number and factors[0].is_Add:
        return coefficient, factors  # (24 - 9 pi)/16
    for factor in factors:
        base, exponent = factor.as_base_exp()
        if isinstance(base, sp.Add) and exponent.is_Integer and _is_turned(base, abs(exponent) == 1):
            coefficient *= (-1) ** exponent
            factor = sp.Pow(scaled(base, sp.Integer(-1)), exponent)
        result.append(factor)
    if coefficient.is_negative:
        for place, factor in enumerate(result):
            if _subtracts_number(factor):
                return -coefficient, [*result[:place], scaled(factor, sp.Integer(-1)), *result[place + 1 :]]
    return coefficient, result


def _subtracts_number(factor: sp.Expr) -> bool:
    """Whether it is a difference of a term with symbols and a number."""
    if not (isinstance(factor, sp.Add) and len(factor.args) == 2 and factor.free_symbols):
        return False
    number, other = factor.as_coeff_Add()
    return bool(number.is_negative) and not other.could_extract_minus_sign()


@lru_cache(_REMEMBERED)
def _is_turned(total: sp.Expr, is_simple: bool) -> bool:
    """Whether a sum is negative; where that is not known, whether a simple factor has more minus than plus signs."""
    if total.is_number:
        value = total.n(2)  # is_negative takes 15 ms for a sum with roots
        return bool(value.is_comparable and value < 0)
    number, other = total.as_coeff_Add()
    if total == C - K or (number.is_negative and other.free_symbols == {gamma} and other.subs(gamma, 1) == -number):
        return True  # no covariance of a batch is larger than the variance, and critical layers have |gamma| < 1
    return is_simple and 2 * sum(t.could_extract_minus_sign() for t in total.args) > len(total.args)


# ---- roots ---------------------------------------------------------------------------------------------------------


def _is_root(factor: sp.Expr) -> bool:
    """A square root of symbols and numbers."""
    return factor.is_Pow and factor.exp == sp.Rational(1, 2) and not factor.base.is_Add


def _root_of(radicand: sp.Expr) -> sp.Expr:
    return sp.Pow(radicand, sp.Rational(1, 2), evaluate=False)  # sympy would take it apart


def _one_root(factors: list[sp.Expr]) -> list[sp.Expr]:
    """sqrt(K1)*sqrt(K2) is written sqrt(K1*K2): roots of symbols and numbers are drawn together, at the end."""
    roots = [f for f in factors if _is_root(f)]
    if len(roots) < 2:
        return factors
    return [*(f for f in factors if f not in roots), _root_of(sp.Mul(*(f.base for f in roots)))]


def _common_root(over: list[sp.Expr], under: list[sp.Expr]) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """sqrt(K)/sqrt(2) is written sqrt(K/2)."""
    above, below = (next(filter(_is_root, side), None) for side in (over, under))
    if above is None or below is None:
        return over, under
    kept = [f for f in over if f is not above]
    return [*kept, _root_of(above.base / below.base)], [f for f in under if f is not below]


def _lowered_root(coefficient: sp.Expr, factors: list[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr]]:
    """sqrt(2)/2 is written 1/sqrt(2): the coefficient times p, and sqrt(p) for the denominator, where p divides it."""
    for root in factors:
        base, exponent = root.as_base_exp()
        if exponent == sp.Rational(1, 2) and base.is_Integer and coefficient.is_Rational and coefficient.q % base == 0:
            return coefficient * base, [root]
    return coefficient, []
