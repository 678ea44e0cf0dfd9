"""The search for kernels and parameters at which terms cancel, and what code for all languages makes of it."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen import targets
from symres.codegen.planning.plan import Component
from symres.codegen.stable.angles import angle_form
from symres.codegen.stable.correlation_form import in_determinant_form
from symres.codegen.stable.rounding_error import doubt
from symres.codegen.strategy.cancellation import HARMLESS, is_harmless, largest_share, steadiest
from symres.core.symbols import K1, K2, C, K

NUMPY = targets.find("numpy")
EPSILON = 2.0**-52
a, b = sp.symbols("a b", real=True)
S, THETA = sp.sqrt(K1 * K2 - C**2), sp.asin(C / (sp.sqrt(K1) * sp.sqrt(K2)))
BENT = C * (a + 1) ** 2 / 4 + (a - 1) ** 2 * (C * THETA + S) / (2 * sp.pi)
SLANTED = C * a**2 + 2 * b**2 * (C * THETA + S) / sp.pi  # of a*z + b*abs(z)
SQUARES = (2 * C**2 + K1 * K2) * (a + 1) ** 2 / 4 + (a - 1) ** 2 * (
    3 * C * S + (2 * C**2 + K1 * K2) * THETA
) / 2 / sp.pi


def component(formula, *parameters):
    form = angle_form(formula, (K1, C, K2))
    return Component("_average_1", (K1, K2, C, *parameters), formula, in_determinant_form(form.stable()), form)


@pytest.mark.parametrize(("formula", "parameters"), [(BENT, (a,)), (SLANTED, (a, b))])
def test_angles_are_counted_from_where_nothing_cancels(formula, parameters):
    found = steadiest(component(formula, *parameters), NUMPY)
    assert [angle.shift for angle in found.form.angles] == [1]
    assert largest_share(found, NUMPY) < 40 and is_harmless(found, NUMPY)


@pytest.mark.parametrize("shift", [0, -1])
def test_terms_that_cancel_at_one_slope_and_one_correlation_are_found(shift):
    """Only a = 0 and C**2 = K1*K2 together do it; the search has no such point to begin with."""
    positive = sp.Symbol("a", positive=True)
    whole = component(BENT.subs(a, positive), positive)
    form = whole.form.counted_from([shift])
    other = Component(whole.name, whole.symbols, whole.formula, in_determinant_form(form.stable()), form)
    assert largest_share(other, NUMPY) > 1e6 * HARMLESS


def test_what_cancels_however_angles_are_counted_is_not_harmless():
    assert not is_harmless(steadiest(component(SQUARES, a), NUMPY), NUMPY)


def test_of_one_kernel():
    code = K * a - K * b + K
    assert not is_harmless(Component("_average_1", (K, a, b), code, code), NUMPY)
    code = K * a**2 + K
    assert is_harmless(Component("_average_1", (K, a), code, code), NUMPY)


def test_the_bound_of_an_angular_sum_holds_and_is_no_larger_than_need_be():
    found = steadiest(component(BENT, a), NUMPY)
    bound = NUMPY.run(Component("_average_1", found.symbols, found.formula, doubt(found.code)))
    rng = np.random.default_rng(2)
    k1, k2 = 10 ** rng.uniform(-8, 4, (2, 400))
    rho = rng.choice([-1, 1], 400) * (1 - 10 ** -rng.uniform(0, 15, 400))
    slope = rng.choice([0.0, 1e-9, -0.3, 0.9, 1.0, -1.0, 2.5], 400)
    c = rho * np.sqrt(k1) * np.sqrt(k2)
    values, allowed = NUMPY.run(found)(k1, k2, c, slope), bound(k1, k2, c, slope) * EPSILON / 2
    for point, value, most in zip(zip(k1, k2, c, slope, strict=True), values, allowed, strict=True):
        exact, scale = exact_bent(*point)
        assert abs(mp.mpf(float(value)) - exact) <= most
        assert most <= 40 * EPSILON * scale


def exact_bent(k1, k2, c, slope):
    """The covariance map of a bent line, by hand, and max(|F|, |C dF/dC|)."""
    with mp.workdps(60):
        k1, k2, c, slope = map(mp.mpf, map(float, (k1, k2, c, slope)))
        ratio = max(mp.mpf(-1), min(mp.mpf(1), c / mp.sqrt(k1 * k2)))
        straight, bent = (1 + slope) ** 2 / 4, (1 - slope) ** 2 / (2 * mp.pi)
        value = c * straight + bent * (c * mp.asin(ratio) + mp.sqrt(max(k1 * k2 - c * c, mp.mpf(0))))
        return value, max(abs(value), abs(c * (straight + bent * mp.asin(ratio))))


@pytest.fixture(scope="module")
def theory():
    slope = sp.Symbol("slope", real=True)
    return sr.derive(sr.mlp(sr.Activation("bent", sp.Max(sr.z, 0) + slope * sp.Min(sr.z, 0), parameters=(slope,))))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "target", ["numpy", "c", "torch", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("jax", "numba"))]
)
def test_kernels_of_a_bent_line_with_any_slope(theory, target):
    """Four units in the last place, wherever slopes make terms cancel: in every language, without an average."""
    module = sr.export(theory.covariance_map, target=target)
    assert "_mended" not in module.text and not module.missing
    rng, count = np.random.default_rng(7), 24
    with targets.find(target).in_double_precision():
        covariance_map = module.load().covariance_map
        for slope in (-3.0, -1.0, -1 + 1e-9, -1e-5, -1e-16, 0.0, 1e-12, 0.5, 1 - 1e-9, 1.0, 1 + 1e-15, 3.0):
            k1 = 10 ** rng.uniform(-8, 4, count)
            k2 = np.where(rng.random(count) < 0.5, k1, 10 ** rng.uniform(-8, 4, count))
            rho = rng.choice([-1, 1], count) * (1 - 10 ** -rng.uniform(0, 16.5, count))
            c = rho * np.sqrt(k1) * np.sqrt(k2)
            values = np.asarray(covariance_map(*given(target, k1, k2, c), 1.0, 0.0, slope))
            for value, *point in zip(values, k1, k2, c, strict=True):
                exact, scale = exact_bent(*point, slope)
                rounded = abs(point[2]) >= (1 - 1e-15) * np.sqrt(point[0]) * np.sqrt(point[1])  # C may be too large
                assert abs(mp.mpf(float(value)) - exact) <= (8 if rounded else 4) * EPSILON * scale


def test_slopes_along_an_axis_of_their_own(theory):
    covariance_map = sr.export(theory.covariance_map, target="numpy").load().covariance_map
    slopes, c = np.array([[-0.5], [0.25], [2.0]]), np.array([-1.0, -0.9, 0.4])
    exact = [[float(exact_bent(1.0, 1.0, x, slope)[0]) for x in c] for (slope,) in slopes]
    assert covariance_map(1.0, 1.0, c, 1.0, 0.0, slopes) == pytest.approx(np.array(exact), rel=1e-14)
    assert covariance_map(1.0, 1.0, -0.9, 1.0, 0.0, slopes)[:, 0] == pytest.approx(np.array(exact)[:, 1], rel=1e-14)


def given(target, *arrays):
    """Arrays as a language takes them."""
    if target == "torch":
        import torch

        return tuple(map(torch.tensor, arrays))
    return arrays


@pytest.mark.exhaustive
def test_what_no_language_but_two_mends_says_so():
    slope = sp.Symbol("slope", real=True)
    growing = sr.Activation("growing", sp.exp(slope * sr.z) - 1, parameters=(slope,))
    mended, plain = (sr.export(sr.derive(sr.mlp(growing)).covariance_map, target=t) for t in ("numpy", "c"))
    assert "_mended" in mended.text
    assert any("of the largest value) with slope = 1/12" in warning for warning in plain.warnings)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_wave_that_begins_at_0_keeps_its_digits(target):
    """The kernel of cos(slope*z) - 1 in terms of exp(a)*(cosh(b) - 1), a function of two arguments."""
    slope = sp.Symbol("slope", real=True)
    quantity = sr.derive(sr.mlp(sr.Activation("wave", sp.cos(slope * sr.z) - 1, parameters=(slope,)))).covariance_map
    function = sr.export(quantity, target=target).load().covariance_map
    for k, c in ((1e-4, 3e-5), (0.1, 0.05), (2.0, -1.5)):
        with mp.workdps(40):  # by hand, of <cos(u) cos(v)> = exp(-(u**2 + v**2)/2)*cosh(uv) for the variances
            square, both = (mp.mpf(9) / 16 * mp.mpf(x) for x in (k, c))
            exact = mp.exp(-square) * mp.cosh(both) - 2 * mp.exp(-square / 2) + 1
        assert float(np.asarray(function(*(np.array([x]) for x in (k, k, c)), 1.0, 0.0, 0.75))[0]) == pytest.approx(
            float(exact), rel=1e-12
        )
