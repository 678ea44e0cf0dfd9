"""Where to compare: generic rational points, reproducible from a seed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import sympy as sp

from ...core import symbols
from ...layers.positions import USUAL_TOKENS

Values = dict[sp.Symbol, sp.Expr]

_RANGES: Mapping[sp.Symbol, tuple[float, float]] = {
    symbols.C_W: (0.5, 2.0),
    symbols.C_b: (0.05, 0.5),
    symbols.gamma: (0.3, 0.9),
    symbols.xi: (0.3, 0.9),
}
_USUAL = (0.6, 1.6)  # parameters of activations
ARGUMENTS = frozenset(  # not parameters
    {symbols.z, symbols.K, symbols.K1, symbols.K2, symbols.C, symbols.Theta}
    | {symbols.P1, symbols.P2, symbols.E, symbols.t, symbols.s}
)
KERNELS = (-3.0, 2.0)  # log10 of the kernel in natural units
_OUTER = ((-6.0, -3.0), (2.0, 3.0))  # beyond
_NARROW = 0.3  # decades that are not worth a point
_DECADES = 2.0  # that the kernels span at least
_INSIDE = 1.0  # decades
_TANGENT = (0.3, 1.5)  # the tangent kernel of two inputs, in units of their kernels


@dataclass(frozen=True)
class Units:
    """Ordinary sizes of the numbers in a layer: powers of 10, and 1 for ordinary activations.

    Args:
        kernel: unit of the kernel, where a branch goes from one behaviour to another.
        weight, bias: units of C_W and C_b, which bring the branch to the size of the stream.
        lowest, highest: log10 of the kernels at which what enters the dense layers is neither lost in a dead zone nor
            made by the far tail of the Gaussian.
        centre: log10 of the kernel where the branch changes most.
    """

    kernel: sp.Rational = sp.S.One
    weight: sp.Rational = sp.S.One
    bias: sp.Rational = sp.S.One
    lowest: float = -math.inf
    highest: float = math.inf
    centre: float = 0.0

    @property
    def window(self) -> tuple[float, float]:
        """The interval of kernels at which a comparison says something, log10."""
        shift = math.log10(self.kernel)
        low, high = max(KERNELS[0] + shift, self.lowest), min(KERNELS[1] + shift, self.highest)
        return max(min(low, high - _DECADES), self.lowest), min(max(high, low + _DECADES), self.highest)

    @property
    def typical(self) -> float:
        """A kernel of about one unit at which neither few neurons nor the far tail make up the averages, log10."""
        return min(max(math.log10(self.kernel), self.lowest + _INSIDE), self.highest - _INSIDE)


ORDINARY = Units()


def stream(seed: int, *names: object) -> np.random.Generator:
    """Random numbers that depend on the seed and on some names alone, not on earlier draws."""
    return np.random.default_rng([seed, *(zlib.crc32(str(name).encode()) for name in names)])


def rational(low: float, high: float, rng: np.random.Generator) -> sp.Rational:
    """A number with three digits between two bounds: its float, its decimal and its fraction are easy to copy."""
    return decimal(rng.uniform(low, high))


def decimal(value: float) -> sp.Rational:
    """The value rounded to three significant digits, exactly."""
    return sp.Rational(f"{value:.3g}")


def parameters(
    free: Iterable[sp.Symbol], rng: np.random.Generator, fixed: Mapping[str, sp.Expr], units: Units = ORDINARY
) -> Values:
    """Numbers for the parameters of a layer with these units, those that the user has fixed by name.

    Kernels among the symbols are left out.
    """
    unit = {symbols.C_W: units.weight, symbols.C_b: units.bias}
    values: Values = {}
    for symbol in sorted(set(free) - ARGUMENTS, key=str):
        if str(symbol) in fixed:
            values[symbol] = sp.sympify(fixed[str(symbol)])
        elif symbol is symbols.T:
            values[symbol] = sp.Integer(USUAL_TOKENS)
        elif symbol.is_integer:
            values[symbol] = sp.Integer(int(rng.integers(1, 4)))
        else:
            drawn = rational(*_RANGES.get(symbol, _USUAL), rng)
            values[symbol] = unit.get(symbol, 1) * (-drawn if symbol.is_negative else drawn)
    return values


def kernels(count: int, rng: np.random.Generator, units: Units = ORDINARY) -> list[sp.Rational]:
    """Kernels of all magnitudes at which a comparison says something: from 1e-3 to 1e2 units, or fewer."""
    edges = np.linspace(*units.window, count + 1)
    return [decimal(10 ** rng.uniform(low, high)) for low, high in pairwise(edges)]


def pairs(count: int, rng: np.random.Generator, units: Units = ORDINARY) -> list[Values]:
    """Two inputs: kernels of all magnitudes; correlations of both signs, one of them close to 1."""
    correlations = [rng.uniform(0.2, 0.9), 1 - 10 ** rng.uniform(-4, -2), rng.uniform(-0.9, -0.2)]
    result = []
    for i, K1 in enumerate(kernels(count, rng, units)):
        K2 = decimal(float(K1) * rng.uniform(0.5, 2.0))
        C = sp.Rational(f"{correlations[i % 3] * float(sp.sqrt(K1 * K2)):.5g}")
        result.append({symbols.K1: K1, symbols.K2: K2, symbols.C: C})
    return result


def batches(count: int, rng: np.random.Generator, units: Units = ORDINARY) -> list[Values]:
    """Batches of inputs with one kernel and one covariance: of all magnitudes, little or much of it shared."""
    shares = [rng.uniform(0.2, 0.8), rng.uniform(0.0, 0.2), 1 - 10 ** rng.uniform(-2, -1)]
    return [_batch(K, shares[i % 3]) for i, K in enumerate(kernels(count, rng, units))]


def outer_batches(rng: np.random.Generator, units: Units) -> list[Values]:
    """Batches where formulas have their special cases: far below and above, and inputs that share nothing."""
    low, high = units.window
    extreme = [_batch(K, rng.uniform(0.2, 0.8)) for K in outer(rng, units)]
    return [*extreme, _batch(decimal(10 ** rng.uniform(low, high)), 0.0)]


def _batch(K: sp.Rational, share: float) -> Values:
    return {symbols.K: K, symbols.C: sp.Rational(f"{share * float(K):.5g}")}


def outer(rng: np.random.Generator, units: Units) -> list[sp.Rational]:
    """One kernel below and one above those of ``kernels``, where the units allow any."""
    shift = math.log10(units.kernel)
    spans = [(max(low + shift, units.lowest), min(high + shift, units.highest)) for low, high in _OUTER]
    return [decimal(10 ** rng.uniform(low, high)) for low, high in spans if high - low > _NARROW]


def corners(rng: np.random.Generator, units: Units) -> list[Values]:
    """Two inputs where formulas have their special cases: opposite, uncorrelated, nearly equal, and equal ones."""
    low, high = units.window
    middle = min(max(units.centre, low + _INSIDE), high - _INSIDE)
    result = []
    for correlation in (-0.99, 0.0, 1 - 1e-6, 1.0):
        K1 = decimal(10 ** (middle + rng.uniform(-_INSIDE, _INSIDE)))
        K2 = K1 if correlation == 1 else decimal(float(K1) * rng.uniform(0.5, 2.0))
        C = K1 if correlation == 1 else sp.Rational(f"{correlation * math.sqrt(K1 * K2):.10g}")
        result.append({symbols.K1: K1, symbols.K2: K2, symbols.C: C})
    return result


def with_tangent(place: Values, rng: np.random.Generator) -> Values:
    """The same inputs, or inputs of the same batch, with a tangent kernel."""
    kernels = [float(place[symbol]) for symbol in (symbols.K, symbols.K1, symbols.K2) if symbol in place]
    size = math.exp(sum(map(math.log, kernels)) / len(kernels))
    return place | {symbols.Theta: rational(_TANGENT[0] * size, _TANGENT[1] * size, rng)}


def are_equal(place: Values) -> bool:
    """Whether the two inputs of a place are one."""
    return len({place.get(symbol) for symbol in (symbols.K1, symbols.K2, symbols.C)}) == 1 and symbols.C in place


def nearer(place: Values, units: Units) -> Values:
    """The same point at kernels nearer to where the branch changes; correlations stay (but for rounding)."""
    first = next(place[symbol] for symbol in (symbols.K, symbols.K1) if symbol in place)
    kernel = decimal(10 ** (units.centre + (math.log10(first) - units.centre) / 4))
    moved = {symbol: decimal(float(value * kernel / first)) for symbol, value in place.items()}
    if symbols.C in place and not are_equal(place):
        moved[symbols.C] = sp.Rational(f"{float(place[symbols.C] * kernel / first):.5g}")
        shrunk = math.sqrt(math.prod(float(moved.get(one, kernel)) for one in (symbols.K1, symbols.K2))) * (1 - 1e-4)
        if abs(moved[symbols.C]) > shrunk:  # three digits of K2 may leave less than a nearly perfect correlation
            moved[symbols.C] = sp.sign(place[symbols.C]) * sp.Rational(f"{shrunk:.5g}")
    return moved


def text(values: Mapping[sp.Symbol, sp.Expr]) -> str:
    """The point as text: decimals, which are exact here."""
    return ", ".join(f"{symbol} = {shown(value)}" for symbol, value in values.items())


def shown(value: sp.Expr) -> str:
    """A number as a decimal where that is exact."""
    digits = f"{float(value):.10g}" if value.is_number else str(value)
    return digits if value.is_Rational and sp.Rational(digits) == value else str(value)
