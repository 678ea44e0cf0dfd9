"""The oracle of quadrature: every map of a layer from its forward equation at infinite width.

Only two moments are integrals, K' = <z'^2> and C' = <z'_1 z'_2>. The rest are their definitions, taken literally:
derivatives are numerical derivatives, the perpendicular susceptibility is a limit, <phi^2> is the K' of a layer that is
the declared activation alone, and the tangent kernel is what C' loses when two networks with the same weights part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import sympy as sp
from scipy.stats import sem

from ...activations.atom import Phi
from ...core import symbols
from ...core.errors import SymresError, UnsupportedLayer
from ...results.observable import OracleValue
from ..formulas.rounding_noise import ORDINARY
from ..nets.forward_walk import Forward
from ..nets.gram_net import pair
from ..nets.limit_batch import CoupledBatch, LimitBatch
from ..nets.limit_net import CoupledNet, LimitNet
from ..nets.limit_tokens import SETS, LimitTokens
from ..nets.random_field import OracleLimit
from ..nets.source_law import Rules, unplanned
from ..rules.adaptive_panels import rounding
from ..sampling.random_points import Values

_SPREADS = (0.2, 0.07)  # half widths, in log K, of the interval on which a map is interpolated
_AMPLIFIED = 12.0  # times its errors, over the half width, is the error of the derivative
_BENT = 1e-5  # relative error of interpolation that a narrower interval may improve
_ILL = 10  # times an ordinary evaluation error is what the rules do not account for
_RATIO_ROUNDING = 1e-12  # of (K'-C')/(K-C)
_NEAR = 2.0**-10  # largest (K - C)/K in the limit C -> K
_STEPS = range(7)  # powers of 1/4 in K - C
_LAST_STEP = 20  # neurons 10^-7 deviations apart: nearer ones lose the digits of a difference
_PART = 2.0**-8  # largest fall of the correlation of two networks
_NEARBY = 2.0**-6  # largest relative distance of inputs whose second order is sought
_SLOW = 0.005  # power of a growth that is none
_SHARP = 1e-8  # relative error of the limit that needs no more steps


@contextmanager
def _in_range() -> Iterator[None]:
    """Numbers that leave the range of doubles end the comparison: what follows from them is no evidence."""
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        try:
            yield
        except FloatingPointError as error:
            found = f"its numbers leave the range ({error})"
            raise OracleLimit("quadrature in double precision", found, "use smaller parameters") from None


class QuadratureOracle:
    """Maps of one layer at one setting of its parameters.

    Args:
        forward: the layer's forward equation.
        values: exact numbers for its symbols.
        shared: where the inputs are a batch, or positions, the covariance of any two of them; every derivative is
            taken at it.
        positions: their number, maybe infinite; None if inputs have none.
    """

    def __init__(
        self, forward: sp.Expr, values: Values, shared: float | None = None, positions: float | None = None
    ) -> None:
        self._equation, self._values = forward, values
        self._forward = Forward(forward, values)
        self._shared, self._positions = shared, positions
        panels = unplanned()
        sets = SETS if positions is not None else 1
        self._rules = Rules(0, panels), *(Rules(1, panels, number) for number in range(sets))
        self._floor = shared or 0.0  # kernels begin here

    def phi_squared(self, K: float) -> OracleValue:
        """<phi(z)^2> of the layer's activation."""
        activations = {Phi(phi.formula, symbols.z, 0, *phi.args[3:]) for phi in self._equation.atoms(Phi)}
        if len(activations) != 1:
            raise UnsupportedLayer(
                "<phi(z)^2>", f"the layer has {len(activations)} activations", "check an average of one"
            )
        return QuadratureOracle(activations.pop(), self._values).kernel_map(K)

    def kernel_map(self, K: float) -> OracleValue:
        """K' = <z'^2>."""
        return self._kernel(K)[0]

    def _kernel(self, K: float) -> tuple[OracleValue, float]:
        """K', and the relative error of the functions' own evaluation."""
        return self._moment([[K]], 0)

    def covariance_map(self, K1: float, K2: float, C: float) -> OracleValue:
        """C' = <z'_1 z'_2>; the net of a batch adds the second input by itself."""
        return self._moment(pair(K1, K2, C) if self._shared is None else [[K1]], 1)[0]

    def _moment(self, inputs: list[list[float]] | np.ndarray, other: int) -> tuple[OracleValue, float]:
        """<z'_1 z'_b> of the first input and another one, or itself, and what evaluation of the functions loses."""
        (coarse, _, _), (fine, sizes, noise) = (self._moments(inputs, resolution) for resolution in (0, 1))
        value, lost = float(fine[0, other]), noise()
        size = float(sizes[0, other])
        error = abs(value - float(coarse[0, other])) + rounding(size)
        if self._positions is not None:
            value, scatter = self._sampled(lambda rules: float(self._moments(inputs, rules)[0][0, other]))
            error += scatter
        error += 2 * lost * size if lost > _ILL * ORDINARY else 0.0  # an ordinary loss is part of the rounding
        # the product of both kernels may be too large
        scale = float(np.sqrt(fine[0, 0]) * np.sqrt(fine[other, other])) if other else abs(value)
        return OracleValue(value, error, scale), lost

    def chi_parallel(self, K: float) -> OracleValue:
        """dK'/dK."""
        centre = self.kernel_map(K)

        def slope(rules: int, noise: float) -> tuple[float, float]:
            return _log_derivative(lambda k: self._moments([[k]], rules)[0][0, 0], K, 11, noise, self._floor)

        if self._positions is None:
            return OracleValue(*slope(1, centre.error), centre.scale / K)
        noise = rounding(centre.value)  # each set of points is that of a smooth function
        value, scatter = self._sampled(lambda rules: slope(rules, noise)[0])
        return OracleValue(value, slope(1, noise)[1] + scatter, centre.scale / K)

    def _sampled(self, number: Callable[[int], float]) -> tuple[float, float]:
        """A number for some rules: the average over all sets of points, and twice its standard error."""
        values = [number(1), number(2)]
        if values[0] == values[1]:  # nothing is sampled
            return values[0], 0.0
        values += [number(rules) for rules in range(3, len(self._rules))]
        return float(np.mean(values)), float(2 * sem(values))

    def slope(self, measure: Callable[[float], OracleValue], K: float) -> OracleValue:
        """The derivative of what is measured at one kernel, by interpolation in log K."""
        centre = measure(K)
        value, error = _log_derivative(lambda k: measure(k).value, K, 11, centre.error, self._floor)
        return OracleValue(value, error, centre.scale / K)

    def chi_perp(self, K: float) -> OracleValue:
        """The limit of (K' - C')/(K - C) for two inputs of equal kernel K as C -> K."""
        return self._perpendicular(K)[0]

    def h(self, K: float) -> OracleValue:
        """(1/2) d chi_perp/dK."""
        centre, steps = self._perpendicular(K)
        if not np.isfinite(centre.value):
            return OracleValue(np.nan, 0.0, centre.scale / K, "chi_perp is infinite at every K")
        value, error = _log_derivative(
            lambda k: _neville(self._ratios(k, 1, steps)[:, 0])[-1], K, 9, centre.error, self._floor
        )
        return OracleValue(value / 2, error / 2, max(abs(centre.value), centre.scale) / K)

    def chi_delta(self, K: float) -> OracleValue:
        """The second order of nearby inputs, (K'_1 + K'_2 - 2C')/4 = chi_perp ddK + (chi_delta/2) dK^2 + ...

        Here dK is half the difference of their kernels and ddK a quarter of their squared distance.
        """
        if self._shared is not None:
            raise OracleLimit("the second order of nearby inputs", "nearby inputs are special in a batch", "skip it")
        perp, lost = self.chi_perp(K), self._kernel(K)[1]
        if not np.isfinite(perp.value):
            return OracleValue(np.nan, 0.0, perp.scale / K, "chi_perp is infinite at every K")
        both, _ = _limit(lambda resolution, steps: self._nearby(K, resolution, steps), perp.scale, lost)
        size = max(abs(perp.value), perp.scale) / K
        return OracleValue((both.value - perp.value) / K, (both.error + perp.error) / K, size)

    def ntk_map(self, K1: float, K2: float, C: float, Theta: float) -> OracleValue:
        """The slope of C' in the correlation of all weights and biases of two networks, where it is 1.

        One input goes through each network. The covariance C of their streams falls Theta times as fast.
        """
        (first, lost), (second, _) = (self._kernel(K) for K in (K1, K2))
        inputs, scale = pair(K1, K2, C), math.sqrt(first.value) * math.sqrt(second.value)
        return _limit(lambda resolution, steps: self._falls(inputs, Theta, resolution, steps), scale, lost)[0]

    def _perpendicular(self, K: float) -> tuple[OracleValue, range]:
        """chi_perp, and the steps that were enough for it."""
        centre, lost = self._kernel(K)
        return _limit(lambda resolution, steps: self._ratios(K, resolution, steps), centre.scale / K, lost)

    @_in_range()
    def _moments(
        self, covariance: list[list[float]] | np.ndarray, resolution: int
    ) -> tuple[np.ndarray, np.ndarray, Callable[[], float]]:
        """The moments of the next stream, what their rounding errors are relative to, and what evaluation loses."""
        net = self._net(np.asarray(covariance, dtype=float), resolution)
        u = self._forward(net, net.stream())
        moments, _, sizes = net.moments(u)
        return moments, sizes, lambda: net.evaluation_error(u)

    @_in_range()
    def _ratios(self, K: float, resolution: int, steps: range) -> np.ndarray:
        """(K' - C')/(K - C) for a geometric sequence of K - C, and the rounding errors of differences."""
        ratios = []
        for step in (K - self._floor) * _NEAR * 4.0 ** -np.array(steps):
            ratios.append(self._apart(self._net(pair(K, K, K - step), resolution, pair(0, 0, 2 * step))) / (2 * step))
        return np.array(ratios)

    @_in_range()
    def _nearby(self, K: float, resolution: int, steps: range) -> np.ndarray:
        """<(z'_1 - z'_2)^2>/<(z_1 - z_2)^2> for a geometric sequence of e: dK = 2 e K and ddK = 2 e^2 K."""
        ratios = []
        for e in _NEARBY * 2.0 ** -np.array(steps):
            middle, apart = (1 + 2 * e**2) * K, 8 * e**2 * K
            inputs = pair(middle + 2 * e * K, middle - 2 * e * K, (1 - 2 * e**2) * K)
            ratios.append(self._apart(LimitNet(inputs, self._rules[resolution], pair(0, 0, apart))) / apart)
        return np.array(ratios)

    def _falls(self, inputs: np.ndarray, Theta: float, resolution: int, steps: range) -> np.ndarray:
        """By how much C' falls, over the fall of the correlation, for a sequence of falls, and rounding errors."""
        before, ratios = self._parted(inputs, Theta, resolution, 0.0), []
        for fall in _PART * 4.0 ** -np.array(steps):
            after = self._parted(inputs, Theta, resolution, fall)
            ratios.append([(after[0] - before[0]) / (2 * fall), after[1] / (2 * fall) + rounding(before[0]) / fall])
        return np.array(ratios)

    @_in_range()
    def _parted(self, inputs: np.ndarray, Theta: float, resolution: int, fall: float) -> np.ndarray:
        """<(z'_1 - z'_2)^2> for the inputs of two networks whose correlation has fallen, and its rounding error."""
        lost, same, rules = fall * Theta, bool(np.ptp(inputs) == 0), self._rules[resolution]
        if fall == 0 and same:
            return np.zeros(2)
        if self._shared is not None:
            return self._apart(CoupledBatch(inputs[0, 0], self._shared, lost, fall, rules, same), -1)
        start = np.diag(inputs)[:, None] + np.diag(inputs) - 2 * inputs
        other = lost * (1 - np.eye(2))
        return self._apart(CoupledNet(inputs - other, fall, rules, start + 2 * other))

    def _apart(self, net: LimitNet, other: int = 1) -> np.ndarray:
        """<(z'_1 - z'_2)^2> for the first input and another, and its rounding error where it is a difference."""
        value = float(net.moments(self._forward(net, net.stream()))[1][0, other])
        return np.array([value, net.subtracted])

    def _net(self, covariance: np.ndarray, resolution: int, differences: np.ndarray | None = None) -> LimitNet:
        if self._shared is None:
            return LimitNet(covariance, self._rules[resolution], differences)
        if self._positions is not None:
            return LimitTokens(covariance[0][0], self._shared, self._positions, self._rules[resolution])
        return LimitBatch(covariance, self._shared, self._rules[resolution], differences)


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


def _limit(ratios: Callable[[int, range], np.ndarray], scale: float, lost: float) -> tuple[OracleValue, range]:
    """The limit of ratios of differences, and the steps that were enough: more of them where an activation is steep.

    Ratios come with their rounding errors where they are of differences of large numbers, shape (steps, 2); they
    are expanded in powers of what halves from step to step. ``lost`` is the relative error of the functions' own
    evaluation.
    """
    best = limit = OracleValue(np.inf, np.inf, scale)
    enough, coarse, fine = _STEPS, np.empty((0, 2)), np.empty((0, 2))
    for last in range(_STEPS.stop, _LAST_STEP, 4):
        new, steps = range(len(fine), last), range(last - len(_STEPS), last)
        try:
            added = [ratios(resolution, new) for resolution in (0, 1)]
        except SymresError:
            if math.isinf(best.error):
                raise
            break
        coarse, fine = np.concatenate([coarse, added[0]]), np.concatenate([fine, added[1]])
        limit = _extrapolated(coarse[steps, 0], fine[steps, 0], steps, scale, lost)
        limit = replace(limit, error=limit.error + float(fine[steps, 1].max()))
        if limit.error < best.error:
            best, enough = limit, steps
        if best.error <= _SHARP * abs(best.value) or limit.error > 100 * best.error:
            break
    # a divergence is believed at the smallest distances only: farther away any steep slope looks like a jump
    return (limit if limit.diverges else best), enough


def _extrapolated(coarse: np.ndarray, fine: np.ndarray, steps: range, scale: float, lost: float) -> OracleValue:
    """The limit of (K' - C')/(K - C), or of other ratios, at two resolutions, whose steps fall by factors of 4."""
    # A kink adds odd powers of sqrt(K - C), whose values halve from step to step; a jump adds its inverse.
    change = np.diff(fine)
    visible = max(1e-6 * scale, 100 * np.abs(fine - coarse).max())
    if change[-1] > visible and np.all(change[-3:] > 0.95 * change[-4:-1]):
        power = np.log(change[-1] / change[-2]) / np.log(4)
        law = f"(K-C)^-{power:.2f}" if power > _SLOW else "the logarithm of K-C"
        remark = f"(K'-C')/(K-C) grows without bound, like {law}"
        return OracleValue(np.inf, np.inf, scale, remark, diverges=True)
    limits = _neville(fine)
    rounded = _RATIO_ROUNDING * 2.0 ** (steps.stop - _STEPS.stop)  # relative to the distance of the neurons
    rounded *= 1 + lost / ORDINARY if lost > _ILL * ORDINARY else 1.0
    noise = 10 * np.abs(fine - coarse).max() + rounded * abs(limits[-1])
    # the last change alone may be small by chance, or small because the first steps are too far away
    last = abs(limits[-1] - limits[-2]) + 0.1 * abs(limits[-2] - limits[-3]) + abs(limits[-1] - _neville(fine[:-1])[-1])
    return OracleValue(limits[-1], float(last + noise), scale)


def _neville(values: np.ndarray) -> list[float]:
    """Polynomial extrapolations to step 0 from the last 2, 3, ... values at steps that halve."""
    row, limits = values, []
    for order in range(1, len(values)):
        row = row[1:] + np.diff(row) / (2.0**order - 1)
        limits.append(float(row[-1]))
    return limits
