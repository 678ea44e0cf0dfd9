"""What is to be done with one block of a model: factors of weights, or a module around it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from .branch_conditions import BlockWeights
from .branch_weights import ScalableWeights
from .residual_places import ResidualPlace
from .scaled_block import ScaledBlock


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
