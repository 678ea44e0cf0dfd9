"""Signs far out: ``exp*(1 - erf)`` becomes ``exp*erfc``, and ``exp*(1 - erf - erf + S2)`` becomes ``4*exp*Q2``.

Where a sign is nearly certain, the small difference from 1 keeps its digits, and reads as a probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product

import sympy as sp

from ...core.words import text_of
from ...functions.records.gaussian_signs import Q2, S2
from .radical_forms import Atoms, Radicals
from .rational_functions import Frac, RationalField, accumulate

# (function as an expression, radicals) -> coefficient
Table = dict[tuple[sp.Expr, Radicals], Frac]
# (exponentials, sines and cosines as an expression, atoms, radicals)
Row = tuple[sp.Expr, Atoms, Radicals]
_MAX_SPLITS = 256  # ways of dividing a constant that are tried
_Quadrant = tuple[sp.Expr, sp.Expr, sp.Expr, Frac]  # the arguments of a Q2 and its coefficient


def with_complements(field: RationalField, rows: dict[Row, Frac]) -> Table:
    """Write the atoms out, ``a - a erf(u)`` as ``a erfc(u)``: the difference loses digits where erf(u) is near 1."""
    table: Table = {}
    remaining = dict(rows)
    for (front, atoms, radicals), quadrants, used in _as_quadrants(field, remaining):
        for row in used:
            del remaining[row]
        for h, k, r, c in quadrants:
            accumulate(table, (front * Q2(h, k, r) * written_atoms(field, atoms), radicals), c)
    for find in (_complement_of_one, _complements_of_several):
        for row, singles in find(field, remaining).items():
            del remaining[row]
            for single, atom in singles:
                tail = sp.erfc(field.interned(atom).args[0])
                accumulate(table, (row[0] * tail * written_atoms(field, row[1]), row[2]), -remaining.pop(single))
    for (front, atoms, radicals), value in remaining.items():
        accumulate(table, (front * written_atoms(field, atoms), radicals), value)
    return {key: c for key, c in table.items() if c}


def _as_quadrants(field: RationalField, rows: dict[Row, Frac]) -> Iterator[tuple[Row, list[_Quadrant], list[Row]]]:
    """Averages of two signs, times exponentials, with their single signs and constant, written as Q2.

    Yields:
        The factors that the rows share, the sum of Q2 that multiplies these factors, and the rows that the product
        replaces: at least as many rows as the sum has terms.
    """
    pairs: dict[Row, list[tuple[Row, S2]]] = {}
    for row in sorted(rows, key=lambda row: _text(field, row)):
        front, atoms, radicals = row
        for position, (atom, power) in enumerate(atoms):
            pair = field.interned(atom)
            if front != 1 and power == 1 and isinstance(pair, S2):
                pairs.setdefault((front, atoms[:position] + atoms[position + 1 :], radicals), []).append((row, pair))
    singles = _without_one_erf(field, rows)
    for shared, members in pairs.items():
        beside = {field.interned(number).args[0] * sp.sqrt(2): row for rest, row, number in singles if rest == shared}
        used, sign_pairs = [row for row, _ in members], []
        for row, pair in members:
            erf_rows = [beside.pop(shift, None) for shift in pair.args[:2]]
            used += [erf_row for erf_row in erf_rows if erf_row is not None]
            a, b = (field.zero if erf_row is None else rows[erf_row] for erf_row in erf_rows)
            sign_pairs.append(_SignPair(pair, a, b, rows[row]))
        used += [shared] * (shared in rows)
        quadrants = _quadrants(field, sign_pairs, rows.get(shared, field.zero))
        if len(quadrants) <= len(used):
            yield shared, quadrants, used


@dataclass(frozen=True)
class _SignPair:
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

    def best_constants(self, field: RationalField) -> list[Frac]:
        """The values of d for which ``quadrants`` has the fewest terms."""
        signs = [(field.integer(i), field.integer(j)) for i, j in product((1, -1), repeat=2)]
        tried = {d: len(self.quadrants(field, d)) for d in (self.a * m + self.b * n - self.s * m * n for m, n in signs)}
        return [d for d, count in tried.items() if count == min(tried.values())]


def _quadrants(field: RationalField, pairs: list[_SignPair], constant: Frac) -> list[_Quadrant]:
    """A constant and pairs of signs as a sum of Q2; the constant is divided among the pairs so that few Q2 remain."""
    found = []
    for shares in islice(product(*(pair.best_constants(field) for pair in pairs[1:])), _MAX_SPLITS):
        first = sum((-share for share in shares), constant)
        parts = zip(pairs, [first, *shares], strict=True)
        found.append([quadrant for pair, d in parts for quadrant in pair.quadrants(field, d)])
    return min(found, key=len)


_Complements = dict[Row, list[tuple[Row, int]]]


def _complement_of_one(field: RationalField, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by one -c erf(u) where u is large."""
    found: _Complements = {}
    taken: set[Row] = set()
    for row, single, atom in _without_one_erf(field, rows):
        if not {row, single} & taken and rows.get(row) == -rows[single]:
            found[row] = [(single, atom)]
            taken |= {row, single}
    return found


def _complements_of_several(field: RationalField, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by several c_i erf(u_i) where all u_i are large: c + sum c_i = 0."""
    found: _Complements = {}
    for row, single, atom in _without_one_erf(field, rows):
        if row in rows:
            found.setdefault(row, []).append((single, atom))
    complete = {row: parts for row, parts in found.items() if sum((rows[p] for p, _ in parts), rows[row]) == field.zero}
    taken = [part for parts in complete.values() for part, _ in parts]
    return {row: parts for row, parts in complete.items() if row not in taken and len(set(taken)) == len(taken)}


def _without_one_erf(field: RationalField, rows: dict[Row, Frac]) -> list[tuple[Row, Row, int]]:
    """For every error function in a row: the row without the function, the row, and the number of the function."""
    found = []
    for front, atoms, radicals in sorted(rows, key=lambda row: _text(field, row)):
        for position, (atom, power) in enumerate(atoms):
            rest = (front, atoms[:position] + atoms[position + 1 :], radicals)
            if power == 1 and isinstance(field.interned(atom), sp.erf):
                found.append((rest, (front, atoms, radicals), atom))
    return found


def _text(field: RationalField, row: Row) -> str:
    """A row for sorting."""
    return f"({text_of(row[0])}, {text_of(written_atoms(field, row[1]))})"


def written_atoms(field: RationalField, atoms: Atoms) -> sp.Expr:
    """The product of powers of atoms."""
    return sp.Mul(*(field.interned(atom) ** power for atom, power in atoms))
