"""Pair averages without a closed form in C: series in the correlation against mpmath, and what they cannot do."""

import subprocess

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.planning.plan import Component
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
FAST = ["tanh"]
SLOW = [pytest.param(name, marks=pytest.mark.exhaustive) for name in ACTIVATIONS if name not in FAST]
rng = np.random.default_rng(3)


@pytest.fixture(scope="module")
def modules():
    texts = {}

    def of(name):
        if name not in texts:
            found = sr.export(derived(sr.mlp(name)), target="c")
            texts[name] = found, found.load()
        return texts[name]

    return of


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


def worst(module, f, k1, k2, rho):
    """The largest deviation of entries and matrices, in units of sqrt(<f**2> <g**2>)."""
    exact, c = exact_pair(f, k1, k2, rho), rho * np.sqrt(k1 * k2)
    matrix = module.covariance_map(np.full((3, 1), k1), np.full(70, k2), np.full((3, 70), c), 1.0, 0.0)
    entry = module.covariance_map(k1, k2, c, 1.0, 0.0)
    return max(abs(entry - exact), np.abs(matrix - exact).max()) / scale(f, k1, k2)


@pytest.mark.parametrize("name", [*FAST, *SLOW])
@pytest.mark.parametrize("k1, k2, rho", [
    (1e-6, 1.0, 0.3), (1.0, 1.0, -0.99), (0.3, 4.0, 1.0), (0.3, 4.0, -1.0), (30.0, 30.0, 1.0), (1.0, 2.0, 0.0),
])  # fmt: skip
def test_values_are_those_of_mpmath(modules, name, k1, k2, rho):
    assert worst(modules(name)[1], ACTIVATIONS[name], k1, k2, rho) < 1e-13


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("k1, k2", [(1e-6, 30.0), (30.0, 30.0), (1.0, 1.0)])
@pytest.mark.parametrize("rho", [0.3, -0.3, 0.99, -0.99])
def test_values_are_those_of_mpmath_everywhere(modules, name, k1, k2, rho):
    assert worst(modules(name)[1], ACTIVATIONS[name], k1, k2, rho) < 1e-13


def test_the_diagonal_is_the_kernel_of_one_input(modules):
    _, module = modules("tanh")
    k = 10.0 ** rng.uniform(-6, 1.4, 90)
    found = np.diag(module.covariance_map(k[:, None], k, np.sqrt(k[:, None] * k), 1.3, 0.2))
    assert found == pytest.approx(module.kernel_map(k, 1.3, 0.2), rel=1e-12)


def test_entries_stacks_and_matrices_agree(modules):
    _, module = modules("tanh")
    x = rng.normal(size=(150, 9))
    c = x @ x.T / 9
    k = np.diag(c).copy()
    whole = module.covariance_map(k[:, None], k, c, 1.7, 0.1)
    assert module.covariance_map(k[:, None] + 0 * c, k + 0 * c, c, 1.7, 0.1) == pytest.approx(whole, rel=0, abs=1e-13)
    part = module.covariance_map(k[:7, None], k[20:], c[:7, 20:], 1.7, 0.1)
    assert part == pytest.approx(whole[:7, 20:], rel=0, abs=1e-13)


def test_float32_has_the_digits_of_float32(modules):
    _, module = modules("tanh")
    x = rng.normal(size=(80, 9)).astype(np.float32)
    c = x @ x.T / np.float32(9)
    k = np.diag(c).copy()
    for name, arguments in (("covariance_map", (k[:, None], k, c)), ("kernel_map", (k,))):
        found = getattr(module, name)(*arguments, 1.7, 0.1)
        exact = getattr(module, name)(*(a.astype(float) for a in arguments), 1.7, 0.1)
        assert found.dtype == np.float32
        assert found == pytest.approx(exact, rel=0, abs=1e-6)


def test_what_is_no_kernel_has_no_value(modules):
    _, module = modules("tanh")
    k = np.array([1.0, -1.0, np.nan, 0.0])
    found = module.covariance_map(k[:, None], k, 0.0 * np.ones((4, 4)), 1.0, 0.5)
    good = np.isin(np.arange(4), [0, 3])
    assert np.array_equal(np.isnan(found), ~(good[:, None] & good))
    assert found[3, 3] == 0.5
    assert np.isnan(module.covariance_map(1.0, 1.0, np.nan, 1.0, 0.0))


def test_kernels_that_need_too_many_terms_are_nan_and_not_wrong(modules):
    _, module = modules("tanh")
    found = module.covariance_map(1e6, 1e6, 1e6 * np.array([0.0, 0.1, 1.0]), 1.0, 0.0)
    # far out tanh is the sign, and <sign sign> = 2*asin(rho)/pi
    exact = 2 * np.arcsin([0.0, 0.1, 1.0]) / np.pi
    assert np.isnan(found[2])
    assert (np.isnan(found) | (np.abs(found - exact) < 1e-2)).all()


def test_parameters_stand_in_the_functions_that_are_averaged():
    a = sp.Symbol("a", positive=True)
    activation = sr.Activation("slow_swish", z / (1 + sp.exp(-a * z)), (a,))
    formula = sr.expect2(activation, activation).expr
    source = component_module(Component("_average_1", (K1, K2, C, a), formula, None))
    (function,) = binding.functions_of(binding.CompiledSource.of("alone", source, fast=False), source).values()
    for value in (0.5, 2.0):
        exact = exact_pair(lambda u, value=value: u / (1 + mp.exp(-value * u)), 1.0, 2.0, 0.3)
        assert function(1.0, 2.0, 0.3 * np.sqrt(2.0), value) == pytest.approx(exact, rel=1e-12)


def test_a_wrong_coefficient_of_the_recurrence_is_seen(modules):
    written, _ = modules("tanh")
    right = "(x * now - sqrt((double)n) * before)"
    assert right in written.text
    wrong = written.text.replace(right, right.replace("(double)n", "(double)n + 0.001"))
    library = binding.CompiledSource.of("wrong", wrong, fast=False)
    found = binding.functions_of(library, wrong)
    exact = exact_pair(mp.tanh, 1.0, 1.0, -0.99)
    assert abs(found["covariance_map"](1.0, 1.0, -0.99, 1.0, 0.0) - exact) > 1e-9


def test_functions_with_kinks_are_refused_and_named():
    kinked = sr.Activation("kinked", sp.Abs(sp.tanh(z)))
    found = sr.export(derived(sr.mlp(kinked)), target="c")
    assert "covariance_map" not in found.functions
    assert any("kinks" in text and "numpy" in text for text in found.missing)


def test_the_source_compiles_without_a_warning(modules, tmp_path):
    written, _ = modules("tanh")
    path = written.write(tmp_path / "kernels.c")
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-pedantic", "-Wno-unknown-pragmas"]
    command = [compiling.compiler(), *strict, "-O1", "-c", str(path), "-o", str(tmp_path / "kernels.o")]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""
