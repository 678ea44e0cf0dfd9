"""Jacobians of networks with real weights: exact derivatives, two backends, and the APJN that a theory claims."""

import math

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.check import Budget, Outcome, check, simulate_jacobian
from symres.check.formulas.numeric_formula import NumericFunction
from symres.check.nets import Dual, GramNet, WeightNet
from symres.check.nets.forward_walk import Forward
from symres.check.simulation.simulate import Simulation
from symres.core.errors import SymresError
from symres.core.symbols import C_W, C_b, gamma, z
from tests.oracles.kernels import FakeTheory
from tests.oracles.layers import BUILD, PAIRS, VALUES, rows_about_jacobians, theory

TANH = sr.activation("tanh")
ROUGH = Budget(precision=0.008)

# ---- derivatives -------------------------------------------------------------------------------------------------

RULES = {
    "sum": lambda u: u + 2 - u * 3 - np.negative(u) + np.positive(u),
    "product": lambda u: u * u * u / (2 + u * u),
    "quotient": lambda u: 1 / (3 + u),
    "powers": lambda u: (u + 3) ** 0.5 + (u + 3) ** -1 + np.square(u) + np.sqrt(u + 4),
    "parts": lambda u: np.maximum(u, 0.1) + np.minimum(u, u * u) + abs(u),
    "functions": lambda u: np.exp(u) + np.log(u + 4) + np.tanh(u) + np.sin(u) + np.cos(u),
}


def neurons(seed=0, shape=(2, 5, 3)):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, shape)


@pytest.mark.parametrize("name", RULES)
def test_tangents_are_derivatives(name):
    value, tangent, step = neurons(), neurons(1, (2, 5, 3, 4)), 1e-6
    found = RULES[name](Dual(value, tangent))
    np.testing.assert_array_max_ulp(found.value, RULES[name](value), 1)  # NumPy 2.0 has another way to u**0.5
    for k in range(4):
        ahead, behind = (RULES[name](value + sign * step * tangent[..., k]) for sign in (1, -1))
        assert np.allclose(found.tangent[..., k], (ahead - behind) / (2 * step), atol=1e-7)


def test_tangents_know_averages_and_formulas():
    value, tangent = neurons(), neurons(1, (2, 5, 3, 4))
    dual = Dual(value, tangent)
    assert np.array_equal(dual.mean(axis=1).tangent, tangent.mean(axis=1, keepdims=True))
    assert np.array_equal(dual.mean(axis=2).tangent, tangent.mean(axis=2, keepdims=True))
    squared = NumericFunction(sp.sin(z) ** 2, z)
    assert np.allclose(squared(dual).tangent, np.sin(2 * value)[..., None] * tangent)
    assert np.allclose(Dual.of_columns(dual.columns, 3).tangent, tangent)
    for refused in (
        lambda: np.arctan2(dual, 1.0),
        lambda: np.add.reduce(dual),
        lambda: dual.mean(axis=1, keepdims=False),
    ):
        with pytest.raises(TypeError):
            refused()


@pytest.mark.parametrize("layer", [name for name in BUILD if "batch" not in name])
def test_numpy_and_autograd_differentiate_the_same_networks(layer):
    """Forward and backward mode have no rule in common; one seed draws one set of weights."""
    built = BUILD[layer]("silu")
    one, other = (
        simulate_jacobian(built, 1.1, depth=3, n=12, nets=3, backend=backend, seed=2, parameters=VALUES).samples
        for backend in ("numpy", "torch")
    )
    assert one.shape == (3, 3)
    assert np.allclose(one, other, rtol=1e-12)
    assert one.std(axis=0).min() > 0.01


def test_kinks_and_switches_in_both_backends():
    for formula in [
        "relu",
        "leaky_relu",
        "max(min(z,1),-1)",
        "where(z>1, z, z^2)",
        "abs(z)*z",
        "softplus",
        "sin(z)*exp(-z^2)",
    ]:
        runs = [
            simulate_jacobian(sr.mlp(formula), 1.1, depth=2, n=12, nets=3, backend=backend, parameters=VALUES).samples
            for backend in ("numpy", "torch")
        ]
        assert np.allclose(*runs, rtol=1e-12), formula


def test_a_function_that_torch_does_not_have_is_named():
    with pytest.raises(SymresError, match="erfi"):
        simulate_jacobian(
            sr.mlp(sr.Activation("dawson", sp.exp(-(z**2)) * sp.erfi(z))), 1, backend="torch", parameters=VALUES
        )


@pytest.mark.sample(4)
@pytest.mark.parametrize("layer", ["mlp", "pre_ln", "glu", "batch_norm"])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_random_directions_have_the_exact_average(layer, backend):
    found = [
        simulate_jacobian(
            BUILD[layer]("tanh"), 1.1, depth=2, n=16, nets=3000, estimator=e, backend=backend, parameters=VALUES, seed=3
        )
        for e in ("exact", "hutchinson")
    ]
    exact, random = found
    assert np.all(np.abs(exact.apjn - random.apjn) < 4 * np.hypot(exact.errors, random.errors))
    assert np.all(random.errors < 0.05 * random.apjn)
    if layer != "batch_norm":  # where other inputs are neighbours, all derivatives are not all that is random
        assert np.all(exact.errors < random.errors)


@pytest.mark.parametrize("layer", ["residual", "ln_act", "gate"])
def test_gram_matrices_have_the_law_of_weights(layer):
    """Mean and variance of the APJN at one width: tangents are further inputs of a dense layer."""
    numbers = {s: sp.Rational(VALUES[str(s)]) for s in (C_W, C_b, gamma)}
    forward = Forward(BUILD[layer]("tanh").forward, numbers)
    rows = [
        Simulation(forward, net).jacobians(1.1, 2)(16, 6000, np.random.default_rng(seed))[0]
        for seed, net in enumerate((GramNet, WeightNet))
    ]
    means, errors = (np.array([f(r) for r in rows]) for f in (_mean, _error))
    assert np.all(np.abs(means[0] - means[1]) < 4 * np.hypot(*errors))
    spreads = [r.std(axis=0) for r in rows]
    assert np.allclose(*spreads, rtol=0.15)


def _mean(rows):
    return rows.mean(axis=0)


def _error(rows):
    return rows.std(axis=0) / math.sqrt(len(rows))


def test_a_linear_network_by_hand():
    """For gamma z + Dense(z), J = gamma^2 + C_W a layer at every width, but for what weights fluctuate."""
    forward = gamma * z + sr.Dense(z)
    found = simulate_jacobian(forward, 1, depth=3, n=24, nets=4000, parameters=VALUES)
    expected = (0.36 + 1.3) ** np.arange(1, 4)
    assert np.all(np.abs(found.apjn - expected) < 4 * found.errors)
    assert np.all(found.errors < 0.01 * expected)
    assert np.allclose(simulate_jacobian(gamma * z, 1, depth=3, parameters=VALUES).samples, 0.36 ** np.arange(1, 4))


# ---- what a theory claims ----------------------------------------------------------------------------------------


def deep(right):
    """Of a theory, what its deep networks hang on."""
    names = ("kernel_map", "covariance_map", "chi_perp")
    batched = sr.C in right.kernel_map.symbols
    return FakeTheory(
        right.layer.forward, {name: right.quantities[name] for name in names if batched or name != "covariance_map"}
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize(("layer", "phi"), PAIRS, ids=lambda word: word)
def test_no_architecture_is_refuted_by_its_networks(layer, phi):
    right = theory(layer, phi)
    rows = rows_about_jacobians(right.layer.forward, right.quantities, seed=len(phi))
    assert len(rows) >= 1
    assert max(abs(row.z) for row in rows) < 4.5, [(row.point, row.z) for row in rows]
    assert all(row.detectable < 0.1 for row in rows)
    assert all(row.outcome is not Outcome.REFUTED for row in rows)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("layer", "phi"), [("mlp", "relu"), ("residual", "gelu"), ("ln_act", "relu"), ("glu", "erf")])
def test_correlation_lengths(layer, phi):
    rows = check(deep(theory(layer, phi)), "simulation", depth=1, budget=ROUGH, seed=2).verdicts
    (row,) = (row for row in rows if row.quantity == "correlation_length")
    assert abs(row.z) < 4.5 and row.detectable < 0.1


@pytest.mark.exhaustive
def test_the_rows_of_an_ordinary_layer():
    rows = check(sr.derive(sr.residual("tanh")), "simulation").verdicts
    last = [row for row in rows if row.quantity in ("jacobian", "correlation_length")]
    assert [row.outcome for row in last] == [Outcome.PASSED] * 3
    assert [row.point.split("; ")[1:] for row in last] == [
        ["3 layers", "along random directions"],
        ["2 layers", "all derivatives, real weights"],
        ["3 layers from a fixed point on"],
    ]
    assert all(row.detectable < 0.05 for row in last)


@pytest.mark.exhaustive
def test_a_jump_has_no_jacobian():
    step = sr.derive(sr.mlp("step"))
    rows = check(step, "simulation", depth=1, budget=ROUGH).verdicts
    assert not {row.quantity for row in rows} & {"jacobian", "correlation_length"}


def test_without_a_fixed_point_there_is_no_length():
    rows = check(deep(sr.derive(sr.Layer(z + sr.Dense(TANH(z))))), "simulation", depth=1, budget=ROUGH).verdicts
    assert [row.quantity for row in rows].count("jacobian") == 2
    assert "correlation_length" not in {row.quantity for row in rows}
