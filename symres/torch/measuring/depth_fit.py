"""How Jacobian norms grow or fall with depth: exponentially or by a power law, and whether that can be told."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError
from ...results.numbers.estimates import EstimatedNumber
from .averaging import jackknife_error
from .place_signals import PlaceSignals

# The sign of growth with depth: norms to the output and gradients of a chaotic network fall along the places.
FITTED = {"apjn_forward": 1, "apjn_backward": -1, "gradient_norm": -1}
_LEAST_PLACES, _LEAST_UNITS = 4, 3
_CONFIDENCE = 0.99
_FLAT = math.log(2)  # a norm that surely changes by less than this factor over the places is constant


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


@dataclass(frozen=True)
class DepthFit(Shown):
    """Two laws fitted to a norm J at places l = 1, 2, ...: exp(rate*l) and l^-exponent.

    The errors come from leaving out one network (or else input, or probe) after the other (jackknife), because the
    norms at different places of one network are not independent.

    Args:
        quantity: what was fitted.
        rate: growth of log J from place to place in the direction of the network; its exponential is chi_perp.
        exponent: of the power law, positive where J falls along the network (Doshi et al. (11)).
        law: which of the two describes the numbers better, by more than the difference of their misfits scatters; or
            constant, where neither rate nor exponent differs from 0 and J changes by less than a factor 2.
        verdict: critical for a power law or a constant, ordered or chaotic for an exponential that falls or grows.
        preference: difference of the misfits of exponential and power law in units of its error;
            positive for the power law.
        threshold: how many errors count as a difference, the quantile of Student's t for 99 percent.
        places: number of places that were fitted.
        first: the name of the first of them.
        units: number of independent measurements.
        over: what these are: "networks", "inputs" or "probes".
    """

    quantity: str
    rate: EstimatedNumber
    exponent: EstimatedNumber
    law: DepthLaw
    verdict: DepthVerdict
    preference: float
    threshold: float
    places: int
    first: str
    units: int
    over: str

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
        return [
            Fact("law", str(self.law)),
            Fact("rate", f"{_told(self.rate)} for each place: a factor {math.exp(float(self.rate)):.4g}"),
            Fact("correlation length", f"{_told(length)} places"),
            Fact("exponent", f"{_told(self.exponent)} in J ~ l^-exponent"),
            Fact(
                "preference",
                f"{self.preference:.3g} errors for the {'power law' if self.preference > 0 else 'exponential'}; "
                f"{self.threshold:.3g} decide",
            ),
            Fact("fitted", f"{self.places} places from {self.first}, {self.units} {self.over}"),
        ]


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
        raise DeclarationError(f"skip={skip!r}", "it is no number of places", "use 0, 1, 2, ...")
    kept = [
        (position, place)
        for position, place in enumerate(places, 1)
        if position > left and quantity in place.units and _positive(place.units[quantity])
    ]
    if len(kept) < _LEAST_PLACES:
        raise DeclarationError(
            f"a fit of {quantity}",
            f"{len(kept)} places after the first {left} have a positive number",
            f"observe at least {_LEAST_PLACES}, leave out fewer by skip=",
        )
    positions = np.array([position for position, _ in kept], dtype=float)
    units = np.stack([place.units[quantity] for _, place in kept], axis=1)
    values = _laws(units.mean(axis=0), positions, FITTED[quantity])
    number = len(units)
    if number < _LEAST_UNITS:
        errors, threshold = np.full(3, np.nan), math.nan
    else:
        total = units.sum(axis=0)
        without = np.array([_laws((total - u) / (number - 1), positions, FITTED[quantity]) for u in units])
        errors = np.array([jackknife_error(column) for column in without.T])
        threshold = float(stats.t.ppf((1 + _CONFIDENCE) / 2, number - 1))
    rate, exponent = (EstimatedNumber(float(v), float(e)) for v, e in zip(values[:2], errors[:2], strict=True))
    preference = float(values[2] / errors[2]) if errors[2] > 0 else math.nan
    law = _law(rate, exponent, preference, threshold, float(positions[-1] - positions[0]))
    return DepthFit(
        quantity=quantity,
        rate=rate,
        exponent=exponent,
        law=law,
        verdict=_verdict(law, rate),
        preference=preference,
        threshold=threshold,
        places=len(kept),
        first=kept[0][1].name,
        units=number,
        over=over,
    )


def _positive(units: np.ndarray) -> bool:
    return bool((np.all(np.isfinite(units)) and np.all(units >= 0) and np.count_nonzero(units) > 1) or
                (len(units) == 1 and units[0] > 0 and np.isfinite(units[0])))  # fmt: skip


def _laws(numbers: np.ndarray, positions: np.ndarray, sign: int) -> tuple[float, float, float]:
    """Rate, exponent, and the misfit of the exponential less that of the power law.

    Misfits are those of the steps from place to place: each layer multiplies the norm of a finite network by a random
    factor of its own, so that steps scatter independently, but what they add up to does not.
    """
    logs = np.log(numbers)
    rate, power = (float(np.polyfit(x, logs, 1)[0]) for x in (positions, np.log(positions)))
    steps, misfits = np.diff(logs), []
    for x in (np.diff(positions), np.diff(np.log(positions))):
        misfits.append(float(np.square(steps - x * (x @ steps) / (x @ x)).sum()))
    return sign * rate, -sign * power, misfits[0] - misfits[1]


def _law(
    rate: EstimatedNumber, exponent: EstimatedNumber, preference: float, threshold: float, span: float
) -> DepthLaw:
    if math.isnan(threshold):
        return DepthLaw.UNDECIDED
    if all(abs(float(number)) <= threshold * number.error for number in (rate, exponent)):
        surely = (abs(float(rate)) + threshold * rate.error) * span < _FLAT
        return DepthLaw.CONSTANT if surely else DepthLaw.UNDECIDED
    if math.isnan(preference) or abs(preference) < threshold:
        return DepthLaw.UNDECIDED
    return DepthLaw.POWER if preference > 0 else DepthLaw.EXPONENTIAL


def _verdict(law: DepthLaw, rate: EstimatedNumber) -> DepthVerdict:
    if law is DepthLaw.UNDECIDED:
        return DepthVerdict.UNDECIDED
    if law is DepthLaw.EXPONENTIAL:
        return DepthVerdict.CHAOTIC if rate > 0 else DepthVerdict.ORDERED
    return DepthVerdict.CRITICAL


def _told(number: EstimatedNumber) -> str:
    return f"{float(number):.4g}" + ("" if math.isnan(number.error) else f" +- {number.error:.2g}")
