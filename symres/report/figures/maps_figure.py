"""The plot of a theory over the kernel: <phi^2>, the susceptibilities, the critical point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from ...codegen.generate import generate
from ...core.errors import DeclarationError
from ...core.symbols import C_W, C_b, K, gamma, xi
from ...core.words import NumbersWanted
from ...notation.decimals import at_zero_gamma
from ...results.critical_point import CriticalPoint
from ...results.quantity import Quantity, Status
from ...results.report import Report
from ...studies.criticality_summary import first_usable
from ..latex.displays import latex
from .advised_point import advised_numbers, advised_words, ring
from .style import SAME_CURVE, coincide, number_axis, with_primes, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 400
_ROUNDING = 1e-14
_AROUND = 1e3  # the upper panel reaches so far beyond the values at which kernels are preserved, or at the centre
DECADES = 2.5  # on both sides of the centre
RATIO = "kernel_ratio"
_SOURCES = ("phi_squared", "kernel_map", "chi_parallel", "chi_perp")
# colours of Okabe and Ito, which colour-blind readers tell apart; dashes keep equal curves visible
_CURVES = {
    "phi_squared": (r"$g(K) = \langle \phi^2 \rangle_K$", "#000000", "-"),
    "chi_parallel": (r"$\chi_\parallel$", "#0072B2", "-"),
    "chi_perp": (r"$\chi_\perp$", "#D55E00", (0, (6, 2))),
    RATIO: (with_primes("$K'/K$"), "#009E73", (0, (1.2, 2.4))),
}
_GREY = "#999999"


@dataclass(frozen=True)
class Curves:
    """The curves of the plot and their labels.

    Args:
        kernels: values of K, increasing.
        values: name -> values at ``kernels``; names as in ``_CURVES``.
        critical: critical kernel; 0 is marked at the left edge.
        title: above the plot.
        setting: at which parameters, as LaTeX without dollar signs.
        preserved: g where K' = K, at ``kernels``, if the layer's map is one of g.
        everywhere: whether every kernel is critical.
        advised: the first kernel that advice on initialisation has at these parameters.
        advice: what it is for, in words.
    """

    kernels: np.ndarray
    values: Mapping[str, np.ndarray]
    critical: float | None = None
    title: str = ""
    setting: str = ""
    preserved: np.ndarray | None = None
    everywhere: bool = False
    advised: float | None = None
    advice: str = ""

    @property
    def caption(self) -> str:
        """What the plot shows, as LaTeX."""
        upper = r"Above: $g(K) = \langle \phi^2 \rangle_K$"
        if self.preserved is not None:
            upper += r" and, in grey, the value at which $K' = K$; kernels grow where $g$ is above it"
        where = " Every kernel is critical." if self.everywhere else ""
        if self.critical is not None:
            where = f" They meet at 1 in the critical point, $K^* = {_short(self.critical)}$."
        if self.advised is not None:
            where += f" The first kernel {_short(self.advised)} is {self.advice}."
        return rf"{upper}. Below: the growth $K'/K$ of the kernel and the susceptibilities at ${self.setting}$.{where}"


def curves(report: Report) -> Curves:
    """Sample a report at the parameters that are advised, or critical without skip connection, or C_W = 1, C_b = 0.

    The kernel is drawn over two decades and a half on both sides of the critical one and of the advised one, or of 1.

    Raises:
        DeclarationError: free parameters of the activation have no numbers.
    """
    known = {C_W: 1.0, C_b: 0.0, gamma: 0.0, xi: 1.0}
    numbers = advised_numbers(report.advice)
    known |= {s: numbers[s.name] for s in known if s.name in numbers}
    point = _example(report, {s: sp.Rational(str(numbers[s.name])) for s in (gamma, xi) if s.name in numbers})
    if point is not None and not numbers:
        known |= {C_W: _number(point.C_W) or 1.0, C_b: _number(point.C_b) or 0.0}
    elif point is not None and not _is_at(point, known):
        point = None
    critical = None if point is None else _number(point.K)  # None too where every kernel is critical
    advised = None if report.advice is None or not numbers else report.advice.kernel
    marked = [kernel for kernel in (critical, advised) if kernel] or [1.0]
    kernels = np.geomspace(min(marked) / 10**DECADES, max(marked) * 10**DECADES, POINTS)
    shown = {q.name: q for q in report.quantities if q.name in _SOURCES and q.status is not Status.UNKNOWN}
    module = generate(shown, "numpy").load()
    values, preserved = {}, None
    for name in module.__all__:  # a quantity for which no accurate code was found is left out
        found = getattr(module, name)(kernels, *_numbers(shown[name], known))
        if not np.isnan(found).all():
            values[name if name != "kernel_map" else RATIO] = found / kernels if name == "kernel_map" else found
    if "phi_squared" in values and RATIO in values:
        preserved = _preserved(kernels, values["phi_squared"], values[RATIO] * kernels, shown["kernel_map"], known)
    return Curves(
        kernels,
        {name: values[name] for name in _CURVES if name in values},
        critical,
        f"{report.activation}, {report.layer}",
        _setting({s for q in shown.values() for s in q.symbols}, known, report),
        preserved,
        point is not None and point.K == K,
        advised,
        "" if report.advice is None else advised_words(report.advice),
    )


def _example(report: Report, at: Mapping[sp.Symbol, sp.Expr]) -> CriticalPoint | None:
    """The first critical point at which a network can be built, with these weights of skip and branch."""
    return first_usable(point.at(at) for point in report.critical_points)


def _is_at(point: CriticalPoint, known: Mapping[sp.Symbol, float]) -> bool:
    """Whether a point is critical at these numbers."""
    pairs = ((_number(e), known[s]) for e, s in ((point.C_W, C_W), (point.C_b, C_b)))
    return all(found is not None and math.isclose(found, value, rel_tol=1e-9) for found, value in pairs)


def _preserved(
    kernels: np.ndarray, g: np.ndarray, growth: np.ndarray, quantity: Quantity, known: Mapping[sp.Symbol, float]
) -> np.ndarray | None:
    """((1 - gamma^2) K - C_b)/C_W, where the kernel map is gamma^2 K + C_b + C_W g."""
    if not {C_W, C_b} <= set(quantity.symbols):
        return None
    weight, bias = known[C_W], known[C_b]
    skip = known[gamma] ** 2 if gamma in quantity.symbols else 0.0
    if skip >= 1 or not np.allclose(growth, skip * kernels + bias + weight * g, rtol=1e-6):
        return None
    return ((1 - skip) * kernels - bias) / weight


def _setting(symbols: set[sp.Symbol], known: Mapping[sp.Symbol, float], report: Report) -> str:
    """The parameters of the curves: what the user set, and what was chosen here."""
    shown = [(latex(sp.Symbol(name)), value) for name, value in report.settings]
    shown += [(latex(s), _short(known[s])) for s in (C_W, C_b, gamma, xi) if s in symbols]
    return r",\ ".join(f"{name} = {value}" for name, value in shown)


def _short(value: float) -> str:
    return f"{value:.9g}"


def draw(path: str | Path, drawn: Curves) -> Path:
    """Write the plot; the suffix of the path (.pdf, .png, .svg) decides the format.

    Raises:
        DeclarationError: another suffix, or a folder that cannot be written.
    """
    return write_figure(path, partial(_plot, drawn), figsize=(5.6, 5.4), dpi=200)


def _plot(drawn: Curves, figure: Figure) -> None:
    if "phi_squared" in drawn.values:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1.0, 1.35))
    else:
        upper, lower = None, figure.subplots()
    for layer, (name, series) in enumerate(drawn.values.items(), 2):
        label, colour, dash = _CURVES[name]
        if twin := _twin(drawn, name):  # one curve covers the other
            label = f"{label} $=$ {_CURVES[twin][0]}"
        axes = upper if name == "phi_squared" else lower
        if np.isposinf(series).all():  # words alone: there is no curve
            axes.plot([], [], linestyle="", label=rf"{label} $= \infty$")
            continue
        axes.plot(drawn.kernels, series, color=colour, linestyle=dash, label=label, linewidth=1.6, zorder=layer)
    lower.set_xscale("log")
    lower.set_xlim(drawn.kernels[0], drawn.kernels[-1])
    lower.axhline(1.0, color=_GREY, linewidth=0.8, zorder=1)
    lower.set_ylim(*_limits([s for n, s in drawn.values.items() if n.startswith("chi")]))
    lower.set_xlabel(r"$K$")
    if upper is not None:
        _average(upper, drawn)
    _mark(upper, lower, drawn)
    setting = f"${drawn.setting}$" if drawn.setting else ""
    figure.suptitle("\n".join(filter(None, (drawn.title, setting))), fontsize=11)
    for axes in figure.axes:  # above the axes: no label is crossed by a curve
        above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        axes.legend(frameon=False, ncols=4, handlelength=2.4, columnspacing=1.4, **above)
    if drawn.advised is not None:
        words = rf"first kernel $K^0 = {_short(drawn.advised)}$, {drawn.advice}"
        figure.legend([ring(size=8)], [words], loc="outside lower center", frameon=False)


def _twin(drawn: Curves, name: str) -> str | None:
    """The first of the curves of the lower panel that a later one cannot be told from; None if there is none."""
    below = [other for other in drawn.values if other != "phi_squared"]
    earlier = below[: below.index(name)] if name in below else []
    same = (other for other in earlier if coincide(drawn.values[other], drawn.values[name]))
    return next(same, None)


def _average(upper: Axes, drawn: Curves) -> None:
    """The panel of g: where K' = K, and the scale."""
    upper.set_yscale("log")
    if drawn.preserved is not None:
        seen = drawn.preserved > 0
        label = with_primes("$K' = K$") + SAME_CURVE * coincide(drawn.preserved, drawn.values["phi_squared"])
        upper.plot(drawn.kernels[seen], drawn.preserved[seen], color=_GREY, linewidth=1.2, zorder=1, label=label)
    upper.set_ylim(*_window(drawn))
    number_axis(upper)


def _window(drawn: Curves) -> tuple[float, float]:
    """The range of g: all of it, but for what is far from where K' = K (from the centre, if that is nowhere known)."""
    g = drawn.values["phi_squared"]
    grey = np.array([]) if drawn.preserved is None else drawn.preserved[drawn.preserved > 0]
    shown = np.concatenate([g, grey])
    shown = shown[np.isfinite(shown) & (shown > 0)]
    if not shown.size:
        return 0.1, 10.0
    focus = grey if grey.size else g[[g.size // 2]]
    if np.isfinite(focus).all() and (focus > 0).all():
        inside = shown[(shown >= focus.min() / _AROUND) & (shown <= focus.max() * _AROUND)]
        shown = inside if inside.size else shown
    high = float(shown.max())
    low = max(float(shown.min()), _ROUNDING * high)  # what is smaller is rounding
    margin = (high / low) ** 0.05 if high > low else 2.0
    return low / margin, high * margin


def _mark(upper: Axes | None, lower: Axes, drawn: Curves) -> None:
    """The critical point and the advised kernel, in both panels."""
    if drawn.advised is not None:
        for axes, name in ((lower, RATIO), (upper, "phi_squared")):
            if axes is not None and name in drawn.values:
                axes.add_line(
                    ring([drawn.advised], [float(np.interp(drawn.advised, drawn.kernels, drawn.values[name]))])
                )
    if drawn.everywhere:
        lower.plot([], [], linestyle="", label="every kernel is critical")
    if drawn.critical is None:
        return
    label = rf"critical point, $K^* = {_short(drawn.critical)}$"
    if drawn.critical == 0:
        lower.plot(drawn.kernels[0], 1.0, "k<", markersize=7, zorder=9, clip_on=False, linestyle="", label=label)
        return
    marks: list[tuple[Axes, float, str | None]] = [(lower, 1.0, label)]
    if upper is not None:
        marks.append((upper, float(np.interp(drawn.critical, drawn.kernels, drawn.values["phi_squared"])), None))
    for axes, height, words in marks:
        axes.axvline(drawn.critical, color=_GREY, linewidth=0.8, zorder=1)
        axes.plot(drawn.critical, height, "ko", markersize=5.5, zorder=9, linestyle="", label=words)


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


def _numbers(quantity: Quantity, known: Mapping[sp.Symbol, float]) -> list[float]:
    """Values for the parameters after K."""
    rest = [s for s in quantity.symbols if s != K]
    free = [str(s) for s in rest if s not in known]
    if free:
        raise DeclarationError(
            f"a figure of {quantity.name}",
            f"{' and '.join(free)} {'has no number' if len(free) == 1 else 'have no numbers'}",
            NumbersWanted(tuple(free), example="1"),
        )
    return [known[s] for s in rest]
