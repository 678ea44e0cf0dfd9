"""What counts as a verification of a closed form."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.symmetries import is_odd
from symres.core.errors import NoClosedForm
from symres.core.symbols import x1, x2
from symres.gaussian.closed_form.verification import verify, verify_odd

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


@pytest.mark.parametrize("wrong", [CLAIM * sp.Rational(1000001, 1000000), -CLAIM, 2 * CLAIM, CLAIM + sr.K / 10**9])
def test_a_wrong_claim_is_refused(wrong):
    with pytest.raises(NoClosedForm, match="differs from an oracle"):
        compare(wrong, measured(CLAIM, "1e-20"))


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
    assert compare(sp.Integer(0), lambda values: (mp.mpf(0), mp.mpf("1e-25"))).worst == 0
    with pytest.raises(NoClosedForm, match="differs"):
        compare(sp.Integer(0), lambda values: (mp.mpf("1e-3"), mp.mpf("1e-25")))
    with pytest.raises(NoClosedForm):
        compare(sr.K / 10**9, lambda values: (mp.mpf(0), mp.mpf("1e-25")))


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


@pytest.mark.parametrize(("size", "passes"), [(sp.Rational(1, 10**24), True), (sp.Rational(1, 10**18), False)])
def test_what_is_exactly_zero_is_compared_absolutely(size, passes):
    """Equal inputs of functions that never meet: no relative deviation, and a wrong form must still be seen."""

    def attempt():
        return verify(
            "x", size * sr.K, lambda _: (mp.mpf(0), mp.mpf(0)), [sr.K], oracle="o", points=2, tolerance=1e-20, digits=20
        )

    if passes:
        assert attempt().points == 2
    else:
        with pytest.raises(NoClosedForm, match="differs from o"):
            attempt()
