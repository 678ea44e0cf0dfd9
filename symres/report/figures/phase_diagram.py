"""Phase diagrams: the end of a deep network over two parameters, with critical lines and points."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import sympy as sp

from ...activations.activation import Activation
from ...core.errors import DeclarationError
from ...core.progress import Progress
from ...core.scalars import number, whole
from ...core.symbols import C_W, C_b, gamma, xi
from ...core.symbols import K as KERNEL
from ...core.words import NumbersWanted
from ...layers.layer import Layer
from ...notation.facts import in_line
from ...results.advice.advice import Advice
from ...results.arguments_of_quantities import require_range
from ...results.subjects import DerivedLayer
from ...studies.phase_flow import DeepEnds, Parameters, PlaneMaps, depths, require_maps
from ...studies.phase_plane import (
    Axis,
    along_kernels,
    balanced,
    between_pixels,
    critical_places,
    distance,
    usual_ranges,
)
from ...theory.theory import Theory, derive
from ..latex.displays import latex
from .phase_picture import PhaseDiagram
from .style import advised_numbers, advised_place, advised_words, reason_off_the_line, with_primes

_QUANTITIES = ("chi_perp", "xi_q", "xi_c")
POINTS, DEPTH = 300, 2000
MOST_POINTS = 4000  # the flow of 16 million kernels takes some GiB
_COARSE, _SHALLOW = 16, 200  # points and layers by which default ranges are chosen
_LONGEST = 70  # characters of a row of the title
_ON = 0.02  # of the picture: how near to a line or a critical point something lies on it


def phase_diagram(
    theory: Theory | Layer | Activation | str,
    x: Axis | None = None,
    y: Axis | None = None,
    *,
    quantity: str = "chi_perp",
    points: int = POINTS,
    K: Any = 1,
    depth: int = DEPTH,
    advice: Advice | None = None,
    progress: Progress | None = None,
    **params: Any,
) -> PhaseDiagram:
    """The phase diagram of a layer.

    Args:
        theory: a derived theory, or what ``derive`` takes: a layer, an activation, its name.
        x: (name, lowest, highest) of a parameter; by default C_W, around the critical and the advised point and as far
            as both phases need to be seen.
        y: of another one; C_b by default.
        quantity: what colours show: "chi_perp", or a depth scale in layers (``theory.depth_scales``), "xi_q" of
            kernels or "xi_c" of correlations.
        points: number of values of each.
        K: the kernel of the input; of a layer that normalises over a batch, the variance over the inputs.
        depth: most layers that a kernel is followed; those that have converged stop.
        advice: on initialisation, which is marked where it holds, ``theory.advice(...)``. It also gives the numbers of
            gamma and xi that ``params`` does not have; for these it is asked for if it is None.
        progress: is called with what is being done and the share that is done.
        params: numbers for all other parameters, by name.

    Returns:
        The values of chi_perp, the phases, the critical lines and the critical points.

    Raises:
        DeclarationError: an unknown parameter, a missing one, a range without length or with negative variances; an
            unknown quantity.
        NoClosedForm: a map is unknown, or no accurate code for it was found.
        UnsupportedLayer: xi_c of a layer that normalises over a batch.

    Examples:
        ReLU is critical at ``C_W = 2``, ``C_b = 0``; chi_perp is ``C_W/2`` everywhere:

        >>> diagram = sr.phase_diagram("relu", x=("C_W", 1, 3), y=("C_b", 0, 1), points=3, depth=200)
        >>> diagram.chi_perp[0].tolist(), diagram.regions["critical"].tolist()[0]
        ([0.5, 1.0, 1.5], [False, True, False])
    """
    require_quantity(quantity)
    theory = theory if isinstance(theory, DerivedLayer) else derive(theory)
    require_maps(*theory.flow_maps[::2])
    x, y = _triple(x), _triple(y)
    names = (C_W.name if x is None else x[0], C_b.name if y is None else y[0])
    free = {s.name for s in theory.layer.parameters if s in (gamma, xi)} - {*names} - params.keys()
    if free and advice is None:
        advice = theory.advice()
    numbers = advised_numbers(advice)
    params = {**{name: numbers[name] for name in free if name in numbers}, **params}
    marked = critical_places(theory, params)
    usual = usual_ranges(marked, numbers, theory.has_covariance)
    ranges = _axis(x, usual[0]), _axis(y, usual[1])
    fixed = _fixed(theory, *ranges, params)
    count = whole(points, "points", 2)
    if count > MOST_POINTS:
        found = f"{count}^2 of them need too much memory"
        raise DeclarationError(f"a phase diagram of {count} points on an axis", found, f"use {MOST_POINTS} or fewer")
    start, layers = number(K, "K"), whole(depth, "depth", 1)
    require_range("a phase diagram", KERNEL, start)
    flow = PlaneMaps(*theory.flow_maps[::2])

    def plane(x: Axis, y: Axis, points: int) -> Parameters:
        """The parameters at the points of a plane, row by row of equal y."""
        columns, rows = np.meshgrid(*(np.linspace(low, high, points) for _, low, high in (x, y)))
        return {**fixed, x[0]: columns.ravel(), y[0]: rows.ravel()}

    def ends(x: Axis, y: Axis, points: int, depth: int, progress: Progress | None = None) -> DeepEnds:
        return flow.ends(plane(x, y, points), float(start), depth, progress).reshaped((points, points))

    def share_of_smaller_phase(x: Axis, y: Axis) -> float:
        chi = ends(x, y, _COARSE, min(layers, _SHALLOW)).chi_perp
        return float(min((chi < 1).mean(), (chi > 1).mean()))

    lowest = max([numbers.get(C_b.name, 0.0), *(bias for _, bias in marked)])
    x, y = balanced(ranges, (x is None, y is None), lowest, share_of_smaller_phase)
    xs, ys = (np.linspace(low, high, count) for _, low, high in (x, y))
    end = ends(x, y, count, layers, progress)
    shown_depths = None if quantity == "chi_perp" else depths(theory, quantity, end, plane(x, y, count))
    is_usual = (x[0], y[0]) == (C_W.name, C_b.name)
    along = along_kernels(theory, fixed, xs, ys) if is_usual else ()
    lines = along or between_pixels(xs, ys, end.kernel, end.chi_perp)
    shown = tuple(point for point in marked if is_usual and _inside(point, xs, ys))
    place = advised_place(numbers, x[0], y[0], fixed)
    words = ""
    if advice is not None and place is not None:
        words = advised_words(advice)
        # whether the point lies on a critical line or point, as far as the picture shows
        dots = tuple((np.array([a, a]), np.array([b, b]), True) for a, b in shown)
        if not any(distance(place, line, xs, ys) < _ON for line in (*lines, *dots)):
            words += f"\n({reason_off_the_line(advice)})"
    return PhaseDiagram(
        *(x[0], y[0], xs, ys),
        *(end.chi_perp, end.kernel, end.settled),
        lines,
        shown,
        _title(theory, fixed, float(start)),
        place if place is not None and _inside(place, xs, ys) else None,
        words,
        layers,
        quantity,
        shown_depths,
    )


def require_quantity(quantity: str) -> None:
    """Raise a DeclarationError if colours of a phase diagram do not show the quantity."""
    if quantity not in _QUANTITIES:
        remedy = f"use {', '.join(_QUANTITIES[:-1])} or {_QUANTITIES[-1]}"
        raise DeclarationError(f"a phase diagram of {quantity}", "its colours do not show this quantity", remedy)


def _title(theory: Theory, fixed: dict[str, float], start: float) -> str:
    """The activation, the layer, the kernel of the input; below them the forward equation, if it fits, and numbers."""
    layer = theory.layer
    inputs = f"inputs of variance {start:g} over the batch" if theory.has_covariance else f"input of kernel {start:g}"
    words = ", ".join([*(f.name for f in layer.formulas), layer.name, inputs])
    forward = in_line(layer.equations, latex)
    equation = with_primes(f"$z' = {forward}$") if len(layer.text) <= _LONGEST and r"\begin" not in forward else ""
    variances = {} if equation else _variances(layer)
    settings = r",\quad ".join(
        f"{latex(sp.Symbol(name))} = {value:.6g}" for name, value in {**variances, **fixed}.items()
    )
    rows = [*textwrap.wrap(words, _LONGEST), equation, f"${settings}$" if settings else ""]
    return "\n".join(filter(None, rows))


def _variances(layer: Layer) -> dict[str, float]:
    """The numbers that a layer has for C_W and C_b, the same in every Dense."""
    variances = {s.name: {getattr(draw, s.name) for draw in layer.program.draws} for s in (C_W, C_b)}
    alone = {name: values.pop() for name, values in variances.items() if len(values) == 1}
    return {name: float(value) for name, value in alone.items() if value.is_number}


def _fixed(theory: Theory, x: Axis, y: Axis, params: dict[str, Any]) -> dict[str, float]:
    """Numbers for the parameters that are on no axis."""
    parameters = {s.name: s for s in theory.layer.parameters}
    for name in (x[0], y[0], *params):
        if name not in parameters:
            remedy = f"known: {', '.join(parameters) or 'none'}"
            raise DeclarationError(f"a phase diagram over {name}", "unknown parameter", remedy)
    for name, low, high in (x, y):
        if low < 0 and parameters[name].is_nonnegative:
            raise DeclarationError(f"an axis {name} from {low} to {high}", f"{name} is not negative", "begin at 0")
    if x[0] == y[0]:
        raise DeclarationError("a phase diagram", f"both axes are {x[0]}", "give one of them another parameter")
    if twice := [name for name in (x[0], y[0]) if name in params]:
        found = f"{twice[0]} has a number and an axis"
        raise DeclarationError("a phase diagram", found, "leave out the number, or pass x and y of other parameters")
    if missing := [name for name in parameters if name not in (x[0], y[0], *params)]:
        found = f"no value was passed for {', '.join(missing)}"
        raise DeclarationError("a phase diagram", found, NumbersWanted(tuple(missing)))
    return {name: float(number(value, name)) for name, value in params.items()}


def _triple(axis: Any) -> Axis | None:
    """An axis as a user passes it: (name, lowest, highest), or None."""
    if axis is not None and not (isinstance(axis, tuple | list) and len(axis) == 3):
        remedy = 'write x=("C_W", 0, 4)'
        raise DeclarationError(f"the axis {axis!r:.60}", "it is not of the form (name, lowest, highest)", remedy)
    return None if axis is None else (str(axis[0]), axis[1], axis[2])


def _axis(axis: Axis | None, usual: Axis) -> Axis:
    name, low, high = usual if axis is None else axis
    lowest, highest = float(number(low, name)), float(number(high, name))
    if not lowest < highest:
        raise DeclarationError(f"an axis {name} from {low} to {high}", "it has no length", "pass lowest < highest")
    return name, lowest, highest


def _inside(point: tuple[float, float], xs: np.ndarray, ys: np.ndarray) -> bool:
    return bool(xs[0] <= point[0] <= xs[-1] and ys[0] <= point[1] <= ys[-1])
