"""Numbers from declared formulas, in the check room's own evaluators."""

import warnings

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.check import Outcome, check
from symres.check.formulas.numeric_formula import NumericFunction, activation_function, infinitely_steep, switch_points
from symres.check.formulas.rounding_noise import of_square
from symres.check.nets import torch_tensor
from symres.check.oracles.layer_oracle import QuadratureOracle
from symres.core import symbols
from symres.core.errors import UnsupportedLayer
from symres.core.symbols import C_W, C_b, z
from tests.oracles.kernels import Claim, FakeTheory

POINTS = np.array([-2e4, -1e4, -1e3, -40.0, -3.0, -1e-9, 0.3, 2.0, 40.0, 1e3, 1e4, 2e4])

SMOOTH = {
    "softplus": sp.log(1 + sp.exp(z)),
    "softplus of twice": sp.log(sp.Rational(1, 3) + 2 * sp.exp(2 * z)),
    "mish": z * sp.tanh(sp.log(1 + sp.exp(z))),
    "silu, overflowing": z * sp.exp(z) / (1 + sp.exp(z)),
    "gelu": z * (1 + sp.erf(z / sp.sqrt(2))) / 2,
    "bell": sp.exp(-(z**2) / 2),
    "rational": (z**3 - 1) / (1 + z**4),
    "elu": sp.Piecewise((z, z > 0), (sp.Rational(13, 10) * (sp.exp(z) - 1), True)),
    "expanded elu": sp.Piecewise((z, z > 0), (sp.Rational(13, 10) * sp.exp(z) - sp.Rational(13, 10), True)),
    "hard tanh": sp.Max(-1, sp.Min(1, z)),
    "soft sign": z / (1 + sp.Abs(z)),
    "snake": z + sp.sin(2 * z) ** 2 / 2,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_numbers_are_finite_and_right_everywhere(name):
    function = NumericFunction(SMOOTH[name], z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = function(POINTS)
    with mp.workdps(60):
        expected = [float(function.precise(mp.mpf(p))) for p in POINTS]
        independent = [float(sp.N(SMOOTH[name].subs(z, sp.Rational(p)), 60)) for p in POINTS]
    assert np.all(np.isfinite(found))
    np.testing.assert_allclose(found, expected, rtol=2e-12, atol=1e-14)
    np.testing.assert_allclose(expected, independent, rtol=1e-15, atol=1e-50)


def test_small_arguments_lose_no_digits():
    tiny = np.array([-1e-10, -3e-13])
    np.testing.assert_allclose(NumericFunction(SMOOTH["elu"], z)(tiny), 1.3 * np.expm1(tiny), rtol=1e-15)
    np.testing.assert_allclose(NumericFunction(sp.exp(z) - 1 + z, z)(tiny), np.expm1(tiny) + tiny, rtol=1e-15)
    assert NumericFunction(SMOOTH["softplus"], z)(np.array([-40.0]))[0] == np.exp(-40.0)


def test_values_take_the_shape_of_the_argument():
    assert NumericFunction(sp.Heaviside(z), z)(np.ones((2, 3, 4))).shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("expr", "places"),
    [
        (sp.Abs(z), ["0"]),
        (sp.Max(-1, sp.Min(1, z)), ["-1", "1"]),
        (sp.sign(z**2 - 2), [f"{s}1.4142135623730950488016887242096980785697" for s in ("-", "")]),
        (sp.Piecewise((z, z > sp.Rational(1, 3)), (0, True)), ["0.3333333333333333333333333333333333333333"]),
        (sp.Heaviside(sp.exp(z) - 3), ["1.0986122886681096913952452369225257046475"]),
        (sp.Min(6, sp.Max(z, 0)), ["0", "6"]),
        (sp.Min(6, sp.Max(z, 0)).diff(z), ["0", "6"]),
        (sp.tanh(z), []),
    ],
)
def test_switching_points(expr, places):
    found = switch_points(expr, z)
    assert len(found) == len(places)
    with mp.workdps(40):
        assert all(abs(f - mp.mpf(p)) < mp.mpf(10) ** -35 for f, p in zip(found, places, strict=True))


def test_an_activation_gets_its_parameters_and_its_derivative():
    slope = sp.Symbol("slope", positive=True)
    leaky = Activation("leaky", sp.Max(z, 0) - slope * sp.Max(-z, 0), (slope,))
    atom = leaky(z)
    function = activation_function(atom, {slope: sp.Rational(1, 4)})
    np.testing.assert_array_equal(function(np.array([-2.0, 3.0])), [-0.5, 3.0])
    derivative = activation_function(atom.diff(z), {slope: sp.Rational(1, 4)})
    np.testing.assert_array_equal(derivative(np.array([-2.0, 3.0])), [0.25, 1.0])


def test_a_parameter_without_a_number_is_refused():
    slope = sp.Symbol("slope", positive=True)
    with pytest.raises(UnsupportedLayer, match="slope"):
        activation_function(Activation("leaky", sp.Max(z, 0) - slope * sp.Max(-z, 0), (slope,))(z), {})


def test_an_unknown_function_is_refused():
    with pytest.raises(UnsupportedLayer, match="no rule for unheard_of"):
        NumericFunction(sp.Function("unheard_of")(z), z)


def test_slopes_that_are_infinite_at_a_place_are_infinite_there():
    """Far out sigmoid(z) is 1 to 30 digits, where the slope of acos(u) divides by the root of 1 - u^2."""
    function = NumericFunction(sp.acos(1 / (1 + sp.exp(-z))), z)
    slopes = function.slope(np.array([0.3, 200.0]))
    assert slopes[0] == pytest.approx(float(sp.diff(function.expr, z).subs(z, 0.3)))
    assert not np.isfinite(slopes[1]) or slopes[1] == pytest.approx(-np.exp(-100.0), rel=1e-6)


TENSORS = {name: SMOOTH[name] for name in ("mish", "gelu", "elu", "hard tanh", "soft sign")} | {
    "window": sp.Piecewise((1, sp.And(z > 0, z < 3)), (z, sp.Or(z < -5, z > 5)), (0, True)),
    "step": sp.Heaviside(z - 1) + sp.sinc(z),
    "inverses": sp.atan2(z, 1 + z**2) + sp.acosh(2 + z**2),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_have_the_numbers_and_slopes_of_arrays(name):
    function, u = NumericFunction(TENSORS[name], z), np.linspace(-8.9, 9.1, 360)
    data = torch_tensor.torch().tensor(u, requires_grad=True)
    values = function(torch_tensor.Tensor(data)).data
    values.sum().backward()
    np.testing.assert_allclose(values.detach().numpy(), function(u), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(data.grad.numpy(), function.slope(u), rtol=1e-12, atol=1e-11)


def test_a_function_that_tensors_do_not_have_is_refused():
    with pytest.raises(UnsupportedLayer, match="erfi of a neuron"):
        NumericFunction(sp.erfi(z), z)(torch_tensor.Tensor(torch_tensor.torch().zeros(3)))


def test_the_loss_of_a_formula_is_measured():
    lost = [of_square(NumericFunction(expr, z), 0.0, 9.3) for expr in (sp.tanh(z), sp.exp(z), sp.asin(sp.tanh(z)))]
    assert max(lost[:2]) < 3e-16 and 1e-11 < lost[2] < 1e-8
    cancelling = NumericFunction(z - z**3 / 6 - sp.sin(z), z)
    assert of_square(cancelling, 0.0, 1.0) < 1e-14 and of_square(cancelling, 0.0, 1e-4) > 0.01


@pytest.mark.parametrize("kernel", [0.5, 2.3, 4.0])
def test_a_narrow_interval_in_which_digits_are_lost_is_seen(kernel):
    """acos(tanh(u)) is 0 in doubles from u = 19 on: of acos(tanh(pi^(3*z))) that is one interval of width 0.1."""
    function = NumericFunction(sp.acos(sp.tanh(sp.exp(3 * z * sp.log(sp.pi)))) + 1, z)
    nodes = np.linspace(-10.0, 10.0, 20001)
    weights = np.exp(-(nodes**2) / (2 * kernel))
    with mp.workdps(40):
        exact = np.array([float(function.precise(mp.mpf(node))) for node in nodes])
    lost = np.sum(weights * 2 * exact * np.abs(function(nodes) - exact)) / np.sum(weights * exact**2)
    assert lost / 3 < of_square(function, 0.0, kernel**0.5) < 30 * lost


def test_exponentials_of_exponentials_end():
    function = NumericFunction(sp.cosh(sp.tanh(sp.exp(2 * z**6))), z)
    with mp.workdps(30):
        assert abs(function.precise(mp.mpf(-300)) - mp.cosh(1)) < mp.mpf(10) ** -29


SYMBOLS = (symbols.K, C_W, C_b)
NUMBERS = {C_W: sp.Rational(13, 10), C_b: sp.Rational(1, 5)}
SMALL_JUMP = "where(abs(z)<1/1000, 1-z^2/6, sin(z)/z)"  # 8e-15
TINY_JUMP = "where(abs(z)<1, exp(-1/max(1-z^2,1e-9)), 0)"  # exp(-1e9)

STEEP = [
    "sign",
    SMALL_JUMP,
    TINY_JUMP,
    "z + 1e-300*step(z)",
    "1e-200*step(z - 1)*exp(z)",
    "sign((z-1)^2*(z+2))",
    "where(tanh(z/1000) > 0.99, 1, 0)",
    "where(exp(z) > 3, exp(z) - 3, 1e-250)",
    "step(z - 1e-5)*sin(z)",
    "sqrt(abs(z))",
    "abs(z)^(2/5)",
    "max(z, 0)^(1/100)",
    "asin(max(min(z, 1), -1))",
]
FINITE = [
    "relu",
    "erf(z)",
    "tanh(1000*z)",
    "relu6",
    "cos(abs(z))",
    "abs(z)^(51/100)",
    "max(z, 0)^(3/2)",
    "1e150*max(z, 0)",
    "1e-200*abs(z)",
    "where(exp(z) > 3, exp(z) - 3, 0)",
    "where(z > 0, z, exp(z) - 1)",
    "where(abs(z) < 1, (1 - z^2)^2, 0)",
    "exp(-1/max(1 - z^2, 1e-9))",
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("formula", STEEP)
def test_jumps_and_roots_are_seen_at_every_size(formula):
    assert infinitely_steep(sr.mlp(formula).forward, NUMBERS) is True
    assert infinitely_steep(sr.residual("relu").forward + sr.Dense(sr.activation(formula)(z)), NUMBERS) is True


@pytest.mark.parametrize("formula", FINITE)
def test_kinks_and_slopes_are_neither(formula):
    assert infinitely_steep(sr.mlp(formula).forward, NUMBERS) is False


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("against", ["quadrature", "simulation"])
@pytest.mark.parametrize("formula", [SMALL_JUMP, TINY_JUMP, "asin(max(min(z, 1), -1))"])
def test_a_finite_number_does_not_refute_what_is_infinite(formula, against):
    theory = sr.derive(formula)
    assert theory.chi_perp.evalf(K=1, C_W=1) == mp.inf
    only = FakeTheory(theory.layer.forward, {"chi_perp": theory.chi_perp})
    rows = check(only, against, points=2).verdicts
    assert Outcome.REFUTED not in {row.outcome for row in rows}
    assert any("jumps or rises like a root" in row.reason for row in rows)


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", [SMALL_JUMP, TINY_JUMP])
def test_a_finite_number_does_not_confirm_what_may_be_infinite(formula):
    forward = sr.mlp(formula).forward

    def found(K, C_W, C_b):
        numbers = {symbols.C_W: sp.Rational(mp.nstr(C_W, 17)), symbols.C_b: sp.Rational(mp.nstr(C_b, 17))}
        return QuadratureOracle(forward, numbers).chi_perp(float(K)).value

    rows = check(FakeTheory(forward, {"chi_perp": Claim("chi_perp", SYMBOLS, found)}), "quadrature", points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.INCONCLUSIVE}
    assert all(abs(row.z) < 1 for row in rows)


def claims(formula, name, value):
    arguments = (symbols.K1, symbols.K2, symbols.C) if name == "covariance_map" else (symbols.K,)
    claim = Claim(name, (*arguments, C_W, C_b), lambda **_: mp.mpf(value))
    return FakeTheory(sr.mlp(formula).forward, {name: claim})


@pytest.mark.sample(2)
@pytest.mark.parametrize("against", ["quadrature", "simulation"])
@pytest.mark.parametrize("formula", ["erf(z)", "relu", "where(z > 0, z, exp(z) - 1)", "abs(z)^(4/5)"])
def test_an_infinite_claim_about_a_continuous_activation_is_refuted(formula, against):
    rows = check(claims(formula, "chi_perp", "inf"), against, points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}


def test_a_jump_excuses_nothing_but_chi_perp():
    for name in ("kernel_map", "covariance_map", "chi_parallel"):
        rows = check(claims("sign", name, "inf"), "quadrature", points=2).verdicts
        assert {row.outcome for row in rows} == {Outcome.REFUTED}, name


@pytest.mark.parametrize("against", ["quadrature", "simulation"])
def test_a_finite_claim_about_a_jump_is_refuted(against):
    rows = check(claims("sign", "chi_perp", 3), against, points=2).verdicts
    assert {row.outcome for row in rows} == {Outcome.REFUTED}
