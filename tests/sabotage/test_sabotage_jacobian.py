"""Test the tests: theories that are wrong about deep networks must be refuted by their Jacobians."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome, check
from symres.core.symbols import gamma, xi, z
from symres.results.subjects import DerivedDepth
from tests.oracles.kernels import FakeTheory
from tests.oracles.layers import rows_about_jacobians

Dense, TANH, ERF = sr.Dense, sr.activation("tanh"), sr.activation("erf")


class Spoilt:
    """A claim, changed."""

    def __init__(self, right, change):
        self.name, self.symbols, self.status = right.name, right.symbols, right.status
        self._right, self._change = right, change

    def evalf(self, digits=15, **values):
        return mp.mpf(self._change(self._right.evalf(digits, **values)))


def outcomes(forward, claims, **setting):
    return [row.outcome for row in rows_about_jacobians(forward, claims, **setting)]


LAYERS = {"residual": sr.residual("tanh"), "pre_ln": sr.pre_ln("erf", gamma), "mlp": sr.mlp("gelu")}


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "factor"), [("residual", "1.02"), ("pre_ln", "0.98"), ("mlp", "1.02")])
def test_a_susceptibility_that_is_two_percent_wrong(name, factor):
    """Deep networks multiply the error: three layers make 2 % six."""
    layer = LAYERS[name]
    right = sr.derive(layer).quantities
    wrong = dict(right) | {"chi_perp": Spoilt(right["chi_perp"], lambda chi: chi * mp.mpf(factor))}
    assert outcomes(layer.forward, wrong, depth=3, precision=0.003)[0] is Outcome.REFUTED
    assert outcomes(layer.forward, right, depth=3, precision=0.003)[0] is Outcome.PASSED


def test_a_susceptibility_that_is_one_percent_wrong():
    layer = LAYERS["residual"]
    right = sr.derive(layer).quantities
    wrong = dict(right) | {"chi_perp": Spoilt(right["chi_perp"], lambda chi: chi * mp.mpf("1.01"))}
    assert outcomes(layer.forward, wrong, depth=6, precision=0.003)[0] is Outcome.REFUTED
    assert outcomes(layer.forward, right, depth=6, precision=0.003)[0] is Outcome.PASSED


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


def test_a_length_that_is_wrong():
    """Right maps, and a length that is 8 % too long."""
    right_theory = sr.derive(LAYERS["residual"])
    right = right_theory.quantities

    class Lengthy(FakeTheory, DerivedDepth):
        def jacobian(self, first, last, K, **numbers):
            return mp.mpf(right_theory.jacobian(first, last, K, **numbers))

        def correlation_length(self, K, **numbers):
            place = sr.derive(LAYERS["residual"]).fixed_points(**numbers)[-1]
            return mp.mpf("1.08") / abs(mp.log(place.chi_perp))

    theory = Lengthy(LAYERS["residual"].forward, {name: right[name] for name in ("kernel_map", "chi_perp")})
    rows = {row.quantity: row.outcome for row in check(theory, "simulation").verdicts}
    assert rows["correlation_length"] is Outcome.REFUTED
    assert rows["jacobian"] is Outcome.PASSED


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("mistake", ["too long", "of the fixed point that repels"])
def test_a_length_that_is_wrong_where_another_fixed_point_repels(mistake, seed):
    """Dense(max(z, 0)**2): K' = C_b + 3 C_W K**2/2 has two fixed points, chi_perp = 2 C_W K."""
    right_theory = sr.derive("max(z,0)^2")
    right = right_theory.quantities

    class Lengthy(FakeTheory, DerivedDepth):
        def jacobian(self, first, last, K, **numbers):
            return mp.mpf(right_theory.jacobian(first, last, K, **numbers))

        def correlation_length(self, K, C_W, C_b):
            side = 1 if mistake == "of the fixed point that repels" else -1
            place = (1 + side * sp.sqrt(1 - 6 * C_W * C_b)) / (3 * C_W)
            return mp.mpf("1.08" if side < 0 else 1) / abs(mp.log(mp.mpf(sp.N(2 * C_W * place, 20))))

    theory = Lengthy(sr.mlp("max(z,0)^2").forward, {name: right[name] for name in ("kernel_map", "chi_perp")})
    rows = check(theory, "simulation", depth=1, seed=seed).verdicts
    assert {row.outcome for row in rows if row.quantity == "correlation_length"} == {Outcome.REFUTED}
