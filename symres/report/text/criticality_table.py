"""``symres list criticality``: where deep networks of several activations and layers are critical, in one table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from ...core.symbols import C_W, K, S_in
from ...functions.roots.root import ImplicitNumber
from ...gaussian.calculus.expectation import Expectation
from ...notation.decimals import plain_number
from ...notation.shortest import tidy_factors
from ...studies import criticality_summary as summary
from .console import Line, Span, line
from .formula_text import Maths, wrap
from .sheet import INDENT, Sheet

if TYPE_CHECKING:
    from ...studies.survey import Surveyed

_DIGITS = 12
_LONG = 60  # characters of a formula
_LABEL = 14
_GAMMAS = (0.0, 0.5, 0.9)
_LEGEND = (
    "Critical is where K' = K and chi_perp = 1, at a point also chi_parallel = 1. K - K* ~ a l^-p and J ~ l^-q in "
    "layer l; the correlation length is 1/|log chi_perp| at C_W = 1.3, C_b = 0.1, gamma = 1/2 for an "
    "input of kernel 1. At a critical point V/K^2, V being the four-point vertex, grows by nu per layer in deep "
    "networks. What is written as a formula is exact; decimals are right to 12 digits, those of nu to 6."
)


@dataclass(frozen=True)
class SurveyEntry:
    """One activation in one layer.

    Args:
        activation: its name.
        layer: the name of the layer.
        universality_class: of it.
        where: the critical point or line, or why there is none.
        exponents: of kernel and Jacobian, or why there are none.
        correlation_length: at the setting of the legend.
        critical_points: each with its stability and K, C_W, C_b as numbers, those of gamma = 0 where gamma is free.
        nu: the growth of V/K^2 for each layer by gamma, as text; of a layer without gamma at "0". Empty without a
            critical point.
    """

    activation: str
    layer: str
    universality_class: str
    where: tuple[str, ...]
    exponents: str
    correlation_length: str
    critical_points: tuple[dict[str, float | str | None], ...]
    nu: dict[str, float]


def entry(found: Surveyed, unicode: bool = False) -> SurveyEntry:
    """One row."""
    maths, phase = Maths(unicode, *found.formulas), found.phase
    length = f"unknown: {found.no_phase}"
    if phase is not None:
        finite = f"{phase.correlation_length:.{_DIGITS}g}"
        length = f"{'infinite' if math.isinf(phase.correlation_length) else finite} ({phase.name})"
    return SurveyEntry(
        found.activation,
        found.layer,
        found.universality_class,
        _where(found, maths),
        _exponents(found, maths),
        length,
        tuple(
            {"stability": p.stability, **{name: plain_number(getattr(p, name)) for name in ("K", "C_W", "C_b")}}
            for p in found.critical_points
        ),
        {} if found.growth is None else {f"{row.gamma or 0:g}": row.nu for row in found.growth.at(*_GAMMAS)},
    )


def _where(found: Surveyed, maths: Maths) -> tuple[str, ...]:
    shown = []
    for p in found.critical_points:
        on_line = {K: summary.STAR} if p.along == K else {}  # each K* has a C_W of its own
        values = {"K*": p.K, "C_W": p.C_W.xreplace(on_line), "C_b": p.C_b.xreplace(on_line)}
        values_shown = [f"{name} = {'any' if v in (K, p.along) else _value(v, maths)}" for name, v in values.items()]
        shown.append(f"{p.stability}: {', '.join(values_shown)}")
    explicit = found.line
    if explicit is not None:
        is_negative = (explicit / C_W).is_number and sp.N(explicit / C_W) < 0
        parts = summary.weights(found.line_weights)
        where = " for " * bool(parts) + " ".join(p if isinstance(p, str) else _value(p, maths) for p in parts)
        shown.append(f"{'no line with C_b >= 0' if is_negative else 'line'}: C_b = {_value(explicit, maths)}{where}")
    elif found.line_averages is not None:
        weight, bias = (maths(e) for e in summary.along(found.line_averages))
        shown.append(f"line along K*: C_W = {weight}, C_b = {bias}")
    return tuple(shown) or ("no critical point and no line",)


def _value(value: sp.Expr, maths: Maths) -> str:
    """A value as a formula if that is short, else with decimals for its numbers."""
    text = maths(value)
    is_line = value.has(summary.STAR, C_W, S_in)  # decimals do not make a function any clearer
    if not value.has(ImplicitNumber, Expectation) and len(text) <= _LONG * (1 + is_line):
        return text
    number, rest = sp.factor(value).as_independent(*value.free_symbols, as_Add=False)
    sign, rest = tidy_factors(rest).as_coeff_Mul()
    number *= sign
    if rest.is_Add and sp.N(number) < 0:
        number, rest = -number, -rest
    if rest.has(ImplicitNumber, Expectation):
        return str(sp.N(value, _DIGITS)).replace("**", "^")
    factor = f"({maths(rest)})" if rest.is_Add else maths(rest)
    if rest == 1:
        return str(sp.N(number, _DIGITS))
    return str(sp.N(number, _DIGITS)) + (factor[1:] if factor.startswith("1/") else f"*{factor}")


def _exponents(surveyed: Surveyed, maths: Maths) -> str:
    laws = surveyed.exponents
    if laws.kernel is None or laws.amplitude is None:
        return f"none: {laws.remark}"
    amplitude = laws.amplitude.xreplace({K: summary.STAR})
    kernel = f"p = {_value(laws.kernel, maths)}, a = {_value(amplitude, maths)}"
    if laws.stretch is not None:
        rate = _value(laws.stretch.rate, maths)
        return f"{kernel}; log J ~ {rate} l^{_value(laws.stretch.power, maths)}"
    jacobian = laws.jacobian
    return f"{kernel}; {laws.remark}" if jacobian is None else f"{kernel}, q = {_value(jacobian, maths)}"


class Survey(Sheet):
    """Lays the table out."""

    def __init__(self, width: int, unicode: bool) -> None:
        super().__init__(width, Maths(unicode))

    def legend(self) -> list[Line]:
        """The title and what the words mean."""
        return [*self.rule("Criticality"), *self.wrapped(self.words(_LEGEND), "dim")]

    def lines(self, row: SurveyEntry, first: bool) -> list[Line]:
        """One row; the first of an activation has its name above."""
        shown = [line(""), line(Span(row.activation, "bold"))] if first else []
        shown.append(
            line(" " * INDENT, Span(row.layer.ljust(_LABEL), "bold"), Span(row.universality_class, "bold green"))
        )
        for text in row.where:
            for part in wrap(text, self.width - INDENT - _LABEL):
                shown.append(line(" " * (INDENT + _LABEL), part))
        notes = [f"exponents: {row.exponents}", f"correlation length: {row.correlation_length}"]
        if row.nu:
            values = ", ".join(f"{value:.6g} at gamma = {place}" for place, value in row.nu.items())
            notes.append(f"nu: {values}")
        for text in notes:
            shown += self.wrapped(self.words(text), "", INDENT + _LABEL)
        return shown


def record(row: SurveyEntry) -> dict[str, object]:
    """One row as strings, numbers and lists."""
    return {**vars(row), "where": list(row.where), "critical_points": list(row.critical_points)}
