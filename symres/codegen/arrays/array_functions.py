"""How functions are spelled that array libraries call by the same name."""

from __future__ import annotations

import sympy as sp

from ...numerics.special import S4, T4
from ..stable.primitives import (
    AbsNode,
    AngularSum,
    Atan2,
    Certain,
    CrossDifference,
    Dawson,
    Erfc,
    Erfcx,
    ExpCosh,
    ExpCoshm1,
    Expm1,
    ExpSinh,
    Log1p,
    NonzeroDivisor,
    Restored,
    ScaledTail,
    Separation,
    Sigmoid,
    TwoSigns,
    TwoTails,
    UpperAngle,
)

_COMMON = {  # library.NAME(argument)
    sp.exp: "exp",
    sp.log: "log",
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.asin: "arcsin",
    sp.acos: "arccos",
    sp.atan: "arctan",
    sp.asinh: "arcsinh",
    sp.Abs: "abs",
    AbsNode: "abs",
    sp.sign: "sign",
    Expm1: "expm1",
    Log1p: "log1p",
}


def array_functions(library: str, special: str) -> dict[type, str]:
    """Templates of functions by their class in formulas.

    Args:
        library: the name of the array library in code.
        special: that of the library of the error functions.
    """
    return {
        **{head: f"{library}.{name}({{0}})" for head, name in _COMMON.items()},
        sp.atan2: f"{library}.arctan2({{0}}, {{1}})",
        Atan2: f"{library}.arctan2({{0}}, {{1}})",
        UpperAngle: f"{library}.arctan2({{0}} + ({{1}} == 0.0), {{1}})",
        sp.erf: f"{special}.erf({{0}})",
        sp.erfc: f"{special}.erfc({{0}})",
        Erfc: f"{special}.erfc({{0}})",
        Erfcx: "_erfcx({0})",
        Dawson: "_dawson({0})",
        NonzeroDivisor: "({0} + ({0} == 0.0))",
        Separation: "_separation({0}, {1}, {2})",
        Certain: "_certain({0}, {1})",
        CrossDifference: "_cross_difference({0}, {1}, {2}, {3})",
        ScaledTail: "_scaled_tail({0}, {1}, {2})",
        ExpSinh: "_expsinh({0}, {1})",
        ExpCosh: "_expcosh({0}, {1})",
        ExpCoshm1: "_expcoshm1({0}, {1})",
        AngularSum: "_angular_sum({0}, {1}, {2}, {3}, {4})",
        Restored: "_restored({0}, {1}, {2}, {3})",
        Sigmoid: "_sigmoid({0})",
        TwoSigns: "_two_signs({0}, {1}, {2}, {3})",
        TwoTails: "_two_tails({0}, {1}, {2}, {3})",
        S4: "_four_signs({0}, {1}, {2}, {3}, {4}, {5})",
        T4: "_equal_signs({0})",
    }
