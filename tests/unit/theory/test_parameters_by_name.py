"""Numbers in the wrong place of a call: the error shows the call to write."""

import pytest

import symres as sr

TANH = sr.derive("tanh")


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: TANH.correlation_length(1.5, 0.05), "write correlation_length(C_W=1.5, C_b=0.05)"),
        (lambda: TANH.fixed_points(1.5, 0.05), "write fixed_points(C_W=1.5, C_b=0.05)"),
        (lambda: TANH.fixed_points(1.5), "write fixed_points(C_W=..., C_b=...)"),
        (lambda: TANH.kernels(3, 1, 1.5, C_b=0.05), "write kernels(3, 1, C_W=1.5, C_b=0.05)"),
        (lambda: TANH.critical_line(1.5, 1), "write critical_line(1.5, C_b=1)"),
        (lambda: TANH.network(2).kernels(1, 1.5, 0.05), "write kernels(1, C_W=1.5, C_b=0.05)"),
        (
            lambda: sr.derive(sr.two_layer_block("relu")).depth_limit().kernel(1, 1, 2, 0),
            "write kernel(1, 1, C_W=2, C_b=0)",
        ),
        (lambda: TANH.kernel_map(1, 1.5, 0.05), "write kernel_map(K=1, C_W=1.5, C_b=0.05)"),
        (lambda: TANH.kernel_map(1, K=2), "write kernel_map(K=..., C_W=..., C_b=...)"),
    ],
)
def test_parameters_by_position_are_refused_with_the_call_to_write(call, remedy):
    with pytest.raises(sr.DeclarationError) as refusal:
        call()
    assert str(refusal.value).endswith(remedy)


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
