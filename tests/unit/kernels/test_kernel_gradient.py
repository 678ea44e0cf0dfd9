"""Derivatives of kernels, tile by tile: whatever the tiles and the threads, they are those of the whole matrix."""

import threading

import numpy as np
import pytest
import torch

import symres as sr
from symres.kernels import kernel_gradient
from symres.kernels.declared_network import declared_network
from symres.kernels.kernel_gradient import kernel_and_gradient, one_thread

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
