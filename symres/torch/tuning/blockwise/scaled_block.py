"""A module around a residual block that weighs its skip connection and its branch."""

from __future__ import annotations

import torch
from torch import nn

from ...models.structures import first_tensor, with_first_tensor


class ScaledBlock(nn.Module):
    """``z' = gamma z + xi (block(z) - z)``, for any block that keeps the shape of its first tensor.

    Args:
        block: any module; ``block`` is a prefix of its keys in the state dictionary.
        gamma: weight of the stream; a buffer, that is saved and not trained.
        xi: weight of the branch, likewise.
    """

    gamma: torch.Tensor
    xi: torch.Tensor

    def __init__(self, block: nn.Module, gamma: float, xi: float) -> None:
        super().__init__()
        self.block = block
        like = next((p for p in block.parameters() if p.is_floating_point()), torch.empty(0))
        dtype = torch.float64 if like.dtype == torch.float64 else torch.float32  # no narrower: it does not promote
        self.register_buffer("gamma", torch.tensor(gamma, dtype=dtype, device=like.device))
        self.register_buffer("xi", torch.tensor(xi, dtype=dtype, device=like.device))
        self.train(block.training)

    def forward(self, *args: object, **kwargs: object) -> object:
        """What the block returns, its first tensor replaced by the weighted sum."""
        stream = first_tensor((args, kwargs))
        assert stream is not None
        kept = stream.clone()  # the block may change in place what enters it
        output = self.block(*args, **kwargs)
        result = first_tensor(output)
        assert result is not None
        return with_first_tensor(output, self.gamma * kept + self.xi * (result - kept))

    def extra_repr(self) -> str:
        """The weights, for ``print``."""
        return f"gamma={float(self.gamma):.6g}, xi={float(self.xi):.6g}"
