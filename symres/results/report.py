"""What a derivation hands to a page, a document or a file: plain data, no theory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from .quantity import Quantity


@dataclass(frozen=True)
class PointRow:
    """One critical point, ready to print.

    Args:
        K, C_W, C_b: expressions (they may contain gamma and other parameters).
        stability: "stable", "unstable", "half-stable" or "neutral".
        exact: True if K is a closed form, False if it is a root known to any number of digits.
        correction: at K* = 0, K' - K to the first power of K that does not vanish; 0 if all of them vanish; None at
            other points.
        side: of a half-stable point, "below" or "above": where the kernels are that flow to it; "" if not known.
        along: what runs along a line of critical points: K, C_W, or a variance inside of averages; None for a point.
        inside: the variance inside of the averages, where it is known apart from the kernel of the stream.
    """

    K: sp.Expr
    C_W: sp.Expr
    C_b: sp.Expr
    stability: str
    exact: bool
    correction: sp.Expr | None = None
    side: str = ""
    along: sp.Symbol | None = None
    inside: sp.Expr | None = None


@dataclass(frozen=True)
class Report:
    """All that is known about one activation in one layer.

    Args:
        activation: name of the activation (several names joined by a comma where a layer uses several).
        formulas: (name, formula) of every activation of the layer.
        heads: how each of them is written in the forward equation, LaTeX (``\\phi`` for a formula without a name).
        forward: the forward equation, a sympy expression for the next stream.
        program: the lowered program, one instruction a line.
        settings: parameters that were given numbers.
        quantities: the derived quantities, in the order of the derivation.
        critical_points: in order of importance; empty if there are none or they are unknown.
        universality_class: as in the theory's property of that name.
        remarks: lines for the reader (why something is unknown, what limits a result).
        checks: the check report's rows (class Verdict of the check room), empty if no check was run.
        command: the command that makes this report again.
        instructions: the lowered program's instructions, for typesetting (classes Mean and Draw of the declare room).
        fixed_points: the theory's fixed points, None unless all its parameters have numbers.
        source: where the activation is from.
        critical_line: C_b on the critical line as a function of C_W and other parameters; None if it is not explicit.
        critical_line_weights: between which C_W it lies, from a finite or to an infinite end; None if it is everywhere,
            or that is not known.
        critical_curve: where it is not, (C_W, C_b) on it along the kernel K, in averages, C_b in C_W too; None if the
            line has no such form either.
        line_remark: where the critical line is a phase boundary, if not everywhere.
        exponents: the theory's exponents (kernel, jacobian, amplitude, stretch, remark).
    """

    activation: str
    formulas: tuple[tuple[str, sp.Expr], ...]
    layer: str
    forward: sp.Expr
    program: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    quantities: tuple[Quantity, ...]
    critical_points: tuple[PointRow, ...]
    universality_class: str
    remarks: tuple[str, ...] = ()
    checks: tuple[Any, ...] = ()
    heads: tuple[str, ...] = ()
    command: str = ""
    instructions: tuple[Any, ...] = ()
    fixed_points: tuple[Any, ...] | None = None
    source: str = ""
    critical_line: sp.Expr | None = None
    critical_line_weights: tuple[sp.Expr, sp.Expr] | None = None
    critical_curve: tuple[sp.Expr, sp.Expr] | None = None
    line_remark: str = ""
    exponents: Any = None
