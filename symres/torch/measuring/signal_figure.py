"""The figure of a measurement: kernels and Jacobian norms over the places, with errors and theory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import DeclarationError
from ...report.figures.style import STYLE
from .depth_fit import DepthVerdict
from .signals import Measurement, PlaceSignals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KERNEL, _FORWARD, _BACKWARD, _GRADIENT = "#0072B2", "#009E73", "#D55E00", "#CC79A7"
_NAMES_SHOWN = 24  # more of them would cover each other
_CONSTANT = 1.5  # a range smaller than this factor is drawn as if it had this factor: noise is no trend


def draw_signals(measured: Measurement) -> Figure:
    """Draw kernels, Jacobian norms and, with a loss, gradients, each on a logarithmic scale over the places.

    Args:
        measured: the measurement; its theory, if there is one, is drawn as lines.

    Returns:
        A figure that belongs to no window.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with_loss = any(not math.isnan(place.gradient_norm) for place in measured.places)
    panels = 3 if with_loss else 2
    with rc_context(STYLE | {"font.family": "STIXGeneral"}):  # by its name: it is looked up when the user draws
        figure = Figure(figsize=(6.4, 1.2 + 2.6 * panels), layout="constrained")
        axes = list(np.atleast_1d(figure.subplots(panels, 1, sharex=True)))
        _series(axes[0], measured, "kernel", _KERNEL, "o", "kernel")
        axes[0].set_ylabel("kernel, mean square")
        _series(axes[1], measured, "apjn_forward", _FORWARD, "o", f"from the {_begin(measured)} to the place")
        _series(axes[1], measured, "apjn_backward", _BACKWARD, "s", "from the place to the output")
        axes[1].axhline(1.0, color="0.75", linewidth=0.8, zorder=0)
        axes[1].set_ylabel(r"APJN, $\frac{1}{N}\sum_{ij}(\partial h_i/\partial h_j)^2$")
        if with_loss:
            _series(axes[2], measured, "gradient_norm", _GRADIENT, "o", "gradient of the loss")
            axes[2].set_ylabel("norm of the gradient")
        for panel in axes:
            _scale(panel)
            if panel.get_legend_handles_labels()[0]:
                panel.legend(frameon=False, fontsize=8)
        _name_places(axes[-1], [place.name for place in measured.places])
        figure.suptitle(_heading(measured), fontsize=9)
        axes[0].set_title(_change("kernels", measured.places, "kernel"), fontsize=10)
        jacobians = _change("forward Jacobian norms", measured.places, "apjn_forward")
        axes[1].set_title(f"{jacobians}{_verdict(measured)}", fontsize=10)
    return figure


def _begin(measured: Measurement) -> str:
    return "input" if measured.start == "input" else f"place {measured.start}"


def _series(panel: Axes, measured: Measurement, name: str, color: str, marker: str, label: str) -> None:
    """Measured numbers with error bars, and the theory as a line with a band."""
    x = np.arange(1, len(measured.places) + 1)
    numbers = [place.number(name) for place in measured.places]
    values = np.array(list(map(float, numbers)))
    errors = np.nan_to_num(np.array([number.error for number in numbers]))
    shown = np.isfinite(values) & (values > 0)
    if shown.any():
        lower = np.minimum(errors, values * (1 - 1e-3))  # a bar that reached 0 would not end on this scale
        panel.errorbar(
            x[shown],
            values[shown],
            yerr=np.stack([lower, errors])[:, shown],
            color=color,
            marker=marker,
            markersize=4,
            linestyle="none" if _theory(measured, name) is not None else "-",
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
    theory = _theory(measured, name)
    if theory is not None:
        expected, allowed = theory
        panel.plot(x, expected, color=color, linewidth=1.1, label="theory" if name != "apjn_backward" else None)
        with np.errstate(invalid="ignore"):
            low = np.maximum(expected - allowed, expected * 1e-3)
        panel.fill_between(x, low, expected + allowed, color=color, alpha=0.2, linewidth=0)


def _theory(measured: Measurement, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """What the theory says at each place, nan where nothing, and its errors; None if it says nothing at all."""
    found = [
        (getattr(p, name, None), getattr(p, f"{name}_error", 0.0)) if p is not None else (None, 0.0)
        for p in measured.theory
    ]
    if all(value is None for value, _ in found):
        return None
    return np.array([math.nan if v is None else v for v, _ in found]), np.array([e for _, e in found])


def _scale(panel: Axes) -> None:
    """A logarithmic scale whose range is never so small that noise looks like growth."""
    from matplotlib.ticker import LogFormatterSciNotation, NullFormatter

    panel.set_yscale("log")
    low, high = panel.get_ylim()
    if 0 < low < high < _CONSTANT**2 * low:
        middle = math.sqrt(low * high)
        panel.set_ylim(middle / _CONSTANT, middle * _CONSTANT)
        low, high = panel.get_ylim()
    if high < 30 * low:  # few powers of ten: numbers between them are written too
        panel.yaxis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(2, 1)))
        panel.yaxis.set_minor_formatter("{x:.3g}")
        panel.tick_params(axis="y", which="minor", labelsize=7)
    else:
        panel.yaxis.set_minor_formatter(NullFormatter())


def _name_places(panel: Axes, names: Sequence[str]) -> None:
    step = -(-len(names) // _NAMES_SHOWN)
    ticks = range(0, len(names), step)
    long = max(map(len, names)) > 3
    panel.set_xticks([position + 1 for position in ticks], [names[position] for position in ticks])
    panel.tick_params(axis="x", labelrotation=90 if long else 0, labelsize=8)
    panel.set_xlabel("place, in the order of execution")


def _heading(measured: Measurement) -> str:
    networks = "1 network" if measured.networks == 1 else f"{measured.networks} networks"
    inputs = "1 input" if measured.inputs == 1 else f"{measured.inputs} inputs"
    return f"{networks}, {inputs}; bars: standard errors over {measured.errors_over}"


def _verdict(measured: Measurement) -> str:
    """What a fit says about growth with depth; empty where there are too few places, or it cannot tell."""
    try:
        fit = measured.fit()
    except DeclarationError:
        return ""
    return "" if fit.verdict is DepthVerdict.UNDECIDED else f": {fit.verdict}"


def _change(what: str, places: Sequence[PlaceSignals], name: str) -> str:
    """By which factor a number changes from the first to the last place."""
    values = [float(p.number(name)) for p in places if math.isfinite(p.number(name)) and p.number(name) > 0]
    if len(values) < 2:
        return ""
    factor = values[-1] / values[0]
    if 0.5 < factor < 2:
        return f"{what} stay within a factor 2"
    return f"{what} {'grow' if factor > 1 else 'fall'} by a factor {max(factor, 1 / factor):.3g}"
