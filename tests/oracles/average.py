"""Gaussian averages by quadrature from the functions themselves; nothing is shared with symres."""

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

GUARD = 15  # digits that a sum over panels may lose, or an average that is small beside its integrand
PANELS = (8, 24, 72)  # between the ends, tried in turn
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)

Function = Callable[[Any], Any]


def average_of(
    function: Callable[[mp.mpf], Any] | sp.Expr,
    kernel: Any = 1,
    breaks: Sequence[Any] = (),
    mean: Any = 0,
    digits: int = 20,
) -> mp.mpf:
    """<function(z)> of a normal z, by mpmath's quadrature between the breaks.

    Args:
        function: of a number, or a formula in one symbol.
        kernel: the variance of z.
        breaks: where the function or one of its derivatives jumps, or where it varies over less than 1; 0 is one.
        mean: the mean of z.
        digits: after the point, or of the average where it is above 1.

    Raises:
        AssertionError: mpmath's estimate of its error is larger.
    """
    f = function
    if isinstance(function, sp.Expr):
        f = sp.lambdify(list(function.free_symbols) or [sp.Dummy()], function, "mpmath")
    with mp.workdps(digits + GUARD):
        kernel, mean = mp.mpf(kernel), mp.mpf(mean)
        s, small = mp.sqrt(kernel), mp.mpf(10) ** -digits
        weighed = lambda x: f(x) * mp.npdf(x, mean, s)  # noqa: E731
        reach = 1 + mp.sqrt(2 * mp.log(10) * (digits + 5))
        while any(abs(weighed(mean + sign * reach * s)) * s > small for sign in (-1, 1)):
            reach *= 1.5  # exponentials have their mass far out
        near = [sign * mp.mpf(4) ** k for sign in (-1, 1) for k in range(int(max(mp.log(reach * s, 4), -1)) + 1)]
        for count in PANELS:
            ends = {mean + s * t for t in mp.linspace(-reach, reach, count + 1)}
            ends |= {e for e in map(mp.mpf, (0, *breaks, *near)) if abs(e - mean) < reach * s}
            value, error = mp.quad(weighed, sorted(ends), error=True)
            if error < small * max(1, abs(value)):
                return value
    raise AssertionError(f"mpmath is not sure of its average: {value} +- {error}")


def average_of_pair(
    f: Function, g: Function, k1: float, k2: float, c: float, places: Sequence[float] = (), reach: float = 11.0
) -> float:
    """<f(z1) g(z2)> in floats, by panels of Gauss and Legendre over z1, and over z2 given z1.

    Args:
        f: a function of arrays.
        g: another one.
        k1: variance of z1.
        k2: variance of z2.
        c: the covariance.
        places: where f or g changes over less than 1, besides 0.
        reach: standard deviations beyond which nothing is left.
    """
    with mp.workdps(40):  # in floats the difference of nearly parallel inputs would lose its digits
        rest = float(mp.sqrt(max(mp.mpf(k2) - mp.mpf(c) ** 2 / mp.mpf(k1), 0)))
    s, slope = np.sqrt(k1), c / np.sqrt(k1)
    near = np.add.outer([0.0, *places], [0.0, *np.geomspace(1e-5, 8, 28), *-np.geomspace(1e-5, 8, 28)]).ravel()
    even = np.linspace(-reach, reach, 60)

    def rule(ends: Any) -> Any:
        ends = np.sort(np.clip(ends, -reach, reach), axis=-1)
        half = np.diff(ends)[..., None] / 2
        x = ends[..., :-1, None] + half * (1 + NODES)
        return x, half * WEIGHTS * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)

    x, mass = (a.ravel() for a in rule(np.concatenate([even, near / s])))
    if rest == 0:
        return float(mass @ (f(s * x) * g(slope * x)))
    inner = []
    for part in np.array_split(x, len(x) // 100):
        mean = slope * part[:, None]
        y, weight = rule(np.concatenate([np.tile(even, (len(part), 1)), (near - mean) / rest], axis=1))
        inner.append((g(mean[..., None] + rest * y) * weight).sum((1, 2)))
    return float((mass * f(s * x) * np.concatenate(inner)).sum())
