"""Where to compare: generic rational points, reproducible from a seed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import sympy as sp

from .. import symbols

Values = dict[sp.Symbol, sp.Expr]

_RANGES: Mapping[sp.Symbol, tuple[float, float]] = {
    symbols.C_W: (0.5, 2.0),
    symbols.C_b: (0.05, 0.5),
    symbols.gamma: (0.3, 0.9),
    symbols.xi: (0.3, 0.9),
}
_USUAL = (0.6, 1.6)  # parameters of activations
KERNELS = (-3.0, -1.75, -0.5, 0.75, 2.0)  # log10 of the kernel: one point in each interval


def stream(seed: int, *names: object) -> np.random.Generator:
    """Random numbers that depend on the seed and on what they are for, not on what was drawn before."""
    return np.random.default_rng([seed, *(zlib.crc32(str(name).encode()) for name in names)])


def rational(low: float, high: float, rng: np.random.Generator) -> sp.Rational:
    """A number with three digits between two bounds: its float, its decimal and its fraction are easy to copy."""
    return decimal(rng.uniform(low, high))


def decimal(value: float) -> sp.Rational:
    """The value rounded to three significant digits, exactly."""
    return sp.Rational(f"{value:.3g}")


def parameters(free: Iterable[sp.Symbol], rng: np.random.Generator, given: Mapping[str, sp.Expr]) -> Values:
    """Numbers for the parameters of a layer.

    Args:
        free: its symbols, arguments of the maps (kernels) included or not; those are left out.
        rng: source of random numbers.
        given: numbers fixed by the user, by name.
    """
    arguments = {symbols.z, symbols.K, symbols.K1, symbols.K2, symbols.C}
    values: Values = {}
    for symbol in sorted(set(free) - arguments, key=str):
        if str(symbol) in given:
            values[symbol] = sp.sympify(given[str(symbol)])
        elif symbol.is_integer:
            values[symbol] = sp.Integer(int(rng.integers(1, 4)))
        else:
            drawn = rational(*_RANGES.get(symbol, _USUAL), rng)
            values[symbol] = -drawn if symbol.is_negative else drawn
    return values


def kernels(count: int, rng: np.random.Generator) -> list[sp.Rational]:
    """Kernels of all magnitudes from 1e-3 to 1e2."""
    edges = np.linspace(KERNELS[0], KERNELS[-1], count + 1)
    return [decimal(10 ** rng.uniform(low, high)) for low, high in pairwise(edges)]


def pairs(count: int, rng: np.random.Generator) -> list[Values]:
    """Two inputs: kernels of all magnitudes; correlations of both signs, one of them close to 1."""
    correlations = [rng.uniform(0.2, 0.9), 1 - 10 ** rng.uniform(-4, -2), rng.uniform(-0.9, -0.2)]
    result = []
    for i, K1 in enumerate(kernels(count, rng)):
        K2 = decimal(float(K1) * rng.uniform(0.5, 2.0))
        C = sp.Rational(f"{correlations[i % 3] * float(sp.sqrt(K1 * K2)):.5g}")
        result.append({symbols.K1: K1, symbols.K2: K2, symbols.C: C})
    return result


def text(values: Mapping[sp.Symbol, sp.Expr]) -> str:
    """The point as text: decimals, which are exact here."""
    return ", ".join(f"{symbol} = {_decimal(value)}" for symbol, value in values.items())


def _decimal(value: sp.Expr) -> str:
    shown = f"{float(value):.10g}" if value.is_number else str(value)
    return shown if value.is_Rational and sp.Rational(shown) == value else str(value)
