"""Modules of averages far out and where functions jump, in every language.

Where growth ends, tails that parameters and means decide; gradients of pair kernels of functions that jump, against
differences of the average itself.
"""

import math
import warnings
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.stable.rewrites import stabilise
from symres.core.symbols import K, z
from symres.functions.companions import ScaledTail
from tests.languages import ALL, language

A, B = sp.Symbol("a", real=True), sp.Symbol("b", real=True)
STEEP = sp.Symbol("c", positive=True)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_where_growth_ends_is_said(target):
    f = sr.Activation("f", sp.exp(A * z) * sp.tanh(z), (A,))
    module = sr.export(sr.expect(f(z) ** 2), target=target)
    text = " ".join(module.text.split())
    assert "finite from K = 0 to 120, nan beyond with parameters of 3/4." in text
    assert "with a = 12; at most" in text and "for kernels up to 0.38 with a = -12" in text
    assert "up to 10000 with a = 1/12" in text
    assert module.warnings and "nan beyond kernels of 120 with parameters of 3/4" in module.warnings[0]
    function = module.load().expect
    assert math.isfinite(language(target).value(function, 1e3, 0.01))
    assert math.isnan(language(target).value(function, 1e3, -12.0))


# ---- tails of unknown sign ---------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_tail_is_finite_for_either_sign_of_a_parameter(target):
    f = sr.Activation("f", sp.exp(-A * sp.Abs(z)), (A,))
    first, second = sr.expect(f), sr.expect(f(z) ** 2)
    slope = sr.derivative(second, "K")
    for quantity, tolerance in ((first, 1e-15), (second, 1e-15), (slope, 1e-11)):
        module = sr.export(quantity, target=target)
        assert not module.warnings
        function = getattr(module.load(), quantity.name)
        for k, a in ((8060, 0.75), (100, 12), (1, -12), (50, -1), (9, -1), (1, 0.75), (2, 0)):
            exact = float(quantity.evalf(17, K=sp.Rational(k), a=sp.Rational(a)))
            found = float(language(target).value(function, k, a))
            assert found == pytest.approx(exact, rel=tolerance, abs=1e-300)


@pytest.mark.exhaustive
def test_gradients_of_a_tail_of_unknown_sign():
    f = sr.Activation("f", sp.exp(-A * sp.Abs(z)), (A,))
    quantity = sr.expect(f)
    function = sr.export(quantity, target="torch").load().expect
    for k, a in ((100.0, 12.0), (3.0, -1.0), (2.0, 0.5)):
        at = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (k, a)]
        function(*at).backward()
        for tensor, symbol in zip(at, (K, A), strict=True):
            exact = float(sp.N(quantity.expr.diff(symbol).subs({K: sp.Rational(k), A: sp.Rational(a)}), 17))
            assert float(tensor.grad) == pytest.approx(exact, rel=1e-10)


def test_the_exponent_of_a_tail_is_a_difference_of_symbols():
    w = A * sp.sqrt(K / 2) + B
    assert stabilise(sp.exp(w**2 + A) * sp.erfc(w)) == ScaledTail(w**2 + A, sp.expand(A), w)


# ---- places of change that a parameter takes away ---------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_function_that_is_constant_with_some_parameters_has_no_place(target):
    f = sr.Activation("f", sp.erf(A * z + B), (A, B))
    quantity = sr.expect2(f, "step(z-1)")
    function = sr.export(quantity, target=target).load().expect2
    tail = float(mp.ncdf(-1))
    for a, b in ((0.0, 0.3), (0.0, 0.0), (12.0, -0.3)):
        at = (1.0, 1.0, 0.5, a, b)
        exact = float(quantity.evalf(15, K1=1, K2=1, C="1/2", a=a, b=b)) if a else math.erf(b) * tail
        found = float(language(target).value(function, *at))
        assert found == pytest.approx(exact, abs=1e-16, rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kernel", [1e2, 1e4])
def test_a_double_exponential_has_its_gradients_at_every_kernel(kernel):
    """exp(u)*exp(-exp(u)) decays on both sides, though one of its factors grows."""
    f = sr.Activation("f", sp.exp(-sp.exp(STEEP * (z - B))), (STEEP, B))
    at = {"K": kernel, "c": 0.75, "b": 0.5}
    tensors = {name: torch.tensor(v, dtype=torch.float64).requires_grad_() for name, v in at.items()}
    sr.export(sr.expect(f), "torch").load().expect(**tensors).backward()

    def value(k, c, b):
        width = mp.sqrt(k)
        edges = [-12, *((b + mp.mpf(j) / c) / width for j in (-60, -20, -8, -3, 0, 1, 3, 6)), 12]
        return mp.quad(lambda x: mp.exp(-mp.exp(c * (x * width - b))) * mp.npdf(x), edges)

    for tensor, place in zip(tensors.values(), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        with mp.workdps(30):
            exact = float(mp.diff(value, tuple(at.values()), place))
        assert float(tensor.grad) == pytest.approx(exact, rel=1e-11)


ISSUE = [(1, 1, 0.5, -8, -8), (1, 1, 0.5, -10, -10), (1, 1, -0.5, -20, 3), (1, 1, 0.3, -37, 0)]
TAILS = [(1, 1, rho, a, b) for rho in (0.9, 0.3, -0.5) for a, b in ((-6, -6), (-15, 2), (4, -25), (-1, 5), (30, 30))]
EDGES = [
    (1, 1, 1, 0.75, -0.75),
    (1, 1, 1, 0.75, 0.75),
    (1, 1, -1, 0.75, 0.75),
    (1, 4, 2, 0.3, 0.6),
    (0, 1, 0, -0.5, 0.5),
]
PARTS = {  # f(z) for z >= 0 and its average over a normal variable with mean m and deviation s
    "step": (lambda z: mp.mpf(1), lambda m, s: mp.ncdf(m / s)),
    "relu": (lambda z: z, lambda m, s: m * mp.ncdf(m / s) + s * mp.npdf(m / s)),
}


@cache
def exact(name: str, k1: float, k2: float, c: float, a: float, b: float) -> mp.mpf:
    """<f(a + z1) f(b + z2)> by quadrature over z1 of the average over z2."""
    f, average = PARTS[name]
    with mp.workdps(40):
        k1, k2, c, a, b = map(mp.mpf, (k1, k2, c, a, b))
        if k1 == 0:
            return f(a) * average(b, mp.sqrt(k2)) if a > 0 else mp.mpf(0)
        spread, deviation = mp.sqrt(k2 - c * c / k1), mp.sqrt(k1)

        def integrand(x):
            mean = b + c / deviation * x
            inner = average(mean, spread) if spread else (f(mean) if mean > 0 else mp.mpf(0))
            return f(a + deviation * x) * inner * mp.npdf(x)

        low = -a / deviation
        zero = [-b * deviation / c] if c else []
        peak = [-b * c / (k2 * deviation)]
        steps = [
            p + d
            for p in (low, *zero, *peak, 0)
            for d in (-40, -20, -8, -4, -2, -1, -0.3, 0, 0.01, 0.05, 0.3, 1, 2, 4, 8, 20, 40)
        ]
        return mp.quad(integrand, [low, *sorted(x for x in steps if x > low)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("name", ["step", "relu"])
def test_tails_keep_their_digits_or_are_no_numbers(name, target):
    function = language(target).load(sr.expect2(name, name, means=(A, B))).expect2
    for point in (*ISSUE, *TAILS, *EDGES):
        value, truth = float(language(target).value(function, *point)), exact(name, *point)
        if math.isnan(value):
            assert point in TAILS and truth < 1e-100, point  # six digits are lost in the deepest corners only
        elif truth > 1e-290:
            assert abs(value - truth) <= 1e-7 * truth, point
        else:
            assert abs(value) < 1e-280, point


@pytest.mark.exhaustive
def test_numbers_of_averages_where_inputs_are_parallel():
    """Sympy lets erf(zoo) - erf(zoo) cancel: the poles are seen before."""
    for name in PARTS:
        quantity = sr.expect2(name, name, means=(A, B))
        for k1, k2, c, a, b in EDGES[:4]:
            values = dict(zip(("K1", "K2", "C", "a", "b"), map(sp.Rational, map(str, (k1, k2, c, a, b))), strict=True))
            assert quantity.evalf(15, **values) == pytest.approx(float(exact(name, k1, k2, c, a, b)), rel=1e-12)


def test_ranges_of_parameters_are_in_the_first_paragraph():
    for target in ("numpy", "c"):
        text = sr.export(sr.expect("relu", mean=A), target=target).text
        paragraphs = [" ".join(part.split()) for part in text.replace("\n *", "\n").split("\n\n")]
        stated = "Gaussian average of relu. Right to six digits, as measured, for a in -1e+06..1e+06."
        assert any(part.endswith(stated) for part in paragraphs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["c", "jax"])
def test_languages_that_integrate_nothing_have_fixed_sums_with_means(target):
    """The closed form of hard_tanh with means loses digits where its terms cancel; its sums do not."""
    quantity = sr.expect2("hard_tanh", "hard_tanh", means=(A, B))
    assert quantity.status is sr.Status.EXACT
    average = language(target).load(quantity).expect2
    for at in ((1, 1, 0.5, 0.75, -0.5), (0.3, 2.0, -0.6, 3.0, 0.1), (9.0, 4.0, 5.9, -2.0, 1.0)):
        values = dict(zip(("K1", "K2", "C", "a", "b"), map(sp.Rational, map(str, at)), strict=True))
        assert language(target).value(average, *at) == pytest.approx(float(quantity.evalf(15, **values)), abs=1e-13)


@pytest.mark.exhaustive
def test_derivatives_that_are_lacking_are_errors_of_symres():
    softsign = sr.export(sr.expect2("softsign", "softsign"), target="torch").load().expect2
    place, one = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (1.3, 1.0))
    slope = softsign(place, one, 0.4 * one)
    with pytest.raises(sr.SymresError, match="take fewer derivatives"):
        for _ in range(2):
            (slope,) = torch.autograd.grad(slope, place, create_graph=True)


POINTS = [("1", "1.5", "0.4"), ("1", "1", "0.9"), ("0.2", "3", "-0.6")]
FORMULAS = [
    "step(z-1)",
    "step(z-1)-step(-z-2)",
    "where(abs(z)<1,z,sign(z)*2)",
    "where(abs(z)>1,z,0)",
    "step(z)*exp(-z)",
    "sign(z-1)*tanh(z)",
]


def differences(quantity, point, place, step="1e-5"):
    """The derivative in one argument: Richardson's step from central differences of 40 digits."""
    with mp.workdps(40):
        values, h = dict(zip(("K1", "K2", "C"), map(mp.mpf, point), strict=True)), mp.mpf(step)
        name, centre = [*values.items()][place]

        def central(h):
            above, below = (quantity.evalf(35, **{**values, name: centre + s * h}) for s in (1, -1))
            return (above - below) / (2 * h)

        return float((4 * central(h) - central(2 * h)) / 3)


def gradients(names, point):
    """Of the average of two functions, in K1, K2 and C."""
    return language("torch").slopes(sr.export(sr.expect2(*names), "torch").load().expect2, *map(float, point))


@pytest.mark.exhaustive
@pytest.mark.parametrize("names", [*((f, f) for f in FORMULAS), ("step(z-1)", "tanh(z)")])
def test_gradients_of_functions_that_jump(names):
    for point in POINTS:
        expected = [differences(sr.expect2(*names), point, place) for place in range(3)]
        scale = max(map(abs, expected))
        assert gradients(names, point) == pytest.approx(expected, abs=1e-11 * scale, rel=0)
    assert names[0] != "step(z-1)" or all(map(math.isfinite, gradients(names, (1, 1, 1))))


JUMPS = {  # functions that jump at 1 and -1, and the squares of what they jump by
    "step(z-1)*exp(-z)": (math.exp(-2), 0),
    "step(z-1)": (1, 0),
    "where(z<1,-1,2)": (9, 0),
    "where(abs(z)<1,0,1)": (1, 1),
    "where(z<1,0,z)": (1, 0),
    "where(abs(z)>1,z,0)": (1, 1),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["torch", "jax"])
@pytest.mark.parametrize("name", JUMPS)
def test_gradients_where_two_jumps_meet_fit_together(name, target):
    """Each diverges and is cut off; along kernels that grow together they cancel, and next to them they are right."""
    quantity, square = sr.expect2(name, name), sr.derivative(sr.expect(f"({name})^2"), "K")
    function = language(target).load(quantity).expect2
    for k in (1.0, 0.5):
        first, second, both = language(target).slopes(function, k, k, k)
        density = math.exp(-0.5 / k) / (2 * math.pi * k * 1e-6)  # of both jumps, at K1*K2 - C**2 = 1e-12*K1*K2
        assert both == pytest.approx(sum(JUMPS[name]) * density, rel=1e-4)
        assert first + second + both == pytest.approx(float(square.evalf(15, K=k)), abs=1e-9 * both)
        near = (k, k, k * (1 - 2.0**-29))
        for place, slope in enumerate(language(target).slopes(function, *near)):
            assert slope == pytest.approx(differences(quantity, near, place, "1e-15"), rel=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["torch", "jax"])
def test_derivatives_in_a_parameter_that_moves_jumps_have_seven_digits_where_they_meet(target):
    """For equal inputs it is that of <f**2>: less both densities times the square of what is jumped over."""
    function = language(target).load(sr.derive("hardshrink").covariance_map).covariance_map
    slopes = language(target).slopes(lambda k1, k2, c, t: function(k1, k2, c, 1.0, 0.0, t), 1.0, 1.0, 1.0, 0.5)
    expected = -2 * 0.5**2 * math.exp(-(0.5**2) / 2) / math.sqrt(2 * math.pi)
    assert float(slopes[3]) == pytest.approx(expected, rel=3e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("names", "target", "said"),
    [
        (("sign(z-1)*tanh(z)",) * 2, "torch", True),
        (("sign(z-1)*tanh(z)",) * 2, "numpy", False),
        (("sign(z-1)*tanh(z)", "tanh(z)"), "torch", False),  # jumps of both functions have to meet
        (("tanh", "tanh"), "torch", False),
    ],
)
def test_where_gradients_are_cut_off_is_said(names, target, said):
    text = " ".join(sr.export(sr.expect2(*names), target).text.split())
    assert ("within 1e-12 of K1*K2 they are cut off" in text) == ("they are cut off" in text) == said


# pairs, and in what their average is differentiated
SLOPES = [
    (("sign", "where(z<1,0,z)"), "K2"),  # closed, with exp(-x/determinant)/sqrt(determinant)
    (("tanh", "where(z<1,0,z)"), "C"),  # an average given one input
    (("where(z<-1,z+2,where(z<2,tanh(z),1))", "step"), "K1"),
]
ENDS = [(0.7, 0.7, 0.7), (1.0, 4.0, 2.0), (1.0, 4.0, -2.0), (1.5, 2.0, 0.7), (0.3, 30.0, 0.1), (3.0, 3.0, 3 - 3e-9)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize(("names", "symbol"), SLOPES)
def test_slopes_of_functions_that_jump_have_values_also_for_parallel_inputs(names, symbol, target):
    slope = sr.derivative(sr.expect2(*names), symbol)
    function = getattr(sr.export(slope, target).load(), slope.name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in ENDS:
            true = float(slope.evalf(20, **dict(zip(("K1", "K2", "C"), point, strict=True))))
            assert abs(language(target).value(function, *point) - true) < 1e-13 * abs(true), point


@pytest.mark.exhaustive
def test_where_a_closed_form_has_no_value_is_said():
    met = sr.derivative(sr.expect2("where(z<1,0,z)", "where(z<1,0,z)"), "C")  # infinite where both jumps meet
    text = str(sr.export(met, "numpy"))
    assert "no value where the inputs are parallel" in text and "on the diagonal" not in text
    function = sr.export(met, "numpy").load().dexpect2_dC
    assert function(1.0, 4.0, 1.0) == pytest.approx(float(met.evalf(20, K1=1, K2=4, C=1)), rel=1e-13)


# pairs, a point where the inputs are parallel or one of them vanishes, and the derivatives in K1, K2, C there
DENSITY = 0.3989422804014327
PARALLEL = [
    (("step", "tanh"), (1, 4, 2), (-DENSITY, None, DENSITY)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1, 4, -2), (0, 0, 0)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1e4, 1e-8, 0.01), (0, 0, 0)),
    (("where(z<1,0,z)", "where(z<1,0,z)"), (1, 4, 2), (0.24197072451914334, 0, 0.4006259784506004)),
    (("where(z<0,1,2)", "tanh(z)^2"), (0, 1, 0), (None, 0.2726965322107306, 0)),  # the mean of both sides
    (("step(z-1)", "relu"), (1, 4, 2), (0, 0, 0.24197072451914334)),  # closed
    (("step(z-1)", "relu"), (1, 4, -2), (0, 0, 0)),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("names", "point", "expected"), PARALLEL)
def test_gradients_where_inputs_are_parallel_and_jumps_do_not_meet(names, point, expected):
    for found, value in zip(gradients(names, point), expected, strict=True):
        assert math.isfinite(found) and (value is None or abs(found - value) < 1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_covariance_whose_square_is_no_float_has_no_value_and_harms_no_other(target):
    """K1*K2 is infinite in the first entry."""
    a, b = sp.symbols("a b", positive=True)
    f = sr.Activation("f", sp.tanh(z) * sp.Heaviside(z - a, 1), (a,))
    g = sr.Activation("g", z**2 * sp.Heaviside(z + b, 1) - 3 * sp.Heaviside(-z - b, 1), (b,))
    quantity = sr.expect2(f, g)
    columns = ([1e160, 1.0], [1e160, 2.0], [1e159, 0.3])
    found = language(target).value(sr.export(quantity, target).load().expect2, *columns, a=0.3, b=0.7)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(float(quantity.evalf(15, K1=1, K2=2, C="0.3", a="0.3", b="0.7")), rel=1e-13)
