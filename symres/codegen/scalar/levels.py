"""Which operations are done once, once for an input and once for a pair of inputs.

The typed intermediate form of scalar code: straight-line assignments on three levels. What depends on parameters and
on the kernel of one input alone is taken out of what is computed for each pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.core.sorting import default_sort_key

from ...core.symbols import K1, K2
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
    apart = _Apart(PAIRED | set(varying))
    pair = tuple((name, apart.visit(expr)) for name, expr in results)
    first, second = (tuple((s, e) for e, s in found.items()) for found in apart.found.values())
    return Levels(first, second, pair)


@dataclass
class _Apart:
    """Takes what depends on one input alone out of expressions.

    Args:
        paired: what changes from pair to pair.
        found: for each kernel of an input what was taken out, and its symbol.
    """

    paired: frozenset[sp.Symbol]
    found: Mapping[sp.Symbol, dict[sp.Expr, sp.Symbol]] = field(default_factory=lambda: {K1: {}, K2: {}})

    def visit(self, e: sp.Expr) -> sp.Expr:
        """The expression with symbols for what was taken out."""
        support = e.free_symbols & {K1, K2, *self.paired}
        if len(support) == 1 and support <= {K1, K2} and not e.is_Atom:
            return self._named(e, *support)
        if not support or e.is_Atom:
            return e
        if not isinstance(e, sp.Add | sp.Mul):
            return e.func(*map(self.visit, e.args))
        groups: dict[sp.Symbol | None, list[sp.Expr]] = {}
        for argument in sorted(e.args, key=default_sort_key):
            of = argument.free_symbols & {K1, K2, *self.paired}
            groups.setdefault(next(iter(of)) if len(of) == 1 and of <= {K1, K2} else None, []).append(argument)
        rest = [self.visit(argument) for argument in groups.pop(None, [])]
        alone = (self.visit(e.func(*groups[kernel])) for kernel in (K1, K2) if kernel in groups)
        return e.func(*alone, *rest)

    def _named(self, e: sp.Expr, kernel: sp.Symbol) -> sp.Symbol:
        found = self.found[kernel]
        if e not in found:
            found[e] = GeneratedSymbol(f"{'first' if kernel == K1 else 'second'}{len(found)}", real=True)
        return found[e]


def inlined(expr: sp.Expr, codes: Mapping[str, tuple[Sequence[sp.Symbol], sp.Expr]]) -> sp.Expr:
    """An expression with the code of functions in the place of their calls.

    Args:
        expr: contains calls of undefined functions.
        codes: name of a function -> its arguments and its code; those that are not listed stay calls.
    """
    calls = {call for call in expr.atoms(AppliedUndef) if call.func.__name__ in codes}
    found = {}
    for call in calls:
        arguments, code = codes[call.func.__name__]
        found[call] = code.xreplace(dict(zip(arguments, call.args, strict=True)))
    return expr.xreplace(found)
