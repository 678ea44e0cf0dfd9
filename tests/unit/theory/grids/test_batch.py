"""Batches of images as they are: kernels and changes beside wide random layers that normalise over a batch."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import symres as sr
from symres.layers.grids import Listed
from symres.theory.grids.batch import Batch
from symres.theory.grids.grid_law import GridLaw, State
from symres.theory.grids.stretches import stretches

WIDTH, INPUTS, SIDE = 4096, 6, 4
LAYER = sr.layer("z + Conv(relu(BatchNorm(z)), 2, 0)")


def images(count):
    """Covariances of pixels that differ from pixel to pixel and from input to input, with a mean image."""
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(count * SIDE**2, 40)) * rng.uniform(0.5, 2, size=(count * SIDE**2, 1))
    common = np.tile(rng.normal(size=(SIDE**2, 40)), (count, 1))
    return (drawn + 0.5 * common) @ (drawn + 0.5 * common).T / 40


def law(kernel, followed, inputs):
    grid = Batch(Listed(SIDE, SIDE), followed, inputs)
    return GridLaw(stretches(LAYER, False), State(grid, kernel), {})


@pytest.fixture(scope="module")
def drawn():
    """Neurons of a wide layer, and what its slopes make of changes that are independent everywhere."""
    generator = torch.Generator().manual_seed(0)
    kernel = torch.tensor(images(INPUTS))
    root = torch.linalg.cholesky(kernel + 1e-9 * torch.eye(len(kernel), dtype=torch.float64))

    def stream():
        neurons = torch.randn(WIDTH, len(kernel), generator=generator, dtype=torch.float64) @ root.T
        return neurons.T.reshape(INPUTS, SIDE, SIDE, WIDTH).permute(0, 3, 1, 2)

    norm = nn.BatchNorm2d(WIDTH, affine=False, eps=1e-12, track_running_stats=False).double()
    conv = nn.Conv2d(WIDTH, 256, 3, padding=1, bias=False).double()
    nn.init.normal_(conv.weight, std=math.sqrt(2 / conv.weight[0].numel()), generator=generator)
    z, change = stream(), torch.randn(INPUTS, WIDTH, SIDE, SIDE, generator=generator, dtype=torch.float64)
    _, moved = torch.func.jvp(lambda u: conv(torch.relu(norm(u))), (z,), (change,))
    return conv(torch.relu(norm(z))).detach().square().mean(1).ravel(), moved.detach().square().mean(1).ravel()


def test_kernels_and_changes_are_those_of_a_wide_layer(drawn):
    """The mean over positions within 4 %, which 256 neurons scatter by; each position follows."""
    kernels, changes = (values.numpy() for values in drawn)
    of = law(images(INPUTS), INPUTS, INPUTS)
    theory = of.next.kernel.diagonal() - images(INPUTS).diagonal()
    assert theory.mean() == pytest.approx(kernels.mean(), rel=0.04)
    assert np.corrcoef(theory, kernels)[0, 1] > 0.9
    moved = of.tangent(np.eye(len(theory))).diagonal() - 1
    assert moved.mean() == pytest.approx(changes.mean(), rel=0.04)
    (variance,) = of.batch_variances.values()
    assert 0.02 < variance < 0.2
    assert moved.mean() * (1 - variance) < 0.96 * changes.mean()  # the test sees the fluctuating variances


def test_some_inputs_stand_for_all():
    """Six inputs that are alike on average, of which two are followed: their averages over the batch agree."""
    alike = np.full((INPUTS, INPUTS), 0.3) + 0.7 * np.eye(INPUTS)
    inside = np.full((SIDE**2, SIDE**2), 0.5) + 0.5 * np.eye(SIDE**2)
    kernel = np.kron(alike, inside)
    every, some = law(kernel, INPUTS, INPUTS), law(kernel[: 2 * SIDE**2, : 2 * SIDE**2], 2, INPUTS)
    assert some.next.kernel == pytest.approx(every.next.kernel[: 2 * SIDE**2, : 2 * SIDE**2], rel=1e-12)
    assert some.batch_variances == pytest.approx(every.batch_variances, rel=1e-12)
