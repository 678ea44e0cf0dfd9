"""Parameters by name, kernels by position, and subjects of every kind."""

import pytest

import symres as sr

TANH = sr.derive("tanh")


def test_methods_of_theories_keep_their_names_and_signatures():
    assert sr.Theory.kernels.__name__ == "kernels"
    assert "mpmath numbers" in sr.Theory.kernels.__doc__


def test_kernels_may_be_passed_by_position():
    assert TANH.chi_perp(1.0, C_W=2) == TANH.chi_perp(K=1.0, C_W=2)
    assert TANH.covariance_map(1, 2, 0.5, C_W=2, C_b=0) == TANH.covariance_map(K1=1, K2=2, C=0.5, C_W=2, C_b=0)
    assert TANH.covariance_map(1, C_W=2, C_b=0, K2=2, C=0.5) == TANH.covariance_map(K1=1, K2=2, C=0.5, C_W=2, C_b=0)
    with pytest.raises(sr.DeclarationError, match="C_W=1"):
        TANH.chi_perp(1.0)


@pytest.mark.parametrize("made", [sr.mlp("tanh"), sr.activation("tanh"), "tanh", TANH])
def test_a_theory_of_anything_that_has_one(made):
    theory = sr.derive(made)
    assert theory == TANH
    assert sr.network([made, made]) == TANH.network(2)
    if made is TANH:
        assert theory is TANH


def test_layers_and_activations_derive_themselves():
    assert sr.mlp("tanh").derive() == sr.activation("tanh").derive() == TANH
