"""Places: modules that are called several times or never, structures of tensors, and warnings that name modules."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.models.call_arguments import first_tensor
from tests.oracles.torch_blocks import Computed

Pair = namedtuple("Pair", ["left", "right"])


@dataclass
class Output:
    ids: torch.Tensor
    hidden: torch.Tensor


def test_calls_are_counted_and_idle_modules_named():
    model = Computed(lambda x, fc, last, spare: last(fc(fc(x))), *(nn.Linear(3, 3) for _ in range(3)))
    with pytest.warns(UserWarning, match=r"no tensor comes from layers\.2"):
        found = st.measure(model, torch.randn(2, 3), probes=3)
    assert [place.name for place in found.places] == ["layers.0#1", "layers.0#2", "layers.1"]


X, Y, IDS = torch.ones(2), torch.zeros(2), torch.tensor([1])


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
    def forward(x, inner, dense):
        return output(dense(first_tensor(inner(x))))

    model = Computed(forward, Computed(lambda x: output(torch.tanh(x))), nn.Linear(3, 3)).double()
    inputs = torch.randn(2, 3, dtype=torch.float64)
    found = st.measure(model, inputs, "layers.*", start="layers.0", exact=True)
    dense = found["layers.1"].apjn_forward
    assert dense == pytest.approx(float(found["layers.0"].apjn_backward), rel=1e-12) and dense > 0


def test_places_without_an_axis_of_inputs_are_left_out():
    def flat(x, positions, dense):
        return dense(x + positions(torch.arange(3)))

    model, inputs = Computed(flat, nn.Embedding(3, 4), nn.Linear(4, 4)), torch.randn(2, 3, 4)
    with pytest.warns(UserWarning, match=r"layers\.0 is left out: its shape \(3, 4\)"):
        found = st.measure(model, inputs, "layers.*", probes=1)
    assert [place.name for place in found.places] == ["layers.1"]
    with pytest.raises(DeclarationError, match="none of the chosen modules"):
        st.measure(model, inputs, "layers.0", probes=1)


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
    def frozen(x, fc, last):
        with torch.no_grad():
            hidden = fc(x)
        return last(x + hidden)

    with pytest.warns(UserWarning, match="no norms to the output from layers.0: torch.no_grad or a checkpoint hides"):
        found = st.measure(Computed(frozen, nn.Linear(3, 3), nn.Linear(3, 3)), torch.randn(2, 3), probes=3)
    assert np.isnan(found["layers.0"].apjn_backward) and found["layers.1"].apjn_backward == pytest.approx(1)


def test_dropout_in_train_mode_is_named():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 400), nn.Dropout(0.25), nn.Linear(400, 400))
    with pytest.warns(UserWarning, match=r"dropout is active in 1:.*mode='eval'"):
        found = st.measure(model, torch.randn(20, 3), mode="train", modules="*", probes=4)
    # a mask keeps 3/4 of the entries and scales them by 4/3
    assert found["1"].apjn_forward / found["0"].apjn_forward == pytest.approx(4 / 3, rel=0.05)
    quiet = st.measure(model, torch.randn(20, 3), modules="*", probes=1)
    assert quiet["1"].kernel == quiet["0"].kernel and not quiet.notes


def test_statistics_that_were_never_learned_are_named():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    with pytest.warns(UserWarning, match="1 normalises by running statistics that were never updated"):
        st.measure(model, torch.randn(4, 3), probes=1)


class Broken(nn.Module):
    def forward(self, x):
        return x / 0


@pytest.mark.parametrize(
    ("build", "inputs", "words"),
    [
        (
            lambda: nn.Sequential(nn.Linear(3, 3), Broken(), nn.Linear(3, 3)),
            torch.ones(2, 3),
            r"output of 1 \(Broken\)",
        ),
        (lambda: nn.Sequential(nn.Linear(3, 3)), torch.full((2, 3), math.nan), "in the inputs"),
    ],
)
def test_numbers_that_are_not_finite_are_located(build, inputs, words):
    with pytest.warns(UserWarning, match=words) as caught:
        found = st.measure(build(), inputs, nn.Linear, probes=1)
    assert [each.category for each in caught].count(UserWarning) == 1
    assert math.isnan(found.places[-1].kernel)
    assert found.plot() is not None and found.to_dict()["places"][-1]["kernel"] is None


def test_weights_that_are_not_finite_are_named():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].bias.data[0] = math.inf
    with pytest.warns(UserWarning, match=r"in the weights 1\.bias"):
        st.measure(model, torch.ones(2, 3), probes=1)
