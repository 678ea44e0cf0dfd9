"""The elementary functions: exponential, hyperbolic and trigonometric ones, and what selects one of several values.

Their companions stand beside them: the sigmoid and its integral, and products that do not overflow.
"""

from __future__ import annotations

import sympy as sp
from flint import acb, arb

from ...numerics import ball_functions as balls
from ...numerics import interval_arithmetic as intervals
from ...numerics.interval_arithmetic import Range
from ..companions import ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from ..function_record import FunctionRecord, called, elementary, register
from ..tails import BOUNDED, UNKNOWN_TAIL, Scale, add, constant, exponential

_ZERO, _ONE, _INF, _HALF_TURN = sp.Integer(0), sp.Integer(1), sp.oo, sp.pi / 2
_POSITIVE = Range(arb(0), arb.pos_inf(), True, True)
_ABOVE_MINUS_1 = Range(arb(-1), arb.pos_inf(), True, True)
_ABOVE_1 = Range(arb(1), arb.pos_inf(), False, True)
_OPEN_UNIT, _CLOSED_UNIT = Range(arb(-1), arb(1), True, True), Range(arb(-1), arb(1))


def _inverse_sinh_tail(u: Scale) -> Scale:
    """Logarithmic in u."""
    if u.vanishes:
        return u
    if u.is_bounded:
        return BOUNDED
    if u.order == _INF:
        return UNKNOWN_TAIL
    sign = sp.sign(u.lead) if u.is_sharp else None
    if u.order != 0:
        return Scale(power=u.order, lead=None if sign is None else sign * u.rate)
    return Scale(logs=1, lead=None if sign is None or u.power == 0 else sign * u.power)


def inverse_cosh(u: sp.Expr) -> sp.Expr:
    """``acosh(u)``, u >= 1."""
    return sp.log(u + sp.sqrt(u**2 - 1))


register(
    elementary(
        sp.exp,
        limits=(_ZERO, _INF),
        complements=lambda u: (-Expm1(u), None),
        product=lambda s, d: 2 * ExpSinh(s, d),
    ),
    elementary(
        sp.log,
        names=("log", "ln"),
        ball=(arb.log, lambda analytic, x: acb(x).log(analytic)),
        limits=(-_INF, _INF),
        domain=_POSITIVE,
    ),
    FunctionRecord(
        kind=Expm1,
        spellings=called("expm1"),
        definition=lambda u: sp.exp(u) - 1,
        ball=balls.from_flint("expm1"),
        limits=(-_ONE, _INF),
        tail=lambda u: u if u.vanishes else add(exponential(u), constant(-_ONE)),
    ),
    FunctionRecord(
        kind=Log1p,
        spellings=called("log1p"),
        definition=lambda u: sp.log(1 + u),
        ball=(arb.log1p, balls.with_branch_cuts(acb.log1p, lambda w: bool(w.real <= -1))),
        limits=(-_INF, _INF),
        domain=_ABOVE_MINUS_1,
    ),
    FunctionRecord(
        kind=Sigmoid,
        names=("sigmoid",),
        spellings={
            "arrays": "_sigmoid({0})",
            "torch": "torch.sigmoid({0})",
            "jax": "jax.nn.sigmoid({0})",
            "scalar": "sigmoid({0})",
        },
        definition=lambda u: 1 / (1 + sp.exp(-u)),
        ball=(balls.sigmoid, balls.complex_sigmoid),
        limits=(_ZERO, _ONE),
        complements=lambda u: (Sigmoid(-u), None),
    ),
    FunctionRecord(
        kind=Softplus,
        names=("softplus",),
        spellings={
            "numpy": "np.logaddexp(0.0, {0})",
            "torch": "torch.nn.functional.softplus({0}, threshold=40.0)",
            "jax": "jax.nn.softplus({0})",
            "scalar": "softplus({0})",
        },
        definition=lambda u: sp.log(1 + sp.exp(u)),
        ball=(balls.softplus, balls.complex_softplus),
        limits=(_ZERO, _INF),
    ),
    *(
        FunctionRecord(
            kind=kind,
            spellings={"arrays": f"_{name.replace('_', '')}({{0}}, {{1}})", "scalar": f"{name}({{0}}, {{1}})"},
            definition=definition,
        )
        for kind, name, definition in (
            (ExpSinh, "exp_sinh", lambda a, b: sp.exp(a) * sp.sinh(b)),
            (ExpCosh, "exp_cosh", lambda a, b: sp.exp(a) * sp.cosh(b)),
            (ExpCoshm1, "exp_coshm1", lambda a, b: sp.exp(a) * (sp.cosh(b) - 1)),
        )
    ),
    elementary(sp.sinh, definition=lambda u: (sp.exp(u) - sp.exp(-u)) / 2, limits=(-_INF, _INF)),
    elementary(sp.cosh, definition=lambda u: (sp.exp(u) + sp.exp(-u)) / 2, range=intervals.hyperbolic_cosine),
    elementary(
        sp.tanh,
        ball=balls.from_flint("tanh", is_monotone=True),
        definition=lambda u: 1 - 2 / (sp.exp(2 * u) + 1),
        limits=(-_ONE, _ONE),
        complements=lambda u: (2 * Sigmoid(-2 * u), 2 * Sigmoid(2 * u)),
    ),
    FunctionRecord(
        kind=sp.sech, definition=lambda u: 2 / (sp.exp(u) + sp.exp(-u)), ball=(balls.sech, balls.from_flint("sech")[1])
    ),
    elementary(
        sp.asinh,
        "arcsinh",
        ball=(balls.restricted(arb.asinh), balls.complex_asinh),
        limits=(-_INF, _INF),
        tail=_inverse_sinh_tail,
    ),
    FunctionRecord(
        kind=sp.acosh,
        names=("acosh",),
        definition=inverse_cosh,
        is_abbreviation=True,
        ball=(balls.restricted(arb.acosh, 1), balls.with_branch_cuts(acb.acosh, lambda w: bool(w.real <= 1))),
        limits=(sp.Integer(0), _INF),
        domain=_ABOVE_1,
    ),
    FunctionRecord(
        kind=sp.atanh,
        names=("atanh",),
        definition=lambda u: (sp.log(1 + u) - sp.log(1 - u)) / 2,  # of a small u without cancellation
        is_abbreviation=True,
        ball=(balls.restricted(arb.atanh), balls.complex_atanh),
        limits=(-_INF, _INF),
        domain=_OPEN_UNIT,
    ),
    elementary(sp.sin, range=intervals.oscillation(arb.sin), product=lambda s, d: 2 * sp.cos(s) * sp.sin(d)),
    elementary(
        sp.cos,
        range=intervals.oscillation(arb.cos),
        complements=lambda u: (2 * sp.sin(u / 2) ** 2, 2 * sp.cos(u / 2) ** 2),
        product=lambda s, d: -2 * sp.sin(s) * sp.sin(d),
    ),
    elementary(sp.tan, definition=lambda u: sp.sin(u) / sp.cos(u), poles=sp.cos, range=intervals.tangent),
    *(
        FunctionRecord(kind=kind, definition=definition, ball=balls.from_flint(kind.__name__), poles=poles)
        for kind, definition, poles in (
            (sp.coth, lambda u: 1 + 2 / (sp.exp(2 * u) - 1), sp.sinh),
            (sp.csch, lambda u: 2 / (sp.exp(u) - sp.exp(-u)), sp.sinh),
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
        domain=_CLOSED_UNIT,
    ),
    elementary(
        sp.acos,
        "arccos",
        definition=lambda u: sp.pi / 2 - sp.asin(u),
        ball=(balls.restricted(arb.acos, -1, 1), balls.complex_acos),
        limits=(sp.pi, sp.Integer(0)),
        domain=_CLOSED_UNIT,
    ),
    elementary(
        sp.atan,
        "arctan",
        ball=(arb.atan, balls.complex_atan),
        limits=(-_HALF_TURN, _HALF_TURN),
    ),
    FunctionRecord(
        kind=sp.atan2,
        spellings={"arrays": "{library}.arctan2({0}, {1})", "scalar": "angle({0}, {1})"},
        ball=(arb.atan2, balls.real_only(arb.atan2)),
    ),
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
