"""Settings on the critical line, and near it where it would need a negative variance of biases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise

import sympy as sp

from ...core.symbols import C_W, C_b
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...results.advice.parts import Origin
from .flow import DepthFlow, Setting

_KERNELS = tuple(10.0 ** (k / 4) for k in range(-12, 17))  # 1e-3 to 1e4
_WEIGHTS = tuple(10.0 ** (k / 2) for k in range(-4, 9))  # where a line is looked for first
_SOLVED = 1e-9
_REMEMBERED = 0.02  # |log chi_parallel|: a kernel that is off is remembered for 50 layers
_LEAST = math.log(1e-8)  # of C_W: smaller weights are none
_LARGEST = 100.0  # C_b over the kernel


def on_line(flow: DepthFlow, fixed: Mapping[sp.Symbol, float]) -> Iterator[Setting]:
    """A setting for each of some kernels that a layer keeps with chi_perp = 1.

    Where chi_parallel < 1, a kernel that is off returns; nearer to 1 it is remembered longer, so that these come first.

    Args:
        flow: of the layer.
        fixed: numbers for the weights of skip and branch.
    """
    if not {C_W, C_b} <= set(flow.theory.layer.parameters):
        return
    guess: np.ndarray | None = None
    for kernel in _KERNELS:
        found = _solved(flow, fixed, kernel, guess)
        if found is None:
            continue
        guess = found
        setting = _setting(flow, fixed, kernel, found)
        if setting is not None:
            yield setting


def at_kernel(flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float) -> Setting | None:
    """The setting for one kernel that a layer keeps with chi_perp = 1; None where there is none with C_b >= 0.

    Args:
        flow: of the layer, which has C_W and C_b among its parameters.
        fixed: numbers for the weights of skip and branch.
        kernel: the kernel.
    """
    if not {C_W, C_b} <= set(flow.theory.layer.parameters):
        return None
    found = _solved(flow, fixed, kernel, None)
    return None if found is None else _setting(flow, fixed, kernel, found)


def _setting(flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float, found: np.ndarray) -> Setting | None:
    """A point of the line, noted by how long a kernel that is off is remembered."""
    if not (found[1] > -_SOLVED and found[0] > _LEAST):
        return None
    bias = float(found[1]) * kernel if found[1] > _SOLVED else 0.0
    values = {**fixed, C_W: float(math.exp(found[0])), C_b: bias}
    parallel = flow.chi_parallel(values, kernel)
    if not math.isfinite(parallel):
        return None
    repels, aside = 10.0 * (parallel > 1 + _SOLVED), abs(math.log(kernel)) / 100
    memory = abs(math.log(max(abs(parallel), 1e-3)))
    return Setting(Origin.LINE, values, kernel, repels + max(memory - _REMEMBERED, 0.0) + aside)


def with_biases(flow: DepthFlow, fixed: Mapping[sp.Symbol, float]) -> Iterator[Setting]:
    """Settings of a layer whose C_W is given: kernels that some C_b keeps, those first where chi_perp is near 1.

    Args:
        flow: of the layer.
        fixed: numbers for all parameters but C_b.
    """

    def bias_at(kernel: float) -> float:
        """The variance of biases that keeps a kernel; nan where none does."""

        def excess(share: float) -> float:
            return flow.step({**fixed, C_b: share * kernel}, kernel)[0] / kernel - 1

        low, high = excess(0.0), excess(_LARGEST)
        return brent(excess, 0.0, _LARGEST) * kernel if low <= 0 <= high else math.nan

    def log_perp(log_kernel: float) -> float:
        kernel = math.exp(log_kernel)
        return math.log(flow.step({**fixed, C_b: bias_at(kernel)}, kernel)[1])

    logs = [math.log(kernel) for kernel in _KERNELS if not math.isnan(bias_at(kernel))]
    found = [(log, log_perp(log)) for log in logs]
    roots = [(brent(log_perp, a, b), 0.0) for (a, one), (b, other) in pairwise(found) if one * other < 0]
    for log, away in [*roots, *found]:
        kernel = math.exp(log)
        yield Setting(Origin.GIVEN, {**fixed, C_b: bias_at(kernel)}, kernel, abs(away))


def _solved(
    flow: DepthFlow, fixed: Mapping[sp.Symbol, float], kernel: float, guess: np.ndarray | None
) -> np.ndarray | None:
    """(log C_W, C_b/K) with K' = K and chi_perp = 1."""
    from scipy.optimize import root  # here, because it takes longer to import than the rest of symres

    def residual(x: np.ndarray) -> np.ndarray:
        values = {**fixed, C_W: math.exp(min(max(x[0], -50.0), 50.0)), C_b: x[1] * kernel}
        grown, perp = flow.step(values, kernel)
        return np.array([grown / kernel - 1, perp - 1])

    starts = [guess] if guess is not None else []
    starts += [np.array([math.log(w), 0.1]) for w in _WEIGHTS]
    with np.errstate(all="ignore"):
        errors = [(float(np.abs(r).max()) if np.all(np.isfinite(r := residual(s))) else math.inf) for s in starts]
        for k in np.argsort(errors)[:2]:
            if not math.isfinite(errors[k]):
                continue
            found = root(residual, starts[k], method="hybr", tol=1e-12)
            if np.abs(residual(found.x)).max() < _SOLVED:
                return np.asarray(found.x, dtype=float)
    return None
