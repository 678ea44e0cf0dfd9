"""The one door to generated modules and documents: its text is always the same, and what it refuses."""

import os
import subprocess
import sys

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.core.symbols import C_W, K
from symres.report.export import export
from symres.results.quantity import Quantity, Status
from tests.oracles.closed_forms import kernel_map, theory

GENERATE = """
from symres import export
from tests.oracles.closed_forms import theory, KERNELS, kernel_map
print(export(theory({0!r}), {1!r}).text)
print(export(kernel_map(KERNELS["elu"]), {1!r}).text)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch", "latex"])
def test_text_does_not_depend_on_the_hash_seed(target):
    texts = []
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        texts.append(
            subprocess.run(
                [sys.executable, "-c", GENERATE.format("gelu", target)],
                env=environment, capture_output=True, text=True, check=True,
            ).stdout
        )  # fmt: skip
    assert texts[0] == texts[1] == texts[2]


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
