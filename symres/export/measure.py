"""Build a component, run its generated NumPy code, and measure its error against ball arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from ..balls import enclose, evaluate, to_ball
from ..errors import SymresError
from ..symbols import C, K, K1, K2
from . import numpy as printer
from .angles import angle_form
from .fit import fit, grid
from .plan import ACCURATE, Component
from .quadrature import averages
from .rewrite import stabilise

BITS = 240
PARAMETER = Fraction(3, 4)  # the value that free parameters of an activation have while errors are measured
RHO = (0.3, 0.9, 0.999, 1 - 1e-6, 1 - 1e-12, 1e-6)
KERNELS = ((1e-8, 1e-8), (1e-8, 1e-4), (1e-4, 1e-4), (1e-2, 3e-2), (0.7, 0.7), (1.0, 30.0), (60.0, 60.0), (1e4, 1e4), (1.0, 1e4))
PAIRS_BY_QUADRATURE = ((1e-4, 1e-4, 0.5), (0.7, 1.3, -0.9), (2.0, 2.0, 0.999), (30.0, 1.0, 0.3), (1e3, 1e3, 0.9))


def build_component(name: str, symbols: tuple[sp.Symbol, ...], formula: sp.Expr) -> Component:
    """Choose how to compute a function of kernels, and measure how well it does.

    Raises:
        SymresError: no way of computing it was found to work.
    """
    open_ = bool(averages(formula))
    if C in symbols:
        if open_:
            return _measured_quadrature(Component(name, symbols, formula, None))
        form = angle_form(formula, (K1, C, K2))
        code = stabilise(formula) if form is None else form.stable()
        return _measured_pair(Component(name, symbols, formula, code, form))
    if len(symbols) > 1:
        return _measured_kernel(Component(name, symbols, formula, None if open_ else stabilise(formula)))
    if not open_:
        closed = _measured_kernel(Component(name, symbols, formula, stabilise(formula)))
        if closed.error <= ACCURATE:
            return closed
    return _measured_kernel(Component(name, symbols, formula, fit(_values(formula), str(formula))))


def _values(formula: sp.Expr) -> Callable[[mp.mpf], mp.mpf]:
    return lambda k: evaluate(formula, {K: k}, 24)[0]


def run(component: Component) -> Callable[..., Any]:
    """The component's generated NumPy function."""
    space: dict[str, Any] = {}
    exec(compile(printer.standalone(component), component.name, "exec"), space)
    return space[component.name]


def _measured_kernel(component: Component) -> Component:
    """Error relative to max(|f|, |K f'|) on K = 1e-8 .. 1e4; infinite if it is not finite at K = 0."""
    points = np.array(grid()[:: 4 if averages(component.formula) else 1])
    parameters = dict.fromkeys(component.symbols[1:], PARAMETER)
    slope = None if averages(component.formula) else component.formula.diff(K)
    function = run(component)
    extra = [np.full(points.shape, float(v)) for v in parameters.values()]
    with np.errstate(all="ignore"):
        found = function(points, *extra) * np.ones(points.shape)
        origin = function(np.zeros(1), *(v[:1] for v in extra)) * np.ones(1)
    errors = []
    for k, value in zip(points, found, strict=True):
        at = {K: float(k), **parameters}
        scale = _size(enclose(slope, _exact(at), BITS)) * float(k) if slope is not None else 0.0
        errors.append((_deviation(component.formula, at, float(value), scale), f"K = {k:.3g}"))
    worst, where = max(errors)
    if not np.isfinite(origin[0]) and not isinstance(component.code, sp.Expr):
        raise SymresError(f"code for {component.formula}", "it is not finite at K = 0", "export it to LaTeX")
    if not np.isfinite(origin[0]):
        worst, where = math.inf, "K = 0"
    return replace(component, error=worst, worst=where)


def _measured_pair(component: Component) -> Component:
    """Error relative to max(|F|, |C dF/dC|) over kernels 1e-8 .. 1e4 and correlations to 1 - 1e-12."""
    parameters = dict.fromkeys(component.symbols[3:], PARAMETER)
    points = _pairs()
    columns = [np.array(column) for column in zip(*points, strict=True)]
    extra = [np.full(len(points), float(v)) for v in parameters.values()]
    function = run(component)
    with np.errstate(all="ignore"):
        found = function(*columns, *extra) * np.ones(len(points))
    slope = component.formula.diff(C)
    errors = []
    for (k1, k2, c), value in zip(points, found, strict=True):
        at = {K1: k1, K2: k2, C: c, **parameters}
        scale = _size(enclose(slope, _exact(at), BITS)) * abs(c)
        errors.append((_deviation(component.formula, at, float(value), scale), f"K1 = {k1:g}, K2 = {k2:g}, C = {c:g}"))
    worst, where = max(errors)
    return replace(component, error=worst, worst=where)


def _measured_quadrature(component: Component) -> Component:
    """Error relative to the geometric mean of the diagonal values, at a few points (the reference is slow)."""
    if len(component.symbols) > 3:
        return replace(component, error=math.nan, worst="parameters are free: not measured")
    function, node = run(component), component.formula
    errors = []
    for k1, k2, rho in PAIRS_BY_QUADRATURE:
        c = rho * math.sqrt(k1 * k2)
        exact = enclose(node, _exact({K1: k1, K2: k2, C: c}), 60)
        diagonal = [float(function(np.array([k]), np.array([k]), np.array([k]))[0]) for k in (k1, k2)]
        found = float(function(np.array([k1]), np.array([k2]), np.array([c]))[0])
        scale = max(math.sqrt(abs(diagonal[0] * diagonal[1])), _size(exact))
        errors.append((abs(found - float(exact.mid())) / scale, f"K1 = {k1:g}, K2 = {k2:g}, C = {c:g}"))
    worst, where = max(errors)
    if not worst < 1e-6:
        raise SymresError(
            f"code for {node}", f"quadrature at run time is off by {worst:.1e} at {where}", "export it to LaTeX"
        )
    return replace(component, error=worst, worst=where)


def _pairs() -> Sequence[tuple[float, float, float]]:
    out = []
    for (k1, k2), rho, sign in product(KERNELS, RHO, (1.0, -1.0)):
        out.append((k1, k2, sign * rho * math.sqrt(k1) * math.sqrt(k2)))
    return out


def _exact(at: dict[sp.Symbol, Any]) -> dict[sp.Symbol, Any]:
    """Floats as the binary numbers that they are."""
    return {s: Fraction(v) for s, v in at.items()}


def _deviation(formula: sp.Expr, at: dict[sp.Symbol, Any], value: float, scale: float) -> float:
    exact = enclose(formula, _exact(at), BITS)
    if not math.isfinite(value) or not exact.is_finite():
        return math.inf
    distance = float(abs(exact - to_ball(Fraction(value), BITS)).mid())
    size = max(_size(exact), scale)
    if size < 1e-290:  # underflow is no error
        return 0.0 if distance < 1e-290 else math.inf
    return distance / size


def _size(ball: Any) -> float:
    return abs(float(ball.mid())) if ball.is_finite() else 0.0


def round_up(error: float) -> float:
    """The next of 1, 2, 5 times a power of ten, after doubling: another processor rounds a little differently."""
    if not math.isfinite(error) or error <= 0:
        return 1e-16 if error == 0 else error
    doubled = max(2 * error, 1e-16)
    power = 10.0 ** math.floor(math.log10(doubled))
    return next(float(f"{m * power:.0e}") for m in (1, 2, 5, 10) if m * power >= doubled)
