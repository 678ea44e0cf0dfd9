"""What is measured at one place: averages over networks, inputs and probes with errors, and the theory beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError
from ...results.annotated_numbers import EstimatedNumber

MEASURED = (
    "kernel",
    "mean",
    "cosine",
    "covariance",
    "token_cosine",
    "apjn_forward",
    "apjn_backward",
    "gradient_norm",
    "adam_change",
)
PREDICTED = ("kernel", "cosine", "token_cosine", "apjn_forward", "apjn_backward")
UNKNOWN = EstimatedNumber(math.nan, math.nan)


def average(samples: np.ndarray) -> EstimatedNumber:
    """The average over networks, inputs and probes with its standard error.

    Args:
        samples: shape (networks, inputs) or (networks, inputs, probes).

    Returns:
        The error is the standard error over networks if there are several, else over inputs, else over probes; but
        never less than the scatter of the probes alone allows. nan where a single number has been measured.
    """
    values = samples.astype(float).reshape(*samples.shape[:2], -1)
    networks, inputs, probes = values.shape
    if not np.all(np.isfinite(values)):
        return EstimatedNumber(float(values.mean()) if not np.any(np.isnan(values)) else math.nan, math.nan)
    errors = []
    if networks > 1:
        errors.append(_standard_error(values.mean(axis=(1, 2))))
    elif inputs > 1:
        errors.append(_standard_error(values.mean(axis=2)[0]))
    if probes > 1:
        errors.append(error_of_directions(values))
    return EstimatedNumber(float(values.mean()), max(errors, default=math.nan))


def error_of_directions(samples: np.ndarray) -> float:
    """The part of the error of an average that random directions have in it; nan where there was one for each input.

    Args:
        samples: shape (networks, inputs, probes).
    """
    if samples.shape[2] < 2:
        return math.nan
    return float(np.sqrt(samples.astype(float).var(axis=2, ddof=1).mean() / samples.size))


def average_of_pairs(samples: np.ndarray) -> EstimatedNumber:
    """The average over networks and over pairs of different inputs.

    Args:
        samples: shape (networks, inputs, inputs); nan for pairs that were not compared.

    Returns:
        The error is that over networks, or else that of leaving out one input after the other (jackknife), because
        pairs that share an input are not independent. nan where there are fewer than three inputs.
    """
    values = samples.astype(float).copy()
    networks, inputs, _ = values.shape
    values[:, np.arange(inputs), np.arange(inputs)] = np.nan
    is_compared = ~np.isnan(values)
    values = np.where(is_compared, values, 0.0)
    sums, counts = values.sum(axis=(1, 2)), is_compared.sum(axis=(1, 2))
    if not counts.all():
        return UNKNOWN
    means = sums / counts
    if networks > 1:
        return EstimatedNumber(float(means.mean()), _standard_error(means))
    left = counts[0] - 2 * is_compared[0].sum(axis=1)
    if inputs < 3 or not left.all():
        return EstimatedNumber(float(means[0]), math.nan)
    without = (sums[0] - 2 * values[0].sum(axis=1)) / left
    return EstimatedNumber(float(means[0]), jackknife_error(without))


def root_of_sums(samples: np.ndarray) -> EstimatedNumber:
    """The norm whose square is the sum over the inputs, averaged over networks.

    Args:
        samples: squares, shape (networks, inputs).

    Returns:
        The error over networks, or else what the scatter of the inputs makes of it; nan with a single number.
    """
    networks, inputs = samples.shape
    norms = np.sqrt(samples.sum(axis=1))
    if networks > 1:
        return EstimatedNumber(float(norms.mean()), _standard_error(norms))
    if inputs < 2 or not norms[0] > 0:
        return EstimatedNumber(float(norms[0]), math.nan)
    return EstimatedNumber(float(norms[0]), float(inputs * _standard_error(samples[0]) / (2 * norms[0])))


def units_of(samples: np.ndarray) -> np.ndarray:
    """Independent measurements of the same: of networks if there are several, else of inputs, else of probes."""
    values = samples.reshape(*samples.shape[:2], -1)
    if values.shape[0] > 1:
        return values.mean(axis=(1, 2))
    return values[0].mean(axis=1) if values.shape[1] > 1 else values[0, 0]


def jackknife_error(without: np.ndarray) -> float:
    """The standard error of an average from its values without one unit after the other (first axis)."""
    count = len(without)
    return float(np.sqrt((count - 1) / count * np.square(without - without.mean()).sum()))


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))


@dataclass(frozen=True)
class PlaceSignals:
    """What was measured at one place. Every number has its standard error in ``.error``, nan where none is known.

    Args:
        name: of the place.
        axes: what the axes of its tensor are taken for.
        entries: N, the number of entries of one input.
        kernel: mean square of the entries.
        mean: of the entries.
        cosine: mean cosine of two different inputs; nan with one input.
        covariance: mean of (1/N) sum_i h_i(x) h_i(y) over pairs of different inputs.
        token_cosine: mean cosine of the features at two positions of the same input; nan without positions.
        apjn_forward: squared Jacobian norm from the start, (1/N) sum_ij (dh_i/dh^0_j)^2.
        apjn_backward: squared Jacobian norm to the output, (1/N_L) sum_ij (dh^L_i/dh_j)^2.
        gradient_norm: norm of the gradient of the loss; nan without a loss.
        gram: (1/N) sum_i h_i(x) h_i(y) for pairs of inputs, averaged over networks, shape (pairs, pairs).
        units: independent measurements of a number by its name: of networks, or else inputs, or else probes.
        errors_given_inputs: standard errors of numbers of these very networks and inputs, by name: those that random
            directions make; 0 of a kernel.
        adam_change: the norm of what one step of Adam adds, over the norm before; nan where that is 0.
    """

    name: str
    axes: str
    entries: int
    kernel: EstimatedNumber
    mean: EstimatedNumber
    cosine: EstimatedNumber
    covariance: EstimatedNumber
    token_cosine: EstimatedNumber
    apjn_forward: EstimatedNumber
    apjn_backward: EstimatedNumber
    gradient_norm: EstimatedNumber
    gram: np.ndarray = field(repr=False, compare=False)
    units: Mapping[str, np.ndarray] = field(repr=False, compare=False)
    errors_given_inputs: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)
    adam_change: EstimatedNumber = UNKNOWN

    def number(self, name: str) -> EstimatedNumber:
        """One of the measured numbers, by its name."""
        number = getattr(self, name)
        assert isinstance(number, EstimatedNumber)
        return number

    def error_given_inputs(self, name: str) -> float:
        """The error of a number of these very networks and inputs; where it is not known the standard error."""
        error = self.errors_given_inputs.get(name, math.nan)
        return self.number(name).error if math.isnan(error) else error


@dataclass(frozen=True)
class Prediction:
    """What a theory says about one place; None where it says nothing.

    Args:
        kernel: of the place.
        kernel_error: how far the theory may be from the average over networks, absolute: what it leaves out, such as
            corrections of order 1/n, and the uncertainty of numbers that it was given.
        cosine: of two different inputs.
        cosine_error: likewise.
        token_cosine: of two positions of one input.
        token_cosine_error: likewise.
        apjn_forward: squared Jacobian norm from the start to the place.
        apjn_forward_error: likewise.
        apjn_backward: squared Jacobian norm from the place to the output.
        apjn_backward_error: likewise.
        of_inputs: whether it is a prediction for these very inputs, computed from their kernels. How inputs differ is
            then no error of the comparison, and z-scores leave it out.

    Examples:
        A layer that doubles its inputs:

        >>> layer = torch.nn.Linear(4, 4, bias=False)
        >>> layer.weight.data = 2*torch.eye(4)
        >>> theory = [st.Prediction(kernel=4.0)]
        >>> measured = st.measure(torch.nn.Sequential(layer), torch.ones(3, 4), theory=theory, progress=False)
        >>> measured.frame()[["kernel", "kernel_theory"]].values.tolist()
        [[4.0, 4.0]]
    """

    kernel: float | None = None
    kernel_error: float = 0.0
    cosine: float | None = None
    cosine_error: float = 0.0
    token_cosine: float | None = None
    token_cosine_error: float = 0.0
    apjn_forward: float | None = None
    apjn_forward_error: float = 0.0
    apjn_backward: float | None = None
    apjn_backward_error: float = 0.0
    of_inputs: bool = False


Numbers: TypeAlias = Sequence[float | None]  # kernel and forward APJN, in this order


class Predictor(Protocol):
    """An object that has a theory of a model."""

    @property
    def predictions(self) -> Sequence[Prediction | None] | Mapping[str, Prediction]:
        """One for each place, or those of some places by name."""


TheoryOfPlaces: TypeAlias = Predictor | Mapping[str, Prediction] | Iterable[Prediction | Numbers | None]


def predictions_for(places: Sequence[str], theory: TheoryOfPlaces) -> tuple[Prediction | None, ...]:
    """A prediction for each place.

    The theory is one entry for each place: a ``Prediction``, or the pair of kernel and forward APJN, or None; or a
    mapping from names of places to predictions; or an object whose attribute ``predictions`` is one of these.

    Raises:
        DeclarationError: another number of entries than places, an unknown name, or an entry that is no prediction.
    """
    entries = theory if isinstance(theory, (Mapping, Iterable)) else theory.predictions
    if isinstance(entries, Mapping):
        for name in entries:
            if name not in places:
                guess = nearest(str(name), list(places)) or f"the places are {', '.join(places)}"
                raise DeclarationError(f"theory of {name!r}", "the model has no place of this name", guess)
        return tuple(_prediction(entries.get(name)) for name in places)
    predictions = tuple(map(_prediction, entries))
    if len(predictions) != len(places):
        raise DeclarationError(
            "theory=", f"it has {len(predictions)} entries for {len(places)} places", "give one entry for each place"
        )
    return predictions


@dataclass(frozen=True)
class PlaceComparison:
    """A measured number and that of a theory.

    Args:
        expected: by the theory.
        allowed: how far the theory may be off.
        z: the difference in units of both errors, which add up in squares; nan without any error.
    """

    expected: float = math.nan
    allowed: float = math.nan
    z: float = math.nan


def comparisons(place: PlaceSignals, prediction: Prediction | None) -> dict[str, PlaceComparison]:
    """The numbers of a place about which the theory says something, by name.

    The error of the measured side is its standard error, or, for a prediction from these very inputs, what random
    directions make of it. The standard error over inputs would be wrong there: a single input with huge entries makes
    it as large as the average, and no difference would be seen any more.
    """
    compared = {}
    for name in PREDICTED:
        if prediction is not None and (expected := getattr(prediction, name)) is not None:
            error = place.error_given_inputs(name) if prediction.of_inputs else place.number(name).error
            allowed = float(getattr(prediction, f"{name}_error"))
            scale = math.hypot(0.0 if math.isnan(error) else error, allowed)
            z = (float(place.number(name)) - expected) / scale if scale > 0 else math.nan
            compared[name] = PlaceComparison(float(expected), allowed, z)
    return compared


def _prediction(entry: Prediction | Numbers | None) -> Prediction | None:
    if entry is None or isinstance(entry, Prediction):
        return entry
    if isinstance(entry, (tuple, list)) and len(entry) == 2:
        kernel, apjn = (None if value is None else float(value) for value in entry)
        return Prediction(kernel=kernel, apjn_forward=apjn)
    raise DeclarationError(
        f"theory entry {entry!r}", "it is not a prediction", "give a Prediction, or the pair of kernel and forward APJN"
    )
