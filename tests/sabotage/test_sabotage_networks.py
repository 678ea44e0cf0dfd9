"""Test the tests: wrong Jacobians of deep networks, tangent kernels and four-point vertices must be refuted."""

from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome, check
from symres.check.rows.depth_rows import depth_rows
from symres.check.rows.simulation_case import Task
from symres.check.sampling.random_points import ORDINARY
from symres.check.simulation.width_extrapolation import Budget
from symres.core.symbols import gamma, xi, z
from symres.results.subjects import DerivedDepth
from symres.theory.observables.deep_networks import VERTEX
from tests.oracles.kernels import FakeTheory
from tests.oracles.layers import BUILD, rows_about_jacobians
from tests.shared import derived

Dense, TANH, ERF = sr.Dense, sr.activation("tanh"), sr.activation("erf")


def outcomes(forward, claims, **setting):
    return [row.outcome for row in rows_about_jacobians(forward, claims, **setting)]


LAYERS = {"residual": sr.residual("tanh"), "pre_ln": sr.pre_ln("erf", gamma), "mlp": sr.mlp("gelu")}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "factor", "depth"),
    [("residual", "1.02", 3), ("pre_ln", "0.98", 3), ("mlp", "1.02", 3), ("residual", "1.01", 6)],
)
def test_a_susceptibility_that_is_a_few_percent_wrong(name, factor, depth):
    """Deep networks multiply the error: three layers make 2 % six."""
    layer = LAYERS[name]
    right = sr.derive(layer).quantities
    chi = right["chi_perp"]
    wrong = dict(right) | {"chi_perp": replace(chi, body=chi.body * sp.Rational(factor))}
    assert outcomes(layer.forward, wrong, depth=depth, precision=0.003)[0] is Outcome.REFUTED
    assert outcomes(layer.forward, right, depth=depth, precision=0.003)[0] is Outcome.PASSED


MISTAKES = {
    # what the layer is, what its theory takes it for
    "the variance is forgotten": (
        gamma * z + Dense(ERF(sr.LayerNorm(z))),
        gamma * z + Dense(ERF(z)),
    ),
    "the mean is forgotten": (
        gamma * z + Dense(sr.LayerNorm(sr.activation("relu")(z))),
        gamma * z + Dense(sr.RMSNorm(sr.activation("relu")(z))),
    ),
    "two draws as one": (
        gamma * z + Dense(ERF(Dense(z)) * Dense(z)),
        (lambda h: gamma * z + Dense(ERF(h) * h))(Dense(z)),
    ),
    "one draw as two": (
        (lambda h: gamma * z + xi * h + Dense(ERF(h)))(Dense(TANH(z))),
        gamma * z + xi * Dense(TANH(z)) + Dense(TANH(Dense(TANH(z)))),
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_theory_of_another_layer(mistake):
    forward, taken_for = MISTAKES[mistake]
    wrong = sr.derive(sr.Layer(taken_for)).quantities
    assert set(outcomes(forward, wrong, K="2.5")) == {Outcome.REFUTED}
    assert Outcome.REFUTED not in outcomes(forward, sr.derive(sr.Layer(forward)).quantities, K="2.5")


def with_length(layer, length):
    """The right maps of a layer, and a claim about its correlation length."""
    right = sr.derive(layer)

    class Lengthy(FakeTheory, DerivedDepth):
        def jacobian(self, first, last, K, **numbers):
            return mp.mpf(right.jacobian(first, last, K, **numbers))

        def correlation_length(self, K, **numbers):
            return length(right, **numbers)

    return Lengthy(right.layer.forward, {name: right.quantities[name] for name in ("kernel_map", "chi_perp")})


def test_a_length_that_is_wrong():
    """Right maps, and a length that is 8 % too long."""

    def too_long(right, **numbers):
        return mp.mpf("1.08") / abs(mp.log(right.fixed_points(**numbers)[-1].chi_perp))

    verdicts = check(with_length(LAYERS["residual"], too_long), "simulation").verdicts
    rows = {row.quantity: row.outcome for row in verdicts}
    assert rows["correlation_length"] is Outcome.REFUTED
    assert rows["jacobian"] is Outcome.PASSED


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("mistake", ["too long", "of the fixed point that repels"])
def test_a_length_that_is_wrong_where_another_fixed_point_repels(mistake, seed):
    """Dense(max(z, 0)**2): K' = C_b + 3 C_W K**2/2 has two fixed points, chi_perp = 2 C_W K."""

    def length(_, C_W, C_b):
        side = 1 if mistake == "of the fixed point that repels" else -1
        place = (1 + side * sp.sqrt(1 - 6 * C_W * C_b)) / (3 * C_W)
        return mp.mpf("1.08" if side < 0 else 1) / abs(mp.log(mp.mpf(sp.N(2 * C_W * place, 20))))

    rows = check(with_length(sr.mlp("max(z,0)^2"), length), "simulation", depth=1, seed=seed).verdicts
    assert {row.outcome for row in rows if row.quantity == "correlation_length"} == {Outcome.REFUTED}


NAMES = ("ntk_map", "parameter_norm", "chi_delta")


def seen(layer, name, change, oracle, seed=0):
    right = getattr(sr.derive(layer), name)
    wrong = replace(right, body=change(right))
    return {v.outcome for v in check(FakeTheory(layer.forward, {name: wrong}), oracle, seed=seed).verdicts}


@pytest.mark.sample(4)
@pytest.mark.parametrize("factor", ["1.01", "0.99", "2", "-1"])
@pytest.mark.parametrize("name", NAMES)
def test_quadrature_refutes_every_point(name, factor):
    layer = BUILD["pre_ln"]("erf")
    assert seen(layer, name, lambda q: q.body * sp.Rational(factor), "quadrature") == {Outcome.REFUTED}


@pytest.mark.sample(4)
@pytest.mark.parametrize("oracle", ["quadrature", "simulation"])
@pytest.mark.parametrize("missing", ["C_b", "Theta", "half of what is fresh", "slope"])
def test_a_missing_term_is_refuted(missing, oracle):
    """Theta' = gamma^2 Theta + C_b + C_W (<phi phi> + Theta <phi' phi'>), without one of its terms."""

    def change(quantity):
        Theta = next(s for s in quantity.symbols if s.name == "Theta")
        fresh = quantity.body.xreplace({Theta: sp.Integer(0)})
        return {
            "C_b": quantity.body - sr.C_b,
            "Theta": fresh,
            "half of what is fresh": quantity.body - fresh / 2,
            "slope": fresh + sr.gamma**2 * Theta,
        }[missing]

    assert seen(sr.residual("erf"), "ntk_map", change, oracle) == {Outcome.REFUTED}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("factor", ["1.05", "2"])
@pytest.mark.parametrize("name", ["ntk_map", "parameter_norm"])
def test_simulation_refutes_five_percent(name, factor, seed):
    layer = sr.residual("relu")
    assert seen(layer, name, lambda q: q.body * sp.Rational(factor), "simulation", seed) == {Outcome.REFUTED}


@pytest.mark.parametrize("oracle", ["quadrature", "simulation"])
def test_a_batch_that_does_not_respond_is_refuted(oracle):
    """The rule for the Jacobian of one input, taken for a change of parameters, which moves the whole batch."""
    layer = sr.batch_norm("relu", sr.gamma)

    def change(quantity):
        Theta = next(s for s in quantity.symbols if s.name == "Theta")
        return quantity.body + sr.C_W * Theta / (4 * (sr.K - sr.C))

    assert seen(layer, "ntk_map", change, oracle) == {Outcome.REFUTED}


def rows(layer, values, setting, *, K="1", depth=2, seed=0, precision=0.003):
    theory = derived(layer)
    numbers = {s: sp.Rational(setting[s.name]) for s in layer.parameters}
    task = Task(theory, theory.quantities, numbers, seed, Budget(precision), ORDINARY, False, {})
    return depth_rows(task, VERTEX, lambda place: values[: depth + 1], sp.Rational(K))


RELU = {"C_W": "3/2", "C_b": "0", "gamma": "1/2"}


def test_the_published_recursion_of_a_relu_network():
    """PDLT (B.26) has 7.125 after two layers at gamma = 1/2; networks have 8.618 and refute it beyond 5 errors."""
    layer = sr.residual("relu")
    right = derived(layer).vertex(2, 1, **RELU)
    (good,) = rows(layer, right, RELU)
    (bad,) = rows(layer, [0.0, 3.5625, 7.125], RELU)
    assert good.outcome is Outcome.PASSED
    assert float(good.error) < 0.03 * right[2]
    assert bad.outcome is Outcome.REFUTED
    assert abs(bad.z) > 5


def without_memory(layer, setting, depth):
    """P in the place of V: as if a neuron knew nothing of its own part in the averages of earlier layers."""
    return derived(layer).kernel_fluctuation(depth, 1, **setting)


@pytest.mark.sample(2)
@pytest.mark.parametrize("phi", ["relu", "tanh", "gelu", "erf"])
def test_what_a_neuron_remembers_of_itself(phi):
    layer, setting = sr.residual(phi), {"C_W": "1.4", "C_b": "0.1", "gamma": "0.8"}
    found = rows(layer, without_memory(layer, setting, 2), setting)
    assert [row.outcome for row in found] == [Outcome.REFUTED]
    assert [row.outcome for row in rows(layer, derived(layer).vertex(2, 1, **setting), setting)] == [Outcome.PASSED]


@pytest.mark.sample(1)
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_a_wrong_factor(factor):
    layer = sr.residual("relu")
    right = derived(layer).vertex(3, 1, **RELU)
    found = rows(layer, list(np.array(right) * factor), RELU, depth=3)
    outcomes = [row.outcome for row in found]
    assert Outcome.REFUTED in outcomes and Outcome.PASSED not in outcomes


def test_a_sign():
    z = sr.z
    layer = sr.Layer(sr.LayerNorm(z + sr.Dense(sr.activation("relu")(z))))
    setting = {"C_W": "1", "C_b": "0"}
    assert [row.outcome for row in rows(layer, [0.0, 2.0, 2.0], setting)] == [Outcome.REFUTED]
    assert [row.outcome for row in rows(layer, [0.0, -2.0, -2.0], setting)] == [Outcome.PASSED]
