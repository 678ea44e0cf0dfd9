"""The scalar library in plain Python against mpmath, in units in the last place."""

import ast
import inspect
import math
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from symres.codegen.arrays.runtime import stable_functions
from symres.codegen.scalar.library import angle_functions as angles
from symres.codegen.scalar.library import (
    choices,
    double_precision,
    exponentials,
    hermite,
    series_sums,
    single_precision,
    tables,
)

EPSILON = 2.0**-52
rng = np.random.default_rng(5)
WIDE = [float(x) for x in np.concatenate([rng.uniform(-700, 709, 300), rng.normal(0, 1, 300), rng.normal(0, 1e-9, 50)])]


def ulps(value, exact):
    return float(abs(mp.mpf(value) - exact) / abs(exact)) / EPSILON


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(40):
        yield


@pytest.mark.parametrize("name, exact, units", [
    ("exp", mp.exp, 1.0), ("expm1", mp.expm1, 1.0), ("tanh", mp.tanh, 2.0),
    ("softplus", lambda u: mp.log1p(mp.exp(u)), 2.0), ("sigmoid", lambda u: 1 / (1 + mp.exp(-u)), 2.0),
])  # fmt: skip
def test_functions_of_one_number_to_units_in_the_last_place(name, exact, units):
    assert max(ulps(getattr(exponentials, name)(u), exact(u)) for u in WIDE if u != 0) < units
    assert math.isnan(getattr(exponentials, name)(math.nan))


@pytest.mark.parametrize("name, values", [
    ("exp", {-1000.0: 0.0, 1000.0: math.inf}), ("expm1", {-1000.0: -1.0, 1e-300: 1e-300}),
    ("tanh", {-1000.0: -1.0, 1000.0: 1.0, 1e-300: 1e-300, -0.0: -0.0}), ("log1p_of_unit", {0.0: 0.0}),
])  # fmt: skip
def test_functions_of_one_number_at_the_ends(name, values):
    for u, value in values.items():
        found = getattr(exponentials, name)(u)
        assert found == value and math.copysign(1.0, found) == math.copysign(1.0, value)


@pytest.mark.parametrize("name, exact", [("exp_sinh", mp.sinh), ("exp_cosh", mp.cosh)])
def test_products_of_exponentials_neither_overflow_nor_cancel(name, exact):
    for a, b in [(-1.0, 1e-12), (-800.0, 799.0), (-800.0, -799.5), (0.0, 2.5), (-3.0, 0.25)]:
        assert ulps(getattr(exponentials, name)(a, b), mp.exp(a) * exact(b)) < 4.0


def test_arrays_and_scalars_have_the_same_arctangent():
    """Polynomials of both stand in files of their own; arrays take it of half angles with a tangent below 1.5."""
    for v in np.linspace(0.0, 1.0, 201).tolist():
        u = mp.sqrt(mp.mpf(v))
        exact = (1 - mp.atan(u) / u) / v if v else mp.mpf(1) / 3
        tail = 0.0
        for coefficient in stable_functions._ARCTAN_TAIL:
            tail = tail * v + coefficient
        assert v > 0.287 or ulps(tail, exact) < 2.0
        assert ulps(double_precision.arctan_tail(v), exact) < 3.0  # of four sums
        assert ulps(single_precision.arctan_tail(v), exact) < 2.0 * 2.0**29


def test_angles_to_one_unit():
    points = rng.normal(0, 1, (400, 2)) * 10.0 ** rng.uniform(-6, 6, (400, 2))
    assert max(ulps(angles.angle(y, x), mp.atan2(y, x)) for y, x in points.tolist()) < 1.0


def test_half_angles_agree_with_the_angle_itself():
    for s, n in (10.0 ** rng.uniform(-8, 3, (300, 2)) * rng.choice([-1, 1], (300, 1)) ** [0, 1]).tolist():
        r = float(mp.hypot(s, n))
        assert ulps(angles.upper_half_plane_angle(n, s, r), mp.atan2(s, -mp.mpf(n))) < 3.0
        assert ulps(angles.right_half_plane_angle(n, s, r), mp.atan2(n, s)) < 3.0


def test_sum_of_root_and_angle_does_not_cancel():
    for n, s in [(-1.0, 1e-3), (-1.0, 1e-8), (-2.0, 0.5), (-1.0, 3.0), (1.0, 1e-8), (1.0, 2.0)]:
        r = float(mp.hypot(s, n))
        exact = s + n * mp.atan2(s, -mp.mpf(n))
        assert ulps(angles.angular_sum(s, 0.0, 1.0, n, s, r), exact) < 4.0, (n, s)


def test_determinant_is_exact_where_products_agree():
    assert angles.determinant(0.1, 0.1, 0.1) == 0.0
    assert angles.determinant(1.0, 1.0, 2.0) == 0.0
    assert math.isnan(angles.determinant(math.nan, 1.0, 0.0))
    for k1, k2, rho in (
        rng.uniform(0.1, 3, (200, 3)) * [1, 1, 0] + [[0, 0, 1]] - 10.0 ** rng.uniform(-15, 0, (200, 3)) * [0, 0, 1]
    ).tolist():
        c = math.sqrt(k1 * k2) * rho
        exact = mp.mpf(k1) * k2 - mp.mpf(c) ** 2
        if exact > 0:
            assert ulps(angles.determinant(k1, k2, c), exact) < 2.0


@pytest.mark.parametrize("name", ["maximum", "minimum"])
@pytest.mark.parametrize("pair", [(1.0, 2.0), (2.0, 1.0), (math.nan, 1.0), (1.0, math.nan)])
def test_extrema_keep_what_is_no_number(name, pair):
    assert getattr(choices, name)(*pair) == pytest.approx(getattr(np, name)(*pair), nan_ok=True)


def test_piecewise_polynomial_is_that_of_numpy():
    edges, table = [0.0, 0.25, 1.0], rng.normal(0, 1, (6, 2))
    for u in (0.0, 0.1, 0.25, 0.7, 1.0, 1.5):
        place = min(u, 1.0)
        piece = int(place >= 0.25)
        left, right = edges[piece], edges[piece + 1]
        exact = np.polynomial.chebyshev.chebval((2 * place - left - right) / (right - left), table[:, piece])
        assert tables.piecewise(u, edges, 2, table.reshape(-1).tolist(), 6) == pytest.approx(exact, rel=1e-13)


def exp_tail(u):
    return mp.mpf(1) / 2 if u == 0 else (mp.expm1(u) - u) / u**2


@pytest.mark.parametrize("module, error", [(double_precision, 2e-16), (single_precision, 1e-7)])
def test_tails_of_exponentials_reach_the_precision_of_their_floats(module, error):
    for i in range(101):
        u = (i - 50) / 50 * math.log(2) / 2
        assert abs(module.exp_tail(u) - exp_tail(mp.mpf(u))) < error


def test_constants_split_the_logarithm_of_two():
    for module, bits in ((double_precision, 32), (single_precision, 15)):
        assert abs(mp.mpf(module.LOG2_HIGH) + module.LOG2_LOW - mp.log(2)) < mp.mpf(2) ** -(2 * bits)
        assert (mp.mpf(module.LOG2_HIGH) * 2**bits) % 1 == 0  # times an exponent it is exact


def test_logarithms_of_one_and_two_and_between():
    points = [0.0, 1.0, *rng.uniform(0, 1, 300).tolist(), *(10.0 ** rng.uniform(-12, 0, 100)).tolist()]
    assert max(ulps(exponentials.log1p_of_unit(x), mp.log1p(x)) for x in points if x) < 1.5


@pytest.mark.parametrize("module, degree, round_", [(double_precision, 9, float), (single_precision, 4, np.float32)])
def test_the_tail_of_the_area_function_is_the_interpolant_in_chebyshev_nodes(module, degree, round_):
    nodes = [(1 + mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))) / 18 for k in range(degree + 1)]
    powers = mp.matrix([[x**j for j in range(degree + 1)] for x in nodes])
    values = mp.matrix([(mp.atanh(mp.sqrt(x)) / mp.sqrt(x) - 1) / x for x in nodes])
    exact = [float(round_(float(c))) for c in mp.lu_solve(powers, values)]
    constants = [n.value for n in ast.walk(ast.parse(inspect.getsource(module.atanh_tail))) if is_coefficient(n)]
    assert sorted(float(round_(c)) for c in constants) == sorted(exact)


def is_coefficient(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


# ---- series ------------------------------------------------------------------------------------------------------
@pytest.fixture
def of_exponentials(monkeypatch):
    """The functions that a module brings, of one that expands the exponential at the kernels themselves."""

    def factor_block(number, nodes, step, roots, p, even, odd):
        x = roots[:64] * step * np.arange(nodes)[:, None]
        even[:], odd[:] = (np.exp(x) + np.exp(-x)).reshape(-1), (np.exp(x) - np.exp(-x)).reshape(-1)

    monkeypatch.setattr(hermite, "factor_block", factor_block)
    monkeypatch.setattr(series_sums, "factor_kernel", lambda number, K, p: K)
    monkeypatch.setattr(series_sums, "place_of_sum", lambda number, K1, K2, C, p: C)


TERMS, ROOTS = 16, np.array([0.5] + [0.0625] * 63)


def expansion(terms=TERMS, nodes=64, roots=ROOTS):
    """That of a block."""
    out = np.empty(hermite.numbers_of_block(terms))
    assert hermite.expand_block(0, nodes, terms, roots, np.empty(0), out) == 0
    return out


def test_coefficients_of_an_exponential(of_exponentials):
    out = expansion()
    found, (rests, inverses, sizes) = out[: 64 * TERMS].reshape(TERMS, 64), out[64 * TERMS :][:192].reshape(3, 64)
    for column, s in ((0, 0.5), (7, 0.0625)):
        exact = [float(mp.exp(mp.mpf(s) ** 2 / 2) * mp.mpf(s) ** n / mp.sqrt(mp.factorial(n))) for n in range(16)]
        assert found[:, column] == pytest.approx(exact, rel=1e-11, abs=1e-15)
        assert sizes[column] == pytest.approx(math.exp(2 * s**2), rel=1e-14) and inverses[column] == 1 / s
    for parity, tails in enumerate(out[64 * TERMS + 192 :][:6].reshape(2, 3)):
        for k in range(3):
            left = sum(mp.mpf(0.25) ** n / mp.factorial(n) for n in range(8 * k + parity, 40, 2)) / mp.exp(0.25)
            assert math.exp(tails[k]) == pytest.approx(max(float(left), hermite.HIDDEN), rel=0.5)
    assert math.exp(rests[0]) == pytest.approx(hermite.HIDDEN, rel=1.0)


@pytest.mark.parametrize("place, change, seen", [
    (64 * 5, 1e-10, 5e-11), (64 * 5, -1e-4, 5e-5), (64 * 5, math.inf, math.inf),
    (64 * 8 + 128, 1e-10, 2.5e-11), (64 * 8 + 128, -1e-4, 2.5e-5),
    (64 * 8 + 128, math.nan, math.nan), (64 * 8 + 128, math.inf, math.nan),
])  # fmt: skip
def test_changes_of_coefficients_and_of_averages_with_the_nodes_are_seen(place, change, seen):
    coarse, out = np.full(hermite.numbers_of_block(8), 4.0), np.empty(64)
    fine = coarse.copy()
    fine[place : place + 3] += change
    series_sums.changes(8, coarse, fine, out)
    assert out[:3] == pytest.approx([seen] * 3, rel=1e-4, nan_ok=True) and not out[3:].any()


def test_nodes_and_terms_are_those_that_the_largest_kernel_takes(of_exponentials):
    choice = np.empty(3)
    assert series_sums.choose(0, 1, np.empty(0), 3, np.array([0.0625, 0.25, math.nan]), choice) == 0
    assert choice.tolist() == [series_sums.NODES / 2, 16.0, 0.5]


def sums(expanded, rho, paired, equal=0):
    """Those of a block with itself, or with its first input."""
    out, first = np.empty(64), ROOTS if paired else np.full(64, ROOTS[0])
    kernels, work = (first**2, ROOTS**2, rho * first * ROOTS), np.empty(65 * TERMS)
    series_sums.sums_of_block(
        paired, 0, equal, np.empty(0), TERMS, expanded, 0, expanded, 64, *kernels, work, out
    )  # fmt: skip
    return out


@pytest.mark.parametrize("paired", [0, 1])
def test_sums_of_an_exponential_and_what_is_lost(of_exponentials, paired):
    expanded, rho = expansion(), np.linspace(-1, 1, 64)
    first = ROOTS if paired else np.full(64, ROOTS[0])
    assert sums(expanded, rho, paired) == pytest.approx(
        np.exp((first**2 + ROOTS**2) / 2 + rho * first * ROOTS), rel=1e-13
    )
    rho[0], expanded[64 * TERMS + 128] = 1.0, 7.0  # the first input with itself, and its <f**2>
    plain, equal = sums(expanded, rho, paired), sums(expanded, rho, paired, equal=1)
    assert equal[0] == 7.0 != plain[0] and (equal[1:63] == plain[1:63]).all()
    expanded[64 * TERMS : 64 * TERMS + 64] = 0.0
    expanded[64 * TERMS + 192 :] = 0.0
    lost = np.isnan(sums(expanded, rho, paired))
    assert lost[[0, 1, 62, 63]].all() and not lost[27:37].any()  # 0.17**16 is 5e-13


@pytest.mark.parametrize("other", ["double", "single"])
def test_every_name_is_defined_once(other):
    """The files become one text, in which a second definition would take the place of the first without a word."""
    files = set(Path(choices.__file__).parent.glob("*.py")) - {
        Path(choices.__file__).with_name(f"{other}_precision.py")
    }
    bodies = [node for file in files for node in ast.parse(file.read_text("utf-8")).body]
    names = [node.name for node in bodies if isinstance(node, ast.FunctionDef)]
    assert 20 < len(names) == len(set(names))
