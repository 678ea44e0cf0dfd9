"""What the networks have in common: a stream that equal blocks change, one after the other."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class StreamNetwork(nn.Module):
    """A read-in and blocks; the output is the last stream.

    Args:
        read_in: makes the first stream of the input.
        blocks: each makes the next stream of the last.
    """

    def __init__(self, read_in: nn.Module, blocks: Iterable[nn.Module]) -> None:
        super().__init__()
        self.read_in = read_in
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The last stream of a batch of inputs, the first axis being that of inputs."""
        h = self.read_in(x)
        for block in self.blocks:
            h = block(h)
        return h
