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
    """Polynomials of both stand in files of their own: their coefficients are those of one function."""
    for v in np.linspace(0.0, 1.0, 201).tolist():
        u = mp.sqrt(mp.mpf(v))
        exact = (1 - mp.atan(u) / u) / v if v else mp.mpf(1) / 3
        tail = 0.0
        for coefficient in stable_functions._ARCTAN_TAIL:
            tail = tail * v + coefficient
        assert ulps(tail, exact) < 2.0
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
def expansion(f, terms, nodes, root):
    """Coefficients of a function for a block whose first input has this root of a kernel, the others 1/8 of it."""
    step, table = hermite.REACH / nodes, np.empty(6 * nodes)
    roots = root * np.array([1.0] + [0.125] * 63)
    x = roots * step * np.arange(nodes)[:, None]
    even, odd = (f(x) + f(-x)).reshape(-1), (f(x) - f(-x)).reshape(-1)
    coefficients, tails, rests, sizes = np.empty(64 * terms), np.empty(2 * (terms // 8) + 2), np.empty(64), np.empty(64)
    for n in range(0, terms, 4):
        hermite.polynomials(n, nodes, step, table)
        hermite.products(nodes, table[2 * nodes :], even, coefficients[64 * n :])
        hermite.products(nodes, table[3 * nodes :], odd, coefficients[64 * n + 64 :])
        if n == 0:
            hermite.squares(nodes, table[2 * nodes :], even, odd, sizes)
    hermite.remainders(terms, coefficients, sizes, tails, rests)
    return coefficients.reshape(terms, 64), tails, rests


def test_coefficients_of_an_exponential():
    found, tails, rests = expansion(np.exp, 16, 64, 0.5)
    for column, s in ((0, 0.5), (7, 0.0625)):
        exact = [float(mp.exp(mp.mpf(s) ** 2 / 2) * mp.mpf(s) ** n / mp.sqrt(mp.factorial(n))) for n in range(16)]
        assert found[:, column] == pytest.approx(exact, rel=1e-11, abs=1e-15)
    left = sum(mp.mpf(0.25) ** n / mp.factorial(n) for n in range(8, 40, 2)) / mp.exp(0.25)
    assert math.exp(tails[1]) == pytest.approx(max(float(left), hermite.HIDDEN), rel=0.5)
    assert math.exp(rests[0]) == pytest.approx(hermite.HIDDEN, rel=1.0)


def test_functions_that_lose_digits_themselves_have_those_that_are_left():
    """However many nodes, their coefficients differ by rounding: the search begins anew and allows for it."""
    one, two = np.zeros(32), np.zeros(32)
    one[1] = two[1] = 1.0
    two[3] = 1e-10
    choice = np.array([hermite.MOST_NODES, 32.0, 0.0, hermite.AGREED])
    hermite.judge(1.0, 1.0, one, two, choice)
    assert list(choice[:3]) == [hermite.NODES, 32.0, 0.0]
    hermite.judge(1.0, 1.0, one, two, choice)
    assert choice[0] == hermite.NODES and choice[2] == 1.0
    two[3] = 1e-4  # the same of what nodes are too far apart for
    choice = np.array([hermite.MOST_NODES, 32.0, 0.0, hermite.AGREED])
    hermite.judge(1.0, 1.0, one, two, choice)
    assert choice[2] == 2.0


def test_sums_of_an_exponential_and_what_is_lost():
    coefficients, tails, rests = expansion(np.exp, 16, 64, 0.5)
    rho, out, row = np.linspace(-1, 1, 64), np.empty(64), coefficients[:, 0].copy()
    evens, odds = (series_sums.needed(2, 0.0, of_parity, of_parity) for of_parity in (tails[:3], tails[3:]))
    series_sums.summed(evens, odds, row, coefficients.reshape(-1), rho, out)
    exact = [float(mp.exp((0.25 + (0.25 if j == 0 else 0.0625**2)) / 2 + r * 0.5 * (0.5 if j == 0 else 0.0625)))
             for j, r in enumerate(rho)]  # fmt: skip
    assert out == pytest.approx(exact, rel=1e-13)
    found = [series_sums.certain_sum(16, *rests[[0, j]], r, out[j]) for j, r in enumerate(rho.tolist())]
    assert found == out.tolist()
    found = [series_sums.certain_sum(16, 0.0, 0.0, r, out[j]) for j, r in enumerate(rho.tolist())]
    assert np.isnan(found)[[0, 1, 62, 63]].all() and np.isfinite(found[27:37]).all()  # 0.17**16 is 5e-13


@pytest.mark.parametrize("other", ["double", "single"])
def test_every_name_is_defined_once(other):
    """The files become one text, in which a second definition would take the place of the first without a word."""
    files = set(Path(choices.__file__).parent.glob("*.py")) - {
        Path(choices.__file__).with_name(f"{other}_precision.py")
    }
    bodies = [node for file in files for node in ast.parse(file.read_text("utf-8")).body]
    names = [node.name for node in bodies if isinstance(node, ast.FunctionDef)]
    assert 20 < len(names) == len(set(names))
