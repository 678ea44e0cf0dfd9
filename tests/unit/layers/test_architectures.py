"""The functions of the usual layers refuse in words what they do not take."""

import pytest

import symres as sr
from symres.core.errors import DeclarationError


@pytest.mark.parametrize("name", ["C_W", "C_b"])
def test_variances_are_numbers_of_the_layer(name):
    with pytest.raises(DeclarationError) as caught:
        sr.residual("gelu", **{name: 2})
    assert caught.value.remedy == f"give that number to the layer: residual(...).subs({name}=2)"
    assert str(sr.C_W) in map(str, sr.residual("gelu").subs(C_b=2).parameters)


@pytest.mark.parametrize(
    ("arguments", "numbers", "said"),
    [
        (("gelu",), {"gama": 1}, "did you mean gamma"),
        (("gelu",), {"width": 1}, "it takes gamma, xi, and its subs() C_W, C_b"),
        (("gelu", 1, 2, 3), {}, "write residual(phi, gamma, xi)"),
        ((), {"C_W": 1}, "write residual(phi, gamma, xi)"),
        (("swish",), {"beta": 2}, "residual(...).subs(beta=2)"),
    ],
)
def test_other_arguments(arguments, numbers, said):
    with pytest.raises(DeclarationError) as caught:
        sr.residual(*arguments, **numbers)
    assert said in caught.value.remedy


def test_a_layer_without_parameters_of_its_own():
    with pytest.raises(DeclarationError, match="it takes the activation only"):
        sr.mlp("gelu", gamma=1)
    assert sr.batch_norm("relu", units=2).name == "batch_norm"
