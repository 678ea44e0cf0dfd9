"""Formulas as one line of text.

sympy's own printers write either two-dimensional art or Python; a page needs ``K/4 + K·asin(K/(1 + K))/(2π)``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import sympy as sp

from ..declare.activation import Formula, Phi
from ..declare.nodes import Node
from ..gaussian.expectation import Expectation
from ..symbols import K1, K2, C, K, variables, z
from ..theory.root import Root

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_GREEK = frozenset(
    (
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "eta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
        "psi",
        "omega",
    )
)
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a text holds together


class Maths:
    """Prints sympy expressions as linear text.

    Args:
        unicode: write γ, π, √, superscripts and ⟨…⟩; otherwise ASCII only.
        phi: the activation that is written φ because a page declares it so; others keep their names.
    """

    def __init__(self, unicode: bool = True, phi: Formula | None = None) -> None:
        self.unicode = unicode
        self.phi = phi
        self.times = "·" if unicode else "*"
        self._printed: dict[sp.Basic, tuple[str, int]] = {}

    def __call__(self, expr: sp.Basic) -> str:
        """The expression as text."""
        return self._print(expr)[0]

    def symbol(self, name: str) -> str:
        """A symbol's name with its Greek letter and a numeric index lowered."""
        if not self.unicode:
            return name
        if name in ("a_plus", "a_minus"):
            return {"a_plus": "a₊", "a_minus": "a₋"}[name]
        stem = name.rstrip("0123456789")
        index = name[len(stem) :]
        if stem.lower() in _GREEK:
            kind = "SMALL" if stem.islower() else "CAPITAL"
            greek = stem.lower().replace("lambda", "lamda")  # the spelling of the Unicode standard
            stem = unicodedata.lookup(f"GREEK {kind} LETTER {greek.upper()}")
        return stem + index.translate(_SUBSCRIPTS) if "_" not in stem else name

    # ---- dispatch ----------------------------------------------------------------------------------------------

    def _print(self, e: sp.Basic) -> tuple[str, int]:
        if e not in self._printed:
            method = next((method for kind, method in _METHODS if isinstance(e, kind)), None)
            self._printed[e] = (str(e), _ATOM) if method is None else method(self, e)
        return self._printed[e]

    def _in(self, e: sp.Basic, least: int) -> str:
        """The text of a part, in brackets unless it holds together tightly enough."""
        text, strength = self._print(e)
        return text if strength >= least else f"({text})"

    # ---- order, by what is printed: the text of a root in sympy's own printer is a number that takes its time ----

    def _ordered(self, terms: Iterable[sp.Expr]) -> list[sp.Expr]:
        """The terms of a sum as one writes them; a sum does not begin with a minus sign if it can be helped."""
        ordered = sorted(terms, key=lambda e: (_complexity(e), len(self(e)), self(e)))
        positive = [t for t in ordered if not t.could_extract_minus_sign()]
        if positive and ordered[0] not in positive:
            ordered.remove(positive[0])
            ordered.insert(0, positive[0])
        return ordered

    def _factor_rank(self, factor: sp.Expr) -> tuple[int, str]:
        """Numbers, parameters, kernels, other powers, sums, functions."""
        base, _ = factor.as_base_exp()
        if isinstance(base, Phi):
            return 5, f"{base.order}{self(factor)}"  # phi before its derivatives
        if factor.has(sp.Function, Expectation, Phi, Node):
            return 6, self(factor)
        if not factor.free_symbols:
            return 0 if not isinstance(base, sp.Add) else 3, self(factor)
        if base.is_Symbol:
            return (2 if base in (K, K1, K2, C) or base.name == "K*" else 1), base.name
        return (4 if base.is_Add else 3), self(factor)

    # ---- leaves ------------------------------------------------------------------------------------------------

    def _symbol(self, e: sp.Symbol) -> tuple[str, int]:
        return self.symbol(e.name), _ATOM

    def _number(self, e: sp.Expr) -> tuple[str, int]:
        if _is_decimal(e):
            return _decimal(e), _SUM if e.is_negative else _ATOM
        return str(e), _ATOM if e.is_Integer and e >= 0 else _SUM if e.is_negative else _PRODUCT

    def _constant(self, e: sp.Expr) -> tuple[str, int]:
        return {sp.pi: "π" if self.unicode else "pi", sp.E: "e", sp.oo: "∞" if self.unicode else "oo"}[e], _ATOM

    def _root(self, e: Root) -> tuple[str, int]:
        return "K*", _ATOM

    # ---- algebra -----------------------------------------------------------------------------------------------

    def _add(self, e: sp.Add) -> tuple[str, int]:
        shared = sp.ilcm(*(term.as_coeff_Mul()[0].q for term in e.args)) if e.is_number and _plain(e) else 1
        if shared != 1:  # (3 + √17)/2
            return f"({self._add(sp.expand(shared * e))[0]})/{shared}", _PRODUCT
        text = ""
        for term in self._ordered(e.args):
            shown = self._in(term, _PRODUCT) if isinstance(term, sp.Add) else self._print(term)[0]
            if not text:
                text = shown
            elif shown.startswith("-"):
                text += f" - {shown[1:]}"
            else:
                text += f" + {shown}"
        return text, _SUM

    def _mul(self, e: sp.Mul) -> tuple[str, int]:
        coefficient, rest = e.as_coeff_Mul()
        coefficient, parts = _turned(coefficient, sp.Mul.make_args(rest))
        factors = sorted(parts, key=self._factor_rank)
        coefficient, under = _lowered_root(coefficient, factors)
        over: list[sp.Expr] = []
        for factor in factors:
            if factor in under:
                continue
            base, exponent = factor.as_base_exp()
            if not isinstance(factor, sp.exp) and exponent.is_Rational and exponent.is_negative:
                under.append(sp.Pow(base, -exponent))
            else:
                over.append(factor)
        over, under = _common_root(_one_root(over), _one_root(under))
        sign = "-" if coefficient.is_negative else ""
        magnitude = abs(coefficient)
        whole = _decimal(magnitude) if _is_decimal(magnitude) else None
        numerator = self._factors(whole or str(magnitude.p), over)
        divisor = "1" if whole else str(magnitude.q)
        denominator = self._factors(divisor, under)
        if denominator == "1":
            return sign + numerator, _SUM if sign else _PRODUCT
        if len(under) + (divisor != "1") > 1:
            denominator = f"({denominator})"
        return f"{sign}{numerator}/{denominator}", _SUM if sign else _PRODUCT

    def _factors(self, number: str, factors: list[sp.Expr]) -> str:
        """A product; a leading integer stands next to what it multiplies."""
        shown = [self._in(f, _POWER) for f in factors]
        if not shown:
            return number
        product = self.times.join(shown)
        if number == "1":
            return product
        close = self.unicode and number.isdigit() and not product[0].isdigit()
        return f"{number}{'' if close else self.times}{product}"

    def _pow(self, e: sp.Pow) -> tuple[str, int]:
        base, exponent = e.args
        if exponent == sp.Rational(1, 2):
            return self._square_root(base), _ATOM
        if exponent.is_Rational and exponent.is_negative:
            under = sp.Pow(base, -exponent)
            return f"1/{self._in(under, _POWER)}", _PRODUCT
        held = self._in(base, _ATOM)
        if exponent.is_Integer and self.unicode:
            return held + str(exponent).translate(_SUPERSCRIPTS), _POWER
        return f"{held}^{self._in(exponent, _ATOM)}", _POWER

    def _square_root(self, radicand: sp.Expr) -> str:
        text, strength = self._print(radicand)
        if not self.unicode:
            return f"sqrt({text})"
        return f"√{text}" if strength == _ATOM and not text.startswith("√") else f"√({text})"

    # ---- functions ---------------------------------------------------------------------------------------------

    def _exp(self, e: sp.exp) -> tuple[str, int]:
        return f"exp({self(e.args[0])})", _ATOM

    def _function(self, e: sp.Function) -> tuple[str, int]:
        arguments = e.args[:1] if isinstance(e, sp.Heaviside) else e.args
        name = {"Heaviside": "step", "Max": "max", "Min": "min"}.get(type(e).__name__, type(e).__name__)
        return f"{name}({', '.join(map(self, arguments))})", _ATOM

    def _abs(self, e: sp.Abs) -> tuple[str, int]:
        return f"|{self(e.args[0])}|", _ATOM

    def _piecewise(self, e: sp.Piecewise) -> tuple[str, int]:
        branches = [f"{self(value)} if {self._condition(c)}" for value, c in e.args if c != sp.true]
        last = [f"{self(value)} otherwise" for value, c in e.args if c == sp.true]
        return "{" + "; ".join(branches + last) + "}", _ATOM

    def _condition(self, e: sp.Basic) -> str:
        if not isinstance(e, sp.core.relational.Relational):
            return str(e)
        sign = {">=": "≥", "<=": "≤"}.get(e.rel_op, e.rel_op) if self.unicode else e.rel_op
        return f"{self(e.lhs)} {sign} {self(e.rhs)}"

    # ---- symres' own nodes -------------------------------------------------------------------------------------

    def _formula(self, e: Formula) -> tuple[str, int]:
        if e != self.phi:
            return e.name, _ATOM
        return "φ" if self.unicode else "phi", _ATOM

    def _phi(self, e: Phi) -> tuple[str, int]:
        primes = "'" * e.order if e.order < 4 else f"^({e.order})"
        return f"{self._formula(e.formula)[0]}{primes}({self(e.argument)})", _ATOM

    def _node(self, e: Node) -> tuple[str, int]:
        """``Dense(u)``, with the settings that its own text shows (they follow the first argument)."""
        shown = str(e)
        inner = str(e.args[0])
        head = f"{type(e).__name__}({inner}"
        if not shown.startswith(head):
            return shown, _ATOM
        rest = shown[len(head) :]
        for symbol in sorted((s.name for s in e.free_symbols), key=len, reverse=True):
            rest = rest.replace(f"={symbol}", f"={self.symbol(symbol)}")
        return f"{type(e).__name__}({self(e.args[0])}{rest}", _ATOM

    def _expectation(self, e: Expectation) -> tuple[str, int]:
        """``⟨φ(z)²⟩``; the law is written as an index unless it is that of the stream."""
        if e.dimension == 1:
            integrand = e.integrand.subs(variables[0], z)
        else:
            names = {x: sp.Symbol(f"z{k}", real=True) for k, x in enumerate(variables[: e.dimension], 1)}
            integrand = e.integrand.xreplace(names)
        text = f"⟨{self(integrand)}⟩" if self.unicode else f"<{self(integrand)}>"
        if e.covariance in ((K,), (K1, C, K2)):
            return text, _ATOM
        law = ",".join(map(self, e.covariance))
        return f"{text}_{law if law.isalnum() or law == 'K*' else f'{{{law}}}'}", _ATOM


_METHODS: tuple[tuple[Any, Any], ...] = (
    (Root, Maths._root),
    (Expectation, Maths._expectation),
    (Phi, Maths._phi),
    (Formula, Maths._formula),
    (Node, Maths._node),
    (sp.Symbol, Maths._symbol),
    ((sp.Rational, sp.Float), Maths._number),
    ((type(sp.pi), type(sp.E), type(sp.oo)), Maths._constant),
    (sp.Add, Maths._add),
    (sp.Mul, Maths._mul),
    (sp.exp, Maths._exp),
    (sp.Pow, Maths._pow),
    (sp.Abs, Maths._abs),
    (sp.Piecewise, Maths._piecewise),
    ((sp.Function, sp.Max, sp.Min), Maths._function),
)


def _is_decimal(e: sp.Expr) -> bool:
    """A rational that somebody wrote as a long decimal."""
    if not e.is_Rational or e.q < 1000:
        return False
    rest = int(e.q)
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(e: sp.Rational) -> str:
    """All digits of a terminating decimal."""
    places = int(e.q).bit_length()  # enough: q divides 10**places
    digits = str(abs(int(e.p)) * 10**places // int(e.q)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0")
    return f"-{text}" if e.is_negative else text


def _plain(e: sp.Add) -> bool:
    return all(term.as_coeff_Mul()[0].is_Rational for term in e.args)


def _complexity(e: sp.Expr) -> tuple[int, sp.Expr]:
    """Powers before fractions of sums, functions last, low powers before high ones: 1 + 2K."""
    factors = [factor.as_base_exp() for factor in sp.Mul.make_args(e)]
    degree = sp.Add(*(exponent for base, exponent in factors if base.free_symbols and exponent.is_Rational))
    if e.has(sp.Function, Expectation, Phi, Node):
        return 2, degree
    involved = any(not base.is_Symbol and not (n.is_Integer and n > 0) for base, n in factors if base.free_symbols)
    return int(involved), degree


def _turned(coefficient: sp.Expr, factors: Iterable[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr]]:
    """-(K - 4 - 12K²) is written 4 + 12K² - K: a sum with more minus than plus signs changes its sign."""
    result = []
    for factor in factors:
        if isinstance(factor, sp.Add) and 2 * sum(t.could_extract_minus_sign() for t in factor.args) > len(factor.args):
            coefficient, factor = -coefficient, -factor
        result.append(factor)
    return coefficient, result


def _is_root(factor: sp.Expr) -> bool:
    """A square root of symbols and numbers."""
    return factor.is_Pow and factor.exp == sp.Rational(1, 2) and not factor.base.is_Add


def _root_of(radicand: sp.Expr) -> sp.Expr:
    return sp.Pow(radicand, sp.Rational(1, 2), evaluate=False)  # sympy would take it apart


def _one_root(factors: list[sp.Expr]) -> list[sp.Expr]:
    """√K1·√K2 is written √(K1·K2): roots of symbols and numbers are drawn together, at the end."""
    roots = [f for f in factors if _is_root(f)]
    if len(roots) < 2:
        return factors
    return [*(f for f in factors if f not in roots), _root_of(sp.Mul(*(f.base for f in roots)))]


def _common_root(over: list[sp.Expr], under: list[sp.Expr]) -> tuple[list[sp.Expr], list[sp.Expr]]:
    """√K/√2 is written √(K/2)."""
    above, below = (next(filter(_is_root, side), None) for side in (over, under))
    if above is None or below is None:
        return over, under
    kept = [f for f in over if f is not above]
    return [*kept, _root_of(above.base / below.base)], [f for f in under if f is not below]


def _lowered_root(coefficient: sp.Expr, factors: list[sp.Expr]) -> tuple[sp.Expr, list[sp.Expr]]:
    """√2/2 is written 1/√2: the coefficient times p, and √p for the denominator, where p divides it."""
    for root in factors:
        base, exponent = root.as_base_exp()
        if exponent == sp.Rational(1, 2) and base.is_Integer and coefficient.is_Rational and coefficient.q % base == 0:
            return coefficient * base, [root]
    return coefficient, []
