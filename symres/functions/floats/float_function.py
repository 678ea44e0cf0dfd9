"""Piecewise functions compiled for arrays, with the places where they break or are steep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol, TypeAlias

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...numerics.deferred_numpy import Array, np
from .float_compiler import CompiledFormula, WithoutOverflow

Values: TypeAlias = dict[sp.Symbol, float]


class Pieces(Protocol):
    """A function of ``z``, a formula between its breakpoints."""

    @property
    def breaks(self) -> tuple[sp.Expr, ...]:
        """The breakpoints, increasing."""

    @property
    def parts(self) -> tuple[sp.Expr, ...]:
        """The formulas, from left to right."""

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters."""

    def as_expr(self) -> sp.Expr:
        """As one expression."""


@dataclass(frozen=True)
class FloatFunction:
    """A function between its breakpoints, for arrays.

    Args:
        pieces: the function of ``z``, with parameters.
    """

    pieces: Pieces

    @cached_property
    def parameters(self) -> list[sp.Symbol]:
        """The symbols that need a number."""
        return sorted(self.pieces.free_symbols, key=str)

    @cached_property
    def _breaks(self) -> Callable[..., Sequence[float]]:
        return CompiledFormula(self.parameters, list(self.pieces.breaks))

    @cached_property
    def _centres(self) -> Callable[..., Sequence[float]]:
        centres = {place for part in self.pieces.parts for place in _steep_places(part)}
        return CompiledFormula(self.parameters, sorted(centres, key=sp.default_sort_key))

    @cached_property
    def _parts(self) -> list[Callable[..., Array | float]]:
        return [WithoutOverflow(part, [z, *self.parameters]) for part in self.pieces.parts]

    def breaks(self, values: Values) -> Array:
        """The breakpoints."""
        return np.array(self._breaks(*(values[s] for s in self.parameters)), dtype=float)

    def marks(self, values: Values) -> Array:
        """Where it breaks, or functions in it have the argument 0."""
        centres = np.array(self._centres(*(values[s] for s in self.parameters)), dtype=float)
        return np.unique(np.concatenate([self.breaks(values), centres[np.isfinite(centres)]]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape, none of which is a breakpoint.

        Raises:
            NoClosedForm: floating-point numbers overflow.
        """
        result = self.unchecked(w, values)
        if not np.isfinite(result).all():
            raise NoClosedForm(
                f"values of {self.pieces.as_expr()} between {w.min():.3g} and {w.max():.3g}",
                "they overflow double precision",
                "write the formula so that no part of it overflows, or take smaller kernels",
            )
        return result

    def unchecked(self, w: Array, values: Values) -> Array:
        """The values, which are not finite where floating-point numbers overflow."""
        parameters = [values[s] for s in self.parameters]
        breaks = self.breaks(values)
        side = np.searchsorted(breaks, w) if len(breaks) else np.zeros(w.shape, dtype=int)
        result = np.empty(w.shape)
        with np.errstate(all="ignore"):
            for k, part in enumerate(self._parts):
                here = side == k
                if len(self._parts) == 1:
                    result[...] = part(w, *parameters)
                elif here.any():
                    result[here] = part(w[here], *parameters)
        return result


float_function = lru_cache(maxsize=512)(FloatFunction)  # compiled once


@dataclass(frozen=True)
class BoundFunction:
    """A function some of whose parameters have numbers, such as the averages of a layer.

    Args:
        function: with parameters.
        bound: their numbers.
    """

    function: FloatFunction
    bound: tuple[tuple[sp.Symbol, float], ...]

    def marks(self, values: Values) -> Array:
        """Where it breaks, or functions in it have the argument 0."""
        return self.function.marks({**values, **dict(self.bound)})

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return self.function(w, {**values, **dict(self.bound)})


@dataclass(frozen=True)
class FloatProduct:
    """A product of functions of multiples of one variable.

    Args:
        factors: functions, each with what the variable is multiplied by.
    """

    factors: tuple[tuple[FloatFunction | BoundFunction, float], ...]

    def marks(self, values: Values) -> Array:
        """Those of all factors."""
        return np.unique(np.concatenate([f.marks(values) / scale for f, scale in self.factors]))

    def __call__(self, w: Array, values: Values) -> Array:
        """The values at places of any shape."""
        return np.asarray(np.prod([f(scale * w, values) for f, scale in self.factors], axis=0))


Function: TypeAlias = FloatFunction | BoundFunction | FloatProduct


def _steep_places(part: sp.Expr) -> Iterator[sp.Expr]:
    """Where functions and powers of linear functions of z have the argument 0."""
    for e in sp.preorder_traversal(part):
        argument = e.exp if isinstance(e, sp.exp) else e.base if e.is_Pow else e.args[0] if e.is_Function else None
        if argument is not None and argument.is_polynomial(z) and sp.degree(argument, z) == 1:
            yield sp.solve(argument, z)[0]
