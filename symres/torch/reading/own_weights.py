"""Where a model's own weights are not what a theory of random weights has: shared ones, and trained ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ...core.errors import SymresError
from ...layers.normalisation import BatchNorm
from ..equations.layering import StretchReading
from ..tracing.run_record import RunRecord
from .read_block import ReadBlock, layer_value

_FAR = 6.0  # standard deviations of a kernel of one network
KERNEL_SCATTER = 5.0  # n times the relative variance of a kernel: <phi^4>/<phi^2>^2 - 1, for relu (3/2)/(1/4) - 1


def shared_weights(record: RunRecord, stretches: Sequence[StretchReading]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of weights that several dense layers share, transposed perhaps, and notes: also on tables of embeddings."""
    uses = [use for each in stretches if each.found is not None for use in each.found.dense]
    of_calls = {use.made.call.number: use for use in uses}
    tables = [
        tensor
        for call in record.calls
        if call.name == "embedding"
        for tensor in [*call.args, *call.kwargs.values()]
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    ]
    shared: dict[str, None] = {}
    tied: dict[str, None] = {}
    for number, use in of_calls.items():
        name = record.name_of(use.made.tensor, use.name).removesuffix(".weight")
        if any(_overlap(use.made.tensor, o.made.tensor) for other, o in of_calls.items() if other != number):
            shared[name] = None
        if any(_overlap(use.made.tensor, table) for table in tables):
            tied[name] = None
    notes = [f"the weights {name} are used in several layers; the theory draws new ones for each" for name in shared]
    notes += [f"the weights of {name} are also the table of an embedding; the theory draws new ones" for name in tied]
    return tuple(sorted(shared)), tuple(notes)


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are views of the same numbers, or of a stretch of memory that both have."""
    start, begin = one.storage_offset(), other.storage_offset()
    lengths = [sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True)) for t in (one, other)]
    is_one_memory = one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return is_one_memory and start <= begin + lengths[1] and begin <= start + lengths[0]


def unlike_draws(
    record: RunRecord, group: Sequence[StretchReading], block: ReadBlock
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Places of a block at which its weights make another kernel of the model's own stream than independent ones do.

    Trained weights fit to the stream that enters them. That does not show on Gaussian streams, on which their second
    moment decides nearly alone.

    Returns:
        The names of the places, and a remark about the one that is farthest off; empty where kernels agree within six
        standard deviations of one network.
    """
    if block.form is None or block.form.forward.atoms(BatchNorm):  # evaluation mode has other statistics
        return (), ()
    found: list[tuple[float, str, float, float]] = []
    for stretch, span, numbers, place in zip(group, block.spans, block.numbers, block.places, strict=True):
        own = record.mean_squares[stretch.exit]
        if not span.kernels or not math.isfinite(own) or not min(span.kernels) > 0:
            continue
        allowed = _FAR * math.sqrt(KERNEL_SCATTER / min(span.width, span.outputs))
        try:
            expected = layer_value(block.form, "kernel_map", float(np.mean(span.kernels)), numbers)
            if abs(own - expected) > allowed * abs(expected):  # perhaps only because kernels of positions differ
                kernels = [layer_value(block.form, "kernel_map", K, numbers) for K in span.kernels]
                expected = float(np.mean(kernels))
        except SymresError:
            continue
        if abs(own - expected) > allowed * abs(expected):
            found.append((abs(math.log(own / expected)) if own > 0 < expected else math.inf, place, own, expected))
    if not found:
        return (), ()
    _, place, own, expected = max(found)
    told = (
        f"on its inputs in this model {place} gives the kernel {own:.4g}, independent weights {expected:.4g}: "
        "its weights are not independent draws, as usual after training"
    )
    return tuple(place for _, place, _, _ in found), (told,)
