"""That measuring, reading or tuning leaves a PyTorch model and the random numbers of the process as they were."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn


@contextmanager
def untouched(model: nn.Module, *inputs: torch.Tensor, tensors: bool = True) -> Iterator[None]:
    """Asserts that a model is after the block as before, whatever error the block has caught.

    Weights are the same objects with the same values, gradients, modes, hooks and attributes; random numbers of
    PyTorch, NumPy and Python go on. With ``tensors=False`` values may change, and what is drawn for them.
    """
    before = _state(model, inputs, tensors)
    yield
    _assert_equal(before, _state(model, inputs, tensors))


def _state(model: nn.Module, inputs: tuple[torch.Tensor, ...], tensors: bool) -> dict[str, Any]:
    state = {
        "wanted": {name: (id(p), p.dtype, p.requires_grad) for name, p in model.named_parameters()},
        "gradients": {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()},
        "modes": [module.training for module in model.modules()],
        "hooks": [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()],
        "attributes": [sorted(module.__dict__) for module in model.modules()],
        "inputs": [tensor.clone() for tensor in inputs],
    }
    if tensors:
        state["tensors"] = {name: (t.data_ptr(), t.clone()) for name, t in model.state_dict().items()}
        state["random"] = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    return state


def _assert_equal(first: Any, second: Any) -> None:
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            _assert_equal(first[key], second[key])
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            _assert_equal(one, other)
    elif isinstance(first, torch.Tensor):
        assert first.shape == second.shape
        assert bool(((first == second) | (first.isnan() & second.isnan())).all())
    else:
        assert first == second
