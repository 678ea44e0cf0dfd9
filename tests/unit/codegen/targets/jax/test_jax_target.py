"""JAX: float32 without float64, determinants that are compiled, special functions, averages of smooth functions."""

import jax
import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.emission.emitter import NoSpelling
from symres.codegen.targets.jax import TARGET
from symres.core.symbols import K1, K2, C, K, z
from tests.languages import EDGE, integrated
from tests.oracles.closed_forms import PAIRS, WILLIAMS, covariance_map, in_50_digits, kernel_map
from tests.shared import Lazily, derived

try:
    from jax import enable_x64
except ImportError:  # before JAX 0.8
    from jax.experimental import enable_x64

WEIGHTS = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.5}


@pytest.fixture(autouse=True)
def double_precision():
    with TARGET.in_double_precision():
        yield


@pytest.fixture(scope="module")
def maps():
    def load(name):
        with TARGET.in_double_precision():
            module = sr.export(covariance_map(PAIRS[name]), "jax").load()
        return lambda *kernels: module.covariance_map(*kernels, **WEIGHTS)

    return Lazily(load)


def columns(points, kind=np.float64):
    return [np.array(column, dtype=kind) for column in zip(*points, strict=True)]


@pytest.mark.parametrize("name", ["relu", pytest.param("gelu", marks=pytest.mark.exhaustive)])
def test_float32_without_float64_has_its_own_digits(maps, name):
    """The determinant of nearly parallel inputs too, which float32 products alone would lose."""
    generator = np.random.default_rng(0)
    size = 10 ** generator.uniform(-4, 4, 300)
    points = columns(zip(size, size, size * (1 - 10 ** generator.uniform(-7, 0, 300)), strict=True), np.float32)
    points[2] = np.minimum(points[2], points[0])
    with enable_x64(False):
        found = jax.jit(maps[name])(*points)
        assert found.dtype == np.float32
        edge = columns(EDGE, np.float32)
        value, slopes = jax.jit(jax.value_and_grad(lambda *k: maps[name](*k).sum(), (0, 1, 2)))(*edge)
        assert value.dtype == np.float32 and all(np.isfinite(a).all() for a in (value, *slopes))
    body = covariance_map(PAIRS[name]).body
    numbers = [dict(zip(("K1", "K2", "C"), map(float, point), strict=True)) for point in zip(*points, strict=True)]
    exact = np.array([float(mp.re(in_50_digits(body, **point, **WEIGHTS))) for point in numbers])
    assert np.max(np.abs(np.asarray(found, dtype=np.float64) / exact - 1)) < 6 * 2.0**-23


def test_determinants_keep_their_digits_when_they_are_compiled():
    """Of nearly parallel inputs, alone and where a compiler has products beside sums to fuse."""
    text = sr.export(covariance_map(PAIRS["relu"]), "jax").load()
    generator = np.random.default_rng(1)
    for kind, least in ((np.float64, -16), (np.float32, -7)):
        first = (10 ** generator.uniform(-4, 4, 2000)).astype(kind)
        second = (first * 10 ** generator.uniform(-2, 2, 2000)).astype(kind)
        gap = 10 ** generator.uniform(least, 0, 2000)
        both = (np.sqrt(first.astype(float)) * np.sqrt(second.astype(float)) * (1 - gap)).astype(kind)
        with mp.workdps(60):
            numbers = [[mp.mpf(float(v)) for v in row] for row in zip(first, second, both, strict=True)]
            exact = np.array([float(a * b - c * c) for a, b, c in numbers])
        for function in (text._determinant, lambda a, b, c: text._determinant(a, b, c) * 1.0 + 0.0 * (a * b - c * c)):
            found = np.asarray(jax.jit(function)(first, second, both), dtype=np.float64)
            wrong = np.abs(found - np.maximum(exact, 0.0)) / np.maximum(np.abs(exact), np.finfo(kind).tiny)
            assert np.max(wrong[exact > 0]) < 3 * np.finfo(kind).eps
            assert not found[exact < 0].any()


def test_types_and_shapes(maps):
    def of(*arguments):
        found = jax.eval_shape(maps["relu"], *arguments)
        return found.shape, found.dtype

    single = np.ones((2, 1), np.float32)
    assert of(single, np.ones(3, np.float32), np.float32(0.5)) == ((2, 3), np.float32)
    assert of(single, np.ones(3), np.full((4, 1, 1), 0.5)) == ((4, 2, 3), np.float64)
    assert of(np.ones(2, np.int32), np.ones(2, np.int32), np.zeros(2, np.int32)) == ((2,), np.float64)
    assert of(single.astype(np.float16), single, single) == ((2, 1), np.float32)
    constant = sr.export(kernel_map(K / 2), "jax").load().kernel_map
    assert float(jax.grad(constant, 3)(1.0, 2.0, 0.0, 0.5)) == 1.0  # the weight of the skip connection: gamma**2*K


def test_what_needs_quadrature_is_refused_with_the_reason():
    kinked = sr.expect2("abs(tanh(z))", "abs(tanh(z))")
    with pytest.raises(NoSpelling, match="averages without a closed form need another target"):
        sr.export(kinked, target="jax")
    module = sr.export({"open": kinked, "closed": sr.expect2("relu", "relu")}, target="jax")
    assert module.functions == ("closed",) and "need another target" in module.missing[0]


# ---- special functions -------------------------------------------------------------------------------------------
SIDES = [(-1.0, 0.0), (-2.0, 1e-9), (-2.0, -1.5), (-900.0, 899.0)]
SPECIAL = {  # calls, what they are, and arguments
    "_erfcx(u)": (
        lambda u: mp.exp(u * u) * mp.erfc(u),
        [(u,) for u in (-2.0, 0.0, 1e-9, 0.3, 1.0, 4.0, 13.9, 14.1, 1e5)],
    ),
    "_dawson(u)": (
        lambda u: mp.sqrt(mp.pi) / 2 * mp.exp(-u * u) * mp.erfi(u),
        [(u,) for u in (-3.0, 1e-9, 0.3, 0.99, 1.01, 4.0, 30.0)],
    ),
    "_expsinh(u, v)": (lambda u, v: mp.exp(u) * mp.sinh(v), SIDES),
    "_expcosh(u, v)": (lambda u, v: mp.exp(u) * mp.cosh(v), SIDES),
    "_expcoshm1(u, v)": (lambda u, v: mp.exp(u) * (mp.cosh(v) - 1), [(-2.0, 1e-5), *SIDES[2:]]),
    "_scaled_tail(u, u - v*v, v)": (
        lambda u, v: mp.exp(u) * mp.erfc(v),
        [(1.0, -0.7), (0.5, 0.2), (30.0, 5.0), (900.0, 30.0)],
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("call", SPECIAL)
def test_special_functions_and_their_first_two_derivatives(call):
    exact, points = SPECIAL[call]
    space = {}
    imports = [line for group in TARGET.imports for line in group.values()]
    names = "uv"[: len(points[0])]
    exec("\n".join([*imports, *TARGET.runtime.definitions(call), f"def f({', '.join(names)}): return {call}"]), space)
    places = tuple(range(len(names)))
    functions = [space["f"], jax.grad(space["f"], places), jax.hessian(space["f"], places)]
    value, slopes, bends = (jax.jit(jax.vmap(f))(*columns(points)) for f in functions)
    for row, point in enumerate(points):
        with mp.workdps(60):
            at = tuple(map(mp.mpf, point))
            assert float(value[row]) == pytest.approx(float(exact(*at)), rel=3e-15)
            for i in places:
                one = tuple(int(k == i) for k in places)
                assert float(slopes[i][row]) == pytest.approx(float(mp.diff(exact, at, one)), rel=2e-13, abs=1e-25)
                for j in places:
                    two = tuple(int(k == i) + int(k == j) for k in places)
                    assert float(bends[i][j][row]) == pytest.approx(
                        float(mp.diff(exact, at, two)), rel=1e-10, abs=1e-25
                    )


@pytest.mark.exhaustive
def test_vertices_are_those_of_numpy_and_map_over_kernels():
    vertex = derived(sr.residual("relu")).vertex_recursion
    found, exact = (sr.export(vertex, target=target).load() for target in ("jax", "numpy"))
    kernels = np.array([0.3, 2.0])
    compiled = jax.jit(lambda K: found.vertex(4, K, C_W=1.5, C_b=0.1, gamma=0.8))
    np.testing.assert_allclose(compiled(kernels), exact.vertex(4, kernels, C_W=1.5, C_b=0.1, gamma=0.8), rtol=1e-12)


@pytest.fixture(scope="module")
def erf():
    return integrated("jax", sp.erf(z / sp.sqrt(2)))


def gram():
    x = np.random.default_rng(1).normal(size=(12, 5))
    x[1], x[3] = x[0], -x[2]  # on the diagonal
    x[5] = (1 + 1e-7) * x[4]
    products = x @ x.T / 5
    kernels = np.diagonal(products)
    return kernels[:, None], kernels[None, :], products


@pytest.mark.exhaustive
def test_many_entries_with_kernels_of_their_own(erf):
    """In chunks; mapped entries are one call; only those without a number are none."""
    generator = np.random.default_rng(2)
    k1, k2 = 10 ** generator.uniform(-6, 1.2, (2, 5000))
    c = np.sqrt(k1 * k2) * generator.uniform(-1, 1, 5000)
    k1[7], k2[8], c[9], k1[10] = np.nan, np.inf, np.nan, -1.0
    found = np.array(jax.jit(jax.vmap(erf))(k1, k2, c))
    assert np.isnan(found[7:11]).all()
    numbers = [np.delete(a, range(7, 11)) for a in (k1, k2, c)]
    exact = sp.lambdify((K1, K2, C), WILLIAMS, "numpy")(*numbers)
    np.testing.assert_allclose(np.delete(found, range(7, 11)), exact, atol=3e-15)


def test_single_precision_without_float64(erf):
    """And no more than a float32 result of float32 arrays where float64 is switched on."""
    arguments = [np.float32(a) for a in gram()]
    exact = sp.lambdify((K1, K2, C), WILLIAMS, "numpy")(*map(np.float64, arguments))
    with enable_x64(False):
        found = jax.jit(erf)(*arguments)
        assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, atol=2e-6)
    assert jax.eval_shape(erf, *arguments).dtype == np.float32
