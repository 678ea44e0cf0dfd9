"""What a measurement says in words, place by place, with the theory beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...core.display import Fact
from ...results.annotated_numbers import EstimatedNumber
from .place_signals import PREDICTED, PlaceSignals
from .prediction import Prediction, comparison

_MOST, _ENDS = 24, 10  # places that are all shown; else so many at both ends
_AGREES = 4.0  # errors: the largest of a hundred differences of networks that agree is rarely beyond


def place_facts(places: Sequence[PlaceSignals], theory: Sequence[Prediction | None], start: str) -> list[Fact]:
    """A line for each place, or for the first and the last of many; with a theory what it says, and a summary.

    Args:
        places: in the order of execution.
        theory: one entry for each place, or empty.
        start: where forward Jacobians begin.
    """
    names = {"kernel": "kernel", "apjn_forward": f"J from {start}", "apjn_backward": "J to the output"}
    predictions = theory or [None] * len(places)
    lines = [
        Fact(place.name, "; ".join(_number(place, prediction, name, told) for name, told in names.items()))
        for place, prediction in zip(places, predictions, strict=True)
    ]
    if len(lines) > _MOST:
        between = Fact("...", f"{len(lines) - 2 * _ENDS} more places, all of them in .frame()")
        lines = [*lines[:_ENDS], between, *lines[-_ENDS:]]
    return lines + ([_summary(places, theory)] if theory else [])


def _number(place: PlaceSignals, prediction: Prediction | None, name: str, called: str) -> str:
    found = comparison(place, prediction, name)
    said = f"{called} {number_in_words(place.number(name))}"
    if found is None:
        return said
    z = "" if math.isnan(found.z) else f" (z = {found.z:.2g})"
    return f"{said}, theory {number_in_words(EstimatedNumber(found.expected, found.allowed or math.nan))}{z}"


def _summary(places: Sequence[PlaceSignals], theory: Sequence[Prediction | None]) -> Fact:
    found = {name: [comparison(*pair, name) for pair in zip(places, theory, strict=True)] for name in PREDICTED}
    said = []
    for name, each in found.items():
        known = [one for one in each if one is not None]
        scores = [abs(one.z) for one in known if not math.isnan(one.z)]
        if known:
            largest = f", |z| at most {max(scores):.2g}" if scores else ""
            said.append(f"{name} at {len(known)} of {len(places)} places{largest}")
    return Fact("theory", "; ".join(said) + "; z is the difference in units of both errors" if said else "none")


def agreement(places: Sequence[PlaceSignals], theory: Sequence[Prediction | None]) -> str:
    """Whether a theory predicts what was measured, in a line; empty where it says nothing."""
    scores: dict[str, float] = {}
    for place, prediction in zip(places, theory, strict=bool(theory)):
        found = [comparison(place, prediction, name) for name in PREDICTED]
        each = [abs(one.z) for one in found if one is not None and not math.isnan(one.z)]
        if each:
            scores[place.name] = max(each)
    if not scores:
        return ""
    worst = max(scores, key=lambda name: scores[name])
    if scores[worst] <= _AGREES:
        return f"the theory agrees at {len(scores)} of {len(places)} places: at most {scores[worst]:.2g} errors apart"
    return f"the theory does not predict {worst}: {scores[worst]:.2g} errors apart"


def number_in_words(number: EstimatedNumber) -> str:
    """A number, with its standard error if there is one."""
    return f"{float(number):.4g}" + (f" +- {number.error:.2g}" if number.error > 0 else "")
