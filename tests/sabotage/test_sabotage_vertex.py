"""Test the tests: a theory of finite width that forgets what neurons remember must be refuted by networks."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome
from symres.check.rows.depth_rows import depth_rows
from symres.check.rows.simulation_case import Task
from symres.check.sampling.random_points import ORDINARY
from symres.check.simulation.width_extrapolation import Budget
from symres.theory.observables.deep_networks import VERTEX
from tests.shared import derived


def rows(layer, values, setting, *, K="1", depth=2, seed=0, precision=0.003):
    theory = derived(layer)
    numbers = {s: sp.Rational(setting[s.name]) for s in layer.parameters}
    task = Task(theory, theory.quantities, numbers, seed, Budget(precision), ORDINARY, False, {})
    return depth_rows(task, VERTEX, lambda place: values[: depth + 1], sp.Rational(K), lambda share: None)


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
