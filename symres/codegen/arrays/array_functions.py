"""How functions are spelled that array libraries call by the same name."""

from __future__ import annotations

import sympy as sp

from ...functions import companions as co
from ...functions.records.gaussian_signs import S4, T4
from ..stable import primitives as pr

_COMMON = {  # library.NAME(argument)
    **{f: f.__name__ for f in (sp.exp, sp.log, sp.sin, sp.cos, sp.tan, sp.sinh, sp.cosh, sp.tanh, sp.sign)},
    **{f: f"arc{f.__name__[1:]}" for f in (sp.asin, sp.acos, sp.atan, sp.asinh)},
    **dict.fromkeys((sp.Abs, pr.AbsNode), "abs"),
    co.Expm1: "expm1",
    co.Log1p: "log1p",
}
_OF_THE_LIBRARY: tuple[type[pr.Companion], ...] = (
    *(co.Erfcx, co.Dawson, pr.Separation, pr.Certain, pr.CrossDifference, co.ScaledTail, pr.Restored, co.Sigmoid),
    *(pr.TwoSigns, pr.TwoTails),
)


def array_functions(library: str, special: str) -> dict[type, str]:
    """Templates of functions by their class in formulas.

    Args:
        library: the name of the array library in code.
        special: that of the library of the error functions.
    """
    return {
        **{head: f"{library}.{name}({{0}})" for head, name in _COMMON.items()},
        **{head: f"_{head.template()}" for head in _OF_THE_LIBRARY},
        sp.atan2: f"{library}.arctan2({{0}}, {{1}})",
        pr.Atan2: f"{library}.arctan2({{0}}, {{1}})",
        pr.UpperAngle: f"{library}.arctan2({{0}} + ({{1}} == 0.0), {{1}})",
        sp.erf: f"{special}.erf({{0}})",
        sp.erfc: f"{special}.erfc({{0}})",
        co.Erfc: f"{special}.erfc({{0}})",
        pr.NonzeroDivisor: "({0} + ({0} == 0.0))",
        co.ExpSinh: "_expsinh({0}, {1})",
        co.ExpCosh: "_expcosh({0}, {1})",
        co.ExpCoshm1: "_expcoshm1({0}, {1})",
        pr.AngularSum: "_angular_sum({0}, {1}, {2}, {3}, {4})",
        S4: "_four_signs({0}, {1}, {2}, {3}, {4}, {5})",
        T4: "_equal_signs({0})",
    }
