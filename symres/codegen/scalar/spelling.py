"""Sympy expressions as scalar Python: the functions of the library and of the mathematics that every language has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from ..emission.emitter import Dialect, Emitter
from ..stable.primitives import (
    AbsNode,
    AngularSum,
    Atan2,
    Certain,
    Clipped,
    CrossDifference,
    Distance,
    Erfc,
    ExpCosh,
    ExpCoshm1,
    Expm1,
    ExpSinh,
    GeneratedSymbol,
    Log1p,
    NonzeroDivisor,
    Possible,
    Restored,
    RightHalfPlaneAngle,
    Separation,
    Sigmoid,
    Softplus,
    TwoTails,
    UpperAngle,
    UpperHalfPlaneAngle,
    complement,
    correlation,
    determinant,
)

SCALAR = Dialect(
    name="scalar code",
    functions={
        sp.exp: "exp({0})",
        sp.log: "log({0})",
        sp.sin: "sin({0})",
        sp.cos: "cos({0})",
        sp.tan: "tan({0})",
        sp.sinh: "sinh({0})",
        sp.cosh: "cosh({0})",
        sp.tanh: "tanh({0})",
        sp.asin: "asin({0})",
        sp.acos: "acos({0})",
        sp.atan: "atan({0})",
        sp.atan2: "angle({0}, {1})",
        sp.asinh: "asinh({0})",
        sp.erf: "erf({0})",
        sp.erfc: "erfc({0})",
        sp.Abs: "fabs({0})",
        AbsNode: "fabs({0})",
        Distance: "distance({0}, {1}, {2})",
        Separation: "separation({0}, {1}, {2})",
        Clipped: "clipped({0}, {1}, {2}, {3}, {4})",
        Possible: "possible({0}, {1}, {2}, {3})",
        NonzeroDivisor: "nonzero({0})",
        CrossDifference: "cross_difference({0}, {1}, {2}, {3})",
        sp.sign: "sign({0})",
        sp.Heaviside: "step({0}, {1})",
        sp.Max: "maximum({0}, {1})",
        sp.Min: "minimum({0}, {1})",
        Atan2: "angle({0}, {1})",
        AngularSum: "angular_sum({0}, {1}, {2}, {3}, {4}, {5})",
        RightHalfPlaneAngle: "right_half_plane_angle({0}, {1}, {2})",
        UpperHalfPlaneAngle: "upper_half_plane_angle({0}, {1}, {2})",
        UpperAngle: "upper_angle({0}, {1})",
        Expm1: "expm1({0})",
        Log1p: "log1p({0})",
        Erfc: "erfc({0})",
        ExpSinh: "exp_sinh({0}, {1})",
        ExpCosh: "exp_cosh({0}, {1})",
        ExpCoshm1: "exp_coshm1({0}, {1})",
        Restored: "restored({0}, {1}, {2}, {3})",
        Certain: "certain({0}, {1})",
        TwoTails: "two_tails({0}, {1}, {2}, {3})",
        Sigmoid: "sigmoid({0})",
        Softplus: "softplus({0})",
    },
    sqrt="sqrt({0})",
    root="sqrt({0})",
    radical="pow({0}, {1})",
    power="pow({0}, {1})",
    infinity="INFINITY",
)
_HELPED = {determinant: "determinant", correlation: "correlation", complement: "complement"}


def lines(names: Mapping[sp.Symbol, str], results: Sequence[tuple[str, sp.Expr]]) -> list[str]:
    """Assignments that compute results, the determinant and the correlation before, where they are contained.

    A result may contain the names of those before it.
    """
    used = set().union(*(expr.free_symbols for _, expr in results))
    helped = {s: name for s, name in _HELPED.items() if s in used and s not in names}
    before = [f"{name} = {name}(K1, K2, C)" for name in helped.values()]
    earlier = {s: s.name for s in used if isinstance(s, GeneratedSymbol) and s.name in {name for name, _ in results}}
    return [*before, *Emitter(SCALAR, {**names, **helped, **earlier}).function(results)]
