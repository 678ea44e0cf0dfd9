"""What a derivation hands to a page, a document or a file: plain data, no theory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from ..notation.facts import Equations
from .advice.advice import Advice
from .annotated_numbers import GrowthCurve, VertexFormulas
from .critical_point import CriticalPoint, Exponents
from .phases import FixedPoint
from .quantity import Quantity
from .verdict import Verdict


@dataclass(frozen=True)
class Report:
    """All that is known about one activation in one layer.

    Args:
        activation: name of the activation (several names joined by a comma where a layer uses several).
        formulas: (name, formula) of every activation of the layer.
        heads: how each of them is written in the forward equation, LaTeX (``\\phi`` for a formula without a name).
        equations: the forward equation, (left, right side): dense layers that stand in several places of it, by name,
            and last the next stream.
        program: the lowered program, one instruction a line.
        settings: parameters that were given numbers.
        quantities: the derived quantities, in the order of the derivation.
        critical_points: in order of importance; empty if there are none or they are unknown.
        universality_class: as in the theory's property of that name.
        given_up: what took more work than its budget, and how to ask for more, by name; it may grow until it is read.
        remarks: lines for the reader (why something is unknown, what limits a result).
        checks: the check report's rows, empty if no check was run.
        command: the command that makes this report again.
        instructions: the lowered program's instructions, for typesetting (classes Mean, Batch and Draw of the layers).
        fixed_points: the theory's fixed points, None unless all its parameters have numbers.
        source: where the activation is from.
        critical_line: C_b on the critical line as a function of C_W and other parameters; None if it is not explicit.
        critical_line_weights: between which C_W it lies, from a finite or to an infinite end; None if it is everywhere,
            or that is not known.
        critical_curve: where it is not, (C_W, C_b) on it along the kernel K, in averages, C_b in C_W too; None if the
            line has no such form either.
        line_remark: where the critical line is a phase boundary, if not everywhere.
        exponents: how kernel and Jacobian go with the depth; None if nobody asked.
        vertex: the recursion of the four-point vertex; None where it has no formula.
        growth: how fast four-point vertices grow at the critical point; None if that is not known.
        finite_width: the formulas that belong to it.
        advice: how to initialise networks; None if nobody asked.
    """

    activation: str
    formulas: tuple[tuple[str, sp.Expr], ...]
    layer: str
    equations: Equations
    program: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    quantities: tuple[Quantity, ...]
    critical_points: tuple[CriticalPoint, ...]
    universality_class: str
    remarks: tuple[str, ...] = ()
    checks: tuple[Verdict, ...] = ()
    heads: tuple[str, ...] = ()
    command: str = ""
    instructions: tuple[Any, ...] = ()
    fixed_points: tuple[FixedPoint, ...] | None = None
    source: str = ""
    critical_line: sp.Expr | None = None
    critical_line_weights: tuple[sp.Expr, sp.Expr] | None = None
    critical_curve: tuple[sp.Expr, sp.Expr] | None = None
    line_remark: str = ""
    exponents: Exponents | None = None
    vertex: VertexFormulas | None = None
    growth: GrowthCurve | None = None
    finite_width: tuple[Quantity, ...] = ()
    advice: Advice | None = None
    given_up: Mapping[str, str] = field(default_factory=dict)
