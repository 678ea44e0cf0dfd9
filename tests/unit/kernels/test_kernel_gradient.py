"""Derivatives of kernels, tile by tile: whatever the tiles and the threads, they are those of the whole matrix."""

import threading

import numpy as np
import pytest
import torch

import symres as sr
from symres.core.errors import DeclarationError
from symres.kernels import ZonalKernel, kernel_gradient
from symres.kernels.kernel_arguments import declared_network
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


def relu_recursion(rho, depth):
    """Cho and Saul's recursion at C_W = 2, C_b = 0 on the unit sphere, and the tangent kernel."""
    theta = np.zeros_like(rho)
    for _ in range(depth):
        angle = np.arccos(np.clip(rho, -1.0, 1.0))
        slope = 1.0 - angle / np.pi
        rho = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
        theta = rho + slope * theta
    return rho, theta


@pytest.mark.parametrize("depth", [2, 60])
def test_deep_relu(depth):
    kernel = ZonalKernel(sr.export(sr.network(["relu"] * depth)), C_W=2, C_b=0)
    rho = np.cos(np.random.default_rng(0).uniform(0.0, np.pi, (40, 30)))
    for found, exact in zip(kernel(rho), relu_recursion(rho, depth), strict=True):
        assert found.shape == rho.shape
        assert np.abs(found - exact).max() <= 2 * kernel.error * np.abs(exact).max() + 1e-13 * depth**2
    assert kernel.error <= 1e-10
    assert [float(a) for a in kernel(1.0 + 1e-14)] == pytest.approx([1.0, depth], rel=1e-9)


def test_matrices_of_inputs_are_those_of_the_network():
    module, weights = sr.export(sr.network(["relu", "erf", "relu"])), {"C_W": [1.5, 2.0, 1.7], "C_b": 0.1}
    X = np.random.default_rng(1).standard_normal((30, 5))
    X *= np.sqrt(5 * 0.8) / np.linalg.norm(X, axis=1, keepdims=True)
    X[3], X[5] = X[4], -X[6]
    kernel = ZonalKernel(module, 0.8, tolerance=1e-11, **weights)
    for given in ((X,), (X, X[:7]), (X.astype(np.float32),)):
        for found, exact in zip(
            kernel.matrix(*given), module.load().dual_kernel_matrix(*given, **weights), strict=True
        ):
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 if len(given[0][0].tobytes()) == 20 else 1e-10)
    assert kernel.matrix(X)[1][3, 4] == kernel.matrix(X)[1][3, 3]


@pytest.mark.parametrize(
    "layers", [["relu", "erf", "relu"], ["relu"] * 4, pytest.param(["gelu", "tanh"], marks=pytest.mark.exhaustive)]
)
def test_the_stated_error_is_exceeded_nowhere(layers):
    """In the first and last pieces, where a spline has no neighbour, it is largest beside the middle."""
    module = sr.export(sr.network(layers))
    kernel = ZonalKernel(module, C_W=2, C_b=0.1)
    near = np.geomspace(1e-7, 0.05, 20000)
    angles = np.concatenate([near, np.pi - near, np.random.default_rng(3).uniform(0.0, np.pi, 20000)])
    rho = np.concatenate([[0.9999994036905414], np.cos(angles)])
    exact = module.load().dual_kernel(1.0, 1.0, rho, C_W=2, C_b=0.1)
    for found, values in zip(kernel(rho), exact, strict=True):
        assert np.abs(found - values).max() <= kernel.error * np.abs(values).max()


@pytest.mark.exhaustive
def test_rows_of_another_kernel_than_the_table_are_refused():
    """A table at K = 1 would answer for directions alone: rows of norm 1 in 4 features have the kernel 1/4."""
    module = sr.export(sr.network(["gelu"] * 2))
    table = ZonalKernel(module, K="1/4", C_W=2, C_b=0.1)
    rows = np.eye(4)
    exact = module.load().dual_kernel_matrix(rows, C_W=2, C_b=0.1)
    np.testing.assert_allclose(table.matrix(rows), exact, rtol=1e-8)
    with pytest.raises(DeclarationError, match=r"the kernel x\.x'/n0 of the rows is 1; make the table with K=1"):
        table.matrix(2 * rows)
