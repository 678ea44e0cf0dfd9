"""Averages of smooth functions in PyTorch: series with derivatives, against closed forms and sums in the plane."""

import math

import mpmath as mp
import pytest
import sympy as sp
import torch

from symres.activations.activation import Activation
from symres.codegen import targets
from symres.codegen.planning.plan import Component
from symres.codegen.strategy.measured_error import measured_quadrature
from symres.core.errors import SymresError
from symres.core.symbols import K1, K2, C, x1, x2, z
from symres.gaussian.calculus.expectation import Expectation
from tests.oracles.plane_average import plane
from tests.shared import altered

TORCH = targets.find("torch")
beta = sp.Symbol("beta", positive=True)
KERNELS = (1e-6, 0.02, 0.7, 1.3, 4.0, 30.0)


def integrated(formula, symbols=(K1, K2, C), target=TORCH):
    """The module of a pair average that counts as one without a closed form."""
    space = {}
    exec(target.standalone(open_average(formula, symbols)), space)
    return space


def open_average(formula, symbols=(K1, K2, C)):
    phi = Activation("phi", formula, symbols[3:])
    return Component("average", symbols, Expectation(phi(x1) * phi(x2), K1, C, K2), None)


@pytest.fixture(scope="module")
def erf():
    return integrated(sp.erf(z / sp.sqrt(2)))


@pytest.fixture(scope="module")
def swish():
    return integrated(z / (1 + sp.exp(-beta * z)), (K1, K2, C, beta))["average"]


def erf_map(k1, k2, c):
    """Williams, 1997."""
    return 2 / math.pi * torch.asin(c / torch.sqrt((1 + k1) * (1 + k2)))


def gram(kind=torch.float64, size=40, scale=1.0):
    x = scale * torch.randn(size, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x[1], x[3] = x[0], -x[2]  # on the diagonal
    x[5] = (1 + 1e-7) * x[4]
    return x.to(kind)


def matrix(function, x):
    products = x @ x.T / x.shape[1]
    kernels = products.diagonal()
    return function(kernels[:, None], kernels[None, :], products)


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_values_and_derivatives_of_a_matrix_are_the_closed_form(erf, scale):
    k = (gram(scale=scale) ** 2).mean(-1)
    c = gram(scale=scale) @ gram(scale=scale).T / 5
    found, exact = [], []
    for rows, function in ((found, erf["average"]), (exact, erf_map)):
        one, two = ([a.clone().requires_grad_() for a in (k[:, None], k[None, :], c)] for _ in range(2))
        value = function(*one)
        rows += [value, *torch.autograd.grad((value * torch.cos(c)).sum(), one, create_graph=True)]
        slopes = torch.autograd.grad((function(*two) * torch.cos(c)).sum(), two, create_graph=True)
        rows += torch.autograd.grad(sum((s * torch.sin(s.detach())).sum() for s in slopes), two)
    for number, (one, two) in enumerate(zip(found, exact, strict=True)):
        assert torch.isfinite(one).all()
        assert (one - two).abs().max() <= 1e-12 * two.abs().max(), number


def test_slopes_of_a_square_matrix_of_different_inputs_are_no_mirror_images(erf):
    """The same kernels in another order: <f'' g> is not <f g''> transposed."""
    x, y = gram(), gram().flip(0)
    k1, k2, c = (x**2).mean(-1)[:, None], (y**2).mean(-1), x @ y.T / 5
    found, exact = (
        torch.autograd.grad((function(*given) * torch.cos(c)).sum(), given)
        for function in (erf["average"], erf_map)
        for given in [[a.clone().requires_grad_() for a in (k1, k2, c)]]
    )
    for one, two in zip(found, exact, strict=True):
        assert (one - two).abs().max() <= 1e-14 * two.abs().max()


def test_series_that_are_too_long_are_integrated(erf):
    k = torch.tensor([1e3, 1e4, 0.3, 1e-8], dtype=torch.float64)
    for rho in (1 - 1e-12, 0.999, -0.9999, 0.1, 0.0):
        c = rho * torch.sqrt(k[:, None] * k)
        assert (erf["average"](k[:, None], k, c) - erf_map(k[:, None], k, c)).abs().max() < 1e-12


def test_single_precision_and_shapes(erf):
    wide, x = matrix(erf["average"], gram()), gram(torch.float32)
    found = matrix(erf["average"], x)
    assert found.dtype == torch.float32
    assert (found - wide).abs().max() < 1e-6
    k = torch.tensor(KERNELS, dtype=torch.float64)
    c = 0.3 * torch.sqrt(k[:, None] * k)
    whole = erf["average"](k[:, None], k, c)
    single = [erf["average"](a, b, 0.3 * torch.sqrt(a * b)) for a in k for b in k]
    assert (whole.reshape(-1) - torch.stack(single)).abs().max() < 1e-14
    flat = [a.reshape(-1).contiguous() for a in torch.broadcast_tensors(k[:, None], k, c)]
    assert (whole.reshape(-1) - erf["average"](*flat)).abs().max() < 1e-14
    assert (whole - erf["average"](*(a.reshape(6, 6) for a in flat))).abs().max() < 1e-14
    assert erf["average"](k[:0], k[:0], k[:0]).shape == (0,)
    stacked = erf["average"](k[:, None, None], k[:, None], c[0])
    assert stacked.shape == (6, 6, 6)
    assert (stacked[2, 3, 1] - erf["average"](k[2], k[3], c[0, 1])).abs() < 1e-14


def test_only_entries_without_a_number_are_none(erf):
    k = torch.tensor([1.0, math.nan, 2.0, math.inf], dtype=torch.float64)
    found = erf["average"](k[:, None], k, torch.full((4, 4), 0.5, dtype=torch.float64))
    assert torch.isnan(found[1]).all() and torch.isnan(found[:, 3]).all()
    assert (found[0, 2] - erf_map(k[0], k[2], torch.tensor(0.5))).abs() < 1e-14


@pytest.mark.exhaustive
def test_derivatives_in_parameters(swish):
    arguments = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([[0.5], [2.0]], [1.0, 0.3], 0.2)]
    for given in (torch.tensor(1.3, dtype=torch.float64), torch.tensor([[1.3, 0.7]], dtype=torch.float64)):
        place = [*arguments, given.requires_grad_()]
        assert torch.autograd.gradcheck(swish, place)
        assert torch.autograd.gradgradcheck(swish, place)
    k1, k2, c = (torch.tensor(v, dtype=torch.float64) for v in (0.7, 1.9, 0.8))
    assert (
        abs(
            float(swish(k1, k2, c, torch.tensor(1.3, dtype=torch.float64)))
            - plane(lambda u: u / (1 + mp.exp(-1.3 * u)))
        )
        < 1e-12
    )


def test_derivatives_of_points_on_the_diagonal():
    mish = integrated(z * sp.tanh(sp.log(1 + sp.exp(z))))["average"]
    points = torch.tensor([[0.6, -0.4], [0.6, -0.4], [-1.2, -0.3]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: matrix(mish, x), points)
    assert torch.autograd.gradgradcheck(lambda x: matrix(mish, x), points, atol=1e-4)


def measured(**texts):
    """The error of an average with other texts of run-time functions; infinite if it is none at all."""
    try:
        return measured_quadrature(open_average(sp.tanh(z / 3)), altered(TORCH, definitions=texts)).error
    except SymresError as error:
        assert "is off by" in error.found
        return math.inf


def other(name, right, wrong):
    assert right in TORCH.runtime.texts[name]
    return TORCH.runtime.texts[name].replace(right, wrong)


@pytest.mark.exhaustive
def test_wrong_series_are_seen_by_the_measurement():
    assert measured() < 1e-14
    assert measured(_polynomials=other("_polynomials", "n / (n + 1.0)", "(n + 0.01) / (n + 1.0)")) > 1e-12
    assert measured(_hermite_sum=other("_hermite_sum", "<= _SOUGHT", "<= 1e10")) > 1e-12


def test_few_terms_are_seen_by_the_bound():
    short = {"_TERMS": "_TERMS = (12,)", "_FINEST_PLANE": "_FINEST_PLANE = 0"}
    believed = other("_hermite_sum", "(one_left * two_left) <= _ENOUGH * eps", "(one_left * two_left) < xp.inf")
    assert measured(_TERMS=short["_TERMS"]) < 1e-13
    assert measured(**short, _hermite_sum=believed) > 1e-12
