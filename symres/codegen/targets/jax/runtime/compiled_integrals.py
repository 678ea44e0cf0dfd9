"""Integrals whose nodes never change, as loops that are compiled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

Rule: TypeAlias = Sequence[tuple[float, float]]


def _fixed_sum(
    term: Callable[..., Array], rules: tuple[Rule, Rule], first: Array, second: Array, ease: Array, *parts: Array
) -> Array:
    """The integral of a term from the first to the second limit; the first rule is for an ease of 1 or more."""
    return jax.lax.cond(
        jnp.all(ease >= 1.0), *(lambda rule=rule: _with_nodes(term, rule, first, second, *parts) for rule in rules)
    )


def _with_nodes(term: Callable[..., Array], rule: Rule, first: Array, second: Array, *parts: Array) -> Array:
    """The same by one rule: its nodes between 0 and 1, and their weights."""
    width, (x, w) = second - first, jnp.array(rule).T

    def with_node(n: int, total: Array) -> Array:
        return total + w[n] * term(first + width * x[n], *parts)

    return width * jax.lax.fori_loop(1, len(rule), with_node, w[0] * term(first + width * x[0], *parts))
