"""The modules that a user means."""

import math

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.torch.models.choosing import choose_modules


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.act = nn.Linear(4, 4), nn.Tanh()

    def forward(self, x):
        return x + self.act(self.fc(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        parts = {"wte": nn.Linear(4, 4), "h": nn.ModuleList([Block(), Block(), Block()])}
        self.transformer, self.head = nn.ModuleDict(parts), nn.Linear(4, 2)

    def forward(self, x):
        x = self.transformer["wte"](x)
        for block in self.transformer["h"]:
            x = block(x)
        return self.head(x)


def stage(*blocks):
    return nn.Sequential(*blocks)


H = [f"transformer.h.{k}" for k in range(3)]


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("transformer.h.*", H),
        ("h.*", H),
        ("*.fc", [f"{h}.fc" for h in H]),
        ("**.fc", [f"{h}.fc" for h in H]),
        (["head", "transformer.h.1"], ["transformer.h.1", "head"]),
        (Block, H),
        (nn.Linear, ["transformer.wte", *(f"{h}.fc" for h in H), "head"]),
        ((Block, nn.ModuleDict), ["transformer", *H]),
        (lambda name, module: name.endswith("act"), [f"{h}.act" for h in H]),
        (None, H),
    ],
)
def test_choices(choice, names):
    assert list(choose_modules(Gpt(), choice).modules) == names


def test_stages_are_opened():
    model = nn.Sequential(nn.Linear(4, 4), stage(Block(), Block()), stage(Block()), nn.Linear(4, 2))
    assert list(choose_modules(model).modules) == ["1.0", "1.1", "2.0"]


def test_blocks_that_are_containers():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)))
    assert list(choose_modules(model).modules) == ["0", "1", "2"]
    assert choose_modules(model).entries


def test_without_blocks_dense_and_convolutional_layers():
    model = nn.Sequential(nn.Conv1d(1, 1, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4, 4), nn.ReLU())
    chosen = choose_modules(model)
    assert list(chosen.modules) == ["0", "3"] and not chosen.entries


def test_a_model_without_layers_is_a_place_itself():
    found = st.measure(nn.Tanh(), torch.ones(2, 3), probes=3)
    assert [place.name for place in found.places] == ["model"]
    assert found.places[0].apjn_forward == pytest.approx((1 - math.tanh(1) ** 2) ** 2, rel=1e-5)
