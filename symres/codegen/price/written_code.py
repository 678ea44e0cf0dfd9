"""Expressions with fixed sums as parts of straight-line code: what is computed before, in and after the loops."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import sympy as sp

from ..emission.largest_parts import MIXED, with_parts_named
from ..stable.primitives import GeneratedSymbol
from .correlation_path import DEFINITIONS, end, roots
from .fixed_sum import NEVER, FixedSum, node


@dataclass(frozen=True)
class WrittenSum:
    """A sum on its way to code.

    Args:
        name: of the variable that holds it.
        outside: (variable, expression) of what does not depend on the node; the last three are the limits and the ease.
        term: what is summed, in these variables, the node and the arguments.
        rule: of the nodes.
    """

    name: str
    outside: tuple[tuple[str, sp.Expr], ...]
    term: sp.Expr
    rule: sp.Integer

    @property
    def ends(self) -> tuple[str, str, str]:
        """The variables that hold the limits and the ease."""
        first, second, ease = (name for name, _ in self.outside[-3:])
        return first, second, ease

    @property
    def is_never_easy(self) -> bool:
        """Whether the plain rule nowhere suffices."""
        return self.outside[-1][1] == NEVER

    def names(self, arguments: Mapping[sp.Symbol, str]) -> dict[sp.Symbol, str]:
        """The variables of the term, beside the node."""
        outside = dict(self.outside)
        symbols = sorted(self.term.free_symbols - {node}, key=sp.default_sort_key)
        return {s: s.name if s.name in outside else arguments.get(s, s.name) for s in symbols}


@dataclass(frozen=True)
class WrittenCode:
    """An expression with sums on its way to code.

    Args:
        shared: (variable, expression) of what all sums share.
        sums: by the symbols that stand for them.
        value: the expression, in the variables and in the symbols of sums.
    """

    shared: tuple[tuple[str, sp.Expr], ...]
    sums: dict[sp.Symbol, WrittenSum]
    value: sp.Expr

    @classmethod
    def of(cls, code: sp.Expr) -> WrittenCode:
        """The parts of an expression; without sums it is as it was."""
        needed = code.free_symbols | ({*roots} if end in code.free_symbols else set())
        shared = tuple((s.name, e) for s, e in DEFINITIONS.items() if s in needed)
        sums = sorted(code.atoms(FixedSum), key=sp.default_sort_key)
        tags = [f"{n}" if len(sums) > 1 else "" for n in range(1, len(sums) + 1)]
        symbols = [GeneratedSymbol(f"total{tag}", real=True) for tag in tags]
        written = map(_written, sums, tags)
        return cls(
            shared, dict(zip(symbols, written, strict=True)), code.xreplace(dict(zip(sums, symbols, strict=True)))
        )

    @property
    def formulas(self) -> list[sp.Expr]:
        """All expressions."""
        outside = (e for total in self.sums.values() for _, e in total.outside)
        terms = (total.term for total in self.sums.values())
        return [self.value, *(e for _, e in self.shared), *outside, *terms]


def _written(total: FixedSum, tag: str) -> WrittenSum:
    outer: dict[sp.Expr, sp.Symbol] = {}
    prefix = f"part{tag}_" if tag else "part"

    def named(part: sp.Expr, kind: Hashable) -> sp.Expr:
        return (
            part
            if part.is_Symbol or (-part).is_Symbol
            else outer.setdefault(part, GeneratedSymbol(f"{prefix}{len(outer)}", real=True))
        )

    def kind(symbols: set[sp.Symbol]) -> str | None:
        if node in symbols:
            return MIXED
        return "outside" if symbols else None

    term, first, second, rule, ease = total.args
    term = with_parts_named(term, kind, named)
    ends = ((f"first{tag}", first), (f"second{tag}", second), (f"ease{tag}", ease))
    return WrittenSum(f"total{tag}", (*((s.name, e) for e, s in outer.items()), *ends), term, rule)
