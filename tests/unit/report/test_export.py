"""The one door to generated modules and documents: its text is always the same, and what it refuses."""

import subprocess
import sys

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.core.symbols import C_W, K
from symres.report.export import default_prefix, export
from symres.results.quantity import Quantity, Status
from tests.oracles.closed_forms import kernel_map, theory
from tests.shared import derived


def test_import_of_symres_brings_no_torch_and_no_matplotlib():
    code = "import sys, symres; symres.export; assert not {'torch', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def unknown():
    return Quantity("h", (K,), sp.nan, sp.nan, Status.UNKNOWN, reason="nothing applies")


def test_progress_names_each_quantity_and_rises():
    told = []
    sr.export("relu", progress=lambda *what: told.append(what))
    names, shares = zip(*told, strict=True)
    assert {"covariance_map", "chi_perp"} <= set(names)
    assert list(shares) == sorted(shares) and shares[0] == 0 and shares[-1] < 1
    told.clear()
    sr.export(sr.network(["relu", "relu", "abs"]), progress=lambda *what: told.append(what))
    names, shares = zip(*told, strict=True)
    assert names.count("covariance_map") == 2 and list(shares) == sorted(shares) and shares[-1] < 1


def test_unknown_quantity_is_refused_alone_and_named_in_company():
    with pytest.raises(NoClosedForm, match="nothing applies"):
        export(unknown())
    text = export({**theory("relu"), "h": unknown()}).text
    assert "h: it is unknown (nothing applies)" in text
    assert "def h(" not in text


def test_refusals_say_what_to_do(tmp_path):
    with pytest.raises(DeclarationError, match="numpy, torch, latex"):
        export(kernel_map(K / 2), "fortran")
    with pytest.raises(DeclarationError, match="Quantity"):
        export(42)
    with pytest.raises(DeclarationError, match="LaTeX"):
        export(kernel_map(K / 2), "latex").load()
    body = C_W * sp.Symbol("q") * K
    with pytest.raises(DeclarationError, match="q is not an argument"):
        export(Quantity("kernel_map", (K, C_W), body, body, Status.EXACT))


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
