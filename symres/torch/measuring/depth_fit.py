"""How Jacobian norms grow or fall with depth: exponentially or by a power law, and whether that can be told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError
from ...results.annotated_numbers import EstimatedNumber
from .place_signals import PlaceSignals, jackknife_error

# The sign of growth with depth: norms to the output and gradients of a chaotic network fall along the places.
FITTED = {"apjn_forward": 1, "apjn_backward": -1, "gradient_norm": -1}
_LEAST_PLACES = 4
_NEARER = 2.0  # times the contradiction of the other law: a law that is so much farther off is not the one
_FLAT = math.log(2)  # a norm that surely changes by less than this factor over the places is constant
_LEAST_UNITS = 3
_CONFIDENCE = 0.99
_LARGEST_EXPONENT = 2.5  # in size, of critical networks; it tends to 1 for tanh and to 2, from above, for elu
_NO_RATE = float(np.finfo(float).tiny)  # in the place of 0: SciPy wants an interval
_EARLIER = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # layers that a small first kernel acts like


class DepthVerdict(StrEnum):
    """What a fit says about a network."""

    ORDERED = "ordered"
    CRITICAL = "critical"
    CHAOTIC = "chaotic"
    UNDECIDED = "undecided"


class DepthLaw(StrEnum):
    """How a norm depends on depth."""

    EXPONENTIAL = "exponential"
    POWER = "power law"
    CONSTANT = "constant"
    UNDECIDED = "undecided"


@dataclass(frozen=True, repr=False)
class DepthFit(Shown):
    """A norm J over places l = 1, 2, ... as exp(rate*l) and as l^-exponent, and which of the two it can be.

    At criticality J follows a power law, elsewhere it is exponential in depth (Doshi et al. (11), (14)). Both are
    judged by the steps of log J from place to place: each layer multiplies the norm of a finite network by a random
    factor of its own, so that steps scatter independently, but what they add up to does not. A law is contradicted
    where a fit that is free to be either, or a product of both, is better by more than the steps scatter:

    - critical are all laws (l + l0)^-exponent with an exponent of at most 2.5 in size (tanh tends to 1, elu to 2), and
      any l0 >= 0, for a small first kernel acts like earlier layers; a rate of half the variance of a step also counts
      as critical, because by so much the logarithm of a norm drifts in a network of finite width;
    - exponential is a constant step.

    The verdict is ordered or chaotic, by the sign of the rate, where the critical laws are contradicted, whether or not
    the exponential describes everything else (kernels that have not settled, for instance). It is critical where only
    the exponential is contradicted, and where J is constant.

    Args:
        quantity: what was fitted.
        rate: growth of log J from place to place in the direction of the network; its exponential is chi_perp. The
            error of this and of the exponent is the larger one of two: from leaving out one network (or else input, or
            probe) after the other (jackknife), and from the scatter of steps around the fit. The latter is all that one
            network shows of how networks differ, for its inputs share the weights.
        exponent: of the power law l^-exponent over these places, positive where J falls along the network (Doshi et al.
            (11)). It is not the exponent of infinite depth where the law is (l + l0)^-exponent: l0 is not fitted, as
            other exponents make up for it.
        law: the one that is not contradicted if the other one is; exponential if both are, but undecided where the
            power law is much the less contradicted one; or constant, where neither is, the rate does not differ from 0,
            and J surely changes by less than a factor 2.
        against_power: by how many errors all critical laws are contradicted, 0 or more.
        against_exponential: by how many errors the exponential is contradicted, 0 or more.
        threshold: from how many errors on something is contradicted, the quantile of Student's t for 99 percent; nan
            with fewer than three measurements.
        places: number of places that were fitted.
        first: the name of the first of them.
        units: number of independent measurements.
        over: what these are: "networks", "inputs" or "probes".
    """

    quantity: str
    rate: EstimatedNumber
    exponent: EstimatedNumber
    law: DepthLaw
    against_power: float
    against_exponential: float
    threshold: float
    places: int
    first: str
    units: int
    over: str

    @property
    def verdict(self) -> DepthVerdict:
        """Critical for a power law or a constant, ordered or chaotic for an exponential that falls or grows."""
        if self.law is DepthLaw.UNDECIDED:
            return DepthVerdict.UNDECIDED
        if self.law is not DepthLaw.EXPONENTIAL:
            return DepthVerdict.CRITICAL
        return DepthVerdict.CHAOTIC if self.rate > 0 else DepthVerdict.ORDERED

    @property
    def correlation_length(self) -> EstimatedNumber:
        """The number of places over which J grows or falls by a factor e (Doshi et al. (14)), with its error."""
        rate = abs(float(self.rate))
        if rate == 0:
            return EstimatedNumber(math.inf, math.nan)
        return EstimatedNumber(1 / rate, self.rate.error / rate**2)

    def _title(self) -> str:
        return f"{self.quantity}: {self.verdict}"

    def _facts(self) -> list[Fact]:
        length = self.correlation_length
        facts = [
            Fact("law", str(self.law)),
            Fact("rate", f"{_told(self.rate)} for each place: a factor {math.exp(float(self.rate)):.4g}"),
            Fact("correlation length", f"{_told(length)} places"),
            Fact("exponent", self._power()),
            Fact("fitted", f"{self.places} places from {self.first}, {self.units} {self.over}"),
        ]
        if math.isnan(self.threshold):
            return [*facts, Fact("undecided because", f"{self.units} {self.over} give no error estimate; measure more")]
        facts += [Fact("power law", self._judged(self.against_power)),
                  Fact("exponential", self._judged(self.against_exponential))]  # fmt: skip
        return facts + ([Fact("undecided", self._open())] if self.verdict is DepthVerdict.UNDECIDED else [])

    def _power(self) -> str:
        """The power of the place that the norm follows, with its own sign; what the number is not."""
        power = -FITTED[self.quantity] * float(self.exponent)
        error = "" if math.isnan(self.exponent.error) else f" (statistical error {self.exponent.error:.2g})"
        grows = "grows" if power > 0 else "falls"
        said = f"over these places {self.quantity} {grows} like place^{power:.4g}{error}"
        return f"{said}; that need not be the exponent of deep networks, as (place + l0)^e with other e may fit as well"

    def _judged(self, against: float) -> str:
        said, side = ("contradicted", "more") if against > self.threshold else ("not contradicted", "not more")
        return f"{said}: its best fit is {against:.3g} standard errors off, {side} than {self.threshold:.3g}"

    def _open(self) -> str:
        """What an undecided fit leaves open."""
        if abs(float(self.rate)) <= self.threshold * self.rate.error:
            return "the rate does not differ from 0, but its error is too large for a constant"
        phase = "ordered" if self.rate < 0 else "chaotic"
        way = "falls" if self.rate < 0 else "grows"
        return f"J {way}: {phase}, or critical with a power law; more places or networks decide"


def fit_depth(places: Sequence[PlaceSignals], over: str, quantity: str, skip: int | None = None) -> DepthFit:
    """Fit both laws to a measured norm.

    Args:
        places: in the order of execution; they should be equal layers or blocks. Those whose number of entries is not
            the most common one, a readout for instance, are no steps of depth and are left out.
        over: what independent measurements are: "networks", "inputs" or "probes".
        quantity: a name in ``FITTED``.
        skip: places left out at the beginning; None: a quarter of them.

    Raises:
        DeclarationError: fewer than four places have a positive number, or ``skip`` is no such number.
    """
    widths = Counter(place.entries for place in places)
    places = [place for place in places if place.entries == widths.most_common(1)[0][0]]
    left = len(places) // 4 if skip is None else skip
    if isinstance(left, bool) or not isinstance(left, int) or left < 0:
        raise DeclarationError(f"skip={skip!r}", "it is not a whole number of places >= 0", "use 0, 1, 2, ...")
    kept = [
        (position, place)
        for position, place in enumerate(places, 1)
        if position > left and quantity in place.units and _positive(place.units[quantity])
    ]
    if len(kept) < _LEAST_PLACES:
        raise DeclarationError(
            f"a fit of {quantity}",
            f"only {len(kept)} places after the first {left} have a positive value",
            f"observe at least {_LEAST_PLACES}, or leave out fewer with skip=",
        )
    positions = np.array([position for position, _ in kept], dtype=float)
    units = np.stack([place.units[quantity] for _, place in kept], axis=1)
    both = _both_laws(units, positions, FITTED[quantity], over == "networks")
    return DepthFit(
        **both._asdict(),
        quantity=quantity,
        places=len(kept),
        first=kept[0][1].name,
        units=len(units),
        over=over,
    )


def _positive(units: np.ndarray) -> bool:
    if len(units) == 1:
        return bool(0 < units[0] < math.inf)
    return bool(np.all(np.isfinite(units)) and np.all(units >= 0) and np.count_nonzero(units) > 1)


class _BothLaws(NamedTuple):
    """Both laws as fitted, and which of them holds; the fields are those of ``DepthFit``."""

    rate: EstimatedNumber
    exponent: EstimatedNumber
    law: DepthLaw
    against_power: float
    against_exponential: float
    threshold: float


def _both_laws(units: np.ndarray, positions: np.ndarray, sign: int, is_over_networks: bool) -> _BothLaws:
    """Rate, exponent and law of an average, and by how many errors the steps of its logarithm contradict each law.

    The variance of a step is the larger one of two estimates: around the free fit, and over networks. Measurements of
    one network share its weights, and then only the scatter of steps along the places tells how networks differ.

    Args:
        units: positive numbers, shape (independent measurements, places).
        positions: of the places, ascending.
        sign: of growth with depth.
        is_over_networks: whether measurements are of different networks.
    """
    number = len(units)
    logarithms = np.log(units.mean(axis=0))
    steps, spacing = np.diff(logarithms), np.diff(positions)
    free, free_rate = _critical_fit(steps, positions, math.inf)
    freedom = len(steps) - 2
    scatter = free / freedom
    drift = scatter / 2  # a rate that networks of finite width have at criticality: half the variance of their steps
    threshold, without = math.nan, None
    if number >= _LEAST_UNITS:
        without = np.log((units.sum(axis=0) - units) / (number - 1))
        if is_over_networks:
            over_networks = float((number - 1) * np.diff(without, axis=1).var(axis=0).mean())
            scatter, drift = max(scatter, over_networks), number * over_networks / 2
            freedom = max(freedom, number - 1)
        threshold = float(stats.t.ppf((1 + _CONFIDENCE) / 2, freedom))
    step_rate = float(spacing @ steps / (spacing @ spacing))
    exponential = float(np.square(steps - step_rate * spacing).sum())
    critical, _ = _critical_fit(steps, positions, drift)
    against_power, against_exponential = (_excess(misfit, free, scatter) for misfit in (critical, exponential))

    def slope(x: np.ndarray, direction: int) -> EstimatedNumber:
        """That of a straight line through the logarithms."""
        weights = (x - x.mean()) / np.square(x - x.mean()).sum()  # of the logarithms in the slope
        error = math.nan
        if without is not None:
            of_steps = np.cumsum(weights[::-1])[::-1][1:]
            error = max(jackknife_error(without @ weights), math.sqrt(scatter * float(of_steps @ of_steps)))
        return EstimatedNumber(direction * float(logarithms @ weights), error)

    rate, exponent = slope(positions, sign), slope(np.log(positions), -sign)
    law, allowed = DepthLaw.UNDECIDED, threshold * rate.error + drift
    if against_power > threshold:
        is_nearer_to_power = against_exponential > max(threshold, _NEARER * against_power)
        is_one_way = free_rate * step_rate > 0  # alone and beside a power law
        law = DepthLaw.EXPONENTIAL if is_one_way and not is_nearer_to_power else DepthLaw.UNDECIDED
    elif against_exponential > threshold:
        law = DepthLaw.POWER
    elif abs(rate) <= allowed and (abs(rate) + allowed) * (positions[-1] - positions[0]) < _FLAT:
        law = DepthLaw.CONSTANT
    return _BothLaws(rate, exponent, law, against_power, against_exponential, threshold)


def _told(number: EstimatedNumber) -> str:
    return f"{float(number):.4g}" + ("" if math.isnan(number.error) else f" +- {number.error:.2g}")


def _excess(misfit: float, least: float, scatter: float) -> float:
    excess = max(misfit - least, 0.0)
    return math.sqrt(excess / scatter) if scatter > 0 else (math.inf if excess > 0 else 0.0)


def _critical_fit(steps: np.ndarray, positions: np.ndarray, most: float) -> tuple[float, float]:
    """Misfit and rate of the best of the laws exp(rate*l)*(l + l0)^-exponent with at most such a rate.

    Exponents are those that occur.
    """
    bounds = np.array([most or _NO_RATE, _LARGEST_EXPONENT])
    fits = []
    for earlier in _EARLIER:
        columns = np.stack([np.diff(positions), -np.diff(np.log(positions + earlier))], axis=1)
        fit = optimize.lsq_linear(columns, steps, (-bounds, bounds), method="bvls")
        fits.append((2 * float(fit.cost), float(fit.x[0])))
    return min(fits)
