"""Errors where inputs share the statistics of their batch, against the scatter of independent batches."""

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.torch.tuning.weight_forms import drawn_signs, left_out_in_turn
from tests.oracles.torch_blocks import ConvBlock


def test_an_input_keeps_its_signs_when_others_are_left_out():
    kept = np.array([True, False, True, False, False, True])
    whole = drawn_signs((1, 2), None, torch.empty(6, 3, 2))
    assert torch.equal(drawn_signs((1, 2), kept, torch.empty(3, 3, 2)), whole[[0, 2, 5]])
    windows = drawn_signs((1, 2), None, torch.empty(12, 3))  # two pieces of each input
    assert torch.equal(drawn_signs((1, 2), kept, torch.empty(6, 3)), windows[[0, 1, 4, 5, 10, 11]])


def test_each_input_is_left_out_once():
    model = nn.BatchNorm1d(3).train()
    subsets = left_out_in_turn(model, 20)
    assert len(subsets) == 8 and np.array_equal(np.sum(np.logical_not(subsets), axis=0), np.ones(20))
    assert left_out_in_turn(model.eval(), 20) == [] and left_out_in_turn(model.train(), 3) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["blocks", "layers"])
def test_errors_are_the_scatter_of_independent_batches(kind):
    torch.manual_seed(0)
    layers = nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 2)
    model = nn.Sequential(*([ConvBlock(4)] if kind == "blocks" else layers))
    how = {"blocks": "0", "wrap": True, "gamma": 0.9} if kind == "blocks" else {"layers": nn.Conv2d}
    how |= {"mode": "train", "probes": 4, "dry_run": True, "progress": False}
    parts = [st.tune_(model, torch.randn(12, 4, 4, 4), seed=seed, **how).parts[-1] for seed in range(30)]
    spread = np.std([float(part.chi_before) for part in parts], ddof=1)
    stated = np.sqrt(np.mean([part.chi_before.error**2 for part in parts]))
    assert 0.85 < stated / spread < 1.5  # 30 batches tell the spread to 13 %, standard deviation
