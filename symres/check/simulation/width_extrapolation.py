"""Averages over finite networks of several widths, extrapolated to infinite width with standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...core.errors import DeclarationError
from ...core.scalars import number, whole
from ...results.observable import OracleValue, Sampler

BATCH = 2**17  # neurons at a time: arrays of a few megabytes
_MISFIT = 9  # chi^2 per degree of freedom beyond which a line through four widths is no accident
_FEWEST = 10  # networks that must carry the variance at every width
_WIDEST = 4096  # of the narrowest networks
_NETS = 256  # that are walked at least
_NETS_PER_CONTROL = 12  # at least: fewer would fit their own scatter
TAME = _WIDEST / 10  # fluctuations beyond which no affordable width is wide


@dataclass(frozen=True)
class Budget:
    """How much to simulate.

    Args:
        precision: relative standard error to reach.
        neurons: most neurons per width and layer.
        widths: widths of the networks; chosen from the size of the fluctuations if empty.
    """

    precision: float = 0.003
    neurons: int = 4_000_000
    widths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not number(self.precision, "precision") > 0:
            raise DeclarationError(f"precision {self.precision}", "it is not positive", "pass 0.003, for instance")
        whole(self.neurons, "neurons", 1)
        for width in self.widths:
            whole(width, "width", 1)

    def coarser(self, factor: float, most: int) -> Budget:
        """The same with an error that is larger by a factor, and with no more neurons."""
        return replace(self, precision=factor * self.precision, neurons=min(self.neurons, most))


@dataclass(frozen=True)
class Ladder:
    """The widths at which a kind of networks is walked.

    Args:
        narrowest: width of the pilot run, and the first width unless fluctuations ask for more; the others double.
        rungs: number of widths.
        pilots: number of networks in the pilot run.
        neurons: fewest per width and layer.
        most: the largest number of them, whatever the budget.
        coarseness: n times what is of order 1/n whatever the fluctuations, relative.
        glance: width and number of networks where an order of magnitude is enough.
        ease: times the precision that a budget asks for is enough.
        spread: n times the relative size of corrections of order 1/n, where fluctuations do not tell: those of products
            of fluctuations are large at every width.
    """

    narrowest: int = 128
    rungs: int = 4
    pilots: int = 1024
    neurons: float = 1e5
    most: float = np.inf
    coarseness: float = 0.0
    glance: tuple[int, int] = (512, 2000)
    ease: float = 1.0
    spread: float | None = None


SINGLE = Ladder()


@dataclass(frozen=True)
class Estimate:
    """Values at infinite width.

    Args:
        values, errors: of every observable; the error includes an allowance for 1/n^2, and is infinite where the
            networks fluctuate too much to tell.
        widths: of the networks.
        samples: number of networks, all widths together.
    """

    values: np.ndarray
    errors: np.ndarray
    widths: tuple[int, ...]
    samples: int

    def at(self, number: int, scale: float, remark: str = "") -> OracleValue:
        """One observable as the oracle's number, on a natural scale."""
        return OracleValue(float(self.values[number]), float(self.errors[number]), scale, remark)


class Measured(NamedTuple):
    """One width.

    Args:
        mean, error: of every observable over the networks, and its standard error.
        carriers: number of networks that carry the variance, (sum of squares)^2 / sum of fourth powers: where they are
            few, the tail has not been seen and the standard error is too small.
    """

    mean: np.ndarray
    error: np.ndarray
    carriers: np.ndarray


def extrapolated(
    sampler: Sampler,
    scales: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    budget: Budget,
    report: Callable[[float], None] = lambda share: None,
    ladder: Ladder = SINGLE,
) -> Estimate:
    """Run a sampler at several widths and fit value(n) = a + b/n.

    Args:
        sampler: draws networks of a given width.
        scales: sizes of the observables, given their values; precision is relative to them.
        rng: source of random numbers.
        budget: how much to simulate.
        report: is told the share of the work that is done.
        ladder: widths, where the budget leaves them open.
    """
    fluctuations = pilot(sampler, scales, rng, ladder)
    # 1/n^2 terms are of relative size (fluctuations/n)^2: keep the narrowest network above ten times that
    worst = float(fluctuations.max())
    corrections = fluctuations if ladder.spread is None else np.full_like(fluctuations, ladder.spread)
    base = ladder.narrowest
    while base < min(10 * float(corrections.max()), _WIDEST):
        base *= 2
    widths = budget.widths or tuple(base * 2**k for k in range(ladder.rungs))
    design = np.stack([np.ones(len(widths)), 1 / np.array(widths)], axis=1)
    inflation = np.linalg.inv(design.T @ design)[0, 0] if len(widths) > 1 else 1.0
    wanted, most = worst * inflation / (ladder.ease * budget.precision) ** 2, min(ladder.most, budget.neurons)
    neurons = float(np.clip(wanted, ladder.neurons, most))

    means, spreads, carriers, samples = [], [], [], 0
    for place, n in enumerate(widths):
        nets = max(_NETS, round(neurons / n))

        def told(share: float, place: int = place) -> None:
            report((place + share) / len(widths))

        run = measured(sampler, n, nets, rng, told)
        means.append(run.mean)
        spreads.append(run.error)
        carriers.append(run.carriers)
        samples += nets
    is_tame = np.min(carriers, axis=0) >= _FEWEST
    values, errors, slopes, curvature = _fitted(np.array(widths, dtype=float), np.array(means), np.array(spreads))
    # a term of second order is about the square of those of first order
    first = np.maximum(corrections, ladder.coarseness) / widths[0]
    if ladder.coarseness:  # of which there are as many as averages over a batch: the slope tells
        with np.errstate(all="ignore"):
            first = np.fmax(first, slopes / np.abs(values))
    allowance = curvature * np.abs(values) * np.fmin(1.0, first) ** 2
    rounding = 1e-12 * scales(values)
    errors = np.where(is_tame, np.sqrt(errors**2 + allowance**2 + rounding**2), np.inf)
    return Estimate(values, errors, widths, samples)


def pilot(
    sampler: Sampler, scales: Callable[[np.ndarray], np.ndarray], rng: np.random.Generator, ladder: Ladder = SINGLE
) -> np.ndarray:
    """The relative variance of every observable over networks times n, from a short run; infinite if it overflows."""
    means, errors, _ = measured(sampler, ladder.narrowest, ladder.pilots, rng)
    with np.errstate(all="ignore"):
        fluctuations: np.ndarray = ladder.narrowest * ladder.pilots * (errors / scales(means)) ** 2
    return np.where(np.isfinite(fluctuations), fluctuations, np.inf)


def measured(
    sampler: Sampler, n: int, nets: int, rng: np.random.Generator, report: Callable[[float], None] = lambda share: None
) -> Measured:
    """Means and standard errors at one width, the controls' share of the noise removed.

    Args:
        sampler: draws networks.
        n: width.
        nets: number of networks.
        rng: source of random numbers.
        report: is told the share of the work that is done.
    """
    rows: list[np.ndarray] = []
    controls: list[np.ndarray] = []
    done = 0
    while done < nets:
        size = min(nets - done, max(1, BATCH // n))
        with np.errstate(all="ignore"):
            observed, control = sampler(n, size, rng)
        rows.append(observed)
        controls.append(control)
        done += size
        nets = max(nets, _NETS_PER_CONTROL * control.shape[1])
        report(done / nets)
    y, x = np.concatenate(rows), np.concatenate(controls)
    with np.errstate(all="ignore"):
        if np.all(np.isfinite(y)):
            slopes = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(axis=0), rcond=1e-10)[0]
            y = y - x @ slopes
        error = y.std(axis=0, ddof=1 + x.shape[1]) / np.sqrt(nets)
        squares = (y - y.mean(axis=0)) ** 2
        # what is the same in every network up to rounding has no tail: 0/0, and infinitely many carriers
        squares /= np.where(error > 1e-13 * np.abs(y.mean(axis=0)), squares.max(axis=0), np.inf)
        carriers = squares.sum(axis=0) ** 2 / (squares**2).sum(axis=0)
        return Measured(y.mean(axis=0), error, np.where(np.isnan(carriers), np.inf, carriers))


def _fitted(n: np.ndarray, means: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted least squares of a + b n_0/n for every observable, n_0 the first width.

    Returns:
        a, its standard error (stretched where the line does not fit), ``|b|``, and what a term (n_0/n)^2 does to a.
    """
    if len(n) == 1:
        return means[0], errors[0], np.zeros_like(means[0]), np.ones_like(means[0])
    values, spreads, slopes, curvatures = [], [], [], []
    design = np.stack([np.ones_like(n), n[0] / n], axis=1)
    for mean, error in zip(means.T, errors.T, strict=True):
        floor = 1e-14 * np.abs(mean).max() or 1.0  # what is the same in every network has no scatter
        weight = 1 / np.maximum(error, floor) ** 2
        weight /= weight.max()
        normal = np.linalg.inv(design.T @ (weight[:, None] * design))
        functional = normal[0] @ (design.T * weight)  # a = functional @ mean
        coefficients = normal @ (design.T @ (weight * mean))
        spread = np.sqrt(np.sum((functional * error) ** 2))
        freedom = len(n) - 2
        misfit = np.sum(((mean - design @ coefficients) / np.maximum(error, floor)) ** 2) / max(freedom, 1)
        values.append(coefficients[0])
        spreads.append(spread * np.sqrt(misfit) if misfit > _MISFIT else spread)
        slopes.append(abs(float(coefficients[1])))
        curvatures.append(abs(float(functional @ (n[0] / n) ** 2)))
    return np.array(values), np.array(spreads), np.array(slopes), np.array(curvatures)
