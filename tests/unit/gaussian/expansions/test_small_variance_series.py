"""The exact small-variance series: known coefficients, and the size of the first neglected term."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import split
from symres.core.symbols import C_W, K, z
from symres.gaussian.expansions.variance_series import small_variance
from symres.results.quantity import Status
from tests.oracles.average import average_of

R = sp.Rational
alpha, beta = sp.symbols("alpha beta", positive=True)
SOFTPLUS = sp.log(1 + sp.exp(z))
HALF = sp.sqrt(2 / sp.pi)

KNOWN = {
    "tanh^2": (sp.tanh(z) ** 2, {1: 1, 2: -2, 3: R(17, 3), 4: R(-62, 3)}),
    "tanh'^2": (sp.diff(sp.tanh(z), z) ** 2, {0: 1, 1: -2, 2: 7, 3: R(-94, 3)}),
    "gauss": (sp.exp(-(z**2)), {0: 1, 1: -1, 2: R(3, 2), 3: R(-5, 2)}),
    "z^6": (z**6, {3: 15}),
    "softsign^2": ((z / (1 + sp.Abs(z))) ** 2, {1: 1, R(3, 2): -4 * HALF, 2: 9, R(5, 2): -32 * HALF, 3: 75}),
    "elu": (sp.Piecewise((z, z > 0), (sp.exp(z) - 1, True)), {1: R(1, 4), R(3, 2): -HALF / 6, 2: R(1, 16)}),
    "hard_tanh^2": (sp.Max(-1, sp.Min(1, z)) ** 2, {1: 1}),
    "shifted step": (sp.Heaviside(z - 1), {}),
    "shifted step back": (sp.Heaviside(z + 1), {0: 1}),
    "sign": (sp.sign(z), {}),
    "leaky^2": (sp.Piecewise((z, z > 0), (alpha * z, True)) ** 2, {1: (1 + alpha**2) / 2}),
    "swish^2": ((z / (1 + sp.exp(-beta * z))) ** 2, {1: R(1, 4), 2: 3 * beta**2 / 16}),
    "snake": (z + sp.sin(alpha * z) ** 2 / alpha, {1: alpha, 2: -(alpha**3)}),
    "z + |z|^(3/2), squared": (
        (z + sp.sign(z) * sp.Abs(z) ** R(3, 2)) ** 2,
        {1: 1, R(5, 4): 3 * 2 ** R(1, 4) * sp.gamma(R(3, 4)) / sp.sqrt(sp.pi), R(3, 2): 2 * HALF},
    ),
    "root of a root": (
        sp.sqrt(sp.Abs(z) + sp.Abs(z) ** R(3, 2)),
        {
            R(1, 4): 2 ** R(1, 4) * sp.gamma(R(3, 4)) / sp.sqrt(sp.pi),
            R(1, 2): HALF / 2,
            R(3, 4): -(2 ** R(3, 4)) * sp.gamma(R(1, 4)) / (32 * sp.sqrt(sp.pi)),
            1: R(1, 16),
        },
    ),
    "root in a root": (
        sp.sqrt(sp.Abs(z) + sp.sqrt(sp.Abs(z))),
        {
            R(1, 8): 2 ** R(1, 8) * sp.gamma(R(5, 8)) / sp.sqrt(sp.pi),
            R(3, 8): 2 ** R(3, 8) * sp.gamma(R(7, 8)) / (2 * sp.sqrt(sp.pi)),
        },
    ),
    "clipped": (sp.Max(-alpha, sp.Min(alpha, z)) ** 2, {1: 1}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_coefficients(name):
    formula, known = KNOWN[name]
    order = int(sp.ceiling(max(known, default=2)))
    found = dict(small_variance(split(formula), order))
    known = {sp.Rational(k): v for k, v in known.items()}
    assert {k for k in found if k <= max(known, default=2)} == set(known)
    for exponent, coefficient in known.items():
        assert sp.simplify(found[exponent] - coefficient) == 0


# kinks only at 0
FORMULAS = [
    SOFTPLUS**2,
    sp.tanh(z + 1),
    sp.sqrt(2 + sp.sin(z)),
    (2 + z) ** R(-1, 3) * sp.exp(z),
    sp.atan(z + 1) ** 2,
    sp.asinh(2 * z) ** 2,
    sp.erfc(z + 1) * sp.erfi(z),
    sp.cos(z + R(1, 3)) / sp.cosh(z),
    2**z,
    z / 2 * (1 + sp.tanh(sp.sqrt(2 / sp.pi) * (z + R(44715, 10**6) * z**3))),
    sp.Piecewise((z, z > 0), (sp.exp(z) - 1, True)) ** 2,
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_the_remainder_is_as_small_as_the_first_term_left_out(formula):
    terms = small_variance(split(formula), 4)
    with mp.workdps(60):
        K = mp.mpf("1e-8")
        value = average_of(formula, K, digits=45)
        total = sum(mp.mpf(sp.N(c, 60)._to_mpmath(200)) * K ** (mp.mpf(e.p) / e.q) for e, c in terms)
        room = 3e4 * K ** mp.mpf("4.5")
        assert abs(value - total) < room
        assert abs(value - total - 10 * K**4) > room  # sabotage: it would see a wrong last coefficient


def test_a_high_order_is_exact_and_quick():
    exponent, coefficient = small_variance(split(sp.tanh(z) ** 2), 20)[-1]
    assert exponent == 20
    # an independent route: Taylor coefficients of tanh**2 from the Bernoulli numbers, times the moment 39!!
    tanh = [
        R(2 ** (2 * n) * (2 ** (2 * n) - 1)) * sp.bernoulli(2 * n) / sp.factorial(2 * n) for n in range(1, 21)
    ]  # coefficient of z**(2n-1)
    square = sum(tanh[i] * tanh[19 - i] for i in range(20))  # of z**40
    assert coefficient == square * sp.factorial2(39)


# jumps, kinks and what is smooth; the averages of derivatives stand over powers of K
DERIVED = [
    "erf(z) + step(z)",
    "sin(z) + sign(z)",
    "exp(z)*step(z)",
    "where(z > 0, exp(z), sin(z))",
    "where(z > 0, cos(z), -tanh(z))",
    "tanh(abs(z))",
    "erf(abs(z)) + z",
    "exp(-abs(z))",
    "elu(alpha=1)",
    "selu",
    "softsign",
    "gelu",
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("skip", [False, True], ids=["mlp", "residual"])
@pytest.mark.parametrize("formula", DERIVED)
def test_a_quantity_differs_from_its_series_by_less_than_the_last_order(formula, skip, order):
    """Between two kernels a hundredfold apart the difference falls by more than that order says."""
    theory = sr.derive(sr.residual(formula) if skip else sr.mlp(formula))
    named = [theory.kernel_map, theory.chi_parallel, theory.chi_perp, theory.h]
    infinite = [q for q in named if q.status is Status.UNKNOWN or q.body.has(sp.oo)]
    assert {q.name for q in infinite} in (set(), {"chi_perp", "h"})  # where it jumps
    for quantity in named:
        if quantity in infinite:
            continue
        series = quantity.series(order)
        numbers = {symbol.name: R(3, 4) for symbol in quantity.symbols[1:]}
        with mp.workdps(60):
            far, near = (
                abs(quantity.evalf(50, K=K, **numbers) - series.evalf(50, K=K, **numbers))
                for K in (R(1, 10**6), R(1, 10**8))
            )
            assert near <= far * mp.mpf(100) ** -(order + 0.4), quantity.name


def test_the_series_of_a_jump_and_a_slope():
    """By hand: <erf^2> + 2 <erf step> + <step^2> with <erf(z) step(z)> = atan(sqrt(2 K))/pi."""
    terms = sr.derive("erf(z) + step(z)").chi_parallel.series(3).body.subs(C_W, 1)
    root = sp.Dummy("root", positive=True)
    kernel = 2 / sp.pi * sp.asin(2 * root**2 / (1 + 2 * root**2)) + 2 / sp.pi * sp.atan(sp.sqrt(2) * root)
    slope = sp.series(kernel.diff(root) / (2 * root), root, 0, 8).removeO()
    expected = sum(slope.coeff(root, n) * K ** R(n, 2) for n in range(-1, 7))
    assert sp.simplify(terms - expected) == 0
    assert sp.expand(terms).coeff(K, 3) == -192 / sp.pi


@pytest.mark.parametrize("formula", ["z + z^7", "z - max(z,0)^6/100", "z + tanh(z^7)"])
def test_a_first_term_far_behind_the_last_is_found(formula):
    assert "1e-12 up to K = " in sr.derive(formula).kernel_map.series(1).reason


def test_what_is_below_every_power_is_said():
    assert "vanishes" in sr.expect("step(z-1)").series(2).reason
    assert sr.expect("hard_tanh(z)^2").series(2).body == K  # but for exp(-1/2K)
    assert "1e-12 up to K = 1e-2" in sr.expect("hard_tanh(z)^2").series(2).reason


def test_the_deviation_of_a_series_without_terms_is_absolute():
    """The average is exponentially small, and all of it is what the series leaves out."""
    quantity = sr.expect("max(z-1,0)^2")
    series = quantity.series(3)
    assert series.body == 0
    assert series.verified.points == 3
    # K falls from 1 by factors of 16; the first place that passes is the worst: there the average is below 1e-14
    worst = max(v for v in (quantity.evalf(20, K=R(1, 16**k)) for k in range(4)) if v < 1e-14)
    assert series.verified.worst == pytest.approx(float(worst), rel=1e-12)
    assert 1e-15 > series.verified.worst >= 0


def test_a_mean_of_either_sign_at_variance_zero():
    m = sp.Symbol("m", real=True)
    elu, sign = sr.expect("elu", mean=m), sr.expect("sign", mean=m)
    assert abs(elu.evalf(20, K=0, m=-1, alpha=1) - (mp.exp(-1) - 1)) < 1e-15
    assert elu.evalf(20, K=0, m=2, alpha=1) == 2
    assert [sign.evalf(20, K=0, m=at) for at in (-2, 0, 1)] == [-1, 0, 1]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "mean", "slope"), [("tanh", 1, 4), ("mish", 1, 4), ("silu", 1, 6), ("softplus", 1, 6)]
)
def test_higher_derivatives_at_kernel_zero(name, mean, slope):
    """The n-th derivative of <f(z + m)> in K is f^(2n)(m)/2^n at K = 0: averages stand over powers of K there."""
    quantity = sr.expect(name, mean=mean)
    for _ in range(slope // 2):
        quantity = sr.derivative(quantity, "K")
    formula = sr.activation(name).pieces.parts[0]
    true = sp.N(formula.diff(z, slope).subs(z, mean) / 2 ** (slope // 2), 30)
    assert abs(quantity.evalf(20, K=0) - mp.mpf(str(true))) < mp.mpf(10) ** -14


@pytest.mark.sample(1)
@pytest.mark.parametrize("form", ["z**2/(1 + a)", "Max(z, 0)/(1 + a)", "z*tanh(z)/(1 + exp(-a))"])
def test_coefficients_with_sums_as_denominators(form):
    a = sp.Symbol("a", positive=True)
    expr = sp.sympify(form, locals={"a": a, "z": z})
    quantity = sr.expect(sr.Activation("f", expr, (a,)))
    small, large = quantity.series(3), quantity.asymptotics(2)
    with mp.workdps(25):
        assert abs(small.evalf(20, K="1e-9", a=3) / quantity.evalf(20, K="1e-9", a=3) - 1) < mp.mpf(10) ** -18
        assert abs(large.evalf(20, K="1e9", a=3) / quantity.evalf(20, K="1e9", a=3) - 1) < mp.mpf(10) ** -18


@pytest.mark.exhaustive
def test_a_series_without_terms_is_compared_with_what_is_left_out():
    """Powers a quarter apart, none of them kept; <log(1 + |z|)> = sqrt(2K/pi) - K/2 + ... by hand."""
    perp = sr.derive("z*log(1+sqrt(abs(z)))").chi_perp
    assert perp.series(0).expr == 0
    lead = sp.expand(perp.series(1).expr).coeff(sp.sqrt(K))
    assert float(lead / C_W) == pytest.approx(9 / 4 * float(mp.sqrt(2 / mp.pi)), rel=1e-15)
    assert sr.expect("log(1+abs(z))").series(0).expr == 0


def test_roots_of_what_vanishes_fast_have_no_low_powers():
    """sqrt(|z|^9 + z^10) begins with |z|^(9/2): K^(9/4) E|x|^(9/2)."""
    average = sr.expect("sqrt(abs(z)^9+z^10)")
    assert average.series(2).expr == 0
    lead = sp.expand(average.series(3).expr).coeff(K ** R(9, 4))
    assert float(lead) == pytest.approx(float(2 ** mp.mpf(2.25) * mp.gamma(2.75) / mp.sqrt(mp.pi)), rel=1e-14)
