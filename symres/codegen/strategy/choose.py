"""Choose how a component is computed: closed form, fit or quadrature, by the errors that are measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import mpmath as mp
import numpy as np
import sympy as sp

from ...core.errors import SymresError
from ...core.symbols import K1, K2, C, K
from ...numerics.balls import enclose, evaluate
from ...numerics.special import S4, SPECIAL, T4
from ..averages.average_code import averages
from ..emission.emitter import Dialect, LosesDigits, NoSpelling
from ..fits.chebyshev import fit
from ..planning.plan import ACCURATE, FEW_DIGITS, Component
from ..stable.angles import angle_form
from ..stable.correlation_form import settled
from ..stable.primitives import TwoSigns, TwoTails
from ..stable.rewrites import stabilise
from ..stable.rounding_error import cancels, doubt
from ..targets.numpy import dialect as printer
from .measured_error import (
    BITS,
    measured_kernel,
    measured_pair,
    measured_quadrature,
    pair_deviation,
    round_up,
    run,
    with_numbers,
)
from .sample_points import MEASURED, Values, elsewhere, named

_SLOW = (TwoSigns, TwoTails, S4, T4)
LOST = 1e-9  # a larger error of any closed form, beside the largest value for the same kernels, and the same is done
HARD = ((1e-8, 1e-8, 3e-9), (1e-8, 1e-4, 9e-7), (0.7, 0.7, 0.7 * (1 - 1e-12)), (60.0, 60.0, 18.0), (1e4, 1e4, 9.99e3),
        (1e4, 1e4, (1e-12 - 1) * 1e4))  # fmt: skip
PARALLEL = ((0.7, 0.7, 0.7), (0.7, 0.7, -0.7), (0.0, 0.7, 0.0), (0.0, 0.0, 0.0))


def build_component(
    name: str,
    symbols: tuple[sp.Symbol, ...],
    formula: sp.Expr,
    dialect: Dialect = printer.NUMPY,
    accept_cancellation: bool = False,
    opened: sp.Expr | None = None,
) -> Component:
    """Choose how to compute a function of kernels, and measure how well it does.

    Args:
        name: of the function.
        symbols: its arguments.
        formula: what it computes.
        dialect: the target language.
        accept_cancellation: whether a closed form is taken although its terms cancel in floats.
        opened: the formula in averages, for parameters at which its terms cancel.

    Raises:
        SymresError: no way of computing it was found to work.
        NoSpelling: a closed form in functions that the language does not have; its average may still be computed.
        LosesDigits: a closed form whose terms cancel in floats, or whose limit at K = 0 depends on parameters; the
            same holds.
    """
    if C in symbols and formula.has(*SPECIAL) and not accept_cancellation:
        _check_digits(name, symbols, formula, dialect.name)
    component = _built(name, symbols, formula, accept_cancellation, opened)
    if not isinstance(component.code, sp.Expr):
        return component
    unspelled = dialect.unspelled(component.code)
    if not unspelled and not _is_unspelled(component):
        return component
    if symbols != (K,):
        raise NoSpelling.of(dialect.name, formula, unspelled)
    return _fitted(name, formula)


@lru_cache(maxsize=256)
def _check_digits(name: str, symbols: tuple[sp.Symbol, ...], formula: sp.Expr, language: str) -> None:
    """Refuse a closed form in special functions that is inaccurate where terms are most likely to cancel."""
    component = Component(name, symbols, formula, settled(stabilise(formula)))
    if _is_unspelled(component):
        return
    formula, extra = with_numbers(component, None)
    function = run(component)
    with np.errstate(all="ignore"):
        values = {point: float(function(*map(np.array, point), *extra)) for point in (*PARALLEL, *HARD)}
    if not all(math.isfinite(values[point]) for point in PARALLEL):
        raise _refused(component, language, "it is 0/0 in floats where inputs are parallel")
    for point in HARD:
        _check_error(component, language, pair_deviation(formula, formula.diff(C), point, values[point]), named(point))
    measured = _built(name, symbols, component.formula)
    _check_error(component, language, measured.error, measured.worst)


def _check_error(component: Component, language: str, error: float, place: str) -> None:
    if not error <= FEW_DIGITS:
        raise _refused(component, language, f"its terms cancel in floats (error {error:.0e} at {place})")


def _check_loss(component: Component, where: str = "") -> None:
    if not isinstance(component.code, sp.Expr) or not (component.is_pair or component.parameters):
        return
    lost = component.error_over_max or 0.0 if component.is_pair else component.error
    of = " of the largest value" if component.is_pair else ""
    if lost > LOST:
        raise _refused(component, printer.NUMPY.name, f"its terms cancel in floats (error {lost:.0e}{of}{where})")


def _refused(component: Component, language: str, found: str) -> LosesDigits:
    return LosesDigits(f"{language} code for {str(component.formula)[:80]}", found, "export to LaTeX")


@lru_cache(maxsize=256)
def _built(
    name: str,
    symbols: tuple[sp.Symbol, ...],
    formula: sp.Expr,
    accept_cancellation: bool = False,
    opened: sp.Expr | None = None,
) -> Component:
    """The component for NumPy."""
    open_ = bool(averages(formula))
    if C in symbols:
        if open_:
            return _measured(measured_quadrature, Component(name, symbols, formula, None))
        form = angle_form(formula, (K1, C, K2))
        component = Component(
            name, symbols, formula, settled(stabilise(formula) if form is None else form.stable()), form
        )
        component = _guarded(component, opened)
        return component if _is_unspelled(component) else _measured(measured_pair, component, accept_cancellation)
    if open_ and len(symbols) > 1:
        return _measured(measured_kernel, Component(name, symbols, formula, None))
    closed = _guarded(Component(name, symbols, formula, stabilise(formula)), opened)
    if not open_ and not _is_unspelled(closed):
        closed = _measured(measured_kernel, closed, accept_cancellation)
        if closed.error <= ACCURATE or len(symbols) > 1:
            return closed
        try:
            fitted = _fitted(name, formula)
        except SymresError:  # waves
            return closed
        # a closed form of exponentials goes on to the largest floats: a fit that ends before must be much better
        return fitted if math.isinf(fitted.stop) or 10 * fitted.error < closed.error else closed
    return closed if len(symbols) > 1 else _fitted(name, formula)


def _guarded(component: Component, opened: sp.Expr | None) -> Component:
    """A closed form with parameters at which its terms may cancel, and what is integrated there."""
    code = component.code
    if opened is None or not isinstance(code, sp.Expr) or not cancels(code) or doubt(code) is None:
        return component
    return replace(component, opened=opened)


def _is_unspelled(component: Component) -> bool:
    """Whether NumPy has no code, or code that is slow beside a fit."""
    if not isinstance(component.code, sp.Expr):
        return False
    return bool(printer.NUMPY.unspelled(component.code)) or (component.symbols == (K,) and component.code.has(*_SLOW))


@lru_cache(maxsize=256)
def _fitted(name: str, formula: sp.Expr) -> Component:
    """A function of one kernel as a fit."""
    fitted = fit(_values(formula), str(formula))
    return measured_kernel(Component(name, (K,), formula, fitted, stop=fitted.stop, reason=fitted.reason))


def _values(formula: sp.Expr) -> Callable[[mp.mpf], mp.mpf]:
    def value(k: mp.mpf) -> mp.mpf:
        try:
            return evaluate(formula, {K: k}, 20)[0]
        except SymresError:  # smaller than any precision: exp(-1/K) and the like
            ball = enclose(formula, {K: k}, 2 * BITS)
            if ball.is_finite() and float(ball.rad()) < 1e-30:
                return mp.mpf(float(ball.mid()))
            raise

    return value


def _measured(
    measure: Callable[[Component, Values | None], Component], component: Component, accept_cancellation: bool = False
) -> Component:
    """A component with its error, and what is found with other values of the parameters of an activation.

    Raises:
        LosesDigits: a closed form, unless ``accept_cancellation``, whose terms cancel in floats with one of those
            values; the limit at K = 0 depends on them and is not found by going near.
    """
    found, texts = measure(component, None), []
    if not accept_cancellation:
        _check_loss(found)
    for values in elsewhere(component.parameters):
        where = "with " + ", ".join(f"{name} = {value}" for name, value in values.items())
        try:
            other = measure(component, values)
        except SymresError as error:
            texts.append(f"not measured {where}: {error.found}")
            continue
        moves = found.origin != other.origin  # the limit at K = 0, with a parameter
        if moves and component.floored and not accept_cancellation:
            raise _refused(component, printer.NUMPY.name, "its limit at K = 0 depends on parameters")
        if moves or (other.floored and not found.floored):  # one code serves all values
            return _measured(measure, replace(component, floored=True), accept_cancellation)
        if not accept_cancellation:
            _check_loss(other, " " + where)
        texts.append(f"{_told(other, found.last)} {where}")
    if texts and averages(component.formula) and not component.is_pair:  # whose errors are those of the value
        texts.append("fewer digits where values of both signs cancel")
    return replace(found, elsewhere="; ".join(texts))


def _told(found: Component, last: float) -> str:
    """The error of a component, as text; kernels up to the last are known to be meant."""
    if not math.isfinite(found.error):
        return f"no value at {found.worst}"
    error = round_up(found.error)
    text = f"at most {error:.0e}" if error < 1 else "no digits"
    if found.error > FEW_DIGITS:
        beside = found.error_over_max
        text += f" (worst at {found.worst}{'' if beside is None else f'; {round_up(beside):.0e} of the largest value'})"
    text += f"; no value {found.undefined}" if found.undefined else ""
    return text + (f" for kernels up to {min(found.last, MEASURED):g}" if found.last != last else "")
