"""Tiles of generated NumPy modules: the same numbers as entry by entry, in any layout, in little memory."""

import math
import tracemalloc

import numpy as np
import pytest
import sympy as sp
from scipy import special

import symres as sr
from symres.codegen.arrays.hermite import hermite_series
from symres.codegen.targets.numpy.components import NUMPY
from symres.codegen.targets.numpy.tiles import FastPath, Precondition, Tiler
from symres.core.symbols import K1, K2, C, K, z
from tests.oracles.closed_forms import PAIRS, covariance_map, pair_error
from tests.shared import Lazily

ONE, NONE = (1.3, 0.2, 0.7), (1.0, 0.0, 0.0)  # C_W, C_b, gamma
MIXED = {name: PAIRS[name] for name in ("gelu", "relu", "leaky", "erf", "sin", "snake", "square")}


@pytest.fixture(scope="module")
def modules():
    return Lazily(lambda name: sr.export(covariance_map(PAIRS[name])).load())


def gram(rows, columns, seed=0):
    """Kernels of rows and columns, and covariances with correlations of all sizes, some of them 1, -1 and 0."""
    generator = np.random.default_rng(seed)
    first, second = 10 ** generator.uniform(-3, 1.5, rows), 10 ** generator.uniform(-3, 1.5, columns)
    rho = generator.choice([-1, 1], (rows, columns)) * (1 - 10 ** generator.uniform(-13, 0, (rows, columns)))
    rho[::7] *= generator.uniform(0, 1, rho[::7].shape)
    rho[generator.random((rows, columns)) < 0.02] = 0.0
    return first, second, rho * np.sqrt(first)[:, None] * np.sqrt(second)


# ---- digits ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PAIRS)
def test_both_roads_have_13_digits_where_they_meet(modules, name):
    """Close to 1 - correlation**2 = 1/8, where an entry takes the other road, and for the sine of an angle likewise."""
    generator = np.random.default_rng(5)
    for q in (0.12, 0.1249999, 0.1250001, 0.13, 0.5):
        for k in (1e-3, 0.8, 50.0):
            k1, k2 = k, k * 10 ** generator.uniform(-1, 1)
            edges = {"gelu": ((1 + k1) * (1 + k2)) ** 0.5, "erf": ((0.5 + k1) * (0.5 + k2)) ** 0.5}
            size = min(edges.get(name, np.inf), (k1 * k2) ** 0.5 * (1 - 1e-12) / (1 - q) ** 0.5)
            for c in ((1 - q) ** 0.5 * size, -((1 - q) ** 0.5) * size):
                found = modules[name].covariance_map(k1, k2, c, *NONE)
                assert pair_error(name, found, k1, k2, c) < (5e-14 if name in ("sin", "cos") else 1e-14)


@pytest.mark.parametrize("name", ["gelu", "erf", "relu", "leaky", "relu_slope"])
def test_matrices_of_all_correlations_have_13_digits(modules, name):
    first, second, covariance = gram(9, 520)
    found = modules[name].covariance_map(first[:, None], second, covariance, *NONE)
    places = np.random.default_rng(2).integers(0, [9, 520], (120, 2))
    assert (covariance == 0.0).any()
    for i, j in places[covariance[*places.T] != 0.0]:
        assert pair_error(name, found[i, j], first[i], second[j], covariance[i, j]) < 1e-14


def test_a_matrix_of_parallel_inputs_is_that_of_the_long_road(modules):
    """More than a quarter of the entries are poor: they are computed within their tile."""
    first, second, covariance = gram(40, 3000)
    covariance = np.sqrt(first)[:, None] * np.sqrt(second)
    f, exact = modules["relu"].covariance_map, modules["relu"]._covariance_map
    found = f(first[:, None], second, covariance, *ONE)
    np.testing.assert_array_equal(found, exact(first[:, None], second, covariance, *ONE))


# ---- layouts -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MIXED)
def test_an_entry_does_not_depend_on_its_neighbours(modules, name):
    f = modules[name].covariance_map
    first, second, covariance = gram(60, 1100)
    found = f(first[:, None], second, covariance, *ONE)
    flat = f(*(a.ravel() for a in np.broadcast_arrays(first[:, None], second, covariance)), *ONE)
    np.testing.assert_allclose(found.ravel(), flat, rtol=1e-15, atol=0)
    for i, j in np.random.default_rng(1).integers(0, [60, 1100], (40, 2)):
        np.testing.assert_allclose(found[i, j], f(first[i], second[j], covariance[i, j], *ONE), rtol=1e-15, atol=0)


@pytest.mark.parametrize("layout", ["transposed", "reversed", "kernels of out", "itself"])
def test_out_may_share_memory_with_arguments(modules, layout):
    f = modules["relu"].covariance_map
    inputs = np.random.default_rng(4).standard_normal((600, 20))
    matrix = inputs @ inputs.T
    kernel = np.diag(matrix).copy()
    covariance = {"transposed": lambda m: m.T, "reversed": lambda m: m[::-1]}.get(layout, lambda m: m)
    expected = f(kernel[:, None], kernel, covariance(matrix.copy()), *ONE)
    held = np.diag(matrix) if layout == "kernels of out" else kernel
    assert f(held[:, None], held, covariance(matrix), *ONE, out=matrix) is matrix
    np.testing.assert_allclose(matrix, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    "shapes",
    [((3, 50, 1), (3, 1, 40), (3, 50, 40)), ((5, 1), (1, 9), ()), ((70000, 1), (1, 3), (70000, 3)), ((4, 3, 2),) * 3,
     ((), (), (200_000,)), ((2, 1, 1), (600,), (5, 1)), ((0, 1), (4,), (0, 4))],
    ids=str,
)  # fmt: skip
def test_every_shape_broadcasts(modules, shapes):
    generator = np.random.default_rng(6)
    k1, k2, c = (generator.uniform(1.0, 2.0, shape) for shape in shapes)
    c = c - 1.0
    for name in ("erf", "gelu"):
        module = modules[name]
        found = module.covariance_map(k1, k2, c, *ONE)
        assert found.shape == np.broadcast_shapes(*shapes)
        np.testing.assert_allclose(found, module._covariance_map(k1, k2, c, *ONE), rtol=2e-15, atol=1e-16)


def test_parameters_may_be_arrays(modules):
    first, second, covariance = gram(20, 600)
    weights = np.linspace(0.5, 2.0, 600)
    f = modules["relu"].covariance_map
    found = f(first[:, None], second, covariance, weights, 0.1, np.full((20, 1), 0.5))
    expected = [f(first, second[j], covariance[:, j], w, 0.1, 0.5) for j, w in enumerate(weights)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-15, atol=0)


@pytest.mark.exhaustive
# ---- what the caller notices -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["gelu", "erf", "relu"])
def test_a_matrix_takes_little_more_than_out(name):
    """At most a twentieth of a matrix, also for the entries on the diagonal, which take the long road."""
    f = sr.export(sr.expect2(name, name), target="numpy").load().expect2
    inputs = np.random.default_rng(0).standard_normal((2000, 300))
    matrix = inputs @ inputs.T / 300
    kernel, out = np.diag(matrix).copy(), np.empty_like(matrix)
    tracemalloc.start()
    f(kernel[:, None], kernel[None, :], matrix, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.05 * matrix.nbytes


def test_settings_of_the_caller_stay(modules):
    f = modules["relu"].covariance_map
    size, kernel = np.getbufsize(), np.linspace(0.0, 1.0, 600)
    with np.errstate(all="raise", under="ignore"):
        inside = np.geterr()
        f(kernel[:, None], kernel, np.minimum.outer(kernel, kernel), *ONE)  # 0/0 on the short road
        assert np.geterr() == inside
    assert np.getbufsize() == size


def test_what_is_no_number_stays_so(modules):
    first, second, covariance = gram(3, 600)
    covariance[1, 5], second[7] = np.nan, np.nan
    for name in ("gelu", "erf", "relu"):
        found = modules[name].covariance_map(first[:, None], second, covariance, *ONE)
        missing = np.isnan(found)
        assert missing[1, 5]
        assert missing[:, 7].all()
        assert missing.sum() == 4


# ---- the code ----------------------------------------------------------------------------------------------------
NAMES = {K1: "K1", K2: "K2", C: "C", K: "K", z: "z"}


def by_tile(road):
    tile = Tiler(NUMPY, NAMES, (K1, K2), (C,)).tile(road)
    text = ["def axes(K1, K2, C, K, z):", *tile.axes, "def tile(K1, K2, C, K, z, axes, scratch, fine):", *tile.lines]
    space = {"np": np, "special": special}
    exec("\n".join(line if line.startswith("def ") else f"    {line}" for line in text), space)
    return tile, space


ARGUMENTS = (
    np.array([[0.4], [1.7]]), np.array([[0.3, 2.2, 1.0]]), np.array([[-0.5, 0.25, 1.25], [0.75, 1.5, -0.75]]),
    np.float64(1.75), np.float64(-0.5),
)  # fmt: skip


def test_a_guard_sees_what_it_compares_before_it_is_written_over():
    sine, rest = sp.Dummy("sine"), sp.Dummy("q", positive=True)
    steps = {sine: C / K1 / K2, rest: 1 - sine**2}
    road = FastPath(
        sp.sqrt(rest) * sp.asin(sine) + rest,
        steps,
        (Precondition("{0} >= 0.5", (rest,)), Precondition("{0} < {1}", (sine, C))),
    )
    tile, space = by_tile(road)
    fine, scratch = [], [np.full((2, 3), np.nan) for _ in range(tile.arrays)]
    with np.errstate(invalid="ignore"):
        space["tile"](*ARGUMENTS, space["axes"](*ARGUMENTS), scratch, fine)
    x = ARGUMENTS[2] / ARGUMENTS[0] / ARGUMENTS[1]
    np.testing.assert_array_equal(fine[0], x < ARGUMENTS[2])  # in the order of what they compare
    np.testing.assert_array_equal(fine[1], 1 - x**2 >= 0.5)


@pytest.mark.parametrize("largest", [300.0, 3e3, 1e4])
def test_waves_of_large_kernels(largest):
    """Nodes come as close as waves of length 2*pi/100 need."""
    kernels = np.array([1e-8, 1.0, 30.0, 100.0, largest])
    ((sines, _),) = hermite_series._hermite_pairs([(np.sin, np.tanh)], kernels, kernels, 0.99 * kernels)
    n = np.arange(sines[0].shape[1])
    with np.errstate(divide="ignore"):
        sizes = np.exp(0.5 * (n * np.log(kernels[:, None]) - kernels[:, None] - [[math.lgamma(k + 1) for k in n]]))
    sizes *= (n % 2) * (1 - 2 * (n // 2 % 2))  # <sin(s x) h_n(x)> = s**n exp(-s*s/2)/sqrt(n!), by parts
    total = np.sqrt(-np.expm1(-2 * kernels) / 2)[:, None]
    assert np.abs((sines[0] - sizes) / total).max() < 5e-13
    left = np.sqrt(np.clip(1 - (sizes**2).sum(1) / total[:, 0] ** 2, 0, None))
    np.testing.assert_allclose(sines[1], left, rtol=0, atol=2e-6)


@pytest.mark.parametrize("rate", [50.0, 1e3, 1e6])
def test_functions_too_fast_for_nodes_have_no_value(rate):
    """But none that is wrong; those of scale 1/50 have one."""
    k, c = np.array([1.0, 1.0, 100.0]), np.array([0.5, 1.0, 99.9])

    def steep(z):
        return np.tanh(rate * z)

    found = hermite_series._smooth_entries(steep, steep, k, k, c)
    signs = 2 / np.pi * np.arcsin(c / k)  # to first order in 1/rate
    assert np.isfinite(found).all() or rate > 50.0
    assert np.nanmax(np.abs(found - signs), initial=0.0) < 2 / rate
