"""Derivatives of any order: sums of products of a few functions, whose own derivatives are sums of products of them.

silu(z) = z*sigmoid(z), z, sigmoid(z) and sigmoid(-z) are such functions: the derivative of sigmoid(z), for example, is
sigmoid(z)*sigmoid(-z). A sum of products maps the powers of all functions to what stands before their product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from ..emission.emitter import NoSpelling, literal
from ..stable.rewrites import stabilise

Powers: TypeAlias = tuple[tuple[int, int], ...]  # (number of a function, its power), those of power 0 left out
Products: TypeAlias = dict[Powers, float]

# Functions: three times as many as any activation of the catalogue needs; a rule that never closes ends here.
_MOST = 60
_BENT = sp.Abs, sp.Max, sp.Min  # stable spellings with them have no derivatives where they change


@dataclass(frozen=True)
class ClosedFunctions:
    """Functions whose derivatives are sums of products of them.

    Args:
        functions: the functions; first those that were asked for, in their order.
        slopes: for each variable the derivative of every function in it, as {powers of all functions: coefficient}.
    """

    functions: tuple[sp.Expr, ...]
    slopes: tuple[tuple[dict[tuple[int, ...], float], ...], ...]


def closed_functions(asked: Iterable[sp.Expr], variables: Sequence[sp.Symbol]) -> ClosedFunctions:
    """The functions that some need beside them, so that derivatives are sums of products of all.

    Args:
        asked: the functions.
        variables: in which they are differentiated.

    Raises:
        NoSpelling: there is no end to the functions that derivatives need.
    """
    search = _Search({f: number for number, f in enumerate(dict.fromkeys(asked))})
    slopes: list[list[Products]] = []
    while len(slopes) < len(search.numbers):
        f = list(search.numbers)[len(slopes)]
        slopes.append([search.products(_slope(f, v)) for v in variables])
        if len(slopes) > _MOST:
            found = "it contains functions whose derivatives contain ever new ones"
            raise NoSpelling(f"derivatives of {f}", found, "export it for NumPy, or to LaTeX")
    places = range(len(search.numbers))
    dense = (
        tuple({tuple(dict(powers).get(n, 0) for n in places): c for powers, c in row[v].items() if c} for row in slopes)
        for v in range(len(variables))
    )
    return ClosedFunctions(tuple(search.numbers), tuple(dense))


@dataclass
class _Search:
    """The functions met so far, with their numbers."""

    numbers: dict[sp.Expr, int]

    def products(self, e: sp.Expr) -> Products:
        """An expression, multiplied out."""
        if not e.free_symbols:
            return {(): literal(e)}
        if isinstance(e, sp.Add):
            total: Products = {}
            for powers, c in (term for argument in e.args for term in self.products(argument).items()):
                total[powers] = total.get(powers, 0.0) + c
            return total
        if isinstance(e, sp.Mul):
            return self._multiplied(self.products(argument) for argument in e.args)
        if isinstance(e, sp.Pow) and e.exp.is_Integer and e.exp != -1:
            inner = self.products(e.base if e.exp > 0 else 1 / e.base)
            return self._multiplied([inner] * abs(int(e.exp)))
        return {((self.numbers.setdefault(e, len(self.numbers)), 1),): 1.0}

    def _multiplied(self, sums: Iterable[Products]) -> Products:
        product: Products = {(): 1.0}
        for found in sums:
            before, product = product, {}
            for one, c in before.items():
                for two, d in found.items():
                    powers = dict(one)
                    for number, power in two:
                        powers[number] = powers.get(number, 0) + power
                    key = tuple(sorted(powers.items()))
                    product[key] = product.get(key, 0.0) + c * d
        return product


def _slope(f: sp.Expr, v: sp.Symbol) -> sp.Expr:
    """The derivative in functions without cancellation; that of a root in itself and the inverse of its base."""
    if isinstance(f, sp.Pow) and f.exp.is_Integer and f.exp.is_positive:  # the base may vanish, as tanh(z) at 0
        return sp.Mul(f.exp, f.base.diff(v), f.base ** (f.exp - 1), evaluate=False)
    if isinstance(f, sp.Pow) and not f.exp.has(v):
        inner, inverse = f.base.diff(v), sp.Pow(f.base, -1)
        return sp.Mul(f.exp, inner, f, inverse, evaluate=False)
    slope = f.diff(v)
    for u in {cosh.args[0] for cosh in slope.atoms(sp.cosh)}:  # both overflow far out, where their quotient is 1
        slope = slope.xreplace({sp.sinh(u): sp.tanh(u) * sp.cosh(u)}) if slope.has(1 / sp.cosh(u)) else slope
    stable = stabilise(slope)
    return slope if stable.has(*_BENT) else stable
