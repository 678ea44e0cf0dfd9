"""The plots of a theory: the activation and its slope; over the kernel its growth and the susceptibilities.

And the optimal aspect ratio over the weight of the skip connection, beside the published one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp
from flint import arb

from ...activations.activation import Activation
from ...codegen.generate import generate
from ...core.errors import DeclarationError
from ...core.symbols import C_W, C_b, K, gamma, xi, z
from ...core.words import NumbersWanted
from ...functions.balls.compiler import compile_ball
from ...notation.decimals import at_zero_gamma
from ...results.annotated_numbers import OUTPUTS, GrowthCurve
from ...results.quantity import Quantity, Status
from ...results.report import Report
from ...studies.criticality_summary import first_usable
from ..latex.displays import latex
from .style import SAME_CURVE, advised_numbers, advised_words, coincide, number_axis, ring, with_primes, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400
_MOST = 30.0  # growth in one layer that is shown
SHAPE_POINTS, _REACH = 400, 4.0  # an even number of points: none at 0, where many activations jump
DECADES = 2.5  # on both sides of the centre
RATIO = "kernel_ratio"
_SOURCES = ("kernel_map", "chi_parallel", "chi_perp")
# colours of Okabe and Ito, which colour-blind readers tell apart; dashes keep equal curves visible
_CURVES = {
    "chi_parallel": (r"$\chi_\parallel$", "#0072B2", "-"),
    "chi_perp": (r"$\chi_\perp$", "#D55E00", (0, (6, 2))),
    RATIO: (with_primes("$K'/K$"), "#009E73", "-"),
}
_GREY = "#999999"
_COMPLETE, _PUBLISHED = "#0072B2", "#D55E00"


@dataclass(frozen=True)
class Curves:
    """The curves of the plot and their labels."""

    kernels: np.ndarray  # values of K, increasing
    values: Mapping[str, np.ndarray]  # name -> values at ``kernels``; names as in ``_CURVES``
    critical: float | None = None  # critical kernel; 0 is marked at the left edge
    title: str = ""  # above the plot
    setting: str = ""  # at which parameters, as LaTeX without dollar signs
    everywhere: bool = False  # whether every kernel is critical
    advised: float | None = None  # the first kernel that advice on initialisation has at these parameters
    advice: str = ""  # what it is for, in words
    # z, phi(z) and phi'(z) of the first activation; None if it has parameters without numbers
    shape: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @property
    def caption(self) -> str:
        """What the plot shows, as LaTeX."""
        shape = "" if self.shape is None else r"Top: the activation $\phi$ and its slope. "
        where = "Middle" if shape else "Above"
        growth = rf"{where}: the growth $K'/K$ of the kernel in a layer; kernels grow where it is above 1. "
        critical = " Every kernel is critical." if self.everywhere else ""
        if self.critical is not None:
            critical = f" They meet at 1 in the critical point, $K^* = {_short(self.critical)}$."
        if self.advised is not None:
            critical += f" The first kernel {_short(self.advised)} is {self.advice}."
        return rf"{shape}{growth * (RATIO in self.values)}Below: the susceptibilities at ${self.setting}$.{critical}"


def curves(report: Report) -> Curves:
    """Sample a report at the parameters that are advised, or critical without skip connection, or C_W = 1, C_b = 0.

    The kernel is drawn over two decades and a half on both sides of the critical one and of the advised one, or of 1.

    Raises:
        DeclarationError: free parameters of the activation have no numbers.
    """
    setting = {C_W: 1.0, C_b: 0.0, gamma: 0.0, xi: 1.0}
    numbers = advised_numbers(report.advice)
    setting |= {s: numbers[s.name] for s in setting if s.name in numbers}
    # the first critical point at which a network can be built, with these weights of skip and branch
    weights = {s: sp.Rational(str(numbers[s.name])) for s in (gamma, xi) if s.name in numbers}
    point = first_usable(point.at(weights) for point in report.critical_points)
    if point is not None and not numbers:
        setting |= {C_W: _number(point.C_W) or 1.0, C_b: _number(point.C_b) or 0.0}
    elif point is not None:  # whether it is critical at these numbers
        pairs = ((_number(e), setting[s]) for e, s in ((point.C_W, C_W), (point.C_b, C_b)))
        if not all(exact is not None and math.isclose(exact, value, rel_tol=1e-9) for exact, value in pairs):
            point = None
    critical = None if point is None else _number(point.K)  # None too where every kernel is critical
    advised = None if report.advice is None or not numbers else report.advice.kernel
    marked = [kernel for kernel in (critical, advised) if kernel] or [1.0]
    kernels = np.geomspace(min(marked) / 10**DECADES, max(marked) * 10**DECADES, POINTS)
    shown = {q.name: q for q in report.quantities if q.name in _SOURCES and q.status is not Status.UNKNOWN}
    module = generate(shown, "numpy").load()
    values = {}
    for name in module.__all__:  # a quantity for which no accurate code was found is left out
        sampled = getattr(module, name)(kernels, *_numbers(shown[name], setting))
        if not np.isnan(sampled).all():
            values[name if name != "kernel_map" else RATIO] = sampled / kernels if name == "kernel_map" else sampled
    symbols = {s for q in shown.values() for s in q.symbols}
    # what the user set, and what was chosen here
    settings = [(latex(sp.Symbol(name)), value) for name, value in report.settings]
    settings += [(latex(s), _short(setting[s])) for s in (C_W, C_b, gamma, xi) if s in symbols]
    return Curves(
        kernels,
        {name: values[name] for name in _CURVES if name in values},
        critical,
        f"{report.activation}, {report.layer}",
        r",\ ".join(f"{name} = {value}" for name, value in settings),
        point is not None and point.K == K,
        advised,
        "" if report.advice is None else advised_words(report.advice),
        _shape(report),
    )


def _shape(report: Report) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The first activation and its slope, off the points where they jump."""
    if not report.formulas or report.formulas[0][1].free_symbols != {z}:
        return None
    phi = Activation(*report.formulas[0])(z)
    places = np.linspace(-_REACH, _REACH, SHAPE_POINTS)
    values = [compile_ball(function, (z,)) for function in (phi, phi.diff(z))]
    first, slope = (np.array([float(value([arb(place)]).real) for place in places]) for value in values)
    return places, first, slope


def _short(value: float) -> str:
    return f"{value:.9g}"


def draw(path: str | Path, drawn: Curves) -> Path:
    """Write the plot; the suffix of the path (.pdf, .png, .svg) decides the format.

    Raises:
        DeclarationError: another suffix, or a folder that cannot be written.
    """
    height = 5.4 if drawn.shape is None else 7.2
    return write_figure(path, partial(_plot, drawn), figsize=(5.6, height), dpi=200)


def _plot(drawn: Curves, figure: Figure) -> None:
    heights = {"shape": 0.9, RATIO: 0.9, "chi": 1.2}
    absent = ["shape"] * (drawn.shape is None) + [RATIO] * (RATIO not in drawn.values)
    heights = {name: height for name, height in heights.items() if name not in absent}
    panels = figure.subplots(len(heights), 1, height_ratios=list(heights.values()), squeeze=False)[:, 0]
    axes_of = dict(zip(heights, panels, strict=True))
    lower, growth = axes_of["chi"], axes_of.get(RATIO)
    slopes = [drawn.values[name] for name in ("chi_parallel", "chi_perp") if name in drawn.values]
    is_one_curve = len(slopes) == 2 and coincide(*slopes)
    over_kernels = [lower] if growth is None else [growth, lower]
    for layer, (name, series) in enumerate(drawn.values.items(), 2):
        label, colour, dash = _CURVES[name]
        if name == "chi_perp" and is_one_curve:  # which covers the other
            label = f"{label} $=$ {_CURVES['chi_parallel'][0]}"
        axes = axes_of.get(name, lower)
        if np.isposinf(series).all():  # words alone: there is no curve
            axes.plot([], [], linestyle="", label=rf"{label} $= \infty$")
            continue
        axes.plot(drawn.kernels, series, color=colour, linestyle=dash, label=label, linewidth=1.6, zorder=layer)
    for axes in over_kernels:
        axes.set_xscale("log")
        axes.set_xlim(drawn.kernels[0], drawn.kernels[-1])
        axes.axhline(1.0, color=_GREY, linewidth=0.8, zorder=1)
    lower.set_ylim(*_limits([s for n, s in drawn.values.items() if n.startswith("chi")]))
    lower.set_xlabel(r"$K$")
    if growth is not None:
        growth.tick_params(labelbottom=False)
        growth.set_yscale("log")
        growth.set_ylim(*_growth_limits(drawn.values[RATIO]))
        number_axis(growth)
    if drawn.shape is not None:
        places, phi, slope = drawn.shape
        axes = axes_of["shape"]
        axes.plot(places, phi, color="#000000", linewidth=1.6, label=r"$\phi(z)$")
        dashed = {"linewidth": 1.6, "linestyle": (0, (6, 2))}
        axes.plot(places, slope, color="#CC79A7", label=with_primes(r"$\phi'(z)$"), **dashed)
        axes.axhline(0.0, color=_GREY, linewidth=0.8, zorder=1)
        axes.set_xlim(places[0], places[-1])
        axes.set_xlabel("$z$")
    _mark(over_kernels, drawn)
    setting = f"${drawn.setting}$" if drawn.setting else ""
    figure.suptitle("\n".join(filter(None, (drawn.title, setting))), fontsize=11)
    for axes in figure.axes:  # above the axes: no label is crossed by a curve
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        axes.legend(frameon=False, ncols=4, handlelength=2.4, columnspacing=1.4, **above)
    if drawn.advised is not None:
        words = rf"first kernel $K^0 = {_short(drawn.advised)}$, {drawn.advice}"
        figure.legend([ring(size=8)], [words], loc="outside lower center", frameon=False)


def _growth_limits(growth: np.ndarray) -> tuple[float, float]:
    """The range of K'/K with the level 1 inside, extremes clipped."""
    shown = growth[np.isfinite(growth) & (growth > 0)]
    low, high = (float(np.clip(end, 1 / _MOST, _MOST)) for end in (min(shown, default=1.0), max(shown, default=1.0)))
    low, high = min(low, 1.0), max(high, 1.0)
    margin = max((high / low) ** 0.08, 1.05)
    return low / margin, high * margin


def _mark(panels: Sequence[Axes], drawn: Curves) -> None:
    """The critical point in all panels over kernels, the advised kernel on the growth."""
    lower = panels[-1]
    if drawn.advised is not None and RATIO in drawn.values:
        height = float(np.interp(drawn.advised, drawn.kernels, drawn.values[RATIO]))
        panels[0].add_line(ring([drawn.advised], [height]))
    if drawn.everywhere:
        lower.plot([], [], linestyle="", label="every kernel is critical")
    if drawn.critical is None:
        return
    label = rf"critical point, $K^* = {_short(drawn.critical)}$"
    if drawn.critical == 0:
        lower.plot(drawn.kernels[0], 1.0, "k<", markersize=7, zorder=9, clip_on=False, linestyle="", label=label)
        return
    for axes in panels:
        axes.axvline(drawn.critical, color=_GREY, linewidth=0.8, zorder=1)
        words = label if axes is lower else None
        axes.plot(drawn.critical, 1.0, "ko", markersize=5.5, zorder=9, linestyle="", label=words)


def _limits(series: Sequence[np.ndarray]) -> tuple[float, float]:
    """The range of the susceptibilities with the level 1 inside, extremes clipped; growth may run out of it."""
    values = np.concatenate([np.ones(1), *(s[np.isfinite(s)] for s in series)])
    low, high = float(values.min()), min(float(values.max()), 10.0)
    low = max(low, high - 10.0)
    margin = 0.08 * (high - low) or 0.5
    return low - margin, high + margin


def _number(expr: sp.Expr) -> float | None:
    value = at_zero_gamma(expr)
    return None if value is None else float(sp.N(value, 17))


def _numbers(quantity: Quantity, setting: Mapping[sp.Symbol, float]) -> list[float]:
    """Values for the parameters after K."""
    parameters = [s for s in quantity.symbols if s != K]
    free = [str(s) for s in parameters if s not in setting]
    if free:
        found = f"{' and '.join(free)} {'has no number' if len(free) == 1 else 'have no numbers'}"
        raise DeclarationError(f"a figure of {quantity.name}", found, NumbersWanted(tuple(free), example="1"))
    return [setting[s] for s in parameters]


def can_be_drawn(curve: GrowthCurve | None) -> bool:
    """Whether there is a curve: a layer with a free weight of its skip connection."""
    return curve is not None and len(curve.rows) > 1


def draw_aspect_ratio(path: Path, curve: GrowthCurve, title: str = "") -> None:
    """Draw nu and r* over gamma.

    Args:
        path: of the file; its ending is the format.
        curve: of a layer with a free gamma.
        title: above the plot.
    """

    def draw(figure: Figure) -> None:
        gammas = [row.gamma for row in curve.rows]
        above, below = figure.subplots(2, 1, sharex=True)
        for axes, complete, published in (
            (above, [r.nu for r in curve.rows], [r.second for r in curve.rows]),
            (below, [r.aspect_ratio for r in curve.rows], [r.published for r in curve.rows]),
        ):
            axes.plot(gammas, published, color=_PUBLISHED, linestyle=(0, (6, 2)), label="PDLT (B.26), (B.36)")
            label = "with what neurons remember" + SAME_CURVE * coincide(complete, published)
            axes.plot(gammas, complete, color=_COMPLETE, label=label)
        above.set_ylabel(r"$\nu(\gamma)$, growth of $V/K^2$ for each layer")
        below.set_ylabel(rf"$r^\star(\gamma)$, optimal depth/width, $n_L = {OUTPUTS}$")
        below.set_xlabel(r"$\gamma$, weight of the skip connection")
        below.set_yscale("log")
        number_axis(below)
        above.set_ylim(bottom=0)
        above.legend(frameon=False)
        if title:
            above.set_title(title, fontsize=10)

    write_figure(path, draw, figsize=(5.2, 5.6))
