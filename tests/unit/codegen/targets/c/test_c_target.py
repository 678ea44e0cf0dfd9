"""C: compiled without a warning, linked by others; its compiler; networks."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import symres as sr
from symres.codegen.scalar import library_source
from symres.codegen.targets.c import compiling
from symres.codegen.targets.c.declarations import header_of
from symres.core.errors import DeclarationError
from tests.languages import STRICT_C
from tests.oracles.closed_forms import PAIRS, in_50_digits
from tests.shared import derived

rng = np.random.default_rng(0)

COMPILER = compiling.compiler()


@pytest.fixture(scope="module")
def relu():
    return sr.export(derived(sr.mlp("relu")), target="c")


@pytest.fixture(scope="module")
def loaded(relu):
    return relu.load()


def test_parameters_without_influence_may_be_left_out(loaded):
    assert loaded.phi_squared(2.0) == loaded.phi_squared(2.0, 1.7, C_b=0.1) == 1.0


@pytest.mark.parametrize("call, found", [
    (lambda m: m.kernel_map(1.0), "missing a required argument: 'C_W'"),
    (lambda m: m.kernel_map(1.0, 1.0, 1.0, 1.0), "too many positional"),
    (lambda m: m.kernel_map(1.0, 1.0, C_W=2.0, C_b=0.0), "multiple values for argument 'C_W'"),
    (lambda m: m.kernel_map(1.0, 1.0, 1.0, beta=2.0), "unexpected keyword argument 'beta'"),
])  # fmt: skip
def test_wrong_arguments_are_named(loaded, call, found):
    with pytest.raises(TypeError, match=found):
        call(loaded)


def test_source_and_header_are_written_and_compile_without_a_warning(relu, tmp_path):
    path = relu.write(tmp_path / "kernels.c")
    header = (tmp_path / "kernels.h").read_text()
    assert header == header_of(relu.text, "kernels") and "explains the functions" in header
    assert "/* Covariance of the next layer, two inputs. */\nvoid relu_covariance_map(size_t entries" in header
    command = [COMPILER, *STRICT_C, "-O1", "-c", str(path), "-o", str(tmp_path / "kernels.o")]
    subprocess.run(command, check=True, capture_output=True)


def test_a_program_uses_a_network_as_its_source_says(tmp_path):
    """Kernels of relu before and after, against Cho and Saul; the compile line is that of the source."""
    sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "relu"]), target="c").write(tmp_path / "net.c")
    source = (tmp_path / "net.c").read_text()
    assert "return is 0, or 1 if memory ran out" in " ".join(source.replace(" *", " ").split())
    assert "row-major" in source and source.count("before the call the covariances x.x'/n0") == 2
    (tmp_path / "program.c").write_text(
        '#include <stdio.h>\n#include "net.h"\nint main(void)\n{\n'
        "    const double K1[] = {1, 2}, K2[] = {3, 1, 2}, C_W[] = {1.5, 2}, C_b[] = {0.25, 0.5};\n"
        "    double C[] = {0.5, 1, -1, 1.5, 0.25, 2}, Theta[6];\n"
        "    if (layer_relu_dual_kernel_matrix(2, 3, K1, K2, 0, 1, C_W, C_b, C, Theta))\n        return 1;\n"
        '    for (int i = 0; i < 6; ++i)\n        printf("%.17g ", C[i]);\n    return 0;\n}\n'
    )
    (command,) = [line for line in source.splitlines() if line.endswith("-o program")]
    words = [{"FILE.c": "net.c", "cc": COMPILER}.get(word, word) for word in command.split()[1:] if word != "-fopenmp"]
    subprocess.run([*words, *STRICT_C], check=True, cwd=tmp_path)
    printed = subprocess.run([str(tmp_path / "program")], check=True, capture_output=True, text=True).stdout
    columns = ([1, 1, 1, 2, 2, 2], [3, 1, 2, 3, 1, 2], [0.5, 1, -1, 1.5, 0.25, 2])
    for value, point in zip(printed.split(), 1.5 * np.transpose(columns) + 0.25, strict=True):
        exact = 2 * in_50_digits(PAIRS["relu"], **dict(zip(("K1", "K2", "C"), point, strict=True))) + 0.5
        assert float(value) == pytest.approx(float(exact), rel=1e-7)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_the_header_is_one_of_cpp_too(relu, tmp_path):
    relu.write(tmp_path / "kernels.c")
    (tmp_path / "main.cpp").write_text('#include "kernels.h"\nint main() { return 0; }\n')
    subprocess.run(["g++", "-Wall", "-Werror", "-fsyntax-only", str(tmp_path / "main.cpp")], check=True)


def test_lack_of_a_compiler_is_told(relu, monkeypatch):
    monkeypatch.setattr(compiling.shutil, "which", lambda name: None)
    with pytest.raises(DeclarationError, match="no C compiler"):
        relu.load()


def test_a_compiler_that_refuses_is_told():
    with pytest.raises(DeclarationError, match=r"failed: .*error"), compiling.compiled("broken", "int f( {"):
        pass


CLEANED = """
import os, shutil, symres as sr
exported = sr.export(sr.derive("relu").covariance_map, target="c")
modules = [exported.load()]
print(os.listdir(os.environ["TMPDIR"]))
for name in os.listdir(os.environ["TMPDIR"]):
    shutil.rmtree(os.path.join(os.environ["TMPDIR"], name))
modules.append(exported.load())
print([round(float(module.covariance_map(1.0, 1.0, 1.0, 2.0, 0.25)), 12) for module in modules])
"""


@pytest.mark.exhaustive
def test_a_library_outlives_its_folder(tmp_path):
    """Cleaners of temporary folders remove what is old: nothing that is loaded needs it, nothing is left behind."""
    done = subprocess.run(
        [sys.executable, "-c", CLEANED],
        env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n[1.25, 1.25]\n"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("nothing-of-this-name -O1", "CC names nothing-of-this-name, which is not a command"),
        ("'half a quotation", "which is not a command"),
        ("/bin/false", "/bin/false .*failed: exit code 1; .*let CC name another"),
        ("/bin/true", "no library was written"),
        ("{folder}/empty", "Exec format error"),
        ("{folder}/writes_text", r"loading C code: .*TMPDIR"),
        (f"{COMPILER} -Dpow=nothing_of_this_name -fno-such-option", "no-such-option"),
    ],
)
def test_a_compiler_that_does_not_compile_is_told(relu, monkeypatch, tmp_path, named, message):
    writes_text = b'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; echo text > "$2"\n'
    for name, content in {"empty": b"\0", "writes_text": writes_text}.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("CC", named.replace("{folder}", str(tmp_path)))
    with pytest.raises(DeclarationError, match=message):
        relu.load()


def test_options_of_the_compiler_are_kept(relu, monkeypatch):
    monkeypatch.setenv("CC", f"{COMPILER} -DUNUSED '-DTEXT=\"a b\"'")
    assert relu.load().covariance_map(1.0, 1.0, 1.0, 2.0, 0.25) == pytest.approx(1.25, rel=1e-14)


@pytest.mark.parametrize("name", ["double", "sqrt", "main"])
def test_words_of_the_language_are_no_names(name):
    with pytest.raises(DeclarationError, match=name):
        sr.export({name: sr.expect("relu(z)^2")}, target="c")


@pytest.mark.exhaustive
def test_errors_of_series_are_those_of_this_code():
    module = sr.export(sr.expect2("silu", "silu"), target="c")
    text = " ".join(module.text.replace("*", " ").split())
    assert "measured on this code" in text and "summed as series in the correlation" in text
    assert "by quadrature" not in text
    assert module.warnings == (
        "expect2: nan beyond kernels of 309: series in the correlation would need more than 4096 terms for nearly "
        "parallel inputs",
    )


def test_a_wrong_coefficient_is_seen_by_the_measurement(monkeypatch):
    tools = library_source.library("double")
    tree = tools.functions["arctan_tail"]
    wrong = library_source.ast.parse(
        library_source.ast.unparse(tree).replace("0.3333333333333333", "0.3366666666666666")
    )
    functions = {**tools.functions, "arctan_tail": wrong.body[0]}
    monkeypatch.setattr(
        "symres.codegen.targets.c.text.library", lambda precision: library_source.Library(functions, tools.constants)
    )
    module = sr.export(sr.expect2("relu", "abs(z) + relu(z)"), target="c")  # measured here for the first time
    assert any("is inaccurate" in warning for warning in module.warnings)
