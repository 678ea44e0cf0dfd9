"""Verdicts: an oracle's number, the smallest error that it would have seen, and the outcome."""

from __future__ import annotations

import math
import sys
import textwrap
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypedDict, Unpack

import mpmath as mp

from ..core.display import Fact, Shown, folded, heading, preformatted
from ..core.errors import CheckRefuted
from .observable import OracleValue

Number: TypeAlias = float | mp.mpf
Remarks: TypeAlias = tuple[str, ...]  # parts of one line for the reader, the cause first

WIDTH = 80
_NAME = 15  # columns of a name; a longer one has a line of its own
_COLUMN = 13  # of a number
_LEGEND = (
    "z: claimed minus found, in units of the oracle's error",
    "sees: the smallest relative error of the claim that would have been noticed",
)


class Outcome(Enum):
    """PASSED and REFUTED are statements; INCONCLUSIVE says that the oracle could not tell, and counts as neither."""

    PASSED = "PASSED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Thresholds:
    """Where the three outcomes begin, in units of the oracle's error."""

    agree: float  # at most this far away is agreement
    disagree: float  # further away than this is a contradiction; between the two nothing is said
    visible: float  # the relative error that an oracle must be able to see before its agreement counts
    margin: float  # an error of ``margin`` times the oracle's error is seen (almost) every time


# The error of a quadrature is an estimate of its order of magnitude, hence the wide gap between yes and no.
# A standard error has a law: with some ten rows a report, |z| > 5 happens by chance once in 10**5 reports, and
# an error of 7 standard errors is refuted with probability 0.98.
QUADRATURE = Thresholds(agree=5, disagree=20, visible=0.01, margin=25)
SIMULATION = Thresholds(agree=4, disagree=5, visible=0.05, margin=7)
VERTICES = Thresholds(agree=4, disagree=5, visible=0.25, margin=7)  # simulated: averages of products scatter more


@dataclass(frozen=True)
class Verdict:
    """One comparison of a derived number with an oracle.

    Args:
        quantity: name of the derived quantity.
        oracle: "quadrature" or "simulation".
        point: the arguments at which the two were compared, as text.
        claimed: the number that was derived.
        value: the oracle's number.
        error: standard error (simulation) or estimated error (quadrature) of the oracle, absolute; a number of mpmath
            where it may be smaller than any float.
        z: (claimed - value) / error.
        detectable: the smallest error that this comparison would have refuted, relative to the claim; relative to
            a scale that ``remarks`` name where the claim is 0.
        outcome: PASSED, REFUTED or INCONCLUSIVE.
        remarks: why the outcome is not PASSED, then details and remedies; or on which scale it was judged.
        seed: seed of the random numbers.
        widths: widths of the simulated networks.
        samples: number of simulated networks.
    """

    quantity: str
    oracle: str
    point: str
    claimed: Number
    value: Number
    error: Number
    z: float
    detectable: float
    outcome: Outcome
    remarks: Remarks = ()
    seed: int | None = None
    widths: tuple[int, ...] = ()
    samples: int = 0

    @property
    def reason(self) -> str:
        """The remarks as one line."""
        return "; ".join(self.remarks)

    @property
    def found(self) -> Number:
        """The oracle's number to the first digit of its error; what lies below is chance, or the processor's.

        Examples:
            >>> report = sr.check(sr.expect("z^6"), against="quadrature", points=1, progress=False)
            >>> verdict = report.verdicts[0]
            >>> float(verdict.found/verdict.claimed)
            1.0
        """
        if not (mp.isfinite(self.error) and self.error > 0 and mp.isfinite(self.value)):
            return self.value
        decade = mp.mpf(10) ** int(mp.floor(mp.log10(self.error)))
        return mp.nint(self.value / decade) * decade


class Run(TypedDict, total=False):
    """How the numbers of an oracle were made: the last three arguments of ``Verdict``."""

    seed: int | None
    widths: tuple[int, ...]
    samples: int


def judge(
    quantity: str,
    oracle: str,
    point: str,
    claimed: Number,
    value: Number,
    error: Number,
    thresholds: Thresholds,
    *,
    scale: Number = 0.0,
    remarks: Remarks = (),
    **run: Unpack[Run],
) -> Verdict:
    """Compare two finite numbers.

    Args:
        quantity: its name.
        oracle: the oracle's name.
        point: the arguments, as text.
        claimed: the number that was derived.
        value: the oracle's number.
        error: of the oracle.
        thresholds: of the oracle.
        scale: natural size of the quantity. A claim that is exactly 0 has no relative error: its error is judged
            relative to ``scale``. Every other claim is judged relative to itself, however small: on another scale
            any small enough claim would pass.
        remarks: for the reader of the row.
        run: seed of the random numbers, widths and number of the networks.
    """
    missing = ""
    if not (mp.isfinite(claimed) and mp.isfinite(value) and mp.isfinite(error)):
        missing = f"not finite: {_number(claimed)} against {_number(value)} +- {_error(error)}"
    elif error <= 0:
        missing = "the oracle's average is 0, or below the range of floating-point numbers, and has no error estimate"
    if missing:
        return inconclusive(quantity, oracle, point, remarks or (missing,), claimed=claimed, value=value, **run)
    z = float((claimed - value) / error)
    size = abs(mp.mpf(claimed or scale))  # may be smaller than any float
    detectable = float(thresholds.margin * error / size) if size else math.inf
    if not claimed and scale:
        remarks = (*remarks, f"the claim is 0: judged on the scale {mp.nstr(mp.mpf(scale), 2)}")
    if abs(z) > thresholds.disagree:
        outcome = Outcome.REFUTED
    elif abs(z) > thresholds.agree:
        outcome = Outcome.INCONCLUSIVE
        remarks = (f"{abs(z):.1f} errors apart: too far to agree, too close to contradict",)
    elif detectable > thresholds.visible:
        outcome = Outcome.INCONCLUSIVE
        remarks = _unseen(detectable, thresholds.visible, claimed)
    else:
        outcome = Outcome.PASSED
    return Verdict(quantity, oracle, point, claimed, value, error, z, detectable, outcome, remarks, **run)


def _unseen(detectable: float, visible: float, claimed: Number) -> Remarks:
    """Which errors of a claim would not have been seen."""
    blind = math.isinf(detectable)
    remarks = ["every error would go unnoticed" if blind else f"an error of {visible:.0%} would go unnoticed"]
    if claimed and not blind:
        remarks.append(f"the smallest noticeable error is {detectable:.2g} of the claim")
    if claimed and abs(mp.mpf(claimed)) < sys.float_info.min:
        remarks.append("the claim is below the range of floating-point numbers")
    return tuple(remarks)


def inconclusive(
    quantity: str,
    oracle: str,
    point: str,
    remarks: Remarks,
    *,
    claimed: Number = math.nan,
    value: Number = math.nan,
    **run: Unpack[Run],
) -> Verdict:
    """A row that says why nothing can be said."""
    outcome = Outcome.INCONCLUSIVE
    return Verdict(quantity, oracle, point, claimed, value, math.nan, math.nan, math.inf, outcome, remarks, **run)


def contradicted(
    quantity: str, oracle: str, point: str, cause: str, claimed: Number, found: OracleValue, **run: Unpack[Run]
) -> Verdict:
    """A claim that is impossible whatever the oracle finds: it contradicts itself or another claim."""
    return Verdict(
        quantity, oracle, point, claimed, found.value, found.error, math.nan, math.inf, Outcome.REFUTED, (cause,), **run
    )


@dataclass(frozen=True, repr=False)
class CheckReport(Shown):
    """The verdicts of a check.

    Args:
        verdicts: one for each quantity, oracle and point.

    Examples:
        >>> report = sr.check(sr.expect("z^2*abs(z)"), against="quadrature", points=1, progress=False)
        >>> str(report.outcome), len(report.verdicts)
        ('PASSED', 1)
    """

    verdicts: tuple[Verdict, ...]

    @property
    def outcome(self) -> Outcome:
        """REFUTED if any row is; PASSED only if there are rows and every one passed.

        Examples:
            >>> str(sr.check("linear", against="quadrature", points=1, progress=False).outcome)
            'PASSED'
        """
        outcomes = {verdict.outcome for verdict in self.verdicts}
        if Outcome.REFUTED in outcomes:
            return Outcome.REFUTED
        return Outcome.PASSED if outcomes == {Outcome.PASSED} else Outcome.INCONCLUSIVE

    def _title(self) -> str:
        return f"check: {self.outcome}"

    @property
    def _count(self) -> dict[Outcome, int]:
        return {outcome: sum(v.outcome is outcome for v in self.verdicts) for outcome in Outcome}

    @property
    def _counts(self) -> str:
        return ", ".join(f"{number} {str(outcome).lower()}" for outcome, number in self._count.items())

    def _facts(self) -> list[Fact]:
        """How many comparisons had each outcome."""
        return [Fact(str(o), str(number), rf"\mathrm{{{o}}}: {number}") for o, number in self._count.items()]

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """The counts; the rows are unfolded where one of them needs to be read."""
        rows = folded("all comparisons", preformatted(self.table()), self.outcome is not Outcome.PASSED)
        return f"{heading(f'{self._title()} ({self._counts})')}{rows}"

    def table(self) -> str:
        """Plain text in 80 columns: one row a verdict, under it the point and, if there is one, the reason.

        Examples:
            >>> report = sr.check(sr.expect("erf(z)^2"), against="quadrature", points=1, progress=False)
            >>> print(report.table().splitlines()[-1])
            PASSED: 1 passed, 0 refuted, 0 inconclusive
        """
        head = f"{'quantity':<{_NAME}}{'oracle':<11}{'claimed':>13}{'found':>13}{'z':>7}{'sees':>7} verdict"
        lines = [head, "-" * WIDTH]
        for verdict in self.verdicts:
            lines.extend(_rows(verdict))
        lines.append("-" * WIDTH)
        lines.extend(_LEGEND)
        lines.append(f"{self.outcome}: {self._counts}")
        return "\n".join(lines)

    def raise_if_refuted(self) -> None:
        """Raise :class:`CheckRefuted` for the first refuted row; INCONCLUSIVE rows do not raise.

        Examples:
            >>> sr.check(sr.expect("erf(z)^2"), against="quadrature", points=1, progress=False).raise_if_refuted()
        """
        for verdict in self.verdicts:
            if verdict.outcome is Outcome.REFUTED:
                found = f"claimed {_number(verdict.claimed)}, {verdict.oracle} finds {_number(verdict.value)}"
                found += f" +- {_error(verdict.error)}" if mp.isfinite(verdict.error) else ""
                raise CheckRefuted(
                    f"{verdict.quantity} at {verdict.point}",
                    verdict.reason if math.isnan(verdict.z) else found,
                    "do not use this result; report it as a defect of symres",
                )


def _rows(verdict: Verdict) -> list[str]:
    size = abs(verdict.z)
    z = "" if math.isnan(size) else f"{verdict.z:.{1 if size < 100 else 0}{'f' if size < 1e5 else 'e'}}"
    sees = "" if math.isinf(verdict.detectable) else f"{verdict.detectable:.0e}"
    name, long = (verdict.quantity, []) if len(verdict.quantity) < _NAME else ("", [verdict.quantity])
    lines = [
        *long,
        f"{name:<{_NAME}}{verdict.oracle:<11}{_number(verdict.claimed):>13}{_number(verdict.found):>13}"
        f"{z:>7}{sees:>7} {verdict.outcome}",
    ]
    notes = [verdict.point]
    if verdict.samples:
        notes.append(f"{verdict.samples} nets of width {', '.join(map(str, verdict.widths))}")
    if verdict.reason:
        notes.append(verdict.reason)
    for note in filter(None, notes):
        lines.extend(textwrap.wrap(note, WIDTH, initial_indent="    ", subsequent_indent="    "))
    return lines


def _number(value: Number) -> str:
    if mp.isnan(value):
        return "-"
    texts = (mp.nstr(mp.mpf(value), digits) for digits in (6, 5, 4, 3))
    return next((text for text in texts if len(text) < _COLUMN), mp.nstr(mp.mpf(value), 2))


def _error(value: Number) -> str:
    return f"{float(value):.1e}" if float(value) else mp.nstr(mp.mpf(value), 2)
