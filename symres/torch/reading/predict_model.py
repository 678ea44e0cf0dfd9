"""What the theory says about the places of a model, next to what is measured there: one call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ..measuring.measure import measure
from ..measuring.prediction import Prediction
from ..measuring.signals import Measurement
from ..models.arguments_of_models import CallArguments, Inputs
from ..models.choosing import ChosenModules
from .model_reading import Reading, StretchPlaces
from .read_model import reading_of_run
from .replaying import value_of

_PER_WIDTH = 5.0  # relative correction of order 1/n in each layer that is allowed, times n
_ENTERING = "input of "


def predict(model: nn.Module, inputs: Inputs, *, check: bool = True, seed: int = 0, **measured: Any) -> Measurement:
    """Kernels and Jacobian norms of a model, measured and from theory.

    The model is read (``read``), and measured (``measure``) where the parts that were read begin and end. In each run
    of known layers the theory starts from the kernels that are measured at its entry, position by position, and the
    Jacobian norm from there; behind parts that stay measured it starts anew.

    Args:
        model: an ``nn.Module``.
        inputs: as for ``measure``; all of them are also used for reading.
        check: whether blocks are compared with random networks before they are believed.
        seed: of random directions and of that comparison.
        measured: further arguments of ``measure``: ``probes``, ``exact``, ``loss``, ``targets``, ``device``, ...

    Returns:
        The measurement with a theory at the end of each known layer: its columns ``kernel_theory`` and
        ``apjn_forward_theory``, with the error that the theory allows (corrections of order 1/n, and the errors of what
        was measured at the entry), and z-scores.

    Raises:
        DeclarationError: no part of the model is a known layer between observable places; and as ``read`` and
            ``measure``.
    """
    reading = reading_of_run(model, CallArguments.of(inputs), check, seed)
    places = [span for block in reading.recognised for span in block.spans]
    names = {name.removeprefix(_ENTERING) for span in places for name in (span.entry, span.exit)} - {"", "input"}
    if not names:
        raise DeclarationError(
            f"a prediction for {reading.model}", "no part of it is a known layer", "print(st.read(model, inputs))"
        )
    chosen = {name: module for name, module in model.named_modules() if name in names}
    found = measure(model, inputs, ChosenModules(chosen, entries=True), seed=seed, **measured)
    return replace(found, theory=_theory(reading, found))


@dataclass(frozen=True)
class _Front:
    """What the theory knows at a place: kernels at positions, and the Jacobian norm from the start.

    Args:
        kernels: at several positions, equally many for each.
        kernel_error: relative.
        jacobian: nan where it is not known.
        jacobian_error: relative.
    """

    kernels: np.ndarray
    kernel_error: float
    jacobian: float
    jacobian_error: float


def _theory(reading: Reading, found: Measurement) -> tuple[Prediction | None, ...]:
    """A prediction for each place that has one."""
    predictions: dict[str, Prediction] = {}
    front: _Front | None = None
    for number, which in reading.order:
        block = reading.blocks[number]
        span = block.spans[which]
        if not block.is_known:
            front = None
            continue
        front = _measured_front(found, span) if front is None else front
        if front is not None:
            try:
                front = _behind(front, partial(_values, block.form_theory, block.numbers[which]), span.width)
            except SymresError:  # a quantity that is not known
                front = None
        if front is not None and span.exit:
            predictions[span.exit] = _prediction(front)
    return tuple(predictions.get(place.name) for place in found.places)


def _values(theory: Any, numbers: Mapping[str, float], K: float) -> tuple[float, float]:
    return value_of(theory.kernel_map, K, numbers), value_of(theory.chi_perp, K, numbers)


def _measured_front(found: Measurement, span: StretchPlaces) -> _Front | None:
    kernels = np.array(span.kernels)
    if not len(kernels) or not np.all(np.isfinite(kernels)) or not np.all(kernels > 0):
        return None
    if span.entry == "input" and found.start == "input":
        return _Front(kernels, 0.0, 1.0, 0.0)
    for place in found.places:
        if place.name == span.entry:
            number = place.apjn_forward
            error = 0.0 if math.isnan(number.error) else number.error
            relative = error / float(number) if number > 0 else math.inf
            return _Front(kernels, 0.0, float(number), relative)
    return _Front(kernels, 0.0, math.nan, 0.0)


def _behind(front: _Front, values: Any, width: int) -> _Front:
    """What is behind one layer."""
    rows = np.array([values(float(K)) for K in front.kernels])
    correction = _PER_WIDTH / width
    mean = float(front.kernels.mean())
    up, at = values(mean * (1 + front.kernel_error))[0], values(mean)[0]
    spread = abs(up - at) / at if at > 0 else math.inf
    return _Front(
        rows[:, 0],
        math.hypot(spread, correction),
        front.jacobian * float(rows[:, 1].mean()),
        math.hypot(front.jacobian_error, correction),
    )


def _prediction(front: _Front) -> Prediction:
    kernel = float(front.kernels.mean())
    known = math.isfinite(front.jacobian)
    return Prediction(
        kernel=kernel,
        kernel_error=kernel * front.kernel_error,
        apjn_forward=front.jacobian if known else None,
        apjn_forward_error=front.jacobian * front.jacobian_error if known else 0.0,
    )
