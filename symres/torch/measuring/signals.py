"""The result of a measurement: what was found at each place, as a table, a figure, text and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import TYPE_CHECKING

from ...core.display import Fact, Plain, Shown, plain
from ...core.errors import DeclarationError
from ...core.words import counted
from ...results.annotated_numbers import EstimatedNumber, data_frame
from .depth_fit import FITTED, DepthFit, DepthVerdict, fit_depth
from .place_signals import MEASURED, PREDICTED, PlaceComparison, PlaceSignals, Prediction, comparisons

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_FIRST = (
    *("kernel", "kernel_error", "mean", "cosine", "apjn_forward", "apjn_forward_error"),
    *("apjn_backward", "apjn_backward_error"),
)
_MOST, _ENDS = 24, 10  # places that are all shown; else so many at both ends
_AGREES = 4.0  # errors: the largest of a hundred differences of networks that agree is rarely beyond


@dataclass(frozen=True, repr=False)
class Measurement(Shown):
    """Kernels and Jacobian norms of a model, place by place in the order of execution.

    Args:
        places: what was found.
        start: where forward Jacobians begin: "input", or the name of a place.
        networks: how many networks were averaged.
        inputs: how many inputs.
        probes: how many random directions for each Jacobian norm.
        forward_method: how the forward norms were found.
        backward_method: how the backward norms were found.
        mode: "train", "eval", or "as it is".
        dtype: of the input to the model's computation, such as "float32".
        device: such as "cpu".
        errors_over: what standard errors are taken over: "networks", "inputs" or "probes".
        output_entries: N_L, the number of entries of the output of one input; None where it has none.
        peak_bytes: memory that the measurement took at its peak; None where it is not known.
        notes: what should be known when the numbers are read; each of them has also been a warning.
        theory: what it is compared with, one entry for each place; empty without a theory.

    Examples:
        A layer that doubles its inputs:

        >>> layer = torch.nn.Linear(4, 4, bias=False)
        >>> layer.weight.data = 2*torch.eye(4)
        >>> measured = st.measure(torch.nn.Sequential(layer), torch.ones(3, 4), progress=False)
        >>> measured.frame()[["place", "kernel", "apjn_forward"]].values.tolist()
        [['0', 4.0, 4.0]]
    """

    places: tuple[PlaceSignals, ...]
    start: str
    networks: int
    inputs: int
    probes: int
    forward_method: str
    backward_method: str
    mode: str
    dtype: str
    device: str
    errors_over: str
    output_entries: int | None
    peak_bytes: int | None
    notes: tuple[str, ...] = ()
    theory: tuple[Prediction | None, ...] = ()

    def __getitem__(self, name: str) -> PlaceSignals:
        for place in self.places:
            if place.name == name:
                return place
        raise KeyError(name)

    def rows(self) -> list[dict[str, str | float]]:
        """The table, a dictionary for each place: its name, and numbers by the names of columns.

        Examples:
            >>> layer = torch.nn.Linear(8, 8, bias=False)
            >>> layer.weight.data = 2*torch.eye(8)
            >>> measured = st.measure(torch.nn.Sequential(layer, layer), torch.ones(3, 8), modules="*", progress=False)
            >>> [row["kernel"] for row in measured.rows()]
            [4.0, 16.0]
        """
        compared = self._comparisons
        predicted = [name for name in PREDICTED if any(name in of_place for of_place in compared)]
        return [
            _row(place, {name: of_place.get(name, PlaceComparison()) for name in predicted})
            for place, of_place in zip(self.places, compared, strict=True)
        ]

    @property
    def _comparisons(self) -> list[dict[str, PlaceComparison]]:
        """What the theory says about the numbers of each place."""
        return [comparisons(*pair) for pair in zip_longest(self.places, self.theory)]

    def frame(self) -> pd.DataFrame:
        """The table as a pandas DataFrame, a row for each place.

        Returns:
            Columns place, kernel, kernel_error, mean, cosine, apjn_forward, apjn_forward_error, apjn_backward,
            apjn_backward_error, then further errors, covariance, token_cosine, gradient_norm, adam_change, entries (N),
            axes; with a theory also kernel_theory, kernel_theory_error, kernel_z and so on, of each number that it
            predicts at some place. ``_error`` is a standard error, ``_theory_error`` how far the theory may be off,
            ``_z`` a difference from theory in units of the errors of both. Of a prediction from these very inputs
            (``st.predict``) the scatter of inputs is no part of these: see ``comparisons``.

        Raises:
            SymresError: pandas is not installed.

        Examples:
            >>> layers = [torch.nn.Linear(8, 8, bias=False) for _ in range(8)]
            >>> for layer in layers:
            ...     layer.weight.data = 2*torch.eye(8)
            >>> measured = st.measure(torch.nn.Sequential(*layers), torch.ones(3, 8), progress=False)
            >>> measured.frame()["apjn_backward"].tolist()[-3:]
            [16.0, 4.0, 1.0]
        """
        return data_frame(self.rows(), "a measurement")

    def plot(self) -> Figure:
        """The figure: kernels, cosines of tokens, Jacobian norms and gradients over the places, with errors and theory.

        Cosines are shown where inputs have positions, gradients with a loss.

        Bars are standard errors. A band around the theory is what it allows: what it leaves out, such as corrections of
        order 1/n, and how far one network may be from the average over networks. The theory is a line between
        neighbouring places, and a short line of its own where it says nothing about the neighbours. Titles say by
        which factor numbers change over the depth, without a readout at the end.

        Examples:
            >>> measured = st.measure(torch.nn.Linear(8, 8), torch.ones(3, 8), progress=False)
            >>> [axes.get_ylabel() for axes in measured.plot().axes][0]
            'kernel, mean square'
        """
        from .signal_figure import draw_signals

        try:
            verdict = self.fit().verdict
        except DeclarationError:  # too few places
            verdict = DepthVerdict.UNDECIDED
        phase = "" if verdict is DepthVerdict.UNDECIDED else str(verdict)
        count = f"{counted(self.networks, 'network')}, {counted(self.inputs, 'input')}"
        bars = f"{count}; bars: standard errors over {self.errors_over}"
        heading = "\n".join(filter(None, (bars, self._agreement)))
        stack = self.places[:-1] if self._has_readout else self.places
        return draw_signals(self.places, self._comparisons, self.start, heading, phase, stack)

    @property
    def _has_readout(self) -> bool:
        """Whether the last place is the output, of another number of entries than any place before it."""
        *before, last = [place.entries for place in self.places]
        return len(before) > 1 and last == self.output_entries and last not in before

    def fit(self, quantity: str = "apjn_forward", *, skip: int | None = None) -> DepthFit:
        """How a number grows or falls with depth, exponentially or by a power law, and what that means.

        Args:
            quantity: "apjn_forward", "apjn_backward" or "gradient_norm".
            skip: places left out at the beginning, where the kernel has not settled; None: a quarter of them.

        Returns:
            Correlation length, exponent, and the verdict, with errors; see ``DepthFit``.

        Raises:
            DeclarationError: an unknown quantity, or fewer than four places with positive numbers.

        Examples:
            >>> layers = [torch.nn.Linear(8, 8, bias=False) for _ in range(8)]
            >>> for layer in layers:
            ...     layer.weight.data = 2*torch.eye(8)
            >>> measured = st.measure(torch.nn.Sequential(*layers), torch.ones(3, 8), progress=False)
            >>> law = measured.fit("apjn_forward")
            >>> str(law).splitlines()[0], round(law.rate, 6)  # log(4)
            ('apjn_forward: chaotic', 1.386294)
        """
        if quantity not in FITTED:
            raise DeclarationError(f"a fit of {quantity!r}", "it is not fitted over depth", f"use {', '.join(FITTED)}")
        return fit_depth(self.places, self.errors_over, quantity, skip)

    def to_dict(self) -> dict[str, Plain]:
        """Everything as plain data, numbers that are not finite as None.

        Examples:
            >>> layer = torch.nn.Linear(8, 8, bias=False)
            >>> layer.weight.data = 2*torch.eye(8)
            >>> measured = st.measure(torch.nn.Sequential(layer), torch.ones(3, 8), progress=False)
            >>> measured.to_dict()["places"][0]["kernel"]
            4.0
        """
        rows: list[Plain] = [{key: plain(value) for key, value in row.items()} for row in self.rows()]
        described = [field.name for field in fields(self) if field.name not in ("places", "notes", "theory")]
        return {
            "format": 1,
            **{name: getattr(self, name) for name in described},
            "notes": list(self.notes),
            "places": rows,
        }

    def to_json(self) -> str:
        """Everything as JSON.

        Examples:
            >>> measured = st.measure(torch.nn.Linear(8, 8), torch.ones(3, 8), progress=False)
            >>> import json
            >>> json.loads(measured.to_json())["inputs"]
            3
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def _title(self) -> str:
        places, networks = counted(len(self.places), "place"), counted(self.networks, "network")
        return f"signals at {places} of {networks}, {counted(self.inputs, 'input')}"

    def _facts(self) -> list[Fact]:
        facts = self._place_facts()
        facts += [self._summary()] if self.theory else []
        facts += [
            Fact("forward", self.forward_method),
            Fact("backward", self.backward_method),
            Fact("errors", f"standard errors over {self.errors_over}"),
        ]
        return facts + [Fact("note", note) for note in self.notes]

    def _place_facts(self) -> list[Fact]:
        """A line for each place, or for the first and the last of many, with what the theory says."""
        names = {"kernel": "kernel", "token_cosine": "cosine of tokens"}
        names |= {"apjn_forward": f"J from {self.start}", "apjn_backward": "J to the output"}
        lines = []
        for place, compared in zip(self.places, self._comparisons, strict=True):
            shown = [name for name in names if name != "token_cosine" or name in compared]
            numbers = (_in_words(names[name], place.number(name), compared.get(name)) for name in shown)
            lines.append(Fact(place.name, "; ".join(numbers)))
        if len(lines) <= _MOST:
            return lines
        between = Fact("...", f"{len(lines) - 2 * _ENDS} more places, all of them in .frame()")
        return [*lines[:_ENDS], between, *lines[-_ENDS:]]

    def _summary(self) -> Fact:
        said = []
        for name in PREDICTED:
            compared = [of_place[name] for of_place in self._comparisons if name in of_place]
            scores = [abs(one.z) for one in compared if not math.isnan(one.z)]
            largest = f", |z| at most {max(scores):.2g}" if scores else ""
            if compared:
                said.append(f"{name} at {len(compared)} of {len(self.places)} places{largest}")
        return Fact("theory", "; ".join(said) + "; z is the difference in units of both errors" if said else "none")

    @property
    def _agreement(self) -> str:
        """Whether the theory predicts what was measured, in a line; empty where it says nothing."""
        scores: dict[str, float] = {}
        for place, compared in zip(self.places, self._comparisons, strict=True):
            if each := [abs(one.z) for one in compared.values() if not math.isnan(one.z)]:
                scores[place.name] = max(each)
        if not scores:
            return ""
        worst = max(scores, key=lambda name: scores[name])
        apart, places = f"{scores[worst]:.2g} errors apart", f"{len(scores)} of {len(self.places)} places"
        if scores[worst] <= _AGREES:
            return f"the theory agrees at {places}: at most {apart}"
        return f"the theory does not predict {worst}: {apart}"


def _row(place: PlaceSignals, compared: Mapping[str, PlaceComparison]) -> dict[str, str | float]:
    values: dict[str, float] = {}
    for name in MEASURED:
        values |= {name: float(place.number(name)), f"{name}_error": place.number(name).error}
    row: dict[str, str | float] = {"place": place.name}
    row |= {name: values.pop(name) for name in _FIRST} | values
    row |= {"entries": place.entries, "axes": place.axes}
    for name, one in compared.items():
        row |= {f"{name}_theory": one.expected, f"{name}_theory_error": one.allowed, f"{name}_z": one.z}
    return row


def _in_words(what: str, number: EstimatedNumber, compared: PlaceComparison | None) -> str:
    if compared is None:
        return f"{what} {number_in_words(number)}"
    z = "" if math.isnan(compared.z) else f" (z = {compared.z:.2g})"
    expected = EstimatedNumber(compared.expected, compared.allowed or math.nan)
    return f"{what} {number_in_words(number)}, theory {number_in_words(expected)}{z}"


def number_in_words(number: EstimatedNumber) -> str:
    """A number, with its standard error if there is one."""
    return f"{float(number):.4g}" + (f" +- {number.error:.2g}" if number.error > 0 else "")
