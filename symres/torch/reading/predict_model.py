"""What the theory says about the places of a model, next to what is measured there: one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from torch import nn

from ...core.errors import DeclarationError, SymresError
from ...theory.grids.grid_law import GridLaw
from ..measuring.measure import measure
from ..measuring.place_signals import Prediction
from ..measuring.signals import Measurement
from ..models.call_arguments import CallArguments, Inputs
from ..models.choosing import ChosenModules
from .model_reading import Reading
from .read_block import ReadBlock, StretchPlaces, layer_value
from .read_model import reading_of_run
from .token_streams import MANY_TOKENS, TokenLayer, cosines, token_grams
from .weight_checks import KERNEL_SCATTER

_PER_WIDTH = 5.0  # relative correction of order 1/n in each layer that is allowed, times n
_OF_NEURONS = KERNEL_SCATTER, 1.0  # and the same of a squared slope: <phi'^4>/<phi'^2>^2 - 1, for relu (1/2)/(1/4) - 1
_TOO_MANY = 0.1  # relative, of the correction of many tokens
_OF_NORM = 0.4  # in units of 5/n: a norm takes two directions of n
_ENTERING = "input of "


def predict(model: nn.Module, inputs: Inputs, *, check: bool = True, seed: int = 0, **measured: Any) -> Measurement:
    """Kernels and Jacobian norms of a model, measured and from theory.

    The model is read (``read``), and measured (``measure``) where the parts that were read begin and end. In each run
    of known layers the theory starts from the kernels that are measured at its entry, position by position, and the
    Jacobian norm from there; behind parts that stay measured it starts anew. Where layers of a run mix tokens, it
    starts from the Gram matrix over the tokens of each input.

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
        heads and narrow ones, which a note names; the scatter of a single network; and the errors of what was measured
        at the entry), and z-scores. The theory is one of these very inputs; what a z-score divides by is what
        the theory allows and what random directions add, not how inputs differ, so that a few inputs or positions with
        huge entries do not hide a difference. They do dominate the averages on both sides: what z-scores say is then
        said about them.

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
    measurement = measure(model, inputs, chosen, seed=seed, **measured)
    begun = _begun_by_tokens(reading)
    grams = token_grams(model, CallArguments.of(inputs), chosen, begun, seed) if begun else {}
    theory, notes = _theory(reading, measurement, grams)
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return replace(measurement, theory=theory, notes=(*measurement.notes, *notes))


def _begun_by_tokens(reading: Reading) -> set[str]:
    """The places at which runs of known layers begin that mix tokens."""
    runs: list[list[tuple[ReadBlock, int]]] = [[]]
    for number, which in reading.order:
        block = reading.blocks[number]
        if block.is_known:
            runs[-1].append((block, which))
        else:
            runs.append([])
    mixing = [run for run in runs if any(block.attention for block, _ in run)]
    return {block.spans[which].entry for (block, which), *_ in mixing}


@dataclass(frozen=True)
class _Front:
    """What the theory knows at a place: kernels at positions, and the Jacobian norm from the start; relative errors."""

    kernels: np.ndarray  # at several positions, equally many for each
    kernel_error: float = 0.0
    jacobian: float = math.nan  # squared norm of that from the start; nan where it is not known
    jacobian_error: float = 0.0
    rank: float = 1.0  # effective one of the Jacobian from the start, (tr J J^T)^2/tr (J J^T)^2, 1 at least
    chi: float = 1.0  # squared Jacobian norm of the last layer
    made: float = 1.0  # share of the branch in that; 1 without a skip connection
    chi_error: float = 0.0  # without the scatter of weights
    moved: float = 0.0  # by what chi changes if the kernel is off by its error
    shift: float = 0.0  # the sum of that over layers: a kernel that is off stays so
    tokens: Sequence[np.ndarray] = ()  # kernels of all pairs of tokens, of each input, where layers mix them
    changes: Sequence[np.ndarray] = ()  # covariances of changes of tokens, from independent ones where the run begins
    cosine_error: float = 0.0  # of two tokens, absolute
    layer: TokenLayer | None = None  # the last one


@dataclass(frozen=True)
class _Passage:
    """One layer on what the theory knows before it."""

    after: np.ndarray  # kernels at positions
    chi: float  # squared Jacobian norm
    made: float  # share of the branch in the kernel
    turned: float  # and in chi
    carried: float  # relative error of the next kernel by that of the last
    moved: float  # and of chi
    uneven: float = 0.0  # relative standard deviation of chi over positions
    more: float = 0.0  # further relative errors of the next kernel
    corrected: float = 1.0  # what corrections of order 1/n are in units of
    alike: float = 1.0  # part of the scatter of one position that their average keeps
    of_tokens: Mapping[str, Any] = field(default_factory=dict)  # what a front knows of them


def _theory(
    reading: Reading, measurement: Measurement, grams: Mapping[str, np.ndarray]
) -> tuple[tuple[Prediction | None, ...], list[str]]:
    """A prediction for each place that has one, and what a user should know about them."""
    predictions: dict[str, Prediction] = {}
    front: _Front | None = None
    layers: list[tuple[StretchPlaces, _Front | None]] = []
    for number, which in reading.order:
        block = reading.blocks[number]
        span = block.spans[which]
        front = _measured_front(measurement, span, grams) if front is None else front
        try:
            front = None if front is None or not block.is_known else _behind(front, block, which)
        except SymresError:  # a quantity that is not known
            front = None
        layers.append((span, front))
        if front is not None and span.exit:
            kernel, norm = float(front.kernels.mean()), front.jacobian if math.isfinite(front.jacobian) else None
            predictions[span.exit] = Prediction(
                kernel=kernel,
                kernel_error=kernel * front.kernel_error,
                token_cosine=float(np.mean(list(map(cosines, front.tokens)))) if len(front.tokens) else None,
                token_cosine_error=front.cosine_error,
                apjn_forward=norm,
                apjn_forward_error=0.0 if norm is None else norm * math.hypot(front.jacobian_error, front.shift),
                of_inputs=True,
            )
    _add_backward(predictions, layers, measurement)
    notes = _notes([(span, front.layer) for span, front in layers if front is not None and front.layer is not None])
    return tuple(predictions.get(place.name) for place in measurement.places), notes


def _notes(layers: Sequence[tuple[StretchPlaces, TokenLayer]]) -> list[str]:
    """The finite sizes that errors of the theory allow for, and whether tokens are too many for it."""
    sizes: dict[str, float] = {}
    for span, layer in layers:
        for name, value in layer.finite_sizes(span.inputs).items():
            sizes[name] = max(value, sizes.get(name, 0.0))
    if not sizes:
        return []
    said = ", ".join(f"{name} {value:.1%}" for name, value in sizes.items())
    notes = [f"finite sizes that the theory allows for, in units of what attention adds to kernels: {said}"]
    if sizes[MANY_TOKENS] > _TOO_MANY:
        notes.append(
            "tokens are as many as the order of the width: the first correction is known, the joint limit is not"
        )
    return notes


def _add_backward(
    predictions: dict[str, Prediction], layers: Sequence[tuple[StretchPlaces, _Front | None]], measurement: Measurement
) -> None:
    """Jacobian norms to the output, as far back as all layers are known, if the last of them gives the output."""
    if not layers or (last := layers[-1][1]) is None:
        return
    ends = [place for place in measurement.places if place.name == layers[-1][0].exit]
    tokens = len(last.tokens[0]) if len(last.tokens) else math.nan
    is_output = measurement.output_entries == layers[-1][0].outputs * tokens  # seen through another view of it
    if not (math.isclose(ends[0].apjn_backward, 1.0, rel_tol=1e-3) if ends else is_output):
        return
    norm, error, shift, rank = 1.0, 0.0, 0.0, math.nan
    behind: list[GridLaw] = []  # of tokens of one input
    for span, front in reversed(layers):
        if front is None:
            return
        rank = float(span.outputs) if math.isnan(rank) else rank
        norm, shift = norm * front.chi, shift + front.moved
        if front.layer is not None:
            behind.insert(0, front.layer.laws[0])
            norm = reduce(lambda change, law: law.tangent(change), behind, np.eye(len(front.tokens[0]))).trace()
            norm /= len(front.tokens[0])
        error = math.hypot(error, front.chi_error, _scatter(front.made, span.inputs * rank))
        rank = _rank(rank, front.made, span.inputs)
        if span.entry:
            before = predictions.get(span.entry, Prediction(of_inputs=True))
            predictions[span.entry] = replace(
                before, apjn_backward=norm, apjn_backward_error=norm * math.hypot(error, shift)
            )


def _measured_front(measurement: Measurement, span: StretchPlaces, grams: Mapping[str, np.ndarray]) -> _Front | None:
    """Where the theory starts anew: measured kernels, and the Jacobian norm as far as it is known there."""
    front = _jacobian_front(measurement, span)
    if front is None or span.entry not in grams:
        return front
    tokens = list(grams[span.entry])
    kernels = np.concatenate([each.diagonal() for each in tokens])
    if front.jacobian == 1.0:  # nothing came before
        front = replace(front, rank=span.inputs)
    return replace(front, kernels=kernels, tokens=tokens, changes=[np.eye(len(each)) for each in tokens])


def _jacobian_front(measurement: Measurement, span: StretchPlaces) -> _Front | None:
    """The kernels at some positions, and the Jacobian norm."""
    kernels = np.array(span.kernels)
    if not len(kernels) or not np.all(np.isfinite(kernels)) or not np.all(kernels > 0):
        return None
    if span.entry == "input" and measurement.start == "input":
        return _Front(kernels, jacobian=1.0, rank=span.inputs)
    # Jacobians from what enters a module go through that module only, not past it
    for place in () if measurement.start.startswith(_ENTERING) else measurement.places:
        if place.name == span.entry:
            number, error = place.apjn_forward, place.error_given_inputs("apjn_forward")
            error = 0.0 if math.isnan(error) else error
            relative = error / float(number) if number > 0 else math.inf
            return _Front(kernels, jacobian=float(number), jacobian_error=relative)
    return _Front(kernels)


def _behind(front: _Front, block: ReadBlock, which: int) -> _Front:
    """What is behind one layer.

    Errors add up: corrections of order 1/n; how much Jacobian norms of different positions differ; and what one
    network differs from the average of all by. Weights make a share m of the kernel of n neurons scatter by
    ``m*sqrt(2/n)``, and of a squared Jacobian norm from r directions by ``m*sqrt(2/(n*r))``. The n neurons over which
    a layer averages make the kernel of one input scatter by ``m*sqrt((<phi^4>/<phi^2>^2 - 1)/n)``, with 2 under the
    root for a linear layer and 5 for relu; Jacobian norms likewise by the slope's moments, and by how much chi_perp
    depends on the kernel. Kernels of several inputs scatter less on the average, but not if one of them is much larger
    than all others.

    Raises:
        SymresError: the next kernel or chi is not known.
    """
    span, width = block.spans[which], block.spans[which].width
    step = _of_tokens(front, block, which) if len(front.tokens) else _of_kernels(front, block, which)
    correction = _PER_WIDTH / width * step.corrected
    of_kernel, of_slope = (m * math.sqrt(c / width) for m, c in zip((step.made, step.turned), _OF_NEURONS, strict=True))
    of_draws = math.hypot(of_kernel, _scatter(step.made, span.outputs)) * step.alike
    of_layer = math.hypot(correction, of_slope * step.alike, step.uneven)
    return replace(
        front,
        kernels=step.after,
        kernel_error=math.hypot(step.carried, correction, of_draws, step.more),
        jacobian=front.jacobian * step.chi,
        jacobian_error=math.hypot(front.jacobian_error, of_layer, _scatter(step.turned, span.outputs * front.rank)),
        rank=_rank(front.rank, step.turned, span.outputs),
        chi=step.chi,
        made=step.turned,
        chi_error=of_layer,
        moved=step.moved,
        shift=front.shift + step.moved,
        **step.of_tokens,
    )


def _of_kernels(front: _Front, block: ReadBlock, which: int) -> _Passage:
    """A layer that knows positions one by one."""
    assert block.form is not None
    form, numbers = block.form, block.numbers[which]

    def values(kernel: float) -> tuple[float, float]:
        return layer_value(form, "kernel_map", kernel, numbers), layer_value(form, "chi_perp", kernel, numbers)

    rows = np.array([values(float(K)) for K in front.kernels])
    before, after, chi = float(front.kernels.mean()), float(rows[:, 0].mean()), float(rows[:, 1].mean())
    of_skip = before / after, 1 / chi if chi > 0 else 1.0  # in kernel and chi, for a skip connection of weight 1
    made, turned = (max(1 - block.skip_weight**2 * share, 0.0) for share in of_skip)
    (up, faster), (at, slope) = values(before * (1 + front.kernel_error)), values(before)
    moved = abs(faster - slope) / slope if slope > 0 else 0.0  # by what the kernel is off
    uneven = float(rows[:, 1].std()) / chi if chi > 0 else 0.0
    return _Passage(rows[:, 0], chi, made, turned, abs(up - at) / at, moved, uneven)


def _of_tokens(front: _Front, block: ReadBlock, which: int) -> _Passage:
    """A layer on all tokens; what errors do to it is that of the first input."""
    layer, span = TokenLayer(block, which, front.tokens), block.spans[which]
    tokens = layer.behind
    changes = [law.tangent(change) for law, change in zip(layer.laws, front.changes, strict=True)]
    kernels = np.concatenate([each.diagonal() for each in tokens])
    before, after, added = float(front.kernels.mean()), float(kernels.mean()), layer.laws[0].added
    chi = sum(map(np.trace, changes)) / sum(map(np.trace, front.changes))
    skip, identity = layer.skip_weight**2, np.eye(len(tokens[0]))
    inner = skip * before + added
    made, turned = added / inner, max(1 - skip * after / inner / chi, 0.0)
    other, slope = layer.law(0, 1 + front.kernel_error), layer.laws[0].tangent(identity).trace()
    carried, moved = (
        abs(one / two - 1)
        for one, two in (
            (other.next.kernel.trace(), tokens[0].trace()),
            (other.tangent(identity).trace(), slope),
        )
    )
    of_kernel, of_cosine, of_slope = layer.off
    sizes = made * math.hypot(*layer.finite_sizes(span.inputs).values())
    rho, last = (float(np.mean(list(map(cosines, each)))) for each in (tokens, front.tokens))
    kept = (1 - made) * last
    drawn = max(rho - kept, made * rho)  # parts of the cosine
    scatter = math.sqrt(drawn**2 * KERNEL_SCATTER / span.width + (2 * drawn**2 + 4 * drawn * abs(kept)) / span.outputs)
    corrected = max(made, _OF_NORM) if layer.is_normalised else made
    return _Passage(
        kernels,
        chi,
        made,
        turned,
        carried,
        math.hypot(moved, of_slope),
        more=math.hypot(of_kernel, sizes),
        corrected=corrected,
        alike=math.sqrt(rho**2 + (1 - rho**2) / len(tokens[0])),
        of_tokens={
            "tokens": tokens,
            "changes": changes,
            "layer": layer,
            "cosine_error": math.hypot(
                front.cosine_error,
                of_cosine,
                (1 - rho) * math.hypot(scatter, sizes, _PER_WIDTH * corrected / span.width),
            ),
        },
    )


def _scatter(made: float, count: float) -> float:
    """Relative standard deviation of a mean square of which Gaussian weights make a share, the rest being given."""
    return math.sqrt((2 * made**2 + 4 * made * (1 - made)) / count)


def _rank(rank: float, made: float, neurons: int) -> float:
    """The effective rank behind Gaussian weights: tr (J J^T)^2 = (1/r + 1/n)(tr J J^T)^2 for W J with n rows."""
    return 1 / (1 / rank + (made**2 + 2 * made * (1 - made)) / neurons)
