"""An attention layer as a group of calls; PyTorch's, which is one call."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from ..tracing.run_record import RecordedCall, RunRecord, StreamValue
from .formula_values import NotRead, WeightedCall
from .position_uses import AttentionUse

FUSED = "multi_head_attention_forward"  # the name of the call
MIXING = "attention: it mixes positions"
SOME_POSITIONS = "attention to some of the positions only, or to other inputs (the first axis counts inputs)"
_SIGNATURE = inspect.signature(functional.multi_head_attention_forward)
UNSEEN = -1e4  # what is added to the score of a key that is not seen, at most


@dataclass(frozen=True, eq=False)
class AttentionGroup:
    """Calls that are one attention layer.

    Args:
        use: how it makes scores.
        draws: the weights of queries, keys and values, each with the neurons that are meant (None for all).
        behind: the dense layer behind the heads.
        inner: numbers of the calls between dense layers.
        order: the position of the query that each position of the result has, flat; None where it is the same.
    """

    use: AttentionUse
    draws: tuple[tuple[WeightedCall, tuple[int, ...] | None], ...]
    behind: WeightedCall
    inner: frozenset[int] = frozenset()
    order: tuple[int, ...] | None = None

    @property
    def calls(self) -> frozenset[int]:
        """The numbers of all calls."""
        return self.inner | {self.behind.call.number, *(made.call.number for made, _ in self.draws)}


def fused_attention(record: RunRecord, call: RecordedCall) -> AttentionGroup:
    """PyTorch's attention with its weights, in one call; positions are the first axis.

    Raises:
        NotRead: it does what the theory does not know.
    """
    bound = _SIGNATURE.bind(*call.args, **call.kwargs)
    bound.apply_defaults()
    arguments = bound.arguments
    entering = [arguments[name] for name in ("query", "key", "value")]
    if not all(isinstance(value, StreamValue) for value in entering):
        raise NotRead(call, "attention to values that do not depend on the first input")
    queries, keys = (record.values[value.number].shape for value in entering[:2])
    if arguments["training"] and arguments["dropout_p"] > 0:
        raise NotRead(call, "dropout is active")
    extras = ("bias_k", "bias_v", "static_k", "static_v")
    if any(arguments[name] is not None for name in extras) or arguments["add_zero_attn"] or entering[1] != entering[2]:
        raise NotRead(call, MIXING)
    if len(queries) != 3 or queries[1] != len(record.values[0]) or queries[0] != keys[0]:
        raise NotRead(call, SOME_POSITIONS)
    width, heads = queries[-1], arguments["num_heads"]
    tensors, bias = [arguments["in_proj_weight"]] * 3, arguments["in_proj_bias"]
    parts: list[tuple[int, ...] | None] = [tuple(range(k * width, (k + 1) * width)) for k in range(3)]
    if arguments["use_separate_proj_weight"]:
        if bias is not None and bias.any():
            raise NotRead(call, "attention with biases for queries, keys and values of different widths")
        tensors, bias = [arguments[f"{side}_proj_weight"] for side in "qkv"], None
        parts = [None] * 3
    draws = tuple(
        (WeightedCall(call, value.number, tensor, 0, bias, -1), part)
        for value, tensor, part in zip(entering, tensors, parts, strict=True)
    )
    behind = WeightedCall(call, -1, arguments["out_proj_weight"], 0, arguments["out_proj_bias"], -1)
    masks = [arguments["attn_mask"], arguments["key_padding_mask"]]
    if masks[0] is not None and masks[0].ndim == 3:
        masks[0] = masks[0].unflatten(0, (-1, heads))
    if masks[1] is not None:
        masks[1] = masks[1][:, None, None]
    added = [
        torch.zeros(mask.shape).masked_fill(mask.cpu(), -math.inf) if mask.dtype == torch.bool else mask.cpu()
        for mask in masks
        if mask is not None
    ]
    is_causal, mask = arranged_mask(sum(added) if added else None, (queries[0], keys[0]))
    return AttentionGroup(
        AttentionUse(heads, width // heads, heads, is_causal, mask, None, (width // heads) ** -0.5), draws, behind
    )


def arranged_mask(mask: torch.Tensor | None, shape: tuple[int, int]) -> tuple[bool, np.ndarray | None]:
    """Whether a mask is the causal one, and what it is otherwise, with as few entries as say it."""
    if mask is None:
        return False, None
    mask = mask.detach().cpu().double()
    mask = mask.masked_fill(mask <= UNSEEN, -math.inf).reshape([1] * (4 - mask.ndim) + list(mask.shape))
    mask = mask.expand(*mask.shape[:2], *shape)
    for axis in (0, 1):
        first = mask.narrow(axis, 0, 1)
        mask = first if torch.equal(mask, first.expand_as(mask)) else mask
    if not mask.any():
        return False, None
    if torch.equal(mask[0, 0], torch.full(shape, -math.inf, dtype=mask.dtype).triu(1)) and mask.shape[:2] == (1, 1):
        return True, None
    return False, (mask[0, 0] if mask.shape[:2] == (1, 1) else mask).numpy()
