"""The response of the statistics of one layer, against differences of maps and published weights."""

import pytest
import sympy as sp

import symres as sr
from symres.theory.finite_width.layer_response import LayerResponse, total_slopes


def weights(layer):
    response = LayerResponse(layer.program)
    J, T = total_slopes(response.slopes_after, response.slopes, response.state)
    return response, J, T


def numbers(expression, response, **values):
    """An expression in the names of averages, with their values in their place."""
    for name, value in reversed(response.values.items()):
        expression = expression.xreplace({name: value})
    return float(sp.N(expression.subs({s: sp.Rational(values[s.name]) for s in expression.free_symbols})))


@pytest.mark.parametrize(
    "layer",
    [sr.residual("gelu"), sr.pre_ln("gelu", gamma=sr.gamma), sr.two_layer_block("tanh"), sr.ln_act("relu", sr.gamma)],
    ids=lambda layer: layer.name,
)
def test_the_kernel_responds_by_chi_parallel(layer):
    response, J, _ = weights(layer)
    setting = {"K": "1.7", "C_W": "1.3", "C_b": "0.2", "gamma": "0.6", "xi": "0.5"}
    chi = sr.derive(layer).chi_parallel
    expected = chi.evalf(**{s.name: setting[s.name] for s in chi.symbols})
    assert numbers(J[1][1], response, **setting) == pytest.approx(float(expected), rel=1e-12)


def test_a_layer_norm_takes_out_two_hermite_components():
    """The weights of mean, variance and covariance of pre-LN GELU at K = 1.7: -h1/sqrt(K), -h2/K and 1."""
    response, _, T = weights(sr.pre_ln("gelu", gamma=sr.gamma))
    found = [numbers(w, response, K="1.7", C_W="1", C_b="0", gamma="0.5") for w in T[1]]
    assert found == pytest.approx([-0.54089, -0.28616, 1], rel=2e-5)


def test_a_mean_that_vanishes_still_responds():
    """Post-LN: the mean of the next stream is 0, whatever the mean of this one is."""
    z = sr.z
    response, J, T = weights(sr.Layer(sr.LayerNorm(z + sr.Dense(sr.activation("relu")(z)))))
    assert all(numbers(entry, response, K="1", C_W="1", C_b="0") == pytest.approx(0) for entry in J[0])
    assert any(w != 0 for w in T[0])


def test_populations_of_other_widths_are_independent():
    z = sr.z
    layer = sr.Layer(z + sr.Dense(sr.activation("relu")(sr.Dense(z, width=2))))
    response = LayerResponse(layer.program)
    first, second = response.averages
    assert response.covariance(first, second) == 0
    assert response.averages[second].width == 2
