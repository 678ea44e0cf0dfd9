"""Sentences of the program: the formulas in them, and LaTeX in which these and names of quantities are mathematics."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress

import mpmath as mp
import sympy as sp

from ...core.errors import DeclarationError
from ...core.scalars import number
from ...core.symbols import SHARED
from ...core.words import Obstruction, obstruction
from ...functions.function_record import RECORDS
from ...theory.observables.registry import functions
from .displays import escape, latex

PDLT = "D. A. Roberts, S. Yaida, B. Hanin, The Principles of Deep Learning Theory, arXiv:2106.10165"

COLUMNS = 96  # of verbatim text
_GREEK = "alpha", "beta", "gamma", "phi", "xi", "rho"
_SIGNS = {"dK'/dK": r"\mathrm{d}K'/\mathrm{d}K", "C_W": "C_W", "S_in": "S_{in}", "C_b": "C_b", "K1": "K_1", "K2": "K_2"}
_SIGNS |= {"K*": "K^*", "K'": "K'", "C'": "C'", "phi'": r"\phi'", "phi''": r"\phi''"}
_SIGNS |= {greek: rf"\{greek}" for greek in _GREEK} | {letter: letter for letter in "KChz"}
_SIGNS |= {name: record.notation for name, record in functions().items()}
_WORD = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
_CALL = r"(?P<name>[a-z]\w+)\((?P<inside>[\w +*]+)\)"
_MATHS = re.compile(
    r"(?P<before>(?<![\w.])-?\d[\d.]* (?:>=|<=|>|<) )?"
    rf"(?:(?<![\w\\])(?:{_CALL}|(?P<sign>{_WORD})(?![\w(]))|\|(?P<size>{'|'.join(_GREEK)})\|)"
    r"(?P<tail> ?(?:=|>=|<=|>|<) ?[-+]?(?:\d[\d.]*(?:e-?\d+)?(?:/\d+)?|K\*|K)(?![\w*]))?"
)
_POWER = re.compile(r"(?<![\w.])(\d[\d.]*)e([-+]?\d+)(?!\w)")
_TYPED = re.compile(r"(--[a-z]+ \w+=\.\.\.)")  # what a user is to type
_RELATIONS = {">=": r"\ge", "<=": r"\le"}
_SIDES = re.compile(r"(>=|<=)")
_FUNCTIONS = {"sqrt": sp.sqrt} | {kind.__name__: kind for kind in RECORDS}
_OPERATORS = {ast.Add: sp.Add, ast.Mult: sp.Mul, ast.Pow: sp.Pow}
_SUBJECT = re.compile(r"(?:^|(?<=; ))[^;]+?(?= is not an? )")
_EQUATION = re.compile(r"(?<!\w)(?:C_W|C_b|chi_parallel|chi_perp) = ")
_END = re.compile(r", | with |; |$")


def segments(sentence: str) -> Iterator[str | sp.Expr]:
    """A sentence as words and formulas: ``C_W = <formula> with ...``, ``<formula> is not a polynomial``.

    Formulas are read back from the program's own text without evaluation: only names, numbers, operators and known
    functions. Unknown symbols are positive ones.
    """
    start = 0
    places = [match.span() for match in _SUBJECT.finditer(sentence)]  # before "is not a"
    for match in _EQUATION.finditer(sentence):  # and behind the sign of an equation
        places += [(match.end(), end.start()) for end in _END.finditer(sentence, match.end())]
    for first, last in sorted(places):
        formula = None
        if first >= start:
            with suppress(SyntaxError, ValueError, KeyError):
                formula = _expression(ast.parse(sentence[first:last], mode="eval").body)
        if formula is not None and not formula.is_Atom:
            yield sentence[start:first]
            yield formula
            start = last
    yield sentence[start:]


def _expression(node: ast.expr) -> sp.Expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return sp.Integer(node.value)
    if isinstance(node, ast.Name):
        constants = {"pi": sp.pi, "E": sp.E, **SHARED}
        return constants.get(node.id) or sp.Symbol(node.id, positive=True)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_expression(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = (_expression(side) for side in (node.left, node.right))
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Div):
            return left / right
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _FUNCTIONS[node.func.id](*(_expression(a) for a in node.args))
    raise ValueError(f"not a formula: {ast.dump(node)}")


def prose(text: str) -> str:
    """A sentence: ``K* = 0``, ``C_W > 0``, ``chi_perp`` and ``tanh(z)`` are set as mathematics, the rest as text."""
    return "".join(_sentence(part) if isinstance(part, str) else f"${latex(part)}$" for part in segments(text))


def _sentence(text: str) -> str:
    before, *rest = _TYPED.split(text, maxsplit=1)
    if rest:
        return _sentence(before) + rf"\texttt{{{escape(rest[0])}}}" + _sentence(rest[1])
    parts, end = [], 0
    for match in _MATHS.finditer(text):
        parts += [_text(text[end : match.start()]), f"${_maths(match)}$"]
        end = match.end()
    return "".join([*parts, _text(text[end:])])


def _text(text: str) -> str:
    """Words and numbers."""
    before, *rest = _POWER.split(text, maxsplit=1)
    words = "".join(f"${_RELATIONS[part]}$" if part in _RELATIONS else escape(part) for part in _SIDES.split(before))
    return words + (f"${_scaled(*rest[:2])}${_text(rest[2])}" if rest else "")


def _scaled(mantissa: str, exponent: str) -> str:
    """A number such as 5e-2 as mathematics."""
    return ("" if mantissa == "1" else rf"{mantissa} \cdot ") + f"10^{{{int(exponent)}}}"


def _maths(found: re.Match[str]) -> str:
    if found["name"]:
        head = rf"\operatorname{{{escape(found['name'])}}}({_names(found['inside'])})"
    else:
        head = _SIGNS[found["sign"]] if found["sign"] else f"|{_SIGNS[found['size']]}|"
    tail = _POWER.sub(lambda number: _scaled(*number.groups()), _related(found["tail"] or ""))
    return _related(found["before"] or "") + head + tail.replace("K*", "K^*")


def _related(text: str) -> str:
    """Plain signs of relations as mathematics writes them."""
    for plain, sign in _RELATIONS.items():
        text = text.replace(plain, f"{sign} ")
    return text


def _names(text: str) -> str:
    return re.sub(r"[A-Za-z]\w*", lambda m: _SIGNS.get(m[0], rf"\mathrm{{{escape(m[0])}}}"), text.replace("*", " "))


def sentence(text: str) -> str:
    """``prose`` with a capital letter, unless it begins with mathematics."""
    shown = prose(text)
    return shown[:1].upper() + shown[1:]


def absent(reason: str) -> str:
    """The word for a quantity without a value: made of something infinite it is undefined, else unknown."""
    return "undefined" if obstruction(reason) is Obstruction.INFINITE else "unknown"


def unclosed(reason: str) -> str:
    """The words before the reason why a quantity is numeric; they claim nothing beyond the families of symres."""
    outside = obstruction(reason) is Obstruction.OUTSIDE
    return "outside the families with closed forms" if outside else "symres has no closed form"


def settings(text: str) -> str:
    """Numbers of symbols, ``K=0.6, C_W=1.3``, as mathematics."""
    shown = []
    for pair in text.split(", "):
        name, equals, value = pair.partition("=")
        shown.append(f"${_names(name.strip())} = {written_number(value.strip())}$" if equals else escape(pair))
    return ", ".join(shown)


def written_number(text: str) -> str:
    """A number as somebody wrote it, ``1e-5`` or ``1/sqrt(2)``, as mathematics."""
    mantissa, e, exponent = text.partition("e")
    if e and exponent.lstrip("+-").isdigit():
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    try:
        return latex(number(text, "a setting")) if "(" in text or "pi" in text else escape(text)
    except DeclarationError:  # no number, but words of a check
        return escape(text)


def scientific(value: float) -> str:
    """A small number rounded up to one digit, as LaTeX."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{float(value):.0e}".split("e")
    return _scaled(mantissa, str(int(exponent)))


def number_text(value: mp.mpf | float, digits: int) -> str:
    """A number as LaTeX; one with a power of ten has fewer digits, for it needs their place."""
    text = mp.nstr(mp.mpf(value), digits)
    if "e" in text:
        text = mp.nstr(mp.mpf(value), max(digits - 3, 4))
    mantissa, e, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0").replace("inf", r"\infty")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if e else mantissa


def verbatim(text: str) -> str:
    """Wrapped lines for a verbatim environment."""
    lines = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        lines += textwrap.wrap(line, COLUMNS, subsequent_indent=" " * (indent + 4), break_on_hyphens=False) or [""]
    return "\n".join(lines)
