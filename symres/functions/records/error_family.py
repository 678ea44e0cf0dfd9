"""The error function, its complements, and the gamma function."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from flint import arb

from ...numerics import ball_functions as balls
from ...numerics.interval_arithmetic import Range
from ..balls.far_form import scaled_ierfc
from ..companions import Dawson, Erfc, Erfcx, Erfcxm1, ScaledTail
from ..function_record import FunctionRecord, called, elementary, register
from ..tails import BOUNDED, Scale, raised, scaled

_ZERO, _ONE, _TWO, _INF = sp.Integer(0), sp.Integer(1), sp.Integer(2), sp.oo
_POSITIVE = Range(arb(0), arb.pos_inf(), True, True)


def _erfc(u: sp.Expr) -> sp.Expr:
    """``erfc(u)``; sympy's own makes ``2 - erfc(-u)`` of it where u has a minus sign."""
    return (Erfc if u.could_extract_minus_sign() else sp.erfc)(u)


def _erfc_tail(u: Scale) -> Scale:
    """It falls like ``exp(-u**2)`` where u grows."""
    if u.vanishes:
        return Scale(lead=_ONE)
    if u.side == -1:
        return Scale(lead=_TWO)
    if u.side is None:
        return BOUNDED
    if u.order != 0:
        return Scale(order=_INF, rate=-_ONE, lead=_ONE)
    if u.logs != 0 or u.power == 0:
        return Scale(lead=_ZERO)
    return Scale(order=2 * u.power, rate=-(u.lead**2), lead=_ONE)


ERFC = elementary(
    sp.erfc,
    spellings=called("erfc", library="special"),
    ball=balls.from_flint("erfc", is_monotone=True),
    definition=lambda u: 1 - sp.erf(u),
    limits=(_TWO, _ZERO),
    tail=_erfc_tail,
)
register(
    elementary(
        sp.erf,
        spellings=called("erf", library="special"),
        ball=balls.from_flint("erf", is_monotone=True),
        limits=(-_ONE, _ONE),
        complements=lambda u: (_erfc(u), _erfc(-u)),
    ),
    ERFC,
    replace(ERFC, kind=Erfc, names=()),
    FunctionRecord(
        kind=scaled_ierfc,
        definition=lambda u: 1 - sp.sqrt(sp.pi) * u * sp.exp(u**2) * sp.erfc(u),
        ball=(balls.scaled_ierfc, balls.complex_scaled_ierfc),
        limits=(_ONE, _ZERO),
        domain=_POSITIVE,
        tail=lambda u: raised(scaled(u, sp.sqrt(2)), sp.Integer(-2)),
    ),
    FunctionRecord(
        kind=Erfcx,
        spellings={"arrays": "_erfcx({0})", "numpy": "special.erfcx({0})", "scalar": "erfcx({0})"},
        definition=lambda u: sp.exp(u**2) * _erfc(u),
    ),
    FunctionRecord(
        kind=Erfcxm1,
        spellings={"arrays": "_erfcxm1({0})", "scalar": "erfcxm1({0})"},
        definition=lambda u: sp.exp(u**2) * _erfc(u) - 1,
    ),
    FunctionRecord(
        kind=ScaledTail,
        spellings={"arrays": "_scaled_tail({0}, {1}, {2})"},
        definition=lambda u, v, w: sp.exp(u) * _erfc(w),
    ),
    FunctionRecord(kind=sp.erfi, ball=balls.from_flint("erfi"), limits=(-_INF, _INF)),
    FunctionRecord(
        kind=Dawson,
        spellings={"arrays": "_dawson({0})", "numpy": "special.dawsn({0})"},
        definition=lambda u: sp.sqrt(sp.pi) / 2 * sp.exp(-(u**2)) * sp.erfi(u),
    ),
    FunctionRecord(kind=sp.erfinv, ball=(arb.erfinv, balls.real_only(arb.erfinv))),
    FunctionRecord(kind=sp.erfcinv, ball=(arb.erfcinv, balls.real_only(arb.erfcinv))),
    FunctionRecord(kind=sp.gamma, ball=balls.from_flint("gamma")),
)
