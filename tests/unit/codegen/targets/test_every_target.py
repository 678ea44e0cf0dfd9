"""Closed forms in every language: digits, limits, derivatives, precisions, shapes, ``out``, modules on their own."""

import subprocess
import sys
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen import targets
from symres.codegen.planning.slope_rules import NEARLY_PARALLEL
from symres.codegen.targets import REFERENCE
from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma, z
from tests.languages import ALL, DIFFERENTIABLE, EDGE, IN_PLACE, lanes, language, table
from tests.oracles.closed_forms import KERNELS, PAIRS, covariance_map, in_50_digits, kernel_map, pair_error

ONE, NONE = {"C_W": 1.3, "C_b": 0.1, "gamma": 0.5}, {"C_W": 1.0, "C_b": 0.0, "gamma": 0.0}
WAVES = ("sin", "cos")  # the exponent -(K1 + K2)/2 is itself rounded
VARIANCES = [(1e-8, 1e-8), (1e-8, 3e-3), (1e-3, 1e-3), (0.4, 0.9), (2.0, 2.0), (30.0, 1e3), (1e4, 1e4), (1.0, 1e4)]
RHO = [s * r for r in (0.3, 0.99, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12) for s in (1, -1)] + [1e-7]
POINTS = [(k1, k2, rho * k1**0.5 * k2**0.5) for k1, k2 in VARIANCES for rho in RHO]
INSIDE = [(1.0, 1.0, 0.3), (2.0, 0.5, -0.8), (0.5, 0.6, 0.2), (3.0, 3.0, -2.0), (1e-4, 20.0, 0.01)]
SMOOTH = [name for name in PAIRS if name != "relu_slope"]  # the slope of a jump is infinite where inputs are parallel


@cache
def pair(target, name):
    return language(target).load(covariance_map(PAIRS[name])).covariance_map


@cache
def single(target, name):
    return language(target).load(kernel_map(KERNELS[name])).kernel_map


def gram(size=30, scale=1.0):
    x = np.random.default_rng(0).standard_normal((size, 4)) * scale
    products = x @ x.T
    norms = np.diagonal(products).copy()
    return norms[:, None], norms[None, :], products


# ---- values --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "target"), table(PAIRS))
def test_pairs_have_13_digits(name, target):
    points = [p for p in POINTS if name not in WAVES or (p[0] + p[1]) / 2 - abs(p[2]) < 700]  # above the smallest float
    found = language(target).value(pair(target, name), *np.transpose(points), **NONE)
    for value, point in zip(found, points, strict=True):
        assert pair_error(name, value, *point) < (5e-14 if name in WAVES else 1e-14), point


@pytest.mark.parametrize(("name", "target"), table(KERNELS))
def test_functions_of_one_kernel_have_13_digits_and_their_limit_at_zero(name, target):
    kernels = np.array([0.0, *np.geomspace(1e-8, 1e4, 61)])
    exact = [1.0 if name == "cos" else 0.0, *(float(in_50_digits(KERNELS[name], K=float(k))) for k in kernels[1:])]
    found = language(target).value(single(target, name), kernels, **NONE)
    np.testing.assert_allclose(found, exact, rtol=1e-14, atol=0)
    if "float32" in language(target).target.capabilities.dtypes:
        found = language(target).value(single(target, name), kernels, kind=np.float32, **NONE)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found[1:], exact[1:], rtol=4e-6)


@pytest.mark.parametrize(("name", "target"), table([name for name in PAIRS if name in KERNELS]))
def test_the_diagonal_is_the_average_of_one_input(name, target):
    """Also where rounding makes correlations larger than one."""
    k = np.array([0.0, 1e-300, 1e-8, 1.0, 7.3, 1e4])
    exact = language(target).value(single(target, name), k, **NONE)
    for excess, rounding in ((0.0, np.ones(6)), (4e-16, np.maximum(1.0, k) if name in WAVES else np.ones(6))):
        found = language(target).value(pair(target, name), k, k, k * (1 + excess), **NONE)
        assert (np.abs(found - exact) <= 2e-15 * rounding * exact).all()


@pytest.mark.parametrize(("name", "target"), table(PAIRS))
def test_gram_matrices_in_both_precisions_have_their_digits(name, target):
    tool, scales = language(target), np.geomspace(1e-5, 1e3, 30)[:, None]
    scales[0] = 0.0
    assert np.isfinite(tool.value(pair(target, name), *gram(scale=scales), **ONE)).all()
    for kind, tolerance in ((np.float64, 2e-15), (np.float32, 2e-6)):
        if kind.__name__ in tool.target.capabilities.dtypes:
            found = tool.value(pair(target, name), *gram(), kind=kind, **ONE)
            assert found.dtype == kind
            exact, size = matrix_in_50_digits(name, kind)
            assert np.max(np.abs(found - exact) / (np.abs(exact) + size)) < tolerance


@cache
def matrix_in_50_digits(name, kind):
    """Of kernels and covariances as they are in a type; and the roots of both kernels."""
    k1, k2, c = np.broadcast_arrays(*(a.astype(kind).astype(float) for a in gram()))
    values = [
        in_50_digits(PAIRS[name], K1=a, K2=b, C=min(v, max(a, b)))
        for a, b, v in zip(k1.flat, k2.flat, c.flat, strict=True)
    ]
    averages = np.array([float(mp.re(v)) for v in values]).reshape(30, 30)
    return ONE["C_b"] + ONE["gamma"] ** 2 * c + ONE["C_W"] * averages, np.sqrt(k1 * k2)


# ---- derivatives ---------------------------------------------------------------------------------------------------
def exactly(name, *order):
    """A derivative of the map at the points inside, in 40 digits, from the formula as it was typed."""
    formula = (C_b + gamma**2 * C + C_W * PAIRS[name]).diff(*order)
    function = sp.lambdify((K1, K2, C, C_W, C_b, gamma), formula, "mpmath")
    with mp.workdps(40):
        return [float(mp.re(function(*map(mp.mpf, (*point, *ONE.values()))))) for point in INSIDE]


@pytest.mark.parametrize(("name", "target"), table(PAIRS, DIFFERENTIABLE))
def test_first_and_second_derivatives_are_those_of_the_formula(name, target):
    """In kernels, covariance and parameters."""
    columns = [*np.transpose(INSIDE), *(np.full(len(INSIDE), v) for v in ONE.values())]
    symbols = (K1, K2, C, C_W, C_b, gamma)
    for found, symbol in zip(language(target).slopes(pair(target, name), *columns), symbols, strict=True):
        np.testing.assert_allclose(found, exactly(name, symbol), rtol=1e-12, atol=1e-14)
    bends = language(target).bends(lambda *kernels: pair(target, name)(*kernels, **ONE), *columns[:3])
    for row, one in zip(bends, symbols, strict=False):
        for found, other in zip(row, symbols, strict=False):
            np.testing.assert_allclose(found, exactly(name, one, other), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("name", "target"), table(PAIRS, DIFFERENTIABLE))
def test_values_and_slopes_at_the_edge_are_finite(name, target):
    for kind in (np.float64, np.float32):
        found = language(target).value(pair(target, name), *np.transpose(EDGE), kind=kind, **NONE)
        slopes = language(target).slopes(lambda *k: pair(target, name)(*k, **NONE), *np.transpose(EDGE), kind=kind)
        assert all(np.isfinite(a).all() and a.dtype == kind for a in (found, *slopes))


@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_the_slope_on_the_diagonal_is_the_average_of_the_squared_derivative(target):
    known = {"relu": 0.5, "erf": 4 / np.pi / np.sqrt(5.0), "sin": (1 + np.exp(-2.0)) / 2, "square": 4.0}
    for name, slope in known.items():
        f = pair(target, name)
        found = language(target).slopes(lambda *k, f=f: f(*k, **ONE), 1.0, 1.0, 1.0)[2]
        assert float(found) == pytest.approx(ONE["gamma"] ** 2 + ONE["C_W"] * slope, rel=1e-15)


BEYOND_A_KINK = {  # f' and f'' on the right of 0, f is 0 on the left
    "max(z, 0)*exp(-z)": (lambda z: (1 - z) * mp.exp(-z), lambda z: (z - 2) * mp.exp(-z)),
    "max(z, 0)*(1 + z)*exp(z/4)": (
        lambda z: (1 + 9 * z / 4 + z**2 / 4) * mp.exp(z / 4),
        lambda z: (mp.mpf(5) / 2 + 17 * z / 16 + z**2 / 16) * mp.exp(z / 4),
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("k", [0.01, 1.0, 4.0])
@pytest.mark.parametrize(("activation", "target"), table(BEYOND_A_KINK, DIFFERENTIABLE))
def test_slopes_of_polynomials_times_exponentials_beyond_a_kink(activation, target, k):
    """They are finite for parallel inputs, where those of the roots and tails in the formula are not."""
    exported = sr.export(sr.derive(activation).covariance_map, target=target).load()
    slope, curvature = BEYOND_A_KINK[activation]
    f = sp.lambdify(z, sp.sympify(activation.replace("max(z, 0)", "z"), {"z": z}), "mpmath")

    def average(g):
        return float(mp.quad(lambda x: g(x * mp.sqrt(k)) * mp.npdf(x), [0, 1, 3, 8, 16]))

    curved = average(lambda x: f(x) * curvature(x)) / 2
    parallel = [curved, curved, average(lambda x: slope(x) ** 2)]
    for covariance, expected in ((k, parallel), (-k, [0.0, 0.0, 0.0])):
        slopes = language(target).slopes(lambda *k: exported.covariance_map(*k, 1.0, 0.0), k, k, covariance)
        np.testing.assert_allclose([float(s) for s in slopes], expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_slopes_of_tails_between_parallel_and_independent_inputs(target):
    """By Price's theorem the slope in C is the average of both derivatives, here by quadrature in the plane."""
    activation, (k1, k2, c) = "max(z, 0)*exp(-z)", (0.7, 1.3, 0.4)
    determinant = k1 * k2 - c * c
    slope = lambda z: (1 - z) * np.exp(-z)  # noqa: E731
    nodes, weights = np.polynomial.legendre.leggauss(120)
    x, w = 6.0 * (nodes + 1.0), 6.0 * weights  # 0 to 12 on both axes: ten deviations
    density = np.exp(-(k2 * x[:, None] ** 2 - 2 * c * x[:, None] * x + k1 * x**2) / (2 * determinant))
    expected = (w * slope(x)) @ density @ (w * slope(x)) / (2 * np.pi * np.sqrt(determinant))
    exported = sr.export(sr.derive(activation).covariance_map, target=target).load()
    value = language(target).slopes(lambda *kernels: exported.covariance_map(*kernels, 1.0, 0.0), k1, k2, c)[2]
    assert float(value) == pytest.approx(expected, rel=1e-11)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_slopes_of_tails_beside_roots_that_do_not_vanish(target):
    """Of (1 + 2*K1)*(1 + 2*K2) - 4*C**2, which comes with erf: its root has no pole for parallel inputs."""
    exported = sr.export(sr.derive("max(z, 0)*exp(-z) + erf(z)").covariance_map, target=target).load()
    slope = lambda z: (1 - z) * mp.exp(-z) * (z > 0) + 2 / mp.sqrt(mp.pi) * mp.exp(-z * z)  # noqa: E731
    expected = mp.quad(lambda x: slope(x) ** 2 * mp.npdf(x), [-10, -1, 0, 1, 4, 12])
    value = language(target).slopes(lambda *kernels: exported.covariance_map(*kernels, 1.0, 0.0), 1.0, 1.0, 1.0)[2]
    assert float(value) == pytest.approx(float(expected), rel=1e-11)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_slopes_in_which_poles_do_not_cancel_term_by_term_are_nan_and_headers_say_so(target):
    """Tails beside roots of (1 + 2*K1)*(1 + 2*K2) - 4*C**2 and others, with D below them."""
    module = sr.export(sr.derive("step(z)*exp(-z^2 - z)").covariance_map, target=target)
    call = lambda *kernels: module.load().covariance_map(*kernels, 1.0, 0.0)  # noqa: E731
    inside, parallel = (language(target).slopes(call, 1.0, 1.0, c)[2] for c in (0.5, 1.0))
    nodes, weights = np.polynomial.legendre.leggauss(120)
    x = 3.0 + 3.0 * nodes  # 0 to 6 on both axes
    y, w = x[:, None], 3.0 * weights * np.exp(-x * x - x)
    density = np.exp(-(x**2 + y**2 - x * y) / 1.5) / (2 * np.pi * np.sqrt(0.75))
    moved = ((x - y / 2) * (y - x / 2) / 0.75 + 0.5) / 0.75 * density  # d(density)/dC at C = 1/2
    assert float(inside) == pytest.approx(w @ moved @ w, rel=1e-10)
    assert np.isnan(parallel) and language(target).value(call, 1.0, 1.0, 1.0) > 0
    assert f"Derivatives are nan within {NEARLY_PARALLEL:g} of C**2 = K1*K2" in " ".join(module.text.split())


JUMPS = ["sign(z - 1/2) + z/3", "step(z)*(1 + z)*exp(z/4)"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("activation", "target"), table(JUMPS, DIFFERENTIABLE))
def test_slopes_of_jumps_beside_0_are_cut_off_next_to_parallel_inputs(activation, target):
    f = sr.export(sr.derive(activation).covariance_map, target=target).load().covariance_map
    apart, near, equal = (
        language(target).slopes(lambda *k: f(*k, 1.0, 0.0), 2.0, 2.0, 2.0 * (1 - e))[2] for e in (1e-10, 1e-12, 0.0)
    )
    assert float(near) == pytest.approx(10 * float(apart), rel=1e-2)  # it diverges as 1/sqrt(1 - r)
    assert 0.8 < float(equal) / float(near) < 2.0


@pytest.mark.parametrize(("name", "target"), table(SMOOTH, DIFFERENTIABLE))
def test_gradients_of_matrices_of_moving_points(name, target):
    f = pair(target, name)
    language(target).assert_gradients_of_moving_points(lambda *kernels: f(*kernels, **ONE))


@pytest.mark.parametrize(("name", "target"), table(["gelu", "elu", "hard_tanh", "sin", "erf"], DIFFERENTIABLE))
def test_functions_of_one_kernel_have_the_slope_of_their_formula(name, target):
    kernels = np.array([0.0, 1e-6, 0.02, 0.9, 7.0, 300.0])
    f = single(target, name)
    (found,) = language(target).slopes(lambda k: f(k, **NONE), kernels)
    exact = [float(KERNELS[name].diff(K).evalf(40, subs={K: sp.Float(k, 40)})) for k in kernels[1:]]
    np.testing.assert_allclose(found[1:], exact, rtol=2e-11, atol=1e-16)
    assert np.isfinite(found[0])
    (narrow,) = language(target).slopes(lambda k: f(k, **NONE), kernels, kind=np.float32)
    assert np.isfinite(narrow).all()


# ---- types, shapes and memory --------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", lanes(*ALL))
def test_types_and_shapes(target):
    tool, f = language(target), pair(target, "relu")
    assert tool.value(lambda: f(1.0, 1, np.float64(0.5), 1, 0, 0)).dtype == np.float64
    assert tool.value(lambda: f(1, 2, 0, 1, 0, 0)) == tool.value(lambda: f(1.0, 2.0, 0.0, 1.0, 0.0, 0.0))
    shapes = [np.full(shape, 0.5) for shape in ((2, 1), (3,), (), (4, 1, 1))]
    assert tool.value(f, *shapes, 0.0, 0.0).shape == (4, 2, 3)
    assert tool.value(f, np.zeros((0, 3)), 1.0, 0.0, **NONE).shape == (0, 3)
    constant = tool.load(kernel_map(K / 2)).kernel_map
    assert tool.value(constant, np.ones(5), 2.0, 0.0, np.zeros((3, 1))).shape == (3, 5)
    weights = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tool.value(constant, 2.0, weights, 0.5, 0.0), weights + 0.5, rtol=1e-15)
    whole = tool.value(f, *gram(12), **ONE)
    one_by_one = tool.value(f, *np.broadcast_arrays(*gram(12)), **ONE)
    np.testing.assert_allclose(one_by_one, whole, rtol=2e-15)
    stacked = tool.value(f, *(np.stack([a, 0.5 * a]) for a in gram(12)), **ONE)
    np.testing.assert_allclose(stacked[0], whole, rtol=2e-15)
    np.testing.assert_allclose(tool.value(f, *(a[0, 0] for a in gram(12)), **ONE), whole[0, 0], rtol=2e-15)


LAYOUTS = {
    "rows first": np.empty,
    "columns first": lambda shape: np.empty(shape[::-1]).T,
    "every other": lambda shape: np.empty((2 * shape[0], 3 * shape[1]))[::2, ::-3],
    "float32": lambda shape: np.empty(shape, dtype=np.float32),
    "big-endian": lambda shape: np.empty(shape, dtype=">f8"),
    "larger": lambda shape: np.empty((2, *shape)),
}


@pytest.mark.parametrize("target", lanes(*IN_PLACE))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_out_receives_the_result_whatever_its_layout(layout, target):
    f, given, out = pair(target, "gelu"), gram(70), LAYOUTS[layout]((70, 70))
    exact = f(*given, **ONE)
    assert f(*given, **ONE, out=out) is out
    tolerance = 1e-6 if out.dtype == np.float32 else 1e-15
    np.testing.assert_allclose(out, np.broadcast_to(exact, out.shape), rtol=tolerance)


@pytest.mark.parametrize("target", lanes(*IN_PLACE))
def test_out_may_be_an_argument_and_has_to_have_the_shape(target):
    f = pair(target, "erf")
    c = np.linspace(-1.0, 1.0, 100_000)
    exact = f(1.0, 1.0, c, **ONE)
    with pytest.raises(ValueError, match="broadcast"):
        f(1.0, 1.0, c, **ONE, out=np.empty(3))
    assert f(1.0, 1.0, c, **ONE, out=c) is c
    np.testing.assert_array_equal(c, exact)


# ---- modules alone -------------------------------------------------------------------------------------------------
ALONE = {  # what cannot be imported, what is imported
    "numpy": ("symres sympy mpmath flint torch jinja2", {"numpy", "math", "functools", "scipy"}),
    "torch": ("symres sympy scipy", {"torch", "math", "functools"}),
    "jax": ("symres sympy scipy.stats", {"jax", "jax.numpy"}),
    "numba": (
        "symres sympy mpmath scipy torch jinja2",
        {"numba", "numba.extending", "llvmlite", "numpy", "itertools", "math", "sys"},
    ),
}
SCRIPT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[2].split()))  # importing them fails
import importlib.util
spec = importlib.util.spec_from_file_location("generated", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(float(module.kernel_map(1.0, 2.0, 0.0, 0.0)))
if "jax" in sys.modules:
    print(sys.modules["jax"].config.jax_enable_x64)
"""


def test_every_language_that_is_a_python_module_is_imported_alone():
    assert {name for name in ALL if not targets.find(name).companion_endings} == set(ALONE)


@pytest.mark.parametrize("target", lanes(*ALONE))
def test_a_module_stands_alone(target, tmp_path):
    """That of JAX switches nothing on, and says what to do."""
    (forbidden, allowed), _ = ALONE[target], language(target)
    module = sr.export(kernel_map(KERNELS["relu"]), target)
    path = module.write(tmp_path / "relu.py")
    lines = [line for line in module.text.splitlines() if line.startswith(("import ", "from "))]
    assert {line.split()[1] for line in lines} <= allowed
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(path), forbidden], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1.0\nFalse\n" if target == "jax" else "1.0\n"), done.stderr
    assert target != "jax" or 'jax.config.update("jax_enable_x64", True)' in " ".join(module.text.split())


@pytest.mark.parametrize("target", lanes(*(name for name in ALL if name != REFERENCE)))
def test_stated_errors_are_those_of_this_code(target):
    module = sr.export(covariance_map(PAIRS["gelu"]), target)
    assert "measured on this code" in " ".join(module.text.replace("*", " ").split())
