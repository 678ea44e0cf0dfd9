"""Signs far out: ``exp*(1 - erf)`` becomes ``exp*erfc``, and ``exp*(1 - erf - erf + S2)`` becomes ``4*exp*Q2``.

What is left of 1 where a sign is nearly certain keeps its digits that way, and reads as the probability that it is.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import sympy as sp

from ..special import Q2, S2
from .field import Field, Frac

# (function as an expression, radicals) -> coefficient
Table = dict[tuple[sp.Expr, tuple[int, ...]], Frac]
# (exponentials and waves as an expression, atoms, radicals)
Row = tuple[sp.Expr, Any, tuple[int, ...]]
_Parts = dict[Row, tuple[Any, Frac]]  # with the function S2 or erf of a row, or None


def complemented(field: Field, rows: dict[Row, Frac]) -> Table:
    """Write the atoms out; a - a erf(u) becomes a erfc(u), which keeps its digits where erf(u) is close to 1."""
    table: Table = {}

    def put(function: sp.Expr, radicals: tuple[int, ...], c: Frac) -> None:
        key = (function, radicals)
        table[key] = table[key] + c if key in table else c

    left = dict(rows)
    for (front, atoms, radicals), parts in _tails(field, left):
        for part in parts:
            del left[part]
        for h, k, r, c in _quadrants(field, parts):
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


def _tails(field: Field, rows: dict[Row, Frac]) -> list[tuple[Row, _Parts]]:
    """Averages of two signs, times exponentials, with the single signs and the constants beside them.

    Returns:
        What they share, and the rows {row: (the function S2 or erf or None, coefficient)}.
    """
    found: list[tuple[Row, _Parts]] = []
    taken: set[Row] = set()
    singles = _singles(field, rows)
    for front, atoms, radicals in sorted(rows, key=lambda row: str((row[0], written_atoms(field, row[1])))):
        for position, (atom, power) in enumerate(atoms):
            pair = field.interned(atom)
            if front == 1 or power != 1 or not isinstance(pair, S2):
                continue
            others = atoms[:position] + atoms[position + 1 :]
            shared = front, others, radicals
            row = front, atoms, radicals
            parts: _Parts = {row: (pair, rows[row])}
            for whole, single, number in singles:
                function = field.interned(number)
                if whole == shared and function.args[0] * sp.sqrt(2) in pair.args[:2]:
                    parts[single] = function, rows[single]
            if shared in rows:
                parts[shared] = None, rows[shared]
            if not taken & parts.keys() and len(_quadrants(field, parts)) < len(parts):
                taken |= parts.keys()
                found.append((shared, parts))
    return found


def _quadrants(field: Field, parts: _Parts) -> list[tuple[sp.Expr, sp.Expr, sp.Expr, Frac]]:
    """D + a erf(h/sqrt 2) + b erf(k/sqrt 2) + s S2(h, k, r) as a sum of c Q2(+-h, +-k, +-r), arguments and c."""
    pair = next(f for f, _ in parts.values() if isinstance(f, S2))
    h, k, r = pair.args
    d, a, b, s = (
        next((c for f, c in parts.values() if wanted(f)), field.zero)
        for wanted in (
            lambda f: f is None,
            lambda f: isinstance(f, sp.erf) and f.args[0] * sp.sqrt(2) == h,
            lambda f: isinstance(f, sp.erf) and f.args[0] * sp.sqrt(2) == k,
            lambda f: isinstance(f, S2),
        )
    )
    result = []
    for i, j in product((1, -1), repeat=2):
        # the four events x > +-h, y > +-k have the averages (1 - i erf - j erf + i j S2)/4
        c = d - a * field.integer(i) - b * field.integer(j) + s * field.integer(i * j)
        if c:
            result.append((i * h, j * k, i * j * r, c))
    return result


_Complements = dict[Row, list[tuple[Row, int]]]


def _complement_of_one(field: Field, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by one -c erf(u) where u is large."""
    found: _Complements = {}
    taken: set[Row] = set()
    for row, single, atom in _singles(field, rows):
        if not {row, single} & taken and rows.get(row) == -rows[single]:
            found[row] = [(single, atom)]
            taken |= {row, single}
    return found


def _complements_of_several(field: Field, rows: dict[Row, Frac]) -> _Complements:
    """Rows c that are cancelled by several c_i erf(u_i) where all u_i are large: c + sum c_i = 0."""
    found: _Complements = {}
    for row, single, atom in _singles(field, rows):
        if row in rows:
            found.setdefault(row, []).append((single, atom))
    whole = {row: parts for row, parts in found.items() if sum((rows[p] for p, _ in parts), rows[row]) == field.zero}
    taken = [part for parts in whole.values() for part, _ in parts]
    return {row: parts for row, parts in whole.items() if row not in taken and len(set(taken)) == len(taken)}


def _singles(field: Field, rows: dict[Row, Frac]) -> list[tuple[Row, Row, int]]:
    """What a row is without one error function (there may be such a row), the row, and the number of the function."""
    found = []
    for front, atoms, radicals in sorted(rows, key=lambda row: str((row[0], written_atoms(field, row[1])))):
        for position, (atom, power) in enumerate(atoms):
            rest = (front, atoms[:position] + atoms[position + 1 :], radicals)
            if power == 1 and isinstance(field.interned(atom), sp.erf):
                found.append((rest, (front, atoms, radicals), atom))
    return found


def written_atoms(field: Field, atoms: tuple[tuple[int, int], ...]) -> sp.Expr:
    """The product of powers of atoms."""
    return sp.Mul(*(field.interned(atom) ** power for atom, power in atoms))
