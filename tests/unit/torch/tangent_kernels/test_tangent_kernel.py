"""Tangent kernels against Jacobians by plain autograd, and against the theory where networks are wide."""

import numpy as np
import pytest
import torch
from torch import nn

import symres.torch as st
from symres.core.errors import DeclarationError
from symres.torch.tangent_kernels import tangent_kernel as kernel_module
from tests.oracles.torch_blocks import Computed, NormedBlock


def direct(model, one, other):
    """The kernel from whole Jacobians, one reverse pass for each output of each input."""
    model = model.eval()

    def rows(inputs):
        entries = model(inputs).flatten()
        gradients = [torch.autograd.grad(entry, model.parameters(), retain_graph=True) for entry in entries]
        flat = torch.stack([torch.cat([g.flatten() for g in each]) for each in gradients])
        return flat.reshape(len(inputs), -1, flat.shape[1])

    jacobians = rows(one), rows(other)
    return (torch.einsum("aop,bop->ab", *jacobians) / jacobians[0].shape[1]).numpy()


def mlp(width, outputs=3, activation=nn.GELU):
    layers = [nn.Linear(12, width), activation(), nn.Linear(width, width), activation(), nn.Linear(width, outputs)]
    return nn.Sequential(*layers).double()


def stack(width):
    blocks = [NormedBlock(width, nn.ReLU(), nn.Identity(), wide=2) for _ in range(2)]
    return nn.Sequential(nn.Linear(12, width), *blocks, nn.Linear(width, 2)).double()


@pytest.fixture(scope="module")
def vectors():
    return torch.randn(5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class TestMatrix:
    @pytest.mark.parametrize("held", [2**26, 3000])  # all derivatives at a time, or those of a few inputs
    def test_it_is_that_of_direct_jacobians(self, held, vectors, monkeypatch):
        monkeypatch.setattr(kernel_module, "_NUMBERS", held)
        model = mlp(16)
        for other in (None, vectors[:3]):
            found = st.tangent_kernel(model, vectors, other, theory=False)
            expected = direct(model, vectors, vectors if other is None else other)
            assert np.allclose(found.matrix, expected, rtol=1e-12)
        assert found.matrix.shape == (5, 3) and found.outputs == 3

    def test_models_of_pictures_with_norms_and_what_torch_func_does_not_take(self):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, gradient):
                return 2 * gradient

        parts = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), Computed(Doubled.apply), nn.ReLU(), nn.Flatten()
        model = nn.Sequential(*parts, nn.Linear(64, 2)).double()
        pictures = torch.randn(3, 3, 6, 6, dtype=torch.float64)
        found = st.tangent_kernel(model, pictures)
        assert np.allclose(found.matrix, direct(model, pictures, pictures), rtol=1e-12)
        assert found.theory is None and "inputs are not vectors" in str(found)

    def test_shares_of_layers_add_up(self, vectors):
        found = st.tangent_kernel(mlp(16), vectors, blocks=nn.Linear, theory=False)
        assert list(found.shares) == ["0", "2", "4"]
        assert np.allclose(sum(found.shares.values()), found.matrix)
        part = st.tangent_kernel(mlp(16), vectors, blocks="0", theory=False)
        assert list(part.shares) == ["0", "other parameters"]

    def test_frozen_parameters_are_left_out_and_the_model_is_as_it_was(self, vectors):
        model = mlp(16)
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        whole = st.tangent_kernel(model, vectors, blocks=nn.Linear, theory=False)
        model[2].requires_grad_(False)
        found = st.tangent_kernel(model, vectors, theory=False)
        assert np.allclose(found.matrix, whole.matrix - whole.shares["2"])
        assert model.training and all(torch.equal(tensor, before[n]) for n, tensor in model.state_dict().items())
        with pytest.raises(DeclarationError, match="no parameter requires gradients"):
            st.tangent_kernel(model.requires_grad_(False), vectors)


class TestTheory:
    def test_arc_cosine_kernels_of_relu(self, vectors):
        """Two layers by hand: ``n <phi phi'> + 1`` from the readout, ``C_W <phi' phi'> (x x' + 1)`` from the first."""
        model = nn.Sequential(nn.Linear(12, 400), nn.ReLU(), nn.Linear(400, 1)).double()
        found = st.tangent_kernel(model, vectors, networks=0)
        inner, outer = model[0], model[2]
        C_W, C_b = 12 * float(inner.weight.square().mean()), float(inner.bias.square().mean())
        K = C_b + C_W * (vectors @ vectors.T).numpy() / 12
        sizes = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        angle = np.arccos(np.clip(K / sizes, -1, 1))
        product = sizes * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        slopes = (np.pi - angle) / (2 * np.pi)
        C_out = 400 * float(outer.weight.square().mean())
        expected = 400 * product + 1 + C_out * slopes * ((vectors @ vectors.T).numpy() + 1)
        assert np.allclose(found.theory, expected, rtol=1e-6)

    @pytest.mark.parametrize("build", [lambda: mlp(400), lambda: stack(200)], ids=["mlp", "residual"])
    def test_wide_networks_are_within_their_scatter(self, build, vectors):
        torch.manual_seed(1)
        found = st.tangent_kernel(build(), vectors[:3], networks=6)
        assert found.networks == 6 and np.abs(found.z).max() < 4.5
        assert np.all(found.scatter < 0.25 * np.sqrt(np.outer(np.diag(found.theory), np.diag(found.theory))))
        assert "standard deviations of networks" in str(found)

    def test_what_is_not_read_has_no_theory_and_says_why(self, vectors):
        model = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 2)).double()
        found = st.tangent_kernel(model, vectors)
        assert found.theory is None
        assert "some trained parameters are not of a dense layer: 1.bias, 1.weight" in found.reason

    def test_the_figure_has_theory_and_scatter(self, vectors):
        found = st.tangent_kernel(mlp(32), vectors[:2], networks=2)
        figure = found.plot()
        assert len(figure.axes) == 3 and set(found.frame().columns) == {"x", "y", "kernel", "theory", "scatter"}
        assert figure._repr_png_().startswith(b"\x89PNG")  # notebooks show it
