"""Places: modules that are called several times or never, and structures of tensors."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

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


def test_a_loss_in_front_of_the_outputs_is_passed_over():
    loss = X.mean()
    assert first_tensor({"loss": loss, "logits": X}) is X
    assert first_tensor((loss,)) is loss


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


def test_places_inside_of_fused_encoders_are_seen():
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()
    found = st.measure(model, torch.randn(2, 3, 4), "**.linear1", probes=2)
    assert [place.name for place in found.places] == ["layers.0.linear1", "layers.1.linear1"]


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.h = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2))
        self.reentrant = reentrant

    def forward(self, x):
        for block in self.h:
            x = block(x) if self.reentrant is None else checkpoint(block, x, use_reentrant=self.reentrant)
        return x


@pytest.mark.filterwarnings("ignore:None of the inputs:UserWarning")
def test_checkpoints_change_nothing_or_are_named():
    torch.manual_seed(0)
    plain, inputs = Checkpointed(None).double(), torch.randn(2, 4).double()
    expected = st.measure(plain, inputs, "h.*.0", exact=True).frame()
    columns = ["kernel", "apjn_forward", "apjn_backward"]
    plain.reentrant = False
    found = st.measure(plain, inputs, "h.*.0", exact=True).frame()
    np.testing.assert_allclose(found[columns], expected[columns], rtol=1e-12)
    plain.reentrant = True
    with pytest.raises(DeclarationError, match="use_reentrant=False"):
        st.measure(plain, inputs, "h.*.0", exact=True)


def test_places_without_a_graph_are_named():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.last = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            with torch.no_grad():
                hidden = self.fc(x)
            return self.last(x + hidden)

    with pytest.warns(UserWarning, match="no norms to the output from fc: torch.no_grad or a checkpoint hides"):
        found = st.measure(Frozen(), torch.randn(2, 3), probes=3)
    assert np.isnan(found["fc"].apjn_backward) and found["last"].apjn_backward == pytest.approx(1)
