"""Derivatives of kernels, tile by tile: whatever the tiles and the threads, they are those of the whole matrix."""

import threading

import numpy as np
import pytest
import torch

import symres as sr
from symres.kernels import kernel_gradient
from symres.kernels.declared_network import declared_network
from symres.kernels.kernel_gradient import entry_derivatives, kernel_and_gradient, one_thread

VALUES = {"C_W": [1.5, 2.0, 1.2], "C_b": 0.1}
SEEDS = [("C_W", 0), ("C_W", 2), ("C_b", None)]


@pytest.fixture
def inputs():
    X = np.random.default_rng(2).standard_normal((23, 3))
    X[7] = X[2]
    return X


@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_make_the_matrix(inputs, threads, monkeypatch):
    network, before = declared_network("erf", 2), torch.get_num_threads()
    whole = kernel_and_gradient(network, 1, inputs, VALUES, SEEDS)
    monkeypatch.setattr(kernel_gradient, "PAIRS", 50)
    torch.set_num_threads(threads)
    try:
        tiles = kernel_and_gradient(network, 1, inputs, VALUES, SEEDS)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for found, expected in zip(tiles, whole, strict=True):
        assert np.allclose(found, expected, rtol=1e-13) and (found == np.swapaxes(found, 0, 1)).all()


@pytest.mark.parametrize("kernel", [0, 1])
def test_they_are_those_of_a_graph(inputs, kernel):
    """Against PyTorch's differentiation of the sum of a matrix with weights, which keeps the whole graph."""
    network = declared_network(sr.residual("relu"), 2)
    weights = torch.tensor(np.random.default_rng(3).standard_normal((23, 23)))
    leaves = {name: torch.tensor(value, dtype=torch.float64) for name, value in (("C_W", 1.7), ("C_b", 0.1))}
    for leaf in leaves.values():
        leaf.requires_grad_()
    module = sr.export(network, "torch").load()
    total = (weights * module.dual_kernel_matrix(torch.tensor(inputs), **leaves, gamma=0.7)[kernel]).sum()
    expected = torch.autograd.grad(total, list(leaves.values()))
    values = {"C_W": 1.7, "C_b": 0.1, "gamma": 0.7}
    _, found = kernel_and_gradient(network, kernel, inputs, values, [("C_W", None), ("C_b", None)])
    for place, number in enumerate(expected):
        assert (found[..., place] * weights.numpy()).sum() == pytest.approx(number.item(), rel=1e-11)


def test_arguments_of_any_shape(monkeypatch):
    monkeypatch.setattr(kernel_gradient, "PAIRS", 7)
    a, b, c = torch.rand(4, 1).double(), torch.rand(3).double(), torch.rand(2, 1, 1).double()
    matrix, slopes = entry_derivatives(lambda a, b, c: a * a * b + c, [a, b, c], [True, False, True], False)
    assert matrix.allclose(a * a * b + c) and slopes[1] is None
    assert slopes[0].allclose((2 * a * b).expand(2, 4, 3)) and slopes[2].equal(torch.ones(2, 4, 3).double())


def test_threads_are_given_back_whoever_leaves_first():
    before, entered, leave = torch.get_num_threads(), threading.Event(), threading.Event()

    def other():
        with one_thread():
            entered.set()
            leave.wait(10)

    torch.set_num_threads(2)
    try:
        thread = threading.Thread(target=other)
        with one_thread() as kept:
            assert kept == 2 and torch.get_num_threads() == 1
            thread.start()
            entered.wait(10)
        leave.set()
        thread.join()
        assert torch.get_num_threads() == 2
        with one_thread() as kept:
            assert kept == 2
    finally:
        torch.set_num_threads(before)


def test_a_network_is_declared_once():
    assert declared_network("relu", 2) is declared_network(sr.activation("relu"), 2)
    assert declared_network("relu", 2) is not declared_network("relu", 3)
