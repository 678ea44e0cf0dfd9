"""Mistakes in the code of a model."""

import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError


class Divides(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (1 // 0)


@pytest.mark.parametrize("use", [st.measure, st.tune_])
def test_they_are_one_clear_error(use):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), Divides(4, 4))
    with pytest.raises(DeclarationError, match="a pass of Sequential: it raised ZeroDivisionError"):
        use(model, torch.randn(3, 4))
