"""What attention layers and convolutions of a model do with positions, beside their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tracing.run_record import CONVOLUTIONS, RecordedCall


@dataclass(frozen=True, eq=False)
class AttentionUse:
    """How an attention layer of a model makes scores, beside its weights.

    Args:
        heads: how many queries a position has.
        head_width: neurons of a query, and of a key.
        key_heads: how many keys and values a position has; fewer than heads where several queries share them.
        is_causal: whether a position sees those up to itself.
        mask: what is added to scores otherwise, ``-inf`` for keys that are not seen: shape (queries, keys), or (inputs
            or 1, heads or 1, queries, keys) where these differ; None if nothing is added.
        rope: the angles by which pairs of a head's neurons turn from one position to the next, in radians; None
            without rotary embeddings.
        scale: what products of queries and keys are multiplied by.
    """

    heads: int
    head_width: int
    key_heads: int
    is_causal: bool
    mask: np.ndarray | None
    rope: np.ndarray | None
    scale: float

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for uses that are equal."""
        arrays = (None if array is None else array.round(9).tobytes() for array in (self.mask, self.rope))
        return (self.heads, self.head_width, self.key_heads, self.is_causal, round(self.scale, 12), *arrays)

    @property
    def text(self) -> str:
        """In words."""
        shared = f", keys of {self.key_heads}" if self.key_heads != self.heads else ""
        said = [f"{self.heads} of width {self.head_width}{shared}"]
        said += ["causal"] * self.is_causal + ["masked"] * (self.mask is not None)
        return ", ".join(said + ["rotary positions"] * (self.rope is not None))


@dataclass(frozen=True)
class WindowUse:
    """Which positions a convolution of a model sees, which the theory reads as a dense layer where all are alike.

    Args:
        size: of the window, along each axis.
        stride: the distance of positions that are kept, along each.
        padding: what is beyond the edges: "circular", the other edge; "zeros"; or "none", where windows end at them.
        dilation: the distance of positions in the window, along each axis.
        border: how many positions are added before the first and behind the last, along each axis.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str
    dilation: tuple[int, ...]
    border: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, call: RecordedCall, wrapped: Sequence[int]) -> WindowUse | None:
        """That of a convolution of an image that was wrapped around so far perhaps; None for any other call."""
        if call.name not in CONVOLUTIONS:
            return None
        size = tuple(call.by_name["weight"].shape[2:])
        settings = (call.by_name.get(name, 1) for name in ("stride", "dilation"))
        stride, dilation = ((n,) * len(size) if isinstance(n, int) else tuple(n) for n in settings)
        beyond = [step * (wide - 1) for wide, step in zip(size, dilation, strict=True)]
        border = tuple(zip(wrapped[::2], wrapped[1::2], strict=True))[::-1] if wrapped else ((0, 0),) * len(size)
        padding = "circular" if wrapped and list(map(sum, border)) == beyond else "none"
        if is_padded(call):
            added, padding = call.by_name["padding"], "zeros"
            each = (added,) * len(size) if isinstance(added, int) else added
            is_same = isinstance(added, str)
            border = tuple((n // 2, n - n // 2) for n in (beyond if is_same else (2 * n for n in each)))
        return cls(size, stride, padding, dilation, border)

    @property
    def around(self) -> list[Any] | None:
        """Shares of the positions around each that is kept, in nested lists, as ``sr.Conv`` takes them.

        None where what is kept is not each ``stride``-th position from the first on.
        """
        axes = list(zip(self.size, self.dilation, self.border, self.stride, strict=True))
        if len(set(self.stride)) > 1 or not all(0 <= d * (n - 1) - sum(added) < s for n, d, added, s in axes):
            return None
        reach = max(max(before, d * (n - 1) - before) for n, d, (before, _), _ in axes)
        shares = np.zeros([2 * reach + 1] * len(axes), dtype=int)
        shares[np.ix_(*(reach - before + d * np.arange(n) for n, d, (before, _), _ in axes))] = 1
        return list(shares.tolist())


def is_padded(call: RecordedCall) -> bool:
    """Whether a call is a convolution that sees zeros beyond the border."""
    if call.name not in CONVOLUTIONS:
        return False
    padding = call.by_name.get("padding", 0)
    if isinstance(padding, str):
        return padding != "valid"
    return bool(padding) if isinstance(padding, int) else any(padding)
