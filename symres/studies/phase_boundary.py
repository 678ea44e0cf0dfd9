"""Critical lines of phase diagrams: along their kernels where these give them, else between the pixels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from ..numerics.deferred_numpy import np
from ..theory.theory import Theory

Line: TypeAlias = "tuple[np.ndarray, np.ndarray, bool]"  # values of both parameters, and whether the kernel flows there

_REACH = 1.0  # of log chi_perp: beyond, it says nothing about where it is 0
_KERNELS = 1e-6, 1e6, 240  # along a line, at first
_ROUNDS = 10  # of halving steps along it
_FINE = 0.01  # length of a step that is fine enough, of the picture's
_BESIDE = 2.0  # a line is followed so far, in units of the picture
_JUMP = 0.5  # of log K and log chi_perp between neighbours: more is no continuous change
_STEEP = 5.0  # times the usual step between pixels: a line that kernels jump across, not one where chi_perp is 1

_Row = tuple[float, float, bool]


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
    found = np.zeros(kernel.shape, dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        kernels, chis = np.log(kernel), np.log(chi)
        for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
            moved, steps = np.abs(kernels[here] - kernels[there]) > _JUMP, np.abs(chis[here] - chis[there])
            usual = steps[~moved & np.isfinite(steps)]
            jump = min(_JUMP, _STEEP * float(np.median(usual))) if usual.size else _JUMP
            far = moved & (steps > jump)
            found[here] |= far
            found[there] |= far
    return found


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
