"""What a closed form is held against: numbers, identities that each notice a wrong one by themselves, a second proof.

The second proof of a pair average replays, uses other averages, and a wrong form has none.
"""

import pickle

import mpmath as mp
import pytest
import sympy as sp
from sympy.core.cache import clear_cache

import symres as sr
from symres.activations.piecewise import split
from symres.activations.symmetries import is_odd
from symres.core.errors import NoClosedForm
from symres.core.symbols import K1, K2, C, K, x1, x2, z
from symres.functions.balls import evaluate
from symres.functions.records.gaussian_signs import S2
from symres.gaussian.closed_form.average import _verified
from symres.gaussian.closed_form.engine import closed_form
from symres.gaussian.closed_form.identities import _derivative, check_identities, identities
from symres.gaussian.closed_form.price_proof import price_proof
from symres.gaussian.closed_form.verification import verify, verify_odd

R = sp.Rational
PAIR = (K1, C, K2)
GELU = z * (1 + sp.erf(z / sp.sqrt(2))) / 2
PAIRS = {
    "gelu": (GELU, GELU),
    "kinks": (sp.Max(z, 1), sp.Max(z, 0)),
    "jump and kink": (sp.sign(z - 1), sp.Max(z, 0)),
    "jumps": (sp.sign(z - 1), sp.sign(z)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_right_forms_pass_and_say_by_what(name):
    factors = tuple(map(split, PAIRS[name]))
    claim = closed_form(factors, PAIR).result
    passed = check_identities(name, claim, factors, PAIR, 90, 1e-20)
    assert {v.oracle for v in passed} >= {"the derivation repeated with numbers", "independent inputs", "equal inputs"}
    assert len(passed) == 6
    assert all(v.worst <= 1e-20 for v in passed)
    theorems = [v.oracle for v in passed[1:4]]
    assert theorems == [
        "Stein's lemma",
        "Price's theorem" if name in ("gelu", "kinks") else "Stein's lemma",
        "Stein's lemma",
    ]


@pytest.mark.sample(11)
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("place", range(6))
def test_each_identity_notices_a_wrong_form_by_itself(name, place):
    factors = tuple(map(split, PAIRS[name]))
    claim = closed_form(factors, PAIR).result + K1 * K2 * (1 + C) / 10**9
    identity = list(identities(claim, factors, PAIR, 90))[place]
    options = dict(oracle=identity.oracle, points=1, tolerance=1e-20, digits=27)
    with pytest.raises(NoClosedForm, match="differs from"):
        verify(name, identity.formula, identity.measure, identity.kernels, **options)


def test_one_variable_and_its_parameters():
    a = sp.Symbol("a", positive=True)
    factors = (split(sp.Max(z, -a) ** 2),)
    claim = closed_form(factors, (K,)).result
    assert [v.oracle for v in check_identities("x", claim, factors, (K,), 110, 1e-20)] == [
        "the derivation repeated with numbers",
        "Stein's lemma",
    ]
    with pytest.raises(NoClosedForm, match="differs from the derivation repeated with numbers"):
        check_identities("x", claim * (1 + a / 10**6), factors, (K,), 110, 1e-20)


def test_a_wrong_derivative_rule_is_noticed_although_values_are_right(monkeypatch):
    factors = tuple(map(split, PAIRS["kinks"]))
    claim = closed_form(factors, PAIR).result
    rule = S2.fdiff
    monkeypatch.setattr(S2, "fdiff", lambda self, argindex=1: rule(self, argindex) * R(101, 100))
    clear_cache()  # sympy remembers derivatives
    try:
        with pytest.raises(NoClosedForm, match=r"differs from (Stein|Price)"):
            check_identities("x", claim, factors, PAIR, 90, 1e-20)
    finally:
        clear_cache()


@pytest.mark.parametrize(
    "formula",
    [
        K1 * sp.asin(C / sp.sqrt((1 + K1) * (1 + K2))) / (1 + K1) ** 2,
        sp.exp(-(K1**2)) * sp.erf(K1 / sp.sqrt(2 + C)) + K1**K2,
        sp.atan2(C, K1) * S2(K1, C, C / (K1 + K2)),
        K2 + C,
    ],
)
def test_derivatives_by_the_chain_rule_are_quotients_of_differences(formula):
    place, step = {K1: sp.Rational(7, 5), C: sp.Rational(3, 10), K2: sp.Rational(9, 7)}, sp.Rational(1, 10**12)
    for symbol in (K1, C, K2):
        ahead, behind = (formula.subs({**place, symbol: place[symbol] + side * step}) for side in (1, -1))
        quotient = evaluate((ahead - behind) / (2 * step), {}, 20)[0]
        assert abs(evaluate(_derivative(formula, symbol, {}).subs(place), {}, 20)[0] - quotient) < 1e-18


JUMPS = ("sign", "step", "hardshrink", "threshold")
OPEN = ("gelu_tanh", "tanh", "sigmoid", "silu", "swish", "softplus", "log_sigmoid", "mish", "tanhshrink", "softsign")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [name for name in sr.activations if name not in (*JUMPS, *OPEN)])
def test_every_continuous_activation_that_closes_has_one(name):
    pieces = sr.activations[name].pieces
    proof = sr.expect2(name, name).proof
    claim = closed_form((pieces, pieces), PAIR).result
    second = price_proof((pieces, pieces), claim)
    assert second.replay() == claim
    assert [step.rule for step in second.steps] == ["Price's theorem", "integral over C"]
    slope, corner = second.steps[0].after
    assert slope == closed_form((pieces.diff(), pieces.diff()), PAIR).result
    assert "second proof, independent of the first:" in proof.explain()
    assert str(corner) in proof.explain()


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", ["gelu", "elu", "hard_tanh", "relu"])
@pytest.mark.parametrize(
    "sabotage", [lambda e: e * R(101, 100), lambda e: e + C**2 / 10**9, lambda e: e + K1 / 10**9, lambda e: -e]
)
def test_a_wrong_form_has_none(name, sabotage):
    pieces = sr.activations[name].pieces
    claim = closed_form((pieces, pieces), PAIR).result
    assert price_proof((pieces, pieces), sabotage(claim)) is None


def test_different_functions_and_what_has_no_second_proof():
    relu, gelu, tanh = (sr.activations[name].pieces for name in ("relu", "gelu", "tanh"))
    claim = closed_form((relu, gelu), PAIR).result
    assert price_proof((relu, gelu), claim).replay() == claim
    assert price_proof((split(sp.sign(z)), gelu), claim) is None
    assert price_proof((tanh, gelu), claim) is None
    assert sr.expect("gelu").proof.second is None


def test_it_is_sought_when_asked_for_also_in_another_process(monkeypatch):
    def too_early(*_):
        raise AssertionError

    pieces = sr.activation("relu(z - 1/7)").pieces  # of no other test: averages are kept
    with monkeypatch.context() as patched:
        patched.setattr("symres.gaussian.closed_form.price_proof._checked_integral", too_early)
        proof = _verified((pieces, pieces), PAIR)[0]
    again = pickle.loads(pickle.dumps(proof))
    assert again.second.result == again.result == proof.result


CLAIM = sr.K**2 * sp.exp(-3 * sr.K)


def compare(claim, measure, **options):
    options = {"points": 2, "tolerance": 1e-12, "digits": 20} | options
    return verify("a claim", claim, measure, [sr.K], oracle="an oracle", **options)


def measured(expr, absolute):
    """An oracle with an absolute error, as quadrature has relative to its integrand."""

    def measure(values):
        with mp.workdps(25):
            return mp.mpf(sp.N(expr.subs(values), 25)), mp.mpf(absolute)

    return measure


def test_agreement_is_counted_with_its_deviation():
    found = compare(CLAIM, measured(CLAIM, "1e-20"))
    assert (found.oracle, found.points) == ("an oracle", 2)
    assert 0 < found.worst < 1e-12


def test_points_that_decide_nothing_are_replaced_by_smaller_kernels():
    tiny = sp.exp(-20000 * sr.K)
    assert compare(tiny, measured(tiny, "1e-20")).points == 2
    with pytest.raises(NoClosedForm, match="differs from an oracle"):
        compare(2 * tiny, measured(tiny, "1e-20"))


def test_an_oracle_without_digits_verifies_nothing():
    with pytest.raises(NoClosedForm, match="no digit"):
        compare(CLAIM, measured(CLAIM, 1000))
    with pytest.raises(NoClosedForm, match="no digit"):
        compare(CLAIM, lambda values: (mp.mpf(0), mp.inf))


def test_zero():
    """Compared absolutely: equal inputs of functions that never meet leave no relative deviation."""
    uncertain, exact = (lambda _, error=error: (mp.mpf(0), mp.mpf(error)) for error in ("1e-25", 0))
    assert compare(sp.Integer(0), uncertain).worst == 0
    with pytest.raises(NoClosedForm, match="differs"):
        compare(sp.Integer(0), lambda values: (mp.mpf("1e-3"), mp.mpf("1e-25")))
    with pytest.raises(NoClosedForm):
        compare(sr.K / 10**9, uncertain)
    assert compare(sr.K / 10**24, exact, tolerance=1e-20).points == 2
    with pytest.raises(NoClosedForm, match="differs from an oracle"):
        compare(sr.K / 10**18, exact, tolerance=1e-20)


@pytest.mark.exhaustive
def test_a_fast_oscillation_is_verified_all_the_same():
    """exp(-1800 K) is far below the digits of quadrature at K of order 1."""
    theory = sr.derive(sr.activation("sin(30*z)"))
    for name in ("kernel_map", "chi_parallel", "chi_perp", "h"):
        quantity = theory.quantities[name]
        assert quantity.status is sr.Status.EXACT
        assert quantity.verifications
    assert theory.chi_parallel.expr == 900 * sr.C_W * sp.exp(-1800 * sr.K)


@pytest.mark.parametrize(
    "spoil",
    [lambda e: e * sp.Rational(101, 100), lambda e: -e, lambda e: 2 * e, lambda e: e + sp.Rational(1, 10**6)],
    ids=["1 %", "sign", "factor 2", "1e-6"],
)
@pytest.mark.parametrize("function", ["gelu", "relu", "erf", "snake"])
def test_a_wrong_engine_is_caught(monkeypatch, function, spoil):
    """Whatever the engine returns meets quadrature before it leaves."""
    from symres.core.proof import Proof
    from symres.gaussian.calculus.expectation import Gaussian
    from symres.gaussian.closed_form import average

    true = average.closed_form
    monkeypatch.setattr(average, "closed_form", lambda *question: Proof(spoil(true(*question).result)))
    average._verified.cache_clear()
    try:
        phi = sr.activation(function)
        found = average.average(phi(x1) ** 2, Gaussian((sr.K,)))
        assert not found.exact
        assert "differs from quadrature" in found.reason
        pair = average.average(phi(x1) * phi(x2), Gaussian((sr.K1, sr.C, sr.K2)))
        assert not pair.exact
        assert "differs from quadrature" in pair.reason
    finally:
        average._verified.cache_clear()


@pytest.mark.exhaustive
def test_points_without_a_number_decide_nothing():
    theory = sr.derive("exp(20*z)")
    assert theory.covariance_map.status is sr.Status.EXACT
    assert theory.covariance_map.expr == sr.C_b + sr.C_W * sp.exp(200 * sr.K1 + 200 * sr.K2 + 400 * sr.C)


@pytest.mark.parametrize(
    ("f", "g"), [("z^2", "erf(z)"), ("tanh(z)", "z^2"), ("sign(z)", "abs(z)*cos(z)"), ("z*exp(-z^2)", "softsign(z)^2")]
)
def test_an_odd_integrand_has_no_average(f, g):
    found = sr.expect2(f, g)
    assert (found.status, found.expr, found.proof.replay()) == (sr.Status.EXACT, 0, 0)
    assert [v.oracle for v in found.verifications] == ["values at mirrored points"]
    assert sr.expect(f"({f})*({g})").expr == 0
    one, two = (sp.lambdify(sr.z, sr.activation(h).expr, "mpmath") for h in (f, g))
    with mp.workdps(15):  # an oracle that knows of no symmetry
        halves = [mp.quad(lambda x: one(x) * two(x) * mp.npdf(x), ends) for ends in ([-12, -3, 0], [0, 3, 12])]
    assert abs(sum(halves)) < 1e-13 < 1e-3 < abs(halves[0])
    # one odd factor more, or a part that is not odd, and nothing vanishes
    assert abs(sr.expect2(f"z*({f})", g).evalf(5, K1=1, K2=2, C=1)) > 1e-3
    assert abs(sr.expect2(f"({f})+z", f"({g})+z").evalf(5, K1=1, K2=2, C=1)) > 1e-3


@pytest.mark.parametrize("function", ["z^2", "gelu", "abs(z)+z/10^20"])
def test_what_is_not_odd_is_not_taken_for_it(function):
    with pytest.raises(NoClosedForm, match="not odd"):
        verify_odd("a claim", (sr.activation(function).pieces,))
    assert not is_odd((sr.activation(function).pieces,))
    assert is_odd((sr.activation("tanh").pieces,)) and not is_odd((sr.activation("tanh").pieces,) * 2)
