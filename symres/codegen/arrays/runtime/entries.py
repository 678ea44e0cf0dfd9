"""Averages over one variable, of many entries: a few at a time, with steps as short as they must be.

A function that is averaged is a tuple: its parts and the breaks between them; the places where it changes, breaks
included; how fast (the length of the changes, the rate of growth, the load of exponentials, the wave number); how far
out it may have mass and the power that it grows like; what chooses the steps, or None; by how much they are shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as xp

from .array_types import Factor, Floats, Places
from .gauss_legendre import _count
from .quadrature_nodes import _line, _longest, _panels, _reach, _sized, _whole, _within


def _few(function: Callable[..., Floats], step: int, *arrays: Floats | Places) -> list[Floats]:
    """The results of a function on so many rows at a time, so that its nodes fit into the cache."""
    return [function(*(a[i : i + step] for a in arrays)) for i in range(0, arrays[0].shape[0], step)]


def _flat(function: Callable[..., Floats], step: int, *arguments: Floats) -> Floats:
    """Evaluate a function of arrays of one axis, on so many entries at a time."""
    arguments = xp.broadcast_arrays(*(xp.asarray(a, dtype=xp.float64) for a in arguments))
    shape = arguments[0].shape
    known = xp.isfinite(sum(arguments)).reshape(-1)
    with xp.errstate(all="ignore"):  # where there is no value, or no place of change
        out = _few(function, step, *(xp.where(known, a.reshape(-1), 1.0) for a in arguments))
    return xp.where(known, xp.concatenate([*out, xp.empty(0)]), xp.nan).reshape(shape)


def _taken(f: Factor, index: Places, fine: int | None) -> Factor:
    """A function whose breaks, places and scales differ from entry to entry, at some of them, with steps of its own."""
    breaks, places, scales = ([o[index] for o in group] for group in f[1:4])
    return f[0], breaks, places, scales, *f[4:7], fine


def _plain(part: Callable[..., Floats], few: int, count: int, finest: int, like: Floats) -> Floats:
    """What is computed for so many entries, a few at a time."""
    return xp.concatenate(_few(lambda some: part(None, some), few, _count(count, like)), -1).reshape((-1, count))


def _refined(part: Callable[..., Floats], few: int, count: int, finest: int, like: Floats) -> Floats:
    """Averages of so many entries, with steps so short that shorter ones would change nothing; nan where none are.

    part(fine, entries) computes them with steps shorter by that factor. For 0 there are only 0.7 times as many nodes,
    and the sizes come first, averages of absolute values. The rules converge so fast that an error of 3e-11 becomes
    5e-16 with all of them, and one of 1e-9 less than that with twice as many. In the end six digits are better than
    none: rounding hides the others where terms of the function itself cancel.
    """

    def sums(fine: int, entries: Places) -> Floats:
        rows = math.ceil(few / max(1, fine * fine))
        return xp.concatenate(_few(lambda some: part(fine, some), rows, entries), -1).reshape((-1, entries.shape[0]))

    left, fine = _count(count, like), 1
    before, out = sums(0, left), sums(1, left)
    size, before, found = before[0], before[1:], out
    while True:
        size = xp.maximum(size, xp.abs(found[0]))
        close = 3e-11 if fine == 1 else 1e-9 if fine < finest else 1e-6
        off = xp.amax(xp.abs(found[: before.shape[0]] - before), 0) > close * size + 1e-300
        left, size, before, fine = left[off], size[off], found[:, off], 2 * fine
        if not left.shape[0] or fine > finest:
            break
        found = sums(fine, left)
        out[:, left] = found
    out[:, left] = math.nan
    return out


def _over_one(rule: Callable[..., Floats], f: Factor, *columns: Floats) -> Floats:
    """Averages over one variable, a few entries at a time, with steps as short as they must be."""

    def part(fine: int | None, some: Places) -> Floats:
        return rule(_taken(f, some, fine), *(c[some] for c in columns))

    return (f[6] or _plain)(part, 256, columns[0].shape[0], 64, columns[0])[0]


def _kernel_average(f: Factor, K: Floats, *parameters: Floats) -> Floats:
    """<f(z)> for z of variance K, over pairs of nodes z and -z: what is odd cancels exactly."""
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = xp.sqrt(xp.clip(K, 1e-280, None))
    known, shift, wave = _within(rate * deviation, load * deviation, wave * deviation, 5000.0)
    reach = _reach(growth) + float(shift.max())
    if breaks or len(places) > 1:  # or it changes away from 0
        width = xp.clip(scale / deviation, 1e-8, 1e8)
        places = [xp.abs(place) / deviation for place in places]
        y, mass = _panels(places, width, _longest(3.0, wave), reach, max(reach, far), fine, 0.0)
    else:
        y, mass = _line(0.0 * K, xp.clip(scale / deviation, 1e-8, 8.0), reach, shift, wave, fine, 0.0)
    z = deviation[..., None] * y
    value = _sized(_whole(parts, breaks, z, parameters), fine) + _sized(_whole(parts, breaks, -z, parameters), fine)
    return xp.where(known, (value * mass).sum(-1), math.nan)


def _beside(f: Factor, mean: Floats, variance: Floats, *parameters: Floats) -> Floats:
    """<f(z)> for z of that law; where it is narrow, its mean is on neither side of a place that it meets."""
    parts, breaks, places, (scale, rate, load, wave), far, growth, *_, fine = f
    deviation = _deviation(mean, variance)
    known, shift, wave = _within(rate * deviation, load * (deviation + xp.abs(mean)), wave * deviation, 300.0)
    reach = _reach(growth) + float(shift.max())
    width, places = xp.clip(scale / deviation, 1e-8, 1e8), [(place - mean) / deviation for place in places]
    y, mass = _panels(places, width, _longest(3.0, wave), reach, max(reach, far), fine)
    value = _sized(_whole(parts, breaks, mean[..., None] + deviation[..., None] * y, parameters), fine)
    return xp.where(known, (value * mass).sum(-1), math.nan)


def _deviation(mean: Floats, variance: Floats) -> Floats:
    """The root of a variance, not less than the rounding of the mean."""
    return xp.maximum(xp.sqrt(xp.clip(variance, 1e-280, None)), 1e-9 * xp.abs(mean))
