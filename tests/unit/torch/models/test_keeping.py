"""A model is as before, whatever was measured in it, and whatever went wrong."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.models.keeping import kept, seeded


class Restless(nn.Module):
    """Changes its weights, its buffers and its attributes in every pass."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 4, max_norm=0.5)
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.dense = nn.Linear(4, 3)
        self.seen, self.count = [], 0
        self.fails = False

    def forward(self, ids):
        x = self.drop(self.norm(self.embed(ids)))
        self.seen.append(x)
        self.count += 1
        self.last = x
        if self.fails and self.count > 2:
            raise ArithmeticError("no more")
        return self.dense(x)


def state(model):
    return {
        "weights": {name: (id(p), p.data_ptr(), p.clone()) for name, p in model.state_dict(keep_vars=True).items()},
        "gradients": {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()},
        "wanted": [p.requires_grad for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "hooks": [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()],
        "attributes": [sorted(module.__dict__) for module in model.modules()],
        "own": (list(model.seen), model.count),
    }


def assert_equal(first, second):
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_equal(first[key], second[key])
    elif isinstance(first, (list, tuple)):
        assert len(first) == len(second)
        for a, b in zip(first, second, strict=True):
            assert_equal(a, b)
    elif isinstance(first, torch.Tensor):
        assert torch.equal(first, second)
    else:
        assert first == second


@pytest.fixture
def restless():
    torch.manual_seed(0)
    model = Restless()
    model.embed.weight.data *= 10  # beyond the norm that a pass would enforce
    model.dense.bias.requires_grad_(False)
    model.dense.weight.grad = torch.ones_like(model.dense.weight)
    model.drop.eval()
    model.norm.register_forward_hook(lambda *_: None)
    return model


@pytest.mark.parametrize("mode", ["train", "eval", None])
@pytest.mark.parametrize("dtype", [None, torch.float64])
@pytest.mark.parametrize("fails", [False, True])
def test_all_is_as_before(restless, mode, dtype, fails):
    restless.fails = fails
    ids = torch.tensor([0, 1, 2, 3])
    before, generators = state(restless), (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())
    if fails:
        with pytest.raises(ArithmeticError):
            st.measure(restless, ids, nn.Linear, mode=mode, dtype=dtype, probes=2)
    else:
        with pytest.warns(UserWarning):
            st.measure(restless, ids, nn.Linear, mode=mode or "train", dtype=dtype, probes=2, loss=lambda y: y.mean())
    assert_equal(before, state(restless))
    assert torch.equal(generators[0], torch.get_rng_state())
    assert (generators[1] == np.random.get_state()[1]).all() and generators[2] == random.getstate()


def test_inputs_that_a_model_changes_are_as_before():
    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.Linear(3, 3)

        def forward(self, x):
            return self.dense(x.add_(1))

    inputs = torch.ones(2, 3)
    st.measure(Shift(), {"x": inputs}, probes=1)
    assert torch.equal(inputs, torch.ones(2, 3))


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    with kept(model, train=None, dtype=torch.float64, device=None):
        assert model[1].weight is model[0].weight and model[0].weight.dtype == torch.float64
    assert model[1].weight is model[0].weight and model[0].weight.dtype == torch.float32


def test_inside_weights_are_copies_without_gradients():
    model = nn.Sequential(nn.Linear(2, 2))
    before = copy.deepcopy(model[0].weight)
    with kept(model, train=False, dtype=None, device=None):
        assert not model[0].weight.requires_grad and not model.training
        model[0].weight.zero_()
    assert torch.equal(model[0].weight, before) and model.training and model[0].weight.requires_grad


def test_lazy_weights_are_refused_by_name():
    with pytest.raises(DeclarationError, match=r"0\.weight has no shape"):
        st.measure(nn.Sequential(nn.LazyLinear(3)), torch.ones(2, 3))


def test_random_numbers_go_on():
    torch.manual_seed(1)
    expected = torch.rand(2)
    torch.manual_seed(1)
    with seeded(7):
        inside = torch.rand(2)
    assert torch.equal(torch.rand(2), expected)
    torch.manual_seed(7)
    assert torch.equal(torch.rand(2), inside)
