"""Functions of one kernel as piecewise Chebyshev polynomials with a measured error.

A function of K is written as K**p * (1 + K)**(q - p) * c(u): p and q are its powers at small and large K, and u maps
K >= 0 to 0 <= u < 1 such that c is smooth up to both ends: u = 1 - 1/sqrt(1 + K) where the function has a series in
K at 0, u = sqrt(K)/(1 + sqrt(K)) where it has one in sqrt(K) (kinked activations). At large K both give a series in
1/sqrt(K). So the polynomials hold from K = 0 to the largest floats, beyond the range in which they were fitted;
where large K brings logarithms (softsign) they stop at K = 1e6, and c keeps its last value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import mpmath as mp
import sympy as sp

from ...errors import SymresError
from ...symbols import K

DIGITS = 32  # of the arithmetic on the way from values to coefficients
SMALLEST, LARGEST = mp.mpf("1e-12"), mp.mpf("1e6")  # where values are asked for
DEGREE = 20
TOLERANCE = 1e-16  # largest trailing coefficient, relative to the largest value on the piece
HOPELESS = 1e-5  # largest trailing coefficient of half the degree that gives hope for the whole
MAXIMUM = 48  # pieces
NARROWEST = mp.mpf(2) ** -12
EXTENDED = mp.mpf("0.02")  # a last piece wider than this is continued from u(K = 1e6) to u = 1

Values = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """The fit of one function.

    Args:
        small, large: its powers of K at 0 and at infinity.
        kinked: whether its series at 0 is one in sqrt(K).
        absolute: whether the error is small relative to the largest value only, not to each value: functions
            that vanish faster than any power (the slope of a hard tanh at small K).
        edges: increasing edges of the pieces in u, from 0 to 1 or to u(K = 1e6).
        table: Chebyshev coefficients, one row a degree, one column a piece.
    """

    small: sp.Rational
    large: sp.Rational
    kinked: bool
    absolute: bool
    edges: tuple[float, ...]
    table: tuple[tuple[float, ...], ...]

    @property
    def scale(self) -> sp.Expr:
        """The factor in front of the polynomial."""
        return K**self.small * (1 + K) ** (self.large - self.small)

    @property
    def map(self) -> sp.Expr:
        """U as an expression in K, without cancellation."""
        if self.kinked:
            return sp.sqrt(K) / (1 + sp.sqrt(K))
        return K / (sp.sqrt(1 + K) * (1 + sp.sqrt(1 + K)))


def fit(values: Values, what: str) -> Fit:
    """Fit a function of K, known to about 20 digits at any K from 1e-12 to 1e6.

    Args:
        values: the function.
        what: its name, for messages.

    Raises:
        SymresError: it does not settle on pieces of the smallest width.
    """
    with mp.workdps(DIGITS):
        known = lru_cache(maxsize=None)(values)
        likely = _in_roots(known)
        for absolute, kinked in ((False, likely), (False, not likely), (True, likely), (True, not likely)):
            small = sp.Integer(0) if absolute else _power(known, SMALLEST, 100 * SMALLEST)
            large = _power(known, LARGEST / 100, LARGEST)
            pieces = _pieces(known, small, large, kinked, absolute)
            if pieces is not None:
                break
        else:
            raise SymresError(
                f"a fit of {what}", f"more than {MAXIMUM} polynomials are needed", "export it to LaTeX, or evaluate it"
            )
    edges = (*(float(left) for left, _, _ in pieces), float(pieces[-1][1]))
    rows = zip(*(coefficients for _, _, coefficients in pieces), strict=True)
    return Fit(small, large, kinked, absolute, edges, tuple(tuple(float(c) for c in row) for row in rows))


def _in_roots(values: Values) -> bool:
    """Whether a function looks like a series in sqrt(K) at small K: its first correction is then far above K."""
    a, b = SMALLEST, 100 * SMALLEST
    power = mp.mpf(str(_power(values, a, b).evalf(5)))
    first, second = values(a) / a**power, values(b) / b**power
    return abs(first - second) > mp.sqrt(b) / 1000 * abs(first)


def _power(values: Values, a: mp.mpf, b: mp.mpf) -> sp.Rational:
    """The power of K between two points, to the nearest half."""
    first, second = values(a), values(b)
    if first == 0 or second == 0 or first * second < 0:
        return sp.Integer(0)
    slope = mp.log(second / first) / mp.log(b / a)
    return sp.Rational(max(-8, min(8, int(mp.nint(2 * slope)))), 2)


def _pieces(
    values: Values, small: sp.Rational, large: sp.Rational, kinked: bool, absolute: bool
) -> list[tuple[mp.mpf, mp.mpf, list[mp.mpf]]] | None:
    """Halve pieces until the trailing coefficients are negligible; None if that does not settle."""

    def normalised(u: mp.mpf) -> mp.mpf:
        k = (u / (1 - u)) ** 2 if kinked else u * (2 - u) / (1 - u) ** 2
        k = min(max(k, SMALLEST), LARGEST)
        return values(k) / k ** mp.mpf(str(small.evalf(5))) / (1 + k) ** mp.mpf(str((large - small).evalf(5)))

    first = mp.sqrt(SMALLEST) if kinked else SMALLEST / 2
    last = 1 - 1 / mp.sqrt(1 + LARGEST) if not kinked else mp.sqrt(LARGEST) / (1 + mp.sqrt(LARGEST))
    largest = max(abs(normalised(last * k / 8)) for k in range(1, 9)) if absolute else mp.mpf(0)
    stack, done = [(mp.mpf(3) / 4, last), (mp.mpf(1) / 2, mp.mpf(3) / 4), (mp.mpf(0), mp.mpf(1) / 2)], []
    while stack:
        left, right = stack.pop()
        outer = mp.mpf(1) if right == last and last - left > EXTENDED else right
        coefficients = _chebyshev(normalised, left, outer, max(left, first), right, largest)
        if coefficients is not None:
            done.append((left, outer, coefficients))
            continue
        middle = (left + right) / 2
        if right - left <= NARROWEST or len(done) + len(stack) + 2 > MAXIMUM:
            return None
        stack += [(middle, right), (left, middle)]
    return done


def _chebyshev(
    f: Values, left: mp.mpf, right: mp.mpf, first: mp.mpf, last: mp.mpf, largest: mp.mpf
) -> list[mp.mpf] | None:
    """Coefficients on [left, right] of the interpolant at Chebyshev points of [first, last] inside it.

    None if the trailing ones are not negligible, which half of the points often tell already.
    """

    def at(angle: mp.mpf) -> mp.mpf:
        return f((first + last) / 2 + (last - first) / 2 * mp.cos(angle))

    angles = [k * mp.pi / DEGREE for k in range(DEGREE + 1)]
    coarse = [at(a) for a in angles[::2]]
    if not _settled(_cosines(coarse), largest, HOPELESS):
        return None
    samples = [coarse[k // 2] if k % 2 == 0 else at(a) for k, a in enumerate(angles)]
    coefficients = _cosines(samples)
    if (first, last) != (left, right):
        # The same polynomial in the variable of the whole piece: evaluate it at that piece's Chebyshev points.
        outer_points = [(left + right) / 2 + (right - left) / 2 * mp.cos(a) for a in angles]
        coefficients = _cosines(
            [_clenshaw(coefficients, (2 * u - first - last) / (last - first)) for u in outer_points]
        )
    return coefficients if _settled(coefficients, largest, TOLERANCE) else None


def _settled(coefficients: list[mp.mpf], largest: mp.mpf, tolerance: float) -> bool:
    """Whether the last coefficients are small beside the size of the function."""
    size = max(sum(abs(c) for c in coefficients), largest)
    return max(abs(c) for c in coefficients[-2:]) <= tolerance * size


def _cosines(samples: list[mp.mpf]) -> list[mp.mpf]:
    """Chebyshev coefficients from values at the extrema cos(k*pi/n) of a Chebyshev polynomial."""
    n = len(samples) - 1
    ends = [samples[0] / 2, *samples[1:-1], samples[-1] / 2]
    out = [2 * mp.fsum(v * mp.cos(j * k * mp.pi / n) for k, v in enumerate(ends)) / n for j in range(n + 1)]
    return [out[0] / 2, *out[1:-1], out[-1] / 2]


def _clenshaw(coefficients: list[mp.mpf], t: mp.mpf) -> mp.mpf:
    high = low = mp.mpf(0)
    for c in coefficients[:0:-1]:
        high, low = c + 2 * t * high - low, high
    return coefficients[0] + t * high - low


def grid() -> list[float]:
    """Where errors of functions of K are measured: no Chebyshev points of anything, denser than a decade each."""
    return [float(f"{10 ** (-8 + 12 * (i + 0.37 * math.sin(i)) / 96):.6g}") for i in range(1, 97)]
