"""Derivatives of averages in kernels, covariances, means and parameters: against difference quotients of numbers."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.core.symbols import K1, K2, C, K, x1, x2, z
from symres.gaussian.calculus.expectation import Expectation
from symres.results.quantity import Status
from tests.oracles.quadrature30 import average
from tests.oracles.sections import sections, x

R = sp.Rational
M, M2 = sp.symbols("m m2", real=True)
A = sp.Symbol("a", positive=True)
STEP = R(1, 10**8)
SMOOTH, KINK, JUMP = "gelu", "relu", "sign"
AT = {K1: 2, K2: 3, C: 1}
NUMBERS = {"K": R(3, 2), "K1": R(2), "K2": R(1), "C": R(1, 3), "m": R(1, 4), "m2": R(-1, 5), "a": R(2, 3)}


def slope_by_numbers(quantity, symbol, digits=32):
    """Central difference of the quantity's own numbers, in which no derivative rule takes part."""
    at = {s.name: NUMBERS[s.name] for s in quantity.symbols}

    def value(shift):
        return quantity.evalf(digits, **{**at, symbol.name: at[symbol.name] + shift})

    with mp.workdps(digits):
        return (value(STEP) - value(-STEP)) / (2 * mp.mpf(STEP.p) / STEP.q)


QUANTITIES = {
    "smooth": lambda: sr.expect(SMOOTH, mean=M),
    "kink": lambda: sr.expect(KINK, mean=M),
    "jump": lambda: sr.expect(JUMP, mean=M),
    "shifted kinks": lambda: sr.expect("hard_tanh", mean=M),
    "not closed": lambda: sr.expect(sr.activation("tanh")(sr.z) ** 2, mean=M),
    "smooth pair": lambda: sr.expect2(SMOOTH, SMOOTH),
    "kinks": lambda: sr.expect2(KINK, "hard_tanh"),
    "jump and kink": lambda: sr.expect2(JUMP, KINK),
    "jumps": lambda: sr.expect2(JUMP, "step"),
    "pair with means": lambda: sr.expect2(KINK, JUMP, means=(M, M2)),
    "a parameter moves a jump": lambda: sr.expect(
        sr.Activation("gate", sp.Piecewise((0, sr.z < A), (sr.z + 1, True)), (A,))
    ),
    "a parameter moves a kink": lambda: sr.expect(sr.Activation("soft", sp.Max(sr.z - A, 0) ** 2, (A,))),
    "a parameter in a pair": lambda: sr.expect2(
        sr.Activation("gate", sp.Piecewise((0, sr.z < A), (sr.z, True)), (A,)), "relu"
    ),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", QUANTITIES)
def test_every_derivative_is_the_slope_of_the_values(name):
    quantity = QUANTITIES[name]()
    for symbol in quantity.symbols:
        found = sr.derivative(quantity, symbol)
        assert found.status is quantity.status
        expected = slope_by_numbers(quantity, symbol)
        value = found.evalf(25, **{s.name: NUMBERS[s.name] for s in found.symbols})
        assert abs(value - expected) < mp.mpf(10) ** -14 * (1 + abs(expected)), (symbol, found)


def test_no_delta_functions_and_no_lost_ones():
    gate = sp.Piecewise((0, x1 < A), (1, True))
    for integrand, symbol in ((gate, A), (sp.sign(x1 + M), M), (sp.Heaviside(x1 - M) * x1, M), (sp.Abs(x1 - M), M)):
        slope = Expectation(integrand, K).diff(symbol)
        assert slope != 0
        assert not slope.has(sp.DiracDelta)
    density = sp.exp(-(A**2) / (2 * K)) / sp.sqrt(2 * sp.pi * K)
    assert sp.expand(Expectation(gate, K).diff(A) + density) == 0


def test_price_with_densities_at_jumps_and_stein_where_slopes_are_infinite():
    def averages(integrand):
        return {node.integrand for node in Expectation(integrand, K1, C, K2).diff(C).atoms(Expectation)}

    gelu, relu = sr.activation("gelu"), sr.activation("relu")
    assert averages(gelu(x1) * relu(x2)) == {gelu(x1).diff(x1) * relu(x2).diff(x2)}
    (given,) = averages(sp.sign(x1) * relu(x2))  # an average over the second input, the first being at the jump
    assert not given.has(x2)
    density = sp.exp(-K1 / (2 * (K1 * K2 - C**2))) / (2 * sp.pi * sp.sqrt(K1 * K2 - C**2))
    found = Expectation(sp.sign(x1) * sp.sign(x2 - 1), K1, C, K2).diff(C)
    assert abs(sp.N((found - 4 * density).subs(AT), 30)) < R(1, 10**25)
    root = sr.activation("where(z<0,0,sqrt(z))")
    assert averages(root(x1) * relu(x2)) == {z * root(x1) * relu(x2).diff(x2) for z in (x1, x2)}


def test_a_derivative_has_a_proof_and_a_name():
    found = sr.derivative(sr.expect("relu", mean=M), "m")
    assert found.name == "dexpect_dm"
    assert found.status is Status.EXACT
    assert found.proof.replay() == found.expr
    assert found.verified.worst < 1e-20
    again = sr.derivative(found, "m")
    assert sp.expand(again.expr - sp.exp(-(M**2) / (2 * K)) / sp.sqrt(2 * sp.pi * K)) == 0


@pytest.mark.parametrize(
    ("symbol", "remedy"),
    [
        (sp.Symbol("K"), "pass the name 'K' or symres.core.symbols.K"),
        (sp.Symbol("m", positive=True), "pass the name 'm'"),
    ],
)
def test_a_symbol_of_the_same_name_is_another_one(symbol, remedy):
    quantity = sr.expect("relu", mean=M)
    with pytest.raises(DeclarationError, match="with other assumptions than this one") as error:
        sr.derivative(quantity, symbol)
    assert error.value.remedy == remedy
    assert sr.derivative(quantity, symbol.name).status is Status.EXACT


def test_through_named_steps():
    theory = sr.derive(sr.Layer(sr.Dense(sr.activation("erf")(sr.Dense(sr.activation("erf")(sr.z))))))
    slope = sr.derivative(theory.kernel_map, "K")
    point = {"K": "0.7", "C_W": 2, "C_b": "0.1"}
    assert abs(slope.evalf(20, **point) - theory.chi_parallel.evalf(20, **point)) < mp.mpf(10) ** -18


@pytest.mark.sample(2)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("name", ["tanh", "silu", "mish", "hard_tanh", "hard_swish", "softsign"])
def test_the_slope_in_a_variance_where_the_inputs_are_parallel(name, side):
    """Half of <f''(z1) f(z2)> with z2 = z1 or -z1 is an average over one variable, and kinks add densities."""
    f, variance = sections(name), R(9, 4)
    bent, other = f.slope.slope, f if side > 0 else f.mirrored
    assert other.breaks == f.breaks or not f.slope.jumps()
    with mp.workdps(40):
        total = average(bent * other, variance).value
        for place, height in f.slope.jumps():
            density = sp.exp(-(place**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
            at = sum(bool(place > b) for b in other.breaks)
            total += mp.mpf(sp.N(height * density * other.parts[at].subs(x, place), 40))
        found = sr.derivative(sr.expect2(name, name), "K1").evalf(25, K1=variance, K2=variance, C=side * variance)
        assert abs(found - total / 2) < mp.mpf(10) ** -22


PARALLEL = {
    "jumps": ("step", "step", (R(1, 2), -1)),
    "jump and kink": ("step", "relu", (0, 0)),
    "kinks": ("relu", "relu", (R(1, 2), -1)),
    "jump and smooth": ("sign", "z*exp(-z^2)", (0, R(1, 3))),
    "not closed": ("tanh", "relu", (R(1, 3), 0)),
}
PLACE = {"K1": R(1), "K2": R(4), "C": R(2)}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PARALLEL)
@pytest.mark.parametrize("order", [("K1",), ("K2",), ("C",), ("C", "C"), ("K1", "K1"), ("K1", "K2"), ("K2", "C")])
def test_derivatives_at_parallel_inputs_are_one_sided_slopes(name, order):
    """K1 and K2 may only grow there, C only shrink: difference quotients of the next lower derivative."""
    f, g, means = PARALLEL[name]
    lower = sr.expect2(f, g, means=means)
    for symbol in order[:-1]:
        lower = sr.derivative(lower, symbol)
    last = order[-1]
    step = -R(1, 10**7) if last == "C" else R(1, 10**7)

    def value(n):
        return lower.evalf(30, **{**PLACE, last: PLACE[last] + n * step})

    with mp.workdps(25):
        quotient = (-3 * value(0) + 4 * value(1) - value(2)) / (2 * mp.mpf(step.p) / step.q)
    found = sr.derivative(lower, last).evalf(15, **PLACE)
    assert abs(found - quotient) < 1e-10 * (1 + abs(found))


INFINITE = [  # functions, derivatives, K1, K2 and C, the sign
    *(("sign", "sign", ("C",), (1, 4, 2 * side), 1) for side in (1, -1)),
    ("sign", "sign", ("K1",), (1, 1, 1), -1),
    *(("hard_tanh", "hard_tanh", ("C", "C"), (1, 1, side), side) for side in (1, -1)),
    ("step", "step", ("C",), (1, 4, 2), 1),
    ("step", "step", ("K1",), (1, 4, 2), -1),
    ("relu", "relu", ("C", "C"), (1, 4, 2), 1),
    *(("step", f"where(z<0,0,{height})", ("C",), (1, 1, 1), 1) for height in ("sqrt(2)-1", "pi-3", "3/7")),
    ("gelu", "abs", ("K2",), (2, 0, 0), 1),  # a kink at an input that vanishes
]


@pytest.mark.sample(8)
@pytest.mark.parametrize(("f", "g", "order", "at", "sign"), INFINITE)
def test_slopes_that_are_infinite_where_jumps_or_kinks_meet(f, g, order, at, sign):
    quantity = sr.expect2(f, g)
    for symbol in order:
        quantity = sr.derivative(quantity, symbol)
    assert quantity.evalf(20, **dict(zip(("K1", "K2", "C"), at, strict=True))) == sign * mp.inf


# pair, means, derivatives, kernels of which one is 0: the limit of kernels that vanish
VANISHING = [
    ("relu", "tanh", (0, 0), ("C",), (0, 0)),
    ("where(z<0,1,2)", "tanh(z)^2", (0, 0), (), (0, 1)),
    ("where(z<-1,exp(z),z^2)", "gelu", (0, 0), ("K1",), (0, 2)),
    ("gelu", "relu", (0, 1), ("K2",), (2, 0)),
    ("silu", "where(z<-1,exp(z),z^2)", (R(1, 2), -1), ("K1", "K1"), (2, 0)),
    ("step", "step", (R(1, 2), -1), ("K1", "K1"), (2, 0)),
    ("sign", "where(z<1,0,z)", (0, -1), ("K2", "C"), (0, 0)),  # both together: one density vanishes, the other grows
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("f", "g", "means", "order", "kernels"), VANISHING)
def test_where_a_kernel_vanishes_the_limit_is_meant(f, g, means, order, kernels):
    quantity = sr.expect2(f, g, means=means)
    for symbol in order:
        quantity = sr.derivative(quantity, symbol)
    one, two = (k or R(1, 10**30) for k in kernels)
    near = quantity.evalf(20, K1=one, K2=two, C=0)
    assert abs(quantity.evalf(20, K1=kernels[0], K2=kernels[1], C=0) - near) < mp.mpf(10) ** -13


@pytest.mark.exhaustive
def test_steep_functions_are_differentiated_by_their_score():
    """A parameter hides where the slope of sqrt(z - 1 + C/K1) is infinite; means shift, others may not."""
    root = "where(z<0,0,z^(3/2))"
    slope = sr.derivative(sr.expect2("where(z<1,0,z)", root, means=(0, -1)), "C")
    bent = sr.derivative(slope, "C")
    shifted = sr.expect2("where(z<0,0,sqrt(z))", "relu", means=(M, 0))
    for upper, lower, symbol, point in (
        (bent, slope, "C", {"K1": 1, "K2": 2, "C": R(1, 2)}),
        (sr.derivative(shifted, "m"), shifted, "m", {"K1": 1, "K2": 2, "C": R(1, 2), "m": R(1, 2)}),
    ):
        ends = (lower.evalf(25, **{**point, symbol: point[symbol] + side * STEP}) for side in (1, -1))
        with mp.workdps(25):
            quotient = (next(ends) - next(ends)) / (2 * mp.mpf(STEP.p) / STEP.q)
        assert abs(upper.evalf(20, **point) - quotient) < mp.mpf(10) ** -12
    stretched = sr.Activation("f", sp.Piecewise((0, sr.z < A), (sp.sqrt(A * (sr.z - A)), True)), (A,))
    with pytest.raises(NoClosedForm, match="is not merely a shift; set a number for a"):
        sr.derivative(sr.expect(stretched), "a")


GATE = sr.Activation("gate", sp.Piecewise((z**2, z < 1), (3 * z + 1, True)))


def function(name):
    return GATE if name == "gate" else sr.activation(name)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["sign", "step", "gate"])
@pytest.mark.parametrize("weight", [lambda u: 1, lambda u: u**2 + 1, lambda u: sr.activation("gelu")(u)])
def test_the_average_of_a_slope_is_the_slope_of_the_average_in_the_mean(name, weight):
    """<f'(z) w(z)> = d/dm <f(z) w(z)> - <f(z) w'(z)>."""
    f, w = function(name), weight(z)
    found = sr.expect(f(z).diff(z) * w, mean=M)
    assert found.status is Status.EXACT
    bend = sp.diff(w, z)

    def value(quantity, mean):
        at = {"K": R(3, 2), "m": mean}
        return quantity.evalf(32, **{s.name: at[s.name] for s in quantity.symbols})

    with mp.workdps(40):
        whole = sr.expect(f(z) * w, mean=M)
        slope = (value(whole, R(1, 4) + STEP) - value(whole, R(1, 4) - STEP)) / (2 * mp.mpf(STEP.p) / STEP.q)
        if bend != 0:
            slope -= value(sr.expect(f(z) * bend, mean=M), R(1, 4))
        assert abs(value(found, R(1, 4)) - slope) < 1e-13


@pytest.mark.sample(1)
@pytest.mark.parametrize(("f", "g"), [("sign", "sign"), ("sign", "gate"), ("gate", "gelu"), ("step", "relu")])
def test_two_slopes_are_the_slope_in_the_covariance(f, g):
    """Price's theorem, deltas included: <f'(z1) g'(z2)> = d/dC <f(z1) g(z2)>."""
    f, g = function(f), function(g)
    found = sr.expect2(f(z).diff(z), g(z).diff(z), means=(M, M2))
    whole = sr.derivative(sr.expect2(f(z), g(z), means=(M, M2)), C)
    at = {"K1": 2, "K2": 1, "C": R(-1, 3), "m": R(1, 4), "m2": R(1, 2)}
    values = [q.evalf(25, **{s.name: at[s.name] for s in q.symbols}) for q in (found, whole)]
    assert abs(values[0] - values[1]) < mp.mpf(10) ** -22 * (1 + abs(values[1]))


@pytest.mark.parametrize("steepness", [-2, 3])
def test_a_jump_is_crossed_in_the_direction_of_the_argument(steepness):
    """d/dz step(1 + s z) = sign(s) delta(z + 1/s): a step of a decreasing argument goes down."""
    slope = sr.activation("step")(1 + steepness * z).diff(z)
    with mp.workdps(30):
        place, law = mp.mpf(-1) / steepness, mp.mpf(3) / 2
        density = mp.sign(steepness) * mp.npdf(place, 0, mp.sqrt(law))
        for weight, factor in ((sp.Integer(1), 1), (z, place), (z**2, place**2)):
            found = sr.expect(slope * weight).evalf(25, K=R(3, 2))
            assert abs(found - density * factor) < mp.mpf("1e-24")


def test_curvature_of_kinks():
    relu = sr.activation("relu")
    curvature = relu(z).diff(z, 2)
    assert sr.expect(curvature).expr == 1 / sp.sqrt(2 * sp.pi * sr.K)
    assert sr.expect(relu(z) * curvature).expr == 0
    pair = sr.expect2(curvature, curvature).expr
    assert sp.simplify(pair - 1 / (2 * sp.pi * sp.sqrt(sr.K1 * sr.K2 - C**2))) == 0


def test_the_square_of_a_delta_is_infinite():
    square = sr.expect(sr.activation("sign")(z).diff(z) ** 2)
    assert square.expr == sp.oo and square.evalf(K=1) == mp.inf
