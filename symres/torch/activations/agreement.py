"""A formula against the module that it was read from: values and gradients in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import sympy as sp
import torch

from ...activations.piecewise import PiecewiseFunction, derivative
from ...core.errors import CheckRefuted
from ...core.symbols import z

Pointwise = Callable[[torch.Tensor], torch.Tensor]

_DIGITS = 30
_VALUES = 1e-12  # relative to the largest of 1, |z| and the formula's number
_GRADIENTS = 2.0**-23  # kernels of PyTorch have constants in float32, hardsigmoid's 1/6 for instance
ROUNDINGS = 64  # of the coarsest floating-point type that a module uses
_OVERFLOW = 80.0  # |z| from which on exp overflows in float32, and a module need not be finite
_CLOSE = 1e-9  # relative distance from a breakpoint at which neither side is meant


@dataclass(frozen=True)
class Agreement:
    """How far a module is from its formula.

    Args:
        points: number of arguments.
        values: largest deviation, relative to the largest of 1, ``|z|`` and the formula's value.
        gradients: the same of the gradient; nan where PyTorch has none.
    """

    points: int
    values: float
    gradients: float


def agree(
    name: str, module: Pointwise, pieces: PiecewiseFunction, places: Sequence[float], precision: float, columns: int
) -> Agreement:
    """Compare values and gradients on a grid: the bulk, both tails up to 1000, and both sides of special places.

    Args:
        name: of the module, for messages.
        module: of tensors in float64.
        pieces: the formula.
        places: arguments near which the module may change its rule.
        precision: spacing at 1 of the coarsest floating-point type that the module uses.
        columns: the size of the last dimension of the module's input.

    Raises:
        CheckRefuted: values or gradients differ by more than rounding errors.
    """
    points = _grid([*places, *(float(b) for b in pieces.breaks)], columns)
    values, gradients = values_and_gradients(module, points.reshape(-1, columns))
    breaks = np.array([float(b) for b in pieces.breaks])
    away = np.all(np.abs(points[:, None] - breaks) > _CLOSE * (1 + np.abs(breaks)), axis=1)
    worst = []
    for kind, found, formula, tolerance in (
        ("value", values, pieces.parts, max(_VALUES, ROUNDINGS * precision)),
        ("gradient", gradients, tuple(map(derivative, pieces.parts)), max(_GRADIENTS, ROUNDINGS * precision)),
    ):
        if found is None:
            worst.append(float("nan"))
            continue
        expected = evaluate(PiecewiseFunction(pieces.breaks, formula), points)
        scale = np.maximum(np.maximum(1, np.abs(points)), np.abs(expected))
        with np.errstate(invalid="ignore"):
            deviation = np.abs(found.reshape(-1) - expected) / scale
        is_known = np.isfinite(found.reshape(-1)) & np.isfinite(expected)
        deviation = np.where(is_known | (np.abs(points) < _OVERFLOW), deviation, 0)
        compared = np.where(away, np.nan_to_num(deviation, nan=np.inf), 0)
        place = int(np.argmax(compared))
        if compared[place] > tolerance:
            raise _refuted(name, kind, points[place], found.reshape(-1)[place], expected[place])
        worst.append(float(compared[place]))
    return Agreement(len(points), *worst)


def values_and_gradients(module: Pointwise, points: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """What PyTorch computes in float64, entry by entry.

    Args:
        module: of tensors.
        points: the arguments, in the shape that the module takes.

    Returns:
        Values and gradients in that shape; no gradients where an operation has none.
    """
    with torch.enable_grad():
        leaf = torch.tensor(points, dtype=torch.float64, requires_grad=True)
        result = module(leaf.clone())  # the module may change it in place
        found = result.detach().to(torch.float64).numpy().copy()
        if not result.requires_grad:
            return found, np.zeros_like(found)
        try:
            (gradient,) = torch.autograd.grad(result.sum(), leaf, allow_unused=True)
        except RuntimeError:  # an operation without derivative
            return found, None
    return found, np.zeros_like(found) if gradient is None else gradient.numpy(force=True).copy()


def evaluate(pieces: PiecewiseFunction, points: np.ndarray) -> np.ndarray:
    """A formula without free parameters at some points, each to 30 digits, then rounded to floats."""
    parts = [sp.lambdify(z, part, "mpmath") for part in pieces.parts]
    places = np.searchsorted(np.array([float(b) for b in pieces.breaks]), points, side="right")
    return np.array([_number(parts[i], float(x)) for i, x in zip(places, points, strict=True)])


def _number(formula: Callable[[mp.mpf], mp.mpf], point: float) -> float:
    """The value to 30 digits; to 600 where fewer lose all, as in the derivative of ``sqrt(log(1 + exp(-99)))``."""
    for digits in (_DIGITS, 20 * _DIGITS):
        with mp.workdps(digits):
            try:
                return float(formula(mp.mpf(point)))
            except ZeroDivisionError:
                continue
    return float("nan")


def _grid(places: Sequence[float], columns: int) -> np.ndarray:
    """Points in an order without symmetry, so many that they fill whole rows."""
    tails = np.geomspace(1e-8, 1e3, 34)
    steps = np.array([-0.5, -1e-3, -1e-6, 0.0, 1e-6, 1e-3, 0.5])
    special = [sign * place + steps for place in places for sign in (1, -1) if abs(place) <= 1e3]
    points = np.unique(np.concatenate([np.linspace(-9, 9, 109), tails, -tails, *special]))
    points = np.concatenate([points, points[-1] + np.arange(1, 1 + (-len(points)) % columns)])
    return np.random.default_rng(0).permutation(points)


def _refuted(name: str, kind: str, point: float, found: float, expected: float) -> CheckRefuted:
    remedy = (
        "it is not a function of each entry alone, or uses operations in a way that cannot be read; pass its formula"
        if kind == "value"
        else "its backward pass is not the derivative of its forward pass; pass the formula that you mean"
    )
    return CheckRefuted(
        f"the activation {name}",
        f"at z = {point:.6g} its {kind} is {found:.15g}, but the formula read from it gives {expected:.15g}",
        remedy,
    )
