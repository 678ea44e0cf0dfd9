"""The canonical form: equal values give equal text, roots keep their signs, scales are collected."""

import pickle

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, K1, K2, C, C_b, K, gamma, x1, xi
from symres.gaussian.algebra.canonical import canonical, textbook

R = sp.Rational
A = sp.Symbol("a", real=True)
B = sp.Symbol("b", negative=True)
GELU = K / 4 + K * (sp.asin(K / (K + 1)) + 2 * K / ((K + 1) * sp.sqrt(2 * K + 1))) / (2 * sp.pi)
DET = (1 + K1) * (1 + K2) - C**2
RELU2 = C / 4 + (C * sp.asin(C / sp.sqrt(K1 * K2)) + sp.sqrt(K1 * K2 - C**2)) / (2 * sp.pi)

EXPRESSIONS = [
    GELU,
    GELU.diff(K),
    GELU.diff(K, 2),
    RELU2,
    RELU2.diff(C),
    RELU2.diff(K1),
    sp.asin(C / sp.sqrt((1 + K1) * (1 + K2))).diff(K1),
    sp.sqrt(DET**3) / DET,
    1 / sp.sqrt(DET / (K1 * K2)),
    sp.sin(K) ** 2 * sp.exp(-K),
    sp.exp(-(K1 + K2) / 2) * sp.sinh(C) ** 2,
    sp.exp(2 * K) * sp.erfc(sp.sqrt(2 * K)) / 2 - sp.exp(K / 2) * sp.erfc(sp.sqrt(K / 2)),
    1 / (1 + sp.sqrt(K)) + 1 / (1 - sp.sqrt(2) * sp.sqrt(K)),
    1 / (1 + sp.exp(K)) + 1 / (2 + 2 * sp.exp(K)),
    sp.acos(K / (K + 1)),
    sp.erf(-sp.sqrt(K)) + sp.atan(-A * K),
    sp.sqrt(A**2 * K) + sp.sqrt(B**2),
    sp.sqrt(4 - K) / (K - 4),
    sp.sqrt((K - 1) ** 2) * sp.sqrt(K / (K - 1) ** 2),
    sp.sqrt((A - 1) / (A - 2)),
    sp.Abs(A) + sp.Abs(K1 * B) + sp.Abs(A - 3) ** 3,
    K ** R(1, 3) * K ** R(2, 3) + K**A,
    sp.log(2 * K) * sp.exp(sp.log(2) * K),
    sp.Max(K, 1) + sp.Piecewise((K, A > 0), (1, True)),
    sp.besselj(0, 2 * K + K) * sp.Function("f")(K + K * A),
    sp.Integral(sp.exp(-(x1**2)) * K, (x1, 0, 1)) * GELU,
    sp.exp(K * sp.cos(K)) * sp.tanh(-K),
    sp.sqrt(3 + 2 * sp.sqrt(2)) * K,
    C_b + C_W * GELU + K * gamma**2,
]
VALUES = {K: R(13, 10), K1: R(6, 5), K2: R(7, 10), C: R(-3, 10), A: R(2, 7), B: R(-3, 2)} | {
    gamma: R(3, 5),
    C_W: R(11, 10),
    C_b: R(1, 3),
    xi: R(2, 3),
}


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=lambda e: str(e)[:30])
def test_the_value_stays_and_canonical_twice_is_canonical_once(expr: sp.Expr) -> None:
    result = canonical(expr)
    assert abs(sp.N((result - expr).subs(VALUES).doit(), 30)) < 10**-27
    assert canonical(result) == result
    assert pickle.loads(pickle.dumps(result)) == result


@pytest.mark.sample(21)
@pytest.mark.parametrize(
    "other",
    [sp.expand, sp.together, lambda e: sp.expand(e) * (1 + K) / (1 + K), lambda e: sp.factor(sp.expand(e))],
    ids=["expand", "together", "times one", "factor"],
)
@pytest.mark.parametrize("expr", EXPRESSIONS[:12], ids=lambda e: str(e)[:30])
def test_other_ways_to_write_it_give_the_same(expr: sp.Expr, other: object) -> None:
    assert canonical(other(expr)) == canonical(expr)  # type: ignore[operator]


ZEROS = [
    sp.cosh(C) ** 2 - sp.sinh(C) ** 2 - 1,
    sp.sin(K) ** 2 + sp.cos(K) ** 2 - 1,
    sp.erf(K) + sp.erfc(K) - 1,
    sp.asin(K / (K + 1)) + sp.acos(K / (K + 1)) - sp.pi / 2,
    1 / (1 + sp.sqrt(K)) - (1 - sp.sqrt(K)) / (1 - K),
    1 / (sp.exp(K) + K) - 2 / (2 * sp.exp(K) + 2 * K),
    sp.sqrt(DET) * sp.sqrt(DET / (K1 + 1)) * sp.sqrt(K1 + 1) - DET,
    sp.sqrt(6) * sp.sqrt(K) - sp.sqrt(2 * K) * sp.sqrt(3),
    sp.sqrt((K1 * K2 - C**2) / (K1 * K2)) - sp.sqrt(1 - C**2 / (K1 * K2)),
    sp.exp(K) * sp.exp(-K) - 1,
]


@pytest.mark.parametrize("expr", ZEROS, ids=lambda e: str(e)[:30])
def test_zeros_are_found(expr: sp.Expr) -> None:
    assert canonical(expr) == 0
    assert canonical(expr + K / 10**9) != 0


def test_scales_are_collected_and_not_multiplied_out() -> None:
    assert str(canonical(gamma**2 + C_W * GELU.diff(K))) == (
        "C_W*((K*(4*K**2 + 11*K + 5)/((K + 1)**2*(2*K + 1)**(3/2)) + asin(K/(K + 1)))/(2*pi) + 1/4) + gamma**2"
    )
    collected = canonical(sp.expand(C_b + C_W * GELU + K * gamma**2))
    assert str(collected) == f"C_W*({canonical(GELU)}) + C_b + K*gamma**2"
    assert str(canonical(xi**2 * (C_b + C_W * K / 2))) == "C_W*K*xi**2/2 + C_b*xi**2"


def test_a_scale_inside_a_function_is_a_symbol_like_others() -> None:
    expr = C_b + C_W * sp.asin(C_W * K / (1 + C_W * K))
    assert canonical(sp.expand(expr) - expr) == 0
    assert canonical(C_W / (1 + C_W) + gamma**2) == C_W / (1 + C_W) + gamma**2


LONG = (10**40 + 121) * (10**41 + 63)  # under a root it takes no time
SIMPLER = [
    (sp.sqrt(K**2 * (1 + K) / 4), K * sp.sqrt(1 + K) / 2),
    (sp.sqrt(B**2 * K), -B * sp.sqrt(K)),
    (sp.sqrt(B * (B - 1)), sp.sqrt(-B) * sp.sqrt(1 - B)),  # negative twice: the naive split has sqrt(-1)^2 = -1
    (sp.I**2 * K, -K),
    ((1 + sp.I) * (1 - sp.I), 2),
    (sp.exp(sp.I * K) + sp.exp(-sp.I * K), 2 * sp.cos(K)),
    (1 / (1 + sp.I), R(1, 2) - sp.I / 2),
    (sp.Float(0.5) * K, K / 2),
    (sp.sqrt(R(LONG**2, 4)), R(LONG, 2)),
    (sp.Pow(LONG, R(1, 2), evaluate=False) ** 2, LONG),
]


@pytest.mark.parametrize(("expr", "simpler"), SIMPLER, ids=lambda e: str(e)[:30])
def test_it_is_written_more_simply(expr: sp.Expr, simpler: sp.Expr) -> None:
    assert canonical(expr) == simpler


def test_roots_of_unknown_sign_are_not_split() -> None:
    for value in (R(1, 3), R(5, 2)):
        assert canonical(sp.sqrt((K - 1) ** 2)).subs(K, value) == abs(value - 1)
        assert canonical(sp.sqrt(4 * A**2)).subs(A, -value) == 2 * value
    assert canonical(2 / sp.sqrt(4 - K)) == 2 / sp.sqrt(4 - K)


def test_long_integers_whose_factors_are_near_each_other() -> None:
    """Such factors are found without being tested: 1.14 of sympy takes them for primes, and fails."""
    one, other = 64 * 10**60 + 7, 64 * 10**60 + 301
    assert canonical(sp.sqrt(K / (one * other))).subs(K, one * other) == 1
    assert canonical(sp.sqrt(R(12 * one**2, 5))) == 2 * one * sp.sqrt(R(3, 5))


def test_equal_sums_of_waves_get_the_same_text() -> None:
    one = (
        sp.exp(K) * sp.sin((C - K1) * (K2 + C)) * sp.erf((C - K1) * (K2 + A))
        + sp.exp(-C * A + K2) * (1 - sp.erf(K)) ** 2
    )
    two = -sp.exp(K) * sp.sin(sp.expand((K1 - C) * (K2 + C))) * sp.erf(sp.expand((C - K1) * (K2 + A)))
    two += sp.expand(sp.exp(K2) * sp.exp(-C * A) * (sp.erf(-K) + 1) ** 2)
    assert canonical(one) == canonical(two)
    assert str(canonical(one)) == str(canonical(two))


@pytest.mark.exhaustive
def test_exponentials_join_only_where_that_makes_fewer_terms():
    assert sr.expect2("cosh(z)", "exp(z)").expr == sp.exp(K1 / 2 + K2 / 2) * sp.cosh(C)
    bump = sr.expect2("exp(-abs(z))", "exp(-abs(z))").expr
    assert len(sp.Add.make_args(bump)) == 2
    assert not bump.has(sp.cosh, sp.sinh)
    assert not sr.expect2("hard_tanh", "elu").expr.has(sp.cosh, sp.sinh)


D = K1 * K2 - C**2
QUOTIENTS = {
    1 / (1 + K) + 1 / (1 + 2 * K): (2 + 3 * K) / ((1 + K) * (1 + 2 * K)),
    K / (1 + K) + 1 / (1 + K): sp.Integer(1),
    1 / (2 + 2 * K) + 1 / (3 + 3 * K): 5 / (6 * (1 + K)),
    1 / K - 1 / (K * (1 + K)): 1 / (1 + K),
    (K**2 - 1) / ((K + 1) * (1 + 2 * K)): (K - 1) / (1 + 2 * K),
    1 / (sp.sqrt(K) + 1) + 1 / (sp.sqrt(K) - 1): 2 * sp.sqrt(K) / (K - 1),
    1 / ((1 + K) * sp.sqrt(1 + 2 * K)) + sp.sqrt(1 + 2 * K) / (1 + K) ** 2: (2 + 3 * K)
    / ((1 + K) ** 2 * sp.sqrt(1 + 2 * K)),
    K1 / D + K2 / D**2: (K1 * D + K2) / D**2,
}


@pytest.mark.parametrize("expr", QUOTIENTS, ids=lambda e: str(e)[:30])
def test_a_sum_of_quotients_has_one_denominator(expr: sp.Expr) -> None:
    result = canonical(expr)
    assert canonical(result - QUOTIENTS[expr]) == 0
    above, below = sp.fraction(result)
    assert sp.cancel((below / sp.fraction(QUOTIENTS[expr])[1]) ** 2).is_number
    assert not any(p.exp.is_negative for p in above.atoms(sp.Pow))


def test_beside_a_function_the_rest_has_one_denominator() -> None:
    rest = K / 4 + 1 / (1 + K)
    result = canonical(rest + sp.asin(K / (1 + K)) / (1 + 2 * K))
    assert result - sp.asin(K / (1 + K)) / (1 + 2 * K) == canonical(rest)
    assert str(canonical(rest)) == "(K**2 + K + 4)/(4*(K + 1))"


def test_a_quotient_by_a_sum_of_several_roots_stays_one():
    """Free of roots, its denominator would take dozens of powers."""
    x = sp.Symbol("x", positive=True)
    below = 3 + sp.sqrt(1 + x) + sp.sqrt(1 + 2 * x)
    quotient = (sp.sqrt(1 + x) * (1 + x) + 2) / below**2 + 1 / below
    found = textbook(quotient)
    assert found.count_ops() < 30
    assert canonical(found - quotient) == 0
    assert canonical(found * (1 + sp.Rational(1, 10**9)) - quotient) != 0
    for plain in ((1 + x) / sp.sqrt(1 + x), (1 + sp.sqrt(x)) ** 2, 1 / (1 + x) - 1):
        assert textbook(plain) == canonical(plain)
