"""From the text of a formula to a sympy expression, without ever evaluating text as code.

The grammar, loosest binding first (``^`` and ``**`` mean the same, and bind from the right)::

    comparison: sum [(< | > | <= | >=) sum]            only as the first argument of where()
    sum:        product {(+ | -) product}
    product:    sign {(* | /) sign}
    sign:       {+ | -} power
    power:      atom [(^ | **) sign]
    atom:       number | pi | z | x | parameter | function(comparison, ...) | (sum) | |sum|
"""

from __future__ import annotations

import ast
import difflib
import keyword
import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sympy as sp
from flint import arb, ctx

from ..core.errors import DeclarationError
from ..core.symbols import greek, z
from ..core.words import abbreviated
from ..functions.companions import Function, raised
from ..functions.function_record import RECORDS
from ..functions.ranges import BITS, RangeProgram
from ..numerics.interval_arithmetic import Undefined
from .foreign_names import WHERE_REMEDY, foreign_remedy
from .validation import MAX_POWER, is_evaluated, power_bound

MAX_LENGTH = 1000  # characters of a formula
MAX_DEPTH = 40  # nested brackets, signs and powers
_ALIKE = 0.7  # similarity of names of which one may be meant: gelu and gleu have 0.75, softmax and max 0.6
_MAX_BITS = 2000  # of a number
VARIABLE = frozenset({"z", "x"})  # names of the preactivation
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
NAME = re.compile(rf"(?<![\w.]){_NAME.pattern}", re.ASCII)  # in running text; not the exponent of 1e5
_OPERATOR = re.compile(r"\*\*|<=|>=|[-+*/^(),<>|]")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_LIST, _NUMERALS = re.compile(r"\[[\d\s.,/\[\]]*\]"), re.compile(r"[\d./]+")  # of numbers, or of lists
_SETTING = re.compile(r"\s*=(?!=)\s*")  # behind the name of an argument
_TRUTH = {"True": True, "False": False}  # values of arguments with a name
_BLANK = re.compile(r"[ \t\r\n]+")


@dataclass(frozen=True)
class _Comparison:
    """``left sign right``, the first argument of where()."""

    left: sp.Expr
    sign: str
    right: sp.Expr


def _where(condition: _Comparison, then: sp.Expr, otherwise: sp.Expr) -> sp.Expr:
    """``where(condition, then, otherwise)``; chains of it are one Piecewise."""
    if not (condition.left - condition.right).has(sp.Piecewise):
        branches = otherwise.args if isinstance(otherwise, sp.Piecewise) else ((otherwise, True),)
        return sp.Piecewise((then, _RELATIONS[condition.sign](condition.left, condition.right)), *branches)
    # sympy would multiply out every combination of branches: exponential in their number
    difference = condition.left - condition.right
    chosen = sp.Heaviside(difference if condition.sign in (">", ">=") else -difference)
    return chosen * then + (1 - chosen) * otherwise


class _ParsedFunctions(Mapping[str, tuple[Function, int, int]]):
    """The functions of the grammar by name, those registered later included: a builder, least and most arguments."""

    _formulas: Mapping[str, tuple[Function, int, int]] = MappingProxyType(
        {
            "sqrt": (sp.sqrt, 1, 1),
            "Phi": (lambda u: (1 + sp.erf(u / sp.sqrt(2))) / 2, 1, 1),
            # 1 + erf(-u) is the same where mpmath has no value: it squares the size of u as a float
            "erfc": (lambda u: 1 + sp.erf(-u) if u.is_number and u < -(10**100) else sp.erfc(u), 1, 1),
            "where": (_where, 3, 3),
            "max": (sp.Max, 2, 20),
            "min": (sp.Min, 2, 20),
            "clip": (lambda u, low, high: sp.Min(sp.Max(u, low), high), 3, 3),
        }
    )

    def __getitem__(self, name: str) -> tuple[Function, int, int]:
        record = next((record for record in RECORDS.values() if name in record.names), None)
        if name in self._formulas or record is None:
            return self._formulas[name]
        return (record.is_abbreviation and record.definition) or record.kind, 1, 1

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({name for record in RECORDS.values() for name in record.names} | self._formulas.keys()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


PARSED_FUNCTIONS = _ParsedFunctions()
_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_RELATIONS = {"<": sp.Lt, ">": sp.Gt, "<=": sp.Le, ">=": sp.Ge}
# characters of other notations: the remedy
_FOREIGN_CHARACTERS = {"{": WHERE_REMEDY, ".": "write functions without the name of a module: tanh(z), not np.tanh(z)"}
_FOREIGN_CHARACTERS |= {"\u221a": "write sqrt(...)", "\u2212": "write -"}
_FOREIGN_CHARACTERS |= {sign: "write *" for sign in "\u00b7\u00d7\u22c5"} | {"\u2264": "write <=", "\u2265": "write >="}


def parse(
    text: str,
    functions: Mapping[str, Function] = MappingProxyType({}),
    parameters: Mapping[str, sp.Expr] = MappingProxyType({}),
) -> sp.Expr:
    """Read a formula in ``z`` (or ``x``, which means the same).

    Args:
        text: the formula, for instance ``"z*tanh(log(1 + exp(z)))"``. Decimals are taken exactly.
        functions: further functions of one or more arguments by name, besides those of this module or in their place.
        parameters: the declared parameters by name; a number stands for its name.

    Returns:
        The expression; ``z`` is ``symbols.z``.

    Raises:
        DeclarationError: one line that says what is wrong and at which place.
    """
    if not isinstance(text, str):
        raise DeclarationError(f"the formula {text!r}", "it is not text", "write a formula such as 'z*tanh(z)'")
    if not text.strip():
        raise DeclarationError("the formula ''", "it is empty", "write a formula in z such as 'z*tanh(z)'")
    if len(text) > MAX_LENGTH:
        found = f"it has {len(text)} characters"
        raise DeclarationError(f"the formula {text[:20]!r}...", found, f"use at most {MAX_LENGTH}")
    return _Parser(text, functions, parameters).formula()


def nearest(name: str, names: list[str]) -> str:
    """A remedy that names what the user may have meant."""
    if not 3 <= len(name) <= 40:
        return ""
    lower = {k.lower(): k for k in names}
    if name.lower() in lower:
        return f"did you mean {lower[name.lower()]}?"
    close = difflib.get_close_matches(name, names, n=3, cutoff=_ALIKE)
    close += [lower[c] for c in difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=_ALIKE)]
    return f"did you mean {' or '.join(dict.fromkeys(close))}?" if close else ""


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "operator", "string" or "end"
    text: str
    start: int


class _Parser:
    def __init__(self, text: str, functions: Mapping[str, Function], parameters: Mapping[str, sp.Expr]) -> None:
        self.text = text
        self.functions = functions
        self.parameters = parameters
        self.depth = 0
        self.token = self._read(0)

    # ---- tokens ------------------------------------------------------------------------------------------------
    def _read(self, start: int) -> _Token:
        if blank := _BLANK.match(self.text, start):
            start = blank.end()
        if start == len(self.text):
            return _Token("end", "", start)
        for kind, pattern in (("number", _NUMBER), ("name", _NAME), ("operator", _OPERATOR), ("string", _STRING)):
            if match := pattern.match(self.text, start):
                return _Token(kind, match.group(), start)
        character = self.text[start]
        shown = repr(character)
        if not character.isascii():
            shown += f" (U+{ord(character):04X} {unicodedata.name(character, 'unnamed')})"
        raise self.error(_Token("character", character, start), f"unexpected character {shown}", _remedy_for(character))

    def _next(self) -> _Token:
        token = self.token
        self.token = self._read(token.start + len(token.text))
        return token

    def _take(self, *operators: str) -> _Token | None:
        if self.token.kind == "operator" and self.token.text in operators:
            return self._next()
        return None

    @property
    def _nodes(self) -> list[str]:
        """The nodes that the formula may name, such as Dense: it is a layer's equation if there are any."""
        return [word for word in self.functions if word[:1].isupper() and word not in PARSED_FUNCTIONS]

    def error(self, token: _Token, found: str, remedy: str) -> DeclarationError:
        """The error with its place: the column, and the text around it with the piece in >> <<."""
        end = token.start + len(token.text)
        before, after = self.text[max(0, token.start - 20) : token.start], self.text[end : end + 20]
        before = ("..." if token.start > 20 else "") + before
        after += "..." if end + 20 < len(self.text) else ""
        quoted = " ".join(f"{before}>>{token.text[:40]}<<{after}".split())
        shown = repr(quoted)[1:-1].replace("\\'", "'")
        return DeclarationError("the formula", f"{found} at column {token.start + 1}: {shown}", remedy)

    # ---- grammar -----------------------------------------------------------------------------------------------
    def formula(self) -> sp.Expr:
        value = self._sum()
        if self.token.kind != "end":
            raise self._unexpected()
        return value

    def _comparison(self) -> sp.Expr | _Comparison:
        left = self._sum()
        sign = self._take(*_RELATIONS)
        if sign is None:
            return left
        right = self._sum()
        if self.token.text in _RELATIONS:
            raise self.error(self.token, "a second comparison", "compare twice: where(a < z, where(z < b, ...), ...)")
        return _Comparison(left, sign.text, right)

    def _sum(self) -> sp.Expr:
        self._descend()
        total = self._chain(self._product, "+", "-")
        self.depth -= 1
        return total

    def _product(self) -> sp.Expr:
        return self._chain(self._sign, "*", "/")

    def _chain(self, operand: Callable[[], sp.Expr], *operators: str) -> sp.Expr:
        """Operands joined from the left by operators of one level."""
        total = operand()
        while token := self._take(*operators):
            right = operand()
            if token.text == "/" and right == 0:
                raise self.error(token, "division by zero", "give a formula that is finite for every real z")
            total = self._checked(token, _OPERATIONS[token.text](total, right))
        return total

    def _sign(self) -> sp.Expr:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign.text == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> sp.Expr:
        base = self._atom()
        caret = self._take("^", "**")
        if caret is None:
            return base
        self._descend()
        exponent = self._sign()
        self.depth -= 1
        if exponent.is_Rational and not base.is_number:
            power = power_bound(base) * abs(exponent)
            if power > MAX_POWER:
                raise self.error(caret, f"a power of {abbreviated(power, 30)}", f"powers go up to {MAX_POWER}")
        elif exponent.is_number and base.is_number:
            self._check_size(caret, base, exponent)
        return self._checked(caret, raised(base, exponent, self.functions))

    def _atom(self) -> sp.Expr:
        token = self.token
        if token.kind == "number":
            token = self._next()
            mantissa, _, exponent = token.text.lower().partition("e")
            if len(mantissa) > 100 or len(exponent) > 5 or abs(int(exponent or 0)) > 300:
                raise self.error(token, "a number too large, too small or too long", "use 1e-300 to 1e300, 100 digits")
            return sp.Rational(token.text)
        if token.kind == "name":
            return self._name(self._next())
        if self._take("(", "|"):
            value = self._sum()
            self._close(token, ")" if token.text == "(" else "|")
            return value if token.text == "(" else self._checked(token, sp.Abs(value))
        raise self._unexpected()

    def _close(self, opening: _Token, closing: str) -> None:
        if self._take(closing) is None:
            if self.token.kind == "end":
                raise self.error(opening, f"{opening.text!r} is never closed", f"add the missing {closing!r}")
            raise self._unexpected()

    def _name(self, token: _Token) -> sp.Expr:
        """What a name stands for: a parameter, the variable, pi, or the function that is called by it."""
        name = token.text
        if self.token.text == "(" and name not in (*VARIABLE, "pi") and name not in self.parameters:
            return self._call(token)
        if self.token.text == "(":
            raise self.error(token, f"{name} is not a function", f"write {name}*(...)")
        if name in self.parameters:
            return self.parameters[name]
        if name in VARIABLE:
            return z
        if name == "pi":
            return sp.pi
        if name in PARSED_FUNCTIONS or name in self.functions:
            raise self.error(token, f"the function {name} has no argument", f"write {name}(z)")
        if name == "e":
            raise self.error(token, "unknown name 'e'", "write exp(1) or exp(...)")
        names = ["z", "pi", *self.parameters, *PARSED_FUNCTIONS, *self.functions]
        short = abbreviated(name, 30)
        argument = f'**{{"{short}": ...}}' if keyword.iskeyword(name) else f"{short}=..."
        declaring = "layer" if self._nodes else "activation"
        remedy = nearest(name, names) or (
            f"use z for the preactivation; give a parameter a number with --set {short}=... "
            f'(in Python: sr.{declaring}("...", {argument})); derive and export keep it as a symbol with '
            f"--positive {short} (in Python: {short}=sympy.Symbol('{short}', positive=True))"
        )
        raise self.error(token, f"unknown name '{abbreviated(name, 30)}'", remedy)

    def _call(self, token: _Token) -> sp.Expr:
        """A function of the grammar, of the caller, or a node, with its arguments in brackets."""
        name = token.text
        if name in self.functions:
            function, least, greatest = self.functions[name], 1, 20
        elif name in PARSED_FUNCTIONS:
            function, least, greatest = PARSED_FUNCTIONS[name]
        else:
            names = [*PARSED_FUNCTIONS, *self.functions]
            is_slip = name.lower() in map(str.lower, self._nodes)  # layernorm for LayerNorm
            remedy = ("" if is_slip else foreign_remedy(name)) or nearest(name, names)
            remedy = remedy or f"use {', '.join([*PARSED_FUNCTIONS, *self._nodes])} or the name of an activation"
            raise self.error(token, f"unknown function '{abbreviated(name, 30)}'", remedy)
        opening, named = self._next(), dict[str, Any]()
        arguments = [self._comparison()]
        while self._take(","):
            if setting := self._setting(function):
                named[setting[0]] = setting[1]
            elif self.token.kind == "string" and hasattr(function, "settings"):
                arguments.append(self._next().text[1:-1])
            else:
                arguments.append(self._comparison())
        self._close(opening, ")")
        if not least <= len(arguments) <= greatest:
            wanted = str(least) if least == greatest else f"{least} to {greatest}"
            found = f"{name} takes {wanted} argument{'s' * (greatest > 1)}, not {len(arguments)}"
            example = f"write {name}({', '.join(('z', '0')[:least])})"
            raise self.error(token, found, WHERE_REMEDY if name == "where" else example)
        for k, argument in enumerate(arguments):
            is_condition = isinstance(argument, _Comparison)
            if is_condition != (name == "where" and k == 0):
                raise self.error(
                    token,
                    "a condition is missing" if name == "where" and k == 0 else "a comparison outside where",
                    "write where(condition, then, otherwise), for instance where(z > 0, z, 0)",
                )
        first = arguments[0]
        if function in (sp.exp, sp.sinh, sp.cosh) and isinstance(first, sp.Expr) and first.is_number:
            self._check_size(token, sp.E, first)
        try:
            value = function(*arguments, **named)
        except (TypeError, ValueError):  # sympy's refusal to compare what may be complex
            raise self.error(
                token, "a comparison of values that are not real", "give a formula that is real for every real z"
            ) from None
        return self._checked(token, value)

    def _setting(self, function: Function) -> tuple[str, Any] | None:
        """An argument with its name, if one comes next: a sum, text, a list, True or False; or a word that is one."""
        name = self.token
        if (setting := getattr(function, "words", {}).get(name.text)) and name.text not in self.parameters:
            self._next()
            return setting, name.text
        settings, sign = getattr(function, "settings", ()), _SETTING.match(self.text, name.start + len(name.text))
        if sign is None or name.kind != "name" or not settings:
            return None
        if name.text not in settings:
            remedy = getattr(function, "elsewhere", {}).get(name.text) or f"its arguments are u, {', '.join(settings)}"
            raise self.error(name, f"an argument '{abbreviated(name.text, 30)}' that the node does not have", remedy)
        if rows := _LIST.match(self.text, sign.end()):
            self.token = self._read(rows.end())
            try:
                return name.text, ast.literal_eval(_NUMERALS.sub(r"'\g<0>'", rows.group()))
            except SyntaxError:
                raise self.error(
                    name, f"{rows.group()} cannot be read as a list of numbers", "write [1, 2, 1]"
                ) from None
        if string := _STRING.match(self.text, sign.end()):
            self.token = self._read(string.end())
            return name.text, string.group()[1:-1]
        self.token = self._read(sign.end())
        if self.token.text in _TRUTH:
            return name.text, _TRUTH[self._next().text]
        return name.text, self._sum()

    # ---- limits of sizes and values ---------------------------------------------------------------------------
    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(self.token, f"more than {MAX_DEPTH} nested brackets", "write a simpler formula")

    def _unexpected(self) -> DeclarationError:
        token = self.token
        if token.kind == "end":
            return self.error(token, "the formula ends where a value is expected", "write what is missing")
        if token.kind == "operator":
            if token.text in _RELATIONS:
                return self.error(token, "a comparison outside where", "comparisons belong in where(z > 0, ..., ...)")
            return self.error(token, f"unexpected '{token.text}'", "check brackets and operators")
        remedy = foreign_remedy(token.text) or "put an operator such as * before it"
        shown = repr(abbreviated(token.text, 30))[1:-1]  # a text in quotes may contain what does not print
        return self.error(token, f"unexpected '{shown}'", remedy)

    def _check_size(self, token: _Token, base: sp.Expr, exponent: sp.Expr) -> None:
        """Refuse powers of numbers that would take astronomically many digits."""
        if base.is_Rational:
            bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        else:
            bits = 1 + int(abs(sp.N(sp.log(abs(base)), 15)))
        if abs(sp.N(exponent, 15)) * bits > _MAX_BITS:
            raise self.error(token, "a number too large or too small", f"numbers may take up to {_MAX_BITS} bits")

    def _checked(self, token: _Token, value: sp.Expr) -> sp.Expr:
        """Refuse values that are not finite and real, or of astronomical size."""
        if value.has(sp.nan, sp.zoo, sp.oo, sp.S.NegativeInfinity):
            raise self.error(token, "a value that is not finite", "give a formula that is finite for every real z")
        if value.has(sp.I):
            raise self.error(token, "a value that is not real", "give a formula that is real for every real z")
        if value.is_number and not value.is_Rational:
            try:
                with ctx.workprec(BITS):
                    size = RangeProgram(value, {})()
            except Undefined:
                raise self.error(
                    token, "a constant that is not finite and real, or not shown to be", "simplify it"
                ) from None
            largest = arb(10) ** 300
            is_tiny = size.excludes_zero and size.lo > -1 / largest and size.hi < 1 / largest
            if is_tiny or not (size.lo > -largest and size.hi < largest):
                raise self.error(token, "a constant that is too large or too small", "use numbers from 1e-300 to 1e300")
            if not is_evaluated(value):
                raise self.error(token, "a function of too large a number to be computed", "write its value")
        elif power_bound(value) > MAX_POWER:
            raise self.error(token, f"a power of {abbreviated(power_bound(value), 30)}", f"powers go up to {MAX_POWER}")
        return value


def _remedy_for(character: str) -> str:
    """What to type in the place of a character that formulas do not have."""
    plain = unicodedata.normalize("NFKC", character)
    if letter := greek(plain):
        return f"write {letter}"
    if plain != character and plain.isascii() and plain.isprintable():
        return f"write {'^' * unicodedata.decomposition(character).startswith('<super>')}{plain}"
    return _FOREIGN_CHARACTERS.get(character, "write formulas with ASCII letters, digits and + - * / ^ ( ) , < > |")
