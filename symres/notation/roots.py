"""Numbers with roots inside of roots, written without them where that is shorter.

sympy looks at each root alone. Here roots of a product are one root first: sqrt(sqrt(17) - 1) and sqrt(4 + sqrt(17)) do
not denest, their quotient does. What sympy makes of a number is believed only where balls
say that it is the same number.
"""

from __future__ import annotations

import sympy as sp

from ..core.errors import SymresError
from ..functions.balls import evaluate

_DIGITS = 40  # in which a number and what is written for it agree
_LONGEST = 4000  # characters: beyond, no rewriting makes a number fit to be read


def denested(number: sp.Expr) -> sp.Expr:
    """A shorter form of a number, without roots inside of roots where it has such a form; else the number itself.

    Args:
        number: without symbols.
    """
    if number.free_symbols or not number.has(sp.Pow) or len(str(number)) > _LONGEST:
        return number
    try:
        plain = number.replace(lambda e: e.is_Mul or e.is_Pow, _joined_roots)
        candidates = [plain]
        if plain.is_algebraic:  # with arcs of roots among its terms, rationalising takes many seconds
            candidates += [sp.radsimp(plain), sp.sqrtdenest(sp.radsimp(sp.expand(plain)))]
        shortest = min(candidates, key=lambda e: len(str(e)))
        if len(str(shortest)) < len(str(number)) and _are_equal(shortest, number):
            return sp.factor_terms(shortest)
    except SymresError:  # it has no enclosure: nothing can be compared
        pass
    return number


def _joined_roots(product: sp.Expr) -> sp.Expr:
    """A product with all of its square roots of sums under one root, where this denests."""
    roots = [f for f in sp.Mul.make_args(product) if f.is_Pow and f.exp.is_Rational and f.exp.q == 2 and f.base.is_Add]
    if not roots or not all(f.base.is_algebraic and f.base.is_positive for f in roots):
        return product
    square = sp.radsimp(sp.expand(sp.Mul(*(f.base ** (2 * f.exp) for f in roots))))
    root = sp.sqrtdenest(sp.sqrt(square))
    if any(power.exp.is_Rational and power.exp.q == 2 and power.base.is_Add for power in root.atoms(sp.Pow)):
        return product
    return root * sp.Mul(*(f for f in sp.Mul.make_args(product) if f not in roots))


def _are_equal(one: sp.Expr, other: sp.Expr) -> bool:
    value, radius = evaluate(one - other, {}, _DIGITS)
    size = abs(evaluate(other, {}, _DIGITS)[0])
    return bool(abs(value) + radius <= size * sp.Float(10, 5) ** -(_DIGITS - 5))
