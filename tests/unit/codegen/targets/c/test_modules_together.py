"""Modules in C beside others: in one program, and in a folder with somebody's own files."""

import subprocess

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.targets.c.compiling import compiler
from symres.core.errors import DeclarationError
from tests.languages import STRICT_C
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


@pytest.mark.exhaustive  # the average takes half a minute
def test_pairs_with_means_compile_without_a_warning(tmp_path):
    m1, m2 = sp.symbols("m1 m2", real=True)
    module = sr.export(sr.expect2("relu", "step", means=(m1, m2)), target="c")
    module.write(tmp_path / "pair.c")
    subprocess.run([compiler(), *STRICT_C, "-c", "pair.c"], cwd=tmp_path, check=True, capture_output=True)


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
