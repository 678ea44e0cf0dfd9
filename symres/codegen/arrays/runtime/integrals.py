"""Integrals whose nodes never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as xp

from .array_types import Bools, Floats

Rule: TypeAlias = Sequence[tuple[float, float]]


def _fixed_sum(
    term: Callable[..., Floats], rules: tuple[Rule, Rule], first: Floats, second: Floats, ease: Floats, *parts: Floats
) -> Floats:
    """The integral of a term from the first to the second limit; the first rule is for an ease of 1 or more."""
    easy = ease >= 1.0
    number = _rule_of_all(easy)
    if number is not None:
        return _with_nodes(term, rules[number], first, second, *parts)
    ease, *others = _alike(ease, first, second, *parts)
    easy = ease >= 1.0
    total = 0.0 * ease
    for rule, here in zip(rules, (easy, ~easy)):
        total[here] = _with_nodes(term, rule, *[a[here] for a in others])
    return total


def _rule_of_all(easy: Bools) -> int | None:
    """The number of the rule that all entries take; None if some are easy and others are not."""
    return 0 if easy.all() else None if easy.any() else 1


def _with_nodes(term: Callable[..., Floats], rule: Rule, first: Floats, second: Floats, *parts: Floats) -> Floats:
    """The same by one rule: its nodes between 0 and 1, and their weights."""
    width, total = second - first, 0.0 * first
    for position, weight in rule:
        total = total + weight * term(first + width * position, *parts)
    return width * total


def _alike(*values: Floats) -> Sequence[Floats]:
    """The arguments in their common shape."""
    return xp.broadcast_arrays(*values)
