"""Formulas as LaTeX, with the field's names and in the order of the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter, greek_letters_set, tex_greek_dictionary

from ..core.atoms import FormulaAtom
from ..core.symbols import C_W, C_b, ascii_name, gamma, variables, xi, z
from ..functions.function_record import RECORDS
from ..functions.roots.root import ImplicitNumber
from .long_numbers import decimal_text, is_decimal
from .shortest import readable
from .term_order import Product, arranged, has_decimals, is_activation, ordered_terms

_NAMES = {"C_W": "C_W", "C_b": "C_b", "K1": "K_1", "K2": "K_2", "n_L": "n_L", "a_plus": "a_+", "a_minus": "a_-"}
_SETTINGS = {"inv_trig_style": "full", "parenthesize_super": True, "fold_frac_powers": True}
_OF_LAYERS = {C_W, C_b, gamma, xi}
_LONG = 16.0  # width of a numerator whose sums are written behind the fraction
_FLAT = r"(?:[\w .,+=-]|\\(?!left|right|frac|sqrt|begin|\\)[a-zA-Z]+|_\{\w+\}|\^\{\w+\}|\^\*|'|\([^()\\{}]*\))*?"
_SHORT = re.compile(rf"\\left\(({_FLAT}) *\\right\)")  # one letter high
_WORD = re.compile(r"^([A-Za-z]{2,})")  # a name of several letters is no product
_NAMED = re.compile(r"(\\(?:[a-z]*(?:sin|cos|tan|log)h?|operatorname\{\w+\}))\{(\([^(){}]*\))\}")

_TYPED = re.compile(r"[A-Za-z0-9_]+'*|\\([A-Za-z]+)(_\{?\w+\}?)?", re.ASCII)  # a name, or the command of a Greek letter
_ESCAPES = {"\\": r"\textbackslash{}", **{character: rf"\{character}" for character in "{}$&#_%"}}
_ESCAPES |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_ESCAPES |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}

_SILENT = {"left", "right", "Bigl", "Bigr", "bigl", "bigr", "mathrm", "operatorname", "displaystyle", "!", "tfrac"}
# names of functions are set letter by letter; other words, such as Greek letters, are one sign
_FUNCTIONS = {word for record in RECORDS.values() for name in record.names for word in (name, f"arc{name[1:]}")}
_ROOT = 1.5  # of a letter, in front of what stands below a root
_BLOCK = re.compile(r"\\begin\{(\w+)\}((?:(?!\\begin).)*?)\\end\{\1\}", re.DOTALL)
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[{}^_]|\S|\s")


def escape(text: object) -> str:
    """Plain text for LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in str(text))


class Notation(LatexPrinter):
    """A printer of formulas.

    Args:
        heads: what has a name of its own, {expression, or formula of an activation: LaTeX}.
        decimals: whether rationals may be written as decimals; if None, where the formulas of the heads have some.
    """

    def __init__(self, heads: Mapping[Any, str] | None = None, decimals: bool | None = None) -> None:
        super().__init__(dict(_SETTINGS))
        self._heads = dict(heads or {})
        formulas = (head.expr for head in self._heads if isinstance(head, FormulaAtom))
        self._decimals = has_decimals(*formulas) if decimals is None else decimals
        self._inline = False
        self._printed: dict[tuple[Any, bool], str] = {}  # a sum is ordered by its terms' texts, level by level

    def write(self, expr: sp.Expr) -> str:
        """A formula on one line, without dollar signs."""
        # brackets of one line's height are plain: they do not stretch, and stand close to a function's name
        return _NAMED.sub(r"\1\2", _SHORT.sub(r"(\1)", self.doprint(self.readable(expr))))

    def readable(self, expr: sp.Expr) -> sp.Expr:
        """The formula in the form in which it is written."""
        return readable(expr, self._decimals, r"\ldots", r" \cdot 10^{{{}}}")

    # ---- leaves ------------------------------------------------------------------------------------------------

    def _print(self, expr: Any, **settings: Any) -> str:
        if self._heads and isinstance(expr, sp.Basic) and expr in self._heads:
            return self._heads[expr]
        if settings or not isinstance(expr, sp.Basic):
            return str(super()._print(expr, **settings))
        key = expr, self._inline
        if key not in self._printed:
            self._printed[key] = str(super()._print(expr))
        return self._printed[key]

    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        if expr.name[:1].isdigit():  # a rounded constant
            return expr.name
        plain = ascii_name(expr.name)
        if not _is_typeset(plain):
            return rf"\text{{{escape(plain)}}}"
        expr = sp.Symbol(plain)
        text = _NAMES.get(expr.name) or str(super()._print_Symbol(expr, style))
        return _WORD.sub(r"\\mathrm{\1}", text)

    def _print_Rational(self, expr: sp.Rational) -> str:
        if is_decimal(expr, self._decimals):
            return decimal_text(expr)
        return self._print_Mul(expr) if expr.q != 1 else super()._print_Rational(expr)

    _print_Half = _print_Rational

    # ---- algebra -----------------------------------------------------------------------------------------------

    def _print_Add(self, expr: sp.Add, order: Any = None) -> str:
        text = ""
        for term in ordered_terms(expr.args, self._print):
            shown = self._print(term)
            text += shown if not text else f" - {shown[1:].lstrip()}" if shown.startswith("-") else f" + {shown}"
        return text

    def _print_Mul(self, expr: sp.Expr) -> str:
        product = arranged(expr, self._print)
        sign = "-" if product.negative else ""
        number, divisor = (text if text != "1" else "" for text in product.digits(self._decimals))
        under = self._factors(divisor, product.under)
        if not under:
            return sign + (self._factors(number, product.over) or "1")
        above, behind = self._split(product, under)
        top = self._factors(number, above, alone=len(above) == 1 and not number) or "1"
        alone = not divisor and len(product.under) == 1
        bottom = self._factors(divisor, product.under, alone=alone)
        fraction = self._fraction(top, bottom, simple=alone or not product.under)
        return f"{sign}{fraction} {self._factors('', behind)}" if behind else sign + fraction

    def _split(self, product: Product, under: str) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
        """Factors above the line, and those behind a fraction whose numerator would be long."""
        top = self._factors("", product.over)
        if self._inline or ("\\frac" not in top and width(top) <= max(_LONG, 1.5 * width(under))):
            return product.over, ()
        numbers = sp.Symbol | sp.Rational | ImplicitNumber
        simple = tuple(f for f in product.over if isinstance(f.as_base_exp()[0], numbers))
        return simple, tuple(f for f in product.over if f not in simple)

    def _factors(self, number: str, factors: tuple[sp.Expr, ...], alone: bool = False) -> str:
        """A product without its sign."""
        text = number
        for factor in factors:
            sums = isinstance(factor, sp.Add | sp.Piecewise) or (isinstance(factor, sp.Mul) and not alone)
            shown = self._print(factor)
            if sums and not alone:
                shown = rf"\left({shown} \right)"
            digits = text[-1:].isdigit() and (shown[:1].isdigit() or shown.startswith(r"\frac"))
            text = shown if not text else rf"{text} \cdot {shown}" if digits else f"{text} {shown}"
        return text

    def _fraction(self, top: str, bottom: str, simple: bool = True) -> str:
        if not self._inline:
            return rf"\frac{{{top}}}{{{bottom}}}"
        if " + " in top or " - " in top:
            top = rf"\left({top} \right)"
        if not simple or " " in bottom.strip():
            bottom = rf"\left({bottom} \right)"
        return f"{top}/{bottom}"

    def _print_Pow(self, expr: sp.Pow) -> str:
        base, exponent = expr.args
        if exponent.is_Rational and exponent.is_negative:
            return self._print_Mul(expr)
        if not exponent.is_Rational:
            return rf"{self.parenthesize(base, 100)}^{{{self._small(exponent)}}}"
        return str(super()._print_Pow(expr))

    def _print_ExpBase(self, expr: sp.exp, exp: str | None = None) -> str:
        text = rf"e^{{{self._small(expr.args[0])}}}"
        return text if exp is None else rf"\left({text} \right)^{{{exp}}}"

    def _small(self, exponent: sp.Expr) -> str:
        """An exponent: its fractions stay on the line."""
        before, self._inline = self._inline, True
        try:
            return self._print(exponent)
        finally:
            self._inline = before

    # ---- functions ---------------------------------------------------------------------------------------------

    def _print_Heaviside(self, expr: sp.Heaviside, exp: str | None = None) -> str:
        text = rf"\mathbf{{1}}_{{{self._print(expr.args[0])} > 0}}"
        return text if exp is None else rf"\left({text}\right)^{{{exp}}}"

    def _print_sign(self, expr: sp.sign, exp: str | None = None) -> str:
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\operatorname{{sgn}}{power}\left({self._print(expr.args[0])} \right)"


def _is_typeset(name: str) -> bool:
    """Whether the name of a symbol stands for itself in LaTeX: a word, or the command of a Greek letter."""
    match = _TYPED.fullmatch(name)
    return match is not None and (
        match[1] is None or match[1] in greek_letters_set or rf"\{match[1]}" in tex_greek_dictionary.values()
    )


def latex(expr: sp.Expr) -> str:
    """A formula that stands by itself, on one line and without dollar signs.

    In the maps of a layer an activation that was typed as a formula is called phi, as in the layer's equation. In an
    average of its own nothing would say what phi is: there the formula is written out. Decimals stay decimals in a
    formula of the preactivation; the numbers of a result are fractions.
    """
    expr = sp.sympify(expr)
    if not expr.free_symbols & _OF_LAYERS:
        expr = expr.replace(lambda e: is_activation(e) and e.formula.label()[0] is None, lambda e: e.expanded)
    return Notation(decimals=expr.has(z, *variables)).write(expr)


def width(text: str) -> float:
    """An estimate of the printed width of LaTeX mathematics, in widths of a letter."""
    while (block := _BLOCK.search(text)) is not None:  # rows under each other: the widest counts
        widest = max(width(row) for row in block[2].split(r"\\"))
        text = text[: block.start()] + "x" * round(widest + 3) + text[block.end() :]
    tokens = _TOKEN.findall(text)
    total, _ = _measure(tokens, 0, len(tokens))
    return total


def _measure(tokens: list[str], start: int, stop: int) -> tuple[float, int]:
    """Width of tokens up to the brace that closes the group."""
    total, i = 0.0, start
    while i < stop and tokens[i] != "}":
        value, i = _one(tokens, i, stop)
        total += value
    return total, i


def _one(tokens: list[str], i: int, stop: int) -> tuple[float, int]:
    """Width of one token with its arguments."""
    token = tokens[i]
    if token == "{":
        value, end = _measure(tokens, i + 1, stop)
        return value, end + 1
    if token in ("\\frac", "\\dfrac"):
        over, i = _one(tokens, i + 1, stop)
        under, i = _one(tokens, i, stop)
        return max(over, under) + 0.8, i
    if token in "^_":
        if i + 1 >= stop:
            return 0.0, i + 1
        value, i = _one(tokens, i + 1, stop)
        return 0.75 * value, i
    if token.startswith("\\"):
        word = token[1:]
        if word in _SILENT:
            return 0.0, i + 1
        if word in _FUNCTIONS:
            return float(len(word)), i + 1
        return _ROOT if word == "sqrt" else 1.1 if word.isalpha() else 0.3, i + 1
    if token.isspace():
        return 0.0, i + 1
    return {"+": 2.2, "-": 2.2, "=": 2.4, "(": 0.8, ")": 0.8, ",": 0.8, "[": 0.8, "]": 0.8}.get(token, 1.05), i + 1
