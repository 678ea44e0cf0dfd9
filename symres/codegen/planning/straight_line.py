"""The intermediate form of a component: straight-line steps, before any language.

Steps follow one another from top to bottom: assignments, tests, what is computed of two inputs together, fixed sums. A
name may be assigned to again: a kernel that is kept above a floor. Each target prints the steps; what they mean says
the interpreter in tests/oracles, which evaluates them to any number of digits.

What a function of two inputs needs of one input alone is taken out of the steps of pairs: ``levels`` for scalar code,
``network_plan`` for layers of networks, tiles for NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import sympy as sp

from ...core.symbols import C, K
from ..fits.chebyshev import Fit
from ..price.written_code import WrittenCode, WrittenSum
from ..stable.primitives import AtLeast, AtMost, Chosen, GeneratedSymbol, complement, correlation, determinant
from .plan import Component, Function

inside = GeneratedSymbol("inside")  # whether all kernels are within the range of numbers
vanishes = GeneratedSymbol("vanishes")  # whether the kernel counts as 0
polynomial = GeneratedSymbol("polynomial", real=True)  # that of a fit at u
scale = GeneratedSymbol("scale", real=True)  # the factor in front of it
value = GeneratedSymbol("value", real=True)
floor = GeneratedSymbol("FLOOR", positive=True)  # that of kernels in closed forms, for the type of floats
floor_squared = GeneratedSymbol("FLOOR_SQUARED", positive=True)  # that of determinants


@dataclass(frozen=True)
class Assignments:
    """(name, expression in earlier names and arguments): intermediate results are shared among them."""

    results: tuple[tuple[str, sp.Expr], ...]


@dataclass(frozen=True)
class Test:
    """A name for whether all of some variables are at most a number."""

    symbol: sp.Symbol
    variables: tuple[sp.Symbol, ...]
    most: float


@dataclass(frozen=True)
class OfBothInputs:
    """What K1, K2 and C say together: their determinant, or the correlation with its complement."""

    symbols: tuple[sp.Symbol, ...]


Step: TypeAlias = Assignments | Test | OfBothInputs | WrittenSum


@dataclass(frozen=True)
class Guard:
    """What is done where code has no number.

    Args:
        before: steps that keep the code away from there.
        result: what takes the place of ``value`` behind it.
    """

    before: tuple[Step, ...] = ()
    result: sp.Expr = value


def limits(component: Component) -> Guard:
    """Nan beyond the largest kernel, at which kernels and covariances are cut, so that nothing overflows before.

    The cut of covariances changes no value: beyond it they are no covariances of kernels within the limits.
    """
    largest = component.guards.largest
    if math.isinf(largest):
        return Guard()
    most = sp.Float(largest)
    cut = [(k.name, AtMost(k, most)) for k in component.kernels]
    if component.is_pair:
        cut.append((C.name, AtLeast(AtMost(C, most), -most)))
    before = (Test(inside, component.kernels, largest), Assignments(tuple(cut)))
    return Guard(before, Chosen(inside, value, sp.nan))


def origin(component: Component) -> Guard:
    """The limit at the kernel 0, if the code has none there."""
    limit, start = component.guards.limit, component.guards.start
    if limit is None:
        return Guard()
    away = Assignments(((K.name, Chosen(vanishes, sp.S.One, K)),))
    at_zero = sp.Float(limit) if math.isfinite(limit) else sp.oo * int(math.copysign(1, limit))
    return Guard((Test(vanishes, (K,), start), away), Chosen(vanishes, at_zero, value))


def steps(component: Component, code: sp.Expr | Fit, result: str = value.name) -> tuple[Step, ...]:
    """The steps that compute an expression or a fit of a component's arguments, kept above its floor; not guarded else.

    Args:
        component: whose arguments and guards these are.
        code: its code, or another formula in the same arguments.
        result: the name of what the last step assigns to.
    """
    if isinstance(code, Fit):
        return _of_fit(component, code, result)
    written = WrittenCode.of(code)
    together = [determinant] if determinant not in component.symbols and _has(written.formulas, determinant) else []
    floors = []
    if component.guards.floor is not None:
        floors = [(k.name, AtLeast(k, floor)) for k in component.kernels]
    out: list[Step] = [Assignments(tuple(floors))] if floors else []
    if together:
        out.append(OfBothInputs((determinant,)))
    if together and floors:
        out.append(Assignments(((determinant.name, AtLeast(determinant, floor_squared)),)))
    if _has([code], correlation, complement):
        out.append(OfBothInputs((correlation, complement)))
    if written.shared:
        out.append(Assignments(written.shared))
    return (*out, *written.sums.values(), Assignments(((result, written.value),)))


def _of_fit(component: Component, fit: Fit, result: str) -> tuple[Step, ...]:
    """The variable of a fit, the factor in front of its polynomial, and their product, of the sign that it has."""
    guards, whole = component.guards, scale * polynomial
    if guards.sign:  # where rounding exceeds the value
        whole = (AtLeast if guards.sign > 0 else AtMost)(whole, sp.S.Zero)
    head = () if guards.floor is None else (Assignments(((K.name, AtLeast(K, sp.Float(guards.floor))),)),)
    return (*head, Assignments(fit.shape.steps), Assignments(((result, whole),)))


def steps_of_function(function: Function) -> tuple[Step, ...]:
    """The lines of a function, the determinant of its inputs before where they contain it."""
    together = _has((e for _, e in function.lines), determinant)
    return (*([OfBothInputs((determinant,))] if together else []), Assignments(function.lines))


def _has(formulas: Iterable[sp.Expr], *symbols: sp.Symbol) -> bool:
    return any(formula.has(*symbols) for formula in formulas)
