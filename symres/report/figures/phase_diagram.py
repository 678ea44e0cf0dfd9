"""Phase diagrams: chi_perp at the end of a deep network over two parameters, with critical lines and points.

The maps come from a generated NumPy module, closed forms or fits, so that no pixel needs a quadrature.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ...codegen.generate import generate
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm
from ...core.progress import Progress
from ...core.scalars import number, whole
from ...core.symbols import C_W, C_b, gamma, xi
from ...core.symbols import K as KERNEL
from ...core.words import NumbersWanted
from ...layers.layer import Layer
from ...notation.facts import in_line
from ...results.advice.advice import Advice
from ...results.arguments_of_quantities import require_range
from ...results.quantity import Quantity, Status
from ...studies.phase_boundary import REACH, Line, along_kernels, between_pixels
from ...theory.theory import Theory
from ..latex.displays import latex
from .advised_point import advised_numbers, advised_place, advised_words, ring
from .style import write_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

POINTS, DEPTH = 300, 2000
MOST_POINTS = 4000  # the flow of 16 million kernels takes some GiB
_SIZE, _DENSITY = (5.6, 4.2), 200  # of a figure: inches, pixels in one
Axis = tuple[str, float, float]

_SETTLED = 1e-10  # relative change of a kernel from one layer to the next: it has converged
_SMALL, _LARGE = 1e-12, 1e12  # kernels beyond count as 0 and as infinite
_COLOURS = "RdBu_r"
_HATCH, _LINES = "////", (0.0, 0.0, 0.0, 0.35)  # where the kernel diverges
_IN_A_ROW = 3  # entries of the legend
_VEIL = "0.3"  # over kernels that have not converged
_LONGEST = 70  # characters of a row of the title
_ROOM = 1.25  # between an advised value and the end of an axis
_TICKS = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.5)


@dataclass(frozen=True)
class PhaseDiagram(Shown):
    """The end of a deep network, its kernel and chi_perp, over two parameters.

    Args:
        x, y: names of the parameters.
        xs, ys: their values, increasing, of lengths n and m.
        chi_perp: (m, n), at the end of the network.
        kernel: (m, n), infinite where it diverges.
        settled: (m, n), whether the kernel has converged, to a number, 0 or infinity; where it has not, the values are
            those of the deepest layer.
        lines: critical lines as (xs, ys, whether the kernel flows there).
        points: critical points as (x, y).
        title: what it is about.
        advised: where advice on initialisation lies, (x, y).
        advice: what it is for, in words.
    """

    x: str
    y: str
    xs: np.ndarray
    ys: np.ndarray
    chi_perp: np.ndarray
    kernel: np.ndarray
    settled: np.ndarray
    lines: tuple[Line, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    title: str = ""
    advised: tuple[float, float] | None = None
    advice: str = ""

    def _title(self) -> str:
        return f"phase diagram over {self.x} and {self.y}"

    def _facts(self) -> list[Fact]:
        """What is drawn, in numbers."""
        axes = ((self.x, self.xs), (self.y, self.ys))
        return [
            *(
                Fact("", f"{name} from {values[0]:g} to {values[-1]:g}, {len(values)} values", _range(name, values))
                for name, values in axes
            ),
            Fact("critical lines", str(len(self.lines))),
            *(Fact("critical point", f"{self.x} = {x:.10g}, {self.y} = {y:.10g}") for x, y in self.points),
            *(Fact(self.advice, f"{self.x} = {x:.10g}, {self.y} = {y:.10g}") for x, y in filter(None, (self.advised,))),
        ]

    def plot(self, axes: Axes) -> None:
        """Draw it into matplotlib axes, with a bar of colours beside them."""
        from matplotlib.colors import ListedColormap, Normalize

        with np.errstate(divide="ignore"):
            shade = np.clip(np.log(self.chi_perp), -REACH, REACH)
        image = axes.pcolormesh(
            self.xs, self.ys, shade, cmap=_COLOURS, norm=Normalize(-REACH, REACH), shading="nearest", rasterized=True
        )
        if not self.settled.all():
            veil = np.ma.masked_where(self.settled, np.ones(self.settled.shape))
            grey = ListedColormap([_VEIL])
            axes.pcolormesh(self.xs, self.ys, veil, cmap=grey, alpha=0.5, shading="nearest", rasterized=True)
        if self._diverges.any():
            region = axes.contourf(
                self.xs, self.ys, self._diverges.astype(float), levels=[0.5, 1.5], colors="none", hatches=[_HATCH]
            )
            region.set(edgecolor=_LINES, linewidth=0)
        for xs, ys, reachable in self.lines:
            axes.plot(xs, ys, color="black", linewidth=1.4, linestyle="-" if reachable else ":")
        for point in self.points:
            axes.plot(
                *point, "k*", markersize=11, markeredgecolor="white", markeredgewidth=0.7, clip_on=False, zorder=5
            )
        if self.advised is not None:
            axes.add_line(ring(self.advised[:1], self.advised[1:]))
        axes.set_title(self.title, fontsize=9)
        axes.set(xlim=(self.xs[0], self.xs[-1]), ylim=(self.ys[0], self.ys[-1]))
        axes.set(xlabel=_label(self.x), ylabel=_label(self.y))
        if known := self._legend:
            words, handles = zip(*known.items(), strict=True)
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "columnspacing": 1.2, "handlelength": 1.5}
            axes.legend(handles, words, fontsize=7, ncols=min(len(known), _IN_A_ROW), frameon=False, **place)
        bar = axes.figure.colorbar(image, ax=axes, ticks=np.log(_TICKS), extend="both")
        bar.ax.set_yticklabels([f"{tick:g}" for tick in _TICKS])
        bar.set_label(r"$\chi_\perp$")

    @property
    def _diverges(self) -> np.ndarray:
        return np.isinf(self.kernel)

    @property
    def _legend(self) -> dict[str, Artist]:
        """The legend: words and the marks that they explain."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        ways = {
            reachable
            for xs, ys, reachable in self.lines
            if any(_inside(point, self.xs, self.ys) for point in zip(xs, ys, strict=True))
        }
        found: dict[str, Artist] = {}
        if True in ways:
            found[r"$\chi_\perp = 1$"] = Line2D([], [], color="black", linewidth=1.4)
        if False in ways:
            found[r"$\chi_\perp = 1$, the kernel flows away"] = Line2D([], [], color="black", linestyle=":")
        if self.points:
            found["critical point"] = Line2D([], [], color="black", marker="*", linestyle="", markersize=8)
        if self.advised is not None:
            found[self.advice] = ring(size=7)
        if self._diverges.any():
            found["kernel grows without bound"] = Patch(facecolor="none", edgecolor=_LINES, hatch=_HATCH, linewidth=0)
        if not self.settled.all():
            found["kernel not converged"] = Patch(color=_VEIL, alpha=0.5)
        return found

    def save(self, path: str | Path) -> Path:
        """Write the drawing to a PDF, PNG or SVG file, whole or not at all.

        Raises:
            DeclarationError: another ending, or a folder that cannot be written.
        """
        return write_figure(path, lambda figure: self.plot(figure.subplots()), figsize=_SIZE, dpi=_DENSITY)


def phase_diagram(
    theory: Theory,
    x: Axis | None = None,
    y: Axis | None = None,
    *,
    points: int = POINTS,
    K: Any = 1,
    depth: int = DEPTH,
    advice: Advice | None = None,
    progress: Progress | None = None,
    **params: Any,
) -> PhaseDiagram:
    """The phase diagram of a layer.

    Args:
        theory: a derived theory.
        x: (name, lowest, highest) of a parameter; C_W around the critical and the advised point by default.
        y: of another one; C_b by default.
        points: number of values of each.
        K: the kernel of the input.
        depth: most layers that a kernel is followed; those that have converged stop.
        advice: on initialisation, which is marked where it holds, ``theory.advice(...)``. It also gives the numbers of
            gamma and xi that ``params`` does not have; for these it is asked for if it is None.
        progress: is called with what is being done and the share that is done.
        params: numbers for all other parameters, by name.

    Returns:
        The values of chi_perp, the critical lines and the critical points.

    Raises:
        DeclarationError: an unknown parameter, a missing one, a range that is none or has negative variances, or a
            layer that normalises over a batch.
        NoClosedForm: a map is unknown, or no accurate code for it was found.
    """
    if theory.is_batch:
        found = "the layer normalises over a batch: its maps depend on a kernel K and a covariance C"
        raise DeclarationError("a phase diagram", found, "ask for fixed_points() at some parameters")
    maps: dict[str, Quantity] = {q.name: q for q in (theory.kernel_map, theory.chi_perp)}
    for q in maps.values():
        if q.status is Status.UNKNOWN:
            raise NoClosedForm("a phase diagram", f"{q.name} is unknown: {q.reason}", "use another layer")
    axes = {C_W.name if x is None else x[0], C_b.name if y is None else y[0]}
    free = {s.name for s in theory.layer.parameters if s in (gamma, xi)} - axes - params.keys()
    if free and advice is None:
        advice = theory.advice()
    numbers = advised_numbers(advice)
    params = {**{name: numbers[name] for name in free if name in numbers}, **params}
    marked = _critical(theory, params)
    usual = _usual(marked, numbers)
    x, y = _axis(x, usual[0]), _axis(y, usual[1])
    fixed = _fixed(theory, x, y, params)
    count = whole(points, "points", 2)
    if count > MOST_POINTS:
        found = f"{count}^2 of them need too much memory"
        raise DeclarationError(f"a phase diagram of {count} points on an axis", found, f"use {MOST_POINTS} or fewer")
    xs, ys = (np.linspace(low, high, count) for _, low, high in (x, y))
    columns, rows = np.meshgrid(xs, ys)
    given: dict[str, np.ndarray | float] = {**fixed, x[0]: columns.ravel(), y[0]: rows.ravel()}
    start = number(K, "K")
    require_range("a phase diagram", KERNEL, start)
    begin = float(start)
    kernel, chi, settled = _followed(maps, given, begin, whole(depth, "depth", 1), progress)
    plane = (x[0], y[0]) == (C_W.name, C_b.name)
    kernel, chi, settled = (a.reshape(columns.shape) for a in (kernel, chi, settled))
    lines = (along_kernels(theory, fixed, xs, ys) if plane else ()) or between_pixels(xs, ys, kernel, chi)
    shown = tuple(point for point in marked if plane and _inside(point, xs, ys))
    place = advised_place(numbers, x[0], y[0], fixed)
    words = "" if advice is None or place is None else advised_words(advice)
    return PhaseDiagram(
        x[0],
        y[0],
        xs,
        ys,
        chi,
        kernel,
        settled,
        lines,
        shown,
        _title(theory.layer, fixed, begin),
        place if place is not None and _inside(place, xs, ys) else None,
        words,
    )


def _title(layer: Layer, fixed: dict[str, float], start: float) -> str:
    """The activation, the layer, the kernel of the input; below them the forward equation, if it fits, and numbers."""
    words = ", ".join([*(f.name for f in layer.formulas), layer.name, f"input of kernel {start:g}"])
    forward = in_line(layer.equations, latex)
    equation = f"$z' = {forward}$" if len(layer.text) <= _LONGEST and r"\begin" not in forward else ""
    known = {} if equation else _variances(layer)
    settings = r",\quad ".join(f"{latex(sp.Symbol(name))} = {value:.6g}" for name, value in {**known, **fixed}.items())
    rows = [*textwrap.wrap(words, _LONGEST), equation, f"${settings}$" if settings else ""]
    return "\n".join(filter(None, rows))


def _variances(layer: Layer) -> dict[str, float]:
    """The numbers that a layer has for C_W and C_b, the same in every Dense."""
    found = {s.name: {getattr(draw, s.name) for draw in layer.program.draws} for s in (C_W, C_b)}
    alone = {name: values.pop() for name, values in found.items() if len(values) == 1}
    return {name: float(value) for name, value in alone.items() if value.is_number}


def _followed(
    maps: dict[str, Quantity], given: dict[str, np.ndarray | float], start: float, depth: int, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kernels after many layers, chi_perp there, and whether the kernels have converged."""
    module = generate(maps, "numpy").load()
    if missing := [name for name in maps if name not in module.__all__]:
        raise NoClosedForm("a phase diagram", f"no accurate code was found for {', '.join(missing)}", "use kernels()")
    size = max(np.size(value) for value in given.values())

    def at(name: str, kernels: np.ndarray, places: np.ndarray) -> np.ndarray:
        needed = [s.name for s in maps[name].symbols if s != KERNEL]
        values = {n: v[places] if isinstance(v := given[n], np.ndarray) else v for n in needed}
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(getattr(module, name)(kernels, **values), dtype=float), kernels.shape)

    kernels, moving = np.full(size, start), np.arange(size)
    for layer in range(depth):
        here = kernels[moving]
        there = np.clip(at("kernel_map", here, moving), _SMALL, _LARGE)
        kernels[moving] = there
        moving = moving[(np.abs(there - here) > _SETTLED * here) & (there < _LARGE)]
        if progress is not None:
            progress("deep networks", max(layer / depth, 1 - len(moving) / size))
        if not len(moving):
            break
    chi, settled = at("chi_perp", kernels, np.arange(size)), np.ones(size, dtype=bool)
    settled[moving] = False
    return np.where(kernels >= _LARGE, np.inf, kernels), chi, settled


def _fixed(theory: Theory, x: Axis, y: Axis, params: dict[str, Any]) -> dict[str, float]:
    """Numbers for the parameters that are on no axis."""
    known = {s.name: s for s in theory.layer.parameters}
    for name in (x[0], y[0], *params):
        if name not in known:
            remedy = f"known: {', '.join(known) or 'none'}"
            raise DeclarationError(f"a phase diagram over {name}", "there is no such parameter", remedy)
    for name, low, high in (x, y):
        if low < 0 and known[name].is_nonnegative:
            raise DeclarationError(f"an axis {name} from {low} to {high}", f"{name} is not negative", "begin at 0")
    missing = [name for name in known if name not in (x[0], y[0], *params)]
    if missing or x[0] == y[0]:
        if missing:
            found, remedy = f"no value for {', '.join(missing)}", NumbersWanted(tuple(missing))
        else:
            found, remedy = f"both axes are {x[0]}", "give one of them another parameter"
        raise DeclarationError("a phase diagram", found, remedy)
    return {name: float(number(value, name)) for name, value in params.items() if name not in (x[0], y[0])}


def _axis(given: Axis | None, usual: Axis) -> Axis:
    name, low, high = usual if given is None else given
    lowest, highest = float(number(low, str(name))), float(number(high, str(name)))
    if not lowest < highest:
        raise DeclarationError(f"an axis {name} from {low} to {high}", "it has no length", "pass lowest < highest")
    return str(name), lowest, highest


def _usual(marked: Sequence[tuple[float, float]], advised: Mapping[str, float]) -> tuple[Axis, Axis]:
    """C_W and C_b up to twice the critical values, and beyond those that are advised."""
    weight = 2 * marked[0][0] if marked and marked[0][0] > 0 else 4.0
    weight = max(weight, _ROOM * advised.get(C_W.name, 0.0))
    bias = max(2 * marked[0][1], weight / 4) if marked else 1.0
    bias = max(bias, _ROOM * advised.get(C_b.name, 0.0))
    return (C_W.name, 0.0, weight), (C_b.name, 0.0, bias)


def _critical(theory: Theory, params: dict[str, Any]) -> tuple[tuple[float, float], ...]:
    """The critical points at given parameters."""
    found = []
    for point in theory.critical_points:
        values = {
            s: number(params[s.name], s.name)
            for s in point.C_W.free_symbols | point.C_b.free_symbols
            if s.name in params
        }
        pair = [e.subs(values) for e in (point.C_W, point.C_b)]
        if not any(e.free_symbols for e in pair):
            found.append((float(pair[0]), float(pair[1])))
    return tuple(found)


def _inside(point: tuple[float, float], xs: np.ndarray, ys: np.ndarray) -> bool:
    return bool(xs[0] <= point[0] <= xs[-1] and ys[0] <= point[1] <= ys[-1])


def _range(name: str, values: np.ndarray) -> str:
    return rf"{_label(name).strip('$')} \in [{values[0]:g}, {values[-1]:g}]"


def _label(name: str) -> str:
    return f"${latex(sp.Symbol(name))}$"
