"""NumPy: limits at zero, averages without a closed form, docstrings, nested layers."""

import ast
import inspect

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.core.symbols import C_W, K1, K2, C, K, x1, x2, z
from symres.gaussian.calculus.expectation import Expectation
from symres.results.quantity import Quantity, Status
from tests.oracles.closed_forms import KERNELS, PAIRS, in_50_digits, theory
from tests.shared import Lazily


def test_infinite_slope_at_zero_is_infinite():
    slope = KERNELS["elu"].diff(K, 2)
    f = sr.export(Quantity("h", (K, C_W), C_W * slope, C_W * slope, Status.EXACT)).load().h
    assert f(0.0, 1.0) == -np.inf
    assert f(1e-8, 1.0) == pytest.approx(float(in_50_digits(slope, K=1e-8)), rel=1e-13)


def test_flat_function_is_zero_at_zero():
    body = sp.exp(-1 / (2 * K)) / K ** sp.Rational(3, 2)
    f = sr.export(Quantity("h", (K,), body, body, Status.EXACT)).load().h
    assert f(0.0) == 0.0
    assert f(0.3) == pytest.approx(float(in_50_digits(body, K=0.3)), rel=1e-15)


# ---- averages without a closed form ------------------------------------------------------------------------------
def numeric(name, symbols, body):
    return Quantity(name, symbols, body, body, Status.NUMERIC, reason="no rule applies")


OPEN = {  # functions whose averages are known, computed as if they were not
    "erf": sp.erf(z),
    "relu": sp.Max(z, 0),
    "relu_slope": sp.Heaviside(z, sp.Rational(1, 2)),
    "gelu": z * (1 + sp.erf(z / sp.sqrt(2))) / 2,
}


@pytest.fixture(scope="module")
def open_pairs():
    def load(name):
        phi = Activation(name, OPEN[name])
        body = Expectation(phi(x1) * phi(x2), K1, C, K2)
        return sr.export(numeric("covariance_map", (K1, K2, C), body)).load().covariance_map

    return Lazily(load)


def scale_of(name, k1, k2):
    """The geometric mean of the two diagonal values."""
    if name == "relu_slope":
        return 0.5
    return float(mp.sqrt(in_50_digits(KERNELS[name], K=k1) * in_50_digits(KERNELS[name], K=k2)))


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("copies", [1, 500], ids=["one entry", "as many as in a matrix"])
def test_open_pair_kernels_agree_with_closed_forms(open_pairs, name, copies):
    """Alone an entry is soon left to quadrature; among entries with the same kernels its series is taken further."""
    for k1, k2 in ((1e-8, 1e-8), (1e-4, 1.0), (1.0, 1.0), (100.0, 3.0), (1e4, 1e4)):
        for rho in (0.01, 0.5, -0.9, 0.999, 1 - 1e-6, -1 + 1e-6, 1 - 1e-12):
            c = rho * k1**0.5 * k2**0.5
            exact = float(in_50_digits(PAIRS[name], K1=k1, K2=k2, C=c))
            found = open_pairs[name](np.full(copies, k1), k2, np.full(copies, c))
            # at C = K1 = K2 the slope of a jump is infinite: the rounding of C counts
            slope = abs(c) * 2e-16 * float(in_50_digits(PAIRS[name].diff(C), K1=k1, K2=k2, C=c))
            np.testing.assert_allclose(found, exact, rtol=0, atol=4e-15 * scale_of(name, k1, k2) + slope)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", OPEN)
def test_open_pair_kernels_on_the_diagonal(open_pairs, name):
    for k in (1e-8, 2.0, 1e4):
        average = scale_of(name, k, k)
        for c in (k, k * (1 + 4e-16)):  # rounding makes correlations larger than one
            assert open_pairs[name](k, k, c) == pytest.approx(average, rel=4e-15)


@pytest.mark.parametrize("kernels", [(0.0, 0.0), (0.0, 4.0), (1e-300, 1e-300)], ids=str)
def test_open_pair_kernels_have_their_limit_at_zero(open_pairs, kernels):
    for name in ("erf", "relu", "gelu"):
        assert open_pairs[name](*kernels, 0.0) == pytest.approx(0.0, abs=1e-100)
    assert open_pairs["relu_slope"](*kernels, 0.0) == pytest.approx(0.25, rel=4e-15)


def test_an_odd_function_keeps_its_digits_at_small_correlation(open_pairs):
    for rho in (1e-6, -1e-9, 1e-15):
        exact = float(in_50_digits(PAIRS["erf"], K1=3.0, K2=0.5, C=rho))
        assert open_pairs["erf"](3.0, 0.5, rho) == pytest.approx(exact, rel=2e-15, abs=0)


# ---- the text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_every_function_is_documented(target):
    module = ast.parse(sr.export(theory("relu"), target, command="symres export relu").text)
    assert "symres export relu" in ast.get_docstring(module)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            text = ast.get_docstring(node)
            for head in ("Args:", "Returns:", "Valid when:", "Error", "Generalises:"):
                assert head in text
            for argument in node.args.args:
                assert f"{argument.arg}: " in text
    assert max(map(len, sr.export(theory("relu"), target).text.splitlines())) <= 140


def test_parameters_are_the_symbols_in_order():
    module = sr.export(theory("erf")).load()
    assert list(inspect.signature(module.covariance_map).parameters) == ["K1", "K2", "C", "C_W", "C_b", "gamma", "out"]
    assert module.__all__ == ["kernel_map", "covariance_map", "chi_parallel"]


# ---- nested layers -----------------------------------------------------------------------------------------------
NESTED = {
    "a sum with an inner layer": lambda inner, outer: sr.Dense(outer(z + sr.Dense(inner(z)))),
    "an inner layer": lambda inner, outer: sr.Dense(outer(sr.Dense(inner(z)))),
    "an inner layer of fixed variances": lambda inner, outer: z / 2 + sr.Dense(outer(z + sr.Dense(inner(z), 1, 0))),
    "an inner layer twice": lambda inner, outer: _shared(sr.Dense(inner(z)), inner, outer),
}


def _shared(inner_layer, inner, outer):
    return sr.Dense(outer(inner_layer) + inner(z + inner_layer))


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("names", [("erf", "erf"), ("relu", "erf"), ("erf", "relu"), ("gelu", "gelu")])
@pytest.mark.parametrize("layer", NESTED)
def test_maps_of_two_inputs_of_nested_layers(layer, names):
    """The covariances of inner neurons are steps of their own, which stand in sums and products of any kind."""
    theory_ = sr.derive(sr.Layer(NESTED[layer](*map(sr.activation, names))))
    points = [(1.3, 0.8, 0.5), (0.4, 2.1, -0.6), (1.0, 1.0, 0.999), (1e-3, 3.0, 0.01)]
    numbers = {"C_W": 1.4, "C_b": 0.2}
    for quantity in (theory_.covariance_map, theory_.ntk_map):
        function = getattr(sr.export(quantity, target="numpy").load(), quantity.name)
        given = {s.name: numbers[s.name] for s in quantity.symbols if s.name in numbers}
        columns = np.array(points).T
        more = {"Theta": 0.7} if quantity is theory_.ntk_map else {}
        found = function(*columns, *more.values(), **given)
        for value, (k1, k2, c) in zip(found, points, strict=True):
            assert value == pytest.approx(float(quantity.evalf(K1=k1, K2=k2, C=c, **more, **given)), rel=1e-13)
