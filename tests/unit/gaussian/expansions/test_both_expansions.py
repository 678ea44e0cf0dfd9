"""The expansions for small and for large K: the whole catalogue against 30 digits, stated ranges, sabotage.

Exponentials that one sign cuts off, at kernels where each term of a closed form is e**5000: numbers all the same.
"""

from dataclasses import dataclass, replace

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import NoClosedForm
from symres.functions.balls import evaluate
from symres.functions.records.gaussian_signs import S2
from symres.gaussian.algebra.complementary import Q2
from symres.gaussian.expansions.tail_moments import TailMoment
from symres.gaussian.expansions.truncation import Truncation
from symres.gaussian.expansions.variance_series import large_variance, small_variance
from symres.results.quantity import Status
from symres.theory.quantities import expansion
from tests.oracles.quadrature30 import average, average2
from tests.oracles.sections import OF_ONE, PARAMETERS, Sections, sections, x

R = sp.Rational


@dataclass(frozen=True)
class Side:
    """An expansion up to the third power of K or 1/K.

    Args:
        series: makes its terms.
        sign: of the exponents.
        beside: the words in which a quantity states its range.
        formula: an activation; the average of its square is expanded.
        name: of the function that makes the terms.
    """

    series: object
    sign: int
    beside: str
    formula: str
    name: str

    @property
    def place(self):
        """Where it is accurate."""
        return R(10) ** (-4 * self.sign)

    def quantity(self):
        """The average of the square of an activation."""
        return sr.expect(f"{self.formula}(z)^2")

    def expanded(self, order):
        quantity = self.quantity()
        return quantity.series(order) if self.sign > 0 else quantity.asymptotics(order)


SIDES = {
    "small": Side(small_variance, 1, " up to K = ", "softplus", "small_variance"),
    "large": Side(large_variance, -1, " from K = ", "tanh", "large_variance"),
}
INFINITE = [(name, "f'^2") for name in ("sign", "step", "hardshrink", "threshold")]
NOT_POLYNOMIAL = ("sin", "cos", "snake", "softsign")  # far out
OPEN = {  # moments known as numbers only
    "softplus": ("f^2", "f^4"),
    "log_sigmoid": ("f^2", "f^4"),
    "mish": tuple(OF_ONE),
    "gelu_tanh": tuple(OF_ONE),
}
CASES = [
    (side, name, power)
    for side in SIDES
    for name in sr.activations
    for power in OF_ONE
    if (name, power) not in INFINITE and not (side == "large" and name in NOT_POLYNOMIAL)
]


def pieces(name, power):
    """A function of a catalogue activation, with the numbers of the oracle for its parameters."""
    phi = sr.activations[name].pieces
    phi = phi.subs({s: PARAMETERS[name][s.name] for s in phi.free_symbols})
    factor = phi.diff() if "'" in power else phi
    return factor.map(lambda u: u ** {"f": 1, "f^2": 2, "f'^2": 2, "f^4": 4}[power])


@pytest.mark.sample(41)
@pytest.mark.parametrize(("side", "name", "power"), CASES)
def test_what_is_left_is_the_first_term_left_out(side, name, power):
    """Against quadrature of formulas that are not ours; the first coefficient missed is on trial too."""
    expanded = SIDES[side]
    terms = expanded.series(pieces(name, power), 6)
    if side == "large":
        assert any(c.has(TailMoment) for _, c in terms) == (power in OPEN.get(name, ()))
    function = sections(name)
    truth = average(OF_ONE[power](function, function.slope), expanded.place)
    with mp.workdps(40):
        values = [(e * expanded.sign, evaluate(c * expanded.place**e, {}, 35)[0]) for e, c in terms]
        kept, left_out = ([v for e, v in values if (e <= 3) == inside] for inside in (True, False))
        error, slack = truth.value - mp.fsum(kept), 10 * truth.error + truth.size * mp.mpf(10) ** -30
        first = left_out[0] if left_out else mp.mpf(0)
        assert abs(error - first) <= abs(first) / 4 + slack
        assert not left_out or abs(error) > 100 * slack  # the digits suffice to see it


@pytest.mark.parametrize("side", SIDES)
def test_the_range_that_is_stated_is_true(side):
    """Each K of the text, and some further in, by quadrature of another formula; not a tenth further out."""
    expanded = SIDES[side]
    result, square = expanded.expanded(3), sections(expanded.formula) ** 2
    assert result.status is Status.SERIES
    words = result.reason.split("below ")[1].replace(" on", "").split(", ")
    limits = dict(piece.split(expanded.beside) for piece in words)
    assert list(limits) == ["1e-3", "1e-6", "1e-12"]
    for error, limit in limits.items():

        def off(factor, limit=limit):
            place = R(limit) / R(factor) ** expanded.sign
            truth = average(square, place).value
            return abs(result.evalf(25, K=place) - truth) / truth

        assert all(off(factor) <= float(error) for factor in (1, 2, 7, 100))
        assert off("1/10") > float(error)


# -------------------------------------------------------------------------------------------------------- sabotage
OF_TRUNCATIONS = {"small": "softsign", "large": "tanh"}  # K, K^(3/2), ..., K^3; 1, K^(-1/2), K^(-3/2), K^(-5/2)


def truncation(side, spoil=None, omitted_factor=1):
    """The expansion of a mean square, where a coefficient is off by a millionth or those left out by a factor."""
    name, sign = OF_TRUNCATIONS[side], SIDES[side].sign
    quantity = sr.expect(f"{name}(z)^2")
    terms = dict(SIDES[side].series(pieces(name, "f^2"), 5))
    kept, omitted = ({e: c for e, c in terms.items() if (e * sign <= 3) == inside} for inside in (True, False))
    if spoil is not None:
        kept[list(kept)[spoil]] *= 1 + R(1, 10**6)
    omitted = {e: c * omitted_factor for e, c in omitted.items()}
    return Truncation(name, kept, omitted, lambda place, digits: quantity.evalf(digits, K=place), sign < 0)


@pytest.mark.parametrize(("side", "count"), [("small", 5), ("large", 4)])
def test_every_wrong_coefficient_is_caught(side, count):
    assert truncation(side).verification().worst < 1e-13
    for spoil in range(count):
        with pytest.raises(NoClosedForm, match="defect of symres"):
            truncation(side, spoil).verification()


def test_a_wrong_first_term_left_out_is_caught():
    with pytest.raises(NoClosedForm, match="defect of symres"):
        truncation("large", omitted_factor=2).verification()


@pytest.mark.parametrize(("side", "exponent"), [("small", 2), ("large", 0)])
def test_a_wrong_expansion_does_not_leave(monkeypatch, side, exponent):
    expanded = SIDES[side]

    def wrong(factor, order):
        return tuple((e, c * (1 + R(e == exponent, 10**8))) for e, c in expanded.series(factor, order))

    expanded.expanded(3)
    monkeypatch.setattr(expansion, expanded.name, wrong)
    with pytest.raises(NoClosedForm, match="defect of symres"):
        expanded.expanded(3)


BUMP = Sections((R(1),), (sp.exp(x - 1), sp.exp(1 - x)))
FUNCTIONS = {"exp(-abs(z-1))": BUMP} | {name: sections(name) for name in ("elu", "celu", "erf", "sign", "hard_tanh")}
PAIRS = [("elu", "erf"), ("celu", "erf"), ("elu", "sign"), ("elu", "hard_tanh"), *[("exp(-abs(z-1))",) * 2]]
LAWS = [(R(10**4), R(41), R(1)), (R(3000), R(-100), R(100)), (R(10**4), R(-4100), R(10**4))]


@pytest.mark.sample(2)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pairs_of_large_kernels(pair, law):
    one, other = pair
    quantity = sr.expect2(one, other)
    assert quantity.status is Status.EXACT
    alpha = {k: v for k, v in PARAMETERS.get(one, {}).items() if k == "alpha"}
    found = quantity.evalf(20, K1=law[0], C=law[1], K2=law[2], **alpha)
    measured = average2(FUNCTIONS[one], FUNCTIONS[other], law)
    assert measured.distance(found) < mp.mpf(10) ** -20


@pytest.mark.parametrize("kernel", [R(10**4), R(10**6)], ids=str)
def test_one_input_of_a_large_kernel(kernel):
    product = sections("erf") * sections("elu")
    found = sr.expect("erf(z)*elu(z)").evalf(25, K=kernel, **PARAMETERS["elu"])
    assert average(product, kernel).distance(found) < mp.mpf(10) ** -25


@pytest.mark.exhaustive
def test_four_corners_of_a_bump():
    """Every sign beside an exponential becomes the probability of the corner that the exponential lives in."""
    closed = sr.expect2("exp(-abs(z-1))", "exp(-abs(z-1))").expr
    assert len(closed.atoms(Q2)) == len(sp.Add.make_args(closed)) == 4
    assert not closed.has(S2, sp.erf)


@pytest.mark.exhaustive
def test_functions_that_never_meet():
    """Equal inputs make the average 0, of which no relative accuracy can be asked."""
    quantity = sr.expect2("where(z<1/2, exp(3*z-3/2), 0)", "where(z>1, 1, 0)")
    assert quantity.status is Status.EXACT
    assert "equal inputs" in quantity.verified.oracle


def test_a_form_that_cancels_beyond_all_precision_is_replaced_by_its_averages():
    quantity = sr.expect("elu")
    huge = sp.exp(sp.exp(sp.exp(3)))
    spoiled = replace(quantity, body=quantity.body + huge - sp.exp(sp.exp(sp.exp(3 * quantity.symbols[0]))))
    assert spoiled.evalf(20, K=1, alpha=1) == quantity.evalf(20, K=1, alpha=1)
