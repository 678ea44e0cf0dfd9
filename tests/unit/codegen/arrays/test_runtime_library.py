"""Run-time functions: what a module gets of their files, and that definitions of one name are alike."""

import ast
import subprocess
import sys
from pathlib import Path

import mpmath as mp
import pytest

from symres.codegen import targets
from symres.codegen.arrays.array_target import FEATURE_ROWS, HERMITE, SEARCHES, SHARED, SLOPED
from symres.codegen.arrays.runtime import gauss_legendre
from symres.codegen.arrays.runtime.error_free import _determinant
from symres.codegen.arrays.runtime_library import RuntimeLibrary
from symres.codegen.targets.jax import TARGET as JAX
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.torch import TARGET as TORCH
from symres.core.errors import SymresError

FILE = '''"""About the file."""

from __future__ import annotations

import math
from typing import TypeAlias

Number: TypeAlias = float
# how long
_LENGTH: float = 2.0


def _inner(x: Number, *rest: Number, least: Number = -math.inf) -> Number:
    """What it is."""
    found: list[Number] = [x, *rest]  # as it was given
    return max(least, sum(found))


def _outer(x: Number) -> Number:
    return _LENGTH * _inner(x)


def _alone(x: Number) -> Number:
    return x
'''


@pytest.fixture
def library(tmp_path):
    (tmp_path / "file.py").write_text(FILE)
    return RuntimeLibrary.read(tmp_path)


def test_a_module_gets_what_its_code_calls_and_what_that_needs(library):
    assert library.needed("y = _outer(1.0)") == ("_LENGTH", "_inner", "_outer")
    assert library.needed("y = _outer_of(1.0)") == ()
    space = {}
    exec("import math\n" + "\n".join(library.definitions("_outer")), space)
    assert space["_outer"](3.0) == 6.0


def test_annotations_are_left_out_and_comments_stay(library):
    text = library.texts["_inner"]
    assert text.startswith('def _inner(x, *rest, least=-math.inf):\n    """What it is."""\n')
    assert "    found = [x, *rest]  # as it was given\n" in text
    assert library.texts["_LENGTH"] == "# how long\n_LENGTH = 2.0"


def test_a_later_folder_takes_the_place_of_definitions(tmp_path, library):
    other = tmp_path / "other"
    other.mkdir()
    (other / "own.py").write_text("def _inner(x, *rest):\n    return _twice(x)\n\n\ndef _twice(x):\n    return 2 * x\n")
    both = RuntimeLibrary.read(tmp_path, other)
    assert both.needed("_outer") == ("_LENGTH", "_outer", "_inner", "_twice")


@pytest.mark.parametrize(
    "text", ["for x in (1, 2):\n    pass\n", "a = b = 1\n", "def f(): ...\n\n\ndef _alone(): ...\n"]
)
def test_what_is_no_definition_of_one_name_is_refused(tmp_path, text):
    (tmp_path / "a_file.py").write_text(FILE)
    (tmp_path / "b_file.py").write_text(text)
    with pytest.raises(SymresError, match=r"it is not a definition of one name|_alone is defined twice"):
        RuntimeLibrary.read(tmp_path)


@pytest.mark.parametrize("target", [NUMPY, TORCH], ids=lambda target: target.name)
def test_definitions_of_one_name_take_the_same_arguments(target):
    """A target's own function replaces the shared one wherever that is called."""

    def arguments(text):
        node = ast.parse(text).body[0]
        return [a.arg for a in node.args.args] if isinstance(node, ast.FunctionDef) else None

    shared = RuntimeLibrary.read(SHARED, SEARCHES).texts
    changed = {name for name, text in target.runtime.texts.items() if shared.get(name, text) != text}
    assert changed
    for name in changed:
        assert arguments(target.runtime.texts[name]) == arguments(shared[name]), name


@pytest.mark.parametrize("target", [NUMPY, TORCH, JAX], ids=lambda target: target.name)
def test_the_search_of_the_theory_stands_in_modules_as_it_is(target):
    """Its definitions take the place of no other, and no other takes theirs."""
    search = RuntimeLibrary.read(SEARCHES).texts
    assert search.items() <= target.runtime.texts.items()
    others = [SHARED, HERMITE, SLOPED, FEATURE_ROWS, *Path(targets.__file__).parent.glob("*/runtime")]
    assert not search.keys() & {name for place in others for name in RuntimeLibrary.read(place).texts}


def test_generating_for_pytorch_does_not_import_it():
    code = "import sys; sys.modules['torch'] = None; import symres as sr; print(sr.export(sr.expect('relu'), 'torch'))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "import torch" in out and "as PyTorch was not installed" in " ".join(out.split())


# ---- the functions themselves ------------------------------------------------------------------------------------
def test_nodes_and_weights_are_correctly_rounded():
    nodes, weights, count = gauss_legendre._GAUSS_NODES, gauss_legendre._GAUSS_WEIGHTS, 40
    assert len(nodes) == len(weights) == count
    with mp.workdps(40):
        for node, weight in zip(nodes, weights, strict=True):
            x = mp.findroot(lambda y: mp.legendre(count, y), 2 * mp.mpf(node) - 1)
            slope = count * (mp.legendre(count - 1, x) - x * mp.legendre(count, x)) / (1 - x * x)
            assert node == float((1 + x) / 2)
            assert weight == float(1 / ((1 - x * x) * slope**2))


def test_the_determinant_of_nearly_parallel_inputs_has_all_digits():
    for a, b, c in ((1.1, 1.1, 1.1 * (1 - 1e-15)), (0.3, 1.2, 0.6 * (1 - 3e-16)), (1e-8, 1e4, -0.01 * (1 - 1e-12))):
        exact = mp.mpf(a) * mp.mpf(b) - mp.mpf(c) ** 2
        with mp.workdps(60):
            exact = mp.mpf(a) * mp.mpf(b) - mp.mpf(c) ** 2
        assert float(_determinant(a, b, c)) == pytest.approx(max(float(exact), 0.0), rel=1e-15)
