"""The expansion for large K: known coefficients, numbers of another source, its range, what it refuses, sabotage."""

from dataclasses import replace

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import split
from symres.core.errors import NoClosedForm
from symres.core.symbols import C_W, K, xi, z
from symres.functions.balls import evaluate
from symres.gaussian.expansions.tail_decomposition import split_right_tail
from symres.gaussian.expansions.variance_series import large_variance, log_free_order
from tests.oracles.average import average_of

R = sp.Rational
ROOT = sp.sqrt(2 / sp.pi)
SIGMOID = 1 / (1 + sp.exp(-z))
SOFTPLUS = sp.log(1 + sp.exp(z))
beta = sp.Symbol("beta", positive=True)

# by hand: integral (tanh^2 - 1) = -2, integral z^2/cosh(z)^2 = pi^2/6, integral z^2 sigmoid (1 - sigmoid) = pi^2/3, ...
KNOWN = {
    "tanh^2": (sp.tanh(z) ** 2, {0: 1, R(-1, 2): -ROOT, R(-3, 2): ROOT * sp.pi**2 / 24}),
    "sigmoid": (SIGMOID, {0: R(1, 2)}),
    "swish": (z / (1 + sp.exp(-beta * z)), {R(1, 2): ROOT / 2, R(-1, 2): -ROOT * sp.pi**2 / 12 / beta**2}),
    "elu": (sp.Piecewise((z, z > 0), (sp.exp(z) - 1, True)), {R(1, 2): ROOT / 2, 0: -R(1, 2), R(-1, 2): ROOT / 2}),
    "gauss": (sp.exp(-(z**2)), {R(-1, 2): 1 / sp.sqrt(2), R(-3, 2): -sp.sqrt(2) / 8}),
    "tanh": (sp.tanh(z), {}),
    "steps": (sp.Heaviside(z - 1) + 2 * sp.Heaviside(z + 3), {0: R(3, 2), R(-1, 2): 5 / sp.sqrt(2 * sp.pi)}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_coefficients(name):
    formula, known = KNOWN[name]
    found = {e: c for e, c in large_variance(split(formula), 2) if e >= min(map(sp.sympify, known), default=-9)}
    assert found.keys() == set(map(sp.sympify, known))
    for exponent, coefficient in known.items():
        assert sp.simplify(found[sp.sympify(exponent)] - coefficient) == 0


def test_waves_that_decay_have_an_expansion():
    """sqrt(2/(pi K)) times the integral of exp(-x) cos(2 x), 1/5, minus that of x^2 exp(-x) cos(2 x)/2 over K."""
    found = sr.expect("exp(-abs(z))*cos(2*z)").asymptotics(2)
    second = (2 * sp.re(1 / (1 - 2 * sp.I) ** 3) / 2).expand(complex=True)
    for kernel in (10**4, 10**6):
        true = sp.sqrt(2 / (sp.pi * kernel)) * (R(1, 5) - second / kernel)
        with mp.workdps(35):
            assert abs(found.evalf(30, K=kernel) - mp.mpf(str(sp.N(true, 35)))) < mp.mpf(10) ** -30


FORMULAS = [
    sp.tanh(z),
    sp.tanh(SOFTPLUS),
    z * SIGMOID,
    SOFTPLUS**3,
    sp.sqrt(1 + sp.exp(-z)) * z,
    sp.exp(-z) * (z**3 + 1),
    1 / (1 + sp.exp(z) * z),
    sp.log(3 + sp.exp(2 * z) * 5),
    sp.erfc(-z) ** 2 * z,
    sp.diff(z * sp.tanh(SOFTPLUS), z) ** 2,
    sp.tanh(1 + sp.exp(-z)),
    sp.exp(-sp.exp(z)) + sp.cosh(z) / sp.sinh(z),
    sp.exp(-z) * sp.cos(2 * z) ** 2 * z + 3 * z,
]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_polynomial_and_rest_make_up_the_formula(formula):
    main, rest = split_right_tail(formula)
    assert main.is_polynomial(z)
    for place in (R(1, 3), R(7, 2), R(20)):
        whole, _ = evaluate(formula.subs(z, place), {}, 40)
        parts, _ = evaluate((main + rest).subs(z, place), {}, 40)
        assert abs(whole - parts) <= abs(whole) * mp.mpf(10) ** -35
    small = [abs(evaluate(rest.subs(z, place), {}, 20)[0]) for place in (R(20), R(40))]
    assert small[1] < mp.mpf(10) ** -12 and small[1] < small[0] * mp.mpf(10) ** -6


@pytest.mark.parametrize(
    ("formula", "order"),
    [
        ((1 + sp.Abs(z)) ** -4, R(3, 2)),
        ((1 + sp.Abs(z)) ** -3, R(1)),
        (1 / (1 + z**2), R(1, 2)),
        ((1 + z**2) ** -3, R(5, 2)),
        (z**2 / (1 + z**2) + 3 * z**2, R(1, 2)),
        (sp.Piecewise((sp.Abs(z), sp.Abs(z) < 2), (1 + 16 / z**4, True)), R(3, 2)),
        (sp.Abs(z) / (1 + sp.Abs(z)), R(0)),
        (sp.atan(z) ** 2, R(0)),
    ],
    ids=str,
)
def test_algebraic_tails_have_the_terms_before_the_first_logarithm(formula, order):
    """What is left falls like the next half power of 1/K, but for a logarithm."""
    factor = split(formula)
    assert log_free_order(factor) == order
    terms, function = large_variance(factor, order), sp.lambdify(z, formula, "mpmath")

    def rest(K):
        return abs(
            average_of(function, K, (-2, 2))
            - mp.fsum(mp.mpmathify(c.evalf(30)) * K ** mp.mpmathify(e) for e, c in terms)
        )

    with mp.workdps(25):
        near, far = (rest(mp.mpf(10) ** n) for n in (6, 8))
        assert near < 30 * mp.mpf(10) ** (-6 * (order + R(1, 2)))
        assert far < near * mp.mpf(10) ** (-2 * (order + R(1, 2))) * 2
    with pytest.raises(NoClosedForm, match="algebraic tails"):
        large_variance(factor, order + R(1, 2))


@pytest.mark.parametrize("order", [0, 1, 5])
def test_the_order_is_the_last_power(order):
    body = sr.expect("tanh(z)^2").asymptotics(order).body
    assert min(e for e in (t.as_coeff_exponent(K)[1] for t in sp.Add.make_args(body))) == min(0, R(1, 2) - order)


@pytest.mark.parametrize("formula", ["softplus(z + 1) - softplus(z - 1)", "2*sigmoid(z) - tanh(z/2)"])
def test_what_is_odd_about_a_constant_has_that_alone(formula):
    quantity = sr.expect(formula)
    assert quantity.asymptotics(2).expr == quantity.series(2).expr == quantity.expr == 1


def test_an_expansion_that_ends_is_exact():
    result = sr.expect("relu(z)^2").asymptotics(2)
    assert result.body == K / 2
    assert "no difference from numbers" in result.reason


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["kernel_map", "chi_parallel", "chi_perp"])
@pytest.mark.parametrize("activation", ["tanh", "gelu", "softplus"])
def test_quantities_of_a_layer(activation, name):
    quantity = getattr(sr.derive(activation), name)
    result = quantity.asymptotics(3)
    assert result.verified is not None and result.verified.oracle == "numbers"
    values = {s.name: R(3, 7) for s in quantity.symbols[1:]}
    truth, found = quantity.evalf(30, K=10**12, **values), result.evalf(30, K=10**12, **values)
    assert abs(truth - found) <= abs(truth) * mp.mpf(10) ** -20


def test_a_law_that_grows_inside_a_block():
    gelu = sr.activation("gelu")
    theory = sr.derive(sr.Layer(z + xi * sr.Dense(gelu(sr.Dense(z)))))
    result = theory.chi_perp.asymptotics(3)
    assert result.body.has(C_W)
    values = {s.name: R(3, 7) for s in theory.chi_perp.symbols[1:]}
    truth, found = (q.evalf(30, K=10**8, **values) for q in (theory.chi_perp, result))
    assert abs(truth - found) <= abs(truth) * mp.mpf(10) ** -25


@pytest.mark.exhaustive
def test_a_law_with_a_finite_limit_is_expanded_around_it():
    theory = sr.derive(sr.Layer(sr.Dense(sr.activation("gelu")(sr.Dense(sr.activation("tanh")(z))))))
    result = theory.kernel_map.asymptotics(1)
    errors = []
    for large in (10**6, 10**8):
        truth, found = (q.evalf(30, K=large, C_W="1.3", C_b="0.2") for q in (theory.kernel_map, result))
        errors.append(abs(truth - found))
    assert errors[0] < 1e-8
    assert errors[1] < errors[0] * mp.mpf(10) ** -2.9  # the first term left out is K**(-3/2)


CLAMPED = [
    "asin(min(1,max(-1,z)))",
    "sin(min(1,max(-1,z)))",
    "tanh(max(-1,min(2,z)))",
    "tanh(max(0,1-abs(z)))",
    "1/(1+max(0,1-abs(z)))",
    "log(1+max(0,1-z^2))",
    "where(z<-1,0,where(z<1,(1-z^2)*exp(z),0))",
    "1/max(1-z^2,1/100)",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", CLAMPED)
def test_a_rest_that_ends_at_a_breakpoint(formula):
    """The moments are those of a function that is a polynomial beyond some place."""
    quantity = sr.expect(f"({formula})^2")
    result = quantity.asymptotics(3)
    assert result.verified.worst < 1e-13
    for place in (10**8, 10**12):
        truth, found = quantity.evalf(32, K=place), result.evalf(32, K=place)
        assert 0 < abs(truth - found) < abs(truth) * 20 / mp.mpf(place) ** 3


def test_unchecked_expansions_make_no_statement():
    result = replace(sr.expect("silu(z)^2").asymptotics(3, checked=False))
    assert result.verified is None
    assert result.reason == "terms down to K**-3"
