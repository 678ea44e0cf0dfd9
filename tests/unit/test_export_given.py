"""Pair kernels of piecewise polynomials: accuracy near correlation one, speed, gradients, how one average is closed."""

import time

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.declare.pieces import split
from symres.export import export
from symres.export.code.given import is_polynomial, jumps, means, vanishes
from symres.symbols import z
from tests.oracles.kinks import HARD_TANH, RELU6, SOFTSHRINK, Kinked

FUNCTIONS = {"hard_tanh": HARD_TANH, "relu6": RELU6, "softshrink": SOFTSHRINK}
RHO = (0.9, 0.99, 0.9999, 1 - 1e-8, 1 - 1e-12)


@pytest.fixture(scope="module")
def kernels():
    return {name: export(sr.expect2(f.formula, f.formula)).load().expect2 for name, f in FUNCTIONS.items()}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("variances", [(1.0, 1.0), (0.02, 0.03), (2.0, 2.0002), (0.5, 40.0), (1e4, 9e3)], ids=str)
def test_kernels_near_correlation_one_agree_with_price(kernels, name, variances):
    k1, k2 = variances
    function = FUNCTIONS[name]
    scale = mp.sqrt(function.pair(k1, k1, k1) * function.pair(k2, k2, k2))
    for rho in (*RHO, *(-rho for rho in RHO)):
        c = rho * k1**0.5 * k2**0.5
        exact = function.pair(k1, k2, c)
        for copies in (1, 90):  # alone, and where a matrix would make the series pay
            (found,) = set(kernels[name](np.full(copies, k1), k2, np.full(copies, c)).tolist())
            assert abs(found - exact) < 3e-15 * scale


@pytest.mark.parametrize(("k", "digits"), [(2e-3, 140), (1e-2, 60)])
def test_kernels_of_a_dead_zone_keep_their_digits_where_they_are_tiny(kernels, k, digits):
    for c in (k, 0.9999 * k):
        exact = float(SOFTSHRINK.pair(k, k, c, digits))
        assert 0 < exact < 1e-20
        assert kernels["softshrink"](k, k, c) == pytest.approx(exact, rel=2e-13, abs=0)


def test_an_entry_near_correlation_one_takes_a_tenth_of_a_millisecond(kernels):
    """Two milliseconds before the average over one variable was closed; ten times less with room for a busy machine."""
    generator = np.random.default_rng(0)
    k1, k2 = generator.uniform(0.5, 3, (2, 400))
    for rho in (0.99, 1 - 1e-8):
        spent = []
        for _ in range(3):
            start = time.process_time()
            kernels["hard_tanh"](k1, k2, rho * np.sqrt(k1 * k2))
            spent.append(time.process_time() - start)
        assert min(spent) < 400 * 4e-4


def test_a_product_with_a_smooth_function_is_averaged_over_the_polynomial_side():
    """<tanh(z1) hard_tanh(z2)> in either order."""
    one = export(sr.expect2("tanh", "hard_tanh")).load().expect2
    two = export(sr.expect2("hard_tanh", "tanh")).load().expect2
    for k1, k2, rho in ((1.0, 1.0, 0.9999), (0.3, 20.0, -0.99), (1e-3, 5.0, 1 - 1e-9)):
        c = rho * (k1 * k2) ** 0.5
        exact = float(sr.expect2("tanh", "hard_tanh").evalf(16, K1=k1, K2=k2, C=c))
        assert one(k1, k2, c) == pytest.approx(exact, rel=4e-15)
        assert two(k2, k1, c) == pytest.approx(exact, rel=4e-15)


def test_parameters_of_the_pieces_differ_from_entry_to_entry():
    leak = sp.Symbol("leak", positive=True)
    phi = sr.Activation("bent", sp.Piecewise((z, sp.Abs(z) < 1), (sp.sign(z) + leak * (z - sp.sign(z)), True)), (leak,))
    f = export(sr.expect2(phi, phi)).load().expect2
    leaks = np.array([0.25, 2.0])
    found = f(1.0, 1.2, 1.09, leaks)
    exact = [float(Kinked(a - 1, a, ((-1, 1 - a), (1, a - 1))).pair(1.0, 1.2, 1.09)) for a in leaks]
    np.testing.assert_allclose(found, exact, rtol=2e-15)


def test_gradients_in_torch_are_the_slopes_of_the_oracle():
    f = export(sr.expect2(HARD_TANH.formula, HARD_TANH.formula), "torch").load().expect2
    point = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (1.3, 0.8, 1.0)]
    f(*point).backward()
    for i, p in enumerate(point):
        with mp.workdps(25):
            at = [float(q.detach()) for q in point]
            ends = [HARD_TANH.pair(*(v + side * 1e-4 * (i == j) for j, v in enumerate(at))) for side in (1, -1)]
        assert float(p.grad) == pytest.approx(float((ends[0] - ends[1]) / 2e-4), rel=1e-7)


def test_means_and_jumps_of_pieces():
    square = sp.Symbol("square")
    factor = split(sp.Piecewise((0, z < 1), ((z - 1) ** 2 * (z + 2), True)))
    assert means(factor, square) == [0, sp.expand((z - 1) ** 2 * (z + 2) + 3 * z * square)]
    assert jumps(factor) == [[0, 0, 3, 1]]


@pytest.mark.parametrize(
    ("formula", "polynomial", "dead"),
    [
        (sp.Max(z, 0), True, False),
        (SOFTSHRINK.formula, True, True),
        (sp.Max(z - 1, 0), True, True),
        (sp.Max(z + 1, 0), True, False),
        (sp.tanh(sp.Max(z - 1, 0)), False, True),
        (sp.tanh(z), False, False),
    ],
    ids=str,
)
def test_kinds_of_functions(formula, polynomial, dead):
    factor = split(formula)
    assert (is_polynomial(factor), vanishes(factor)) == (polynomial, dead)


def test_a_module_carries_the_rules_that_it_calls():
    """And smooth activations need no scipy."""
    smooth, given, kinked = (export(sr.expect2(name, name)).text for name in ("tanh", "relu6", "softsign"))
    assert "scipy" not in smooth
    assert ["def _given(" in text for text in (smooth, given, kinked)] == [False, True, False]
    assert ["def _kinked_plane(" in text for text in (smooth, given, kinked)] == [False, False, True]
