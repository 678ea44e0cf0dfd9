"""Functions with a kink or a jump: absolute value, sign, step, the larger and the smaller one of several."""

from __future__ import annotations

import sympy as sp
from flint import acb, arb

from ...numerics import ball_functions as balls
from ...numerics import interval_arithmetic as intervals
from ..function_record import FunctionRecord, called, register

register(
    FunctionRecord(
        kind=sp.Abs,
        names=("abs",),
        is_smooth=False,
        spellings=called("abs", "fabs"),
        ball=(abs, lambda analytic, x: acb(x).real_abs(analytic)),
        range=intervals.absolute,
    ),
    FunctionRecord(
        kind=sp.sign,
        names=("sign",),
        is_smooth=False,
        spellings=called("sign"),
        ball=(arb.sgn, lambda analytic, x: acb(x).real_sgn(analytic)),
        range=intervals.sign,
        is_odd=True,
    ),
    FunctionRecord(
        kind=sp.Heaviside,
        spellings={"numpy": "np.heaviside({0}, {1})", "scalar": "step({0}, {1})"},
        names=("step",),
        is_smooth=False,
        ball=(balls.heaviside, balls.real_only(balls.heaviside)),
        range=intervals.step,
    ),
    FunctionRecord(
        kind=sp.Max,
        names=("max",),
        is_smooth=False,
        spellings={
            "numpy": "np.maximum({0}, {1})",
            "torch": "torch.clamp({1}, min={0})",  # numbers come first in order, and are bounds
            "jax": "_at_least({1}, {0})",
            "scalar": "maximum({0}, {1})",
        },
        ball=(arb.max, lambda analytic, x, y: acb(x).real_max(acb(y), analytic)),
        range=intervals.maximum,
    ),
    FunctionRecord(
        kind=sp.Min,
        names=("min",),
        is_smooth=False,
        spellings={
            "numpy": "np.minimum({0}, {1})",
            "torch": "torch.clamp({1}, max={0})",
            "jax": "_at_most({1}, {0})",
            "scalar": "minimum({0}, {1})",
        },
        ball=(arb.min, lambda analytic, x, y: acb(x).real_min(acb(y), analytic)),
        range=intervals.minimum,
    ),
)
