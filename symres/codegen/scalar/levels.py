"""Which operations are done once, once for an input and once for a pair of inputs.

The typed intermediate form of scalar code: straight-line assignments on three levels. What depends on parameters and
on the kernel of one input alone is taken out of what is computed for each pair; what is left has common factors in
front, and one division where there were several.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sympy as sp

from ...core.symbols import K1, K2
from ..planning.decomposition import PAIR, with_common_factors
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
    symbols: dict[sp.Symbol, dict[sp.Expr, sp.Symbol]] = {K1: {}, K2: {}}

    def named(e: sp.Expr, kernel: sp.Symbol) -> sp.Expr:
        if e.is_Atom:
            return e
        side = "first" if kernel == K1 else "second"
        return symbols[kernel].setdefault(e, GeneratedSymbol(f"{side}{len(symbols[kernel])}", real=True))

    pair = tuple((name, without_single_inputs(expr, named, PAIRED | set(varying))) for name, expr in results)
    first, second = (tuple((s, e) for e, s in taken.items()) for taken in symbols.values())
    return Levels(first, second, pair)


def economical(results: Sequence[Assignment]) -> list[Assignment]:
    """Assignments that compute the same in fewer operations, each within a rounding or two of what was."""
    names, expressions = zip(*((name, with_common_factors(expr)) for name, expr in results), strict=True)
    bases = _divisors(expressions)
    inverses = {base: GeneratedSymbol(f"inverse{number}", positive=True) for number, base in enumerate(bases)}
    before = [(str(inverse), 1 / sp.sqrt(base)) for base, inverse in inverses.items()]
    return [*before, *zip(names, (_multiplied(e, inverses) for e in expressions), strict=True)]


def _divisors(expressions: Sequence[sp.Expr]) -> list[sp.Expr]:
    """The radicands of roots that pairs are divided by more than once: in several products, or to several powers."""
    uses: dict[sp.Expr, set[sp.Expr]] = defaultdict(set)
    for node in (node for e in expressions for node in sp.preorder_traversal(e)):
        for factor in node.args if isinstance(node, sp.Mul) else (node,):
            if _is_divisor(factor) and factor.base.free_symbols & PAIR:
                uses[factor.base].add(node)
    several = [b for b, nodes in uses.items() if max(Counter(isinstance(n, sp.Mul) for n in nodes).values()) > 1]
    return sorted(several, key=sp.default_sort_key)


def _is_divisor(power: sp.Expr) -> bool:
    return isinstance(power, sp.Pow) and bool(power.exp.is_Rational and power.exp.is_negative and power.exp.q == 2)


def _multiplied(e: sp.Expr, inverses: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
    return e.replace(
        lambda p: _is_divisor(p) and p.base in inverses,
        lambda p: inverses[p.base] ** (-2 * p.exp),
    )
