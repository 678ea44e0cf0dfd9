"""Scalar Python and the C that it becomes give the same numbers, bit for bit."""

import ast
import ctypes
import math
import subprocess
from contextlib import suppress
from functools import partial

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
HEADERS = ("float.h", "math.h", "stddef.h", "stdint.h", "stdlib.h")
HEAD = "".join(f"#include <{name}>\n" for name in HEADERS) + f"#define SYMRES_PRAGMA(...)\n{machine()}\n"
ARRAY, WHOLE, REAL = ctypes.POINTER(ctypes.c_double), ctypes.c_ssize_t, ctypes.c_double
rng = np.random.default_rng(3)


@pytest.fixture(scope="module")
def c_library():
    return in_c(SQUARES, *library().functions)


def scalar_functions():
    for name, tree in library().functions.items():
        types = [a.annotation for a in tree.args.args] + [tree.returns]
        if all(kind is not None and ast.unparse(kind) == "float" for kind in types):
            yield name, len(tree.args.args)


def test_floats_have_constants_of_their_own(tmp_path):
    tools = library("single")
    called = tools.program(["two_tails", "certain"], [])
    text = translated(called, Names("float", "float", KNOWN, "symres_", tools.constants))
    (tmp_path / "floats.c").write_text(HEAD + text)
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]  # 1e-150f is refused
    subprocess.run([compiler(), *strict, "-c", "floats.c"], cwd=tmp_path, check=True, capture_output=True)
    with compiled("floats", HEAD + text.replace("static inline ", "")) as path:
        function = ctypes.CDLL(str(path)).symres_two_tailsf
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float] * 4
    for x, y in ((1.0, math.sqrt(3.0)), (0.0, 1.0), (-3.0, 4.0), (1.0, 0.0)):
        assert function(0.0, 0.0, x, y) == pytest.approx(0.25 + math.atan2(x, y) / (2 * math.pi), rel=1e-6)  # Sheppard


def called(compiled_library, name, *arguments, result=WHOLE):
    """What a function in C returns."""
    function = getattr(compiled_library, f"symres_{name}")
    function.restype = result
    kinds = {int: WHOLE, float: REAL}
    return function(*(a.ctypes.data_as(ARRAY) if isinstance(a, np.ndarray) else kinds[type(a)](a) for a in arguments))


def written_by_both(compiled_library, name, *arguments):
    """The last argument behind a function in Python and in C, which have changed and returned the same."""
    (python,) = (vars(m)[name] for m in MODULES if name in vars(m) and vars(m)[name].__module__ == m.__name__)
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2))
    value = python(*mine)
    returned = called(compiled_library, name, *theirs, result=REAL if isinstance(value, float) else WHOLE)
    assert value is None or returned == value or (math.isnan(returned) and math.isnan(value)), arguments
    for a, b in zip(mine, theirs, strict=True):
        assert np.array_equal(a, b, equal_nan=True), name
    return mine[-1]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name, count", list(scalar_functions()))
def test_bit_for_bit(c_library, name, count):
    points = rng.normal(0, 1, (200, count)) * 10.0 ** rng.uniform(-3, 2, (200, count))
    if name in ("separation", "correlation", "complement", "is_near", "gap_of_parallel"):
        points = np.abs(points)
    if name in ("correlation", "complement"):
        points[:, 2] = np.sqrt(points[:, 0] * points[:, 1]) * rng.uniform(0, 1, 200)
    for point in points.tolist():
        with suppress(ValueError, ZeroDivisionError):  # math's functions refuse what is nan in C
            written_by_both(c_library, name, *point)


def test_arrays_bit_for_bit(c_library):
    terms, nodes = 8, 16
    values, numbers = rng.normal(0, 1, (2, 64 * nodes)), rng.normal(0, 1, 64 * terms)
    both = partial(written_by_both, c_library)
    for u in (0.0, 0.1, 0.25, 0.9, 2.0):
        both("piecewise", u, np.array([0.0, 0.25, 1.0]), 2, rng.normal(0, 1, 12), 6)
    table = np.zeros(6 * nodes)
    for begin in (0, 4):
        table = both("polynomials", begin, nodes, 0.8, table)
        both("products", nodes, table[2 * nodes :], values[0], numbers[64 * begin :])
    sizes = 1.1 * (numbers.reshape(terms, 64) ** 2).sum(axis=0)
    both("remainders", terms, numbers, sizes, np.zeros(4), np.zeros(64))
    row, rho = numbers[5::64].copy(), rng.uniform(-0.05, 0.05, 64)
    for begin in (-2, 6, 7):
        both("horner", begin, row, numbers, rho * rho, np.zeros(64))
    both("largest_logarithm", rho)
    coarse = np.concatenate([numbers, np.ones(192)])
    for changed in (0, 5, 64):
        fine = coarse + 1e-6 * (np.arange(coarse.size) < changed)
        both("changes", terms, coarse, fine, np.empty(64))
    with_nan = np.array([1.0, math.nan, -3.0, 4.0, 0.0])
    for least in (0.0, 5e-324):
        both("kernels_of", 3, with_nan, 2, least, np.ones(64))
    both("without_values", 2, 3, np.ones(9), 4)


# ---- whole arrays -------------------------------------------------------------------------------------------------
SQUARES = """
def factor_block(number: int, nodes: int, step: float, roots: Given, p: Given, even: Written, odd: Written) -> None:
    for q in range(nodes):
        for j in range(64):
            u = roots[j] * step * q
            even[64 * q + j] = 2.0 * p[0] + 2.0 * u * u
            odd[64 * q + j] = 2.0 * u


def factor_kernel(number: int, K: float, p: Given) -> float:
    return K


def place_of_sum(number: int, K1: float, K2: float, C: float, p: Given) -> float:
    return C
"""  # p + u + u**2


def in_c(source, *names):
    """The functions of restricted Python that some names need, compiled."""
    tools = library()
    trees = [tree for tree in ast.parse(source).body if isinstance(tree, ast.FunctionDef)]
    text = translated(tools.program(names, trees), Names("double", "double", KNOWN, "symres_", tools.constants))
    with compiled("arrays", HEAD + text.replace("static inline ", "")) as path:
        return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def drivers():
    return in_c(SQUARES, "choose", "expand", "sums_of_block", "are_same", "columns_of_pairs")


def test_kernels_of_equal_inputs_and_of_matrices_are_seen(drivers):
    one, two = np.array([1.0, math.nan, 3.0]), np.array([1.0, math.nan, 4.0])
    K1, K2 = np.repeat([1.0, 2.0, 1.0], 4), np.tile([3.0, math.inf, 4.0, 4.0], 3)
    cases = {"are_same": [(3, one, one, 1), (3, one, two, 0), (2, one, two, 1)], "columns_of_pairs": [
        (12, K1, K2, 4), (8, K1, K2, 4), (11, K1, K2, 1), (12, K2, K1, 1), (12, K1, np.arange(12.0), 1),
        (3, K1, K2, 3), (0, K1, K2, 1),
    ]}  # fmt: skip
    for name, arguments, value in ((name, case[:-1], case[-1]) for name, listed in cases.items() for case in listed):
        assert getattr(series_sums, name)(*arguments) == called(drivers, name, *arguments) == value


def test_expansions_are_sums_by_hand(drivers):
    """The function p + u + u**2 has the coefficients p + K, sqrt(K) and sqrt(2)*K."""
    K, p, choice = np.array([0.5, 2.0, 1.0]), np.array([0.25]), np.zeros(3)
    assert called(drivers, "choose", 0, 1, p, 3, K, choice) == 0
    terms = int(choice[1])
    assert (terms, choice[2]) == (8, math.sqrt(2.0))
    out = np.zeros(series_sums.numbers_of_expansion(3, terms))
    assert called(drivers, "expand", 0, 1, p, 3, K, choice, out) == 0
    for n, exact in enumerate([0.25 + K, np.sqrt(K), math.sqrt(2.0) * K, 0 * K]):
        assert out[64 * n : 64 * n + 3] == pytest.approx(exact, abs=1e-14)
    exact = (0.25 + 0.5) * (0.25 + K) + np.sqrt(0.5 * K) * 0.3 + 2 * 0.5 * K * 0.3**2
    sums, work, half = np.zeros(64), np.zeros(65 * terms), np.array([0.5])
    ends = (K, 0.3 * np.sqrt(0.5 * K), work, sums)
    called(drivers, "sums_of_block", 0, 0, 1, p, terms, out, 0, out, 3, half, *ends)
    assert sums[:3] == pytest.approx(exact, rel=1e-14)
    called(drivers, "expand", 0, 1, p, 3, np.full(3, 0.5), choice, same := np.zeros_like(out))
    called(drivers, "sums_of_block", 1, 0, 1, p, terms, same, 0, out, 3, np.full(3, 0.5), *ends)
    assert sums[:3] == pytest.approx(exact, rel=1e-14)


ROOM = """
def filled(count: int, out: Written) -> int:
    failed: int = 0
    few: Written = room(4)
    many: Written = room(count)
    for i in range(4 if present(out) else 0):
        few[i] = 0.5 * i
        many[i] = few[i]
        out[i] = many[i]
    return failed
"""


def test_where_memory_lacks_the_rest_does_not_run():
    made, out = in_c(ROOM, "filled"), np.ones(4)
    assert called(made, "filled", 2**58, out) == 1
    assert out.tolist() == [1.0] * 4
    assert called(made, "filled", 4, out) == 0
    assert out.tolist() == [0.0, 0.5, 1.0, 1.5]
    made.symres_filled.argtypes = [WHOLE, ARRAY]
    assert made.symres_filled(4, None) == 0


@pytest.mark.parametrize("text", [
    "a - (b - c)", "a / (b * c)", "-(-a)", "-a * b", "(a + b) * c", "a if (b if c > a else c) > b else c",
    "(a if b < c else b) * c", "1.0 if a < b and (b < c or c < a) else -1.5 * a", "a - -b",
])  # fmt: skip
def test_brackets_are_those_that_c_needs(text):
    source = f"def f(a: float, b: float, c: float) -> float:\n    return {text}\n"
    (tree,) = ast.parse(source).body
    with compiled(
        "brackets", translated([tree], Names("double", "double", KNOWN, "symres_", {})).replace("static inline ", "")
    ) as path:
        function = ctypes.CDLL(str(path)).symres_f
    function.restype, function.argtypes = REAL, [REAL] * 3
    for a, b, c in rng.normal(size=(20, 3)).tolist():
        assert function(a, b, c) == eval(text, {"a": a, "b": b, "c": c})


def test_what_threads_count_is_added_up():
    source = (
        "def f(x: float) -> int:\n    n: int = 0\n    for i in in_threads(9, x > 0.0):\n        n += 1\n    return n\n"
    )
    assert "reduction(+:n)" in translated(ast.parse(source).body, Names("double", "double", KNOWN, "symres_", {}))


@pytest.mark.parametrize("text", [
    "x = [1.0]", "while x:\n    break", "x = 'word'", "x = a if b else True",
    "y = x\nfor i in in_threads(9, x > 0.0):\n    y = 2.0 * x",  # all threads would share y
])  # fmt: skip
def test_what_has_no_words_in_c_is_refused(text):
    (tree,) = ast.parse("def f(x):\n    " + text.replace("\n", "\n    ")).body
    with pytest.raises(NotImplementedError):
        translated([tree], Names("double", "double", KNOWN, "symres_", {}))
