"""What both sides of a claim need: averages by plain quadrature, and theories that are derived once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import sympy as sp

import symres as sr

DIGITS = 40  # of symres
FLOATS = 1e-13  # where symres returns 15 digits
_QUADRATURE = 32
_END = 13  # of the Gaussian, in standard deviations: beyond, less than 1e-37

# Parameters for which nothing is rounded in binary, so that both sides see the same numbers.
WEIGHT, BIAS, SKIP = mp.mpf("1.75"), mp.mpf("0.125"), mp.mpf("0.75")
SETTINGS = {"C_W": WEIGHT, "C_b": BIAS, "gamma": SKIP}
KERNELS = (mp.mpf("0.25"), mp.mpf("2.5"))


def _erf_slope(x: mp.mpf) -> mp.mpf:
    return 2 * mp.exp(-(x**2)) / mp.sqrt(mp.pi)


# phi and its derivatives, typed in
ACTIVATIONS: dict[str, tuple[Callable[[mp.mpf], mp.mpf], ...]] = {
    "erf": (
        mp.erf,
        _erf_slope,
        lambda x: -2 * x * _erf_slope(x),
        lambda x: (4 * x**2 - 2) * _erf_slope(x),
    ),
    "gelu": (
        lambda x: x * mp.ncdf(x),
        lambda x: mp.ncdf(x) + x * mp.npdf(x),
        lambda x: (2 - x**2) * mp.npdf(x),
        lambda x: (x**3 - 4 * x) * mp.npdf(x),
    ),
    "sin": (mp.sin, mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "relu": (lambda x: max(x, mp.mpf(0)), lambda x: mp.mpf(x > 0)),
}


def average(f: Callable[[mp.mpf], mp.mpf], K: mp.mpf) -> mp.mpf:
    """(7): the average of f(h) over h ~ N(0, K), by quadrature."""
    with mp.workdps(_QUADRATURE):
        width = mp.sqrt(K)
        return mp.quad(lambda x: f(width * x) * mp.npdf(x), [-_END, 0, _END])


@cache
def squared(name: str, order: int, K: mp.mpf) -> mp.mpf:
    """The average of a squared derivative of an activation, of order 0 for the activation itself."""
    f = ACTIVATIONS[name][order]
    return average(lambda x: f(x) ** 2, K)


def own(name: str, K: mp.mpf) -> mp.mpf:
    """C_W <phi^2>_K + C_b, (9)."""
    return WEIGHT * squared(name, 0, K) + BIAS


def slope(name: str, K: mp.mpf) -> mp.mpf:
    """C_W <phi'^2>_K, (11) without the factor that it has too many."""
    return WEIGHT * squared(name, 1, K)


@cache
def theory(layer: str, phi: str, **options: Any) -> sr.Theory:
    """The theory of one of the usual layers."""
    return sr.derive(sr.architectures[layer](phi, **options))


def at(quantity: sr.Quantity, **values: Any) -> mp.mpf:
    """A quantity at numbers, of which those are ignored that it does not depend on."""
    names = {symbol.name for symbol in quantity.symbols}
    return quantity.evalf(DIGITS, **{name: value for name, value in values.items() if name in names})


def number(expression: sp.Expr, **values: mp.mpf) -> mp.mpf:
    """An expression at numbers, which are taken as the exact fractions that they are."""
    exact = {s: sp.Rational(sp.Float(values[s.name], 90)) for s in expression.free_symbols}
    return mp.mpf(expression.subs(exact).evalf(DIGITS + 10))


def rounded(value: mp.mpf, decimals: int) -> mp.mpf:
    """A number to as many decimals as are printed."""
    return mp.nint(value * 10**decimals) / mp.mpf(10) ** decimals
