"""How array libraries spell what is made of two inputs: functions that modules contain."""

from __future__ import annotations

from ...functions.function_record import spelled
from ..stable import primitives as pr

_OF_THE_LIBRARY = (pr.Separation, pr.Certain, pr.CrossDifference, pr.Restored, pr.TwoSigns, pr.TwoTails, pr.Positive)


def array_functions(language: str, library: str, special: str) -> dict[type, str]:
    """Templates of functions by their class in formulas.

    Args:
        language: its name in the records of functions.
        library: the name of the array library in code.
        special: that of the library of the error functions.
    """
    return {
        **spelled(language, "arrays", library=library, special=special),
        **{head: f"_{head.template()}" for head in _OF_THE_LIBRARY},
        pr.Chosen: f"{library}.where({{0}}, {{1}}, {{2}})",
        pr.AbsNode: f"{library}.abs({{0}})",
        pr.Atan2: f"{library}.arctan2({{0}}, {{1}})",
        pr.UpperAngle: f"{library}.arctan2({{0}} + ({{1}} == 0.0), {{1}})",
        pr.Orientation: f"{library}.copysign({library}.ones_like({{0}}), {{0}})",
        pr.NonzeroDivisor: "({0} + ({0} == 0.0))",
        pr.AngularSum: "_angular_sum({0}, {1}, {2}, {3}, {4})",
    }
