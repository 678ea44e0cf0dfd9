"""Formulas as one line of text, and how a long one is broken into lines.

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
from ...functions.records.special_function import SpecialFunction
from ...functions.roots.root import ImplicitNumber, Value
from ...layers.nodes import Node
from ...notation.long_numbers import decimal_text, is_decimal
from ...notation.shortest import readable
from ...notation.term_order import arranged, has_decimals, ordered_terms

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a text holds together
_OPENING, _CLOSING = "([{⟨", ")]}⟩"
_LEAST = 12  # narrower columns are not worth an indentation


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
            text, strength = self._print(base)
            bare = strength == _ATOM and not text.startswith("√")
            return (f"sqrt({text})" if not self.unicode else f"√{text}" if bare else f"√({text})"), _ATOM
        if exponent.is_Rational and exponent.is_negative:
            return self._mul(e)
        held = self._in(base, _ATOM)
        if exponent.is_Integer and self.unicode:
            return held + str(exponent).translate(_SUPERSCRIPTS), _POWER
        return f"{held}^{self._in(exponent, _ATOM)}", _POWER

    # ---- functions ---------------------------------------------------------------------------------------------

    def _function(self, e: sp.Function) -> tuple[str, int]:
        if isinstance(e, sp.Abs):
            return f"|{self(e.args[0])}|", _ATOM
        arguments = e.args[:1] if isinstance(e, sp.Heaviside) else e.args
        record = record_of(e)
        name = record.names[0] if record is not None and record.names else type(e).__name__
        if isinstance(e, SpecialFunction):
            name, arguments = e.written
            name = self.symbol(name)
        if isinstance(e, sp.gamma):  # not the weight of the skip connection
            name = self.symbol("Gamma")
        return f"{name}({', '.join(map(self, arguments))})", _ATOM

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
        shown = str(condition)
        if isinstance(condition, sp.core.relational.Relational):
            sign = condition.rel_op
            sign = {">=": "≥", "<=": "≤"}.get(sign, sign) if self.unicode else sign
            shown = f"{self(condition.lhs)} {sign} {self(condition.rhs)}"
        return f"where({shown}, {then}, {otherwise})"

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
        settings = shown[len(head) :]
        for symbol in sorted((s.name for s in e.free_symbols), key=len, reverse=True):
            settings = settings.replace(f"={symbol}", f"={self.symbol(symbol)}")
        return f"{type(e).__name__}({self(e.args[0])}{settings}", _ATOM

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
    (sp.exp, "_function"),
    (sp.Pow, "_pow"),
    (sp.Piecewise, "_piecewise"),
    ((sp.Function, sp.Max, sp.Min), "_function"),
)


# ---- lines ---------------------------------------------------------------------------------------------------------


def wrap(text: str, width: int) -> list[str]:
    """Break a formula into lines of at most ``width``, at the operators that bind least.

    Later lines begin with their operator. Nothing but white space is added or removed.
    """
    if len(text) <= width:
        return [text]
    if width < _LEAST:
        return _cut(text, width)
    for operators, joint in (((" + ", " - "), " "), ((", ", "; "), " "), (("·", "*", "/"), "")):
        parts = _split(text, operators)
        if len(parts) > 1:
            return _packed(parts, joint, width)
    return _opened(text, width)


def _split(text: str, operators: tuple[str, ...]) -> list[str]:
    """The parts of a text between operators outside brackets; a part begins with its operator (a comma ends it)."""
    parts, depth, start = [], 0, 0
    for k, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and k > start and text.startswith(operators, k) and "**" not in text[k - 1 : k + 2]:
            cut = k + (character in ",;")
            parts.append(text[start:cut].strip())
            start = cut
    return [*parts, text[start:].strip()]


def _packed(parts: list[str], joint: str, width: int) -> list[str]:
    """Fill lines with parts; a part too long for a line is broken in itself."""
    lines: list[str] = []
    for part in parts:
        room = width - len(lines[-1]) - len(joint) if lines else 0
        if lines and len(part) <= room:
            lines[-1] += joint + part
        elif lines and len(part) > width and room > 2 * width // 3:
            first, *rest = _broken(part, room)
            margin = " " * (width - room)
            lines[-1] += joint + first
            lines += [margin + line for line in rest]
        else:
            lines += _broken(part, width)
    return lines


def _broken(part: str, width: int) -> list[str]:
    """One part over several lines, indented behind its operator."""
    operator = part[:2] if part[:2] in ("+ ", "- ") else part[:1] if part[0] in "·*/-" else ""
    first, *rest = wrap(part[len(operator) :], width - len(operator))
    return [operator + first, *(" " * len(operator) + line for line in rest)]


def _opened(text: str, width: int) -> list[str]:
    """Break inside the longest bracket of a text without operators outside brackets."""
    spans, depth, opened = [(0, 0, 0)], 0, 0
    for k, character in enumerate(text):
        if character in _OPENING:
            opened, depth = (k if depth == 0 else opened), depth + 1
        elif character in _CLOSING:
            depth -= 1
            if depth == 0:
                spans.append((k - opened, opened + 1, k))
    length, left, right = max(spans)
    head, tail = text[:left], text[right:]
    room = width - len(head) - len(tail)
    if length == 0 or room < _LEAST:
        return _cut(text, width)
    first, *rest = wrap(text[left:right], room)
    lines = [head + first, *(" " * len(head) + line for line in rest)]
    return [*lines[:-1], lines[-1] + tail]


def _cut(text: str, width: int) -> list[str]:
    """Lines of a text without a better place to break: a power stays whole."""
    lines = []
    while text:
        end = width - (text[width - 1 : width + 1] == "**" and width > 1)
        lines.append(text[:end])
        text = text[end:]
    return lines
