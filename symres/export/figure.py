"""The plot of a theory over the kernel: <phi^2>, the susceptibilities, the critical point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from ..errors import DeclarationError
from ..quantity import Quantity, Status
from ..report import Report
from ..symbols import C_W, C_b, K, gamma
from . import files
from .decimals import at_zero_gamma
from .render import export

SUFFIXES = (".png", ".svg")
POINTS = 400
LEVELS = ("kernel_map", "chi_parallel", "chi_perp")
_CURVES = {
    "kernel_map": (r"$g(K)$, that is $K'$ at $C_W = 1,\ C_b = 0,\ \gamma = 0$", "#444444", "-"),
    "chi_parallel": (r"$\chi_\parallel(K)$", "#0b6e99", "-"),
    "chi_perp": (r"$\chi_\perp(K)$", "#c4452d", (0, (6, 2))),  # dashed: equal curves remain visible
}
_STYLE = {
    "font.size": 10,
    "mathtext.fontset": "cm",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "symres",  # the same picture gives the same file
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Curves:
    """What is drawn.

    Args:
        kernels: values of K, increasing.
        values: name -> values at ``kernels``; names as in ``LEVELS``.
        critical: critical kernel; 0 is marked at the left edge.
        title: above the plot.
        setting: at which parameters, as LaTeX without dollar signs.
    """

    kernels: np.ndarray
    values: Mapping[str, np.ndarray]
    critical: float | None = None
    title: str = ""
    setting: str = ""


def curves(report: Report) -> Curves:
    """Sample a report at its critical parameters, or at C_W = 1 where it has none, without skip connection.

    The kernel is drawn over two decades and a half on both sides of the critical one, or of 1.

    Raises:
        DeclarationError: free parameters of the activation have no numbers.
    """
    point = next((p for p in report.critical_points if _number(p.C_W) is not None), None)
    weight = _number(point.C_W) if point is not None else None
    critical = _number(point.K) if point is not None else None
    if report.universality_class == "scale-invariant":  # every kernel is critical
        critical = None
    centre = critical or 1.0
    kernels = np.geomspace(centre / 300, centre * 300, POINTS)
    shown = {q.name: q for q in report.quantities if q.name in LEVELS and q.status is not Status.UNKNOWN}
    module = export(shown, "numpy").load()
    values = {}
    for name in module.__all__:  # a quantity for which no accurate code was found is left out
        quantity = shown[name]
        numbers = _numbers(quantity, 1.0 if name == "kernel_map" else (weight or 1.0))
        values[name] = getattr(module, name)(kernels, *numbers)
    weight_text = f"C_W = {weight:.6g}" if weight else "C_W = 1"
    skip = any(gamma in q.symbols for q in shown.values())
    return Curves(
        kernels,
        values,
        critical,
        f"{report.activation}, {report.layer}",
        weight_text + (r",\ \gamma = 0" if skip else ""),
    )


def draw(path: str | Path, drawn: Curves) -> Path:
    """Write the plot; the suffix of the path (.png, .svg) decides the format.

    Raises:
        DeclarationError: another suffix, or a folder that cannot be written.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise DeclarationError(f"a figure {path.name}", "its format is unknown", f"end it with {' or '.join(SUFFIXES)}")
    return files.write_whole(path, lambda temporary: _plot(temporary, drawn))


def _plot(path: Path, drawn: Curves) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(6.0, 5.6), dpi=200, layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1.0, 1.5))
        for name, series in drawn.values.items():
            label, colour, dash = _CURVES[name]
            axes = upper if name == "kernel_map" else lower
            axes.plot(drawn.kernels, series, color=colour, linestyle=dash, label=label, linewidth=1.6)
        upper.set_xscale("log")
        upper.set_yscale("log")
        upper.set_ylabel(r"$g(K)$")
        lower.set_xlim(drawn.kernels[0], drawn.kernels[-1])
        lower.axhline(1.0, color="#999999", linewidth=0.8, zorder=0)
        lower.set_ylim(*_limits([s for n, s in drawn.values.items() if n != "kernel_map"]))
        lower.set_xlabel(r"kernel $K$")
        lower.set_ylabel(r"$\chi_\parallel,\ \chi_\perp$")
        if drawn.critical == 0:
            lower.plot([drawn.kernels[0]], [1.0], "<", color="black", markersize=7, zorder=5, clip_on=False)
            lower.annotate(
                "critical point, $K^* = 0$", (drawn.kernels[0], 1.0), xytext=(10, -16), textcoords="offset points"
            )
        elif drawn.critical is not None:
            for axes in (upper, lower):
                axes.axvline(drawn.critical, color="#999999", linewidth=0.8, zorder=0)
            lower.plot([drawn.critical], [1.0], "o", color="black", markersize=6, zorder=5)
            lower.annotate(
                rf"critical point, $K^* = {drawn.critical:.6g}$",
                (drawn.critical, 1.0),
                xytext=(10, -20),
                textcoords="offset points",
            )
        upper.legend(frameon=False, loc="upper left")
        lower.legend(frameon=False, loc="best", title=f"${drawn.setting}$" if drawn.setting else None)
        upper.set_title(drawn.title, fontsize=11)
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        figure.savefig(path, format=path.suffix[1:], metadata=metadata)


def _limits(series: Sequence[np.ndarray]) -> tuple[float, float]:
    """The range of the susceptibilities with the level 1 inside, extremes clipped."""
    values = np.concatenate([s[np.isfinite(s)] for s in series] or [np.ones(1)])
    low, high = min(float(values.min()), 1.0), max(min(float(values.max()), 10.0), 1.0)
    low = max(low, high - 10.0)
    margin = 0.08 * (high - low or 1.0)
    return low - margin, high + margin


def _number(expr: sp.Expr) -> float | None:
    value = at_zero_gamma(expr)
    return None if value is None else float(sp.N(value, 17))


def _numbers(quantity: Quantity, weight: float) -> list[float]:
    """Values for the parameters after K: no bias, no skip connection."""
    known: dict[Any, float] = {C_W: weight, C_b: 0.0, gamma: 0.0}
    rest = [s for s in quantity.symbols if s != K]
    free = [str(s) for s in rest if s not in known and str(s) != "xi"]
    if free:
        raise DeclarationError(
            f"a figure of {quantity.name}", f"{', '.join(free)} has no number", f"set it, for instance {free[0]}=1"
        )
    return [known.get(s, 1.0) for s in rest]
