"""Functions with a kink or a jump: absolute value, sign, step, the larger and the smaller one of several."""

from __future__ import annotations

import sympy as sp
from flint import acb, arb

from ...numerics import ball_functions as balls
from ...numerics import interval_arithmetic as intervals
from ..function_record import FunctionRecord, register

register(
    FunctionRecord(
        kind=sp.Abs,
        names=("abs",),
        ball=(abs, lambda analytic, x: acb(x).real_abs(analytic)),
        range=intervals.absolute,
        parity="even",
    ),
    FunctionRecord(
        kind=sp.sign,
        names=("sign",),
        ball=(arb.sgn, lambda analytic, x: acb(x).real_sgn(analytic)),
        range=intervals.sign,
        parity="odd",
    ),
    FunctionRecord(kind=sp.Heaviside, names=("step",), ball=(balls.heaviside, balls.real_only(balls.heaviside))),
    FunctionRecord(
        kind=sp.Max,
        names=("max",),
        ball=(arb.max, lambda analytic, x, y: acb(x).real_max(acb(y), analytic)),
        range=intervals.maximum,
    ),
    FunctionRecord(
        kind=sp.Min,
        names=("min",),
        ball=(arb.min, lambda analytic, x, y: acb(x).real_min(acb(y), analytic)),
        range=intervals.minimum,
    ),
)
