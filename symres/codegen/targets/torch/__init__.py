"""PyTorch modules, differentiable in every argument: ``target`` says what they are, ``components`` is the code."""

from .target import TARGET as TARGET
