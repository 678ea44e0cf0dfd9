"""What keeps critical conditions from being solved is a value, not a sentence."""

import pytest
import sympy as sp

import symres as sr
from symres.theory.criticality.critical_conditions import (
    Conditions,
    NoConditions,
    Obstacle,
    conditions_of,
)


def conditions(layer):
    theory = sr.derive(layer)
    return conditions_of(theory.kernel_map, theory.chi_parallel, theory.chi_perp)


def test_conditions_of_gelu_are_solved():
    assert isinstance(conditions("gelu"), Conditions)


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (sr.mlp("gelu").subs(C_b=0), NoConditions(Obstacle.FIXED_BIAS)),
        (sr.two_layer_block("gelu"), NoConditions(Obstacle.NOT_LINEAR)),
        (
            sr.mlp(sr.activation("sin(a*z) + z^2*b", a=sp.Symbol("a", positive=True), b=sp.Symbol("b", real=True))),
            NoConditions(Obstacle.PARAMETERS, ("a", "b")),
        ),
    ],
)
def test_obstacles(layer, expected):
    found = conditions(layer)
    assert found == expected
    assert found.asks_for_numbers is (expected.obstacle is Obstacle.PARAMETERS)
    assert all(name in found.sentence for name in expected.names)
