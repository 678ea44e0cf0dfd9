"""Networks whose tangent kernel is infinite for equal inputs: one error when it is asked for, and the other kernel."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.kernels import ZonalKernel, matrix, predict
from symres.kernels import gpytorch as for_gpytorch
from symres.kernels import sklearn as for_sklearn

READ_IN = sr.Layer(sr.Dense(sr.z))
MESSAGE = r'infinite for equal inputs: .*; use kernel="nngp"'
JUMPS = ["step", "sign", "step(z-1)", "step(z)+relu(z)", "where(z > 1, 2, z)"]
MAKERS = {"sklearn": for_sklearn.NeuralKernel, "gpytorch": for_gpytorch.NeuralKernel}
VALUES = {"C_W": 1.7, "C_b": 0.2}


@pytest.fixture
def inputs():
    X = np.random.default_rng(2).standard_normal((6, 4))
    X[4] = X[1]
    return X


@pytest.mark.parametrize("activation", JUMPS)
@pytest.mark.parametrize("maker", MAKERS)
def test_the_tangent_kernel_is_refused_when_it_is_made(maker, activation):
    for declared in ((activation, 2), (sr.network([READ_IN, "relu", activation]),)):
        with pytest.raises(sr.DeclarationError, match=rf"^the tangent kernel of .*{MESSAGE}"):
            MAKERS[maker](*declared, **VALUES)


def test_a_parameter_that_is_set_later_is_checked_when_it_is_used(inputs):
    kernel = for_sklearn.NeuralKernel("step", 1, kernel="nngp")
    kernel.set_params(kernel="tangent")
    for use in (kernel, kernel.diag, lambda X: kernel(X, eval_gradient=True)):
        with pytest.raises(sr.DeclarationError, match=MESSAGE):
            use(inputs)


def test_a_remedy_is_one():
    """There is no code for networks of |z|^(1/2), which is continuous: another kernel of them is no remedy."""
    for made in MAKERS.values():
        with pytest.raises(sr.DeclarationError, match=r"infinite for equal inputs: .*; use another activation"):
            made("sqrt(abs(z))", 1)


def of_steps(X, C_W, C_b):
    """The kernel of one layer of steps behind a read-in: Cho and Saul (2009), of degree 0, by hand, to 60 digits."""
    rows = [[mp.mpf(float(entry)) for entry in row] for row in X]
    K = np.array([[C_b + C_W * mp.fdot(a, b) / len(a) for b in rows] for a in rows])
    cosines = [[K[i, j] / mp.sqrt(K[i, i] * K[j, j]) for j in range(len(X))] for i in range(len(X))]
    return np.array([[C_b + C_W * (mp.pi - mp.acos(min(c, 1))) / (2 * mp.pi) for c in row] for row in cosines])


def slopes_of_steps(X, C_W, C_b):
    """In the logarithms of C_W and C_b."""
    step = mp.mpf(10) ** -15
    up, down = mp.exp(step), mp.exp(-step)
    yield (of_steps(X, C_W * up, C_b) - of_steps(X, C_W * down, C_b)) / (2 * step)
    yield (of_steps(X, C_W, C_b * up) - of_steps(X, C_W, C_b * down)) / (2 * step)


def test_the_kernel_of_the_gaussian_process_and_its_gradients_exist(inputs):
    with mp.workdps(60):
        expected = of_steps(inputs, **VALUES).astype(float)
        slopes = [slope.astype(float) for slope in slopes_of_steps(inputs, **VALUES)]
    found, gradient = for_sklearn.NeuralKernel("step", 1, kernel="nngp", **VALUES)(inputs, eval_gradient=True)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    for place, slope in enumerate(slopes):
        np.testing.assert_allclose(gradient[..., place], slope, rtol=1e-12)
    kernel = for_gpytorch.NeuralKernel("step", 1, kernel="nngp").double().set_values(**VALUES)
    dense = kernel(torch.from_numpy(inputs)).to_dense()
    np.testing.assert_allclose(dense.detach(), expected, rtol=1e-13)
    wanted = torch.autograd.grad(dense.sum(), [kernel.raw_C_W, kernel.raw_C_b])
    raw = [torch.autograd.grad(kernel.value(n).log(), getattr(kernel, f"raw_{n}"))[0].item() for n in ("C_W", "C_b")]
    for gradient, slope, chain in zip(wanted, slopes, raw, strict=True):
        assert gradient.item() == pytest.approx(slope.sum() * chain, rel=1e-12)


ACTIVATIONS = [*JUMPS, "relu", "hard_tanh", "exp(-abs(z))", "gelu", "abs"]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_where_it_is_finite(activation):
    """By the definition: the mean square of a slope that is taken over a small distance, against one of half of it.

    It grows without bound where the activation jumps, and converges elsewhere.
    """
    f = sp.lambdify(sr.z, sr.activation(activation).expr.doit().rewrite(sp.Piecewise), ["scipy", "numpy"])
    z = np.linspace(-6, 6, 480001)
    phi = np.broadcast_to(f(z) + 0.0 * z, z.shape)

    def mean_square(places):
        slope = (phi[places:] - phi[:-places]) / (z[places] - z[0])
        return (slope**2 * np.exp(-(z[:-places] ** 2) / 2)).sum()

    converges = bool(mean_square(40) / mean_square(80) < 1.5)
    assert sr.network([READ_IN, activation]).has_tangent_kernel is converges
    # behind nothing that is trained, nothing moves before the jump: the last layer alone is, and its kernel is finite
    assert sr.network([activation]).has_tangent_kernel
    assert not sr.network([activation, "step"]).has_tangent_kernel
    block = sr.Layer(sr.Dense(sr.activation(activation)(sr.Dense(sr.z))))  # with trained weights of its own
    assert sr.network([block]).has_tangent_kernel is converges
    assert sr.network([sr.Layer(2 * sr.z), activation]).has_tangent_kernel


def test_the_first_layer_alone_has_one(inputs):
    """Without a trained layer before it the tangent kernel is that of the last layer, the kernel itself."""
    network = sr.network(["step"])
    module = sr.export(network)
    assert not module.warnings
    found = matrix(module, inputs, progress=False, **VALUES)
    np.testing.assert_allclose(found, matrix(module, inputs, kernel="nngp", progress=False, **VALUES), rtol=1e-15)
    kernel = for_sklearn.NeuralKernel(network, C_b_bounds="fixed", C_W_bounds="fixed", **VALUES)
    np.testing.assert_allclose(kernel(inputs), found, rtol=1e-15)


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("activation", JUMPS)
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_blocks_and_tables_are_refused(tmp_path, inputs, activation, target):
    module = sr.export(sr.network([READ_IN, activation]), target)
    X = torch.from_numpy(inputs) if target == "torch" else inputs
    assert any("the tangent kernel of equal inputs is infinite" in warning for warning in module.warnings)
    with pytest.raises(sr.DeclarationError, match=MESSAGE):
        matrix(module, X, out=tmp_path / "a.npy", progress=False, **VALUES)
    assert not list(tmp_path.iterdir())
    with pytest.raises(sr.DeclarationError, match=MESSAGE):
        matrix(module, X, X[4:], progress=False, **VALUES)  # of equal inputs in different blocks
    apart = matrix(module, X[:3], X[3:4], progress=False, **VALUES)
    assert np.isfinite(apart).all()
    assert np.isfinite(matrix(module, X, kernel="nngp", out=tmp_path / "a.npy", progress=False, **VALUES)).all()
    if target == "numpy":
        with pytest.raises(
            sr.DeclarationError, match=r'infinite for equal inputs: .*; use matrix\(..., kernel="nngp"\)'
        ):
            ZonalKernel(module, **VALUES)


def test_numbers_that_are_too_large_are_refused(inputs):
    module = sr.export(sr.network(["relu"]))
    for X, dtype in ((inputs * 1e30, "float32"), (inputs * 1e154, "float64")):
        with pytest.raises(sr.DeclarationError, match=f"infinite or nan entries in {dtype}; pass smaller inputs"):
            matrix(module, X, kernel="nngp", dtype=dtype, progress=False, **(VALUES | {"C_W": 1e3}))
    with pytest.raises(sr.DeclarationError, match="infinite or nan; pass smaller K"):
        ZonalKernel(module, 1e308, **(VALUES | {"C_W": 1e3}))


def test_predictions_name_the_kernel_that_is_infinite(inputs):
    """And what is left: the posterior of the Gaussian process, against the formula by hand."""
    module, y = sr.export(sr.network([READ_IN, "step"])).load(), np.arange(4.0)
    train, cross, test = (
        module.dual_kernel_matrix(*X, **VALUES) for X in ((inputs[:4],), (inputs[4:], inputs[:4]), (inputs[4:],))
    )
    with pytest.raises(
        sr.DeclarationError, match=r'infinite for equal inputs: .*; pass the nngp .*posterior\("nngp"\)'
    ):
        predict(train, cross, test, y)
    found = predict(*((k[0], k[0]) for k in (train, cross, test)), y, noise=0.1).posterior("nngp")
    np.testing.assert_allclose(found.mean, cross[0] @ np.linalg.solve(train[0] + 0.1 * np.eye(4), y), rtol=1e-12)
