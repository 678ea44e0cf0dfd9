"""Nodes and masses that represent a function in a double sum: the nodes of its panels, or fewer.

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

from flint import arb, arb_mat, ctx

from ...numerics.gauss_rules import half_rule
from .panels import Panel, Weight, log2_sum, log2_upper, stored_bits

_RHOS = (2.2, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0)


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
    known: dict[tuple, arb_mat] = {}
    # equal cells: the matrix of a block depends on its place in the cell only, and is computed once
    for cell, group in groupby(blocks, key=lambda block: math.floor(float(block.centre) / (2 * half))):
        members, centre = list(group), arb((cell + 0.5) * 2 * half)
        cluster = [block for block in members if abs(block.centre - centre) + block.half <= half]
        if sum(len(block.masses) for block in cluster) > n:
            members = [block for block in members if block not in cluster]
            members.append(_interpolated(cluster, centre, arb(half), n, known))
        result += members
    return result, error if known else -math.inf


def _interpolated(cluster: list[Block], centre: arb, half: arb, n: int, known: dict[tuple, arb_mat]) -> Block:
    """Replace the nodes of a cluster by the n zeros of the Chebyshev polynomial on the cell."""
    masses = arb_mat(n, 1)
    for block in cluster:
        shift, ratio = (block.centre - centre) / half, block.half / half
        key = (id(block.units), ball_key(shift), ball_key(ratio))
        if key not in known:
            known[key] = _interpolation_matrix(shift, ratio, block.units, n)
        masses += known[key] * arb_mat(len(block.masses), 1, block.masses)
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
