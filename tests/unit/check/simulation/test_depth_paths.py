"""Kernels and Jacobians of single networks along their depth, against what is known of linear and ReLU networks."""

import numpy as np
import pytest

import symres as sr
from symres.check.simulation.depth_paths import depth_paths


def test_relu_networks_grow_by_half_of_the_weight_variance():
    kernels, jacobians = depth_paths(sr.mlp("relu"), {sr.C_W: 2.2, sr.C_b: 0.0}, 3.0, 4, 200, 400, seed=1)
    assert kernels.shape == jacobians.shape == (400, 5)
    for found, start in ((kernels, 3.0), (jacobians, 1.0)):
        error = found.std(axis=0, ddof=1) / np.sqrt(400)
        assert np.all(np.abs(found.mean(axis=0) - start * 1.1 ** np.arange(5)) <= 4 * error + 1e-12)


def test_they_are_the_same_for_one_seed():
    arguments = sr.residual("tanh"), {sr.C_W: 1.0, sr.C_b: 0.1, sr.gamma: 0.5}, 1.0, 3, 32, 4
    one, other, next_ = depth_paths(*arguments), depth_paths(*arguments), depth_paths(*arguments, seed=1)
    assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])
    assert not np.array_equal(one[0], next_[0])


def test_a_batch_is_normalised_over_its_inputs():
    """Dense(BatchNorm(z)): the kernel becomes C_W whatever it was."""
    layer = sr.Layer(sr.Dense(sr.BatchNorm(sr.z)))
    kernels, _ = depth_paths(layer, {sr.C_W: 3.0, sr.C_b: 0.0}, 50.0, 1, 400, 50, batch=True)
    assert kernels[:, 1].mean() == pytest.approx(3.0, rel=0.02)
