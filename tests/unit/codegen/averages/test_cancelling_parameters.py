"""Generated averages at values of parameters where digits of a function cancel, or what divides it vanishes."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.emission.emitter import LosesDigits
from symres.codegen.planning.guards import FLOOR
from symres.codegen.planning.plan import Component
from symres.codegen.strategy import choose
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.symbols import K1, K2, C, K, x1, z
from tests.oracles.average import average_of

A, B = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
GATE = sr.Activation("gate", z / (1 + sp.exp(-A * (z - B))), (A, B))


def average(f, kernel, mean=0):
    """<f(mean + z)>, also where it is faint."""
    return average_of(f, kernel, mean=mean, digits=90)


def deviation(found, exact):
    return float(abs(mp.mpf(float(found)) - exact) / abs(exact))


def words(module):
    return " ".join(module.text.split())


# ---- values of both signs ----------------------------------------------------------------------------------------
@pytest.mark.exhaustive
def test_what_is_odd_cancels_exactly():
    """The gate is z plus something tiny, less than any float beside z; <z> = 0."""
    module = sr.export(sr.expect(GATE))
    exact = average(lambda x: x / (1 + mp.exp(-12 * (x + 12))), 0.01)
    assert 7e-64 < exact < 8e-64
    assert abs(module.load().expect(0.01, 12.0, -12.0) - float(exact)) < 1e-60
    assert "with a = 12, b = -12; at most" in words(module) and "no digits (worst at K = " in words(module)
    assert "fewer digits where values of both signs cancel." in words(module)


@pytest.mark.parametrize("formula", [sp.sin(3 * z), sp.tanh(A * z), sp.Max(z - 1, 0) + sp.Min(z + 1, 0), z**5])
def test_averages_of_odd_functions_are_zero(formula):
    """By parity alone: nothing in the code says that they are."""
    node = sr.expect(GATE).body
    code = Component("_average_1", (K, A), node.func(formula.subs(z, x1), K), None)
    assert np.all(NUMPY.run(code)(np.array([1e-8, 0.3, 1.0, 1e4]), 2.0) == 0.0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_mean_that_is_small_beside_the_deviation(target):
    """To 4e-18 of the root of <tanh(z)**2>, which is 1: a twentieth of a rounding."""
    module = sr.export(sr.expect("tanh(z)", mean=B), target).load()
    for kernel, mean in ((8000.0, 1e-6), (1.0, -1e-5)):
        exact = average(mp.tanh, kernel, mean)
        assert deviation(module.expect(kernel, mean), exact) < 4e-10


# ---- faint around the mean ---------------------------------------------------------------------------------------
SLOPES = [(0.01, 20.0), (1.0, 20.0), (1.0, -40.0), (8000.0, 1e-6), (30.0, 20.0)]


def sech_square(x):
    return mp.sech(x) ** 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kernel", "mean"), SLOPES)
def test_the_derivative_in_the_mean_where_the_function_is_flat(kernel, mean):
    """1 - tanh(20)**2 is 0 in floats."""
    quantity = sr.expect("tanh(z)", mean=B)
    exact = average(sech_square, kernel, mean)
    assert deviation(sr.export(sr.derivative(quantity, "b")).load().dexpect_db(kernel, mean), exact) < 5e-15
    place = torch.tensor(mean, dtype=torch.float64, requires_grad=True)
    sr.export(quantity, "torch").load().expect(kernel, place).backward()
    assert deviation(place.grad, exact) < 5e-15


@pytest.mark.exhaustive
def test_the_derivative_in_a_parameter_of_the_activation_where_the_function_is_flat():
    """The parameter is in sight in the formula only, whose derivative is a sum of averages that cancel."""
    moved = sr.Activation("moved", sp.tanh(z + B), (B,))
    place = torch.tensor(20.0, dtype=torch.float64, requires_grad=True)
    sr.export(sr.expect(moved), "torch").load().expect(1.0, place).backward()
    assert deviation(place.grad, average(sech_square, 1.0, 20.0)) < 5e-15


# ---- closed forms ------------------------------------------------------------------------------------------------
def closed_pair():
    quantity = sr.expect2(sr.Activation("bump", sp.exp(-A * (z - B) ** 2), (A, B)), "gelu")
    return quantity, (K1, K2, C, A, B)


@pytest.mark.exhaustive
def test_a_closed_form_that_cancels_at_other_parameters_is_refused(monkeypatch):
    quantity, symbols = closed_pair()
    honest = NUMPY.run

    def wrong(component):
        f = honest(component)
        return lambda k1, k2, c, a, b: f(k1, k2, c, a, b) * (1 + 1e-8 * (b < -1))

    monkeypatch.setattr(NUMPY, "run", wrong)
    choose._measured.cache_clear()
    with pytest.raises(LosesDigits, match="of the largest value with a = 12, b = -12"):
        choose.build_component("_average_1", symbols, quantity.body, NUMPY, NUMPY)
    assert (
        choose.build_component("_average_1", symbols, quantity.body, NUMPY, NUMPY, accept_cancellation=True).code
        is not None
    )
    choose._measured.cache_clear()


def test_how_much_is_lost_beside_the_largest_value_is_said():
    """Values of 1e-135 have no digits beside one of 1e-34, which has all of them."""
    found = Component("_average_1", (K1, K2, C, A), A * C, A * C)
    found = found.with_measured(error=0.7, worst="C = -90", error_over_max=5e-15)
    assert choose._outcome(found, math.inf) == "no digits (worst at C = -90; 1e-14 of the largest value)"


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["relu", "abs"])
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_limit_at_zero_that_depends_on_a_parameter_is_approached(name, target):
    """The slope in K is half the jump of the slope times a density: 0 at K = 0, infinite there for b = 0."""
    module = sr.export(sr.derivative(sr.expect(name, mean=B), "K"), target)
    slope = getattr(module.load(), module.functions[0])
    with mp.workdps(30):
        for k, b in ((0.005, 0.75), (0.02, -1.5), (1e-8, 1e-4), (3.0, 12.0), (2.0, 0.0)):
            exact = mp.npdf(b, 0, mp.sqrt(k)) / (2 if name == "relu" else 1)
            assert float(slope(k, b)) == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert float(slope(0.0, 0.75)) == 0.0 == float(slope(0.0, -1e-3))
    assert float(slope(0.0, 0.0)) > 1e48
    assert "Computed from the closed form." in module.text


@pytest.mark.exhaustive
def test_a_mean_far_on_the_side_where_the_function_is_faint_keeps_digits():
    """<gelu(z + b)> for b = -12 is 1e-33: erf(b/sqrt(2 + 2K)) is -1 in floats."""
    average = sr.export(sr.expect("gelu", mean=B)).load().expect
    with mp.workdps(60):
        for k, b in ((1e-6, -12.0), (0.3, -12.0), (2.0, -9.0), (30.0, -40.0)):
            k_, s = mp.mpf(k), 1 + mp.mpf(k)
            exact = b * mp.ncdf(b / mp.sqrt(s)) + k_ / mp.sqrt(s) * mp.npdf(b / mp.sqrt(s))
            assert float(average(k, b)) == pytest.approx(float(exact), rel=1e-11, abs=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("other", ["itself", "gelu"])
def test_closed_forms_at_a_parameter_that_they_could_divide_by(other):
    """Powers of the covariance are none of the sine of an angle, which is 0 for all covariances at b = 0."""
    f = sr.Activation("f", z * sp.erf(B * z), (B,))
    module = sr.export(sr.expect2(f, f if other == "itself" else other))
    assert "no value" not in words(module).partition("---- helpers ----")[0]
    b = np.array([0.0, -0.0, 1e-200, -1e-200])
    for k1, k2, c in ((0.7, 0.7, 0.3), (1.0, 1.0, 1.0), (1.0, 4.0, -2.0), (0.0, 1.0, 0.0), (0.0, 0.0, 0.0)):
        found = module.load().expect2(k1, k2, c, b)
        assert np.all(np.abs(found) < 1e-199) and np.all(found[:2] == 0.0)


@pytest.mark.exhaustive
def test_one_code_serves_all_parameters(monkeypatch):
    """A closed form that needs floors at one value of a parameter has them at all."""

    def with_ends(component, target, values):
        needs = values is not None and values[A] < 1
        return component.guarded(floor=FLOOR) if needs else component

    monkeypatch.setattr(choose.errors, "with_ends", with_ends)
    quantity, symbols = closed_pair()
    component = Component("_average_1", symbols, quantity.body, choose.stabilise(quantity.body))
    found = choose._measured.__wrapped__(component, NUMPY)
    assert found.guards.floor == FLOOR and found.measured.elsewhere.count("with a = ") == 4


# ---- single precision --------------------------------------------------------------------------------------------
VANISHING = [(0.0, 0.7, 0.0), (1e-30, 1e-30, 1e-31), (1e-44, 1e-44, 0.0), (1e-25, 0.7, 1e-14), (0.7, 0.7, 0.3)]


def test_what_is_computed_in_double_precision_has_the_type_of_the_arguments():
    slope = sr.derivative(sr.expect2("step(z-1)", "relu"), "C")  # a product, with error functions of quotients
    f = getattr(sr.export(slope, "torch").load(), slope.name)
    assert f(*torch.tensor([[0.7, 1.0], [0.7, 1.0], [0.3, 0.1]])).dtype == torch.float32


def called(function, point, dtype):
    arguments = [torch.tensor(x, dtype=dtype, requires_grad=True) for x in point]
    value = function(*arguments)
    assert value.dtype == dtype
    return value, torch.autograd.grad(value, arguments)


@pytest.mark.sample(1)
@pytest.mark.parametrize("names", [("sign", "where(z<1,0,z)"), ("where(z<1,0,z)", "sign(z-1)")])
def test_single_precision_has_values_where_kernels_vanish(names):
    """Its smallest number is above what keeps denominators from 0; both have none where the first kernel is 0."""
    slope = sr.derivative(sr.expect2(*names), "K2" if names[0] == "sign" else "K1")
    function = getattr(sr.export(slope, "torch").load(), slope.name)
    for point in VANISHING[1:]:
        single, double = (called(function, point, dtype)[0].detach() for dtype in (torch.float32, torch.float64))
        assert float(single) == pytest.approx(float(double), rel=1e-5, abs=1e-44)


@pytest.mark.exhaustive
@pytest.mark.parametrize("names", [("sign(z-1)", "sign(z-1)"), ("step(z-1)", "step(z-1)")])
def test_single_precision_has_gradients_where_kernels_vanish(names):
    function = sr.export(sr.expect2(*names), "torch").load().expect2
    for point in VANISHING[:3]:
        _, single = called(function, point, torch.float32)
        for one, place in zip(single, point, strict=True):
            assert torch.isfinite(one), (point, place)
    for kernels in ((0.7, 0.7), (1.5, 0.2)):
        with mp.workdps(20):
            r = mp.mpf("0.3")
            c = float(r * mp.sqrt(kernels[0] * kernels[1]))
        single, double = (called(function, (*kernels, c), dtype)[1] for dtype in (torch.float32, torch.float64))
        for one, other in zip(single, double, strict=True):
            assert float(one) == pytest.approx(float(other), rel=1e-5, abs=1e-7)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "kernel", "last"), [("tanh", 3.0, 0.854), ("softsign", 0.3, 0.823)])
def test_the_series_in_the_correlation_ends_where_it_has_all_digits(name, kernel, last):
    """Around the largest correlations at which so many of its terms are enough."""
    pair = sr.expect2(name, name)
    function = sr.export(pair).load().expect2
    for rho in np.linspace(last - 0.02, last + 0.02, 9):
        exact = float(pair.evalf(17, K1=kernel, K2=kernel, C=float(rho) * kernel))
        assert function(kernel, kernel, rho * kernel) == pytest.approx(exact, rel=3e-15)
