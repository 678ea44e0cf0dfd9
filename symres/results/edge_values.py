"""Values of averages where inputs become parallel, or vanish: densities have a limit there."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp
from sympy.utilities.iterables import sift

from ..core.errors import NoClosedForm
from ..core.symbols import K1, K2, C
from ..functions.balls import evaluate

_FEW = 15  # digits of a factor whose sign alone counts


def value_at_the_edge(asked: str, defined: sp.Expr, exact: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """A definition where inputs become parallel, or vanish: averages have a value there, densities a limit.

    Args:
        asked: what it defines, for messages.
        defined: in unevaluated averages.
        exact: a number for every symbol.

    Raises:
        NoClosedForm: a slope is infinite there, or infinite terms of both signs meet.
    """
    along, end = _towards(defined, exact)
    fronts: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand_mul(along)):
        front, averages = map(sp.Mul.fromiter, sift(sp.Mul.make_args(term), _is_elementary, binary=True))
        fronts[averages] = fronts.get(averages, sp.Integer(0)) + front
    terms = [_at_end(front, averages, end, exact.get(end, end)) for averages, front in fronts.items()]
    endless = {term for term in terms if term.has(sp.nan, sp.zoo, sp.oo, -sp.oo)}
    if not endless:
        return sp.Add(*terms)
    if endless not in ({sp.oo}, {-sp.oo}):
        raise NoClosedForm(
            f"{asked} at {', '.join(f'{s} = {v}' for s, v in exact.items())}",
            "symres knows no limit of its terms there, or they diverge",
            "pass values close to it",
        )
    return endless.pop()


def _towards(defined: sp.Expr, exact: Mapping[sp.Symbol, sp.Expr]) -> tuple[sp.Expr, sp.Symbol]:
    """The definition with numbers for all symbols but one, and that: a kernel that vanishes, or the covariance."""
    vanishing = [s for s in (K1, K2) if exact.get(s) == 0]
    if not vanishing:
        return defined.subs({s: v for s, v in exact.items() if s != C}), C
    end, *equal = vanishing  # both vanish together
    given = {s: v for s, v in exact.items() if s not in vanishing}
    return defined.subs(given).subs(dict.fromkeys(equal, end)), end


def _at_end(front: sp.Expr, averages: sp.Expr, symbol: sp.Symbol, value: sp.Expr) -> sp.Expr:
    """A product at the end of the range of a symbol: the limit of what is elementary, the value of the rest."""
    averages = averages.subs(symbol, value)
    if front.has(symbol):
        try:
            front = sp.limit(front, symbol, value, "-" if value.is_positive else "+")
        except (NotImplementedError, ValueError):
            return sp.nan
    if front.is_infinite:
        averages = sp.sign(sp.Float(evaluate(averages, {}, _FEW)[0]))
    return front * averages


def _is_elementary(factor: sp.Expr) -> bool:
    """Whether a factor is made of powers and exponentials alone: densities are, and have a limit."""
    return all(isinstance(node, sp.Atom | sp.Add | sp.Mul | sp.Pow | sp.exp) for node in sp.preorder_traversal(factor))
