"""Inputs of models that several tests of this room have."""

import pytest
import torch


@pytest.fixture(scope="module")
def vectors():
    return torch.randn(16, 20, generator=torch.Generator().manual_seed(1))
