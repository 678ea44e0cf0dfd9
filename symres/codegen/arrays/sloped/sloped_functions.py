"""Functions whose derivatives are given, where those that a library finds lose digits, overflow or are not finite.

A library that differentiates has a ``_sloped`` of its own, and ``_of_erfcx`` where it lacks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp
from scipy import special

from ..runtime.array_types import Floats

Function: TypeAlias = Callable[..., Floats]


def _sloped(value: Function, slopes: Sequence[Function | None], *arguments: Floats) -> Floats:
    """A function with its derivative in each argument; here, its value."""
    return value(*arguments)


def _of_erfcx(u: Floats) -> Floats:
    """exp(u**2)*erfc(u)."""
    value: Floats = special.erfcx(u)
    return value


def _erfcx_slope(u: Floats) -> Floats:
    """The derivative 2*u*erfcx(u) - 2/sqrt(pi), by its series in v = 1/(2*u**2) where it cancels."""
    far = u > 14.0
    v = 0.5 / xp.where(far, u, 14.0) ** 2
    series = xp.ones_like(v)
    for odd in range(21, 1, -2):
        series = 1.0 - odd * v * series
    near = xp.where(far, 14.0, u)
    return xp.where(far, -1.1283791670955126 * v * series, 2.0 * near * _erfcx(near) - 1.1283791670955126)


def _erfcx(u: Floats) -> Floats:
    """exp(u**2)*erfc(u)."""
    return _sloped(_of_erfcx, (_erfcx_slope,), u)


def _of_expsinh(a: Floats, b: Floats) -> Floats:
    """exp(a)*sinh(b)."""
    size = xp.abs(b)
    return -0.5 * xp.sign(b) * xp.exp(a + size) * xp.expm1(-2.0 * size)


def _expsinh(a: Floats, b: Floats) -> Floats:
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    return _sloped(_of_expsinh, (_expsinh, _expcosh), a, b)


def _of_expcosh(a: Floats, b: Floats) -> Floats:
    """exp(a)*cosh(b)."""
    size = xp.abs(b)
    return 0.5 * xp.exp(a + size) * (1.0 + xp.exp(-2.0 * size))


def _expcosh(a: Floats, b: Floats) -> Floats:
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    return _sloped(_of_expcosh, (_expcosh, _expsinh), a, b)


def _of_expcoshm1(a: Floats, b: Floats) -> Floats:
    """exp(a)*(cosh(b) - 1)."""
    size = xp.abs(b)
    half = xp.expm1(-size)
    return 0.5 * xp.exp(a + size) * half * half


def _expcoshm1(a: Floats, b: Floats) -> Floats:
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    return _sloped(_of_expcoshm1, (_expcoshm1, _expsinh), a, b)


def _of_dawson(x: Floats) -> Floats:
    """exp(-x**2) times the integral of exp(t**2): Rybicki's sum of Gaussians, exact to exp(-(2*pi)**2)."""
    size = xp.abs(x)
    small, near, far = size < 1.0, xp.zeros_like(x), xp.zeros_like(x)
    u, v = xp.where(small, x, 0.5), xp.where(small, 2.0, xp.clip(size, None, 1e9))
    even = 2.0 * xp.round(2.0 * v)  # four times the node next to v
    for n in range(25, 0, -2):
        near = near + 2.0 * math.exp(-((0.25 * n) ** 2)) / n * xp.sinh(0.5 * n * u)
        for k in (n, -n):
            far = far + xp.exp(-((v - 0.25 * (even + k)) ** 2)) / (even + k)
    far = xp.sign(x) * far * (1e9 / xp.clip(size, 1e9, None))
    return 0.5641895835477563 * xp.where(small, xp.exp(-u * u) * near, far)


def _dawson_slope(x: Floats) -> Floats:
    """Its derivative 1 - 2*x*dawson(x), by its series in v = 1/(2*x**2) where it cancels."""
    far = xp.abs(x) > 14.0
    v = 0.5 / xp.where(far, x, 14.0) ** 2
    series = xp.ones_like(v)
    for odd in range(21, 1, -2):
        series = 1.0 + odd * v * series
    near = xp.where(far, 14.0, x)
    return xp.where(far, -v * series, 1.0 - 2.0 * near * _dawson(near))


def _dawson(x: Floats) -> Floats:
    """exp(-x**2) times the integral of exp(t**2) from 0 to x."""
    return _sloped(_of_dawson, (_dawson_slope,), x)
