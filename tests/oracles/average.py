"""Gaussian averages by quadrature from the functions themselves; nothing is shared with symres."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import sympy as sp

GUARD = 15  # digits that a sum over panels may lose, or an average that is small beside its integrand
PANELS = (8, 24, 72)  # between the ends, tried in turn


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


def average_of_pair(f: Callable[[mp.mpf], Any], k1: Any = 0.7, k2: Any = 1.9, c: Any = 0.8) -> float:
    """<f(z1) f(z2)> of a smooth function to 16 digits, by the trapezoidal rule, which symres uses nowhere."""
    with mp.workdps(20):
        root, slope = mp.sqrt(k1), c / mp.sqrt(k1)
        rest = mp.sqrt(k2 - slope**2)
        nodes = [mp.mpf(n) / 3 for n in range(-27, 28)]
        weight = [mp.npdf(x) / 3 for x in nodes]
        inner = [mp.fdot(weight, [f(slope * x + rest * y) for y in nodes]) for x in nodes]
        return float(mp.fdot(weight, [f(root * x) * g for x, g in zip(nodes, inner, strict=True)]))
