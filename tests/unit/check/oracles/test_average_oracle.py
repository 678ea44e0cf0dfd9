"""The oracle of plain Gaussian averages: 30 digits in one variable, adaptive panels in two."""

from types import SimpleNamespace

import mpmath as mp
import pytest
import sympy as sp

from symres.activations.activation import Activation
from symres.check import Outcome, check
from symres.check.oracles.average_oracle import average_oracle
from symres.core.atoms import AverageNode
from symres.core.symbols import K1, K2, C, K, x1, x2, z
from symres.results.quantity import Quantity, Status
from tests.oracles.kernels import KERNELS, PHI


class Unevaluated(AverageNode, sp.Expr):
    """An unevaluated average as the check room sees it: an integrand and the upper triangle of its covariance."""

    is_commutative = True
    is_extended_real = True
    integrand = property(lambda average: average.args[0])
    covariance = property(lambda average: average.args[1:])


BETA = sp.Symbol("beta", positive=True)

# integrand, its average at K by hand
LINE = {
    "x^6": (x1**6, lambda k: 15 * k**3),
    "gelu": (PHI["gelu"](x1), lambda k: k / mp.sqrt(2 * mp.pi * (1 + k))),
    "relu^2": (PHI["relu"](x1) ** 2, lambda k: k / 2),
    "abs": (sp.Abs(x1), lambda k: mp.sqrt(2 * k / mp.pi)),
    "sin^2": (sp.sin(x1) ** 2, lambda k: (1 - mp.exp(-2 * k)) / 2),
    "erf^2": (PHI["erf"](x1) ** 2, lambda k: 2 / mp.pi * mp.asin(2 * k / (1 + 2 * k))),
    "step at 1": (sp.Heaviside(x1 - 1), lambda k: mp.erfc(1 / mp.sqrt(2 * k)) / 2),
    "erf'": (PHI["erf"](x1).diff(x1), lambda k: 2 / mp.sqrt(mp.pi * (1 + 2 * k))),
    "relu of an affine argument": (
        PHI["relu"](2 * x1 - 1),
        lambda k: mp.sqrt(2 * k / mp.pi) * mp.exp(-1 / (8 * k)) - mp.erfc(1 / mp.sqrt(8 * k)) / 2,
    ),
    "exp": (sp.exp(x1 / 2), lambda k: mp.exp(k / 8)),
}


class ByHand(Quantity):
    """An average whose numbers come from a function written by hand."""

    def __init__(self, arguments, definition, function):
        super().__init__("expect", arguments, definition, definition, Status.EXACT)
        object.__setattr__(self, "function", function)

    def evalf(self, digits=15, **values):
        with mp.workdps(digits + 5):
            return +self.function(**{key: mp.mpf(v.p) / v.q for key, v in values.items()})


@pytest.mark.sample(4)
@pytest.mark.parametrize("k", ["1/1000", "17/10", "400"])
@pytest.mark.parametrize("name", LINE)
def test_thirty_digits_on_the_line(name, k):
    integrand, by_hand = LINE[name]
    k = sp.Rational(k)
    found = average_oracle(Unevaluated(integrand, K), {K: k})
    with mp.workdps(60):
        expected = by_hand(mp.mpf(k.p) / k.q)
        assert abs(found.value - expected) <= max(5 * found.error, mp.mpf(10) ** -29 * found.scale)
        assert found.error <= 2e-30 * found.scale
        assert found.scale >= 0.99 * abs(expected)


@pytest.mark.parametrize("numbers", [("1/1000", "1/500", "1/2000"), ("13/10", "7/10", "-4/5"), ("90", "120", "100")])
@pytest.mark.parametrize("name", PHI)
def test_the_plane_by_hand(name, numbers):
    values = dict(zip((K1, K2, C), map(sp.Rational, numbers), strict=True))
    found = average_oracle(Unevaluated(PHI[name](x1) * PHI[name](x2), K1, C, K2), values)
    expected = KERNELS[name][0](*(mp.mpf(v.p) / v.q for v in values.values()))
    assert abs(found.value - expected) < 2 * found.error < 1e-11 * found.scale


def test_definitions_may_be_nested():
    # C_b + C_W <erf(x)^2> at the variance K + <x^2>^2, written with a step and without
    inner = K + Unevaluated(x1**2, K) ** 2
    S = sp.Symbol("S1", positive=True)
    direct = average_oracle(3 + 2 * Unevaluated(PHI["erf"](x1) ** 2, inner), {K: sp.Rational(3, 2)})
    step = SimpleNamespace(symbol=S, definition=inner)
    stepwise = average_oracle(3 + 2 * Unevaluated(PHI["erf"](x1) ** 2, S), {K: sp.Rational(3, 2)}, (step,))
    with mp.workdps(35):
        expected = 3 + 4 / mp.pi * mp.asin(2 * mp.mpf("3.75") / (1 + 2 * mp.mpf("3.75")))
        assert abs(direct.value - expected) < mp.mpf(10) ** -27
        assert abs(stepwise.value - expected) < mp.mpf(10) ** -27


def test_check_takes_a_plain_average():
    beta_abs = Activation("scaled", BETA * sp.Abs(z), (BETA,))
    right = ByHand((K, BETA), Unevaluated(beta_abs(x1), K), lambda K, beta: beta * mp.sqrt(2 * K / mp.pi))
    report = check(right)
    assert report.outcome is Outcome.PASSED
    assert all(v.detectable < 1e-25 and "beta = " in v.point and v.oracle == "quadrature" for v in report.verdicts)
    pair = ByHand((K1, K2, C), Unevaluated(PHI["relu"](x1) * PHI["relu"](x2), K1, C, K2), KERNELS["relu"][0])
    assert check(pair).outcome is Outcome.PASSED


@pytest.mark.exhaustive
def test_an_average_that_vanishes_passes_on_its_scale():
    odd = ByHand((K,), Unevaluated(PHI["erf"](x1), K), lambda K: mp.mpf(0))
    assert check(odd).outcome is Outcome.PASSED
    assert check(ByHand((K,), odd.definition, lambda K: mp.mpf(10) ** -20)).outcome is Outcome.REFUTED


@pytest.mark.parametrize("factor", ["1", "1.01"])
def test_averages_below_the_range_of_doubles_are_compared(factor):
    definition = Unevaluated(x1**2 * sp.Rational(1, 10**400), K)
    claim = ByHand((K,), definition, lambda K: mp.mpf(factor) * mp.mpf(10) ** -400 * K)
    assert check(claim).outcome is (Outcome.PASSED if factor == "1" else Outcome.REFUTED)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "change", [lambda v: v * mp.mpf("1.01"), lambda v: -v, lambda v: 2 * v, lambda v: v * (1 + mp.mpf(10) ** -20)]
)
def test_a_wrong_average_is_refuted(change):
    integrand, by_hand = LINE["gelu"]
    wrong = ByHand((K,), Unevaluated(integrand, K), lambda K: change(by_hand(K)))
    assert {v.outcome for v in check(wrong).verdicts} == {Outcome.REFUTED}


def test_three_variables_are_inconclusive():
    many = ByHand((K,), Unevaluated(x1 * x2, *[K] * 6), lambda K: K)
    assert check(many).outcome is Outcome.INCONCLUSIVE
