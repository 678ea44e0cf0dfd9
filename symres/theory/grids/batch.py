"""Positions of several inputs of one batch together: what BatchNorm averages over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...layers.grids import Listed
from ...numerics.deferred_numpy import Array, np


@dataclass(frozen=True, init=False, repr=False)
class Batch(Listed):
    """The positions of some inputs of a batch, whose averages are over all positions of all inputs.

    Arrays are those of ``Listed`` for the positions of all these inputs, one input behind another.

    Args:
        image: the positions of one input.
        followed: how many inputs there are in arrays; other ones are like them on average.
        inputs: how many inputs the batch has.
    """

    image: Listed = field(kw_only=True)
    followed: int = field(kw_only=True)
    inputs: int = field(kw_only=True)

    holds_batch = True

    def __init__(self, image: Listed, followed: int, inputs: int) -> None:
        super().__init__(*image.shape)
        for name, value in (("image", image), ("followed", followed), ("inputs", inputs)):
            object.__setattr__(self, name, value)

    @property
    def _count(self) -> int:
        return self.followed * math.prod(self.shape)

    def with_mean(self, covariances: Array) -> Array:
        """The covariance of each place with the average over the batch."""
        blocks = covariances.reshape(self._count, self.followed, -1).mean(axis=2)
        every = range(self.followed)
        within = blocks.reshape(self.followed, -1, self.followed)[every, :, every].ravel()
        between = (blocks.sum(axis=1) - within) / max(self.followed - 1, 1)
        return np.asarray(within + (between - within) * (1 - 1 / self.inputs))

    def pooled(self, gram: Array) -> Array:
        """The averages over all positions of both inputs, for each pair."""
        return self._of_pairs(gram, self.image.pooled)

    def window(self, gram: Array, weights: Array, stride: int) -> Array:
        """Averages over shifted pairs, of each pair of inputs."""
        return self._of_pairs(gram, lambda block: self.image.window(block, weights, stride))

    def strided(self, stride: int) -> Batch:
        """Each ``stride``-th position of every input."""
        return Batch(self.image.strided(stride), self.followed, self.inputs)

    def _of_pairs(self, gram: Array, rule: Callable[[Array], Array]) -> Array:
        """An array made of those of each pair of inputs."""
        split: Sequence[Sequence[Array]] = [np.hsplit(row, self.followed) for row in np.vsplit(gram, self.followed)]
        return np.asarray(np.block([[rule(block) for block in row] for row in split]))
