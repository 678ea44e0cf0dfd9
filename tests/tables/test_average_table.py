"""Every average of every catalogue activation, through the public door, against quadrature to 30 digits.

<f>, <f^2>, <f'^2>, <f^4> in one input and <f f>, <f' f'>, <f^2 f^2> in two; the oracle has its own formulas of the
activations and shares nothing with the engine.
"""

from __future__ import annotations

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.results.quantity import Quantity, Status
from tests.oracles.line30 import average
from tests.oracles.plane30 import average2
from tests.oracles.sections import CATALOGUE, OF_ONE, OF_TWO, PARAMETERS, Sections, sections

R = sp.Rational
DIGITS, TOLERANCE = 30, mp.mpf(10) ** -28

KERNELS = [R(37, 10**7), R(83, 61), R(1907)]
LAWS = [(R(71, 83), R(-37, 90), R(97, 71)), (R(113, 29), R(211, 97), R(31, 17))]  # (K1, C, K2)
# further ones for numbers by quadrature: equal and very unequal kernels
WIDE_KERNELS = [R(1, 10**12), R(1, 100), R(10**4), R(10**6)]
WIDE_LAWS = [
    (one**2, correlation * one * two, two**2)
    for one, correlation, two in (
        (R(1, 10**6), R(1, 2), R(1, 10**6)),
        (R(1000), R(-3, 10), R(1000)),
        (R(1, 10**6), R(1, 2), R(1000)),
        (R(1, 1000), R(-9, 10), R(10)),
    )
]

# no closed form is known: a quotient of exponentials, or of polynomials, under a Gaussian
NUMERIC = ["gelu_tanh", "tanh", "sigmoid", "silu", "swish", "softplus", "log_sigmoid", "mish", "tanhshrink", "softsign"]
SYMMETRIC = ["tanh", "sigmoid", "tanhshrink", "softsign"]  # of these <f>, 0 or 1/2, is known all the same
STEPS = ["sign", "step"]
JUMPS = [*STEPS, "hardshrink", "threshold"]
EXACT = [name for name in sr.activations if name not in NUMERIC]


def integrand(name: str, average: str) -> sp.Expr:
    """As a user writes it."""
    phi = sr.activations[name](sr.z)
    return (OF_ONE | OF_TWO)[average](phi, phi.diff(sr.z))


def expected(name: str, average: str) -> Sections:
    """The oracle's version of it."""
    function = sections(name)
    return (OF_ONE | OF_TWO)[average](function, function.slope)


def one(name: str, average: str) -> Quantity:
    return sr.expect(integrand(name, average))


def two(name: str, average: str) -> Quantity:
    return sr.expect2(*[integrand(name, average)] * 2)


def value(quantity: Quantity, *names: str, **kernels: sp.Rational) -> mp.mpf:
    """With a radius that leaves all digits."""
    given = kernels | {key: number for name in names for key, number in PARAMETERS.get(name, {}).items()}
    found, radius = quantity.enclosure(DIGITS, **{s.name: given[s.name] for s in quantity.symbols})
    assert radius <= abs(found) * mp.mpf(10) ** -DIGITS
    return found


@pytest.mark.sample(22)
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("average_of", OF_ONE)
def test_one_input(name: str, average_of: str) -> None:
    if name in JUMPS and average_of == "f'^2":
        return the_slope_of_a_jump_has_no_mean_square(name)
    quantity = one(name, average_of)
    for kernel in KERNELS + WIDE_KERNELS * (name in NUMERIC):
        measured = average(expected(name, average_of), kernel)
        assert measured.distance(value(quantity, name, K=kernel)) < TOLERANCE, (kernel, quantity)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("average_of", OF_TWO)
def test_two_inputs(name: str, average_of: str) -> None:
    if name in JUMPS and average_of == "f' f'":
        return (slopes_of_jumps_are_deltas if name in STEPS else slopes_are_those_of_the_average)(name)
    quantity = two(name, average_of)
    is_wide = name in NUMERIC and (name, average_of) != ("tanhshrink", "f^2 f^2")  # too much cancels in z - tanh(z)
    for law in LAWS + WIDE_LAWS * is_wide:
        measured = average2(*[expected(name, average_of)] * 2, law)
        claimed = value(quantity, name, K1=law[0], C=law[1], K2=law[2])
        assert measured.distance(claimed) < TOLERANCE, (law, quantity)


DIFFERENT = [
    *(("gelu", name) for name in ("relu", "erf", "sin", "snake", "gaussian_slope", "bell", "square", "cube", "elu")),
    *(("relu", name) for name in ("gelu", "snake", "sign", "hard_swish")),
    *(("hard_tanh", name) for name in ("square", "cube", "elu")),
    *(("erf", "scale_invariant"), ("elu", "cube"), ("hard_swish", "square"), ("relu6", "cube"), ("mish", "silu")),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("names", DIFFERENT, ids=" x ".join)
def test_two_functions(names: tuple[str, str]) -> None:
    quantity = sr.expect2(*(sr.activations[name](sr.z) for name in names))
    assert quantity.status is (Status.NUMERIC if "mish" in names else Status.EXACT)
    for K1, C, K2 in LAWS:
        measured = average2(*map(sections, names), (K1, C, K2))
        assert measured.distance(value(quantity, *names, K1=K1, C=C, K2=K2)) < TOLERANCE, (C, quantity)


def the_slope_of_a_jump_has_no_mean_square(name: str) -> None:
    """<f'^2> is infinite, and reported as that."""
    quantity = one(name, "f'^2")
    assert quantity.expr == sp.oo
    assert quantity.evalf(K=1) == mp.inf


def slopes_of_jumps_are_deltas(name: str) -> None:
    """<f'(z1) f'(z2)> is the height of the jump squared times the density of (z1, z2) at 0."""
    quantity = two(name, "f' f'")
    ((_, height),) = sections(name).jumps()
    for K1, C, K2 in LAWS:
        with mp.workdps(40):
            density = 1 / (2 * mp.pi * mp.sqrt(mp.mpf(sp.numer(K1 * K2 - C**2)) / sp.denom(K1 * K2 - C**2)))
            claimed = quantity.evalf(digits=DIGITS, K1=K1, C=C, K2=K2)
            assert abs(claimed / (height**2 * density) - 1) < TOLERANCE, quantity


def slopes_are_those_of_the_average(name: str) -> None:
    """<f'(z1) f'(z2)>, deltas of jumps beside slopes, is d<f(z1) f(z2)>/dC, here by a difference of two averages."""
    quantity, step = two(name, "f' f'"), R(1, 10**6)
    for K1, C, K2 in LAWS:
        high, low = (average2(*[sections(name)] * 2, (K1, c, K2)).value for c in (C + step, C - step))
        claimed = value(quantity, name, K1=K1, C=C, K2=K2)
        assert abs(claimed - (high - low) / (2 * mp.mpf(10) ** -6)) < 1e-10 * abs(claimed), quantity


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", EXACT)
def test_what_is_closed(name: str) -> None:
    found = {average_of: one(name, average_of) for average_of in OF_ONE if not (name in JUMPS and "'" in average_of)}
    found |= {average_of: two(name, average_of) for average_of in OF_TWO if not (name in JUMPS and "'" in average_of)}
    assert [average_of for average_of, q in found.items() if q.status is not Status.EXACT] == []
    for average_of, quantity in found.items():
        assert not quantity.expr.has(sp.Integral, sp.nan, sp.zoo), (average_of, quantity)
        assert quantity.verifications, average_of


@pytest.mark.parametrize("name", NUMERIC)
def test_what_is_not_closed_says_why(name: str) -> None:
    found = {average_of: one(name, average_of) for average_of in OF_ONE} | {key: two(name, key) for key in OF_TWO}
    closed = {average_of for average_of, q in found.items() if q.status is Status.EXACT}
    assert closed == ({"f"} if name in SYMMETRIC else set())
    for average_of, quantity in found.items():
        assert quantity.status in (Status.EXACT, Status.NUMERIC), average_of
        assert bool(quantity.reason) == (quantity.status is Status.NUMERIC), average_of


@pytest.mark.parametrize("name", ["gelu", "tanh"])
def test_the_table_catches_a_wrong_digit(name: str) -> None:
    """The comparison itself: the right number passes, one that is off in the 28th digit does not."""
    measured = average(expected(name, "f^2"), KERNELS[1])
    claimed = value(one(name, "f^2"), name, K=KERNELS[1])
    with mp.workdps(40):
        assert measured.distance(claimed) < TOLERANCE < measured.distance(claimed * (1 + 2 * TOLERANCE))
        assert measured.distance(value(one(name, "f^2"), name, K=KERNELS[1] + R(1, 10**25))) > TOLERANCE
    other = average2(*[expected(name, "f f")] * 2, LAWS[0])
    K1, C, K2 = LAWS[0]
    assert other.distance(value(two(name, "f f"), name, K1=K1, C=-C, K2=K2)) > TOLERANCE
