"""Modules in C beside others: in one program, and in a folder with somebody's own files; series in C."""

import subprocess

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.scalar import library_source
from symres.codegen.targets.c.compiling import compiler
from symres.core.errors import DeclarationError, SymresError
from tests.languages import STRICT_C
from tests.oracles.average import average_of
from tests.oracles.smooth_pairs import average
from tests.shared import derived

pytestmark = pytest.mark.usefixtures("unmeasured")
MAIN = """#include <stdio.h>
#include "relu.h"
#include "gelu.h"
#include "relu.h"
int main(void)
{
    double K = 2, one, other;
    relu_kernel_map(1, &K, 1, 0.5, &one);
    gelu_kernel_map(1, &K, 1, 0.5, &other);
    printf("%.17g %.17g", one, other);
    return 0;
}
"""


@pytest.fixture(scope="module")
def gelu():
    return sr.export(derived(sr.mlp("gelu")).kernel_map, target="c")


def test_two_modules_are_linked_into_one_program(gelu, tmp_path):
    gelu.write(tmp_path / "gelu.c")
    sr.export(derived(sr.mlp("relu")).kernel_map, target="c").write(tmp_path / "relu.c")
    (tmp_path / "main.c").write_text(MAIN)
    command = [compiler(), *STRICT_C, "main.c", "relu.c", "gelu.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    printed = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    # relu: K/2; gelu by Williams's formula for the error function
    squared = 2 / 4 + 2 / (2 * np.pi) * (np.arcsin(2 / 3) + 2 * 2 / (3 * np.sqrt(5)))
    assert [float(word) for word in printed.split()] == pytest.approx([1.5, squared + 0.5], rel=1e-15)


def test_from_python_names_are_without_their_beginning(gelu):
    loaded = gelu.load()
    assert loaded.__all__ == list(gelu.functions) == ["kernel_map"]
    assert loaded.kernel_map(0.0, C_W=2.0, C_b=7.0) == 7.0


def test_headers_of_one_name_in_two_folders_are_both_read(gelu, tmp_path):
    other = sr.export(derived(sr.mlp("relu")).kernel_map, target="c", prefix="another")
    guards = set()
    for folder, module in (("one", gelu), ("two", other)):
        (tmp_path / folder).mkdir()
        module.write(tmp_path / folder / "kernels-of-layers.c")
        lines = (tmp_path / folder / "kernels-of-layers.h").read_text().splitlines()
        guards |= {line for line in lines if line.startswith("#ifndef SYMRES")}
    assert guards == {"#ifndef SYMRES_gelu_kernels_of_layers_H", "#ifndef SYMRES_another_kernels_of_layers_H"}


MEANS = sp.symbols("m1 m2", real=True)


@pytest.mark.parametrize("export", [
    pytest.param(lambda: sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("tanh")]), marks=pytest.mark.exhaustive),
    lambda: sr.expect2("tanh", "silu"),
    pytest.param(lambda: sr.expect2("relu", "step", means=MEANS), marks=pytest.mark.exhaustive),  # half a minute
])  # fmt: skip
def test_modules_compile_without_a_warning(export, tmp_path):
    sr.export(export(), target="c").write(tmp_path / "module.c")
    command = [compiler(), *STRICT_C, "-O1", "-c", "module.c"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_a_header_that_is_not_ours_stays(gelu, tmp_path):
    (tmp_path / "own.h").write_text("int somebody(void);\n")
    with pytest.raises(DeclarationError, match="would overwrite"):
        gelu.write(tmp_path / "own.c")
    with pytest.raises(DeclarationError, match="further file"):
        gelu.write(tmp_path / "gelu.h")
    assert [path.name for path in tmp_path.iterdir()] == ["own.h"]
    assert (tmp_path / "own.h").read_text() == "int somebody(void);\n"
    gelu.write(tmp_path / "gelu.c")
    gelu.write(tmp_path / "gelu.c")  # what symres wrote it writes again


def test_names_may_begin_with_nothing():
    text = sr.export(derived(sr.mlp("relu")).kernel_map, target="c", prefix="").text
    assert "\nvoid kernel_map(size_t" in text


@pytest.mark.parametrize("prefix", ["2nd", "a-b", "_own", "symres"])
def test_prefixes_that_no_name_begins_with_are_refused(prefix):
    with pytest.raises(DeclarationError, match="cannot begin with it"):
        sr.export(derived(sr.mlp("relu")).kernel_map, target="c", prefix=prefix)


# ---- series ------------------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formula", "lost", "left_out"),
    [("softplus(z) - log(2)", 1e-12, 0), ("softplus(z) + softplus(-z) - 2*log(2)", 1e-7, 2)],
)
def test_tiny_kernels_of_functions_that_vanish_at_0(formula, lost, left_out):
    """The second function loses digits itself, whose rounding no number of nodes removes."""
    covariance_map = sr.export(sr.derive(sr.mlp(formula)).covariance_map, target="c").load().covariance_map
    for k, c in ((1e-8, 3e-9), (1e-8, 1e-8), (1e-6, -4e-7)):
        squares = mp.mpf(k) ** 2 + 2 * mp.mpf(c) ** 2  # <z1**2 z2**2>; the functions are z/2 + z**2/8 and z**2/4
        exact = squares / 16 if "+" in formula else mp.mpf(c) / 4 + squares / 64
        assert covariance_map(k, k, c, 1.0, 0.0) == pytest.approx(float(exact), rel=lost + left_out * k)


@pytest.mark.exhaustive
def test_large_kernels_are_right_or_no_number():
    tanh = sr.export(sr.expect2("tanh", "tanh"), target="c").load().expect2
    assert np.isnan(tanh(1e30, 1e30, 1e29)) and tanh(300.0, 300.0, 300.0) == pytest.approx(
        float(average_of(lambda z: mp.tanh(z) ** 2, 300)), rel=1e-13
    )
    for rho in (0.1, 0.99, 1.0, 0.99999):
        found = tanh(300.0, 300.0, 300.0 * rho)
        assert np.isnan(found) == (rho == 0.99999)
        if rho != 0.99999:
            assert found == pytest.approx(average(np.tanh, np.tanh, 300.0, 300.0, rho, steps=80), abs=1e-12)


def test_kinks_are_refused():
    with pytest.raises(SymresError, match="kinks"):
        sr.export(sr.expect2("elu", "softplus"), target="c")


def test_a_wrong_recurrence_is_seen(monkeypatch):
    tools = library_source.library("double")
    text = library_source.ast.unparse(tools.functions["polynomials"])
    wrong = library_source.ast.parse(text.replace("sqrt(n - 1.0)", "sqrt(n - 0.999)")).body[0]
    changed = library_source.Library({**tools.functions, "polynomials": wrong}, tools.constants)
    monkeypatch.setattr(
        "symres.codegen.targets.c.text.library",
        lambda precision: changed if precision == "double" else library_source.library(precision),
    )
    function = sr.export(sr.expect2("tanh", "tanh"), target="c").load().expect2
    assert not abs(function(1.0, 1.0, 0.99) - average(np.tanh, np.tanh, 1.0, 1.0, 0.99)) < 1e-8
