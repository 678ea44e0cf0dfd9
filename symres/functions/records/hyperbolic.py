"""The hyperbolic functions and their inverses."""

from __future__ import annotations

import sympy as sp
from flint import acb, arb

from ...numerics import ball_functions as balls
from ...numerics import interval_arithmetic as intervals
from ...numerics.interval_arithmetic import Range
from ..companions import Sigmoid
from ..function_record import FunctionRecord, elementary, register
from ..tails import BOUNDED, UNKNOWN_TAIL, Scale

_ONE, _INF = sp.Integer(1), sp.oo
_ABOVE_1 = Range(arb(1), arb.pos_inf(), False, True)
_UNIT = Range(arb(-1), arb(1), True, True)


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
        sp.sinh, definition=lambda u: (sp.exp(u) - sp.exp(-u)) / 2, limits=(-_INF, _INF), inverse=sp.asinh, is_odd=True
    ),
    elementary(sp.cosh, definition=lambda u: (sp.exp(u) + sp.exp(-u)) / 2, range=intervals.hyperbolic_cosine),
    elementary(
        sp.tanh,
        ball=(balls.restricted(arb.tanh), balls.from_flint("tanh")[1]),
        definition=lambda u: 1 - 2 / (sp.exp(2 * u) + 1),
        limits=(-_ONE, _ONE),
        inverse=sp.atanh,
        is_odd=True,
        complements=lambda u: (2 * Sigmoid(-2 * u), 2 * Sigmoid(2 * u)),
    ),
    *(
        FunctionRecord(kind=f, definition=of, ball=balls.from_flint(f.__name__), poles=sp.sinh, is_odd=True)
        for f, of in (
            (sp.coth, lambda u: 1 + 2 / (sp.exp(2 * u) - 1)),
            (sp.csch, lambda u: 2 / (sp.exp(u) - sp.exp(-u))),
        )
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
        inverse=sp.sinh,
        is_odd=True,
    ),
    FunctionRecord(
        kind=sp.acosh,
        names=("acosh",),
        definition=inverse_cosh,
        is_abbreviation=True,
        ball=(balls.restricted(arb.acosh, 1), balls.with_branch_cuts(acb.acosh, lambda w: bool(w.real <= 1))),
        limits=(sp.Integer(0), _INF),
        domain=_ABOVE_1,
        inverse=sp.cosh,
    ),
    FunctionRecord(
        kind=sp.atanh,
        names=("atanh",),
        definition=lambda u: (sp.log(1 + u) - sp.log(1 - u)) / 2,  # of a small u without cancellation
        is_abbreviation=True,
        ball=(balls.restricted(arb.atanh), balls.complex_atanh),
        limits=(-_INF, _INF),
        domain=_UNIT,
        inverse=sp.tanh,
        is_odd=True,
    ),
)
