"""The figure of a measurement: kernels, cosines of tokens and Jacobian norms over places, with errors and theory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...report.figures.style import SAME_CURVE, coincide, number_axis
from ...results.annotated_numbers import EstimatedNumber
from .place_signals import PlaceComparison, PlaceSignals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KERNEL, _COSINE, _FORWARD, _BACKWARD, _GRADIENT = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
_NAMES_SHOWN = 24  # more of them would cover each other
_HALF = 0.3  # of the distance of places: how far a prediction without neighbours is drawn to both sides
_SAID = {
    "kernel": "kernel, mean square",
    "token_cosine": "token similarity",
    "apjn_forward": r"APJN, $\frac{1}{N}\sum_{ij}(\partial h_i/\partial h_j)^2$",
    "gradient_norm": "norm of the gradient",
}
_BAND = "band: what the theory allows"
_CONSTANT = 1.5  # a range smaller than this factor is drawn as if it had this factor: noise is no trend


def draw_signals(
    places: Sequence[PlaceSignals],
    theory: Sequence[Mapping[str, PlaceComparison]],
    start: str,
    heading: str,
    verdict: str,
    stack: Sequence[PlaceSignals],
) -> Figure:
    """Draw kernels, Jacobian norms and, with a loss, gradients, each on a logarithmic scale over the places.

    Where inputs have positions, cosines of two of them follow kernels, on a linear scale.

    Args:
        places: in the order of execution.
        theory: what it says about the numbers of each place, by name; drawn as lines with bands of what it allows.
        start: where forward Jacobians begin.
        heading: above the figure.
        verdict: what is said of the Jacobian norms beside how much they change; may be empty.
        stack: the places over which titles say how much numbers change: all, or those before a readout.

    Returns:
        A figure that belongs to no window, and shows itself in notebooks.
    """
    from ...report.figures.styled_figure import styled

    optional = ("token_cosine", "gradient_norm")
    measured = {name: any(not math.isnan(place.number(name)) for place in places) for name in optional}
    rows = [name for name in ("kernel", "token_cosine", "apjn_forward", "gradient_norm") if measured.get(name, True)]
    with styled(6.4, 1.2 + 2.6 * len(rows)) as figure:
        axes = list(np.atleast_1d(figure.subplots(len(rows), 1, sharex=True)))
        panels = dict(zip(rows, axes, strict=True))
        panels["apjn_backward"] = panels["apjn_forward"]
        curves = [[float(place.number(name)) for place in places] for name in ("apjn_forward", "apjn_backward")]
        begin = "input" if start == "input" else f"place {start}"
        for name, color, marker, label in (
            ("kernel", _KERNEL, "o", "kernel"),
            ("token_cosine", _COSINE, "o", "cosine of two positions"),
            ("apjn_forward", _FORWARD, "o", f"from the {begin} to the place"),
            ("apjn_backward", _BACKWARD, "s", "from the place to the output"),
            ("gradient_norm", _GRADIENT, "o", "gradient of the loss"),
        ):
            if name not in panels:
                continue
            panels[name].set_yscale("linear" if name == "token_cosine" else "log")
            if name == "apjn_backward" and coincide(*curves):
                label += SAME_CURVE
            numbers = [place.number(name) for place in places]
            _series(panels[name], numbers, _theory(theory, name), color, marker, label)
            panels[name].set_ylabel(_SAID.get(name, panels[name].get_ylabel()))
        panels["apjn_forward"].axhline(1.0, color="0.75", linewidth=0.8, zorder=0)
        for panel in axes:
            _scale(panel)
            if panel.get_legend_handles_labels()[0]:
                panel.legend(frameon=False, fontsize=8)
        _name_places(axes[-1], [place.name for place in places])
        figure.suptitle(heading, fontsize=9)
        before = "" if len(stack) == len(places) else " before the readout"
        axes[0].set_title(_change("kernels", stack, "kernel", before), fontsize=10)
        jacobians = _change("forward Jacobian norms", stack, "apjn_forward", before)
        panels["apjn_forward"].set_title(": ".join(filter(None, (jacobians, verdict))), fontsize=10)
    return figure


def _series(
    panel: Axes,
    numbers: Sequence[EstimatedNumber],
    theory: tuple[np.ndarray, np.ndarray] | None,
    color: str,
    marker: str,
    label: str,
) -> None:
    """Measured numbers with error bars, and the theory as a line with a band."""
    x = np.arange(1, len(numbers) + 1)
    values = np.array(list(map(float, numbers)))
    errors = np.nan_to_num(np.array([number.error for number in numbers]))
    is_log = panel.get_yscale() == "log"
    shown = np.isfinite(values) & ((values > 0) | (not is_log))
    if shown.any():
        lower = (
            np.minimum(errors, values * (1 - 1e-3)) if is_log else errors
        )  # a bar that reached 0 would not end on this scale
        panel.errorbar(
            x[shown],
            values[shown],
            yerr=np.stack([lower, errors])[:, shown],
            color=color,
            marker=marker,
            markersize=4,
            linestyle="-" if theory is None else "none",
            linewidth=0.9,
            capsize=2,
            label=label,
        )
    lost = np.flatnonzero(~shown & ~np.isnan(values))
    for position in lost:  # 0 and infinity have no place on this scale
        panel.axvline(x[position], color=color, linewidth=0.8, linestyle=":", zorder=0)
        panel.annotate(
            "0" if values[position] == 0 else r"$\infty$", (x[position], 0.02), xycoords=("data", "axes fraction")
        )
    if theory is not None:
        _theory_of_series(panel, *theory, color, f"theory, {label}")


def _theory_of_series(panel: Axes, expected: np.ndarray, allowed: np.ndarray, color: str, label: str) -> None:
    """A line with a band, and short lines at places whose neighbours have no theory: nothing else would show them."""
    with np.errstate(invalid="ignore"):
        low = expected - allowed
        low = np.maximum(low, expected * 1e-3) if panel.get_yscale() == "log" else low
    for run in np.ma.clump_unmasked(np.ma.masked_invalid(expected)):
        rows = np.arange(run.start, run.stop)
        x = rows + 1.0
        has_neighbours = len(rows) > 1
        if not has_neighbours:
            rows, x = rows[[0, 0]], np.array([x[0] - _HALF, x[0] + _HALF])
        panel.plot(x, expected[rows], color=color, linewidth=1.1 if has_neighbours else 1.4, label=label)
        panel.fill_between(x, low[rows], (expected + allowed)[rows], color=color, alpha=0.2, linewidth=0)
        label = ""  # of the first line alone
    if np.any(allowed[np.isfinite(expected)] > 0) and _BAND not in panel.get_legend_handles_labels()[1]:
        panel.fill_between([], [], color="0.5", alpha=0.3, linewidth=0, label=_BAND)


def _theory(theory: Sequence[Mapping[str, PlaceComparison]], name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What the theory says at each place, nan where nothing, and its errors; None if it says nothing at all."""
    compared = [of_place.get(name, PlaceComparison()) for of_place in theory]
    if not any(name in of_place for of_place in theory):
        return None
    return np.array([one.expected for one in compared]), np.array([one.allowed for one in compared])


def _scale(panel: Axes) -> None:
    """A logarithmic scale whose range is never so small that noise looks like growth."""
    if panel.get_yscale() != "log":
        panel.set_ylim(min(panel.get_ylim()[0], 0), 1)
        return
    low, high = panel.get_ylim()
    if 0 < low < high < _CONSTANT**2 * low:
        middle = math.sqrt(low * high)
        panel.set_ylim(middle / _CONSTANT, middle * _CONSTANT)
    number_axis(panel)


def _name_places(panel: Axes, names: Sequence[str]) -> None:
    step = -(-len(names) // _NAMES_SHOWN)
    ticks = range(0, len(names), step)
    long = max(map(len, names)) > 3
    panel.set_xticks([position + 1 for position in ticks], [names[position] for position in ticks])
    panel.tick_params(axis="x", labelrotation=90 if long else 0, labelsize=8)
    panel.set_xlabel("place, in the order of execution")


def _change(what: str, places: Sequence[PlaceSignals], name: str, before: str) -> str:
    """By which factor a number changes from the first to the last place, or over all of them; and where they end."""
    values = [float(p.number(name)) for p in places if math.isfinite(p.number(name)) and p.number(name) > 0]
    if len(values) < 2:
        return ""
    factor, over_all = values[-1] / values[0], max(values) / min(values)
    if over_all < 2:
        return f"{what} stay within a factor 2{before}"
    if max(factor, 1 / factor) < over_all / 2:
        return f"{what} range over a factor {over_all:.3g}{before}"
    return f"{what} {'grow' if factor > 1 else 'fall'} by a factor {max(factor, 1 / factor):.3g}{before}"
