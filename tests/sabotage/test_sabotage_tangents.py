"""Test the tests: wrong tangent kernels must be refuted."""

from dataclasses import replace

import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome, check
from tests.oracles.kernels import FakeTheory
from tests.oracles.layers import BUILD

NAMES = ("ntk_map", "parameter_norm", "chi_delta")


def outcomes(layer, name, change, oracle, seed=0):
    right = getattr(sr.derive(layer), name)
    wrong = replace(right, body=change(right))
    return {v.outcome for v in check(FakeTheory(layer.forward, {name: wrong}), oracle, seed=seed).verdicts}


@pytest.mark.sample(4)
@pytest.mark.parametrize("factor", ["1.01", "0.99", "2", "-1"])
@pytest.mark.parametrize("name", NAMES)
def test_quadrature_refutes_every_point(name, factor):
    layer = BUILD["pre_ln"]("erf")
    assert outcomes(layer, name, lambda q: q.body * sp.Rational(factor), "quadrature") == {Outcome.REFUTED}


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

    assert outcomes(sr.residual("erf"), "ntk_map", change, oracle) == {Outcome.REFUTED}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("factor", ["1.05", "2"])
@pytest.mark.parametrize("name", ["ntk_map", "parameter_norm"])
def test_simulation_refutes_five_percent(name, factor, seed):
    layer = sr.residual("relu")
    assert outcomes(layer, name, lambda q: q.body * sp.Rational(factor), "simulation", seed) == {Outcome.REFUTED}


@pytest.mark.parametrize("oracle", ["quadrature", "simulation"])
def test_a_batch_that_does_not_respond_is_refuted(oracle):
    """The rule for the Jacobian of one input, taken for a change of parameters, which moves the whole batch."""
    layer = sr.batch_norm("relu", sr.gamma)

    def change(quantity):
        Theta = next(s for s in quantity.symbols if s.name == "Theta")
        return quantity.body + sr.C_W * Theta / (4 * (sr.K - sr.C))

    assert outcomes(layer, "ntk_map", change, oracle) == {Outcome.REFUTED}
