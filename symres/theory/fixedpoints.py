"""Kernels that a layer preserves, at given parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath as mp
import sympy as sp

from ..errors import NoClosedForm
from ..gaussian.canonical import canonical
from ..quantity import Quantity
from ..scalars import number
from ..symbols import K

_GRID = tuple(mp.mpf(10) ** (mp.mpf(k) / 6) for k in range(-36, 37))  # 1e-6 .. 1e6
_SMALL, _FINER = 0.01, 16  # cells where a relative excess is below this are divided further
_DOUBLE = 1e-12  # relative excess at a zero of its slope that counts as a double zero
_CRITICAL = 1e-10  # how close chi_perp is to 1 at what is called critical


@dataclass(frozen=True)
class FixedPoint:
    """A kernel that a layer preserves, at given parameters.

    Args:
        K: the kernel; the symbol ``sr.K`` if every kernel is preserved.
        chi_parallel: parallel susceptibility there; the fixed point attracts if it is below 1.
        chi_perp: perpendicular susceptibility there.
        phase: "ordered" (chi_perp < 1), "chaotic" (chi_perp > 1) or "critical".
    """

    K: float | sp.Symbol
    chi_parallel: float
    chi_perp: float
    phase: str


def fixed_points(maps: tuple[Quantity, Quantity, Quantity], params: dict[str, Any]) -> tuple[FixedPoint, ...]:
    """The fixed points of the kernel map between 1e-6 and 1e6, and K = 0 where it is one.

    Args:
        maps: kernel_map, chi_parallel and chi_perp.
        params: a number for every parameter, by name.
    """
    kernel_map = maps[0]
    # critical values come as nested averages: once to 30 digits, not at every kernel
    params = {name: _plain(number(value, name)) for name, value in params.items()}
    evaluate = [_function(q, params) for q in maps]
    values = {s: number(params[s.name], s.name) for s in kernel_map.symbols[1:] if s.name in params}
    if canonical(kernel_map.proof.result.subs(values)) == K:
        return (_fixed_point(K, float(evaluate[1](mp.mpf(1))), float(evaluate[2](mp.mpf(1)))),)
    roots = _sign_changes(lambda k: evaluate[0](k) / k - 1)
    # a half-stable point is a double zero: there chi_parallel - 1 changes sign instead
    for k in _sign_changes(lambda k: evaluate[1](k) - 1):
        if abs(evaluate[0](k) / k - 1) < _DOUBLE and all(abs(k / root - 1) > 1e-5 for root in roots):
            roots.append(k)
    found = [_fixed_point(k, float(evaluate[1](k)), float(evaluate[2](k))) for k in sorted(roots)]
    return (*_zero_fixed_point(maps, params), *found)


def _plain(value: sp.Expr) -> sp.Expr:
    return value if value.is_Rational else sp.Rational(str(sp.N(value, 30)))


def _function(quantity: Quantity, params: dict[str, Any]) -> Callable[[mp.mpf], mp.mpf]:
    return lambda k: quantity.evalf(20, K=k, **params)


def _zero_fixed_point(maps: tuple[Quantity, ...], params: dict[str, Any]) -> tuple[FixedPoint, ...]:
    """K = 0, where K' vanishes with K; the susceptibilities there are limits."""
    limits = []
    try:
        for quantity in maps:
            values = {s: number(params[s.name], s.name) for s in quantity.symbols[1:]}
            steps = tuple(replace(step, definition=step.definition.subs(values)) for step in quantity.steps)
            at_zero = replace(quantity, definition=quantity.definition.subs(values), steps=steps).series(0).body
            limits.append(at_zero)
    except NoClosedForm:
        return ()
    if limits[0] != 0 or any(limit.has(K) for limit in limits):
        return ()
    return (_fixed_point(mp.mpf(0), float(limits[1]), float(limits[2])),)


def _sign_changes(function: Callable[[mp.mpf], mp.mpf]) -> list[mp.mpf]:
    """Zeros of a smooth function; cells where it is small are searched more finely, for they can hide two."""
    places = list(_GRID)
    values = [function(k) for k in places]
    for i in reversed(range(len(_GRID) - 1)):
        if min(abs(values[i]), abs(values[i + 1])) < _SMALL:
            ratio = (places[i + 1] / places[i]) ** (mp.mpf(1) / _FINER)
            inner = [places[i] * ratio**j for j in range(1, _FINER)]
            places[i + 1 : i + 1] = inner
            values[i + 1 : i + 1] = [function(k) for k in inner]
    roots = []
    for a, b, fa, fb in zip(places, places[1:], values, values[1:], strict=False):
        if fa == 0:
            roots.append(a)
        elif fa * fb < 0:
            with mp.workdps(25):
                roots.append(mp.findroot(function, (a, b), solver="anderson", tol=1e-38, verify=False))
    return roots


def _fixed_point(k: Any, parallel: float, perp: float) -> FixedPoint:
    phase = "critical" if abs(perp - 1) < _CRITICAL else "ordered" if perp < 1 else "chaotic"
    return FixedPoint(k if k == K else float(k), parallel, perp, phase)
