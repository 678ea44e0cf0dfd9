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


@pytest.mark.parametrize(
    ("parts", "names", "entered"),
    [
        # stages are opened; blocks may be containers; without blocks: dense and convolutional layers
        ([nn.Linear(4, 4), stage(Block(), Block()), stage(Block()), nn.Linear(4, 2)], ["1.0", "1.1", "2.0"], True),
        ([stage(nn.Linear(4, 4), nn.Tanh()) for _ in range(3)], ["0", "1", "2"], True),
        ([nn.Conv1d(1, 1, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4, 4), nn.ReLU()], ["0", "3"], False),
    ],
)
def test_what_is_chosen_where_nothing_is_named(parts, names, entered):
    chosen = choose_modules(nn.Sequential(*parts))
    assert list(chosen.modules) == names and chosen.entered == (frozenset(names) if entered else frozenset())


def test_a_model_without_layers_is_a_place_itself():
    found = st.measure(nn.Tanh(), torch.ones(2, 3), probes=3)
    assert [place.name for place in found.places] == ["model"]
    assert found.places[0].apjn_forward == pytest.approx((1 - math.tanh(1) ** 2) ** 2, rel=1e-5)
