"""What a module computes: steps in order, equal components once, scales outside, of one input nothing of the pair."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, C_b, K, gamma
from symres.results.quantity import NamedStep, Quantity, Status
from tests.oracles.closed_forms import KERNELS, in_50_digits, kernel_map

ALPHA = sp.Symbol("alpha", positive=True)
SCALES = {  # alpha as celu and swish have it: f(K, alpha) = alpha^m f(K*alpha^s, 1)
    "celu": ALPHA**2 * KERNELS["elu"].subs(K, K / ALPHA**2),
    "swish": KERNELS["gelu"].subs(K, K * ALPHA**2) / ALPHA**2,
}
NO_SCALES = [K * sp.exp(-ALPHA * K), K / (1 + ALPHA * K + ALPHA * K**2), sp.log(1 + K**2 * ALPHA)]


def test_straight_line_steps_are_computed_in_order():
    S1 = sp.Symbol("S1", positive=True)
    inner = C_b + C_W * 2 / sp.pi * sp.asin(2 * K / (1 + 2 * K))
    body = gamma**2 * K + C_W * KERNELS["gelu"].subs(K, S1)
    quantity = Quantity(
        "kernel_map", (K, C_W, C_b, gamma), body, body, Status.EXACT, steps=(NamedStep(S1, inner, inner),)
    )
    found = sr.export(quantity).load().kernel_map(0.7, 1.9, 0.2, 0.5)
    exact = in_50_digits(body.subs(S1, inner), K=0.7, C_W=1.9, C_b=0.2, gamma=0.5)
    assert found == pytest.approx(float(exact), rel=1e-15)


def test_equal_averages_are_computed_once():
    text = sr.export({"a": kernel_map(KERNELS["gelu"]), "b": kernel_map(KERNELS["gelu"])}).text
    assert text.count("def _average_") == 1


@pytest.mark.parametrize("formula", [*SCALES.values(), *NO_SCALES], ids=[*SCALES, *map(str, NO_SCALES)])
def test_a_parameter_costs_no_digits_whether_it_is_a_scale_or_not(formula):
    f = sr.export(Quantity("kernel_map", (K, ALPHA), formula, formula, Status.EXACT)).load().kernel_map
    for k, alpha in ((1e-8, 1.7), (0.3, 0.2), (7.0, 3.0), *([(1e4, 3.0)] if formula in SCALES.values() else [])):
        assert f(k, alpha) == pytest.approx(float(in_50_digits(formula, K=k, alpha=alpha)), rel=2e-15)
    assert formula not in SCALES.values() or f(0.0, 2.0) == 0.0


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("phi", ["step(z)+relu(z)", "relu(z)+z"])
def test_compiled_networks_agree(phi):
    network = sr.network([sr.Layer(sr.Dense(sr.z)), phi])
    X = np.random.default_rng(0).normal(size=(4, 3))
    expected = sr.export(network, "numpy").load().dual_kernel_matrix(X, C_W=2, C_b=0.1)
    found = sr.export(network, "c").load().dual_kernel_matrix(X, C_W=2, C_b=0.1)
    for a, b in zip(found, expected, strict=True):
        off = ~np.eye(4, dtype=bool)  # the tangent kernel of a step is infinite on the diagonal
        assert np.allclose(a[off], b[off], rtol=1e-12, atol=1e-13)
