"""Bounds and values of compiled functions at exact places are kept: panels recur with every variance.

A scan for critical points asks for hundreds of averages of the same functions, and the panels have round ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from flint import arb, ctx

from ...functions.balls import CompiledExpression

Result = TypeVar("Result")

_MOST_BITS = 256  # beyond, panels have hundreds of nodes, whose values take megabytes


def memoised(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Keep the last results of a computation with a function and numbers, at the same precision.

    Only where the function is a compiled expression (other callables are made anew for each average), every ball among
    the numbers is exact, and the precision is not high.

    Args:
        most: number of results that are kept.
    """

    def decorate(compute: Callable[..., Result]) -> Callable[..., Result]:
        @lru_cache(maxsize=most)
        def kept(function: CompiledExpression, precision: int, *numbers: tuple | float) -> Result:
            return compute(function, *(arb(n) if isinstance(n, tuple) else n for n in numbers))

        @wraps(compute)
        def memoised_call(function: Callable, *numbers: arb | float) -> Result:
            if type(function) is not CompiledExpression or ctx.prec > _MOST_BITS:
                return compute(function, *numbers)
            key: list[tuple | float] = []
            for n in numbers:  # a loop, because this is called a million times
                if not isinstance(n, arb):
                    key.append(n)
                elif n.is_exact() and n.is_finite():
                    key.append(n.man_exp())
                else:
                    return compute(function, *numbers)
            return kept(function, ctx.prec, *key)

        return memoised_call

    return decorate
