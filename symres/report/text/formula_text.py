"""Formulas as one line of text.

sympy's own printers write either two-dimensional art or Python; a page needs ``K/4 + K·asin(K/(1 + K))/(2π)``.
"""

from __future__ import annotations

import unicodedata

import sympy as sp
from sympy.printing.latex import greek_letters_set

from ...activations.activation import Formula, Phi
from ...core.atoms import AverageNode, PowerSumNode
from ...core.symbols import K1, K2, C, K
from ...functions.function_record import record_of
from ...functions.records.gaussian_signs import SPECIAL
from ...functions.roots.root import ImplicitNumber, Value
from ...layers.nodes import Node
from ...notation.long_numbers import decimal_text, is_decimal
from ...notation.shortest import readable
from ...notation.term_order import (
    arranged,
    has_decimals,
    ordered_terms,
)

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
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
        self._decimals = phi is None or has_decimals(phi.expr)
        self._printed: dict[sp.Basic, tuple[str, int]] = {}

    def __call__(self, expr: sp.Basic) -> str:
        """The expression as text."""
        return self._text(readable(expr, self._decimals))

    def symbol(self, name: str) -> str:
        """A symbol's name with its Greek letter and a numeric index lowered."""
        if not self.unicode or name[:1].isdigit():  # a rounded constant is no letter with an index
            return name
        if name in ("a_plus", "a_minus"):
            return {"a_plus": "a₊", "a_minus": "a₋"}[name]
        stem = name.rstrip("0123456789")
        index = name[len(stem) :]
        greek = stem.lower().replace("lambda", "lamda")  # the spelling of the Unicode standard
        if greek in greek_letters_set:
            kind = "SMALL" if stem.islower() else "CAPITAL"
            stem = unicodedata.lookup(f"GREEK {kind} LETTER {greek.upper()}")
        return stem + index.translate(_SUBSCRIPTS) if "_" not in stem else name

    # ---- dispatch ----------------------------------------------------------------------------------------------

    def _text(self, e: sp.Basic) -> str:
        return self._print(e)[0]

    def _print(self, e: sp.Basic) -> tuple[str, int]:
        if e not in self._printed:
            method = next((name for kind, name in _METHODS if isinstance(e, kind)), None)
            self._printed[e] = (str(e), _ATOM) if method is None else getattr(self, method)(e)
        return self._printed[e]

    def _in(self, e: sp.Basic, least: int) -> str:
        """The text of a part, in brackets unless it holds together tightly enough."""
        text, strength = self._print(e)
        return text if strength >= least else f"({text})"

    # ---- leaves ------------------------------------------------------------------------------------------------

    def _symbol(self, e: sp.Symbol) -> tuple[str, int]:
        return self.symbol(e.name), _ATOM

    def _number(self, e: sp.Expr) -> tuple[str, int]:
        if is_decimal(e, self._decimals):
            return decimal_text(e), _SUM if e.is_negative else _ATOM
        return str(e), _ATOM if e.is_Integer and e >= 0 else _SUM if e.is_negative else _PRODUCT

    def _constant(self, e: sp.Expr) -> tuple[str, int]:
        return {sp.pi: "π" if self.unicode else "pi", sp.E: "e", sp.oo: "∞" if self.unicode else "oo"}[e], _ATOM

    def _root(self, e: ImplicitNumber) -> tuple[str, int]:
        return (f"{e.evalf(8)}...", _ATOM) if isinstance(e, Value) else ("K*", _ATOM)

    # ---- algebra -----------------------------------------------------------------------------------------------

    def _add(self, e: sp.Add) -> tuple[str, int]:
        text = ""
        for term in ordered_terms(e.args, self._text):
            shown = self._in(term, _PRODUCT) if isinstance(term, sp.Add) else self._text(term)
            if not text:
                text = shown
            elif shown.startswith("-"):
                text += f" - {shown[1:]}"
            else:
                text += f" + {shown}"
        return text, _SUM

    def _mul(self, e: sp.Expr) -> tuple[str, int]:
        product = arranged(e, self._text)
        sign = "-" if product.negative else ""
        number, divisor = product.digits(self._decimals)
        numerator = self._factors(number, product.over)
        denominator = self._factors(divisor, product.under)
        if denominator == "1":
            return sign + numerator, _SUM if sign else _PRODUCT
        if len(product.under) + (divisor != "1") > 1:
            denominator = f"({denominator})"
        return f"{sign}{numerator}/{denominator}", _SUM if sign else _PRODUCT

    def _factors(self, number: str, factors: tuple[sp.Expr, ...]) -> str:
        """A product; a leading integer stands next to what it multiplies."""
        shown = [self._in(f, _POWER) for f in factors]
        if not self.unicode:
            shown = [*(f"({t})" if t.endswith("*") else t for t in shown[:-1]), *shown[-1:]]  # K**x would be a power
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
            return self._mul(e)
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
        record = record_of(e)
        name = record.names[0] if record is not None and record.names else type(e).__name__
        if type(e) in SPECIAL:
            name = self.symbol(name)
        if isinstance(e, sp.gamma):  # not the weight of the skip connection
            name = self.symbol("Gamma")
        return f"{name}({', '.join(map(self, arguments))})", _ATOM

    def _abs(self, e: sp.Abs) -> tuple[str, int]:
        return f"|{self(e.args[0])}|", _ATOM

    def _piecewise(self, e: sp.Piecewise) -> tuple[str, int]:
        """Nested where(); the last branch is for the rest: the formula of an activation has a value everywhere."""
        *branches, (last, _) = e.args
        text = self(last)
        for value, condition in reversed(branches):
            text = self._choice(condition, self(value), text)
        return text, _ATOM

    def _choice(self, condition: sp.Basic, then: str, otherwise: str) -> str:
        """The first text where a condition holds, else the second; only comparisons are left."""
        if isinstance(condition, sp.Or):
            for part in reversed(sorted(condition.args, key=str)):
                otherwise = self._choice(part, then, otherwise)
            return otherwise
        if isinstance(condition, sp.And):
            for part in reversed(sorted(condition.args, key=str)):
                then = self._choice(part, then, otherwise)
            return then
        if isinstance(condition, sp.Not):
            return self._choice(condition.args[0], otherwise, then)
        return f"where({self._condition(condition)}, {then}, {otherwise})"

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

    def _expectation(self, e: AverageNode) -> tuple[str, int]:
        """``⟨φ(z)²⟩``; the law is written as an index unless it is that of the stream."""
        integrand = e.printed_integrand
        text = f"⟨{self(integrand)}⟩" if self.unicode else f"<{self(integrand)}>"
        if e.covariance in ((K,), (K1, C, K2)):
            return text, _ATOM
        law = ",".join(map(self, e.covariance))
        return f"{text}_{law if law.removesuffix('*').isalnum() else f'{{{law}}}'}", _ATOM

    def _power_sum(self, e: PowerSumNode) -> tuple[str, int]:
        """``Σ(r² + asin(r), r = γ, γ², γ³, ...)``."""
        term, variable, powers = e.shown
        places = ", ".join(map(self, powers))
        return f"{'Σ' if self.unicode else 'sum'}({self(term)}, {self(variable)} = {places}, ...)", _ATOM


class Typed(Maths):
    """Prints a formula as it can be typed again: ASCII, with all digits of every number."""

    def __init__(self) -> None:
        super().__init__(unicode=False)

    def __call__(self, expr: sp.Basic) -> str:
        """The expression as text that the formula parser reads."""
        return self._text(sp.sympify(expr))

    def _constant(self, e: sp.Expr) -> tuple[str, int]:
        return ("exp(1)", _ATOM) if e == sp.E else super()._constant(e)


_METHODS: tuple[
    tuple[type | tuple[type, ...], str], ...
] = (  # the first kind that fits; a subclass may print it otherwise
    (ImplicitNumber, "_root"),
    (AverageNode, "_expectation"),
    (PowerSumNode, "_power_sum"),
    (Phi, "_phi"),
    (Formula, "_formula"),
    (Node, "_node"),
    (sp.Symbol, "_symbol"),
    ((sp.Rational, sp.Float), "_number"),
    ((type(sp.pi), type(sp.E), type(sp.oo)), "_constant"),
    (sp.Add, "_add"),
    (sp.Mul, "_mul"),
    (sp.exp, "_exp"),
    (sp.Pow, "_pow"),
    (sp.Abs, "_abs"),
    (sp.Piecewise, "_piecewise"),
    ((sp.Function, sp.Max, sp.Min), "_function"),
)
