"""Functions of one kernel as piecewise Chebyshev polynomials with a measured error.

A function of K is written as K**p * (1 + K)**(q - p) * c(u): p and q are its powers at small and large K, and u maps
K >= 0 to 0 <= u < 1 such that c is smooth up to both ends: u = 1 - 1/sqrt(1 + K) where the function has a series in
K at 0, u = sqrt(K)/(1 + sqrt(K)) where it has one in sqrt(K) (kinked activations), and likewise with other roots
(activations such as z/(1 + |z|**(2/3))). At large K all give a series in 1/sqrt(K). So the polynomials hold from K = 0
to the largest floats, beyond the range in which they were fitted; where large K brings logarithms (softsign) they stop
at K = 1e12, and c keeps its last value if that hardly changes any more; else there is no value beyond.

Where the activation vanishes around 0, for |z| < a, a function is as small as exp(-a**2/(2*K)) at small K. Its decay
E = a**2/2 is found from its values, exp(-E/K) stands in front, and the rest is fitted like any other function, K in
units of 2*E. Below K = E/800, where exp(-E/K) is no float, the value is 0.

Where the activation grows exponentially, so does a function at large K: exp(r*K) stands in front. It ends where its
values are no floats, and others end where no number was found (asymptotics.py): beyond, there is no polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import K
from ...functions.balls import as_mpf
from ..stable.primitives import GeneratedSymbol
from .asymptotics import TINY, End, decay_of, end_of, power_of

DIGITS = 32  # of the arithmetic on the way from values to coefficients
SMALLEST, LARGEST = mp.mpf("1e-12"), mp.mpf("1e6")  # where values are asked for, and below with roots of K
FARTHEST = mp.mpf("1e12")  # the same, of functions that cannot be continued from there to the largest floats
MOVING = 1e-4  # change of such a function in the last decade, relative, beyond which it has no value farther out
DEGREE = 20
TOLERANCE = 1e-16  # largest trailing coefficient, relative to the largest value on the piece
HOPELESS = 1e-5  # largest trailing coefficient of half the degree that gives hope for the whole
MAXIMUM = 48  # pieces
NEAR_ZERO = mp.mpf("1e-6")  # the variable of the fit where values are asked for, at least
DENOMINATOR, SIMPLE = 24, 6  # the largest of the order of a correction, and of one that is not clearly a fraction
MIN_ORDER = mp.mpf("0.05")  # the smallest of such orders
CORRECTED = mp.mpf("1e-6")  # size of a correction where its order is measured
NEARLY = 1e-3  # an order so near to a fraction, or to 1, is it
ANALYTIC = mp.mpf(9) / 10  # the order beyond which a correction is taken for one of order 1
NARROWEST = mp.mpf(2) ** -22
EXTENDED = 20  # a last piece so many times wider than what lacks from u(LARGEST) to u = 1 is continued to there

STEEP = 8  # powers up to which K**p may stand alone
SHARE = GeneratedSymbol("share")  # K/(1 + K)

Values = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Shape:
    """The factors that are taken out of a function before it is fitted, and the variable of the fit.

    Args:
        small, large: its powers of K at 0 and at infinity.
        root: r of its series in K**(1/r) at 0.
        decay: E of the factor exp(-E/K).
        unit: of K.
        growth: r of the factor exp(r*K).
    """

    small: sp.Rational
    large: sp.Rational
    root: int
    decay: float = 0.0
    unit: float = 1.0
    growth: float = 0.0

    @property
    def floor(self) -> float:
        """The kernel below which the function is no float; 0 if there is none."""
        return self.decay / TINY

    @property
    def scale(self) -> sp.Expr:
        """The factor in front of the polynomial."""
        return self._exponential * K**self.small * (1 + self._scaled) ** (self.large - self.small)

    @property
    def steps(self) -> tuple[tuple[str, sp.Expr], ...]:
        """The variable u and the factor as code computes them: no power of K overflows that another one outweighs."""
        if self.small <= STEEP:
            return ("u", self.map), ("scale", self.scale)
        factor = self._exponential * SHARE**self.small * (1 + self._scaled) ** self.large
        return ("u", self.map), (str(SHARE), K / (1 + self._scaled)), ("scale", factor)

    @property
    def map(self) -> sp.Expr:
        """The variable u as an expression in K, without cancellation."""
        k = self._scaled
        if self.root > 1:
            return k ** sp.Rational(1, self.root) / (1 + k ** sp.Rational(1, self.root))
        return k / (sp.sqrt(1 + k) * (1 + sp.sqrt(1 + k)))

    @property
    def _exponential(self) -> sp.Expr:
        return sp.exp(number(self.growth) * K - number(self.decay) / K)

    @property
    def _scaled(self) -> sp.Expr:
        return K / number(self.unit)

    def kernel(self, u: mp.mpf) -> mp.mpf:
        """The kernel at u."""
        return self.unit * ((u / (1 - u)) ** self.root if self.root > 1 else u * (2 - u) / (1 - u) ** 2)

    def place(self, k: mp.mpf) -> mp.mpf:
        """The variable u at a kernel."""
        return sp.lambdify(K, self.map, "mpmath")(mp.mpf(k))

    def divide(self, value: mp.mpf, k: mp.mpf) -> mp.mpf:
        """A value of the function without the factors."""
        power = k ** as_mpf(self.small) * (1 + k / self.unit) ** as_mpf(self.large - self.small)
        return value * mp.exp(self.decay / k - self.growth * k) / power


@dataclass(frozen=True)
class Fit:
    """The fit of one function.

    Args:
        shape: the factors in front, and the variable.
        absolute: whether the error is small relative to the largest value only, not to each value: functions
            that vanish at small K in yet another way than a power and a decay.
        edges: increasing edges of the pieces in u, from 0 (from the decay's floor) to 1 or to u(FARTHEST).
        table: Chebyshev coefficients, one row a degree, one column a piece.
        sign: of all values of a function that is fitted beside its largest value; 0 if they differ, and otherwise.
        max_kernel: the last kernel for which there are numbers.
        reason: why there are none beyond.
    """

    shape: Shape
    absolute: bool
    edges: tuple[float, ...]
    table: tuple[tuple[float, ...], ...]
    sign: int = 0
    max_kernel: float = math.inf
    reason: str = ""


def fit(values: Values, what: str) -> Fit:
    """Fit a function of K, known to about 20 digits.

    Args:
        values: the function.
        what: its name, for messages.

    Raises:
        SymresError: it does not settle on pieces of the smallest width.
    """
    with mp.workdps(DIGITS):
        kept = lru_cache(maxsize=None)(values)
        fitted = _fitted(kept, LARGEST, what)
        if fitted.edges[-1] < 1 and math.isinf(fitted.max_kernel):
            farther = _fitted(kept, FARTHEST, what)
            fitted = farther if math.isinf(farther.max_kernel) else fitted
        if fitted.edges[-1] < 1 and math.isinf(fitted.max_kernel):
            last, before = (fitted.shape.divide(kept(k), k) for k in (FARTHEST, FARTHEST / 10))
            if abs(last - before) > MOVING * abs(last):  # it still changes there: the last value is not kept
                fitted = replace(fitted, max_kernel=float(FARTHEST), reason="a polynomial does not describe it there")
    return fitted


def _fitted(values: Values, largest: mp.mpf, what: str) -> Fit:
    """The fit of a function, from values up to a kernel."""
    end = end_of(values, largest)
    last = min(largest, mp.mpf(end.max_kernel))
    for shape, absolute in _shapes(values, end, last):
        pieces = _pieces(values, shape, absolute, end, last)
        if pieces is not None:
            break
    else:
        raise SymresError(
            f"a fit of {what}", f"more than {MAXIMUM} polynomials are needed", "export it to LaTeX, or evaluate it"
        )
    edges = (*(float(left) for left, _, _ in pieces), float(pieces[-1][1]))
    rows = zip(*(coefficients for _, _, coefficients in pieces), strict=True)
    table = tuple(tuple(map(float, row)) for row in rows)
    numbers = [number for row in table for number in row]
    if not all(map(math.isfinite, numbers)) or not (any(numbers) or values(last) == 0):
        raise SymresError(f"a fit of {what}", "its values are beyond the range of float64", "use smaller constants")
    sign = _sign(values, last) if absolute else 0
    return Fit(shape, absolute, edges, table, sign, end.max_kernel, end.reason)


def _shapes(values: Values, end: End, largest: mp.mpf) -> Iterator[tuple[Shape, bool]]:
    """What to try, the likely first."""
    large = power_of(lambda k: values(k) * mp.exp(-end.growth * k), largest, largest / 100)
    decay = decay_of(values, SMALLEST, largest)
    if decay is not None:
        rate, power = decay
        yield Shape(power, large, 1, rate, 2 * rate, end.growth), False
    else:
        small, first = _series(values)
        for root in dict.fromkeys((first, 1, 2)):
            yield Shape(small, large, root, growth=end.growth), False
    for root in (2, 1):
        yield Shape(sp.Integer(0), large, root, growth=end.growth), True


def _sign(values: Values, largest: mp.mpf) -> int:
    """The sign of a function; 0 if it changes."""
    signs = {int(mp.sign(values(min(SMALLEST * 4**j, largest)))) for j in range(30)} - {0}
    return signs.pop() if len(signs) == 1 else 0


def number(value: float) -> sp.Rational:
    """A float as the binary number that it is."""
    return sp.Rational(*value.as_integer_ratio())


def _series(values: Values) -> tuple[sp.Rational, int]:
    """The power p of K at 0, and the r for which a function looks like K**p times a series in K**(1/r) there.

    An even one above 1, so that the variable of the fit gives a series in 1/sqrt(K) at large K.
    """
    small = power_of(values, SMALLEST, 100 * SMALLEST)
    order = _order(values, small, SMALLEST)
    if order is None:
        return small, 1
    if order > 1 - NEARLY:
        return small, 2
    end = min(SMALLEST, CORRECTED ** (1 / max(abs(order), MIN_ORDER)))  # the next corrections are small there
    small = power_of(values, end, 100 * end)
    nearer = _order(values, small, end) or order
    fraction = Fraction(float(nearer)).limit_denominator(DENOMINATOR)
    if abs(nearer - mp.mpf(fraction.numerator) / fraction.denominator) > NEARLY:
        fraction = fraction.limit_denominator(SIMPLE)
    return small, math.lcm(2, fraction.denominator)


def _order(values: Values, small: sp.Rational, end: mp.mpf) -> mp.mpf | None:
    """The order of the first correction at small K; None if it is too small to be a root of K."""
    first, second, third = (values(k) / k ** as_mpf(small) for k in (end, 100 * end, 10**4 * end))
    if abs(second - first) <= (100 * end) ** ANALYTIC * abs(first):
        return None
    return mp.log(abs((third - second) / (second - first))) / mp.log(100)


def _pieces(
    values: Values, shape: Shape, absolute: bool, end: End, largest_kernel: mp.mpf
) -> list[tuple[mp.mpf, mp.mpf, list[mp.mpf]]] | None:
    """Halve pieces until the trailing coefficients are negligible; None if that does not settle."""
    lowest = max(min(SMALLEST, NEAR_ZERO**shape.root), mp.mpf(shape.floor))

    def normalised(u: mp.mpf) -> mp.mpf:
        k = min(max(shape.kernel(u), lowest), largest_kernel)
        return shape.divide(values(k), k)

    first, last = shape.place(lowest), shape.place(largest_kernel)
    start = first if shape.decay else mp.mpf(0)
    largest = max(abs(normalised(last * k / 8)) for k in range(1, 9)) if absolute else mp.mpf(0)
    edges = [start, *(e for e in (mp.mpf(1) / 2, mp.mpf(3) / 4) if start < e < last), last]
    stack, done = list(pairwise(edges))[::-1], []
    while stack:
        left, right = stack.pop()
        continued = right == last and math.isinf(end.max_kernel) and last - left > EXTENDED * (1 - last)
        outer = mp.mpf(1) if continued else right
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
    if not _has_converged(_cosines(coarse), largest, HOPELESS):
        return None
    samples = [coarse[k // 2] if k % 2 == 0 else at(a) for k, a in enumerate(angles)]
    coefficients = _cosines(samples)
    if (first, last) != (left, right):
        # The same polynomial in the variable of the whole piece: evaluate it at that piece's Chebyshev points.
        outer_points = [(left + right) / 2 + (right - left) / 2 * mp.cos(a) for a in angles]
        inner_points = [(2 * u - first - last) / (last - first) for u in outer_points]
        coefficients = _cosines([_clenshaw(coefficients, t) for t in inner_points])
    return coefficients if _has_converged(coefficients, largest, TOLERANCE) else None


def _has_converged(coefficients: list[mp.mpf], largest: mp.mpf, tolerance: float) -> bool:
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
    """The value of a Chebyshev series."""
    high = low = mp.mpf(0)
    for c in coefficients[:0:-1]:
        high, low = c + 2 * t * high - low, high
    return coefficients[0] + t * high - low


def grid() -> list[float]:
    """Where errors of functions of K are measured: no Chebyshev points of anything, denser than a decade each."""
    return [float(f"{10 ** (-8 + 12 * (i + 0.37 * math.sin(i)) / 96):.6g}") for i in range(1, 97)]
