"""Closed forms and networks in PyTorch never wait for a GPU: seen without one, on tensors that have no data.

Whoever asks for a number of them is refused. Values are computed on tensors that believe to lie on a GPU, which shows
copies to it; gradients and networks on tensors of no device, since PyTorch's engine and its indexing look for one.
"""

import inspect

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from symres.report.export import export
from tests.shared import derived


class Copies(TorchDispatchMode):
    """Refuses copies from one device to another that the program waits for."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function is torch.ops.aten._to_copy.default and not options.get("non_blocking"):
            assert options.get("device", arguments[0].device) == arguments[0].device, "a copy between devices"
        return function(*arguments, **options)


def on_gpu(run):
    with FakeTensorMode(), Copies(), torch.no_grad():
        run(lambda *shape: torch.rand(shape, dtype=torch.float64, device="cuda"))


def without_data(run):
    run(lambda *shape: torch.rand(shape, dtype=torch.float64, device="meta", requires_grad=True))


def value_and_gradients(function, *tensors, **numbers):
    found = function(*tensors, **numbers)
    if tensors[0].requires_grad:
        sum(a.sum() for a in (found if isinstance(found, tuple) else (found,))).backward()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["gelu", "relu", "erf", "sin", "abs", "cos", "hard_sigmoid"])
def test_closed_forms(name):
    module = export(derived(name).covariance_map, "torch").load()
    numbers = dict.fromkeys(list(inspect.signature(module.covariance_map).parameters)[3:], 0.5)
    for place in (on_gpu, without_data):
        place(lambda new: value_and_gradients(module.covariance_map, new(4, 1), new(4), new(4, 4), **numbers))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["relu", "gelu", "erf", "sin"])
def test_networks(name):
    module = export(derived(name).network(2), "torch").load()
    without_data(lambda new: value_and_gradients(module.dual_kernel_matrix, new(4, 3), new(2, 3), C_W=1.5, C_b=0.1))
    without_data(lambda new: value_and_gradients(module.dual_kernel, new(4, 1), new(4), new(4, 4), C_W=1.5, C_b=0.1))


@pytest.mark.parametrize(
    "wait", [lambda a: torch.tensor(1.0, device=a.device), lambda a: bool((a > 0.5).any()), lambda a: a.nonzero()]
)
def test_what_waits_is_seen(wait):
    with pytest.raises((AssertionError, DataDependentOutputException, RuntimeError)):
        on_gpu(lambda new: wait(new(3)))
