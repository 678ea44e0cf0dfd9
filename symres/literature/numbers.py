"""Values of printed formulas: averages by the quadrature of the oracles, operations by what their names say.

Nothing is shared with what symres derives: the calculus of averages is not asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import mpmath as mp
import sympy as sp

from ..activations.activation import Activation
from ..check.oracles.average_oracle import average_oracle
from ..core.errors import NoClosedForm
from ..core.symbols import x1, x2, z
from .formulas import Operation, Phi, PrintedAverage

DIGITS = 30  # of averages over one input
_KEPT = 24  # digits by which an average is recognised
_CHANGE = mp.mpf(10) ** -6  # relative, of slopes: of fourth order, so that 24 digits are left of averages
_SAME = mp.mpf(10) ** -22  # relative, of a kernel that is kept
_ZERO = 1e-24  # the square of what vanishes: slopes of integrals have some 14 digits
_LAYERS = 20_000  # until which it must be
_EVALUATED = 4000  # averages that are kept

_RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Values = Mapping[str, mp.mpf]
Compiled = Callable[[Values], mp.mpf]


def as_phi(activation: Activation) -> Phi:
    """An activation, or a derivative of it, of an argument."""
    declared = activation.formula.expr

    def of(argument: sp.Expr, order: int) -> sp.Expr:
        return declared.diff(z, order).subs(z, argument)

    return of


def number(formula: sp.Basic, values: Values) -> mp.mpf | bool:
    """A formula at numbers for its symbols, with some 25 digits; of a relation whether it holds.

    Raises:
        NoClosedForm: a symbol has no value, or the value is not a real number.
    """
    with mp.workdps(DIGITS):
        if isinstance(formula, sp.core.relational.Relational):
            return bool(_RELATIONS[formula.rel_op](_real(formula.lhs, values), _real(formula.rhs, values)))
        return _real(sp.sympify(formula), values)


def _real(formula: sp.Expr, values: Values) -> mp.mpf:
    missing = sorted({s.name for s in formula.free_symbols} - values.keys())
    if missing:
        raise NoClosedForm(f"the value of {formula}", f"{', '.join(missing)} has no value", "extend the domain")
    value = mp.mpmathify(_compiled(formula)(values))
    if abs(mp.im(value)) > mp.mpf(10) ** -20 * (1 + abs(value)) or not mp.isfinite(value):
        raise NoClosedForm(f"the value of {formula}", f"it is {mp.nstr(value, 6)}", "choose another domain")
    return mp.re(value)


@lru_cache(maxsize=_EVALUATED)
def _compiled(formula: sp.Expr) -> Compiled:
    """A formula as a function: what lambdify knows, around averages and operations."""
    nodes = sorted(_outermost(formula), key=str)
    stand_ins = {node: sp.Dummy(f"node{k}") for k, node in enumerate(nodes)}
    inner = [_implemented(node) for node in nodes]
    symbols = sorted(formula.xreplace(stand_ins).free_symbols - set(stand_ins.values()), key=str)
    function = sp.lambdify([*symbols, *stand_ins.values()], formula.xreplace(stand_ins), "mpmath")
    return lambda values: function(*(values[s.name] for s in symbols), *(node(values) for node in inner))


def _outermost(formula: sp.Basic) -> set[sp.Expr]:
    if isinstance(formula, PrintedAverage | Operation):
        return {formula}
    return set().union(*map(_outermost, formula.args))


def _implemented(node: sp.Expr) -> Compiled:
    if isinstance(node, PrintedAverage):
        return _average(node)
    name, formula, bound, *arguments = node.args
    return _OPERATIONS[name.name](_compiled(formula), bound.name, *map(_compiled, map(sp.sympify, arguments)))


def _average(node: PrintedAverage) -> Compiled:
    """An average whose integrand and covariance may contain others."""
    nodes = sorted(_outermost(node.integrand), key=str)
    stand_ins = {inner: sp.Dummy(f"inner{k}", real=True) for k, inner in enumerate(nodes)}
    integrand = node.integrand.xreplace(stand_ins)
    symbols = sorted(node.integrand.free_symbols - {x1, x2}, key=str)
    inside = {stand_in: _implemented(inner) for inner, stand_in in stand_ins.items()}
    law = [_compiled(entry) for entry in node.covariance]

    def value(values: Values) -> mp.mpf:
        numbers = {s: values[s.name] for s in symbols if s.name in values}
        numbers |= {stand_in: inner(values) for stand_in, inner in inside.items()}
        rounded = tuple((s, mp.nstr(number, _KEPT)) for s, number in numbers.items())
        return _evaluated(integrand, rounded, tuple(mp.nstr(entry(values), _KEPT) for entry in law))

    return value


@lru_cache(maxsize=_EVALUATED)
def _evaluated(integrand: sp.Expr, values: tuple[tuple[sp.Symbol, str], ...], law: tuple[str, ...]) -> mp.mpf:
    node = PrintedAverage(integrand, *map(sp.Rational, law))
    return average_oracle(node, {s: sp.Rational(text) for s, text in values}).value


# ---- operations: of a function, the name of its bound symbol, and arguments that are functions of the other values ---


def _iterate(step: Compiled, bound: str, start: Compiled, count: Compiled) -> Compiled:
    def value(values: Values) -> mp.mpf:
        place = start(values)
        for _ in range(int(count(values))):
            place = step({**values, bound: place})
        return place

    return value


def _fixed(step: Compiled, bound: str, start: Compiled) -> Compiled:
    def value(values: Values) -> mp.mpf:
        place = start(values)
        for _ in range(_LAYERS):
            moved = step({**values, bound: place})
            if abs(moved - place) <= _SAME * abs(moved):
                return moved
            place = moved
        raise NoClosedForm(f"the {bound} that is kept", f"{_LAYERS} steps do not reach it", "choose another domain")

    return value


def _slope(function: Compiled, bound: str) -> Compiled:
    def value(values: Values) -> mp.mpf:
        place = values[bound]
        h = _CHANGE * (abs(place) or 1)
        below, low, high, above = (function({**values, bound: place + k * h}) for k in (-2, -1, 1, 2))
        return (8 * (high - low) - (above - below)) / (12 * h)

    return value


def _over_integers(combine: Callable[[Any], mp.mpf]) -> Callable[..., Compiled]:
    def made(function: Compiled, bound: str, first: Compiled, last: Compiled) -> Compiled:
        def value(values: Values) -> mp.mpf:
            numbers = range(int(first(values)), int(last(values)) + 1)
            return combine(function({**values, bound: mp.mpf(j)}) for j in numbers)

        return value

    return made


def _integral(function: Compiled, bound: str, low: Compiled, high: Compiled) -> Compiled:
    def value(values: Values) -> mp.mpf:
        ends = low(values), high(values)
        places = [ends[0], *(x for x in map(mp.mpf, (-30, -8, -2, 0, 2, 8, 30)) if ends[0] < x < ends[1]), ends[1]]
        return mp.quad(lambda x: function({**values, bound: x}), places)

    return value


def _solution(function: Compiled, bound: str, start: Compiled) -> Compiled:
    def value(values: Values) -> mp.mpf:
        try:
            return mp.findroot(lambda x: function({**values, bound: x}), start(values), tol=_ZERO, verify=False)
        except (ValueError, ZeroDivisionError) as error:
            raise NoClosedForm(f"a {bound} that solves it", str(error), "choose another start") from None

    return value


_OPERATIONS: dict[str, Callable[..., Compiled]] = {
    "iterate": _iterate,
    "fixed": _fixed,
    "slope": _slope,
    "total": _over_integers(mp.fsum),
    "product": _over_integers(mp.fprod),
    "integral": _integral,
    "solution": _solution,
}
