"""Signs far out: ``exp*(1 - erf)`` becomes ``exp*erfc``, and ``exp*(1 - erf - erf + S2)`` becomes ``4*exp*Q2``.

What is left of 1 where a sign is nearly certain keeps its digits that way, and reads as the probability that it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import sympy as sp

from ...numerics.special import Q2, S2
from .rational_functions import Frac, RationalField

# (function as an expression, radicals) -> coefficient
Table = dict[tuple[sp.Expr, tuple[int, ...]], Frac]
# (exponentials and waves as an expression, atoms, radicals)
Row = tuple[sp.Expr, Any, tuple[int, ...]]
_MOST = 256  # ways of dividing a constant that are tried
_Quadrant = tuple[sp.Expr, sp.Expr, sp.Expr, Frac]  # the arguments of a Q2 and what multiplies it


def complemented(field: RationalField, rows: dict[Row, Frac]) -> Table:
    """Write the atoms out; a - a erf(u) becomes a erfc(u), which keeps its digits where erf(u) is close to 1."""
    table: Table = {}

    def put(function: sp.Expr, radicals: tuple[int, ...], c: Frac) -> None:
        key = (function, radicals)
        table[key] = table[key] + c if key in table else c

    left = dict(rows)
    for (front, atoms, radicals), quadrants, used in _tails(field, left):
        for row in used:
            del left[row]
        for h, k, r, c in quadrants:
            put(front * Q2(h, k, r) * written_atoms(field, atoms), radicals, c)
    for find in (_complement_of_one, _complements_of_several):
        for row, singles in find(field, left).items():
            del left[row]
            for single, atom in singles:
                tail = sp.erfc(field.interned(atom).args[0])
                put(row[0] * tail * written_atoms(field, row[1]), row[2], -left.pop(single))
    for (front, atoms, radicals), value in left.items():
        put(front * written_atoms(field, atoms), radicals, value)
    return {key: c for key, c in table.items() if c}


def _tails(field: RationalField, rows: dict[Row, Frac]) -> Iterator[tuple[Row, list[_Quadrant], list[Row]]]:
    """Averages of two signs, times exponentials, with the single signs and the constant beside them as Q2.

    Yields:
        What they share, the sum of Q2 that multiplies it, and the rows that this stands for: no fewer than terms.
    """
    pairs: dict[Row, list[tuple[Row, S2]]] = {}
    for row in sorted(rows, key=lambda row: str((row[0], written_atoms(field, row[1])))):
        front, atoms, radicals = row
        for position, (atom, power) in enumerate(atoms):
            pair = field.interned(atom)
            if front != 1 and power == 1 and isinstance(pair, S2):
                pairs.setdefault((front, atoms[:position] + atoms[position + 1 :], radicals), []).append((row, pair))
    singles = _singles(field, rows)
    for shared, members in pairs.items():
        beside = {field.interned(number).args[0] * sp.sqrt(2): row for whole, row, number in singles if whole == shared}
        used, corners = [row for row, _ in members], []
        for row, pair in members:
            own = [beside.pop(shift, None) for shift in pair.args[:2]]
            used += [single for single in own if single is not None]
            a, b = (field.zero if single is None else rows[single] for single in own)
            corners.append(_Corner(pair, a, b, rows[row]))
        whole = rows.get(shared, field.zero)
        used += [shared] * (shared in rows)
        quadrants = _quadrants(field, corners, whole)
        if len(quadrants) <= len(used):
            yield shared, quadrants, used


@dataclass(frozen=True)
class _Corner:
    """a erf(h/sqrt 2) + b erf(k/sqrt 2) + s S2(h, k, r)."""

    pair: S2
    a: Frac
    b: Frac
    s: Frac

    def quadrants(self, field: RationalField, d: Frac) -> list[_Quadrant]:
        """The sum of this and d in Q2(+-h, +-k, +-r)."""
        h, k, r = self.pair.args
        signs = [(i, j, field.integer(i), field.integer(j)) for i, j in product((1, -1), repeat=2)]
        # the four events x > +-h, y > +-k have the averages (1 - i erf - j erf + i j S2)/4
        found = [(i * h, j * k, i * j * r, d - self.a * m - self.b * n + self.s * m * n) for i, j, m, n in signs]
        return [quadrant for quadrant in found if quadrant[3]]

    def shares(self, field: RationalField) -> list[Frac]:
        """The constants with which fewest quadrants are left."""
        signs = [(field.integer(i), field.integer(j)) for i, j in product((1, -1), repeat=2)]
        tried = {d: len(self.quadrants(field, d)) for d in (self.a * m + self.b * n - self.s * m * n for m, n in signs)}
        return [d for d, count in tried.items() if count == min(tried.values())]


def _quadrants(field: RationalField, corners: list[_Corner], whole: Frac) -> list[_Quadrant]:
    """A constant and corners as a sum of Q2: the constant is divided among them so that few are left."""
    found = []
    for shares in islice(product(*(corner.shares(field) for corner in corners[1:])), _MOST):
        first = sum((-share for share in shares), whole)
        parts = zip(corners, [first, *shares], strict=True)
        found.append([quadrant for corner, d in parts for quadrant in corner.quadrants(field, d)])
    return min(found, key=len)


_Complements = dict[Row, list[tuple[Row, int]]]


def _complement_of_one(field: RationalField, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by one -c erf(u) where u is large."""
    found: _Complements = {}
    taken: set[Row] = set()
    for row, single, atom in _singles(field, rows):
        if not {row, single} & taken and rows.get(row) == -rows[single]:
            found[row] = [(single, atom)]
            taken |= {row, single}
    return found


def _complements_of_several(field: RationalField, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by several c_i erf(u_i) where all u_i are large: c + sum c_i = 0."""
    found: _Complements = {}
    for row, single, atom in _singles(field, rows):
        if row in rows:
            found.setdefault(row, []).append((single, atom))
    whole = {row: parts for row, parts in found.items() if sum((rows[p] for p, _ in parts), rows[row]) == field.zero}
    taken = [part for parts in whole.values() for part, _ in parts]
    return {row: parts for row, parts in whole.items() if row not in taken and len(set(taken)) == len(taken)}


def _singles(field: RationalField, rows: dict[Row, Frac]) -> list[tuple[Row, Row, int]]:
    """What a row is without one error function (there may be such a row), the row, and the number of the function."""
    found = []
    for front, atoms, radicals in sorted(rows, key=lambda row: str((row[0], written_atoms(field, row[1])))):
        for position, (atom, power) in enumerate(atoms):
            rest = (front, atoms[:position] + atoms[position + 1 :], radicals)
            if power == 1 and isinstance(field.interned(atom), sp.erf):
                found.append((rest, (front, atoms, radicals), atom))
    return found


def written_atoms(field: RationalField, atoms: tuple[tuple[int, int], ...]) -> sp.Expr:
    """The product of powers of atoms."""
    return sp.Mul(*(field.interned(atom) ** power for atom, power in atoms))
