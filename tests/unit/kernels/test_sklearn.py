"""The kernel of scikit-learn: derivatives against differences, and the estimators that use it."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.svm import SVC

import symres as sr
from symres.kernels.sklearn import NeuralKernel

KERNELS = {
    "relu": NeuralKernel("relu", 2),
    "by layer": NeuralKernel("relu", 2, kernel="nngp", C_W=[1.0, 2.0, 1.5]),
    "input variances": NeuralKernel("relu", 2, C_b_bounds="fixed", input_variances=[1.0, 0.5, 2.0, 0.1]),
    "parameter": NeuralKernel(
        sr.residual("erf"), 2, parameters={"gamma": 0.7}, parameters_bounds={"gamma": (0.1, 10)}, C_b_bounds="fixed"
    ),
}


@pytest.fixture(scope="module")
def inputs():
    X = np.random.default_rng(0).standard_normal((20, 4))
    X[3], X[4], X[5] = X[1], 2 * X[1], -X[1]  # equal, parallel and opposite inputs
    return X


@pytest.mark.exhaustive
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_derivatives_are_those_of_differences(kernel, inputs):
    matrix, found = kernel(inputs, eval_gradient=True)
    assert np.allclose(matrix, kernel(inputs), rtol=1e-13) and np.allclose(kernel.diag(inputs), np.diag(matrix))
    assert np.allclose(kernel(inputs, inputs[:5]), matrix[:, :5], rtol=1e-12)
    assert found.shape[-1] == len(kernel.theta) == len(kernel.bounds)
    h = 1e-4
    for place, unit in enumerate(np.eye(len(kernel.theta))):
        a, b, c, d = (kernel.clone_with_theta(kernel.theta + s * h * unit)(inputs) for s in (1, -1, 2, -2))
        difference = (8 * (a - b) - (c - d)) / (12 * h)
        assert np.abs(difference).max() > 1e-3
        assert np.allclose(found[..., place], difference, atol=1e-9 * np.abs(difference).max())


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_copies_are_equal(kernel):
    assert clone(kernel) == kernel == pickle.loads(pickle.dumps(kernel))
    assert kernel.clone_with_theta(kernel.theta + 1) != kernel and not kernel.is_stationary()


def test_kernels_show_their_numbers():
    shown = [repr(KERNELS[name]) for name in ("relu", "by layer")]
    assert shown[0] == "NeuralKernel('relu', depth=2, kernel='tangent', C_W=2, C_b=0.1)"
    assert shown[1] == "NeuralKernel('relu', depth=2, kernel='nngp', C_W=[1, 2, 1.5], C_b=0.1)"


@pytest.mark.exhaustive  # a fit takes seconds; what it follows, the derivatives, is tried above
def test_input_variances_find_the_features_that_matter():
    """Two of ten do: the others' variances fall below one hundredth of theirs."""
    X = np.random.default_rng(3).standard_normal((80, 10))
    y = np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2 / 2
    kernel = NeuralKernel("erf", 1, kernel="nngp", input_variances=np.ones(10), C_W_bounds="fixed")
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # some end at their bound
        model = GaussianProcessRegressor(ConstantKernel() * kernel + WhiteKernel(1e-3)).fit(X, y)
    variances = model.kernel_.k1.k2.input_variances
    assert np.all(variances[2:] < variances[:2].min() / 100)


def test_input_variances_scale_the_inputs(inputs):
    variances = [1.0, 0.5, 2.0, 0.0]
    kernel = NeuralKernel("relu", 2, input_variances=variances, input_variances_bounds="fixed")
    plain = NeuralKernel("relu", 2)
    assert np.array_equal(kernel(inputs), plain(inputs * np.sqrt(variances)))
    assert np.array_equal(kernel.diag(inputs), plain.diag(inputs * np.sqrt(variances)))


def test_estimators_learn(inputs):
    X = np.random.default_rng(1).standard_normal((60, 3))
    y = np.abs(X[:, 0]) + X[:, 1]
    kernel = ConstantKernel() * NeuralKernel("relu", 2, C_W_bounds="fixed") + WhiteKernel()
    model = GaussianProcessRegressor(kernel).fit(X[:40], y[:40])
    assert model.log_marginal_likelihood_value_ > model.log_marginal_likelihood(kernel.theta) + 1
    assert model.score(X[40:], y[40:]) > 0.8
    label = y > 0.8
    for classifier in (SVC(kernel=NeuralKernel("relu", 2)), GaussianProcessClassifier(NeuralKernel("relu", 2))):
        assert classifier.fit(X[:40], label[:40]).score(X[40:], label[40:]) > 0.7
