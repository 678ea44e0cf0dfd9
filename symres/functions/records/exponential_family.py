"""The exponential, the logarithm, and what is made of them without losing digits."""

from __future__ import annotations

import sympy as sp
from flint import acb, arb

from ...numerics import ball_functions as balls
from ...numerics.interval_arithmetic import Range
from ..companions import ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from ..function_record import FunctionRecord, called, elementary, register
from ..tails import add, constant, exponential

_ZERO, _ONE, _INF = sp.Integer(0), sp.Integer(1), sp.oo
_POSITIVE = Range(arb(0), arb.pos_inf(), True, True)
_ABOVE_MINUS_1 = Range(arb(-1), arb.pos_inf(), True, True)

register(
    elementary(
        sp.exp,
        limits=(_ZERO, _INF),
        inverse=sp.log,
        complements=lambda u: (-Expm1(u), None),
        product=lambda s, d: 2 * ExpSinh(s, d),
    ),
    elementary(
        sp.log,
        names=("log", "ln"),
        ball=(arb.log, lambda analytic, x: acb(x).log(analytic)),
        limits=(-_INF, _INF),
        domain=_POSITIVE,
        inverse=sp.exp,
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
        inverse=lambda value: sp.log(value / (1 - value)),
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
        inverse=lambda value: sp.log(sp.exp(value) - 1),
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
)
