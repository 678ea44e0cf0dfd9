"""The part of <f(z1) g(z2)> from a rectangle, by the product of a rule for z1 and a rule for z2.

With the inverse covariance p, the weight ``exp(-(p11*x**2 + 2*p12*x*w + p22*w**2)/2)`` is a function of x times one of
w times ``exp(-p12*x*w)``: f and g are evaluated at the nodes of their own rules only, and two blocks of nodes around
x0 and w0 meet in two vectors and the matrix ``exp(-p12*(x - x0)*(w - w0))``, the same for all blocks of their widths.

What the rules miss: the quadratic form is above ``x**2/k1`` and above ``w**2/k2``, so above half their sum, and an
imaginary part y of x lowers it by ``p11*y**2``. So each rule faces its own function with a weight of one variable, and
its error is multiplied by the size of the other function.

A sum of ``mass*k(x)`` over nodes in an interval around x0 may be replaced by one over the N zeros of the Chebyshev
polynomial on that interval, with the masses that give the same sum for polynomials of lower degree. For k analytic and
below M in an ellipse as in panels.py, the error is at most ``4*M*rho**(1-N)/(rho - 1)`` times the sum of |mass|: the
coefficients of k are below ``2*M*rho**-n``, and interpolation turns ``T_n`` into some ``+/-T_j`` or 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TypeAlias

from flint import arb, arb_mat, ctx

from ...core.work_budget import spend
from ...numerics.deferred_numpy import np
from ...numerics.gauss_rules import half_rule
from .bivariate_normal import BivariateNormal
from .panels import LOG2_E, Panel, Weight, log2_sum, log2_upper, plan_panels, power_of_two, stored_bits
from .univariate import Interval, Segment, clip

_Floats: TypeAlias = "np.ndarray | float"
_PANEL_MARGIN = 8  # bits: many panels share the error allowed
_RHOS = (2.2, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)


@dataclass(frozen=True)
class Strip:
    """A function of one of the variables on an interval of its coordinate."""

    segments: list[Segment]  # its smooth pieces
    ends: Interval  # of the interval
    log2_square: float  # log2 of a bound on the integral of its square times ``exp(-x**2/2k)``

    @property
    def log2_size(self) -> float:
        """log2 of a bound on the integral of its absolute value times ``exp(-x**2/4k)``: the Schwarz inequality."""
        return (log2_upper(self.ends[1] - self.ends[0]) + self.log2_square) / 2

    @property
    def reach(self) -> arb:
        """The largest distance from 0."""
        return self.ends[0].union(self.ends[1]).abs_upper()

    def panels(self, weight: Weight, log2_tolerance: float) -> list[Panel]:
        """Panels for the interval, from left to right."""
        panels = []
        for s in self.segments:
            a, b = clip(s, *self.ends)
            if not a > b:
                panels += plan_panels(s.function, weight, a, b, log2_tolerance - _PANEL_MARGIN, ctx.prec // 2)
        return panels


def product_average(f: Strip, g: Strip, law: BivariateNormal, log2_tolerance: float) -> arb:
    """Enclose the average of f(z1) g(z2) over the rectangle where both strips are, zero elsewhere.

    Args:
        f: of z1.
        g: of z2.
        law: of exact numbers, with a density.
        log2_tolerance: log2 of the error to aim at.
    """
    p11, _, p22 = law.inverse
    norm = 2 * arb.pi() * law.determinant.sqrt()
    goal = log2_tolerance + log2_upper(norm)
    lost_bits = log2_upper(p11 * f.reach**2 + p22 * g.reach**2)  # bits of the exponentials
    with ctx.workprec(ctx.prec + max(0, int(lost_bits))):
        columns, missed = _rule_of(g, Weight(2 * law.k2, law.scale2, 1 / p22), goal - f.log2_size)
        errors = [missed + f.log2_size]
        size = log2_sum(block.log2_size - _log2_decay(block, law.k2) for block in columns)
        total = arb(0)
        if size > -math.inf:
            rows, missed = _rule_of(f, Weight(2 * law.k1, law.scale1, 1 / p11), goal - size)
            total, skipped = _sum(rows, columns, law, goal - 2 * _PANEL_MARGIN)
            errors += [missed + size, skipped]
        total += arb(0, power_of_two(log2_sum(errors)))
        return total / norm


def _rule_of(strip: Strip, weight: Weight, log2_tolerance: float) -> tuple[list[Block], float]:
    """The rule for one variable, and log2 of a bound on its error for ``|weight|``."""
    panels = strip.panels(weight, log2_tolerance)
    blocks = [block_of(panel, weight.scale) for panel in panels if panel.nodes]
    blocks, error = compress(blocks, weight, log2_tolerance - _PANEL_MARGIN)
    return blocks, log2_sum([error, *(panel.log2_error for panel in panels)])


def _log2_decay(block: Block, k: arb) -> float:
    """Lower bound of ``x**2/4k*log2(e)`` on a block."""
    nearest = max(block.low, -block.high, 0.0)
    return nearest**2 / (4 * float(k.upper())) * LOG2_E * (1 - 1e-12)


def _sum(rows: list[Block], columns: list[Block], law: BivariateNormal, threshold: float) -> tuple[arb, float]:
    """The double sum over the nodes, and log2 of a bound on the pairs of blocks left out."""
    total, skipped = arb(0), [-math.inf]
    p11, p12, p22 = law.inverse
    lows, highs = np.array([c.low for c in columns]), np.array([c.high for c in columns])
    sizes = np.array([c.log2_size for c in columns])
    weighted = [_weighted(column, p22) for column in columns]
    # The form is (w - b x)^2/v + x^2/k1, and the same with x and w exchanged.
    forward = _QuadraticFormBound(law.c / law.k1, law.determinant / law.k1, law.k1)
    backward = _QuadraticFormBound(law.c / law.k2, law.determinant / law.k2, law.k2)
    cores: dict[tuple, arb_mat] = {}
    for row in rows:
        form = np.maximum(forward(row.low, row.high, lows, highs), backward(lows, highs, row.low, row.high))
        bounds = row.log2_size + sizes - form * (LOG2_E / 2) + 1e-6
        small = bounds < threshold
        skipped += list(bounds[small])
        masses = _weighted(row, p11) if not small.all() else []
        for k in np.flatnonzero(~small):
            column = columns[k]
            a, b = -p12 * column.centre, -p12 * row.centre
            left = [m * (a * x).exp() for m, x in zip(masses, row.points, strict=True)]
            right = [m * (b * t).exp() for m, t in zip(weighted[k], column.steps, strict=True)]
            spend(len(left) * len(right))
            core = _exponential_matrix(row, column, -p12, cores)
            total += (arb_mat(1, len(left), left) * (core * arb_mat(len(right), 1, right)))[0, 0]
    return total, log2_sum(skipped)


def _weighted(block: Block, p: arb) -> list[arb]:
    """The masses times ``exp(-p x^2/2)``."""
    decay = -p / 2
    return [m * (decay * x * x).exp() for m, x in zip(block.masses, block.points, strict=True)]


def _exponential_matrix(row: Block, column: Block, gamma: arb, matrices: dict[tuple, arb_mat]) -> arb_mat:
    """The matrix of ``exp(gamma*(x - x0)*(w - w0))``."""
    area = row.half * column.half
    key = (id(row.units), id(column.units), ball_key(area))
    if key not in matrices:
        rising = [[(gamma * area * x * w).exp() for w in column.units] for x in row.units]
        falling = [[1 / e for e in line] for line in rising]
        above = [up + down for up, down in zip(rising, falling, strict=True)]
        below = [down + up for up, down in zip(rising, falling, strict=True)]
        matrices[key] = arb_mat(above + below)
    return matrices[key]


class _QuadraticFormBound:
    """Lower bounds of ``(w - slope*x)^2/variance + x^2/k`` on rectangles, in floats."""

    def __init__(self, slope: arb, variance: arb, k: arb) -> None:
        self._slope, self._doubt = float(slope.mid()), float(slope.rad()) + 1e-14 * abs(float(slope.mid()))
        self._variance, self._k = (float(v.upper()) * (1 + 1e-12) for v in (variance, k))

    def __call__(self, low: _Floats, high: _Floats, start: _Floats, end: _Floats) -> np.ndarray:
        """For x in low..high and w in start..end."""
        low, high, start, end = map(np.asarray, (low, high, start, end))
        a, b = self._slope * low, self._slope * high
        gap = np.maximum(start - np.maximum(a, b), np.minimum(a, b) - end)
        gap = gap - self._doubt * np.maximum(abs(low), abs(high)) - 1e-14 * np.maximum(abs(start), abs(end))
        nearest = np.maximum(np.maximum(low, -high), 0)
        return np.maximum(gap, 0) ** 2 / self._variance + nearest**2 / self._k


# ---- nodes and masses, of panels or fewer --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Block:
    """Nodes ``x = centre +/- half*unit`` with masses.

    Args:
        low, high: floats outside all nodes.
        centre: the middle.
        half: half the width.
        units: the nodes on (-1, 1), only the positive ones.
        masses: of the nodes, those of the positive units first.
    """

    low: float
    high: float
    centre: arb
    half: arb
    units: tuple[arb, ...]
    masses: list[arb]

    @cached_property
    def steps(self) -> list[arb]:
        """The nodes from the centre."""
        steps = [self.half * unit for unit in self.units]
        return steps + [-step for step in steps]

    @cached_property
    def points(self) -> list[arb]:
        """The nodes."""
        return [self.centre + step for step in self.steps]

    @cached_property
    def log2_size(self) -> float:
        """log2 of a bound on the sum of |mass|."""
        return log2_upper(sum((abs(mass) for mass in self.masses), arb(0)))


def block_of(panel: Panel, scale: arb) -> Block:
    """The nodes of a panel; each mass is the weight of the rule times the value of the function at z = scale*x."""
    half, centre = (panel.right - panel.left) / 2, (panel.right + panel.left) / 2
    units, shares = half_rule(panel.nodes, stored_bits(ctx.prec))
    block = Block(float(panel.left.lower()), float(panel.right.upper()), centre, half, units, [])
    values = [panel.function([scale * x], False) for x in block.points]
    return replace(block, masses=[half * mass * value for mass, value in zip(shares * 2, values, strict=True)])


def compress(blocks: list[Block], weight: Weight, log2_tolerance: float) -> tuple[list[Block], float]:
    """Replace clusters of nodes by fewer nodes.

    Args:
        blocks: from left to right.
        weight: every k is at most this weight in the complex plane.
        log2_tolerance: log2 of the error to aim at.

    Returns:
        The blocks, and log2 of a bound on the error of their sums.
    """
    half = 2.0 ** round(math.log2(2 * math.sqrt(weight.smallest_across)))
    errors = []
    for cell in (half / 16, half):  # in two steps: the first needs few nodes, and leaves few to the second
        blocks, error = _compress_cells(blocks, cell, weight, log2_tolerance)
        errors.append(error)
    return blocks, log2_sum(errors)


def _compress_cells(
    blocks: list[Block], half: float, weight: Weight, log2_tolerance: float
) -> tuple[list[Block], float]:
    """Replace the clusters in cells of one size."""
    size = log2_sum(block.log2_size for block in blocks)
    if size == -math.inf:
        return blocks, size

    def order(rho: float) -> tuple[int, float]:
        error = size + 2 - math.log2(rho - 1) + weight.log2_sup(0.0, 0.0, half * (rho - 1 / rho) / 2 * (1 + 1e-9))
        n = 2 + 2 * max(1, math.ceil((error - log2_tolerance) / math.log2(rho) / 2))
        return n, error - (n - 1) * math.log2(rho)

    n, error = min(map(order, _RHOS))
    result: list[Block] = []
    matrices: dict[tuple, arb_mat] = {}
    # equal cells: the matrix of a block depends on its place in the cell only, and is computed once
    for cell, group in groupby(blocks, key=lambda block: math.floor(float(block.centre) / (2 * half))):
        members, centre = list(group), arb((cell + 0.5) * 2 * half)
        cluster = [block for block in members if abs(block.centre - centre) + block.half <= half]
        if sum(len(block.masses) for block in cluster) > n:
            members = [block for block in members if block not in cluster]
            members.append(_interpolated(cluster, centre, arb(half), n, matrices))
        result += members
    return result, error if matrices else -math.inf


def _interpolated(cluster: list[Block], centre: arb, half: arb, n: int, matrices: dict[tuple, arb_mat]) -> Block:
    """Replace the nodes of a cluster by the n zeros of the Chebyshev polynomial on the cell."""
    masses = arb_mat(n, 1)
    for block in cluster:
        shift, ratio = (block.centre - centre) / half, block.half / half
        key = (id(block.units), ball_key(shift), ball_key(ratio))
        if key not in matrices:
            matrices[key] = _interpolation_matrix(shift, ratio, block.units, n)
        masses += matrices[key] * arb_mat(len(block.masses), 1, block.masses)
    units, _ = _chebyshev(n, stored_bits(ctx.prec))
    low, high = float(centre - half), float(centre + half)
    return Block(low, high, centre, half, units, masses.entries())


def ball_key(ball: arb) -> tuple[int, ...]:
    """A ball as a key: printing would drop digits."""
    return tuple(map(int, (*ball.mid().man_exp(), *ball.rad().man_exp())))


def ball_of(key: Iterable[int]) -> arb:
    """The ball of a key; flint rounds a radius up, in its 30th digit."""
    middle, shift, radius, order = key
    return arb((middle, shift), arb((radius, order)))


def _interpolation_matrix(shift: arb, ratio: arb, units: tuple[arb, ...], n: int) -> arb_mat:
    """The values of the n basic polynomials of a cell at the nodes of a block."""
    nodes = [shift + s * ratio * unit for s in (1, -1) for unit in units]
    tops = [x.chebyshev_t(n) for x in nodes]
    zeros, factors = _chebyshev(n, stored_bits(ctx.prec))
    rows = zip((*zeros, *(-zero for zero in zeros)), factors, strict=True)
    return arb_mat([[top * factor / (x - zero) for top, x in zip(tops, nodes, strict=True)] for zero, factor in rows])


@lru_cache(maxsize=64)
def _chebyshev(n: int, bits: int) -> tuple[tuple[arb, ...], tuple[arb, ...]]:
    """Zeros c of the polynomial T of even degree n, and 1/T'(c): the basis of interpolation is T(x)/(T'(c)(x - c))."""
    with ctx.workprec(bits):
        angles = [arb.pi() * (2 * m + 1) / (2 * n) for m in range(n // 2)]
        slopes = [(-1) ** m * angle.sin() / n for m, angle in enumerate(angles)]
        return tuple(angle.cos() for angle in angles), (*slopes, *(-slope for slope in slopes))
