"""Warnings about dropout, idle statistics and numbers that are not finite name the module."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st


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
