"""The trigonometric functions and their inverses."""

from __future__ import annotations

import sympy as sp
from flint import arb

from ...numerics import ball_functions as balls
from ...numerics import interval_arithmetic as intervals
from ...numerics.interval_arithmetic import Range
from ..function_record import FunctionRecord, elementary, register

_HALF_TURN = sp.pi / 2
_UNIT = Range(arb(-1), arb(1))

register(
    elementary(
        sp.sin, range=intervals.oscillation(arb.sin), is_odd=True, product=lambda s, d: 2 * sp.cos(s) * sp.sin(d)
    ),
    elementary(
        sp.cos,
        range=intervals.oscillation(arb.cos),
        complements=lambda u: (2 * sp.sin(u / 2) ** 2, 2 * sp.cos(u / 2) ** 2),
        product=lambda s, d: -2 * sp.sin(s) * sp.sin(d),
    ),
    elementary(sp.tan, definition=lambda u: sp.sin(u) / sp.cos(u), poles=sp.cos, range=intervals.tangent, is_odd=True),
    *(
        FunctionRecord(kind=f, definition=of, ball=balls.from_flint(f.__name__), poles=poles, is_odd=f is not sp.sec)
        for f, of, poles in (
            (sp.cot, lambda u: sp.cos(u) / sp.sin(u), sp.sin),
            (sp.sec, lambda u: 1 / sp.cos(u), sp.cos),
            (sp.csc, lambda u: 1 / sp.sin(u), sp.sin),
        )
    ),
    elementary(
        sp.asin,
        "arcsin",
        ball=(balls.restricted(arb.asin, -1, 1), balls.complex_asin),
        limits=(-_HALF_TURN, _HALF_TURN),
        domain=_UNIT,
        inverse=sp.sin,
        is_odd=True,
    ),
    elementary(
        sp.acos,
        "arccos",
        definition=lambda u: sp.pi / 2 - sp.asin(u),
        ball=(balls.restricted(arb.acos, -1, 1), balls.complex_acos),
        limits=(sp.pi, sp.Integer(0)),
        domain=_UNIT,
        inverse=sp.cos,
    ),
    elementary(
        sp.atan,
        "arctan",
        ball=(arb.atan, balls.complex_atan),
        limits=(-_HALF_TURN, _HALF_TURN),
        inverse=sp.tan,
        is_odd=True,
    ),
    FunctionRecord(
        kind=sp.atan2,
        spellings={"arrays": "{library}.arctan2({0}, {1})", "scalar": "angle({0}, {1})"},
        ball=(arb.atan2, balls.real_only(arb.atan2)),
    ),
)
