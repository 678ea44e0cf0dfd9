"""What figures show of advice on initialisation: its numbers, its words, its mark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...core.abbreviation import counted
from ...core.symbols import C_W, C_b
from ...results.advice.advice import Advice
from ...results.advice.parts import Origin

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

_COLOUR = "#CC79A7"
_WHY = {  # a layer need not be critical to be advised
    Origin.BRANCH: "branches so small that all layers together change little",
    Origin.SEARCH: "the setting that changes kernels and gradients least",
    Origin.GIVEN: "these variances were given",
}


def advised_numbers(advice: Advice | None) -> dict[str, float]:
    """The numbers of the parameters by name, in units of the layer's variances; empty unless advice holds."""
    if advice is None or not advice.holds:
        return {}
    variances = {C_W.name: advice.C_W, C_b.name: advice.C_b}
    return {**{name: value for name, value in variances.items() if value is not None}, **advice.parameters}


def advised_words(advice: Advice) -> str:
    """What the mark says in a legend."""
    return f"advised for {counted(advice.depth, 'layer')} of width {advice.width}"


def reason_off_the_line(advice: Advice) -> str:
    """Why an advised point does not lie on a critical line."""
    if advice.origin in _WHY:
        return f"not critical: {_WHY[advice.origin]}"
    return "critical for another kernel of the input" + ("" if advice.kernel is None else f", {advice.kernel:.9g}")


def advised_place(
    numbers: Mapping[str, float], x: str, y: str, fixed: Mapping[str, float]
) -> tuple[float, float] | None:
    """Where advice lies in a plane of two parameters; None if it is not in this plane.

    Args:
        numbers: that are advised, by name.
        x: the parameter along the horizontal axis.
        y: the one along the vertical axis.
        fixed: numbers of all other parameters.
    """
    same = all(math.isclose(numbers[name], value, rel_tol=1e-9) for name, value in fixed.items() if name in numbers)
    return (numbers[x], numbers[y]) if same and x in numbers and y in numbers else None


def ring(xs: Sequence[float] = (), ys: Sequence[float] = (), size: float = 11) -> Line2D:
    """The mark: a ring, which leaves that of a critical point visible where both are one."""
    from matplotlib.lines import Line2D

    found = Line2D(xs, ys, linestyle="", marker="o", markersize=size, markerfacecolor="none", color=_COLOUR, zorder=6)
    found.set(markeredgewidth=2, clip_on=False)
    return found
