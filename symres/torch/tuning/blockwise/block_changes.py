"""What is to be done with one block of a model: factors of weights, or a module around it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ...models.structures import first_tensor, with_first_tensor
from .branch_conditions import BlockWeights
from .branch_weights import ScalableWeights
from .residual_places import ResidualPlace


class ScaledBlock(nn.Module):
    """``z' = gamma z + xi (block(z) - z)``, for any block that keeps the shape of its first tensor.

    Args:
        block: any module; ``block`` is a prefix of its keys in the state dictionary.
        gamma: weight of the stream; a buffer, that is saved and not trained.
        xi: weight of the branch, likewise.

    Examples:
        >>> class Tripled(torch.nn.Module):
        ...     def forward(self, x):
        ...         return 3*x
        >>> st.ScaledBlock(Tripled(), gamma=0.5, xi=0.25)(torch.ones(2))  # 0.5 + 0.25*(3 - 1)
        tensor([1., 1.])
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


@dataclass(frozen=True)
class BlockChange:
    """What is to be done with one block of the model itself.

    Args:
        place: the block.
        weights: gamma and xi.
        branch: what is multiplied by xi; None: the block is wrapped.
        skip: what is multiplied by gamma over its present value; None: nothing.
        skip_before: that value.
    """

    place: ResidualPlace
    weights: BlockWeights
    branch: ScalableWeights | None
    skip: ScalableWeights | None
    skip_before: float

    def scale(self) -> None:
        """Multiply the weights, in place."""
        if self.branch is not None:
            self.branch.multiply(float(self.weights.xi))
        if self.skip is not None:
            self.skip.multiply(float(self.weights.gamma) / self.skip_before)

    def apply(self, model: nn.Module) -> nn.Module:
        """Change the model in place; returns it, or the wrapped block where the model itself is the block."""
        self.scale()
        if self.branch is not None:
            return model
        wrapped = ScaledBlock(self.place.module, float(self.weights.gamma), float(self.weights.xi))
        for parent in list(model.modules()):
            for name, child in parent._modules.items():
                if child is self.place.module:
                    parent._modules[name] = wrapped
        return wrapped if model is self.place.module else model
