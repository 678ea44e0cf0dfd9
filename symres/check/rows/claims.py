"""The claims of a derivation as numbers: maps at a point, kernels layer by layer, fixed points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import mpmath as mp
import numpy as np
import sympy as sp

from ...core import symbols
from ...core.words import counted
from ...results.quantity import Quantity, Status
from ...results.subjects import DerivedLayer
from ...results.verdict import Remarks
from ..nets.random_field import OracleLimit
from ..oracles.comparison import FAILURES, reason
from ..sampling.random_points import Values

DIGITS = 25
_OF_POSITIONS = 8  # digits of maps of sequences: doubles have them where six cancel; more take seconds an overlap
_ROUNDED = 1e-12  # relative: claims are evaluated to 15 digits, and each layer passes its rounding on


def is_claim(quantity: Quantity) -> bool:
    """False if the derivation says that it does not know."""
    return quantity.status is not Status.UNKNOWN


def claimed(quantity: Quantity, values: Values, digits: int = DIGITS) -> mp.mpf:
    """The quantity at a point.

    Args:
        quantity: anything with ``symbols`` and ``evalf(digits, **numbers)``.
        values: numbers for its symbols, and others.
        digits: relative accuracy.
    """
    return quantity.evalf(digits, **{str(s): values[s] for s in quantity.symbols})


def digits_of(theory: DerivedLayer, quantity: Quantity) -> int:
    """Relative accuracy of a claim about one layer."""
    return _OF_POSITIONS if theory.has_positions and quantity.status is not Status.EXACT else DIGITS


def branchless(quantity: Quantity, values: Values, digits: int = DIGITS) -> mp.mpf | None:
    """The quantity without the branch, at C_W = 0; None if it does not depend on C_W, or has no value there."""
    if symbols.C_W not in quantity.symbols or values.get(symbols.C_W) == 0:
        return None
    try:
        return claimed(quantity, values | {symbols.C_W: sp.S.Zero}, digits)
    except FAILURES:
        return None


@dataclass(frozen=True)
class LayerClaims:
    """The claims of a derivation about the streams of two inputs after some layers."""

    # by name of the map, the kernel of the first input and the covariance, where they could be evaluated
    numbers: Mapping[str, mp.mpf]
    reasons: Mapping[str, Remarks]  # by name of the map, why there is no number
    # how the claims contradict themselves, in this layer or before; None if they do not
    contradiction: str | None = None


@dataclass(frozen=True)
class Missing:
    """That a claim has no number, and why."""

    remarks: Remarks


_Number: TypeAlias = sp.Rational | Missing


def iterated(quantities: Mapping[str, Quantity], start: Values, values: Values, depth: int) -> list[LayerClaims]:
    """Kernels and, if it is derived, the covariance after each of ``depth`` layers.

    Each number stands alone: where one cannot be evaluated, or where kernels and covariance are no covariance matrix,
    the others are still claims.
    """
    kernels: list[_Number] = [start[symbols.K1], start[symbols.K2]]
    mixed: _Number = start[symbols.C]
    contradiction: str | None = None
    result = []
    for layer in range(1, depth + 1):
        # a map of a batch depends on K and C, any other kernel map on K alone
        at = {symbols.K: kernels[0], symbols.K1: kernels[0], symbols.K2: kernels[1], symbols.C: mixed}
        mixed = Missing(("the covariance has not been derived",))
        if "covariance_map" in quantities:
            mixed = Missing((contradiction,)) if contradiction else _evaluated(quantities["covariance_map"], at, values)
        kernels = [_evaluated(quantities["kernel_map"], at | {symbols.K: kernel}, values) for kernel in kernels]
        claims = {"kernel_map": kernels[0]} | ({"covariance_map": mixed} if "covariance_map" in quantities else {})
        if contradiction is None:
            cause, mixed = _contradiction(kernels[0], kernels[1], mixed)
            contradiction = (
                f"the claims contradict each other: after {counted(layer, 'layer')} {cause}" if cause else None
            )
        numbers = {name: mp.mpf(sp.Float(v)) for name, v in claims.items() if not isinstance(v, Missing)}
        reasons = {name: v.remarks for name, v in claims.items() if isinstance(v, Missing)}
        result.append(LayerClaims(numbers, reasons, contradiction))
    return result


_NEXT = {symbols.K: "kernel_map", symbols.C: "covariance_map"}
_ROUNDS = 20  # of Aitken's extrapolation
_DIVERGED = 1e100  # a kernel that has grown without bound: maps like exp(K) leave the range of all numbers
_SETTLED = 1e-8  # relative change at a fixed point
_BESIDE = sp.Rational(1, 100)  # relative distance from a fixed point at which its attraction is measured
_LOWER = [sp.Rational(7, 10) ** k for k in range(1, 11)]  # times the first kernel: further starts of the flow


def travelled(quantities: Mapping[str, Quantity], place: Values, values: Values, layers: int) -> list[Values]:
    """The kernel, and for a batch the covariance, at the beginning and after each of some layers.

    ``place`` has those of the first stream, ``values`` the numbers of the parameters.

    Raises:
        OracleLimit: a kernel leaves the range of doubles.
    """
    places = [place]
    for _ in range(layers):
        last = values | places[-1]
        numbers = {symbol: claimed(quantities[_NEXT[symbol]], last, 15) for symbol in place}
        if not all(abs(number) < _DIVERGED for number in numbers.values()):
            raise OracleLimit("the kernels of a deep network", "they grow without bound", "check fewer layers")
        places.append({symbol: _exact(number) for symbol, number in numbers.items()})
    return places


def fixed_point(quantities: Mapping[str, Quantity], start: Values, values: Values) -> Values | None:
    """The place at which the kernels of a deep network arrive, found along their flow by Aitken's extrapolation.

    Returns:
        None if the kernels grow without bound, vanish, or do not settle soon.
    """
    place = start
    for _ in range(_ROUNDS):
        try:
            steps = travelled(quantities, place, values, 2)
        except OracleLimit:
            return None
        first, second, third = (np.array([float(number) for number in step.values()]) for step in steps)
        change, next_change = second - first, third - second
        if np.all(np.abs(next_change) <= _SETTLED * third) and np.all(np.abs(change) <= _SETTLED * second):
            return dict(zip(start, map(_exact_float, third), strict=True)) if np.all(third > 0) else None
        # steps that grow lead away from a fixed point: the extrapolation would go back to it, against the flow
        shrinks = np.abs(next_change) < np.abs(change)
        with np.errstate(all="ignore"):
            limit = np.where(shrinks, first - change**2 / (next_change - change), third)
        inside = np.all(np.isfinite(limit)) and np.all(limit > 0) and bool(limit[-1] <= limit[0])
        place = dict(zip(start, map(_exact_float, limit if inside else third), strict=True))
    return None


def falling_start(quantities: Mapping[str, Quantity], start: Values, values: Values) -> Values | None:
    """The place of the largest smaller kernel that a layer makes smaller still: its flow has an end.

    The kernel and the covariance of the start are scaled together.

    Returns:
        None if each of some smaller kernels grows.
    """
    for factor in _LOWER:
        place = {symbol: factor * number for symbol, number in start.items()}
        try:
            after = travelled(quantities, place, values, 1)[-1]
        except OracleLimit:
            continue
        if after[symbols.K] < place[symbols.K]:
            return place
    return None


def contraction(quantities: Mapping[str, Quantity], place: Values, values: Values) -> float:
    """By which factor a layer changes small distances from a fixed point, in the long run: below 1 it attracts.

    The fixed point is ``place``, at these numbers of the parameters.

    Returns:
        The spectral radius of the derivative of the maps, by differences over 1 % to both sides.
    """
    steps = {symbol: _BESIDE * number for symbol, number in place.items()}
    if symbols.C in place:  # the covariance stays below the kernel
        steps = dict.fromkeys(place, min(*steps.values(), (place[symbols.K] - place[symbols.C]) / 2))
    columns = []
    for symbol, step in steps.items():
        above, below = (
            travelled(quantities, place | {symbol: place[symbol] + side * step}, values, 1)[-1] for side in (1, -1)
        )
        columns.append([float((above[other] - below[other]) / (2 * step)) for other in place])
    return float(np.abs(np.linalg.eigvals(np.array(columns))).max())


def _evaluated(quantity: Quantity, at: Mapping[sp.Symbol, _Number], values: Values) -> _Number:
    at = {symbol: value for symbol, value in at.items() if symbol in quantity.symbols}
    for argument in at.values():
        if isinstance(argument, Missing):
            return argument
    try:
        value = claimed(quantity, values | at, 15)
    except FAILURES as failure:
        return Missing(reason(failure))
    return _exact(value) if mp.isfinite(value) else Missing((f"the claim is {mp.nstr(value)}",))


def _contradiction(first: _Number, second: _Number, mixed: _Number) -> tuple[str | None, _Number]:
    """Why two kernels and a covariance make no covariance matrix, or None; and the covariance without its rounding."""
    for name, kernel in ((symbols.K1, first), (symbols.K2, second)):
        if not isinstance(kernel, Missing) and kernel < 0:
            return f"{name} = {mp.nstr(mp.mpf(sp.Float(kernel)), 6)} is negative", mixed
    if isinstance(first, Missing) or isinstance(second, Missing) or isinstance(mixed, Missing):
        return None, mixed
    with mp.workdps(30):
        largest = mp.sqrt(mp.mpf(sp.Float(first * second, 30)))
        size = abs(mp.mpf(sp.Float(mixed, 30)))
        if size <= largest:
            return None, mixed
        if size > largest * (1 + _ROUNDED):
            excess = mp.nstr(100 * (size / largest - 1), 3)
            return f"C**2 > K1*K2, no covariance (|C| is {excess} % above sqrt(K1*K2))", mixed
        return None, sp.sign(mixed) * _exact(largest * (1 - mp.mpf(10) ** -16))


def _exact_float(value: float) -> sp.Rational:
    return sp.Rational(repr(float(value)))


def _exact(value: mp.mpf) -> sp.Rational:
    return sp.Rational(mp.nstr(value, 17))
