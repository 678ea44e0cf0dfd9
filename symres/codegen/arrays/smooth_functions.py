"""Averages of two smooth functions: which components are such, and the text of the functions and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from string import ascii_lowercase

import sympy as sp

from ...core.symbols import K1, K2, C
from ..averages.average_code import averages, function_text
from ..averages.integrands import PiecewiseIntegrand
from ..emission.emitter import Dialect, Emitter, Source, defined, variable
from ..planning.plan import Component
from ..stable.rewrites import stabilise

ORDER = 4  # of derivatives in z that two derivatives of an average need, by Price's theorem


@dataclass(frozen=True)
class SmoothPair:
    """<f(z1) g(z2)> of smooth functions of the two inputs themselves.

    Args:
        factor: what stands before it in a component.
        first: f.
        second: g.
    """

    factor: sp.Expr
    first: PiecewiseIntegrand
    second: PiecewiseIntegrand


def smooth_pairs(component: Component) -> tuple[SmoothPair, ...]:
    """The averages whose sum a component is; none if it has a closed form or a function has kinks."""
    if component.code is not None or not component.is_pair:
        return ()
    found, rest = [], component.formula
    for node in averages(component.formula):
        outer = component.formula.coeff(node)
        rest -= outer * node
        if node.covariance != (K1, C, K2) or outer.free_symbols & {K1, K2, C} or averages(outer):
            return ()
        for coefficient, (f, g) in node.terms:
            if coefficient.free_symbols & {K1, K2, C} or any(len(h.parts) > 1 for h in (f, g)):
                return ()
            found.append(SmoothPair(outer * coefficient, f, g))
    return tuple(found) if sp.expand(rest) == 0 else ()


def sum_source(
    component: Component,
    pairs: Sequence[SmoothPair],
    dialect: Dialect,
    call: Callable[[int, SmoothPair, str, str], tuple[str, Sequence[str]]],
    facts: Callable[[Sequence[PiecewiseIntegrand]], Sequence[str]] | None = None,
) -> Source:
    """A sum of averages, beside functions of the module that give the derivatives of each function by their names.

    Args:
        component: the sum.
        pairs: its averages.
        dialect: of the library.
        call: the expression for an average, and what stands before it, by its number, the average, and the names of
            the functions that give the derivatives.
        facts: lines that compute what else such a function gives, from the kernel K1 and the parameters.
    """
    name, parameters = component.name, component.symbols[3:]
    own = "".join(f", {variable(p)}" for p in parameters)
    preamble: list[str] = []
    sides: dict[PiecewiseIntegrand, str] = {}
    texts: dict[sp.Expr, str] = {}

    def side(f: PiecewiseIntegrand) -> str:
        if f not in sides:
            sides[f] = f"{name}_function_{len(sides) + 1}"
            found, more = dict(derivatives(f, parameters)), ""
            for h in filter(None, found.values()):
                if h.parts[0] not in texts:
                    texts[h.parts[0]] = f"{name}_part_{len(texts) + 1}"
                    preamble.append(function_text(texts[h.parts[0]], stabilise(h.parts[0]), parameters, dialect))
            about = "Derivatives in parameters a, b, ... and in z, by their names"
            if facts is not None:
                preamble.append(defined(f"{sides[f]}_facts(K1{own})", facts([h for h in found.values() if h])))
                about, more = f"{about}, and what quadrature asks of them", f", {sides[f]}_facts"
            listed = [f'"{tag}": {texts[h.parts[0]] if h else None},' for tag, h in found.items()]
            lines = [f'"""{about}."""', "found = {", *(f"    {line}" for line in listed), "}", f"return found{more}"]
            preamble.append(defined(f"{sides[f]}()", lines))
        return sides[f]

    names, total = {p: variable(p) for p in parameters}, sp.Integer(0)
    lines = []
    for number, pair in enumerate(pairs, 1):
        called, before = call(number, pair, side(pair.first), side(pair.second))
        preamble += before
        lines.append(f"s{number} = {called}")
        symbol = sp.Dummy(f"s{number}")
        names[symbol] = f"s{number}"
        total += pair.factor * symbol
    return Source((*lines, *Emitter(dialect, names).function([("return", total)])), (), tuple(preamble))


def derivatives(
    f: PiecewiseIntegrand, parameters: Sequence[sp.Symbol]
) -> Iterator[tuple[str, PiecewiseIntegrand | None]]:
    """Those derivatives of a function that two derivatives of an average need; None for those that vanish.

    Their names have a letter for each parameter, a, b, ... in order, and a z for each derivative in z: a parameter
    counts as much as two of these.
    """
    letters = dict(zip(ascii_lowercase, parameters, strict=False))
    for count in range(ORDER // 2 + 1):
        for chosen in combinations_with_replacement(letters, count):
            found: PiecewiseIntegrand | None = f
            for letter in chosen:
                found = found and _without_zero(found.map(lambda u, p=letters[letter]: u.diff(p)))
            for order in range(ORDER - 2 * count + 1):
                yield "".join(chosen) + "z" * order, found
                found = found and _without_zero(found.diff())


def _without_zero(f: PiecewiseIntegrand) -> PiecewiseIntegrand | None:
    return None if f.parts == (0,) else f
