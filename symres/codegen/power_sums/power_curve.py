"""Functions of gamma that contain sums over its powers, planned: what is summed term by term, and how well that does.

What a target cannot compute, averages and functions that it lacks, is computed here: constants become decimals, and
the term of a sum a polynomial. The term is the covariance of a neuron with its own past at correlation r, ``c(r)`` with
c(0) = 0. Of a smooth activation c is analytic beyond -1 <= r <= 1, and ``c(r)/r`` is a short Chebyshev series.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp
from scipy.fft import dct

from ...core.atoms import AverageNode, Opaque, PowerSumNode
from ...core.errors import NoClosedForm
from ...core.symbols import gamma
from ...functions.balls import evaluate
from ...results.quantity import Quantity
from ..planning.module_plan import CurvePlan, PowerSum
from ..planning.target import Target

_PLACES = ("-0.5", "0.001", "0.3", "0.5", "0.9", "0.99", "0.999")  # where the error is measured
_OTHERS = ("0.3", "1.5")  # values of other parameters there
_SLOW = ("-0.5", "0.3", "0.9")  # the same where the target cannot compute the term, and values take seconds
_CONSTANT = 20  # digits


def has_power_sum(quantity: Quantity) -> bool:
    """Whether a quantity contains a sum over powers."""
    return quantity.expr is not None and bool(_nodes(quantity.expr, PowerSumNode))


def curve_plan(quantity: Quantity, target: Target, title: str, command: str) -> CurvePlan:
    """The plan of such a function, its error measured where the target can be run.

    Args:
        quantity: a closed form with sums over powers of gamma.
        target: in which it is written.
        title: first line of the text.
        command: that makes it again.

    Raises:
        NoClosedForm: averages or functions that the target lacks depend on more than the correlation.
    """
    expression = quantity.expr
    assert expression is not None
    nodes = sorted(_nodes(expression, PowerSumNode), key=str)
    names = {node: sp.Symbol(f"sum{k}") for k, node in enumerate(nodes, 1)}
    sums = tuple(_power_sum(quantity, target, node, name) for node, name in names.items())
    whole = expression.xreplace(names)
    if not _computes(target, whole):
        whole = _with_decimals(whole)
        if not _computes(target, whole):
            raise _no_code(quantity, target, whole.free_symbols)
    plan = CurvePlan(title, command, quantity, sums, whole, "not measured")
    return replace(plan, error=_measured(plan, target)) if target.is_runnable else plan


def _power_sum(quantity: Quantity, target: Target, node: Any, name: sp.Symbol) -> PowerSum:
    """A sum, with the term itself where the target can compute it, else with a series."""
    term, variable, powers = node.shown
    ratio, first = powers[1] / powers[0], 0 if powers[0] == 1 else 1
    if _computes(target, term):
        return PowerSum(name, term, variable, ratio, first)
    if term.free_symbols != {variable}:
        raise _no_code(quantity, target, term.free_symbols - {variable})
    return PowerSum(name, None, variable, ratio, first, series_of(term, variable))


def _computes(target: Target, expression: sp.Expr) -> bool:
    """Whether a target can compute an expression."""
    return not _nodes(expression, AverageNode) and not target.unspelled(expression)


def _with_decimals(expression: sp.Expr) -> sp.Expr:
    """An expression whose largest parts without symbols are decimals."""
    if not expression.free_symbols:
        return expression if expression.is_Rational else sp.Float(evaluate(expression, {}, _CONSTANT)[0], _CONSTANT)
    args: tuple[sp.Expr, ...] = () if isinstance(expression, Opaque) else expression.args
    if expression.is_Add or expression.is_Mul:
        constant, others = expression.as_independent(*expression.free_symbols, as_Add=expression.is_Add)
        args = (constant, *expression.func.make_args(others))
    return expression.func(*map(_with_decimals, args)) if args else expression


def _no_code(quantity: Quantity, target: Target, symbols: set[sp.Symbol]) -> NoClosedForm:
    """What is said of averages and functions of more than the correlation."""
    names = ", ".join(sorted(map(str, symbols)))
    return NoClosedForm(
        f"{target.name} code for {quantity.name}",
        f"it has averages, or functions that {target.name} lacks, of {names}",
        "give numbers to parameters of the activation, or use evalf at the weights that you need",
    )


def _nodes(expression: sp.Expr, kind: type) -> set[Any]:
    """The nodes of a kind, which may be no class of sympy's."""
    return {e for e in sp.preorder_traversal(expression) if isinstance(e, kind)}


def _measured(plan: CurvePlan, target: Target) -> str:
    """The largest relative error at some weights, as text."""
    quantity = plan.quantity
    function = getattr(target.load(quantity.name, target.curve_text(plan)), quantity.name)
    worst = mp.mpf(0)
    places = _SLOW if any(power_sum.term is None for power_sum in plan.sums) else _PLACES
    for place in places:
        for other in _OTHERS[: max(1, len(quantity.symbols))]:
            values = {s.name: place if s == gamma else other for s in quantity.symbols}
            right = quantity.evalf(20, **values)
            number = mp.mpf(float(function(*(float(v) for v in values.values()))))
            worst = max(worst, abs(number / right - 1) if right else abs(number))
    return f"{mp.nstr(worst, 2)} relative at gamma = {', '.join(places)}"


_COUNTS = (26, 78, 234)  # Chebyshev points, none of which is 0; those of each are among the next
_DIGITS = 17
_SMALL = 1e-15  # of the last coefficients, relative to the largest
_LAST = 4  # coefficients that have to be small


@lru_cache(maxsize=64)
def series_of(term: sp.Expr, r: sp.Symbol) -> tuple[float, ...]:
    """Chebyshev coefficients of ``term/r`` on -1 <= r <= 1.

    Args:
        term: an expression in r alone.
        r: the correlation.

    Raises:
        NoClosedForm: they do not fall off: the activation is not smooth.
    """
    values: dict[sp.Rational, float] = {}

    def value(place: float) -> float:
        exact = sp.Rational(repr(round(float(place), 15)))
        if exact not in values:
            values[exact] = float(evaluate(term.xreplace({r: exact}), {}, _DIGITS)[0] / float(exact))
        return values[exact]

    for count in _COUNTS:
        angles = np.pi * (2 * np.arange(count) + 1) / (2 * count)
        halved = dct([value(x) for x in np.cos(angles)], norm="forward")
        coefficients = halved * np.append(1.0, np.full(count - 1, 2.0))
        sizes = np.abs(coefficients)
        if sizes[-_LAST:].max() <= _SMALL * sizes.max():
            kept = np.flatnonzero(sizes > _SMALL / _LAST * sizes.max())[-1] + 1
            return tuple(map(float, coefficients[:kept]))
    raise NoClosedForm(
        "a series of the covariance of neurons at two times",
        f"{_COUNTS[-1]} terms are not enough",
        "use evalf at the weights that you need, or export to LaTeX",
    )
