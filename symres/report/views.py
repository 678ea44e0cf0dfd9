"""What a theory shows of itself: the page of the terminal as text, HTML, and its results in words and floats.

``symres/__init__.py`` names this module to ``core.foreign``: a theory cannot see the rooms above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from ..activations.activation import Activation
from ..activations.catalogue import activations
from ..activations.formula_parser import NAME
from ..core.display import Fact, Plain, folded, heading, listed, preformatted
from ..core.scalars import Number
from ..core.symbols import C_W, C_b, K, gamma
from ..core.work_budget import Stage, limited
from ..layers.architectures import architectures
from ..layers.layer import Layer
from ..notation import latex
from ..notation.decimals import plain_number
from ..notation.facts import equation
from ..results.advice.advice import Advice
from ..results.critical_point import CriticalPoint
from ..results.report import Report
from ..studies.advice.advise import advise
from ..studies.advice.network_sizes import require_size
from ..theory.criticality.phase import FixedPoint
from ..theory.theory import Theory
from .text.page import Page

_WIDTH = 80  # columns of a page in a notebook


def page(theory: Theory, width: int) -> str:
    """The page that ``symres derive`` prints, without checks, in mathematical characters."""
    phi = _activation(theory.layer)
    with limited(Stage.PAGE, ends=False):
        return _text(_report(theory, phi), phi, width)


def html(theory: Theory) -> str:
    """The results of a theory for notebooks, with the page of the terminal folded."""
    phi = _activation(theory.layer)
    with limited(Stage.PAGE, ends=False):
        report = _report(theory, phi)
        return theory_in_html(report, theory._title(), _text(report, phi, _WIDTH))


def summary(theory: Theory) -> dict[str, Plain]:
    """The results of a theory as JSON has them: floats where there are numbers, else the text of a formula.

    Returns:
        keys: activations, layer, forward, quantities (name: status), universality_class, critical_points (K, C_W, C_b,
        stability; a kernel that may have any value is "any"), numbers_at (where gamma is free: "gamma = 0"),
        critical_line (C_b), exponents, remarks.
    """
    points, exponents = theory.critical_points, theory.exponents
    free = any(sp.sympify(e).has(gamma) for point in points for e in (point.K, point.C_W, point.C_b))
    line = theory.critical_line_expr
    return {
        "activations": [formula.name for formula in theory.layer.formulas],
        "layer": theory.layer.name,
        "forward": theory.layer.text,
        "quantities": {name: str(quantity.status) for name, quantity in theory.quantities.items()},
        "universality_class": theory.universality_class,
        "critical_points": [_point(point) for point in points],
        "numbers_at": "gamma = 0" if free else "",
        "critical_line": None if line is None else str(line),
        "exponents": {
            **{name: plain_number(getattr(exponents, name)) for name in ("kernel", "jacobian", "amplitude")},
            "stretch_power": None if exponents.stretch is None else plain_number(exponents.stretch.power),
            "stretch_rate": None if exponents.stretch is None else plain_number(exponents.stretch.rate),
            "remark": exponents.remark,
        },
        "remarks": list(theory.remarks),
    }


def advice(theory: Theory, depth: Number, width: Number, inputs_kernel: Number | None) -> Advice:
    """How to initialise networks of a layer."""
    layers, neurons, _ = require_size(depth, width, inputs_kernel)
    remark = "the search was given up: allow more work with symres.budget"
    return theory.attempted(
        Stage.ADVICE,
        "advice",
        lambda: advise(theory, depth, width, inputs_kernel),
        Advice(layers, neurons, False, remark=remark),
    )


def formula(state: object) -> str:
    """The LaTeX of a state of a proof; empty if it is no formula."""
    return latex(state) if isinstance(state, sp.Expr) else ""


def known_fixed_points(theory: Theory) -> tuple[FixedPoint, ...] | None:
    """The kernels that the layer preserves, if all its parameters have numbers."""
    maps = (theory.kernel_map, theory.chi_parallel, theory.chi_perp)
    return None if any(set(q.symbols) - {K} for q in maps) else theory.fixed_points()


def _text(report: Report, phi: Activation | None, width: int) -> str:
    lines = Page(report, phi, width, unicode=True).lines()
    return "\n".join("".join(span.text for span in spans).rstrip() for spans in lines)


def _report(theory: Theory, phi: Activation | None) -> Report:
    return replace(
        theory.report(command="" if phi is None else _command(theory.layer, phi)),
        instructions=theory.layer.program.instructions,
        fixed_points=known_fixed_points(theory),
        source="" if phi is None else phi.source,
        advice=theory.advice(),
    )


def _activation(layer: Layer) -> Activation | None:
    """The first activation of a layer, with its source if the catalogue has it; None of a layer without."""
    if not layer.formulas:
        return None
    found = layer.formulas[0]
    declared = Activation(found.name, found.expr, found.parameters)
    known = activations.find(found.name) if found.name in activations else None
    return known if known == declared else declared


def _command(layer: Layer, phi: Activation) -> str:
    """The command that prints the page of a layer with a name; empty for any other, which has no name to be typed."""
    build = architectures.get(layer.name)
    if build is None or not NAME.fullmatch(phi.name) or build(phi) != layer:
        return ""
    return f"symres derive {phi.name} --layer {layer.name}"


def _point(point: CriticalPoint) -> dict[str, Plain]:
    return {
        "K": "any" if point.K == K else plain_number(point.K),
        "C_W": plain_number(point.C_W),
        "C_b": plain_number(point.C_b),
        "stability": point.stability,
        "side": point.side,
        "exact": point.exact,
        "along": None if point.along is None else point.along.name,
    }


def theory_in_html(report: Report, title: str, page: str) -> str:
    """The declaration, results, criticality and advice of a theory: formulas for MathJax, everything longer folded.

    Args:
        report: what was derived.
        title: a line above.
        page: all of it as plain text, which is folded.
    """
    named = zip(report.formulas, report.heads, strict=True)
    declared = [equation(f"{name}(z)", f"{head}(z)", side) for (name, side), head in named if name != str(side.func)]
    declared += [equation(str(left), latex(left), side) for left, side in report.equations]
    results = "".join(quantity._repr_html_() for quantity in report.quantities)
    parts = [
        heading(title),
        listed(declared),
        folded("Results", results, is_open=True),
        folded(f"Criticality: universality class {report.universality_class}", _criticality(report), is_open=True),
    ]
    if report.advice is not None:
        parts.append(folded(report.advice._title().capitalize(), listed(report.advice._facts())))
    return "".join([*parts, folded("The whole page, as symres derive prints it", preformatted(page))])


def _criticality(report: Report) -> str:
    """Critical points, the line, the laws of the depth, remarks."""
    laws = "" if report.exponents is None else report.exponents._repr_html_()
    points = "".join(point._repr_html_() for point in report.critical_points)
    return points + listed(_line(report)) + laws + listed(Fact("", remark) for remark in report.remarks)


def _line(report: Report) -> Iterable[Fact]:
    """The critical line, explicit or along the kernel."""
    sides = (report.critical_line,) if report.critical_line is not None else report.critical_curve or ()
    for symbol, side in zip((C_W, C_b)[-len(sides) :], sides, strict=False):
        yield equation(symbol.name, latex(symbol), side, label="critical line")
