"""Scalar Python and the C that it becomes give the same numbers, bit for bit."""

import ast
import ctypes
import math
import subprocess

import numpy as np
import pytest

from symres.codegen.scalar.library import angle_functions as angles
from symres.codegen.scalar.library import (
    choices,
    corners,
    double_precision,
    exponentials,
    hermite,
    recursion,
    series_sums,
    tables,
)
from symres.codegen.scalar.library_source import library
from symres.codegen.scalar.translate import Names, translated
from symres.codegen.targets.c.compiling import compiled, compiler
from symres.codegen.targets.c.text import KNOWN, machine

MODULES = (choices, angles, corners, exponentials, tables, recursion, double_precision, hermite, series_sums)
HEAD = f"#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n{machine()}\n"
rng = np.random.default_rng(3)


@pytest.fixture(scope="module")
def c_library():
    tools = library()
    text = translated(tools.functions.values(), Names("double", KNOWN, "symres_", tools.constants))
    with compiled("library", HEAD + text.replace("static inline ", "")) as path:
        return ctypes.CDLL(str(path))


def scalar_functions():
    for name, tree in library().functions.items():
        if all(a.annotation is not None and ast.unparse(a.annotation) == "float" for a in tree.args.args):
            yield name, len(tree.args.args)


def test_floats_have_constants_of_their_own(tmp_path):
    tools = library("single")
    called = tools.needed([ast.parse("two_tails(), certain()")])
    text = translated(called, Names("float", KNOWN, "symres_", tools.constants))
    (tmp_path / "floats.c").write_text(HEAD + text)
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]  # 1e-150f is refused
    subprocess.run([compiler(), *strict, "-c", "floats.c"], cwd=tmp_path, check=True, capture_output=True)
    with compiled("floats", HEAD + text.replace("static inline ", "")) as path:
        function = ctypes.CDLL(str(path)).symres_two_tailsf
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float] * 4
    for x, y in ((1.0, math.sqrt(3.0)), (0.0, 1.0), (-3.0, 4.0), (1.0, 0.0)):
        assert function(0.0, 0.0, x, y) == pytest.approx(0.25 + math.atan2(x, y) / (2 * math.pi), rel=1e-6)  # Sheppard


@pytest.mark.sample(4)
@pytest.mark.parametrize("name, count", list(scalar_functions()))
def test_bit_for_bit(c_library, name, count):
    (python,) = (vars(m)[name] for m in MODULES if name in vars(m) and vars(m)[name].__module__ == m.__name__)
    function = getattr(c_library, f"symres_{name}")
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * count
    points = rng.normal(0, 1, (200, count)) * 10.0 ** rng.uniform(-3, 2, (200, count))
    if name in ("separation", "correlation", "complement", "is_near", "gap_of_parallel"):
        points = np.abs(points)
    if name in ("correlation", "complement"):
        points[:, 2] = np.sqrt(points[:, 0] * points[:, 1]) * rng.uniform(0, 1, 200)
    for point in points.tolist():
        try:
            mine = python(*point)
        except (ValueError, ZeroDivisionError):  # math's functions refuse what is nan in C
            continue
        theirs = function(*point)
        assert mine == theirs or (math.isnan(mine) and math.isnan(theirs)), point


def test_piecewise_polynomial(c_library):
    edges, table = [0.0, 0.25, 1.0], rng.normal(0, 1, 12)
    function = c_library.symres_piecewise
    array = ctypes.POINTER(ctypes.c_double)
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_double, array, ctypes.c_long, array, ctypes.c_long]
    given = [np.array(edges), np.array(table)]
    for u in (0.0, 0.1, 0.25, 0.9, 2.0):
        pointers = [a.ctypes.data_as(array) for a in given]
        assert function(u, pointers[0], 2, pointers[1], 6) == tables.piecewise(u, edges, 2, table.tolist(), 6)


def test_series_bit_for_bit(c_library):
    array, whole = ctypes.POINTER(ctypes.c_double), ctypes.c_long
    terms, nodes = 8, 16
    values, numbers = rng.normal(0, 1, (2, 64 * nodes)), rng.normal(0, 1, 3000)
    places = rng.integers(0, 64, 128).astype(float)
    rho = rng.uniform(-0.05, 0.05, 64)

    def both(name, *arguments):
        """What a function writes into its arguments, and what it returns."""
        mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
        (python,) = (vars(m)[name] for m in (hermite, series_sums) if name in vars(m))
        function = getattr(c_library, f"symres_{name}")
        function.restype = ctypes.c_double
        kinds = {int: whole, float: ctypes.c_double}
        passed = [a.ctypes.data_as(array) if isinstance(a, np.ndarray) else kinds[type(a)](a) for a in theirs]
        returned = python(*mine), function(*passed)
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a, b, equal_nan=True), name
        return mine, returned

    (*_, table), _ = both("polynomials", 0, terms, terms, nodes, 0.8, np.zeros((terms + 2) * nodes))
    one = both("products", 0, terms, nodes, table[2 * nodes :].copy(), values[0], numbers[: 64 * terms])[0][-1]
    two = both("products", 1, terms, nodes, table[2 * nodes :].copy(), values[1], one)[0][-1]
    sizes = both("squares", nodes, table[2 * nodes :].copy(), *values, np.zeros(64))[0][-1]
    _, _, _, tails, rests, _ = both("remainders", terms, two, sizes, np.zeros(4), np.zeros(64), np.zeros(192))[0]
    row = both("row_of", terms, 5, two, np.zeros(terms))[0][-1]
    both("chunk", terms, row, tails, float(rests[5]), two, tails, rests, rho, np.zeros(128), np.zeros(64))
    both("apart", terms, two, tails, rests, two, tails, rests, places, rho, np.zeros(128 + 65 * terms), np.zeros(64))
    near = np.where(np.arange(64) % 2 == 0, 1.0, rho)
    both("equal_in_row", near, 1.0, np.ones(64), 2.0, np.zeros(64))
    both("equal_apart", near, np.ones(64), sizes, places, np.zeros(64))
    _, (mine, theirs) = both("probed", terms, nodes, 0.8, *values, np.zeros(2 * nodes), np.zeros(terms))
    assert mine == theirs
    both("judge", 1.0, 1.0, row / 10, row / 10, np.array([64.0, float(terms), 0.0, 1e-15]))


@pytest.mark.parametrize("text", ["x = [1.0]", "while x:\n    break", "x = 'word'", "x = a if b else True"])
def test_what_has_no_words_in_c_is_refused(text):
    (tree,) = ast.parse("def f(x):\n    " + text.replace("\n", "\n    ")).body
    with pytest.raises(NotImplementedError):
        translated([tree], Names("double", KNOWN, "symres_", {}))
