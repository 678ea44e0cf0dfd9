"""Pair averages without a closed form in C: series in the correlation against mpmath, and what they cannot do."""

import subprocess
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.emission.emitter import NoSpelling
from symres.codegen.planning.plan import Component
from symres.codegen.scalar.smooth_averages import expanded
from symres.codegen.targets.c import binding, compiling
from symres.codegen.targets.c.text import component_module
from symres.core.symbols import K1, K2, C, z
from tests.shared import derived

ACTIVATIONS = {
    "tanh": mp.tanh,
    "silu": lambda u: u / (1 + mp.exp(-u)),
    "softplus": lambda u: mp.log1p(mp.exp(u)),
    "mish": lambda u: u * mp.tanh(mp.log1p(mp.exp(u))),
}
rng = np.random.default_rng(3)


@cache
def average(name):
    """The source of <f(z1) f(z2)>, and its function."""
    source = component_module(Component("_average_1", (K1, K2, C), sr.expect2(name, name).expr, None))
    return source, loaded(source)


def loaded(source):
    (function,) = binding.functions_of(binding.CompiledSource.of("alone", source), source).values()
    return function


@pytest.fixture(scope="module")
def tanh():
    return average("tanh")[1]


def nodes(k):
    """Nodes and weights of the trapezoidal rule, exponentially accurate for functions that are analytic in a strip."""
    step = mp.mpf(1) / (12 if k <= 4 else 40)
    places = [n * step for n in range(-int(9 / step), int(9 / step) + 1)]
    return places, [step * mp.npdf(x) for x in places]


def exact_pair(f, k1, k2, rho):
    """<f(z1) f(z2)> in mpmath's numbers: z1 and z2 as combinations of independent variables."""
    with mp.workdps(20):
        s1, s2, turn = mp.sqrt(k1), mp.sqrt(k2), mp.sqrt(1 - mp.mpf(rho) ** 2)
        x, w = nodes(max(k1, k2))
        if turn == 0:
            return float(mp.fsum(v * f(s1 * a) * f(rho * s2 * a) for v, a in zip(w, x, strict=True)))
        first = [v * f(s1 * a) for v, a in zip(w, x, strict=True)]
        inner = (mp.fsum(v * f(s2 * (rho * a + turn * b)) for v, b in zip(w, x, strict=True)) for a in x)
        return float(mp.fsum(v * i for v, i in zip(first, inner, strict=True)))


def scale(f, k1, k2):
    return np.sqrt(exact_pair(f, k1, k1, 1.0) * exact_pair(f, k2, k2, 1.0))


def worst(function, f, k1, k2, rho):
    """The largest deviation of entries and matrices, in units of sqrt(<f**2> <g**2>)."""
    exact, c = exact_pair(f, k1, k2, rho), rho * np.sqrt(k1 * k2)
    matrix = function(np.full((3, 1), k1), np.full(70, k2), np.full((3, 70), c))
    entry = function(k1, k2, c)
    return max(abs(entry - exact), np.abs(matrix - exact).max()) / scale(f, k1, k2)


@pytest.mark.parametrize("name", list(ACTIVATIONS))
@pytest.mark.parametrize("k1, k2, rho", [
    (1e-6, 1.0, 0.3), (1.0, 1.0, -0.99), (0.3, 4.0, 1.0), (0.3, 4.0, -1.0), (30.0, 30.0, 1.0), (1.0, 2.0, 0.0),
])  # fmt: skip
def test_values_are_those_of_mpmath(name, k1, k2, rho):
    assert worst(average(name)[1], ACTIVATIONS[name], k1, k2, rho) < 1e-13


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("k1, k2", [(1e-6, 30.0), (30.0, 30.0), (1.0, 1.0)])
@pytest.mark.parametrize("rho", [0.3, -0.3, 0.99, -0.99])
def test_values_are_those_of_mpmath_everywhere(name, k1, k2, rho):
    assert worst(average(name)[1], ACTIVATIONS[name], k1, k2, rho) < 1e-13


def test_the_diagonal_is_the_average_of_one_input(tanh):
    k = 10.0 ** rng.uniform(-6, 1.4, 5)
    found = np.diag(tanh(k[:, None], k, np.sqrt(k[:, None] * k)))
    assert found == pytest.approx([exact_pair(lambda u: mp.tanh(u), v, v, 1.0) for v in k], rel=1e-12)


def test_entries_and_matrices_agree(tanh):
    x = rng.normal(size=(150, 9))
    c = x @ x.T / 9
    k = np.diag(c).copy()
    whole = tanh(k[:, None], k, c)
    assert tanh(k[:, None] + 0 * c, k + 0 * c, c) == pytest.approx(whole, rel=0, abs=1e-13)
    assert tanh(k[:7, None], k[20:], c[:7, 20:]) == pytest.approx(whole[:7, 20:], rel=0, abs=1e-13)


def test_float32_has_the_digits_of_float32(tanh):
    x = rng.normal(size=(80, 9)).astype(np.float32)
    c = x @ x.T / np.float32(9)
    k = np.diag(c).copy()
    found = tanh(k[:, None], k, c)
    assert found.dtype == np.float32
    assert found == pytest.approx(tanh(*(a.astype(float) for a in (k[:, None], k, c))), rel=0, abs=1e-6)


@pytest.mark.exhaustive
def test_a_theory_has_its_covariance_map_and_fits_of_float32_read_tables_of_float32():
    written = sr.export(derived(sr.mlp("tanh")), target="c")
    module = written.load()
    assert "covariance_map" in written.functions
    k = 10.0 ** rng.uniform(-6, 1.4, 90)
    found = np.diag(module.covariance_map(k[:, None], k, np.sqrt(k[:, None] * k), 1.3, 0.2))
    assert found == pytest.approx(module.kernel_map(k, 1.3, 0.2), rel=1e-12)
    single = module.kernel_map(k.astype(np.float32), 1.3, 0.2)
    assert single == pytest.approx(module.kernel_map(k.astype(np.float32).astype(float), 1.3, 0.2), rel=1e-5)


def test_what_is_no_kernel_has_no_value(tanh):
    k = np.array([1.0, -1.0, np.nan, 0.0])
    found = tanh(k[:, None], k, 0.0 * np.ones((4, 4)))
    good = np.isin(np.arange(4), [0, 3])
    assert np.array_equal(np.isnan(found), ~(good[:, None] & good))
    assert found[3, 3] == 0.0
    assert np.isnan(tanh(1.0, 1.0, np.nan))


def test_kernels_that_need_too_many_terms_are_nan_and_not_wrong(tanh):
    found = tanh(1e6, 1e6, 1e6 * np.array([0.0, 0.1, 1.0]))
    exact = 2 * np.arcsin([0.0, 0.1, 1.0]) / np.pi  # of the sign, which tanh is far out
    assert np.isnan(found[2])
    assert (np.isnan(found) | (np.abs(found - exact) < 1e-2)).all()


def test_parameters_stand_in_the_functions_that_are_averaged():
    a = sp.Symbol("a", positive=True)
    activation = sr.Activation("slow_swish", z / (1 + sp.exp(-a * z)), (a,))
    formula = sr.expect2(activation, activation).expr
    source = component_module(Component("_average_1", (K1, K2, C, a), formula, None))
    function = loaded(source)
    for value in (0.5, 2.0):
        exact = exact_pair(lambda u, value=value: u / (1 + mp.exp(-value * u)), 1.0, 2.0, 0.3)
        assert function(1.0, 2.0, 0.3 * np.sqrt(2.0), value) == pytest.approx(exact, rel=1e-12)


def test_a_wrong_coefficient_of_the_recurrence_is_seen():
    source, _ = average("tanh")
    right = "(x * now - sqrt((double)n) * before)"
    assert source.count(right) == 1
    wrong = loaded(source.replace(right, right.replace("(double)n", "(double)n + 0.001")))
    assert worst(wrong, mp.tanh, 1.0, 1.0, -0.99) > 1e-9


def test_variances_may_have_a_common_factor():
    average_of, a = sp.Function("_average_1"), sp.Symbol("a", positive=True)
    component = Component("_average_1", (K1, K2, C), sr.expect2("tanh", "tanh").expr, None)
    value, (series,) = expanded("name", average_of(a**2 * K1, a**2 * K2, a**2 * C) / a**2, [component])
    assert value == series.symbol / a**2
    assert series.first.formula == sp.tanh(a * z)
    with pytest.raises(NoSpelling):
        expanded("name", average_of(a * K1, K2, C), [component])


def test_functions_with_kinks_are_refused_and_named():
    kinked = sr.Activation("kinked", sp.Abs(sp.tanh(z)))
    component = Component("_average_1", (K1, K2, C), sr.expect2(kinked, kinked).expr, None)
    with pytest.raises(NoSpelling, match=r"kinks.*numpy"):
        component_module(component)


def test_the_source_compiles_without_a_warning(tmp_path):
    path = tmp_path / "kernels.c"
    path.write_text(average("tanh")[0])
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-pedantic", "-Wno-unknown-pragmas"]
    command = [compiling.compiler(), *strict, "-O1", "-c", str(path), "-o", str(tmp_path / "kernels.o")]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
