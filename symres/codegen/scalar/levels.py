"""Which operations are done once, once for an input and once for a pair of inputs.

The typed intermediate form of scalar code: straight-line assignments on three levels. What depends on parameters and
on the kernel of one input alone is taken out of what is computed for each pair.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp

from ...core.symbols import K1, K2
from ..planning.network_plan import without_single_inputs
from ..stable.primitives import PAIRED, GeneratedSymbol

Assignment = tuple[str, sp.Expr]


@dataclass(frozen=True)
class Levels:
    """A function of two inputs by levels.

    Args:
        first: what is computed for each of the first inputs, from K1 and parameters: (symbol, expression).
        second: the same of the second inputs, from K2.
        pair: what is computed for each pair: (name, expression) in all symbols and in those of the inputs.
    """

    first: tuple[tuple[sp.Symbol, sp.Expr], ...]
    second: tuple[tuple[sp.Symbol, sp.Expr], ...]
    pair: tuple[Assignment, ...]


def levelled(results: Iterable[Assignment], varying: Iterable[sp.Symbol] = ()) -> Levels:
    """The levels of assignments whose expressions contain K1, K2, C, what else changes from pair to pair, parameters.

    Args:
        results: (name, expression).
        varying: what else changes from pair to pair.
    """
    found: dict[sp.Symbol, dict[sp.Expr, sp.Symbol]] = {K1: {}, K2: {}}

    def named(e: sp.Expr, kernel: sp.Symbol) -> sp.Expr:
        if e.is_Atom:
            return e
        side = "first" if kernel == K1 else "second"
        return found[kernel].setdefault(e, GeneratedSymbol(f"{side}{len(found[kernel])}", real=True))

    pair = tuple((name, without_single_inputs(expr, named, PAIRED | set(varying))) for name, expr in results)
    first, second = (tuple((s, e) for e, s in taken.items()) for taken in found.values())
    return Levels(first, second, pair)
