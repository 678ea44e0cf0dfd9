"""The theory with which a measurement is compared, place by place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from ...activations.formula_parser import nearest
from ...core.errors import DeclarationError
from .place_signals import PlaceSignals


@dataclass(frozen=True)
class Prediction:
    """What a theory says about one place; None where it says nothing.

    Args:
        kernel: of the place.
        kernel_error: how far the theory may be from the average over networks, absolute: what it leaves out, such as
            corrections of order 1/n, and the uncertainty of numbers that it was given.
        cosine: of two different inputs.
        cosine_error: likewise.
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

    Args:
        places: their names.
        theory: one entry for each place: a ``Prediction``, or the pair of kernel and forward APJN, or None; or a
            mapping from names of places to predictions; or an object whose attribute ``predictions`` is one of these.

    Raises:
        DeclarationError: another number of entries than places, an unknown name, or an entry that is no prediction.
    """
    given = theory if isinstance(theory, (Mapping, Iterable)) else theory.predictions
    if isinstance(given, Mapping):
        for name in given:
            if name not in places:
                guess = nearest(str(name), list(places)) or f"the places are {', '.join(places)}"
                raise DeclarationError(f"theory of {name!r}", "the model has no place of this name", guess)
        return tuple(_prediction(given.get(name)) for name in places)
    found = tuple(map(_prediction, given))
    if len(found) != len(places):
        raise DeclarationError(
            "theory=", f"it has {len(found)} entries for {len(places)} places", "give one entry for each place"
        )
    return found


@dataclass(frozen=True)
class PlaceComparison:
    """A measured number and that of a theory.

    Args:
        expected: by the theory.
        allowed: how far the theory may be off.
        z: the difference in units of both errors, which add up in squares; nan without any error.
    """

    expected: float
    allowed: float
    z: float


def comparison(place: PlaceSignals, prediction: Prediction | None, name: str) -> PlaceComparison | None:
    """A number of a place next to its theory; None where the theory says nothing.

    The error of the measured side is its standard error, or, for a prediction from these very inputs, what random
    directions make of it. The standard error over inputs would be wrong there: a single input with huge entries makes
    it as large as the average, and no difference would be seen any more.

    Args:
        place: what was measured.
        prediction: of the place.
        name: a name in ``PREDICTED``.
    """
    if prediction is None or (expected := getattr(prediction, name)) is None:
        return None
    error = place.error_given_inputs(name) if prediction.of_inputs else place.number(name).error
    allowed = float(getattr(prediction, f"{name}_error"))
    scale = math.hypot(0.0 if math.isnan(error) else error, allowed)
    z = (float(place.number(name)) - expected) / scale if scale > 0 else math.nan
    return PlaceComparison(float(expected), allowed, z)


def _prediction(entry: Prediction | Numbers | None) -> Prediction | None:
    if entry is None or isinstance(entry, Prediction):
        return entry
    if isinstance(entry, (tuple, list)) and len(entry) == 2:
        kernel, apjn = (None if value is None else float(value) for value in entry)
        return Prediction(kernel=kernel, apjn_forward=apjn)
    raise DeclarationError(
        f"theory entry {entry!r}", "it is not a prediction", "give a Prediction, or the pair of kernel and forward APJN"
    )
