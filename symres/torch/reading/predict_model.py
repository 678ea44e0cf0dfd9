"""What the theory says about the places of a model, next to what is measured there: one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...layers.layer import Layer
from ...layers.mixing import Conv
from ...theory.grids.grid_law import GridLaw
from ..measuring.measure import measure
from ..measuring.place_signals import Prediction
from ..measuring.signals import Measurement
from ..models.call_arguments import CallArguments, Inputs
from ..models.choosing import ChosenModules
from ..models.keeping import in_train_mode
from .fronts import Front, behind, rank_behind, scatter
from .model_reading import Reading
from .read_block import ReadBlock, StretchPlaces
from .read_model import reading_of_run
from .token_streams import MANY_TOKENS, TokenGrams, TokenLayer, TokenPlace, mean_variance, token_grams

_TOO_MANY = 0.1  # relative, of the correction of many tokens
_CAUTION = "tokens are as many as the order of the width: the first correction is known, the joint limit is not"
_ENTERING = "input of "
_PIXELS = 2**10  # whose windows the theory follows one by one


def predict(model: nn.Module, inputs: Inputs, *, check: bool = True, seed: int = 0, **measured: Any) -> Measurement:
    """Kernels and Jacobian norms of a model, measured and from theory.

    The model is read (``read``), and measured (``measure``) where the parts that were read begin and end. In each run
    of known layers the theory starts from the kernels that are measured at its entry, position by position, and the
    Jacobian norm from there; behind parts that stay measured it starts anew. Where layers of a run mix tokens or
    pixels, it starts from the Gram matrix over these of each input; where they normalise over the batch (in train
    mode, in which such models are measured unless ``mode`` says otherwise), from that over positions of all inputs, of
    some if these are many. Pixels whose windows leave out edges, or that are more than 1024, are taken one by one, as
    if all were far from edges; a note says where.

    Args:
        model: an ``nn.Module``.
        inputs: as for ``measure``; all of them are also used for reading.
        check: whether blocks are compared with random networks before they are believed.
        seed: of random directions and of that comparison.
        measured: further arguments of ``measure``: ``probes``, ``exact``, ``loss``, ``targets``, ``device``, ...

    Returns:
        The measurement with a theory at the end of each known layer: its columns ``kernel_theory`` and
        ``apjn_forward_theory``, ``token_cosine_theory`` where tokens are mixed, and ``apjn_backward_theory`` from where
        on all layers are known, with the error that the theory allows (corrections of order 1/n, of many tokens, few
        heads and narrow ones, a small batch, which a note names; the scatter of a single network; and the errors of
        what was measured at the entry), and z-scores. The theory is one of these very inputs; what a z-score divides by
        is what the theory allows and what random directions add, not how inputs differ, so that a few inputs or
        positions with huge entries do not hide a difference. They do dominate the averages on both sides: what z-scores
        say is then said about them.

    Raises:
        DeclarationError: no part of the model is a known layer between observable places; and as ``read`` and
            ``measure``.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> _ = torch.manual_seed(0)
        >>> model = Sequential(Linear(16, 64), ReLU(), Linear(64, 64), ReLU(), Linear(64, 1))
        >>> measured = st.predict(model, torch.randn(64, 16), progress=False)
        >>> bool((measured.frame()["kernel_z"].abs() < 4).all())
        True
    """
    reading = reading_of_run(model, CallArguments.of(inputs), check, seed)
    places = [span for block in reading.recognised for span in block.spans]
    names = {name for span in places for name in (span.entry, span.exit)} - {"", "input"}
    # Jacobians of models of integers begin at the first place that leaves a module: all that follows goes through it
    ends = [reading.blocks[number].spans[which].exit for number, which in reading.order]
    names.update([end for end in ends if end and not end.startswith(_ENTERING)][:1])
    entered = frozenset(name.removeprefix(_ENTERING) for name in names if name.startswith(_ENTERING))
    left = frozenset(name for name in names if not name.startswith(_ENTERING))
    if not places or not names:
        raise DeclarationError(
            f"a prediction for {reading.model}", "no part of it has a theory", "print(st.read(model, inputs))"
        )
    modules = {name: module for name, module in model.named_modules() if name in entered | left}
    chosen = ChosenModules(modules, entered, left)
    has_batch = any(block.normalises_batch for block in reading.recognised)
    train = in_train_mode(measured.setdefault("mode", "train" if has_batch else "eval"))
    measurement = measure(model, inputs, chosen, seed=seed, **measured)
    begun = _begun_by_tokens(reading)
    grams = TokenGrams()
    if begun:
        grams = token_grams(model, CallArguments.of(inputs), chosen, begun, measurement.start, seed, train)
    theory, notes = _theory(reading, measurement, grams, model.training if train is None else train)
    if _CAUTION in notes:
        warnings.warn(_CAUTION, UserWarning, stacklevel=2)
    return replace(measurement, theory=theory, notes=(*measurement.notes, *notes))


def _begun_by_tokens(reading: Reading) -> dict[str, TokenPlace]:
    """The places at which runs of known layers begin that mix tokens or pixels."""
    runs: list[list[tuple[ReadBlock, Layer, StretchPlaces]]] = [[]]
    for number, which in reading.order:
        block = reading.blocks[number]
        if block.of_positions is None:
            runs.append([])
        else:
            runs[-1].append((block, block.of_positions, block.spans[which]))
    begun: dict[str, TokenPlace] = {}
    for run in filter(None, runs):
        programs = [form.program for _, form, _ in run]
        attention = [use for block, *_ in run for use in block.attention]
        is_apart = any(use.is_causal or use.mask is not None or use.rope is not None for use in attention)
        has_windows = any(form.forward.has(Conv) for _, form, _ in run)
        is_batch = any(program.has_batch for program in programs)
        if is_batch or any(program.has_positions for program in programs):
            spans = [s for *_, s in run if not (has_windows or is_batch) or math.prod(s.positions) <= _PIXELS]
            begun |= {s.entry: TokenPlace(s.axis, is_apart or has_windows, is_batch) for s in spans[:1]}
    return begun


def _theory(
    reading: Reading, measurement: Measurement, grams: TokenGrams, train: bool
) -> tuple[tuple[Prediction | None, ...], list[str]]:
    """A prediction for each place that has one, and what a user should know about them."""
    predictions: dict[str, Prediction] = {}
    front: Front | None = None
    is_gaussian = True
    layers: list[tuple[StretchPlaces, Front | None]] = []
    alone: dict[str, None] = {}  # places whose pixels the theory takes one by one
    for number, which in reading.order:
        block = reading.blocks[number]
        span = block.spans[which]
        if front is None or (span.entry in grams.kernels and not len(front.tokens)):
            front = _measured_front(measurement, span, grams)
        try:
            is_unknown = not block.is_known or not is_gaussian or (block.normalises_batch and not train)
            front = None if front is None or is_unknown else behind(front, block, which)
        except SymresError:  # a quantity that is not known
            front = None
        is_gaussian = block.is_gaussian and (is_gaussian or (block.is_known and block.skip_weight == 0))
        layers.append((span, front))
        if front is not None and front.layer is None and any(use and max(use.size) > 1 for use in block.windows):
            alone[block.place] = None
        if front is not None and span.exit:
            kernel, norm = float(front.kernels.mean()), front.jacobian if math.isfinite(front.jacobian) else None
            predictions[span.exit] = Prediction(
                kernel=kernel,
                kernel_error=kernel * front.kernel_error,
                token_cosine=front.token_cosine,
                token_cosine_error=front.cosine_error,
                apjn_forward=norm,
                apjn_forward_error=0.0 if norm is None else norm * math.hypot(front.jacobian_error, front.shift),
                of_inputs=True,
            )
    _add_backward(predictions, layers, measurement)
    notes = _notes([(span, front.layer) for span, front in layers if front is not None and front.layer is not None])
    if not train and (places := [block.place for block in reading.recognised if block.normalises_batch]):
        notes.append(f"no theory of running statistics: {', '.join(places)} (pass mode='train')")
    if unlike := [block.place for block in reading.blocks if not block.is_gaussian]:
        notes.append(f"the stream is not Gaussian behind {', '.join(unlike)}: no theory until all of it is drawn anew")
    if alone:
        because = f"windows that leave out edges, or more than {_PIXELS} pixels"
        notes.append(f"pixels one by one, as if all were far from edges: {', '.join(alone)} ({because})")
    return tuple(predictions.get(place.name) for place in measurement.places), notes


def _notes(layers: Sequence[tuple[StretchPlaces, TokenLayer]]) -> list[str]:
    """The finite sizes that errors of the theory allow for; then a caution: tokens are too many for it."""
    sizes: dict[str, float] = {}
    for span, layer in layers:
        for name, value in layer.finite_sizes(span.inputs).items():
            sizes[name] = max(value, sizes.get(name, 0.0))
    if not sizes:
        return []
    said = ", ".join(f"{name} {value:.1%}" for name, value in sizes.items())
    notes = [f"finite sizes that the theory allows for, in units of what layers add to kernels: {said}"]
    if sizes.get(MANY_TOKENS, 0.0) > _TOO_MANY:
        notes.append(_CAUTION)
    return notes


def _add_backward(
    predictions: dict[str, Prediction], layers: Sequence[tuple[StretchPlaces, Front | None]], measurement: Measurement
) -> None:
    """Jacobian norms to the output, as far back as all layers are known, if the last of them gives the output."""
    if not layers or (last := layers[-1][1]) is None:
        return
    ends = [place for place in measurement.places if place.name == layers[-1][0].exit]
    tokens = len(last.tokens[0]) / last.layer.followed if last.layer is not None else math.nan
    is_output = measurement.output_entries == layers[-1][0].outputs * tokens  # seen through another view of it
    if not (math.isclose(ends[0].apjn_backward, 1.0, rel_tol=1e-3) if ends else is_output):
        return
    norm, behind_tokens, error, shift, rank = 1.0, 1.0, 0.0, 0.0, math.nan
    later: list[GridLaw] = []  # of tokens of one input
    for span, front in reversed(layers):
        if front is None:
            return
        rank = float(span.outputs) if math.isnan(rank) else rank
        norm, shift = norm * front.chi, shift + front.moved
        if front.layer is not None:
            later.insert(0, front.layer.laws[0])
            change = np.eye(len(front.layer.kernels[0]))
            norm = behind_tokens * mean_variance([reduce(lambda each, law: law.tangent(each), later, change)])
        else:
            later, behind_tokens = [], norm
        error = math.hypot(error, front.chi_error, scatter(front.made, span.inputs * rank))
        rank = rank_behind(rank, front.made, span.inputs)
        if span.entry:
            before = predictions.get(span.entry, Prediction(of_inputs=True))
            predictions[span.entry] = replace(
                before, apjn_backward=norm, apjn_backward_error=norm * math.hypot(error, shift)
            )


def _measured_front(measurement: Measurement, span: StretchPlaces, grams: TokenGrams) -> Front | None:
    """Where the theory starts anew: measured kernels, and the Jacobian norm as far as it is known there."""
    front = _jacobian_front(measurement, span)
    if front is None or span.entry not in grams.kernels:
        return front
    tokens = grams.kernels[span.entry]
    kernels, changes = np.concatenate([each.diagonal() for each in tokens]), [np.eye(len(each)) for each in tokens]
    if front.jacobian == 1.0:  # nothing came before
        front = replace(front, rank=span.inputs)
    elif span.entry in grams.changes:
        changes = grams.changes[span.entry]
    else:  # positions may change by different amounts
        front = replace(front, jacobian=math.nan)
    return replace(front, kernels=kernels, tokens=tokens, changes=changes, inputs=grams.inputs.get(span.entry, 1))


def _jacobian_front(measurement: Measurement, span: StretchPlaces) -> Front | None:
    """The kernels at some positions, and the Jacobian norm."""
    kernels = np.array(span.kernels)
    if not len(kernels) or not np.all(np.isfinite(kernels)) or not np.all(kernels > 0):
        return None
    if span.entry == "input" and measurement.start == "input":
        return Front(kernels, jacobian=1.0, rank=span.inputs)
    # Jacobians from what enters a module go through that module only, not past it
    for place in () if measurement.start.startswith(_ENTERING) else measurement.places:
        if place.name == span.entry:
            number, error = place.apjn_forward, place.error_given_inputs("apjn_forward")
            error = 0.0 if math.isnan(error) else error
            relative = error / float(number) if number > 0 else math.inf
            return Front(kernels, jacobian=float(number), jacobian_error=relative)
    return Front(kernels)
