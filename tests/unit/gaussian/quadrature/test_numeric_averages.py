"""Enclosures of Gaussian averages against quadrature by mpmath: containment, accuracy asked for, refusals."""

import math

import mpmath as mp
import pytest
import sympy as sp
from flint import arb, ctx

import symres as sr
from symres.activations.piecewise import PiecewiseFunction, split
from symres.core.symbols import K1, K2, C, K, x1, x2, z
from symres.core.work_budget import panel_budget
from symres.functions.balls import to_ball
from symres.gaussian.calculus.expectation import Expectation
from symres.gaussian.quadrature.average_ball import average_ball
from symres.gaussian.quadrature.bivariate import _Marginal
from symres.gaussian.quadrature.bivariate_normal import law_of, perturbation_bound
from symres.gaussian.quadrature.panels import Weight
from symres.gaussian.quadrature.univariate import compile_pieces
from tests.oracles import closed_forms
from tests.oracles.average import average_of, average_of_pair
from tests.oracles.quadrature30 import average
from tests.oracles.sections import PARAMETERS, sections

R = sp.Rational
FUNCTIONS = {
    name: sr.activation(name).pieces
    for name in ("tanh", "silu", "softplus", "mish", "gelu_tanh", "softsign", "hard_tanh", "elu(alpha=1)")
}


def square(function):
    return function.map(lambda u: u**2)


def contains(ball, value, slack):
    with ctx.workprec(400):
        return ball.overlaps(to_ball(value, 400) * (1 + arb(0, slack)))


EXACT = [
    (sp.exp(z), sp.exp(K / 2)),
    (sp.cos(3 * z), sp.exp(-9 * K / 2)),
    (z**6, 15 * K**3),
    (z**20, 654729075 * K**10),
    (sp.Max(z, 0) ** 3, sp.sqrt(2 / sp.pi) * K ** R(3, 2)),
    (sp.Max(z - 1, 0), sp.sqrt(K / (2 * sp.pi)) * sp.exp(-1 / (2 * K)) - sp.erfc(1 / sp.sqrt(2 * K)) / 2),
    (sp.Heaviside(sp.Abs(z) - 1), sp.erfc(1 / sp.sqrt(2 * K))),
    (sp.sign(z - sp.sqrt(2)), -sp.erf(1 / sp.sqrt(K))),
    (sp.sqrt(sp.Abs(z)), (2 * K) ** R(1, 4) * sp.gamma(R(3, 4)) / sp.sqrt(sp.pi)),
    (sp.erf(z) ** 2, 2 / sp.pi * sp.asin(2 * K / (1 + 2 * K))),
    (1 / (1 + z**2), sp.sqrt(sp.pi / (2 * K)) * sp.exp(1 / (2 * K)) * sp.erfc(1 / sp.sqrt(2 * K))),
]


# exp(-4.5e6) out of terms of order one would cancel six million bits
ROWS = [(*row, v) for row in EXACT for v in ("1e-12", "1e-4", "1", "1e6") if not (row[0].has(sp.cos) and v == "1e6")]
# bounds on tiny rectangles were no numbers once; growth is judged against the variance
ROWS += [(z * sp.erf(z), 2 * K / sp.sqrt(sp.pi * (1 + 2 * K)), v) for v in ("1e-20", "1e-28", "1e-60")]
ROWS += [(sp.exp(z**2 / 8), 2 / sp.sqrt(4 - K), "2")]
# slopes of |z|**p - z, squared: <(p |z|**(p-1) sign(z) - 1)**2> = p**2 <|z|**(2p-2)> + 1
ROWS += [
    (
        square(split(sp.Abs(z) ** p - z).diff()),
        p**2 * (2 * K) ** (p - 1) * sp.gamma(p - R(1, 2)) / sp.sqrt(sp.pi) + 1,
        "3",
    )
    for p in (R(5, 2), R(3, 2), R(7, 3))
]


@pytest.mark.sample(29)
@pytest.mark.parametrize(("formula", "closed", "variance"), ROWS, ids=[f"{f}-{v}" for f, _, v in ROWS])
def test_known_closed_forms_are_inside(formula, closed, variance):
    function = formula if isinstance(formula, PiecewiseFunction) else split(formula)
    ball = average_ball((function,), (to_ball(variance, 140),), 66)
    with mp.workdps(60):
        value = mp.mpf(sp.N(closed.subs(K, sp.Rational(variance)), 50)._to_mpmath(180))
    assert ball.rel_accuracy_bits() >= 64
    assert contains(ball, value, 1e-40)


COMPOSED = {
    "z*asin(tanh(z))": lambda x: 2 * x * mp.atan(mp.tanh(x / 2)),
    "atan(sinh(z))": lambda x: mp.atan(mp.sinh(x)),
    "log(cosh(z))": lambda x: abs(x) - mp.log(2) + mp.log1p(mp.exp(-2 * abs(x))),
    "log(1+exp(z)+exp(-z))": lambda x: abs(x) + mp.log1p(mp.exp(-abs(x)) + mp.exp(-2 * abs(x))),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("variance", ["1e-12", "1", "100", "1e4"])
@pytest.mark.parametrize("formula", COMPOSED)
def test_compositions_of_exponentials_have_averages_at_every_variance(formula, variance):
    """The far tails are bounded in few panels: a moderate budget is enough."""
    function = sr.activation(formula).pieces
    with panel_budget(40):
        ball = average_ball((function.map(lambda u: u**2),), (to_ball(variance, 140),), 66)
        slope = average_ball((function.diff().map(lambda u: u**2),), (to_ball(variance, 140),), 66)
    assert slope.rel_accuracy_bits() >= 60
    assert ball.rel_accuracy_bits() >= 60
    assert contains(ball, average_of(lambda x: COMPOSED[formula](x) ** 2, variance), 1e-18)


def test_the_tail_of_a_saturated_function_is_seen_to_be_small():
    """(z*tanh(exp(z)))': exp(z)*sech(exp(z))**2 is bounded far out on short shells only, or the panels never end."""
    slope = split(sp.diff(z * sp.tanh(sp.exp(z)), z)).map(lambda u: u**2)
    ball = average_ball((slope,), (arb(10000),), 60)
    left = lambda x: mp.tanh(mp.exp(x)) + x * mp.exp(x) * mp.sech(mp.exp(x)) ** 2  # noqa: E731
    exact = average_of(lambda x: left(x) ** 2 if x < 5 else 1, 10**4, range(-4, 6))
    assert float(ball.mid()) == pytest.approx(float(exact), rel=1e-15)
    assert ball.rel_accuracy_bits() > 50


def test_narrow_features_are_resolved():
    ball = average_ball((split(sp.tanh(50 * z) ** 2),), (arb(10**4),), 66)  # the step is 5000 times narrower than K
    cuts = [sign * mp.mpf(4) ** -k for sign in (-1, 1) for k in range(1, 4)]
    value = average_of(lambda x: mp.tanh(50 * x) ** 2, 10**4, cuts, digits=25)
    assert ball.rel_accuracy_bits() >= 66 and contains(ball, value, 1e-25)


def test_cancellation_inside_the_formula_costs_precision_not_truth():
    ball = average_ball((split((sp.tanh(z) - z) ** 2),), (to_ball("1e-12", 120),), 66)
    with mp.workdps(30):
        value = mp.mpf(15) / 9 * mp.mpf(10) ** -36 * (1 - mp.mpf(28) / 5 * mp.mpf(10) ** -12)
    assert ball.rel_accuracy_bits() >= 60
    assert contains(ball, value, 1e-22)


def test_odd_functions_average_to_a_ball_around_zero():
    ball = average_ball((split(sp.tanh(z)),), (arb(1),), 66)
    assert ball.contains(0) and ball.abs_upper() < 1e-20


def test_uncertain_variances_widen_the_ball():
    pieces = square(FUNCTIONS["tanh"])
    ball = average_ball((pieces,), (arb(1, 1e-6),), 66)
    for place in (1 - 1e-6, 1, 1 + 1e-6):
        assert ball.overlaps(average_ball((pieces,), (arb(place),), 66))
    assert 1e-7 < ball.rad() < 2e-6
    tiny = average_ball((pieces,), (arb(0, 1e-20),), 66)
    assert tiny.contains(0) and tiny.contains(1e-20) and tiny.abs_upper() < 1e-17


def test_zero_variance_gives_the_mean_of_the_two_limits():
    assert average_ball((split(sp.cos(z)),), (arb(0),), 66) == 1
    assert average_ball((split(sp.Heaviside(z) + 3),), (arb(0),), 66) == arb(3.5)
    assert average_ball((split(sp.Max(z - 1, 0)),), (arb(0),), 66) == 0


AT_ZERO = ["sigmoid(z)", "cos(z + 1)*z^2 + 3", "step(z)", "step(z) - 2*step(-z)", "max(z - 1, 2)", "exp(-abs(z))"]


@pytest.mark.parametrize("formula", AT_ZERO)
def test_an_average_over_a_variable_of_variance_0_is_written_as_its_value(formula):
    """Of one variable, of two, and of one beside one that varies; quadrature is at a variance of nearly 0."""
    phi = sr.activation(formula)
    limit = average_of(sp.lambdify(z, phi.pieces.as_expr(), "mpmath"), "1e-40", digits=15)
    value = Expectation(phi(x1), 0)
    assert not value.has(Expectation) and abs(value.evalf(20) - limit) < 1e-14
    assert Expectation(phi(x1) * phi(x2), 0, 0, 0) == value**2
    assert Expectation(phi(x1) * sp.tanh(x2) ** 2, 0, 0, K) == value * Expectation(sp.tanh(x1) ** 2, K)
    assert Expectation(phi(x1) ** 2, K).subs(K, 0) == Expectation(phi(x1) ** 2, 0)


def test_an_average_at_variance_0_stays_where_it_has_no_value():
    a = sp.Symbol("a", real=True)
    for integrand in (sp.Abs(x1) ** sp.Rational(-1, 3), sp.Max(x1 - a, 0)):
        assert isinstance(Expectation(integrand, 0), Expectation)


@pytest.mark.parametrize("digits", [50, 120])
def test_many_digits(digits):
    ball = average_ball((split(sp.exp(-z * z) * sp.cos(z)),), (arb(1),), int(digits * 3.33))
    with mp.workdps(digits + 10):
        assert contains(ball, mp.exp(-mp.mpf(1) / 6) / mp.sqrt(3), mp.mpf(10) ** -(digits + 5))
    assert ball.rel_accuracy_bits() >= digits * 3.32


# ------------------------------------------------------------------------------------------------- two variables
CLOSED = ("sin", "erf", "relu", "sign", "gelu", "z**3")
PAIRS = {"sign": 2 / sp.pi * sp.asin(C / sp.sqrt(K1 * K2)), "z**3": 9 * C * K1 * K2 + 6 * C**3} | closed_forms.PAIRS
LAWS = [
    ("1", "0.5", "1"), ("1", "-0.3", "2"), ("1e-6", "0.5e-6", "1e-6"), ("100", "90", "100"), ("1e-4", "0.5", "1e4"),
    ("1", "0.999999", "1"), ("1", "1", "1"), ("4", "-2", "1"), ("1", "0", "2"), ("1", "1e-9", "1"),
]  # fmt: skip


@pytest.mark.sample(33)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("name", CLOSED)
def test_kernels_of_two_variables_contain_the_closed_form(name, law):
    pieces = sr.activation(name).pieces
    ball = average_ball((pieces, pieces), tuple(to_ball(entry, 140) for entry in law), 56)
    with mp.workdps(50):
        exact = PAIRS[name].subs(dict(zip((K1, C, K2), map(sp.Rational, law), strict=True)))
        value = mp.mpf(0) if exact == 0 else mp.mpf(sp.N(exact, 40)._to_mpmath(160))
    assert contains(ball, value, 1e-35)
    if abs(value) > 1e-30:  # exp(-5000) out of terms of order 1e-2 is out of reach at once
        assert ball.rel_accuracy_bits() >= 50
        assert not contains(ball, value * (1 + mp.mpf(10) ** -12), 1e-35)
    else:  # 56 bits of the natural size sqrt(<f^2><g^2>), at most 9 here
        assert ball.abs_upper() < 9 * 2.0**-56


def test_a_kernel_to_40_digits():
    pieces = split(sp.erf(z))
    ball = average_ball((pieces, pieces), (arb(1), arb(0.5), arb(2)), 140)
    assert ball.rel_accuracy_bits() >= 138
    with mp.workdps(60):
        assert contains(ball, 2 / mp.pi * mp.asin(1 / mp.sqrt(15)), mp.mpf(10) ** -55)


@pytest.mark.parametrize("name", ["tanh", "elu(alpha=1)"])
def test_the_diagonal_of_an_inexact_variance_is_the_average_of_one_variable(name):
    variance = to_ball("0.1", 150)  # no binary number: K1*K2 - C**2 is a ball around zero
    ball = average_ball((FUNCTIONS[name],) * 2, (variance,) * 3, 120)
    assert ball.rel_accuracy_bits() >= 60
    assert ball.overlaps(average_ball((square(FUNCTIONS[name]),), (variance,), 120))


@pytest.mark.parametrize("bits", [6, 20])
def test_coarse_rules_keep_their_promise(bits):
    """At few bits the error of the rules, not rounding, makes the radius: the bounds themselves are on trial."""
    for name, factor in FUNCTIONS.items():
        pieces = square(factor)
        for variance in ("1", "1e3"):
            K = to_ball(variance, 200)
            coarse, fine = average_ball((pieces,), (K,), bits), average_ball((pieces,), (K,), 80)
            assert contains_ball(coarse, fine), f"{name} at {variance}"
            assert coarse.rad() > 100 * fine.rad()
        if name not in ("tanh", "elu(alpha=1)", "hard_tanh"):
            continue
        law = (arb(2), arb(-0.7), arb(1))
        coarse, fine = average_ball((factor, factor), law, bits), average_ball((factor, factor), law, 50)
        assert contains_ball(coarse, fine), f"{name} in two variables"


def contains_ball(coarse, fine):
    with ctx.workprec(200):
        return coarse.overlaps(fine.mid())


@pytest.mark.parametrize("formula", [(z + z / sp.sqrt(1 + z**2)) / 2, z / (1 + z**2), sp.log(1 + z**2), sp.atan(z)])
@pytest.mark.parametrize("law", [("1", "0.3", "1"), ("1.44", "-0.47633", "1.65")])
def test_functions_with_poles_near_the_line(formula, law):
    """Poles at +-i: the rule refused these once."""
    pieces, function = split(formula), sp.lambdify(z, formula, "numpy")
    found = average_ball((pieces, pieces), tuple(to_ball(entry, 80) for entry in law), 56)
    k1, c, k2 = map(float, law)
    assert abs(float(found.mid()) - average_of_pair(function, function, k1, k2, c)) < 1e-13
    assert found.rel_accuracy_bits() >= 45


@pytest.mark.exhaustive
@pytest.mark.parametrize("correlation", ["-999999/1000000", "999999/1000000", "3/10"])
def test_two_events_that_never_meet_are_zero_with_a_radius(correlation):
    """Both variables beyond 7500 standard deviations: no digit of exp(-5e7) or less is worth a minute."""
    function = sr.expect2("step(z-3/4)*tanh(z)", "step(z-3/4)*tanh(z)")
    variance = sp.Rational(1, 10**8)
    value, radius = function.enclosure(15, K1=variance, K2=variance, C=sp.Rational(correlation) * variance)
    assert value == 0
    assert radius < mp.mpf("1e-5000")


OPEN = ["gelu_tanh", "tanh", "sigmoid", "silu", "swish", "softplus", "mish", "softsign"]
TRILLIONTH = R(1, 10**12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", OPEN)
def test_thirty_digits_at_the_ends_of_the_correlation(name):
    """At 0, 1 and -1 these are averages over one variable, and a trillionth before an end a Taylor step away."""
    quantity, function = sr.expect2(name, name), sections(name)
    K, numbers = R(1), PARAMETERS.get(name, {})

    def found(correlation):
        value, radius = quantity.enclosure(30, K1=K, C=correlation * K, K2=K, **numbers)
        assert radius <= abs(value) * mp.mpf(10) ** -30
        return value

    with mp.workdps(50):
        mean = average(function, K)
        assert abs(found(0) - mean.value**2) <= mean.size**2 * mp.mpf(10) ** -29
        for sign, other in ((1, function), (-1, function.mirrored)):
            end = average(function * other, K)
            assert end.distance(found(sign)) < mp.mpf(10) ** -29
            step = average(function.slope * other.slope, K).value / mp.mpf(10) ** 12
            # the next term of the Taylor series: half the mean square of f'', below 10, times the square of the step
            assert abs(found(sign * (1 - TRILLIONTH)) - (end.value - step)) < mp.mpf(10) ** -23
            assert abs(step) > mp.mpf(10) ** -14  # it is seen


@pytest.mark.exhaustive
def test_a_correlation_near_one_loses_no_digits():
    """C in balls of 117 bits leaves 77 to the determinant; the average keeps nearly all. gelu has a closed form."""
    pieces = sr.activation("gelu").pieces
    for correlation in (1 - TRILLIONTH, -1 + TRILLIONTH):
        for kernel in (R(1, 3), R(10**4, 3)):
            law = kernel, correlation * kernel, kernel
            ball = average_ball((pieces, pieces), tuple(to_ball(v, 117) for v in law), 110)
            with mp.workdps(60):
                exact = PAIRS["gelu"].subs(dict(zip((K1, C, K2), law, strict=True)))
                value = mp.mpf(sp.N(exact, 60)._to_mpmath(220))
            assert contains(ball, value, 1e-55)
            assert ball.rel_accuracy_bits() > 85
            assert not contains(ball, value * (1 + mp.mpf(10) ** -24), 1e-55)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kernel", ["1e-8", "1e-12"])
def test_a_function_whose_terms_cancel_keeps_its_digits_for_nearly_equal_inputs(kernel):
    """Here z - tanh(z) = z**3/3 - 2*z**5/15 + ..., whose moments are those of Isserlis."""
    K, rho = mp.mpf(kernel), 1 - mp.mpf("1e-6")
    found = sr.expect2("z-tanh(z)", "z-tanh(z)").evalf(
        16, K1=kernel, K2=kernel, C=sp.Rational(kernel) * (1 - sp.Rational(1, 10**6))
    )
    third = K**3 * (9 * rho + 6 * rho**3) / 9
    fifth = -2 * 2 * K**4 * (45 * rho + 60 * rho**3) / 45  # <z1**3 z2**5> twice
    assert abs(found / (third + fifth) - 1) < 1e-14


# ------------------------------------------------------------------------------------- roots at the end of a panel
def root_of_distance(m, K):
    """<|z - m|^p> is (2 K)^(p/2) Gamma((1 + p)/2) 1F1(-p/2, 1/2, -m^2/(2 K))/sqrt(pi), here for p = 1/2."""
    scale = (2 * K) ** mp.mpf("0.25") * mp.gamma(mp.mpf("0.75")) / mp.sqrt(mp.pi)
    return scale * mp.hyp1f1(mp.mpf("-0.25"), mp.mpf("0.5"), -(m**2) / (2 * K))


@pytest.mark.exhaustive
@pytest.mark.parametrize("digits", [25, 60, 200])
def test_a_root_away_from_zero(digits):
    """Beside -1/2 the panels get narrower than what a few bits of their ends can tell."""
    found, radius = sr.expect(sp.sqrt(sp.Abs(z)), mean=R(1, 2)).enclosure(digits, K="17/10")
    with mp.workdps(digits + 10):
        exact = root_of_distance(mp.mpf(1) / 2, mp.mpf(17) / 10)
        assert abs(found - exact) <= radius <= exact * mp.mpf(10) ** -digits


@pytest.mark.sample(2)
@pytest.mark.parametrize(("place", "steepness"), [("11/4", 215), ("-5/3", 215), ("11/4", 30000), ("7", 30000)])
def test_a_narrow_peak_is_found_wherever_it_lies(place, steepness):
    """The slope of a steep sigmoid many deviations out: what it is searched from lies hundreds of bits below it."""
    slope = sr.derivative(sr.expect(f"1/(1+exp(-{steepness}*(z-({place}))))"), "K")
    with panel_budget(100):
        found = slope.evalf(20, K="9/250")
    with mp.workdps(30):
        K, top = mp.mpf(9) / 250, mp.mpf(R(place).p) / R(place).q

        def integrand(y):  # of y = steepness*(z - place)
            x = top + y / steepness
            return x * mp.sech(y / 2) ** 2 / 4 * mp.exp((top**2 - x**2) / (2 * K))

        scale = mp.npdf(top, 0, mp.sqrt(K)) / (2 * K)
        exact = scale * mp.quad(integrand, mp.linspace(-200, 200, 101))
        assert abs(found / exact - 1) < mp.mpf(10) ** -18


def test_a_root_takes_few_panels():
    factor = split(sp.sqrt(sp.Abs(z + R(1, 2))))
    with panel_budget(150):
        assert average_ball((factor,), (to_ball(R(17, 10), 120),), 100).rel_accuracy_bits() > 95


def test_an_end_that_is_not_known_better_is_not_halved_for_ever():
    """The ends of panels are balls: halving stops where it gains nothing, and more bits are tried."""
    found = sr.expect(sp.sqrt(sp.Abs(z - sp.sqrt(2)))).evalf(40, K=1)
    with mp.workdps(50):
        assert abs(found - root_of_distance(mp.sqrt(2), mp.mpf(1))) < mp.mpf(10) ** -39


@pytest.mark.sample(2)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("variances", [("100", "100"), ("100", "400"), ("3/7", "0.11"), ("1e6", "1e6")])
def test_parallel_inputs_are_one_variable(variances, side):
    """A bump and a kink, in closed form and not, where one input is a multiple of the other."""
    one, other = map(sp.Rational, variances)
    ratio = side * sp.sqrt(other / one)
    bumps = {
        "exp(-z^2/2)": lambda x: mp.exp(-x * x / 2),
        "exp(-z^2/2)*tanh(z)": lambda x: mp.exp(-x * x / 2) * mp.tanh(x),
    }
    for bump, f in bumps.items():
        found = sr.expect2(f"{bump} + max(z-1,0)", f"{bump} + max(z-1,0)").evalf(
            20, K1=one, K2=other, C=side * sp.sqrt(one * other)
        )
        with mp.workdps(40):
            slope = mp.mpf(sp.N(ratio, 40))

            def whole(x, f=f, slope=slope):
                return (f(x) + max(x - 1, 0)) * (f(slope * x) + max(slope * x - 1, 0))

            true = average_of(whole, one, (1, 1 / slope))
            assert abs(found - true) < mp.mpf(10) ** -17 * (1 + abs(true))


def test_numbers_whose_roots_sympy_cannot_take():
    """At K = 1e-12 the root of 2250000000021000000000013, of which sympy finds two factors that are no primes."""
    quantity = sr.expect("(erf(2*z+1)*exp(-z^2/3)+max(z-1,0))^2")
    for kernel in ("1e-12", "3e-15", "1e-17"):
        true = average_of(lambda x: (mp.erf(2 * x + 1) * mp.exp(-(x**2) / 3)) ** 2, kernel)
        with mp.workdps(30):
            assert abs(quantity.evalf(20, K=kernel) - true) < mp.mpf(10) ** -19


# <cos z1 cos z2> = exp(-(K1 + K2)/2)*cosh(C)
@pytest.mark.parametrize(
    ("middle", "radius"),
    [((1.0, 0.0, 1.0), (0.5, 0.0, 0.0)), ((1.0, 0.5, 1.0), (0.0, 0.2, 0.0)), ((1.5, 0.0, 1.0), (0.0, 0.0, 0.25))],
)
def test_a_law_that_is_not_known_moves_an_average_by_its_drift(middle, radius):
    ball = tuple(arb(m, r) for m, r in zip(middle, radius, strict=True))
    bound = float(perturbation_bound((split(sp.cos(z)),) * 2, ball, 60))

    def value(k1, c, k2):
        return math.exp(-(k1 + k2) / 2) * math.cosh(c)

    ends = [tuple(m + s * r for m, r in zip(middle, radius, strict=True)) for s in (-1, 1)]
    moved = max(abs(value(*end) - value(*middle)) for end in ends)
    assert moved <= bound <= 10 * moved


@pytest.mark.parametrize("tolerance", [-30, -200])
def test_beyond_its_ends_a_function_has_next_to_no_mean_square(tolerance):
    law = law_of((arb(3), arb(1), arb(2)))
    side = _Marginal(compile_pieces(split(sp.cosh(z))), Weight(law.k1, law.scale1))
    low, high = (float(end * law.scale1) for end in side.ends(tolerance, 64))
    with mp.workdps(90):
        left, right = ([-80, low], [high, 80])
        rest = sum(mp.quad(lambda x: mp.cosh(x) ** 2 * mp.npdf(x, 0, mp.sqrt(3)), span) for span in (left, right))
        assert 2 * tolerance - 40 < mp.log(mp.sqrt(rest), 2) < tolerance


@pytest.mark.parametrize("power", ["1/3", "3/2"])
def test_roots_beyond_a_breakpoint_at_tiny_variances(power):
    """2^40 standard deviations are less than the distance of the breakpoint: 1 + p(p-1)K/2 there."""
    assert sr.expect(f"abs(z-1)^({power})").evalf(K="1e-30") == pytest.approx(1, abs=1e-15)
    p = sp.Rational(power)
    expected = float(p * (p - 1) / 2)
    assert (sr.expect(f"abs(z-1)^({power})").evalf(40, K="1e-12") - 1) / 1e-12 == pytest.approx(expected, rel=1e-9)
