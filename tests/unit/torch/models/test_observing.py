"""Places: modules that are called several times or never, and structures of tensors."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.models.structures import first_tensor, mapped, with_first_tensor

Pair = namedtuple("Pair", ["left", "right"])


@dataclass
class Output:
    ids: torch.Tensor
    hidden: torch.Tensor


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.spare, self.last = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.fc(self.fc(x)))


def test_calls_are_counted_and_idle_modules_named():
    with pytest.warns(UserWarning, match="no tensor comes from spare"):
        found = st.measure(Shared(), torch.randn(2, 3), probes=3)
    assert [place.name for place in found.places] == ["fc#1", "fc#2", "last"]


X, Y, IDS = torch.ones(2), torch.zeros(2), torch.tensor([1])


@pytest.mark.parametrize(
    "value",
    [
        X,
        (IDS, X),
        [IDS, [X]],
        {"ids": IDS, "x": X},
        OrderedDict(x=X),
        Pair(IDS, (None, X)),
        Output(IDS, X),
        (None, 3, {"a": [IDS], "b": Output(IDS, X)}),
    ],
)
def test_the_first_tensor_is_found_and_replaced(value):
    assert first_tensor(value) is X
    changed = with_first_tensor(value, Y)
    assert type(changed) is type(value) and first_tensor(changed) is Y and first_tensor(value) is X
    doubled = mapped(value, lambda t: t * 2)
    assert type(doubled) is type(value) and torch.equal(first_tensor(doubled), 2 * X) and first_tensor(value) is X


@pytest.mark.parametrize(
    "output",
    [
        lambda x: (None, x),
        lambda x: {"ids": IDS, "x": x},
        lambda x: Pair(x, IDS),
        lambda x: Output(IDS, x),
    ],
)
def test_places_give_tensors_inside_of_structures(output):
    class Inner(nn.Module):
        def forward(self, x):
            return output(torch.tanh(x))

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.dense = Inner(), nn.Linear(3, 3)

        def forward(self, x):
            return output(self.dense(first_tensor(self.inner(x))))

    inputs = torch.randn(2, 3, dtype=torch.float64)
    found = st.measure(Outer().double(), inputs, ["inner", "dense"], start="inner", exact=True)
    dense = found["dense"].apjn_forward
    assert dense == pytest.approx(float(found["inner"].apjn_backward), rel=1e-12) and dense > 0


class Flat(nn.Module):
    """A part without an axis of inputs."""

    def __init__(self):
        super().__init__()
        self.positions, self.dense = nn.Embedding(3, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.dense(x + self.positions(torch.arange(3)))


def test_places_without_an_axis_of_inputs_are_left_out():
    with pytest.warns(UserWarning, match=r"positions is left out: its shape \(3, 4\)"):
        found = st.measure(Flat(), torch.randn(2, 3, 4), ["positions", "dense"], probes=1)
    assert [place.name for place in found.places] == ["dense"]
    with pytest.raises(DeclarationError, match="none of the chosen modules"):
        st.measure(Flat(), torch.randn(2, 3, 4), "positions", probes=1)
