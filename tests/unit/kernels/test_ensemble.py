"""Predictions of infinitely wide networks, against integrated dynamics and trained networks."""

import math
import re

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import symres as sr
from symres.core.errors import DeclarationError
from symres.kernels import predict

N, M, OUTPUTS = 5, 3, 2
RNG = np.random.default_rng(0)
C_W, C_b = 1.7, 0.2


@pytest.fixture(scope="module")
def module():
    return sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "erf", "erf"])).load()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    return rng.standard_normal((N, 4)), rng.standard_normal((M, 4)), rng.standard_normal((N, OUTPUTS))


@pytest.fixture(scope="module")
def kernels(module, data):
    X, T, _ = data
    values = {"C_W": C_W, "C_b": C_b}
    return (
        module.dual_kernel_matrix(X, **values),
        module.dual_kernel_matrix(T, X, **values),
        module.dual_kernel_matrix(T, **values),
    )


def joint(kernels, place):
    """The kernel of training and test inputs together."""
    train, cross, test = (k[place] for k in kernels)
    return np.block([[train, cross.T], [cross, test]])


def integrated(kernels, y, t, ridge, features=40):
    """Mean and covariance by integrating the parameters of a linear model with this tangent kernel, in small steps.

    The linear model is f = f_0 + J (theta - theta_0), J J' the tangent kernel; f_0 enters linearly.
    """
    values, vectors = np.linalg.eigh(joint(kernels, 1))
    J = np.zeros((N + M, features))
    J[:, : N + M] = vectors * np.sqrt(values)
    size = y.size

    def run(f_0, targets):
        def slope(_, theta):
            miss = J[:N] @ theta + f_0[:N] - targets
            return -(J[:N].T @ miss + ridge * theta) / size

        theta = solve_ivp(slope, (0, t), np.zeros(features), rtol=1e-11, atol=1e-13).y[:, -1]
        return f_0 + J @ theta

    mean = np.stack([run(np.zeros(N + M), y[:, k])[N:] for k in range(y.shape[1])], axis=1)
    moved = np.stack([run(unit, np.zeros(N))[N:] for unit in np.eye(N + M)], axis=1)
    return mean, moved @ joint(kernels, 0) @ moved.T


@pytest.mark.parametrize(("t", "ridge"), [(0.7, 0), (30, 0), (30, 0.5)])
def test_it_is_what_integration_gives(kernels, data, t, ridge):
    mean, covariance = integrated(kernels, data[2], t, ridge)
    found = predict(*kernels, data[2], ridge=ridge).gradient_descent(t)
    assert np.allclose(found.mean, mean, atol=1e-8)
    assert np.allclose(found.covariance, covariance, atol=1e-8)
    faster = predict(*kernels, data[2], ridge=ridge, learning_rate=2).gradient_descent(t / 2)
    assert np.allclose(faster.mean, found.mean, rtol=1e-12)


@pytest.mark.parametrize("ridge", [0, 0.3])
def test_infinite_time_is_the_closed_formula(kernels, data, ridge):
    train, cross, test = kernels
    A = cross[1] @ np.linalg.inv(train[1] + ridge * np.eye(N))
    found = predict(*kernels, data[2], ridge=ridge)
    for t in (math.inf, 1e9):
        assert np.allclose(found.gradient_descent(t).mean, A @ data[2], atol=1e-9)
        expected = test[0] - A @ cross[0].T - cross[0] @ A.T + A @ train[0] @ A.T
        assert np.allclose(found.gradient_descent(t).covariance, expected, atol=1e-9)
    assert np.allclose(found.posterior("tangent").mean, A @ data[2], atol=1e-10)


def test_posterior_is_that_of_conditioned_normals(kernels, data):
    """By elimination: the precision of test outputs given noisy training outputs."""
    noise, y = 0.1, data[2][:, 0]
    full = joint(kernels, 0) + np.diag([noise] * N + [0] * M)
    precision = np.linalg.inv(full)
    covariance = np.linalg.inv(precision[N:, N:])
    found = predict(*kernels, y, noise=noise).posterior()
    assert np.allclose(found.covariance, covariance, atol=1e-9)
    assert np.allclose(found.mean, -covariance @ precision[N:, :N] @ y, atol=1e-9)
    assert found.mean.shape == (M,)


def test_at_the_start_networks_are_untrained(kernels, data):
    found = predict(*kernels, data[2]).gradient_descent(0)
    assert not found.mean.any()
    assert np.allclose(found.covariance, kernels[2][0], rtol=1e-14)


def test_trained_networks_reproduce_targets(kernels, data):
    found = predict(kernels[0], kernels[0], kernels[0], data[2]).gradient_descent()
    assert np.allclose(found.mean, data[2], atol=1e-10)
    assert np.abs(found.covariance).max() < 1e-10


def test_times_lead_the_shape(kernels, data):
    ensemble = predict(*kernels, data[2])
    times = np.array([[0.0, 1.0, 5.0], [20.0, 100.0, math.inf]])
    found = ensemble.gradient_descent(times)
    assert found.mean.shape == (2, 3, M, OUTPUTS) and found.covariance.shape == (2, 3, M, M)
    assert np.allclose(found.mean[1, 0], ensemble.gradient_descent(20).mean, rtol=1e-12)
    assert np.allclose(found.covariance[0, 2], ensemble.gradient_descent(5).covariance, rtol=1e-12)


def test_pytorch_gives_the_same_and_gradients(kernels, data):
    tensors = [tuple(torch.from_numpy(k) for k in pair) for pair in kernels]
    y = torch.from_numpy(data[2]).requires_grad_()
    ours, theirs = predict(*tensors, y, ridge=0.1, noise=0.1), predict(*kernels, data[2], ridge=0.1, noise=0.1)
    for t in (3.0, math.inf):
        found = ours.gradient_descent(t)
        assert isinstance(found.mean, torch.Tensor) and found.mean.requires_grad
        assert np.allclose(found.mean.detach(), theirs.gradient_descent(t).mean, rtol=1e-10)
        assert np.allclose(found.covariance, theirs.gradient_descent(t).covariance, rtol=1e-9, atol=1e-12)
    assert np.allclose(ours.posterior().covariance, theirs.posterior().covariance, rtol=1e-9, atol=1e-12)


def test_equal_inputs_train_for_a_time_and_never_for_ever(module, data):
    """Directions in which the tangent kernel vanishes do not move; at infinity they need a ridge."""
    X = data[0][[0, 1, 1]]
    train = module.dual_kernel_matrix(X, C_W=C_W, C_b=C_b)
    ensemble = predict(train, train, train, np.array([1.0, 2.0, 4.0]))
    assert np.allclose(ensemble.gradient_descent(1e6).mean, [1, 3, 3], atol=1e-6)
    with pytest.raises(sr.DeclarationError, match="singular"):
        ensemble.gradient_descent()
    with pytest.raises(sr.DeclarationError, match="the nngp kernel of the training inputs is singular") as refusal:
        ensemble.posterior()
    enough = float(re.search("pass noise=(.*) or more", str(refusal.value))[1])
    assert np.isfinite(predict(train, train, train, np.array([1.0, 2.0, 4.0]), noise=enough).posterior().mean).all()
    with pytest.raises(sr.DeclarationError, match="in the place of 1e-20"):
        predict(train, train, train, np.array([1.0, 2.0, 4.0]), noise=1e-20).posterior()


@pytest.mark.parametrize("library", [np, torch])
def test_numbers_that_are_none_and_half_a_kernel_are_refused(kernels, data, library):
    converted = [tuple(library.asarray(k) for k in pair) for pair in kernels]
    y = library.asarray(data[2])
    predict(*converted, y)
    names = ("kernel_train_train", "kernel_test_train", "kernel_test_test")
    for number in (math.nan, math.inf):
        with pytest.raises(sr.DeclarationError, match="y_train: it has entries"):
            predict(*converted, y * number)
        for place, name in enumerate(names):
            for kind in (0, 1):
                pair = [k * number if n == kind else k for n, k in enumerate(converted[place])]
                given = [pair if n == place else k for n, k in enumerate(converted)]
                with pytest.raises(sr.DeclarationError, match=f"the {('nngp', 'tangent')[kind]} kernel of {name}: it"):
                    predict(*given, y)
    train, cross, test = converted
    rounded = train[0] * (1 + 1e-12 * library.triu(library.ones_like(train[0])))
    predict((rounded, train[1]), cross, test, y)
    for half in ((library.triu(train[0]), train[1]), (train[0], library.tril(train[1]))):
        with pytest.raises(sr.DeclarationError, match="kernel of kernel_train_train: it is not symmetric"):
            predict(half, cross, test, y)


def blocks(name, X, tests, dtype=np.float64):
    kernels = sr.export(sr.network([name] * 2)).load().dual_kernel_matrix
    given = ((X,), (tests, X), (tests,))
    return [tuple(a.astype(dtype) for a in kernels(*some, C_W=2, C_b=0.1)) for some in given]


@pytest.mark.parametrize("kind", [int, bool, np.uint8])
@pytest.mark.parametrize("t", [0.9, 1.9, np.inf])
def test_labels_may_be_whole_numbers(kind, t):
    made, y = blocks("relu", RNG.standard_normal((6, 5)), RNG.standard_normal((3, 5))), np.array([1, 0, 1, 1, 0, 1])
    found, expected = (predict(*made, labels).gradient_descent(t) for labels in (y.astype(kind), 1.0 * y))
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.covariance, expected.covariance)


def test_kernels_of_single_precision_are_singular_earlier():
    X, tests = RNG.uniform(-1, 1, (40, 2)), RNG.uniform(-1, 1, (5, 2))
    y = np.sin(3 * X[:, 0])
    with pytest.raises(DeclarationError, match="singular"):
        predict(*blocks("erf", X, tests, np.float32), y.astype(np.float32)).gradient_descent()
    few = blocks("relu", X[:6], tests), blocks("relu", X[:6], tests, np.float32)
    exact, single = (predict(*made, y[:6].astype(made[0][0].dtype)).gradient_descent() for made in few)
    assert np.abs(single.mean - exact.mean).max() < 1e-3
