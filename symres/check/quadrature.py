"""The oracle of quadrature: every map of a layer from its forward equation at infinite width.

Only two moments are integrals, K' = <z'^2> and C' = <z'_1 z'_2>. The rest are their definitions, taken literally:
derivatives are numerical derivatives, the perpendicular susceptibility is a limit, and <phi^2> is the K' of a layer
that is the declared activation alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import sympy as sp

from .. import symbols
from ..declare.phi import Phi
from ..errors import SymresError, UnsupportedLayer
from .forward import Forward
from .nets.batch import LimitBatch
from .nets.field import OracleLimit
from .nets.gram import pair
from .nets.limit import LimitNet
from .noise import ORDINARY
from .panels import rounding
from .settings import Values

_SPREADS = (0.2, 0.07)  # half widths, in log K, of the interval on which a map is interpolated
_AMPLIFIED = 12.0  # times its errors, over the half width, is the error of the derivative
_BENT = 1e-5  # relative error of interpolation that a narrower interval may improve
_ILL = 10  # times an ordinary evaluation error is what the rules do not account for
_RATIO_ROUNDING = 1e-12  # of (K'-C')/(K-C)
_NEAR = 2.0**-10  # largest (K - C)/K in the limit C -> K
_STEPS = range(7)  # powers of 1/4 in K - C
_LAST_STEP = 20  # neurons 10^-7 deviations apart: nearer ones lose the digits of a difference
_SLOW = 0.005  # power of a growth that is none
_SHARP = 1e-8  # relative error of the limit that needs no more steps


@contextmanager
def _in_range() -> Iterator[None]:
    """Numbers that leave the range of doubles end the comparison: what follows from them is no evidence."""
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        try:
            yield
        except FloatingPointError as error:
            raise OracleLimit(
                "quadrature in double precision", f"its numbers leave the range ({error})", "use smaller parameters"
            ) from None


@dataclass(frozen=True)
class Found:
    """What the oracle finds.

    Args:
        value: the number; infinite if the defining limit diverges, or where the oracle failed.
        error: estimate of its absolute error.
        scale: the natural size of such a quantity, against which a small value is judged.
        remark: what the reader should know.
        diverges: whether an infinite value is what the oracle has seen, not the end of the range of doubles.
    """

    value: float
    error: float
    scale: float
    remark: str = ""
    diverges: bool = False


class QuadratureOracle:
    """Maps of one layer at one setting of its parameters.

    Args:
        forward: the layer's forward equation.
        values: exact numbers for its symbols.
        shared: where the inputs are a batch, the covariance of any two of them; every derivative is taken at it.
    """

    def __init__(self, forward: sp.Expr, values: Values, shared: float | None = None) -> None:
        self._equation, self._values = forward, values
        self._forward = Forward(forward, values)
        self._shared = shared
        self._floor = shared or 0.0  # kernels begin here

    def phi_squared(self, K: float) -> Found:
        """<phi(z)^2> of the layer's activation."""
        found = {Phi(phi.formula, symbols.z, 0, *phi.args[3:]) for phi in self._equation.atoms(Phi)}
        if len(found) != 1:
            raise UnsupportedLayer("<phi(z)^2>", f"the layer has {len(found)} activations", "check an average of one")
        return QuadratureOracle(found.pop(), self._values).kernel_map(K)

    def kernel_map(self, K: float) -> Found:
        """K' = <z'^2>."""
        return self._kernel(K)[0]

    def _kernel(self, K: float) -> tuple[Found, float]:
        """K', and the relative error of the functions' own evaluation."""
        (coarse, _, _), (fine, sizes, noise) = (self._moments([[K]], resolution) for resolution in (0, 1))
        value, lost = float(fine[0, 0]), noise()
        error = abs(value - float(coarse[0, 0])) + _rounded(float(sizes[0, 0]), lost)
        return Found(value, error, abs(value)), lost

    def covariance_map(self, K1: float, K2: float, C: float) -> Found:
        """C' = <z'_1 z'_2>; the net of a batch adds the second input by itself."""
        inputs = pair(K1, K2, C) if self._shared is None else [[K1]]
        (coarse, _, _), (fine, sizes, noise) = (self._moments(inputs, resolution) for resolution in (0, 1))
        scale = float(np.sqrt(fine[0, 0]) * np.sqrt(fine[1, 1]))  # the product of the two may be too large
        value = float(fine[0, 1])
        error = abs(value - float(coarse[0, 1])) + _rounded(float(sizes[0, 1]), noise())
        return Found(value, error, scale)

    def chi_parallel(self, K: float) -> Found:
        """dK'/dK."""
        centre = self.kernel_map(K)
        value, error = _log_derivative(lambda k: self._moments([[k]], 1)[0][0, 0], K, 11, centre.error, self._floor)
        return Found(value, error, centre.scale / K)

    def chi_perp(self, K: float) -> Found:
        """The limit of (K' - C')/(K - C) for two inputs of equal kernel K as C -> K."""
        return self._limit(K)[0]

    def h(self, K: float) -> Found:
        """(1/2) d chi_perp/dK."""
        centre, steps = self._limit(K)
        if not np.isfinite(centre.value):
            return Found(np.nan, 0.0, centre.scale / K, "chi_perp is infinite at every K")
        value, error = _log_derivative(
            lambda k: _neville(self._ratios(k, 1, steps))[-1], K, 9, centre.error, self._floor
        )
        return Found(value / 2, error / 2, max(abs(centre.value), centre.scale) / K)

    def _limit(self, K: float) -> tuple[Found, range]:
        """chi_perp, and the steps that were enough for it: more of them where an activation is steep."""
        centre, lost = self._kernel(K)
        scale = centre.scale / K
        best = found = Found(np.inf, np.inf, scale)
        enough, coarse, fine = _STEPS, np.array([]), np.array([])
        for last in range(_STEPS.stop, _LAST_STEP, 4):
            new, steps = range(len(fine), last), range(last - len(_STEPS), last)
            try:
                more = [self._ratios(K, resolution, new) for resolution in (0, 1)]
            except SymresError:
                if math.isinf(best.error):
                    raise
                break
            coarse, fine = np.concatenate([coarse, more[0]]), np.concatenate([fine, more[1]])
            found = _extrapolated(coarse[steps], fine[steps], steps, scale, lost)
            if found.error < best.error:
                best, enough = found, steps
            if best.error <= _SHARP * abs(best.value) or found.error > 100 * best.error:
                break
        # a divergence is believed at the smallest distances only: farther away any steep slope looks like a jump
        return (found if found.diverges else best), enough

    @_in_range()
    def _moments(
        self, covariance: list[list[float]] | np.ndarray, resolution: int
    ) -> tuple[np.ndarray, np.ndarray, Callable[[], float]]:
        """The moments of the next stream, what their rounding errors are relative to, and what evaluation loses."""
        net = self._net(np.asarray(covariance, dtype=float), resolution)
        u = self._forward(net, net.stream())
        moments, _, sizes = net.measured(u)
        return moments, sizes, lambda: net.evaluation_error(u)

    @_in_range()
    def _ratios(self, K: float, resolution: int, steps: range) -> np.ndarray:
        """(K' - C')/(K - C) for a geometric sequence of K - C."""
        ratios = []
        for step in (K - self._floor) * _NEAR * 4.0 ** -np.array(steps):
            net = self._net(pair(K, K, K - step), resolution, pair(0, 0, 2 * step))
            ratios.append(net.moments(self._forward(net, net.stream()))[1][0, 1] / (2 * step))
        return np.array(ratios)

    def _net(self, covariance: np.ndarray, resolution: int, differences: np.ndarray | None = None) -> LimitNet:
        if self._shared is None:
            return LimitNet(covariance, resolution, differences)
        return LimitBatch(covariance, self._shared, resolution, differences)


# name of a quantity -> (its oracle, the symbols of its arguments)
ORACLES: dict[str, tuple[Callable[..., Found], tuple[sp.Symbol, ...]]] = {
    "phi_squared": (QuadratureOracle.phi_squared, (symbols.K,)),
    "kernel_map": (QuadratureOracle.kernel_map, (symbols.K,)),
    "covariance_map": (QuadratureOracle.covariance_map, (symbols.K1, symbols.K2, symbols.C)),
    "chi_parallel": (QuadratureOracle.chi_parallel, (symbols.K,)),
    "chi_perp": (QuadratureOracle.chi_perp, (symbols.K,)),
    "h": (QuadratureOracle.h, (symbols.K,)),
}


def _rounded(size: float, lost: float) -> float:
    """The rounding error of an average of that size, where evaluation loses so much (relative)."""
    return rounding(size) + (2 * lost * size if lost > _ILL * ORDINARY else 0.0)


def _log_derivative(
    function: Callable[[float], float], K: float, count: int, noise: float, floor: float = 0.0
) -> tuple[float, float]:
    """df/dK by interpolation in log(K - floor), where maps of kernels above it are analytic in a wide strip.

    Args:
        function: of K.
        K: the place.
        count: number of nodes.
        noise: error of the function's values.
        floor: where kernels begin.

    Returns:
        The derivative, and its error: the part that the highest odd term contributes (generous), and the noise. The
        interval shrinks where a function is steep and its noise allows it.
    """
    best = (math.nan, math.inf)
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    room = K - floor
    for spread in _SPREADS:
        values = [function(float(floor + room * np.exp(spread * node))) for node in nodes]
        terms = np.polynomial.chebyshev.chebfit(nodes, values, count - 1)[1::2] * np.arange(1, count, 2)
        terms[1::2] *= -1  # T_k'(0) = k (-1)^((k-1)/2) for odd k
        blurred = _AMPLIFIED * noise / (spread * room)
        value, error = float(terms.sum()) / (spread * room), float(abs(terms[-1])) / (spread * room)
        if error + blurred < best[1]:
            best = value, error + blurred
        if error <= max(_BENT * abs(value), 2 * blurred):
            break
    return best


def _extrapolated(coarse: np.ndarray, fine: np.ndarray, steps: range, scale: float, lost: float) -> Found:
    """The limit of (K' - C')/(K - C), computed at two resolutions, whose steps fall by factors of 4."""
    # A kink adds odd powers of sqrt(K - C), whose values halve from step to step; a jump adds its inverse.
    change = np.diff(fine)
    visible = max(1e-6 * scale, 100 * np.abs(fine - coarse).max())
    if change[-1] > visible and np.all(change[-3:] > 0.95 * change[-4:-1]):
        power = np.log(change[-1] / change[-2]) / np.log(4)
        law = f"(K-C)^-{power:.2f}" if power > _SLOW else "the logarithm of K-C"
        remark = f"(K'-C')/(K-C) grows without bound, like {law}"
        return Found(np.inf, np.inf, scale, remark, diverges=True)
    limits = _neville(fine)
    rounded = _RATIO_ROUNDING * 2.0 ** (steps.stop - _STEPS.stop)  # relative to the distance of the neurons
    rounded *= 1 + lost / ORDINARY if lost > _ILL * ORDINARY else 1.0
    noise = 10 * np.abs(fine - coarse).max() + rounded * abs(limits[-1])
    # the last change alone may be small by chance, or small because the first steps are too far away
    last = abs(limits[-1] - limits[-2]) + 0.1 * abs(limits[-2] - limits[-3]) + abs(limits[-1] - _neville(fine[:-1])[-1])
    return Found(limits[-1], float(last + noise), scale)


def _neville(values: np.ndarray) -> list[float]:
    """Polynomial extrapolations to step 0 from the last 2, 3, ... values at steps that halve."""
    row, limits = values, []
    for order in range(1, len(values)):
        row = row[1:] + np.diff(row) / (2.0**order - 1)
        limits.append(float(row[-1]))
    return limits
