"""Lines of code that components have in every target: guards of kernels, limits at 0, ends of the range."""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy as sp

from ..stable.primitives import determinant
from .plan import Component

FLOOR = 1e-100  # beneath what is kept above 0


def defined(head: str, lines: Sequence[str]) -> str:
    """The text of a function."""
    return "\n".join([f"def {head}:", *(f"    {line}" for line in lines)])


def floored(component: Component, lines: list[str], spelled: str) -> list[str]:
    """Kernels and, if it is computed, the determinant, kept so far above 0 that exp(-1/x)/x is 0 and not 0/0."""
    names = ("K1", "K2") if component.is_pair else ("K",)
    kernels = [f"{kernel} = {spelled.format(kernel, FLOOR)}" for kernel in names]
    return [*kernels, *lines, *([f"determinant = {spelled.format('determinant', FLOOR**2)}"] if lines else [])]


def with_origin(component: Component, lines: list[str], library: str) -> list[str]:
    """Lines that end in an assignment to ``value``, made to return it, and the limit at K = 0 where they have none."""
    if component.origin is None:
        *before, last = lines
        return [*before, f"return {last.removeprefix('value = ')}"]
    limit = repr(component.origin) if math.isfinite(component.origin) else f"{component.origin:+}".replace("+", "")
    limit = limit.replace("inf", f"{'np' if library == 'np' else 'math'}.inf")
    masked = [f"vanishes = K <= {component.start!r}", f"K = {library}.where(vanishes, 1.0, K)"]
    return [*masked, *lines, f"return {library}.where(vanishes, {limit}, value)"]


def limited(component: Component, lines: tuple[str, ...], library: str) -> tuple[str, ...]:
    """Lines that end in a return statement, made to return nan beyond the kernel where numbers end."""
    if math.isinf(component.max_kernel):
        return lines
    largest, kernels = repr(component.max_kernel), ("K1", "K2") if component.is_pair else ("K",)
    head = [f"inside = {' & '.join(f'({k} <= {largest})' for k in kernels)}"]
    head += [f"{k} = {library}.clip({k}, None, {largest})" for k in kernels]  # nothing overflows on the way to nan
    if component.is_pair:
        head.append(f"C = {library}.clip(C, -{largest}, {largest})")
    *before, last = lines
    nan = "np.nan" if library == "np" else "math.nan"
    return (*head, *before, f"return {library}.where(inside, {last.removeprefix('return ')}, {nan})")


def named_determinant(names: dict[sp.Symbol, str], formulas: Sequence[sp.Expr], function: str) -> list[str]:
    """The line that computes the determinant, and its name among the others, where a formula contains it."""
    if determinant in names or not any(formula.has(determinant) for formula in formulas):
        return []
    names[determinant] = "determinant"
    return [f"determinant = {function}(K1, K2, C)"]
