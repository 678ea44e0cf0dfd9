"""Which modules are blocks, which are branches, and which sum a branch belongs to."""

import copy

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from tests.oracles.torch_blocks import ConvBlock, DenseBlock


class InPlaceSums(nn.Module):
    """The stream is changed in place, in both spellings, and so is the branch."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)) for _ in range(3))

    def forward(self, x):
        x = x * 1
        x += self.a(x)
        x.add_(self.b(x))
        branch = self.c(x)
        branch += x
        return branch


def test_sums_in_place():
    torch.manual_seed(0)
    plain, x = InPlaceSums(), torch.randn(32, 8)
    for target in ("gradient", "apjn", "size"):
        model, stream = copy.deepcopy(plain), x
        report = st.tune_(model, x, ["a", "b", "c"], growth=8, target=target, progress=False)
        assert [(part.name, part.kind) for part in report.parts] == [(name, "branch") for name in "abc"]
        for part in report.parts:
            branch, scaled = (getattr(each, part.name) for each in (plain, model))
            torch.testing.assert_close(scaled(stream), float(part.xi) * branch(stream))
            after = (stream + scaled(stream)).detach()
            grown = float(after.square().mean() / stream.square().mean())
            assert abs(grown / part.growth_after - 1) < 1e-5
            stream = after
        torch.testing.assert_close(model(x), stream)


class Stages(nn.Module):
    """Residual blocks and one between them that changes the shape."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            *(ConvBlock(4), ConvBlock(4)), nn.Sequential(nn.Conv2d(4, 6, 2), nn.ReLU()), *(ConvBlock(6), ConvBlock(6))
        )
        self.twin = nn.Sequential(nn.Sequential(nn.Conv2d(6, 6, 1), nn.ReLU()))

    def forward(self, x):
        return self.twin(self.blocks(x))


@pytest.mark.exhaustive
def test_unnamed_modules_that_are_no_blocks_are_left_out():
    torch.manual_seed(0)
    model, x = Stages(), torch.randn(6, 4, 6, 6)
    with pytest.warns(UserWarning, match=r"keeps the shape: blocks\.2, twin\.0$"):
        report = st.tune_(model, x, wrap=True, gamma=0.9, target="apjn", mode="train", progress=False)
    assert [part.name for part in report.parts] == [f"blocks.{number}" for number in (0, 1, 3, 4)]
    assert len(report.notes) == 1


def test_a_block_under_two_names_is_not_tuned_twice():
    model = nn.ModuleDict({"used": nn.Sequential(DenseBlock(8), DenseBlock(8))})
    model["alias"] = nn.ModuleList(model["used"])
    model.forward = model["used"].forward
    with pytest.raises(DeclarationError, match=r"the tuning of used\.0: it is part of another chosen module"):
        st.tune_(model, torch.randn(4, 8), growth=2, progress=False)
