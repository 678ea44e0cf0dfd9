"""What a theory shows of itself: the page of the terminal as text, HTML, and its results in words and floats.

``symres/__init__.py`` names this module to ``core.foreign``: a theory cannot see the rooms above it.
"""

from __future__ import annotations

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
from ..notation import latex
from ..notation.decimals import plain_number
from ..notation.facts import equation
from ..results.advice.advice import Advice
from ..results.critical_point import CriticalPoint
from ..results.report import Report
from ..studies.advice.advise import advise
from ..studies.advice.network_sizes import require_size
from ..studies.advice.token_advice import advise_tokens
from ..theory.criticality.phase import FixedPoint
from ..theory.theory import Theory
from .text.page import Page

_WIDTH = 80  # columns of a page in a notebook


def page(theory: Theory, width: int) -> str:
    """The page that ``symres derive`` prints, without checks, in mathematical characters."""
    return _report_and_page(theory, width)[1]


def html(theory: Theory) -> str:
    """The declaration, results, criticality and advice of a theory for notebooks, with the page of the terminal folded.

    Formulas are for MathJax.
    """
    report, text = _report_and_page(theory, _WIDTH)
    named = zip(report.formulas, report.heads, strict=True)
    declared = [equation(f"{name}(z)", f"{head}(z)", side) for (name, side), head in named if name != str(side.func)]
    declared += [equation(str(left), latex(left), side) for left, side in report.equations]
    results = "".join(quantity._repr_html_() for quantity in report.quantities)
    # critical points, the line, explicit or along the kernel, the laws of the depth, remarks
    sides = (report.critical_line,) if report.critical_line is not None else report.critical_curve or ()
    lines = zip((C_W, C_b)[-len(sides) :], sides, strict=False)
    criticality = "".join(point._repr_html_() for point in report.critical_points)
    criticality += listed(equation(s.name, latex(s), side, label="critical line") for s, side in lines)
    criticality += "" if report.exponents is None else report.exponents._repr_html_()
    criticality += listed(Fact("", remark) for remark in report.remarks)
    parts = [
        heading(theory._title()),
        listed(declared),
        folded("Results", results, is_open=True),
        folded(f"Criticality: universality class {report.universality_class}", criticality, is_open=True),
    ]
    if report.advice is not None:
        parts.append(folded(report.advice._title().capitalize(), listed(report.advice._facts())))
    return "".join([*parts, folded("The whole page, as symres derive prints it", preformatted(text))])


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
    layers, neurons, mean_square = require_size(depth, width, inputs_kernel)
    if theory.has_positions:
        return advise_tokens(
            theory, layers, neurons, lambda alike, usual: advice(alike, layers, neurons, mean_square or usual)
        )
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


def _report_and_page(theory: Theory, width: int) -> tuple[Report, str]:
    """What was derived, and the page about it."""
    layer, phi, command = theory.layer, None, ""
    if layer.formulas:  # the first activation, with its source if the catalogue has it
        formula = layer.formulas[0]
        phi = Activation(formula.name, formula.expr, formula.parameters)
        if formula.name in activations and activations.find(formula.name) == phi:
            phi = activations.find(formula.name)
        build = architectures.get(layer.name)
        if build is not None and NAME.fullmatch(phi.name) and build(phi) == layer:  # else it has no name to be typed
            command = f"symres derive {phi.name} --layer {layer.name}"
    with limited(Stage.PAGE, ends=False):
        report = replace(
            theory.report(command=command),
            instructions=layer.program.instructions,
            fixed_points=known_fixed_points(theory),
            source="" if phi is None else phi.source,
            advice=theory.advice(),
        )
        lines = Page(report, phi, width, unicode=True).lines()
    return report, "\n".join("".join(span.text for span in spans).rstrip() for spans in lines)


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
