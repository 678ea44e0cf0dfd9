"""Nodes and weights at run time, crowded around the points where a function changes.

Smooth functions: the trapezoidal rule in t, y = width*sinh(t), around the preactivation 0. Functions with breakpoints:
Gauss-Legendre panels on both sides of every breakpoint, growing with the distance from it. Either resolves the width on
which the function changes and reaches out geometrically to many standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as xp

from .array_types import Bools, Floats
from .gauss_legendre import _count, _rule, _sorted

_REACH = 9.5  # standard deviations behind which nothing remains of a bounded function
_PANEL = 1.2  # the length of a panel in t


def _reach(growth: int) -> float:
    """The deviations behind which nothing remains of a function that grows like this power, kinks included."""
    x = 40.0 + growth
    for _ in range(9):
        x = 40.0 + growth * (1.0 + math.log(max(x / max(growth, 1), 1.0)))
    return max(math.sqrt(2.0 * x), _REACH)


def _within(shift: Floats, load: Floats, wave: Floats, most: float) -> tuple[Bools, Floats, Floats]:
    """Which entries can be integrated, and how many deviations exponential growth shifts their mass; their waves.

    Exponentials, whose exponents are the load times the distance, are to be floats where the mass is, and the nodes,
    in proportion to the wave number, not too many.
    """
    steepest = xp.maximum(shift, xp.where(shift > 0.0, load, 0.0))
    known = (steepest * (shift + 10.0) < 700.0) & (wave < most)
    return known, xp.where(known, shift, 0.0), xp.where(known, wave, 0.0)


def _longest(length: float, wave: Floats) -> Floats:
    """The length of the steps, shorter where waves are."""
    return 1.0 / (1.0 / length + wave / 12.0)


def _line(
    centre: Floats,
    width: Floats,
    reach: float,
    shift: Floats,
    wave: Floats,
    fine: int | None,
    lowest: float = -math.inf,
) -> tuple[Floats, Floats]:
    """Nodes and weights of the standard normal law within its reach, for smooth functions that change at the centre.

    The trapezoidal rule in t, y = centre + width*sinh(t). Its error is exp(-2*pi*a/step), where a < pi/4 is as far as
    t may leave the real line before the Gaussian grows, less if the centre lies off the peak, which exponential growth
    shifts, and the less the more waves there are: 1e-16 here. The nodes
    begin half a step above the lowest place, so that with their mirror images they continue the rule below it.
    Steps are shorter by the factor fine, longer if it is 0.
    """
    centre = xp.clip(centre, -3.0 * reach, 3.0 * reach)
    first, last = xp.arcsinh((max(-reach, lowest) - centre) / width), xp.arcsinh((reach - centre) / width)
    off = xp.sqrt((xp.abs(centre) + shift) ** 2 + width * width)
    count = (last - first) * (8.5 + 1.2 * off + 1.4 * wave * xp.sqrt(1.0 + off * off))
    most = float(xp.nan_to_num(count, nan=1.0, posinf=1.0).max())
    nodes = math.ceil(most if fine is None else most * (fine or 0.7))
    step = ((last - first) / nodes)[..., None]
    t = first[..., None] + step * (_count(nodes, width) + 0.5)
    y = centre[..., None] + width[..., None] * xp.sinh(t)
    return y, step * width[..., None] * xp.cosh(t) * xp.exp(-0.5 * y * y) * 0.3989422804014327


def _graded(length: Floats, width: Floats, longest: Floats, fine: int | None) -> Floats | None:
    """Edges from 0 to a length: steps near ``width`` at first, then in proportion to the distance, up to ``longest``.

    They are equidistant in t = arcsinh(x/width) + x/longest, which Newton's method inverts.
    They are shorter by the factor fine.
    """
    longest = longest + 0.0 * length
    end = xp.nan_to_num(xp.arcsinh(length / width) + length / longest, nan=1.0, posinf=1.0)  # for the others' sake
    pieces = math.ceil(float(end.max()) / _PANEL) * (fine or 1)
    if not pieces:
        return None
    t = end[..., None] * (_count(pieces + 1, width) / pieces)
    width, longest = width[..., None], longest[..., None]
    x = xp.minimum(width * xp.sinh(xp.minimum(t, 40.0 + 0.0 * t)), longest * t)
    for _ in range(8):
        slope = 1.0 / xp.sqrt(x * x + width * width) + 1.0 / longest
        x = xp.clip(x - (xp.arcsinh(x / width) + x / longest - t) / slope, 0.0, None)
    return xp.concatenate([x[..., :-1], length[..., None]], -1)  # without a gap to the panels of the next anchor


def _panels(
    anchors: Sequence[Floats],
    width: Floats,
    longest: Floats,
    reach: float,
    farthest: float,
    fine: int | None,
    lowest: float = -math.inf,
) -> tuple[Floats, Floats]:
    """Nodes and weights for functions with kinks at the anchors, or that change there on the scale of the width.

    Gauss-Legendre panels on both sides of every anchor, beyond the outer ones only as far as the law is not negligible
    beside its value there, and in steps on which it does not fall by many orders. Anchors beyond the farthest count
    as that: a function that is faint around 0 may have all its mass at anchors that are far, or on the way to them.
    No anchor is beneath the lowest place.
    """
    points, weights = _rule(width, fine)
    anchors = _sorted([xp.clip(anchor, -farthest, farthest) for anchor in anchors])
    nodes, masses = [], []
    for k, anchor in enumerate(anchors):
        away = xp.sqrt(anchor * anchor + reach * reach)
        left = xp.clip(-away, lowest, None) if k == 0 else 0.5 * (anchors[k - 1] + anchor)
        right = away if k == len(anchors) - 1 else 0.5 * (anchor + anchors[k + 1])
        for side, end in ((-1.0, left), (1.0, right)):
            most = longest / (1.0 + 0.2 * xp.clip(side * anchor, 0.0, None))
            edges = _graded(side * (end - anchor), width, most, fine)
            if edges is None:  # anchors coincide
                continue
            step = (edges[..., 1:] - edges[..., :-1])[..., None]
            y = (anchor[..., None, None] + side * (edges[..., :-1, None] + step * points)).reshape((*width.shape, -1))
            nodes.append(y)
            masses.append((step * weights).reshape(y.shape) * xp.exp(-0.5 * y * y) * 0.3989422804014327)
    return xp.concatenate(nodes, -1), xp.concatenate(masses, -1)


def _wide(value: Floats, z: Floats) -> Floats:
    """A value of each entry, shaped to stand beside the entries' nodes z."""
    return value.reshape(tuple(value.shape) + (1,) * (z.ndim - value.ndim))


def _whole(
    parts: Sequence[Callable[..., Floats]], edges: Sequence[Floats], z: Floats, parameters: Sequence[Floats]
) -> Floats:
    """A piecewise function, its parts separated by the edges."""
    parameters = [_wide(p, z) for p in parameters]
    value = parts[0](xp.minimum(z, _wide(edges[0], z)) if edges else z, *parameters) + 0.0 * z
    for part, edge in zip(parts[1:], edges):
        edge = _wide(edge, z)
        value = xp.where(z >= edge, part(xp.maximum(z, edge), *parameters), value)
    return value


def _sized(value: Floats, fine: int | None) -> Floats:
    """Values; with the longest steps, of two averages that are compared, their sizes before them."""
    return xp.stack([xp.abs(value), value]) if fine == 0 else value
