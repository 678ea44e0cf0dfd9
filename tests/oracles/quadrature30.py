"""Averages over one normal variable and over two correlated ones to 30 digits, by Gauss-Legendre panels.

Of two the density is a product of a function of x, one of y and ``exp(c*x*y)``. On a pair of panels with middles m, l
and half-widths h, k the last is ``exp(c*m*l) exp(c*m*k*t) exp(c*h*l*s) exp(c*h*k*s*t)`` for nodes s, t in (-1, 1), and
the last of these is one table for all pairs of equal width: that makes 30 digits affordable.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import groupby

import sympy as sp
from flint import arb, arb_mat

from .panels30 import LEFT_OUT, RULES, Measured, Panel, ball, fraction, legendre, panels, ruler, settle
from .sections import Sections, compiled

_HALVINGS = 2  # each takes four times as long
_FAR = 16  # standard deviations of one variable given the other: 1e-56 of the density is beyond

Law = tuple[sp.Rational, sp.Rational, sp.Rational]


def average2(f: Sections, g: Sections, law: Law) -> Measured:
    """``<f(z1) g(z2)>`` for normal z1, z2 with variances K1, K2 and covariance C, law = (K1, C, K2), to 30 digits.

    Raises:
        Unsettled: two rules never agree.
    """
    K1, C, K2 = map(fraction, law)
    given = 1 - float(C * C / (K1 * K2))
    assert given > 0, law
    steps = ruler(law[0]), ruler(law[2])
    tight = Fraction(2) ** min(0, round(sp.log(given, 4).evalf() - sp.Rational(1, 2)))  # of one given the other

    def attempt(reach: int, share: Fraction) -> tuple[arb, arb, arb, bool]:
        cuts = [
            panels(function.breaks, reach * step, min(Fraction(1), step) * share, 2 * step * tight * share)
            for function, step in zip((f, g), steps, strict=True)
        ]
        rough, number = (_Product(f, g, (K1, C, K2), *cuts, count) for count in RULES)
        size = number.size
        short = any(end > LEFT_OUT * size for end in number.ends)
        return number.total, number.total - rough.total, size, short

    return settle(attempt, _HALVINGS)


class _Product:
    """One rule on every pair of panels that matter."""

    def __init__(
        self,
        f: Sections,
        g: Sections,
        law: tuple[Fraction, Fraction, Fraction],
        rows: list[Panel],
        columns: list[Panel],
        count: int,
    ) -> None:
        K1, C, K2 = law
        determinant = K1 * K2 - C * C
        self.rows, self.columns, self.count = rows, columns, count
        self.slope, self.spread = float(C / K1), float(determinant / K1) ** 0.5
        self.coupling = C / determinant
        self.nodes = [t for t, _ in legendre(count)]
        self.left = _weighted(f, rows, -K2 / (2 * determinant), count)
        self.right = _weighted(g, columns, -K1 / (2 * determinant), count)
        self._vectors: dict[Fraction, list[arb]] = {}
        self._tables: dict[Fraction, arb_mat] = {}
        norm = 2 * arb.pi() * ball(determinant).sqrt()
        sums = [
            [(k, number / norm) for k, number in self._row(panel, values)]
            for panel, values in zip(rows, self.left, strict=True)
        ]
        self.total = _sum(number for row in sums for _, number in row)
        self.size = _sum(abs(number) for row in sums for _, number in row)
        last = len(columns) - 1
        self.ends = [
            *(_sum(abs(number) for _, number in sums[k]) for k in (0, -1)),
            *(_sum(abs(number) for row in sums for k, number in row if k == end) for end in (0, last)),
        ]

    def _row(self, panel: Panel, values: list[arb]) -> Iterable[tuple[int, arb]]:
        """The integrals over the pairs with one panel of x."""
        near = [k for k, column in enumerate(self.columns) if self._matters(panel, column)]
        for half, members in groupby(near, key=lambda k: self.columns[k].half):
            yield from self._block(panel, values, half, list(members))

    def _block(self, panel: Panel, values: list[arb], half: Fraction, members: list[int]) -> Iterable[tuple[int, arb]]:
        """The same for panels of y of one width."""
        table = self._table(panel.half * half)
        shift = self._vector(panel.middle * half)
        right = [[v * e for v, e in zip(self.right[k], shift, strict=True)] for k in members]
        image = (arb_mat(right) * table).tolist()
        for k, line in zip(members, image, strict=True):
            column = self.columns[k]
            tilt = self._vector(panel.half * column.middle)
            total = _sum(a * b * c for a, b, c in zip(values, tilt, line, strict=True))
            yield k, total * ball(self.coupling * panel.middle * column.middle).exp()

    def _matters(self, panel: Panel, column: Panel) -> bool:
        distance = abs(float(column.middle) - self.slope * float(panel.middle))
        return distance <= float(column.half) + abs(self.slope) * float(panel.half) + _FAR * self.spread

    def _vector(self, product: Fraction) -> list[arb]:
        """``exp(coupling*product*t)`` at the nodes t."""
        if product not in self._vectors:
            factor = ball(self.coupling * product)
            self._vectors[product] = [(factor * t).exp() for t in self.nodes]
        return self._vectors[product]

    def _table(self, product: Fraction) -> arb_mat:
        """``exp(coupling*product*s*t)`` at all pairs of nodes."""
        if product not in self._tables:
            factor = ball(self.coupling * product)
            self._tables[product] = arb_mat([[(factor * s * t).exp() for s in self.nodes] for t in self.nodes])
        return self._tables[product]


def _weighted(f: Sections, cut: list[Panel], exponent: Fraction, count: int) -> list[list[arb]]:
    """Function times weight times ``exp(exponent*x**2)`` at the nodes of every panel."""
    parts, factor = [compiled(part) for part in f.parts], ball(exponent)
    return [
        [
            w * ball(panel.half) * parts[panel.piece](t) * (factor * t * t).exp()
            for t, (_, w) in zip(panel.nodes(count), legendre(count), strict=True)
        ]
        for panel in cut
    ]


def _sum(numbers: Iterable[arb]) -> arb:
    return sum(numbers, arb(0))


_HALVINGS_OF_ONE = 8  # oscillations over thousands of periods: sin(z) at a variance of 10**6 takes 7


def average(f: Sections, variance: sp.Rational) -> Measured:
    """``<f(z)>`` for z normal with mean 0 and this variance, to 30 digits.

    Raises:
        Unsettled: two rules never agree.
    """
    step = ruler(variance)

    def attempt(reach: int, share: Fraction) -> tuple[arb, arb, arb, bool]:
        cut = panels(f.breaks, reach * step, min(Fraction(1), step) * share, 2 * step * share)
        rough, number = (_sums(f, variance, cut, count) for count in RULES)
        total, size = sum(number, arb(0)), sum(map(abs, number), arb(0))
        short = any(abs(end) > LEFT_OUT * size for end in (number[0], number[-1]))
        return total, total - sum(rough, arb(0)), size, short

    return settle(attempt, _HALVINGS_OF_ONE)


def _sums(f: Sections, variance: sp.Rational, cut: list[Panel], count: int) -> list[arb]:
    """The integral over each panel."""
    k = ball(fraction(variance))
    scale, norm = -1 / (2 * k), (2 * arb.pi() * k).sqrt()
    parts = [compiled(part) for part in f.parts]
    result = []
    for panel in cut:
        part = parts[panel.piece]
        pairs = zip(panel.nodes(count), legendre(count), strict=True)
        total = sum((w * part(t) * (scale * t * t).exp() for t, (_, w) in pairs), arb(0))
        result.append(total * ball(panel.half) / norm)
    return result
