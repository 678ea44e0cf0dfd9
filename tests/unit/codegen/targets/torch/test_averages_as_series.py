"""Averages of smooth functions in PyTorch: series that are integrated or refused, and what measures them."""

import math

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
from tests.shared import altered

TORCH = targets.find("torch")


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


def erf_map(k1, k2, c):
    """Williams, 1997."""
    return 2 / math.pi * torch.asin(c / torch.sqrt((1 + k1) * (1 + k2)))


def test_series_that_are_too_long_are_integrated(erf):
    k = torch.tensor([1e3, 1e4, 0.3, 1e-8], dtype=torch.float64)
    for rho in (1 - 1e-12, 0.999, -0.9999, 0.1, 0.0):
        c = rho * torch.sqrt(k[:, None] * k)
        assert (erf["average"](k[:, None], k, c) - erf_map(k[:, None], k, c)).abs().max() < 1e-12


def test_third_derivatives_are_refused(erf):
    place = torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    one = torch.tensor(1.0, dtype=torch.float64)
    slope = erf["average"](place, one, 0.4 * one)
    with pytest.raises(NotImplementedError, match="averages of smooth functions have two"):
        for _ in range(3):
            (slope,) = torch.autograd.grad(slope, place, create_graph=True)


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
    assert measured(_long_table=other("_long_table", "math.sqrt(n) * table", "math.sqrt(n + 0.01) * table")) > 1e-12
    assert measured(_hermite_cut=other("_hermite_cut", "2.0 * _SOUGHT", "1e-6")) > 1e-12


def test_few_terms_are_seen_by_the_bound():
    short, believed = "_BLOCKS = (12,)", other("_hermite_tile", "(one[1] * two[1]) <= _ENOUGH", "0.0 <= 1.0")
    assert measured(_BLOCKS=short) < 1e-13
    assert measured(_BLOCKS=short, _hermite_tile=believed) > 1e-12
