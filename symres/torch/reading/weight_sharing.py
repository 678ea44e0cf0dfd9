"""Whether the weights of several layers of a model are the same ones, or copies."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from ..equations.call_rules import is_uniform
from ..equations.layering import StretchReading
from ..tracing.run_record import RunRecord


def shared_weights(record: RunRecord, stretches: Sequence[StretchReading]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of weights that several dense layers share, transposed perhaps, and notes: also on tables of embeddings."""
    uses = [use for each in stretches if each.equation is not None for use in each.equation.dense]
    used = {(use.made.call.number, id(use.made.tensor)): use for use in uses}
    tables = [
        tensor
        for call in record.calls
        if call.name == "embedding"
        for tensor in [*call.args, *call.kwargs.values()]
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    ]
    shared: dict[str, None] = {}
    tied: dict[str, None] = {}
    copies: dict[str, str] = {}
    first: dict[bytes, str] = {}  # the names of weights by their numbers
    for key, use in used.items():
        tensor = use.made.tensor.detach()
        name = record.name_of(use.made.tensor, use.name).removesuffix(".weight")
        if any(_overlap(tensor, o.made.tensor) for other, o in used.items() if other != key):
            shared[name] = None
        elif (original := first.setdefault(_digest(tensor), name)) != name and not is_uniform(tensor):
            copies[name] = original
        if any(_overlap(tensor, table) for table in tables):
            tied[name] = None
    notes = [f"the weights {name} are used in several layers; the theory draws new ones for each" for name in shared]
    notes += [f"the weights of {name} are also the table of an embedding; the theory draws new ones" for name in tied]
    if copies:
        name, original = next(iter(copies.items()))
        notes.append(
            f"weights are not fresh: {len(copies)} layers have copies of those of others ({name} of {original}), as "
            "nn.TransformerEncoder makes them; the theory draws new ones for each"
        )
    return tuple(sorted(shared | dict.fromkeys(copies))), tuple(notes)


def _digest(tensor: torch.Tensor) -> bytes:
    """What tells the numbers of one tensor from those of another."""
    return hashlib.sha256(tensor.cpu().contiguous().numpy().tobytes() + str(tuple(tensor.shape)).encode()).digest()


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are views of the same numbers, or of a stretch of memory that both have."""
    start, begin = one.storage_offset(), other.storage_offset()
    lengths = [sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True)) for t in (one, other)]
    is_one_memory = one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    return is_one_memory and start <= begin + lengths[1] and begin <= start + lengths[0]
