"""Whether a formula is one of the catalogue, possibly with numbers for its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import mpmath as mp
import sympy as sp

from ...activations.activation import Activation
from ...activations.catalogue import activations
from ...core.errors import DeclarationError
from ...core.symbols import z

_DIGITS = 45  # the constants of SELU have 32
_POINTS = tuple(map(sp.Rational, ("-1973/211", "-4001/1009", "-733/409", "-307/499", "-11/701", "13/907")))
_POINTS += tuple(map(sp.Rational, ("359/613", "1201/797", "2203/887", "4217/823", "6553/947", "11003/601")))
_MOST_NUMBERS = 8  # candidates for the values of parameters


def known_formula(phi: Activation, numbers: Iterable[sp.Expr]) -> Activation | None:
    """The activation of the catalogue that is the same function, with its name and source.

    Two formulas are taken to be the same if they agree to 40 digits at twelve points of no special kind, some in each
    of the ranges where activations of the catalogue differ, and break at the same places.

    Args:
        phi: without free parameters.
        numbers: values that parameters of the catalogue's formulas may have, besides those in the formula.
    """
    with mp.workdps(_DIGITS):
        values = _values(phi, _POINTS)
        written = sorted(phi.expr.atoms(sp.Rational), key=sp.default_sort_key)
        candidates = [n for n in dict.fromkeys([*numbers, *written, sp.Integer(1)]) if n.is_number][:_MOST_NUMBERS]
        for entry in sorted(activations.values(), key=lambda entry: len(entry.parameters)):
            for given in product(candidates, repeat=len(entry.parameters)):
                found = _specialised(entry, given, values)
                if found is not None and set(found.breakpoints) == set(phi.breakpoints):
                    return found
    return None


def _specialised(entry: Activation, given: Sequence[sp.Expr], values: Sequence[mp.mpf]) -> Activation | None:
    """The entry with numbers, if it has the values; None too for numbers that its parameters do not admit."""
    try:
        found = entry.subs(**{str(p): value for p, value in zip(entry.parameters, given, strict=True)})
    except DeclarationError:
        return None
    pairs = zip(_POINTS, values, strict=True)
    return found if all(_same(_values(found, (point,))[0], value) for point, value in pairs) else None


def _values(phi: Activation, points: Sequence[sp.Rational]) -> list[mp.mpf]:
    return [sp.lambdify((), phi.pieces.part_at(x).subs(z, x), "mpmath")() + mp.mpf(0) for x in points]


def _same(a: mp.mpf, b: mp.mpf) -> bool:
    return bool(abs(a - b) <= mp.mpf(10) ** -40 * (1 + abs(a)))
