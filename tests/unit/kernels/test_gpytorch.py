"""The kernel of GPyTorch: the numbers of scikit-learn's kernel, batches, gradients, training."""

import copy
import pickle

import gpytorch
import numpy as np
import pytest
import torch

from symres.kernels.gpytorch import NeuralKernel
from symres.kernels.sklearn import NeuralKernel as OfScikitLearn

GIVEN = {"network": "relu", "depth": 2}


def made(**given):
    return NeuralKernel(**(GIVEN | given)).double().set_values(C_W=2.0, C_b=0.1)


@pytest.fixture(scope="module")
def inputs():
    X = torch.randn(12, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    X[3], X[4], X[5] = X[1], 2 * X[1], -X[1]
    return X


@pytest.mark.parametrize("kernel", ["nngp", "tangent"])
def test_numbers_are_those_of_scikit_learn(inputs, kernel):
    ours, theirs = made(kernel=kernel), OfScikitLearn(**GIVEN, kernel=kernel)
    assert np.allclose(ours(inputs).to_dense().detach(), theirs(inputs.numpy()), rtol=1e-12)
    assert np.allclose(ours(inputs, diag=True).detach(), theirs.diag(inputs.numpy()), rtol=1e-12)


def test_input_variances(inputs):
    """Numbers and gradients of scikit-learn's kernel; one for each feature, in batches too."""
    variances, weights = [1.0, 0.5, 2.0, 0.1], torch.linspace(-1, 2, 144, dtype=torch.float64).reshape(12, 12)
    ours = made(input_variances=variances).set_values(input_variances=torch.tensor(variances, dtype=torch.float64))
    matrix = ours(inputs).to_dense()
    value, slopes = OfScikitLearn(**GIVEN, input_variances=variances)(inputs.numpy(), eval_gradient=True)
    assert np.allclose(matrix.detach(), value, rtol=1e-12)
    assert np.allclose(ours(inputs, diag=True).detach(), np.diag(value), rtol=1e-12)
    (found,) = torch.autograd.grad((weights * matrix).sum(), ours.raw_input_variances)
    of_raw = -torch.expm1(-ours.input_variances.detach()) / ours.input_variances.detach()  # softplus; per logarithm
    assert np.allclose(found, of_raw * np.einsum("ij,ijk->k", weights, slopes[..., 2:]), rtol=1e-6)
    batch = made(ard_num_dims=4, batch_shape=torch.Size([3]))
    assert batch.input_variances.shape == (3, 1, 4) and batch(inputs.reshape(3, 4, 4)).to_dense().shape == (3, 4, 4)


def test_batches(inputs):
    parts, kernel = inputs.reshape(3, 4, 4), made(batch_shape=torch.Size([3]))
    kernel.C_W = torch.tensor([1.0, 2.0, 3.0])[:, None, None]
    found, alone = kernel(parts).to_dense(), made()(parts[1]).to_dense()
    assert found.shape == (3, 4, 4) and kernel(parts, diag=True).shape == (3, 4)
    assert torch.allclose(found[1], alone, rtol=1e-12) and not torch.allclose(found[0], found[2])


def test_gradients_to_inputs(inputs):
    x = inputs[:2].clone().requires_grad_()
    function = lambda x: made()(x, inputs[8:10]).to_dense()  # noqa: E731
    assert torch.autograd.gradcheck(function, (x,)) and torch.autograd.gradgradcheck(function, (x,))


def test_copies_are_equal(inputs):
    kernel = made()
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other(inputs).to_dense().equal(kernel(inputs).to_dense())


def test_priors_are_of_the_numbers_not_of_the_raw_parameters(inputs):
    """What is trained has the density of C_W, and what is drawn from the prior becomes C_W."""
    kernel = made(priors={"C_W": gpytorch.priors.GammaPrior(2.0, 1.0)})
    ((_, module, prior, value, _),) = kernel.named_priors()
    assert value(module).equal(kernel.C_W) and prior.log_prob(value(module)).item() == pytest.approx(np.log(2) - 2)
    kernel.sample_from_prior("C_W_prior")
    assert kernel.C_W.item() != 2.0 and kernel.C_b.item() == pytest.approx(0.1)


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = made()

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_an_exact_process_is_trained(inputs):
    y = inputs[:, 0].abs()
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(inputs, y, likelihood).train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(25):
        optimiser.zero_grad()
        loss = -objective(model(inputs), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05 and model.covar_module.C_W.item() != 2


def test_gradients_to_parameters(inputs):
    """First and second derivatives; the first keep no graph, the second make one."""
    kernel, names = made(batch_shape=torch.Size([2])), ["raw_C_W", "raw_C_b"]
    weights = torch.rand(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def function(*values):
        with gpytorch.settings.lazily_evaluate_kernels(False):
            found = torch.func.functional_call(kernel, dict(zip(names, values, strict=True)), (inputs[:5],))
        return (weights * found.to_dense()).sum((-1, -2))

    values = [getattr(kernel, name).detach().clone().requires_grad_() for name in names]
    assert all((slope.abs() > 0.1).all() for slope in torch.autograd.grad(function(*values).sum(), values))
    assert torch.autograd.gradcheck(function, values) and torch.autograd.gradgradcheck(function, values)
    with torch.no_grad():
        assert not kernel(inputs).to_dense().requires_grad
