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
from .token_stack import StackOfTokens
from .verdict import Verdict


@dataclass(frozen=True)
class Report:
    """All that is known about one activation in one layer."""

    activation: str  # its name; several names joined by a comma where a layer uses several
    formulas: tuple[tuple[str, sp.Expr], ...]  # (name, formula) of every activation of the layer
    layer: str
    equations: Equations  # the forward equation, (left, right side): shared dense layers by name, last the next stream
    program: tuple[str, ...]  # the lowered program, one instruction a line
    settings: tuple[tuple[str, str], ...]  # parameters that were given numbers
    quantities: tuple[Quantity, ...]  # in the order of the derivation
    critical_points: tuple[CriticalPoint, ...]  # in order of importance; empty if there are none or they are unknown
    universality_class: str  # as in the theory's property of that name
    remarks: tuple[str, ...] = ()  # lines for the reader (why something is unknown, what limits a result)
    checks: tuple[Verdict, ...] = ()  # the check report's rows, empty if no check was run
    heads: tuple[str, ...] = ()  # how activations are written in the equation, LaTeX; ``\phi`` for one without a name
    command: str = ""  # the command that makes this report again
    instructions: tuple[Any, ...] = ()  # of the lowered program, for typesetting: Mean, Batch and Draw of the layers
    fixed_points: tuple[FixedPoint, ...] | None = None  # of the theory; None unless all its parameters have numbers
    end: tuple[Quantity, ...] = ()  # K* and chi_perp there as formulas of the parameters; empty where they are not
    source: str = ""  # where the activation is from
    critical_line: sp.Expr | None = None  # C_b as a function of C_W and other parameters; None if it is not explicit
    critical_line_weights: tuple[sp.Expr, sp.Expr] | None = None  # between which it lies; None: everywhere, or unknown
    critical_curve: tuple[sp.Expr, sp.Expr] | None = None  # else (C_W, C_b) along K, in averages, C_b in C_W too
    line_remark: str = ""  # where the critical line is a phase boundary, if not everywhere
    exponents: Exponents | None = None  # how kernel and Jacobian go with the depth; None if nobody asked
    vertex: VertexFormulas | None = None  # the recursion of the four-point vertex; None where it has no formula
    growth: GrowthCurve | None = None  # of four-point vertices at the critical point; None if that is not known
    finite_width: tuple[Quantity, ...] = ()  # the formulas that belong to it
    advice: Advice | None = None  # how to initialise networks; None if nobody asked, or inputs have positions
    tokens: StackOfTokens | None = None  # what becomes of tokens; None if inputs have none, or parameters no numbers
    # what took more work than its budget, and how to ask for more, by name; it may grow until it is read
    given_up: Mapping[str, str] = field(default_factory=dict)
