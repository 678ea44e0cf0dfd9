"""Parameters of a network: their names, their lists, and the signs that they are declared with."""

import math

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.kernels.declared_network import declared_network
from symres.kernels.given_numbers import parameter_values, require_interval

BETA = sp.Symbol("beta", nonpositive=True)
KNOWN = ("C_W", "C_b", "beta")


@pytest.fixture(scope="module")
def network():
    return declared_network(sr.activation(BETA * sr.z + sp.tanh(sr.z), beta=BETA), 1)


def test_values_are_floats(network):
    given = {"C_W": np.array([1, 2]), "C_b": 0, "beta": sp.Rational(-1, 2)}
    assert parameter_values(KNOWN, given, network) == {"C_W": [1.0, 2.0], "C_b": 0.0, "beta": -0.5}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"beta": 1}, "beta = 1: it is positive; pass beta <= 0"),
        ({"beta": [-1, 1]}, "beta = 1: it is positive"),
        ({"C_W": -1e-3}, "it is negative; pass C_W >= 0"),
        ({"C_b": [0.1]}, "1 values, and the network has 2 layers"),
        ({"C_b": math.nan}, "not a finite real number"),
        ({"alpha": 1}, "it has no parameter alpha; pass numbers for C_W, C_b, beta"),
    ],
)
def test_others_are_refused(network, changed, message):
    with pytest.raises(sr.DeclarationError, match=message):
        parameter_values(KNOWN, {"C_W": 2, "C_b": 0.1, "beta": -1} | changed, network)


def test_without_a_network_shared_parameters_have_their_signs():
    assert parameter_values(KNOWN, {"C_W": 0, "C_b": [1, 2, 3], "beta": 1})["beta"] == 1
    with pytest.raises(sr.DeclarationError, match="C_W = -1: it is negative"):
        parameter_values(KNOWN, {"C_W": [1, -1], "C_b": 1, "beta": 1})


def test_intervals_keep_the_sign(network):
    require_interval("a constraint", network, "C_W", 0.0, math.inf)
    require_interval("a constraint", network, "beta", -math.inf, 0.0)
    for name, low, high in (("C_W", -math.inf, 1.0), ("C_W", -1.0, 1.0), ("beta", -1.0, math.inf)):
        with pytest.raises(sr.DeclarationError, match=f"a constraint at {name} = "):
            require_interval("a constraint", network, name, low, high)
