"""The plane of a phase diagram: its ranges where nobody asks for any, and the critical lines in it.

Ranges lie around what is marked, and so that both phases are seen. Lines run along their kernels where these give them,
else between the pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import TypeAlias

from ..core.scalars import number
from ..core.symbols import C_W, C_b
from ..numerics.deferred_numpy import np
from ..theory.theory import Theory

Axis = tuple[str, float, float]
Line: TypeAlias = "tuple[np.ndarray, np.ndarray, bool]"  # values of both parameters, and whether the kernel flows there
_Row = tuple[float, float, bool]

_ROOM = 1.25  # between a marked value and the end of an axis
_WEIGHTS, _BIASES = (1.0, 1.5, 2.0, 3.0, 4.0, 8.0), (1.0, 0.5, 0.25, 0.1)  # how far ranges are stretched and narrowed
_SEEN = 0.25  # of the picture that the smaller phase should take: then its name has room
_BATCH = 0.01  # of the range of C_W, where it begins: without variance a batch cannot be normalised
_REACH = 1.0  # of log chi_perp: beyond, it says nothing about where it is 0
_KERNELS = 1e-6, 1e6, 240  # along a line, at first
_ROUNDS = 10  # of halving steps along it
_FINE = 0.01  # length of a step that is fine enough, of the picture's
_BESIDE = 2.0  # a line is followed so far, in units of the picture
_JUMP = 0.5  # of log K and log chi_perp between neighbours: more is no continuous change
_STEEP = 5.0  # times the usual step between pixels: a line that kernels jump across, not one where chi_perp is 1


def critical_places(theory: Theory, params: Mapping[str, object]) -> tuple[tuple[float, float], ...]:
    """(C_W, C_b) of the critical points at numbers of the other parameters."""
    places = []
    for point in theory.critical_points:
        free = {s for s in point.C_W.free_symbols | point.C_b.free_symbols if s.name in params}
        pair = [e.subs({s: number(params[s.name], s.name) for s in free}) for e in (point.C_W, point.C_b)]
        if not any(e.free_symbols for e in pair):
            places.append((float(pair[0]), float(pair[1])))
    return tuple(places)


def usual_ranges(
    marked: Sequence[tuple[float, float]], advised: Mapping[str, float], has_covariance: bool
) -> tuple[Axis, Axis]:
    """C_W and C_b up to twice the values of the marked critical points, and beyond those that are advised."""
    weight = 2 * marked[0][0] if marked and marked[0][0] > 0 else 4.0
    weight = max(weight, _ROOM * advised.get(C_W.name, 0.0))
    bias = max(2 * marked[0][1], weight / 4) if marked else 1.0
    bias = max(bias, _ROOM * advised.get(C_b.name, 0.0))
    return (C_W.name, _BATCH * weight if has_covariance else 0.0, weight), (C_b.name, 0.0, bias)


def balanced(
    usual: tuple[Axis, Axis], is_free: tuple[bool, bool], lowest: float, share: Callable[[Axis, Axis], float]
) -> tuple[Axis, Axis]:
    """The ranges nearest to the usual ones in which the smaller phase is well seen, or best.

    Args:
        usual: of C_W and C_b, or what was asked for instead of them.
        is_free: whether each may be changed: a wider range of C_W, a narrower one of C_b.
        lowest: the C_b that its range has to contain.
        share: of the smaller phase in a picture with some ranges.
    """
    if not any(is_free):
        return usual
    x, y = usual
    factors = product(_WEIGHTS if is_free[0] else (1.0,), _BIASES if is_free[1] else (1.0,))
    best, most = usual, 0.0
    for stretch, narrow in sorted(factors, key=lambda pair: pair[0] / pair[1]):
        if narrow < 1 and narrow * y[2] < _ROOM * lowest:
            continue
        tried = (x[0], x[1], stretch * x[2]), (y[0], y[1], narrow * y[2])
        if (seen := share(*tried)) > most:
            best, most = tried, seen
        if most >= _SEEN:
            break
    return best


def along_kernels(theory: Theory, fixed: dict[str, float], xs: np.ndarray, ys: np.ndarray) -> tuple[Line, ...]:
    """The critical line in the plane of C_W and C_b, reachable and unreachable parts.

    Steps along it are halved until they are short in the picture, and where it begins, ends or ceases to be reachable.
    """
    size = (float(xs[-1]), float(ys[-1]))
    rows = _rows(theory, fixed, np.geomspace(*_KERNELS))
    for _ in range(_ROUNDS if rows else 0):
        steps = [(low, high) for low, high in pairwise(sorted(rows)) if _is_coarse(rows[low], rows[high], size)]
        if not steps:
            break
        rows |= _rows(theory, fixed, [math.sqrt(low * high) for low, high in steps])
    parts: list[list[_Row]] = []
    before: _Row | None = None
    for row in (rows[kernel] for kernel in sorted(rows)):
        if _is_near(row, size):
            if before is None or before[2] != row[2]:
                parts.append([])
            parts[-1].append(row)
        before = row if _is_near(row, size) else None
    lines = ((np.array([r[0] for r in part]), np.array([r[1] for r in part]), part[0][2]) for part in parts)
    return tuple(line for line in lines if np.ptp(line[0]) > 0 or np.ptp(line[1]) > 0)  # all kernels at one point: none


def _rows(theory: Theory, fixed: dict[str, float], kernels: Iterable[float]) -> dict[float, _Row]:
    return dict(zip(map(float, kernels), theory.critical_curve(kernels, **fixed), strict=False))  # or none at all


def _is_near(row: _Row, size: tuple[float, float]) -> bool:
    return all(0 <= value <= _BESIDE * length for value, length in zip(row, size, strict=False))


def _is_coarse(low: _Row, high: _Row, size: tuple[float, float]) -> bool:
    """Whether a step along a line shows in the picture."""
    near = [row for row in (low, high) if _is_near(row, size)]
    if len(near) < 2:
        return bool(near) and all(value <= length for value, length in zip(near[0], size, strict=False))
    return math.hypot(*((a - b) / length for a, b, length in zip(low, high, size, strict=False))) > _FINE


def between_pixels(xs: np.ndarray, ys: np.ndarray, kernel: np.ndarray, chi: np.ndarray) -> tuple[Line, ...]:
    """Where chi_perp passes 1 between pixels, but for jumps from one end of the kernel to another."""
    from contourpy import contour_generator

    with np.errstate(divide="ignore"):
        heights = np.ma.masked_where(_jumps(kernel, chi), np.clip(np.log(chi), -_REACH, _REACH))
    if np.ptp(np.sign(heights)) < 2:  # 1 to the last bit somewhere is no line
        return ()
    parts = [np.asarray(part) for part in contour_generator(xs, ys, heights).lines(0.0)]
    return tuple((part[:, 0], part[:, 1], True) for part in parts if len(part) > 1)


def _jumps(kernel: np.ndarray, chi: np.ndarray) -> np.ndarray:
    """Where the kernel ends elsewhere than at a neighbour: chi_perp passes 1 there without being 1."""
    jumps = np.zeros(kernel.shape, dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        kernels, chis = np.log(kernel), np.log(chi)
        for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
            moved, steps = np.abs(kernels[here] - kernels[there]) > _JUMP, np.abs(chis[here] - chis[there])
            usual = steps[~moved & np.isfinite(steps)]
            jump = min(_JUMP, _STEEP * float(np.median(usual))) if usual.size else _JUMP
            far = moved & (steps > jump)
            jumps[here] |= far
            jumps[there] |= far
    return jumps


def length_inside(line: Line, xs: np.ndarray, ys: np.ndarray) -> float:
    """How long the part of a line in the picture is, in widths and heights of the picture."""
    places = _places(line, xs, ys)
    inside = np.all((places >= 0) & (places <= 1), axis=1)
    steps = np.hypot(*np.diff(places, axis=0).T)
    return float(steps[inside[1:] & inside[:-1]].sum())


def distance(point: tuple[float, float], line: Line, xs: np.ndarray, ys: np.ndarray) -> float:
    """From a point to a line, in widths and heights of the picture."""
    places = _places(line, xs, ys)
    (place,) = _places((np.array(point[:1]), np.array(point[1:]), True), xs, ys)
    begin, step = places[:-1], np.diff(places, axis=0)
    squares = np.maximum((step**2).sum(axis=1), np.finfo(float).tiny)
    along = np.clip(((place - begin) * step).sum(axis=1) / squares, 0, 1)
    return float(np.hypot(*(begin + along[:, None] * step - place).T).min(initial=math.inf))


def _places(line: Line, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """The vertices of a line, with the corners of the picture at 0 and 1."""
    return np.column_stack([(line[0] - xs[0]) / np.ptp(xs), (line[1] - ys[0]) / np.ptp(ys)])
