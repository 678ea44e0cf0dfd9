"""Averages of smooth functions in every language, as series: against sums over the plane and closed forms."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.strategy.measured_error import measured_quadrature
from symres.core.errors import SymresError
from symres.core.symbols import K1, K2, C, z
from tests.languages import ALL, DIFFERENTIABLE, SLOW, integrated, lanes, language, open_average
from tests.oracles.average import average_of, average_of_pair
from tests.oracles.closed_forms import WILLIAMS
from tests.oracles.smooth_pairs import FUNCTIONS, average
from tests.shared import altered

KERNELS = [(1e-6, 1e-6), (1e-6, 2.0), (0.3, 0.3), (1.0, 4.0), (0.02, 1.3), (30.0, 30.0), (0.1, 30.0)]
POINTS = [(k1, k2, rho) for k1, k2 in KERNELS for rho in (0.0, 0.3, -0.3, 0.99, -0.99, 1.0, -1.0)]
beta = sp.Symbol("beta", positive=True)
pytestmark = pytest.mark.usefixtures("unmeasured")


@cache
def series(target, one, other=None):
    return language(target).load(sr.expect2(one, other or one)).expect2


@cache
def exactly(one, other, k1, k2, rho):
    steps = 32 if max(k1, k2) > 4 else 12  # poles are further away than some of them
    return average(FUNCTIONS[one], FUNCTIONS[other], k1, k2, rho, steps)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", lanes(*ALL))
@pytest.mark.parametrize(("one", "other"), [*zip(FUNCTIONS, FUNCTIONS, strict=True), ("mish", "tanh")])
def test_pairs_are_those_of_the_plane(one, other, target):
    k1, k2, rho = np.transpose(POINTS)
    found = language(target).value(series(target, one, other), k1, k2, rho * np.sqrt(k1 * k2))
    for value, point in zip(found, POINTS, strict=True):
        size = np.sqrt(exactly(one, one, *point[:1] * 2, 1.0) * exactly(other, other, *point[1:2] * 2, 1.0))
        assert abs(value - exactly(one, other, *point)) < 1e-13 * size, point


@pytest.mark.parametrize("target", lanes(*ALL, slow=[*SLOW, "jax"]))
def test_matrices_entries_and_single_precision_agree(target):
    tool, f = language(target), series(target, "tanh")
    x = np.random.default_rng(0).normal(size=(90, 40))
    c = x @ x.T / 40
    k = np.diag(c).copy()
    whole = tool.value(f, k[:, None], k, c)
    for part in ((k[:, None] + 0 * c, k + 0 * c, c), (k[:, None, None], k[:, None], c[:, :1])):
        found = tool.value(f, *part)
        np.testing.assert_allclose(found, whole if found.ndim == 2 else tool.value(f, *np.broadcast_arrays(*part)),
                                   rtol=1e-12)  # fmt: skip
    np.testing.assert_allclose(tool.value(f, k[:70, None], k[3:], c[:70, 3:]), whole[:70, 3:], rtol=1e-12)
    np.testing.assert_allclose(whole, whole.T, rtol=1e-13)
    assert tool.value(f, k[:0], k[:0], k[:0]).shape == (0,)
    if "float32" in tool.target.capabilities.dtypes:
        single = tool.value(f, k[:, None], k, c, kind=np.float32)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, whole, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("target", lanes(*ALL, slow=["numba", "jax"]))
def test_kernels_may_be_numbers_beside_many_covariances(target):
    c = np.linspace(-0.9, 0.9, 70001)
    found, few = (language(target).value(series(target, "tanh"), 1.0, 2.0, part) for part in (c, c[::7000]))
    np.testing.assert_allclose(found[::7000], few, rtol=1e-13)


@pytest.mark.parametrize("target", lanes(*ALL, slow=["jax", "numba"]))
def test_the_diagonal_is_the_average_of_one_input(target):
    k = np.array([1e-6, 1.0, 10.0])
    exact = [float(average_of(lambda x: mp.tanh(x) ** 2, v)) for v in k]
    np.testing.assert_allclose(language(target).value(series(target, "tanh"), k, k, k), exact, rtol=1e-13)


@pytest.mark.parametrize("target", lanes(*ALL, slow=["jax", "numba"]))
def test_what_has_no_number_spoils_nothing_else(target):
    k = np.array([1.0, -1.0, np.nan, np.inf, 0.0, 2.0])
    c = np.sqrt(np.abs(np.where(np.isfinite(k), k, 1.0)))
    with np.errstate(invalid="ignore"):  # inf - inf in NumPy
        found = language(target).value(series(target, "tanh"), k[:, None], k, 0.5 * np.outer(c, c))
    lost = ~(np.isfinite(k) & (k >= 0))
    assert np.isnan(found[lost]).all() and np.isnan(found[:, lost]).all()
    assert found[0, 5] == pytest.approx(exactly("tanh", "tanh", 1.0, 2.0, 0.5), rel=1e-13)
    assert (np.abs(found[4, ~lost]) < 1e-30).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", lanes(*ALL))
@pytest.mark.parametrize("formula", ["z/(1 + exp(-beta*z))", "tanh(z)/(1 + exp(-beta*z))"])
def test_parameters_act_inside(formula, target):
    gated = sr.activation(formula, beta=beta)
    f = language(target).load(sr.expect2(gated, gated)).expect2
    for b in (0.5, 3.0):
        function = sp.lambdify(z, gated.expr.subs(beta, b), "numpy")
        exact = average(function, function, 1.0, 2.0, 0.7 / np.sqrt(2))
        assert float(language(target).value(f, 1.0, 2.0, 0.7, b)) == pytest.approx(exact, rel=1e-13)


# ---- derivatives ---------------------------------------------------------------------------------------------------


@cache
def erf(target):
    return integrated(target, sp.erf(z / sp.sqrt(2)))


SYMBOLS = (K1, K2, C)


def assert_derivatives(target, columns, tolerance):
    """First and second ones of the product with C, by the shapes of kernels and covariances."""
    axes = {K1: 1, K2: 0, C: ()} if columns[0].ndim == 2 else dict.fromkeys(SYMBOLS, ())
    weighed = lambda *kernels: erf(target)(*kernels) * kernels[2]  # noqa: E731

    def exactly(*order):
        value = sp.lambdify(SYMBOLS, (C * WILLIAMS).diff(*order), "numpy")(*columns)
        return np.sum(value, axis=axes[order[-1]], keepdims=True) if axes[order[-1]] != () else value

    rows = [(language(target).slopes(weighed, *columns), ())]
    rows += zip(language(target).bends(weighed, *columns), [(s,) for s in SYMBOLS], strict=True)
    for row, order in rows:
        for found, symbol in zip(row, SYMBOLS, strict=True):
            exact = exactly(*order, symbol)
            assert found.shape == exact.shape
            assert (np.abs(found - exact) <= tolerance(exact)).all(), (order, symbol)


@pytest.mark.parametrize("target", lanes(*DIFFERENTIABLE, slow=["jax"]))
def test_derivatives_of_entries_are_those_of_the_closed_form(target):
    """Parallel inputs, of equal and of unlike kernels, too."""
    kernels = ((1.0, 1.0), (0.3, 2.0), (1e-6, 1.0), (10.0, 12.0), (20.0, 20.0))
    points = [(a, b, r * np.sqrt(a * b)) for a, b in kernels for r in (0.0, 0.5, -0.99, 1 - 1e-9, 1.0, -1.0)]
    assert_derivatives(target, np.transpose(points), lambda exact: 1e-13 * np.abs(exact) + 1e-14)


@pytest.mark.parametrize("target", lanes(*DIFFERENTIABLE, slow=["jax"]))
@pytest.mark.parametrize("scale", [0.01, 1.0, 3.0, 10.0])
def test_derivatives_of_matrices_are_those_of_the_closed_form(scale, target):
    """Of other inputs with the same kernels in another order <f'' g> is not <f g''> transposed."""
    if scale > 3 and language(target).target.ends:
        pytest.skip(f"no numbers there: {language(target).target.ends}")
    x = scale * np.random.default_rng(1).normal(size=(12, 5))
    x[1], x[3] = x[0], -x[2]  # on the diagonal
    x[5] = (1 + 1e-7) * x[4]
    for y in (x, x[::-1]):
        columns = (x**2).mean(-1)[:, None], (y**2).mean(-1)[None, :], x @ y.T / 5
        assert_derivatives(target, columns, lambda exact: 1e-12 * np.abs(exact).max())


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_parameters_have_derivatives_and_may_differ_from_entry_to_entry(target):
    tool, swish = language(target), integrated(target, z / (1 + sp.exp(-beta * z)), (K1, K2, C, beta))
    columns = (np.full(2, 0.7), np.full(2, 1.9), np.full(2, 0.8), np.array([0.7, 1.3]))
    values, slopes, bends = tool.value(swish, *columns), tool.slopes(swish, *columns), tool.bends(swish, *columns)

    def exact(b):
        function = lambda u: u / (1 + np.exp(-b * u))  # noqa: E731
        return average_of_pair(function, function, 0.7, 1.9, 0.8)

    step = 1e-4
    for b, value, slope in zip(columns[3], values, slopes[3], strict=True):
        assert value == pytest.approx(exact(b), rel=1e-13)
        assert slope == pytest.approx((exact(b + step) - exact(b - step)) / (2 * step), rel=1e-7)
    moved = [tool.slopes(swish, *columns[:3], columns[3] + s * step) for s in (1, -1)]
    for bend, up, down in zip(bends[3], *moved, strict=True):
        np.testing.assert_allclose(bend, (up - down) / (2 * step), rtol=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_gradients_of_matrices_of_moving_points(target):
    language(target).assert_gradients_of_moving_points(series(target, "mish"))


# ---- ends, and what measures them ----------------------------------------------------------------------------------
@pytest.mark.parametrize("target", [name for name in ALL if language(name).target.capabilities.quadrature
                                    and language(name).target.capabilities.code == "array"])  # fmt: skip
def test_series_that_are_too_long_are_integrated(target):
    k = np.array([1e3, 1e4, 0.3, 1e-8])
    for rho in (1 - 1e-12, 0.999, -0.9999, 0.1, 0.0):
        c = rho * np.sqrt(k[:, None] * k)
        found = language(target).value(erf(target), k[:, None], k[None, :], c)
        assert np.abs(found - sp.lambdify(SYMBOLS, WILLIAMS, "numpy")(k[:, None], k, c)).max() < 1e-12


SHORT = {
    "jax": {"_MOST_TERMS": "_MOST_TERMS = 32"},
    "torch": {"_TERMS": "_TERMS = (12,)"},
}
ROUGH = SHORT["torch"] | {"_FINEST_PLANE": "_FINEST_PLANE = 0"}
WRONG = "_polynomials", "(first + n) ** 0.5", "(first + n + 0.01) ** 0.5"
REST = "<= (_ENOUGH * eps) ** root", "< xp.inf"
# language, function that is averaged, other constants, a run-time function with what is changed in it, the error found
CHANGES = [
    ("torch", z / 3, {}, None, "", "", (0, 1e-14)),
    ("torch", z / 3, {}, *WRONG, (1e-12, np.inf)),
    ("torch", z / 3, {}, "_hermite_sum", "<= _SOUGHT", "<= 1e10", (1e-12, np.inf)),
    ("torch", z / 3, SHORT["torch"], None, "", "", (0, 1e-13)),  # few terms are seen by the bound
    ("torch", z / 3, ROUGH, "_hermite_sum", *REST, (1e-12, np.inf)),
    ("jax", z, {}, None, "", "", (0, 1e-14)),
    ("jax", z, {}, *WRONG, (1e-12, np.inf)),
    ("jax", z, SHORT["jax"], None, "", "", (0, 1e-13)),  # sums in the plane take their place
    ("jax", z, SHORT["jax"], "_series_values", "<= _ENOUGH * eps", "< jnp.inf", (1e-12, np.inf)),
    ("numpy", z / 2, {}, *WRONG, (1e-12, np.inf)),
]


@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize(("target", "inside", "texts", "name", "right", "wrong", "expected"), CHANGES)
def test_wrong_series_and_short_ones_are_seen_by_the_measurement(target, inside, texts, name, right, wrong, expected):
    own = language(target).target
    if name:
        assert right in own.runtime.texts[name]
        texts = {**texts, name: own.runtime.texts[name].replace(right, wrong)}
    with own.in_double_precision():
        try:
            error = measured_quadrature(open_average(sp.tanh(inside)), altered(own, definitions=texts)).measured.error
        except SymresError as refused:
            assert "is off by" in refused.found or "quadrature fails at" in refused.found
            error = np.inf if "is off by" in refused.found else None
    assert error is expected if expected is None else expected[0] <= error <= expected[1]
