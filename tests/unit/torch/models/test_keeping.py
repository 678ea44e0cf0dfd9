"""A model is as before, whatever was measured in it, and whatever went wrong."""

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.models.keeping import kept, seeded
from tests.torch_state import untouched


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
    ids, seen = torch.tensor([0, 1, 2, 3]), (list(restless.seen), restless.count)
    with untouched(restless, ids):
        if fails:
            with pytest.raises(ArithmeticError):
                st.measure(restless, ids, nn.Linear, mode=mode, dtype=dtype, probes=2)
        else:
            loss = torch.mean
            with pytest.warns(UserWarning):
                st.measure(restless, ids, nn.Linear, mode=mode or "train", dtype=dtype, probes=2, loss=loss)
    assert (restless.seen, restless.count) == seen


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    with kept(model, dtype=torch.float64):
        assert model[1].weight is model[0].weight and model[0].weight.dtype == torch.float64
    assert model[1].weight is model[0].weight and model[0].weight.dtype == torch.float32


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
