"""Averages without a closed form in C: Hermite series against sums over the plane and mpmath."""

import subprocess

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.scalar import library_source
from symres.codegen.strategy import choose
from symres.codegen.targets.c.compiling import compiler
from symres.core.errors import SymresError
from symres.layers import architectures
from tests.oracles.smooth_pairs import FUNCTIONS, average
from tests.shared import exact_average

KERNELS = [(1e-6, 1e-6), (1e-6, 2.0), (0.3, 0.3), (1.0, 4.0), (30.0, 30.0), (0.1, 30.0)]
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
CORRELATIONS = (0.0, 0.3, -0.3, 0.99, -0.99, 1.0, -1.0)
rng = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def quickly():
    """Modules whose errors are not measured: that takes seconds, and has a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "_measured_in", lambda component, target: component)
        yield


@pytest.fixture(scope="module")
def modules():
    found = {}

    def loaded(name):
        if name not in found:
            found[name] = sr.export(sr.expect2(name, name), target="c").load().expect2
        return found[name]

    return loaded


def error(function, exact, k1, k2, rho):
    scale = np.sqrt(average(exact, exact, k1, k1, 1.0)) * np.sqrt(average(exact, exact, k2, k2, 1.0))
    found = function(k1, k2, rho * np.sqrt(k1) * np.sqrt(k2))
    steps = 32 if max(k1, k2) > 4 else 12  # poles are further away than some of them
    return abs(found - average(exact, exact, k1, k2, rho, steps)) / scale


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["tanh"])
def test_pairs_are_those_of_the_plane(modules, name):
    function, exact = modules(name), FUNCTIONS[name]
    for k1, k2 in KERNELS:
        for rho in CORRELATIONS if k2 < 30 else (0.99,):
            assert error(function, exact, k1, k2, rho) < 1e-13, (k1, k2, rho)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["tanh", "silu", "softplus", "mish"])
def test_all_pairs_are_those_of_the_plane(modules, name):
    for k1, k2 in KERNELS:
        for rho in CORRELATIONS:
            assert error(modules(name), FUNCTIONS[name], k1, k2, rho) < 1e-13, (k1, k2, rho)


@pytest.mark.parametrize("k", [1e-6, 1.0, 30.0, 300.0])
def test_the_diagonal_is_the_average_of_one_input(modules, k):
    exact = float(exact_average(lambda z: mp.tanh(z) ** 2, k, [-1, -0.1, 0, 0.1, 1]))
    assert modules("tanh")(k, k, k) == pytest.approx(exact, rel=1e-13)


@pytest.mark.exhaustive
def test_matrices_and_entries_agree(modules):
    x = rng.normal(size=(150, 40))
    c = x @ x.T / 40
    k = np.diag(c).copy()
    whole = modules("mish")(k[:, None], k, c)
    assert modules("mish")(k[:, None] + 0 * c, k + 0 * c, c) == pytest.approx(whole, rel=1e-13)
    assert modules("mish")(k[:70, None], k[3:], c[:70, 3:]) == pytest.approx(whole[:70, 3:], rel=1e-13)
    assert whole == pytest.approx(whole.T, rel=1e-13)
    single = modules("mish")(*(a.astype(np.float32) for a in (k[:, None], k, c)))
    assert single.dtype == np.float32
    assert single == pytest.approx(whole, rel=2e-6, abs=1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formula", "lost", "left_out"),
    [("softplus(z) - log(2)", 1e-12, 0), ("softplus(z) + softplus(-z) - 2*log(2)", 1e-7, 2)],
)
def test_tiny_kernels_of_functions_that_vanish_at_0(formula, lost, left_out):
    """The second function loses digits itself, whose rounding no number of nodes removes."""
    covariance_map = sr.export(sr.derive(sr.mlp(formula)).covariance_map, target="c").load().covariance_map
    for k, c in ((1e-8, 3e-9), (1e-8, 1e-8), (1e-6, -4e-7)):
        squares = mp.mpf(k) ** 2 + 2 * mp.mpf(c) ** 2  # <z1**2 z2**2>; the functions are z/2 + z**2/8 and z**2/4
        exact = squares / 16 if "+" in formula else mp.mpf(c) / 4 + squares / 64
        assert covariance_map(k, k, c, 1.0, 0.0) == pytest.approx(float(exact), rel=lost + left_out * k)


def test_what_has_no_number_spoils_nothing_else(modules):
    k = np.array([1.0, -1.0, np.nan, np.inf, 1e30, 0.0, 2.0])
    c = np.sqrt(np.abs(np.where(np.isfinite(k), k, 1.0)))
    found = modules("tanh")(k[:, None], k, 0.5 * np.outer(c, c))
    lost = ~(np.isfinite(k) & (k >= 0) & (k < 1e6))
    assert np.isnan(found[lost]).all() and np.isnan(found[:, lost]).all()
    assert found[0, 6] == pytest.approx(average(np.tanh, np.tanh, 1.0, 2.0, 0.5), rel=1e-13)
    assert (found[5, ~lost] == 0).all()


def test_large_kernels_are_right_or_no_number(modules):
    for rho in (0.1, 0.99, 1.0, 0.99999):
        found = modules("tanh")(300.0, 300.0, 300.0 * rho)
        assert np.isnan(found) == (rho == 0.99999)
        if rho != 0.99999:
            assert found == pytest.approx(average(np.tanh, np.tanh, 300.0, 300.0, rho, steps=80), abs=1e-12)


@pytest.mark.exhaustive
def test_parameters_act_inside():
    swish = sr.export(sr.expect2("swish", "swish"), target="c").load().expect2
    for beta in (0.5, 3.0):

        def exact(z, beta=beta):
            return z / (1 + np.exp(-beta * z))

        assert swish(1.0, 2.0, 0.7, beta) == pytest.approx(average(exact, exact, 1.0, 2.0, 0.7 / np.sqrt(2)), rel=1e-13)


@pytest.mark.exhaustive
def test_parameters_that_scale_nothing_act_inside():
    beta = sp.Symbol("beta", positive=True)
    gated = sr.activation("tanh(z)*sigmoid(beta*z)", beta=beta)
    function = sr.export(sr.expect2(gated, gated), target="c").load().expect2
    for value in (0.5, 3.0):

        def exact(z, value=value):
            return np.tanh(z) / (1 + np.exp(-value * z))

        found = average(exact, exact, 1.0, 2.0, 0.7 / np.sqrt(2))
        assert function(1.0, 2.0, 0.7, value) == pytest.approx(found, rel=1e-13)


@pytest.mark.exhaustive
def test_behind_a_normaliser_kernels_are_those_of_its_output():
    quantity = sr.derive(architectures.pre_ln("tanh")).covariance_map
    x = rng.normal(size=(30, 9))
    c = x @ x.T / 9
    given = (np.diag(c)[:, None], np.diag(c), c, *(0.7 for _ in quantity.symbols[3:]))
    mine, theirs = (sr.export(quantity, target=t).load().covariance_map(*given) for t in ("c", "numpy"))
    assert mine == pytest.approx(theirs, rel=1e-13)


@pytest.mark.exhaustive
def test_functions_may_differ():
    function = sr.export(sr.expect2("tanh", "silu"), target="c").load().expect2
    exact = average(FUNCTIONS["tanh"], FUNCTIONS["silu"], 0.5, 2.0, 0.3)
    assert function(0.5, 2.0, 0.3) == pytest.approx(exact, rel=1e-13)


@pytest.mark.exhaustive
def test_kinks_are_refused():
    with pytest.raises(SymresError, match="kinks"):
        sr.export(sr.expect2("elu", "softplus"), target="c")


def test_a_wrong_recurrence_is_seen(monkeypatch):
    tools = library_source.library("double")
    text = library_source.ast.unparse(tools.functions["polynomials"])
    wrong = library_source.ast.parse(text.replace("sqrt(n - 1.0)", "sqrt(n - 0.999)")).body[0]
    changed = library_source.Library({**tools.functions, "polynomials": wrong}, tools.constants, tools.drivers)
    monkeypatch.setattr(
        "symres.codegen.targets.c.text.library",
        lambda precision: changed if precision == "double" else library_source.library(precision),
    )
    function = sr.export(sr.expect2("tanh", "tanh"), target="c").load().expect2
    assert not error(function, np.tanh, 1.0, 1.0, 0.99) < 1e-8


# ---- networks ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def source():
    return sr.export(sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("tanh")]), target="c")


@pytest.fixture(scope="module")
def deep(source):
    return source.load(), sr.export(sr.network([sr.mlp("tanh"), sr.mlp("relu"), sr.mlp("tanh")])).load()


def test_sources_compile_without_a_warning(source, tmp_path):
    texts = [source.text, sr.export(sr.expect2("tanh", "silu"), target="c").text]
    for number, text in enumerate(texts):
        path = tmp_path / f"series{number}.c"
        path.write_text(text)
        subprocess.run([compiler(), *STRICT, "-fsyntax-only", str(path)], check=True, capture_output=True)


@pytest.mark.parametrize("second", [None, slice(20, 80)])
def test_networks_are_those_of_numpy(deep, second):
    mine, theirs = deep
    x = rng.normal(size=(150, 9))
    rest = None if second is None else x[second] + 0.25
    for found, exact in zip(
        mine.dual_kernel_matrix(x, rest, C_W=1.7, C_b=0.1),
        theirs.dual_kernel_matrix(x, rest, C_W=1.7, C_b=0.1),
        strict=True,
    ):
        assert np.abs(found - exact).max() < 1e-12
    single = mine.dual_kernel_matrix(x.astype(np.float32), C_W=1.7, C_b=0.1)[0]
    assert np.abs(single - mine.dual_kernel_matrix(x, C_W=1.7, C_b=0.1)[0]).max() < 2e-6


def test_pairs_of_networks(deep):
    k1, k2 = rng.uniform(0.1, 3, (2, 300))
    given = (k1, k2, 0.4 * np.sqrt(k1 * k2), [1.5, 1.6, 1.7], 0.1)
    for found, exact in zip(
        deep[0].dual_kernel(*given, every_layer=True), deep[1].dual_kernel(*given, every_layer=True), strict=True
    ):
        assert found == pytest.approx(exact, rel=1e-12)
