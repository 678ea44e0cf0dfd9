"""The structure of the house: contracts of imports, and rules that no linter knows."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import symres as sr
from tests.house import PACKAGE, counted_files, modules_of_folders, parsed, repeated_classes, repeated_modules, sources

LINTER = "from importlinter.cli import lint_imports_command; lint_imports_command()"
UNIT = Path(__file__).parent
SHARED_SYMBOLS = {"z", "K", "K1", "K2", "C", "C_W", "C_b", "gamma", "xi", "n", "n_L", "r", "Theta"}


def broken_contracts(folder):
    """What import-linter says of a package in a folder, by the contracts of pyproject."""
    command = [sys.executable, "-c", LINTER, "--no-cache", "--config", str(PACKAGE.parent / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(folder)})


def test_imports_keep_the_contracts():
    result = broken_contracts(PACKAGE.parent)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("place", "line", "contract"),
    [
        ("check/random_imaginary.py", "from ..gaussian.closed_form.engine import closed_form", "Imports between rooms"),
        ("check/imaginary.py", "from ..functions.balls import evaluate", "The oracles see the declaration"),
        ("check/imaginary.py", "from ..layers.program import Program", "The oracles see the declaration"),
        ("codegen/imaginary.py", "from ..layers.layer import Layer", "The code generator knows quantities only"),
        (
            "codegen/targets/torch/imaginary.py",
            "from ..numpy import TARGET",
            "Targets do not know each other",
        ),
        ("core/errors.py", "from .symbols import z\nfrom .scalars import number", "No circles"),
    ],
)
def test_the_contracts_catch_a_forbidden_import(tmp_path, place, line, contract):
    shutil.copytree(PACKAGE, tmp_path / "symres", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "symres" / place
    path.write_text((path.read_text() if path.exists() else "") + f"\n{line}\n")
    result = broken_contracts(tmp_path)
    assert result.returncode == 1
    assert any(contract in row and "BROKEN" in row for row in result.stdout.splitlines()), result.stdout


def test_no_folder_is_crowded():
    for folder, found in modules_of_folders().items():
        assert len(found) <= 12, folder


def test_no_name_occurs_twice():
    assert not repeated_modules()
    assert not repeated_classes()


def test_folders_of_unit_tests_are_rooms():
    rooms = {path.parent.relative_to(PACKAGE) for path in sources()}
    assert {path.parent.relative_to(UNIT) for path in UNIT.rglob("*.py")} <= rooms


def test_a_test_called_like_a_module_lies_in_its_room():
    rooms = {}
    for folder, found in modules_of_folders().items():
        for path in found:
            rooms.setdefault(f"test_{path.name}", []).append(folder.relative_to(PACKAGE))
    for path in UNIT.rglob("test_*.py"):
        room = path.parent.relative_to(UNIT)
        assert room in rooms.get(path.name, [room]), path


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_shared_symbols_are_made_once(path):
    if path.name == "symbols.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "Symbol":
            first = node.args[0] if node.args else None
            assert not (isinstance(first, ast.Constant) and first.value in SHARED_SYMBOLS), f"{path}: {first.value}"


def test_import_symres_is_light():
    code = "import sys, symres; print([m for m in ('torch', 'matplotlib', 'jinja2') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


WITHOUT_ARRAYS = """
import sys
sys.modules.update(dict.fromkeys(("numpy", "scipy")))
import symres as sr
assert sr.activation("z*tanh(log(1 + exp(z)))").pieces.parts
theory = sr.derive("gelu", layer="residual")
for quantity in (theory.kernel_map, theory.chi_parallel, theory.chi_perp):
    print(quantity.status, quantity.expr)
    print(quantity.latex())
"""


def test_maps_are_derived_and_printed_without_numpy_and_scipy():
    without = subprocess.run([sys.executable, "-c", WITHOUT_ARRAYS], capture_output=True, text=True)
    assert without.returncode == 0, without.stderr
    theory = sr.derive("gelu", layer="residual")
    expected = [f"{q.status} {q.expr}\n{q.latex()}" for q in (theory.kernel_map, theory.chi_parallel, theory.chi_perp)]
    assert without.stdout.splitlines() == "\n".join(expected).splitlines()


def test_nodes_and_weights_are_made_in_numerics_alone():
    """But for oracles, which have their own, and for what generated modules contain, the room of code and its texts."""
    made = counted_files(parsed())["Gauss rules"]
    assert not [path for path in made if not path.startswith(("symres/codegen/", "templates/"))]
    for room in ("functions", "gaussian", "theory", "torch"):
        text = "import numpy as np\nx, w = np.polynomial.legendre.leggauss(8)"
        assert counted_files({f"symres/{room}/imaginary.py": ast.parse(text)})["Gauss rules"]
