"""Every operation that code may contain, as a function of its own in every language, against mpmath.

Functions of float32 where squares of kernels are not floats, but their values are; against formulas by hand.
"""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen import generate
from symres.codegen.planning.plan import Component
from symres.codegen.stable.primitives import Atan2
from symres.core.symbols import K1, K2, C
from symres.functions.companions import Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from symres.results.quantity import Quantity, Status
from tests.languages import ALL, DIFFERENTIABLE, lanes, language
from tests.oracles.average import average_of
from tests.oracles.closed_forms import PAIRS, in_50_digits
from tests.oracles.code_functions import MEANT
from tests.shared import Lazily, derived

a, b = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
SYMBOLS = (K1, K2, C, a, b)
S, R = sp.sqrt(1 + C**2), sp.Rational
OPERATIONS = [
    sp.Integer(3), R(-1, 3), sp.pi, sp.Integer(3) + 0 * C, sp.sqrt(2) * a, sp.E**2 * a, sp.pi * K1 * K2, C, -C, -a,
    a - C, -a - C, C - K1, K1 + K2, K1 + 2, K1 - K2 - C, 2 * (a + C), 2 * C + 2 * C**2, K1 * K2 * C * a, a * C / 3,
    -K1 * C / 7, C / K1, C / (a * K1), 1 / a, -1 / a, K1 / C, 1 / C, 1 / (C * K2), 3 * K1 * K2 / (1 + C), a**2, a**3,
    a**5, a**-2, C**3, C**7, C**-2, sp.sqrt(a), 1 / sp.sqrt(a), a ** R(3, 2), (a + 1) ** R(-5, 2),
    (1 + C**2) ** R(3, 2), (1 + C**2) ** R(-5, 2), a ** R(1, 3), (2 + C) ** R(1, 3), a**K1, (2 + C) ** K1,
    a / (1 + C**2) / (1 + K1), (a + C) * (K1 - C) / (K2 + 1), a * sp.sqrt(K1) * sp.sqrt(K2), (C - a) ** 2 * (C - a),
    -(C - a) / 2, (a - C / 2) - (K1 - 3 * C), 1 - (1 - (1 - a) ** 2) ** 2, C**2 * K1 + C**2 * K2 + C**2,
    (C + K1) * (C + K2) * (C + K1 + K2), S * (S + K1) / (1 + S), sp.exp(a) - sp.exp(-C), sp.log(a), sp.sin(b),
    sp.cos(b), sp.tan(b), a * sp.sinh(b), K1 + sp.cosh(b), sp.tanh(b), sp.asin(b / 4), sp.acos(b / 4), sp.atan(b),
    sp.asinh(b), sp.erf(b), sp.erfc(b), sp.Abs(b), sp.sign(b), sp.Max(C, K1, K2), sp.Min(C, b * K1),
    sp.Abs(C) - C * sp.Abs(C - K1), sp.exp(-(K1 + K2) / 2) * sp.sinh(C) * sp.erf(C) ** 2,
    sp.exp(C) * sp.erf(K1) * sp.sin(K2) - sp.exp(C), sp.asin(C / sp.sqrt((1 + K1) * (1 + K2))),
    (C**2 - 1) * sp.acos(C / 4) - (C**2 + 1) * sp.acos(C / 4) ** 2,
    K1 * b + sp.sqrt(K1 * K2 - C**2) * sp.atan(2 * C),  # operation 2 was taken for the number 2, and C*C for 2*C
    Atan2(C, a), Atan2(sp.sqrt(a), -C), Expm1(C), Log1p(a), Erfcx(a), ExpSinh(-a, C), ExpCosh(-a, C), ExpCoshm1(-a, C),
    Sigmoid(b), Softplus(b),
]  # fmt: skip
OPERATIONS += [K1 + e for e in OPERATIONS if e.free_symbols == {C}]  # in tiles of a matrix
NAMED = {name: meaning for head, meaning in MEANT.items() for name in (head.__name__, head.__name__.lower())}
LACKING = {"c": {Erfcx(a)}}
LANGUAGES = [name for name in ALL if name != "numba"]  # minutes to compile; C prints the same lines
# kernels of rows and of columns, covariances, numbers
MATRIX = [np.array([[0.4], [1.7]]), np.array([[0.3, 2.2, 1.0]])]
MATRIX += [np.array([[-0.3, 0.25, 0.5], [0.7, 1.5, -0.75]]), np.float64(1.75), np.float64(-0.5)]
ENTRIES = [np.array(a) for a in ([0.7, 1.2, 3.0], [1.1, 0.4, 2.0], [-0.2, 0.5, 1.9], [0.3, 1.3, 2.5], [-1.5, 0.3, 2.0])]


def plain(name, symbols, formula, *options, **more):
    """A component whose code is its formula as it stands."""
    return Component(name, symbols, formula, formula)


@pytest.mark.parametrize("target", lanes(*LANGUAGES, slow=["c"]))
def test_every_operation_is_spelled_right(target, monkeypatch):
    monkeypatch.setattr(generate, "build_component", plain)
    own = [e for e in OPERATIONS if e not in LACKING.get(target, ())]
    quantities = {f"f{n}": Quantity(f"f{n}", SYMBOLS, e, e, Status.EXACT) for n, e in enumerate(own)}
    module = language(target).load(quantities)
    assert len(module.__all__) == len(own)
    for n, operation in enumerate(own):
        exact = sp.lambdify(SYMBOLS, operation, [NAMED, "mpmath"])
        for arguments in (ENTRIES, MATRIX)[: 1 if target == "jax" else 2]:  # compiled for each shape
            kept = [a.copy() for a in arguments]
            found = language(target).value(getattr(module, f"f{n}"), *arguments)
            places = np.broadcast_arrays(*arguments)
            with mp.workdps(30):
                expected = [float(exact(*map(mp.mpf, place))) for place in zip(*(a.flat for a in places), strict=True)]
            np.testing.assert_allclose(found.ravel(), expected, rtol=4e-15, atol=1e-15, err_msg=str(operation))
            assert all(map(np.array_equal, arguments, kept))


TARGETS = lanes(*(name for name in ALL if "float32" in language(name).target.capabilities.dtypes))
KERNELS = [10.0**k for k in range(-36, 38, 6)]
COSINES = [0.0, 0.5, -0.5, 0.99]
NAMES = {"gelu": ("covariance_map", "ntk_map", "h", "chi_perp", "chi_parallel")}


def exported(formula, target):
    theory = derived(formula)
    quantities = {name: getattr(theory, name) for name in NAMES.get(formula, ("covariance_map",))}
    return sr.export(quantities, target=target).load()


MODULES = Lazily(lambda key: exported(*key))


def single(target, values):
    return language(target).array(values, np.float32)


def exactly(name, *kernels):
    """A pair kernel by its formula; kernels are numbers of float32."""
    numbers = dict(zip(("K1", "K2", "C"), map(float, kernels), strict=True))
    return float(mp.re(in_50_digits(PAIRS[name], **numbers)))  # equal kernels leave a rounded root of 0


def h_of_gelu(K):
    """<z gelu'(z) gelu''(z)>/(2 K)."""
    return average_of(lambda z: z * (mp.ncdf(z) + z * mp.npdf(z)) * mp.npdf(z) * (2 - z * z), K) / (2 * K)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", TARGETS)
def test_gelu_of_large_kernels(target):
    function = MODULES["gelu", target]
    K, C = single(target, [1e10]), single(target, [0.0])
    assert float(function.covariance_map(K, K, C, 1.0, 0.0)[0]) == pytest.approx(1.59154943e9, rel=1e-6)
    assert float(function.ntk_map(K, K, C, C, 1.0, 0.0)[0]) == pytest.approx(1.59154943e9, rel=1e-6)
    kernels = [1e9, 1e10, 1e13, 1e18]
    found = np.asarray(function.h(single(target, kernels), 1.0, 0.0))
    np.testing.assert_allclose(found, [float(h_of_gelu(mp.mpf(k))) for k in kernels], rtol=1e-5)
    large = single(target, [1e6, 1e13, 1e20, 1e30, 1e37])
    np.testing.assert_allclose(np.asarray(function.chi_perp(large, 1.0, 0.0)), 0.5, rtol=2e-4)  # that of relu
    np.testing.assert_allclose(np.asarray(function.chi_parallel(large, 1.0, 0.0)), 0.5, rtol=2e-4)


@pytest.mark.exhaustive
@pytest.mark.sample(1, every="target")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("formula", ["relu", "erf", "gelu"])
def test_pairs_of_all_kernels_that_are_floats(formula, target):
    rows = [(k1, k2, c) for k1 in KERNELS for k2 in KERNELS for c in COSINES]
    K1, K2, cosines = np.array(rows).T
    K1, K2 = (K.astype(np.float32) for K in (K1, K2))
    C = (np.sqrt(K1.astype(float)) * np.sqrt(K2.astype(float)) * cosines).astype(np.float32)
    expected = np.array([exactly(formula, *row) for row in zip(K1, K2, C, strict=True)])
    alone = {k: exactly(formula, k, k, k) for k in K1}
    largest = np.array([alone[a] ** 0.5 * alone[b] ** 0.5 for a, b in zip(K1, K2, strict=True)])
    fits = np.maximum(np.abs(expected), 1e-4 * largest) > 2e-38  # no float flushed to 0
    function = MODULES[formula, target].covariance_map
    found = np.asarray(function(*(single(target, a) for a in (K1, K2, C)), 1.0, 0.0), dtype=float)
    assert (np.abs(found - expected)[fits] <= 1e-5 * np.abs(expected)[fits] + 1e-6 * largest[fits]).all()
    matrix = MODULES[formula, target].covariance_map(  # in tiles, with some kernels in range and some beyond
        single(target, np.array(KERNELS)[:, None]), single(target, np.array(KERNELS)), single(target, [[0.0]]), 1.0, 0.0
    )
    np.testing.assert_allclose(np.asarray(matrix).ravel(), found[cosines == 0.0], rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("target", DIFFERENTIABLE)
def test_gradients_of_large_kernels(target):
    """dC'/dC of relu is (pi - angle)/(2*pi), at every size."""
    function = MODULES["relu", target].covariance_map
    for size in (1e-25, 1.0, 1e25):
        kernels = (size, size, 0.5 * size)
        slopes = language(target).slopes(lambda *k: function(*k, 1.0, 0.0), *kernels, kind=np.float32)
        assert float(slopes[2]) == pytest.approx(1 / 3, rel=1e-5)
