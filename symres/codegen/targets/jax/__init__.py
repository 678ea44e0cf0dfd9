"""JAX modules, differentiable and traceable: ``target`` says what they are, ``components`` is the code."""

from .target import TARGET as TARGET
