"""Initial weights: Gaussian, with variances that do not depend on the width."""

from __future__ import annotations

import math

from torch import nn


def draw(model: nn.Module, sigma_w: float, sigma_b: float) -> None:
    """Draw all dense and convolutional layers of a model from the random numbers of the process.

    Args:
        model: changed in place.
        sigma_w: weights have the variance sigma_w^2/fan_in.
        sigma_b: biases have the variance sigma_b^2.
    """
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            fan_in = module.weight[0].numel()
            nn.init.normal_(module.weight, std=sigma_w / math.sqrt(fan_in))
            if module.bias is not None:
                nn.init.normal_(module.bias, std=sigma_b)
