"""What names in C begin with where nobody says it."""

import pytest

import symres as sr
from symres.core.errors import DeclarationError
from symres.report.export import default_prefix
from tests.shared import derived

LONG = "z*tanh(log(1+exp(z))) + sin(z)^2/2"
SUBJECTS = [
    (lambda: derived(sr.mlp("relu")), "relu"),
    (lambda: derived(sr.residual("relu")), "relu_residual"),
    (lambda: derived(sr.mlp("elu(alpha=1/2)")), "elu_alpha_1_over_2"),
    (lambda: derived(sr.layer("z + Dense(relu(z)*sin(z))")), "relu_sin_layer"),
    (lambda: sr.expect2("relu", "step"), "relu_step"),
    (lambda: sr.network([sr.mlp("relu"), sr.mlp("erf"), sr.mlp("relu")]), "relu_erf"),
    (lambda: {"mine": sr.expect("relu")}, ""),
]


@pytest.mark.parametrize(("subject", "prefix"), SUBJECTS)
def test_names_begin_with_the_activations_and_the_layer(subject, prefix):
    assert default_prefix(subject(), "c") == prefix
    assert default_prefix(subject(), "numpy") == ""


def test_formulas_without_a_name_differ():
    first, second = (default_prefix(sr.expect(text), "c") for text in (LONG, f"{LONG} + 1"))
    assert first != second
    assert first.isidentifier()
    assert first.startswith("formula_")


@pytest.mark.parametrize("target", ["numpy", "torch", "numba", "jax", "latex"])
def test_other_targets_have_no_prefix(target):
    with pytest.raises(DeclarationError, match=r"called by the name of their module|LaTeX has no names"):
        sr.export("relu", target=target, prefix="mine")
