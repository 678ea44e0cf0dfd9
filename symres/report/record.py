"""A report as plain data, for programs that read results."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import asdict, replace
from enum import Enum

import mpmath as mp
import sympy as sp

from ..core import files
from ..core.symbols import gamma
from ..notation.decimals import at_zero_gamma, decimal
from ..notation.facts import in_line
from ..results.advice.advice import Advice
from ..results.advice.parts import Path
from ..results.annotated_numbers import GrowthCurve, VertexFormulas
from ..results.critical_point import CriticalPoint, Exponents
from ..results.phases import FixedPoint
from ..results.quantity import Quantity, Status
from ..results.report import Report
from ..results.token_stack import StackOfTokens
from ..results.verdict import CheckReport, Verdict
from ..studies.criticality_summary import expansions
from .latex.displays import latex

FORMAT = 1  # raised when a key changes its meaning
DIGITS = 20
_AGREED, _SIMULATED = 10, 6  # digits of double precision that every machine agrees on
_FLOAT = 17  # digits that tell a float from its neighbours


def record(report: Report) -> dict[str, object]:
    """Everything in a report as strings, numbers, lists and dicts.

    Returns:
        keys: format, activation, formulas, layer, forward, program, settings, quantities, critical_points (of a line
        of them, ``along`` names what runs along it), critical_points_decimals_at (where gamma is free: "gamma = 0"),
        fixed_points (null unless all parameters have numbers), universality_class, end (kernel and chi_perp in which
        deep networks end, and the conditions; null unless they are formulas), critical_line (C_b; null unless
        explicit), critical_line_weights (between which C_W it lies; null if everywhere or unknown), critical_curve
        (C_W and C_b along the kernel K, in averages, where the line is not explicit; else null), line_remark (where it
        is a phase boundary), exponents (K - K* ~ amplitude*l**-kernel, J ~ l**-jacobian), vertex (the recursion of the
        four-point vertex in averages; null where it has no such form), finite_width (nu and the aspect ratio as
        formulas and along gamma; null without a critical point), initialisation (null unless asked for), tokens (null
        unless inputs have tokens and all parameters numbers), remarks, checks, command, versions. Expressions are text
        that sympy reads, and LaTeX; beside them stand, where they are numbers, the ``value`` as a JSON number (null if
        it is none) and, of critical points, 20 digits of it as text.
    """
    rows, weights, curve = report.critical_points, report.critical_line_weights, report.critical_curve
    free = any(gamma in sp.sympify(e).free_symbols for row in rows for e in (row.K, row.C_W, row.C_b))
    return {
        "format": FORMAT,
        "activation": report.activation,
        "formulas": {name: str(formula) for name, formula in report.formulas},
        "layer": report.layer,
        "forward": {"text": in_line(report.equations), "latex": in_line(report.equations, latex)},
        "program": list(report.program),
        "settings": dict(report.settings),
        "quantities": {q.name: _quantity(q) for q in report.quantities},
        "critical_points": [_point(row) for row in rows],
        "critical_points_decimals_at": "gamma = 0" if free else "",
        "fixed_points": None if report.fixed_points is None else [_fixed_point(row) for row in report.fixed_points],
        "universality_class": report.universality_class,
        "end": _end(report.end),
        "critical_line": None if report.critical_line is None else _expression(report.critical_line),
        "critical_line_weights": None if weights is None else list(map(_expression, weights)),
        "critical_curve": None if curve is None else dict(zip(("C_W", "C_b"), map(_expression, curve), strict=True)),
        "line_remark": report.line_remark,
        "exponents": None if report.exponents is None else _exponents(report.exponents),
        "vertex": None if report.vertex is None else _vertex(report.vertex),
        "finite_width": None if report.growth is None else _growth(report.growth, report.finite_width),
        "initialisation": None if report.advice is None else _initialisation(report.advice),
        "tokens": None if report.tokens is None else _tokens(report.tokens),
        "remarks": [*report.remarks, *report.given_up.values()],
        "checks": [_check(row) for row in report.checks],
        "command": report.command,
        "versions": dict(line.split(" ", 1) for line in files.versions()),
    }


def _end(end: tuple[Quantity, ...]) -> dict[str, object] | None:
    """The kernel in which networks end, and chi_perp there."""
    if not end:
        return None
    kernel, perp = end
    conditions = [{"text": str(c), "latex": latex(c)} for c in kernel.conditions]
    return {"K": _expression(kernel.expr), "chi_perp": _expression(perp.expr), "conditions": conditions}


def _tokens(stack: StackOfTokens) -> dict[str, object]:
    """A deep stack of tokens, from kernel 1 and tokens that have nothing in common; laws are null where unknown."""
    has_laws = bool(stack.kind)
    return {
        "tokens": stack.tokens,
        "layers": [asdict(row) for row in stack.rows],
        "kind": stack.kind or None,
        **{
            name: getattr(stack, name) if has_laws else None for name in ("similarity", "gradient", "angle", "collapse")
        },
        "ends": [{"similarity": end, "stable": is_stable} for end, is_stable in stack.ends],
    }


def dumps(report: Report) -> str:
    """The record as JSON text."""
    return json.dumps(record(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _exponents(exponents: Exponents) -> dict[str, object]:
    """K - K* ~ amplitude*l**-kernel, and J ~ l**-jacobian or log J ~ rate*l**power."""
    values = {name: getattr(exponents, name) for name in ("kernel", "jacobian", "amplitude")}
    if exponents.stretch is not None:
        values |= {"stretch_power": exponents.stretch.power, "stretch_rate": exponents.stretch.rate}
    if exponents.next_order is not None:
        values |= {"correction": exponents.next_order.correction}
    shown = {name: None if e is None else _expression(e) | {"value": _value(e)} for name, e in values.items()}
    return shown | {"remark": exponents.remark}


def _growth(curve: GrowthCurve, formulas: tuple[Quantity, ...]) -> dict[str, object]:
    """Nu and the aspect ratio for one output along gamma, and the formulas that are known."""
    return {
        "quantities": {q.name: _quantity(q) for q in formulas},
        "nu_near_gamma_1": None if curve.edge is None else _expression(curve.edge),
        # at one weight of the skip connection, and what follows from the recursion in PDLT (B.26)
        "rows": [
            _plain(
                {"gamma": row.gamma, "nu": row.nu, "aspect_ratio": row.aspect_ratio}
                | {"nu_by_pdlt": row.second, "aspect_ratio_by_pdlt": row.published},
                _AGREED,
            )
            for row in curve.rows
        ],
    }


def _vertex(vertex: VertexFormulas) -> dict[str, object]:
    """``P' = chi_parallel^2 P + N + 2 sum_k A_k M(K_k, K, C_k)``, ``G' = chi_parallel m^2 G + R``, ``V = P + 2 G``."""
    formulas = {"N": vertex.noise, "M": vertex.memory_noise, "R": vertex.stream_noise, "m": vertex.weight}
    shown = {name: _expression(formula) for name, formula in formulas.items()}
    return {**shown, "steps": {str(symbol): _expression(formula) for symbol, formula in vertex.steps}}


def _initialisation(advised: Advice) -> object:
    """The advice in numbers, and as it is printed; of the trial, what is told."""
    document = dataclasses.asdict(replace(advised, theory=None, trial=None))
    trial, theory = advised.trial, advised.theory
    if trial is not None:
        counts = {"networks": trial.networks, "holds": trial.holds, "leaving": trial.leaving}
        document["trial"] = _plain({**counts, "typical_range": trial.typical, **_ranges(trial.mean)}, _SIMULATED)
    if theory is not None:
        document["theory"] = _plain(_ranges(theory), _SIMULATED)
    return _plain(document | {"reasons": advised.reasons, "code": advised.code}, _AGREED)


def _ranges(path: Path) -> dict[str, object]:
    """By which factors kernels and squared gradients change along the depth."""
    return {"kernel_range": path.kernel_range, "gradient_range": path.gradient_range}


def _quantity(q: Quantity) -> dict[str, object]:
    bound = q.error_bound
    return {
        "name": q.name,
        "status": str(q.status),
        "symbols": [str(s) for s in q.symbols],
        "meaning": q.meaning,
        "notation": q.notation,
        "unit": q.unit,
        "source": q.source,
        "definition": None if q.definition.has(sp.nan) else _expression(q.definition),
        "steps": [
            {"symbol": str(s.symbol), "definition": _expression(s.definition), "expression": _expression(s.expr)}
            for s in q.steps
        ],
        "expression": None if q.status is Status.UNKNOWN else _expression(q.expr),
        "expansions": [
            {"limit": f"K -> {found.limit}", **_expression(found.body), "reach": found.reach}
            for found in expansions(q)
            if found.body is not None
        ],
        "error_bound": bound if math.isfinite(bound) else None,
        "reason": q.reason,
        "verifications": [_plain(dataclasses.asdict(v)) for v in q.verifications],
    }


def check_record(report: CheckReport) -> dict[str, object]:
    """A check as plain data: its outcome, and its verdicts."""
    return {"outcome": str(report.outcome), "verdicts": [_check(row) for row in report.verdicts]}


def _check(row: Verdict) -> dict[str, object]:
    """A row of a check; its remarks are one text, ``reason``."""
    fields = {"reason" if key == "remarks" else key: _plain(value) for key, value in dataclasses.asdict(row).items()}
    return fields | {"reason": row.reason}


def _point(row: CriticalPoint) -> dict[str, object]:
    out: dict[str, object] = {"stability": row.stability, "exact": row.exact}
    for name in ("K", "C_W", "C_b"):
        value = sp.sympify(getattr(row, name))
        number = at_zero_gamma(value)
        out[name] = {
            **_expression(value),
            "value": None if number is None else _value(number),
            "decimal": None if number is None else decimal(number, DIGITS),
        }
    out["along"] = None if row.along is None else row.along.name
    out["inside"] = None if row.inside is None else _expression(row.inside)
    out["correction"] = None if row.correction is None else _expression(row.correction)
    return out


def _fixed_point(row: FixedPoint) -> object:
    """K is "any" where every kernel is preserved."""
    kernel = "any" if isinstance(row.K, sp.Expr) else row.K
    slopes = {"chi_parallel": row.chi_parallel, "chi_perp": row.chi_perp}
    return _plain({"K": kernel, **slopes, "phase": row.phase})


def _expression(e: sp.Expr) -> dict[str, object]:
    return {"text": str(e), "latex": latex(e)}


def _value(e: sp.Expr) -> float | None:
    """The float next to an expression; None if it has symbols."""
    if e.free_symbols:
        return None
    number = float(decimal(e, _FLOAT))
    return number if math.isfinite(number) else None


def _plain(value: object, digits: int = _FLOAT) -> object:
    """The value in JSON's own types, floats with so many digits; numbers that JSON does not know are text."""
    if isinstance(value, dict):
        return {str(k): _plain(v, digits) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, digits) for v in value]
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, mp.mpf):
        return mp.nstr(value, DIGITS)
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else str(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)
