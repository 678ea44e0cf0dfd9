"""Names for the largest parts of an expression that depend on little: what is computed outside of a loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import sympy as sp
from sympy.core.sorting import default_sort_key

MIXED = "mixed"  # the kind of what has parts of several kinds

Kind = Callable[[set[sp.Symbol]], Hashable]


def with_parts_named(e: sp.Expr, kind: Kind, named: Callable[[sp.Expr, Hashable], sp.Expr]) -> sp.Expr:
    """An expression in which other ones stand for its largest parts of one kind.

    Args:
        e: the expression.
        kind: of what depends on some symbols: ``MIXED`` is looked into, ``None`` stays where it is.
        named: what stands for a part of a kind.
    """
    of_whole = kind(e.free_symbols)
    if of_whole is None or (of_whole == MIXED and e.is_Atom):
        return e
    if of_whole != MIXED:
        return named(e, of_whole)
    if not isinstance(e, sp.Add | sp.Mul):
        return e.func(*(with_parts_named(argument, kind, named) for argument in e.args))
    alone: dict[Hashable, list[sp.Expr]] = {}
    others = []
    for argument in sorted(e.args, key=default_sort_key):
        of_part = kind(argument.free_symbols)
        if of_part in (None, MIXED):
            others.append(with_parts_named(argument, kind, named))
        else:
            alone.setdefault(of_part, []).append(argument)
    return e.func(*(named(e.func(*group), of_part) for of_part, group in alone.items()), *others)
