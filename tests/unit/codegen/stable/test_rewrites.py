"""Every stabilising rewrite is an identity, and keeps its digits at a point where the naive spelling loses them."""

import warnings

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.arrays.runtime.error_free import _restored
from symres.codegen.emission.emitter import Emitter
from symres.codegen.scalar.library.exponentials import restored as of_scalars
from symres.codegen.stable.correlation_form import restored
from symres.codegen.stable.primitives import Atan2, Restored
from symres.codegen.stable.rewrites import stabilise
from symres.codegen.targets.numpy import TARGET
from symres.codegen.targets.numpy.components import NUMPY
from symres.core.symbols import K1, K2, C, K, z
from symres.functions.companions import Erfc, Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from tests.shared import runtime

# formula, the stable function that must appear, hard point, the 40-digit value in mpmath's own words
RULES = [
    ((1 - sp.exp(-2 * K)) / 2, Expm1, {K: 1e-9}, lambda K: -mp.expm1(-2 * K) / 2),
    (K + sp.Rational(3, 8) - sp.exp(-2 * K) / 2 + sp.exp(-8 * K) / 8, Expm1, {K: 1e-9},
     lambda K: K - mp.expm1(-2 * K) / 2 + mp.expm1(-8 * K) / 8),
    (1 - sp.erf(K), sp.erfc, {K: 20.0}, lambda K: mp.erfc(K)),
    (sp.exp(2 * K) * sp.erfc(sp.sqrt(2 * K)), Erfcx, {K: 1e4}, lambda K: mp.exp(2 * K) * mp.erfc(mp.sqrt(2 * K))),
    (sp.exp(K / 2) * sp.erfc(sp.sqrt(2 * K)), Erfcx, {K: 450.0}, lambda K: mp.exp(K / 2) * mp.erfc(mp.sqrt(2 * K))),
    (sp.log(sp.erf(z / sp.sqrt(2)) / 2 + sp.Rational(1, 2)), Erfcx, {z: -60.0}, lambda z: mp.log(mp.ncdf(z))),
    (sp.exp(-(z**2) / 2) / (1 + sp.erf(z / sp.sqrt(2))), Erfcx, {z: -60.0},
     lambda z: mp.exp(-(z**2) / 2) / mp.ncdf(z) / 2),
    (sp.erfc(2 * z) / sp.erfc(z), Erfcx, {z: 15.0}, lambda z: mp.erfc(2 * z) / mp.erfc(z)),
    (sp.log(1 + K), Log1p, {K: 1e-12}, lambda K: mp.log1p(K)),
    (sp.log(1 + sp.exp(z)), Softplus, {z: 1000.0}, lambda z: z + mp.exp(-z)),
    (1 / (1 + sp.exp(-z)), Sigmoid, {z: -800.0}, lambda z: mp.exp(z) / (1 + mp.exp(z))),
    (z * sp.exp(-z) / (1 + sp.exp(-z)) ** 2, Sigmoid, {z: -700.0}, lambda z: z * mp.exp(z) / (1 + mp.exp(z)) ** 2),
    (K * sp.erf(z) / 2 + K / 2, Erfc, {K: 3.0, z: -9.0}, lambda K, z: K * mp.erfc(-z) / 2),
    (C - K * sp.erf(z) ** 2 + K, Erfc, {K: 3.0, z: -9.0, C: 0.0}, lambda K, z, C: K * mp.erfc(z) * mp.erfc(-z)),
    (C + K - K * sp.tanh(z), Sigmoid, {K: 3.0, z: 30.0, C: 0.0}, lambda K, z, C: 2 * K / (1 + mp.exp(2 * z))),
    (1 - sp.tanh(z) ** 2, Sigmoid, {z: -20.0}, lambda z: mp.sech(z) ** 2),
    (2 * K * sp.tanh(z) ** 3 - 2 * K * sp.tanh(z) + C, Sigmoid, {K: 3.0, z: 20.0, C: 1e-17},
     lambda K, z, C: C - 2 * K * mp.tanh(z) * mp.sech(z) ** 2),
    (sp.exp(-(K1 + K2) / 2) * sp.sinh(C), ExpSinh, {K1: 2000.0, K2: 2000.0, C: 2000.0},
     lambda K1, K2, C: -mp.expm1(-2 * C) / 2),
    (sp.exp(-K1) * sp.sinh(C), ExpSinh, {K1: 1.0, C: -1e-9}, lambda K1, C: mp.exp(-K1) * mp.sinh(C)),
    (sp.exp(-(K1 + K2) / 2) * sp.cosh(C), ExpCosh, {K1: 2000.0, K2: 2000.0, C: -2000.0},
     lambda K1, K2, C: mp.mpf(1) / 2),
    ((1 - sp.exp(-2 * K1) - sp.exp(-2 * K2) + sp.exp(-2 * (K1 + K2)) * sp.cosh(4 * C)) / 4, ExpCoshm1,
     {K1: 1e-8, K2: 1e-6, C: 1e-9},
     lambda K1, K2, C: (mp.expm1(-2 * K1) * mp.expm1(-2 * K2) + 2 * mp.exp(-2 * K1 - 2 * K2) * mp.sinh(2 * C)**2) / 4),
    (sp.exp(K1 * z) - sp.exp(K2 * z), ExpSinh, {K1: 1.0, K2: 1 + 1e-9, z: 3.0},
     lambda K1, K2, z: mp.exp(K1 * z) * -mp.expm1((K2 - K1) * z)),
    (C + K * sp.cos(K1 * z) - K * sp.cos(K2 * z), sp.sin, {C: 0.0, K: 2.0, K1: 1.0, K2: 1 + 1e-9, z: 3.0},
     lambda C, K, K1, K2, z: -2 * K * mp.sin((K1 + K2) * z / 2) * mp.sin((K1 - K2) * z / 2)),
    (sp.sin(K1) - sp.sin(K2), sp.cos, {K1: 1.0, K2: 1 + 1e-9},
     lambda K1, K2: 2 * mp.cos((K1 + K2) / 2) * mp.sin((K1 - K2) / 2)),
    (K - K * sp.cos(z), sp.sin, {K: 3.0, z: 1e-7}, lambda K, z: 2 * K * mp.sin(z / 2) ** 2),
    (K + K * sp.cos(z), sp.cos, {K: 3.0, z: 3.141592}, lambda K, z: 2 * K * mp.cos(z / 2) ** 2),
    (3 - 2 * sp.cos(z) - 1, sp.sin, {z: 1e-7}, lambda z: 4 * mp.sin(z / 2) ** 2),
    (K * sp.log(1 + sp.exp(z)) - K * sp.log(2), Log1p, {K: 3.0, z: 1e-9},
     lambda K, z: K * mp.log1p(mp.expm1(z) / 2)),
    (sp.log(1 + sp.exp(z + 1)) - sp.log(1 + sp.E), Log1p, {z: -1e-9},
     lambda z: mp.log1p(mp.expm1(z) * mp.e / (1 + mp.e))),
    (sp.log(sp.cosh(z)), Log1p, {z: 1e-6}, lambda z: mp.log1p(2 * mp.sinh(z / 2) ** 2)),
    (sp.log(sp.cosh(K * z) / 3), Log1p, {K: 2.0, z: -1e3}, lambda K, z: mp.log(mp.cosh(K * z) / 3)),
    (z * (sp.sqrt(1 + z**2) - 1), sp.Pow, {z: 1e-7}, lambda z: z**3 / (mp.sqrt(1 + z**2) + 1)),
    (C + 2 - sp.sqrt(2) * sp.sqrt(2 + z**4), sp.Pow, {C: 0.0, z: 1e-3},
     lambda C, z: C - mp.sqrt(2) * z**4 / (mp.sqrt(2 + z**4) + mp.sqrt(2))),
    (sp.asin(K / (1 + K)), Atan2, {K: 1e8}, lambda K: mp.asin(K / (1 + K))),
    (sp.acos(K / (1 + K)), Atan2, {K: 1.0}, lambda K: mp.acos(K / (1 + K))),
]  # fmt: skip


def in_floats(expr, point):
    names = {s: str(s) for s in point}
    lines = Emitter(NUMPY, names).function([("return", expr)])
    space = runtime(TARGET, *lines) | {str(s): np.float64(v) for s, v in point.items()}
    exec("\n".join(["def f():", *(f"    {line}" for line in lines)]), space)
    return float(space["f"]())


EASY = [r for r in RULES if r[1] is Sigmoid and not r[0].has(z * sp.exp(-z))]  # 1/(1 + exp(800)) is 0 and only warns
EASY += [r for r in RULES if r[0].has(sp.acos) or r[2].get(C) == -1e-9]  # spelling, for company


@pytest.mark.parametrize("rule", RULES, ids=[str(r[0]) for r in RULES])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid", "ignore:divide")
def test_a_rewrite_is_an_identity_that_keeps_its_digits_where_the_formula_loses_them(rule):
    """At its hard point the formula as it stands is off by 1e-13 or not even a number: that keeps the table honest."""
    formula, function, hard, oracle = rule
    stable = stabilise(formula)
    assert stable.has(function)
    with mp.workdps(60):
        exact = float(oracle(**{str(s): mp.mpf(v) for s, v in hard.items()}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_floats(stable, hard) == pytest.approx(exact, rel=5e-16, abs=0)
    assert rule in EASY or not abs(in_floats(formula, hard) - exact) <= 1e-13 * abs(exact)
    for values in ({K: 0.7, z: -0.4, K1: 1.3, K2: 0.6, C: -0.5}, {K: 2.9, z: 1.6, K1: 0.2, K2: 1.9, C: 0.4}):
        point = {s: v for s, v in values.items() if formula.has(s)}
        exact = float(formula.evalf(30, subs={s: sp.Float(v, 30) for s, v in point.items()}))
        assert in_floats(stable, point) == pytest.approx(exact, rel=1e-15, abs=0)


LEFT_ALONE = [
    *(K / (1 + 2 * K) ** sp.Rational(3, 2), sp.exp(-K) + K, 2 + sp.exp(-K), sp.exp(K) * sp.sin(K)),
    # constants become floats, and only sympy's own functions have numbers for that
    *(K + n for n in (sp.exp(sp.tanh(2)) - sp.exp(-sp.tanh(2)), sp.exp(2) - 1, sp.cos(2) - 1)),
    # log(a cosh(z)) is log(a) + log(cosh(z)) for a > 0 only
    *(sp.log(a * sp.cosh(z)) for a in (-sp.Symbol("a", positive=True), sp.Symbol("a", real=True))),
]


@pytest.mark.parametrize("formula", LEFT_ALONE, ids=str)
def test_other_formulas_are_left_alone(formula):
    assert stabilise(formula) == formula


@pytest.mark.parametrize("place", [0.3, 0.99, 1.0, 1.01, 3.0, 700.0, 1e5])
def test_logarithms_of_hyperbolic_cosines_on_both_sides_of_their_joint(place):
    code = stabilise(sp.log(sp.cosh(z)))
    code = code.replace(Log1p, lambda u: sp.log(1 + u)).replace(Expm1, lambda u: sp.exp(u) - 1)
    for side in (-1, 1):
        value = code.subs(z, sp.Rational(side * place)).evalf(25)
        with mp.workdps(30):
            u = mp.mpf(place)
            assert abs(mp.mpf(str(value)) - (u + mp.log((1 + mp.exp(-2 * u)) / 2))) < 1e-18 * u


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "small", [(sp.cosh(z) - 1) * sp.exp(z), sp.tanh(z) ** 2 * sp.exp(-z), (sp.sqrt(1 + z**2) - 1) * sp.exp(z)]
)
def test_digits_next_to_a_logarithm_of_1_survive_exponentials(small):
    """<log(1 + small)> at K = 1e-8, where the second term is of that size: as accurate as without exponentials."""
    quantity = sr.expect(sr.Activation("f", sp.log(1 + small)))
    assert float(sr.export(quantity).load().expect(1e-8)) == pytest.approx(
        float(quantity.evalf(15, K="1e-8")), rel=1e-13
    )


@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("formula", ["cos(z)", "snake"])
def test_constants_of_stable_functions_are_numbers(formula, target):
    """1 - exp(-2) is a number before anything rewrites it: the variance behind a LayerNorm is 1."""
    theory = sr.derive(sr.pre_ln(formula))
    for quantity in (theory.chi_perp, theory.h):
        values = {s.name: 0.7 for s in quantity.symbols}
        found = float(getattr(sr.export(quantity, target).load(), quantity.name)(**values))
        assert found == pytest.approx(float(quantity.evalf(17, **values)), rel=1e-15)


# ---- exponentials of sums keep the digits that rounding of their exponents costs ----------------------------------
SUMS = [
    (1151.6088178948328, 1.1817029625419155e-07, 0.0036),
    (496.26589237, 413.67242847, 2.5e-6),
    (300.1, 17.3, -0.7),
]


def test_sums_of_exponentials_are_hyperbolic():
    found = restored(sp.exp(C - K1 / 2 - K2 / 2) / 2 + sp.exp(-C - K1 / 2 - K2 / 2) / 2)
    (cosh,) = found.atoms(ExpCosh)
    assert found.func is Restored
    assert cosh.args[0] == -K1 / 2 - K2 / 2


@pytest.mark.parametrize("function", [_restored, of_scalars])
@pytest.mark.parametrize("point", SUMS)
def test_a_value_is_restored(function, point):
    k1, k2, c = point
    with mp.workdps(40):
        exponent = (-0.5 * k1 - 0.5 * k2) + abs(c)
        rounded = float(mp.exp(exponent))
        exact = mp.exp(-(mp.mpf(k1) + k2) / 2 + abs(mp.mpf(c)))
        found = function(np.float64(rounded), np.float64(-0.5 * k1), np.float64(-0.5 * k2), np.float64(c))
        assert abs(mp.mpf(float(found)) / exact - 1) < 4e-16


@pytest.mark.parametrize("point", SUMS)
def test_the_kernel_of_sin_has_all_digits(point):
    function = sr.export(sr.expect2("sin", "sin")).load().expect2
    k1, k2, c = map(mp.mpf, point)
    with mp.workdps(40):
        exact = mp.exp(-(k1 + k2) / 2) * mp.sinh(c)
        assert abs(mp.mpf(float(function(*point))) / exact - 1) < 5e-16
