"""Identities of Gaussian averages, for catalogue activations at random kernels, through the public door.

Maps of layers of every kind are those of quadrature, and every proof replays. Of random piecewise sums of polynomials,
exponentials, Gaussians, error functions and oscillations nothing is wrong: the numbers come from an oracle of its own,
not from the quadrature with which the engine verifies itself. The engine may decline a closed form; how often is
bounded from above, so that an engine that gives up is seen.
"""

from collections import Counter
from functools import cache
from random import Random

import mpmath as mp
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import symres as sr
from symres.activations.activation import Activation
from symres.results.quantity import Quantity, Status
from tests.oracles.layers import BUILD
from tests.oracles.panels30 import Measured
from tests.oracles.quadrature30 import average, average2
from tests.oracles.sections import PARAMETERS, R, Sections, x

DIGITS, TOLERANCE = 20, mp.mpf(10) ** -17
STEP = R(1, 10**11)  # central differences: their error is its square, and 45 digits leave 33 of the quotient
STEP_DIGITS, STEP_TOLERANCE = 45, mp.mpf(10) ** -16

NAMES = list(sr.activations)
CONTINUOUS = [name for name in NAMES if sr.activations[name].is_continuous]
EVEN = [name for name in NAMES if sr.activations[name].parity == "even"]
ODD = [name for name in NAMES if sr.activations[name].parity == "odd"]
DEGREES = {name: sr.activations[name].homogeneity for name in NAMES if sr.activations[name].homogeneity is not None}

kernels = st.integers(5, 300).map(lambda n: R(n, 97))
correlations = st.integers(-88, 88).filter(bool).map(lambda n: R(n, 101))
ratios = st.integers(2, 60).map(lambda n: R(n, 17))
examples = settings(max_examples=5, deadline=None, derandomize=True)
precise = mp.workdps(60)  # of the arithmetic in the tests themselves


@st.composite
def laws(draw: st.DrawFn) -> tuple[sp.Rational, sp.Rational, sp.Rational]:
    """(K1, C, K2) with |C| < 0.88 min(K1, K2)."""
    K1, K2 = draw(kernels), draw(kernels)
    return K1, draw(correlations) * min(K1, K2), K2


@cache
def phi(name: str) -> Activation:
    """A catalogue activation with numbers for its parameters."""
    return sr.activations[name].subs(**PARAMETERS.get(name, {}))


def slope(name: str) -> sp.Expr:
    return phi(name)(sr.z).diff(sr.z)


@cache
def one(f: sp.Expr | str) -> Quantity:
    return sr.expect(f)


@cache
def two(f: sp.Expr, g: sp.Expr) -> Quantity:
    return sr.expect2(f, g)


def at(quantity: Quantity, *law: sp.Rational, digits: int = DIGITS) -> mp.mpf:
    names = ("K",) if len(law) == 1 else ("K1", "C", "K2")
    return quantity.evalf(digits, **dict(zip(names, law, strict=True)))


def real(number: sp.Rational) -> mp.mpf:
    """A rational number in the working precision: a product of sympy and mpmath numbers has 15 digits."""
    return mp.mpf(int(number.p)) / int(number.q)


def close(left: mp.mpf, right: mp.mpf, scale: mp.mpf | int = 0, tolerance: mp.mpf = TOLERANCE) -> bool:
    """Equal, relative to the larger side; where both are rests of cancelled numbers, to those."""
    return abs(left - right) <= tolerance * max(abs(left), abs(right), scale)


@pytest.mark.exhaustive
@examples
@given(st.sampled_from(CONTINUOUS), st.sampled_from(CONTINUOUS), laws())
@precise
def test_price(f: str, g: str, law: tuple[sp.Rational, ...]) -> None:
    """d<f g>/dC = <f' g'>."""
    K1, C, K2 = law
    quantity, slopes = two(phi(f)(sr.z), phi(g)(sr.z)), two(slope(f), slope(g))
    above, below = (at(quantity, K1, C + s * STEP, K2, digits=STEP_DIGITS) for s in (1, -1))
    quotient = (above - below) / (2 * real(STEP))
    assert close(quotient, at(slopes, *law), abs(above), STEP_TOLERANCE)


@examples
@given(st.sampled_from(CONTINUOUS), kernels)
@precise
def test_stein_with_one_input(f: str, K: sp.Rational) -> None:
    """<z f> = K <f'>."""
    assert close(at(one(sr.z * phi(f)(sr.z)), K), real(K) * at(one(slope(f)), K))


@pytest.mark.exhaustive
@examples
@given(st.sampled_from(CONTINUOUS), laws())
@precise
def test_stein_with_two_inputs(g: str, law: tuple[sp.Rational, ...]) -> None:
    """<z1 g(z2)> = C <g'>, and <z1 f(z1) g(z2)> = K1 <f' g> + C <f g'> for f = erf."""
    K1, C, K2 = law
    z, psi, erf = sr.z, phi(g)(sr.z), phi("erf")(sr.z)
    linear = phi("linear")(z)
    assert close(at(two(linear, psi), *law), real(C) * at(one(slope(g)), K2))
    left = at(two(z * erf, psi), *law)
    terms = real(K1) * at(two(slope("erf"), psi), *law), real(C) * at(two(erf, slope(g)), *law)
    assert close(left, sum(terms), max(map(abs, terms)))


@examples
@given(st.sampled_from(CONTINUOUS), kernels)
@precise
def test_the_slope_in_the_kernel(f: str, K: sp.Rational) -> None:
    """d<f^2>/dK = <z f f'>/K: Price's theorem for one input, with one derivative moved by Stein's lemma."""
    quantity = one(phi(f)(sr.z) ** 2)
    above, below = (at(quantity, K + s * STEP, digits=STEP_DIGITS) for s in (1, -1))
    quotient = (above - below) / (2 * real(STEP))
    assert close(quotient, at(one(sr.z * phi(f)(sr.z) * slope(f)), K) / real(K), abs(above), STEP_TOLERANCE)


@pytest.mark.exhaustive
@examples
@given(st.sampled_from(ODD + EVEN), st.sampled_from(NAMES), laws())
@precise
def test_parity(f: str, g: str, law: tuple[sp.Rational, ...]) -> None:
    """<f(z1) g(z2)> at -C is f's sign times the average with both signs of the second input: (f even or odd)."""
    K1, C, K2 = law
    quantity, sign = two(phi(f)(sr.z), phi(f)(sr.z)), 1 if f in EVEN else -1
    assert close(at(quantity, K1, -C, K2), sign * at(quantity, *law))
    # any g: only its part of f's parity contributes
    mixed = two(phi(f)(sr.z), phi(g)(sr.z))
    mirrored = two(phi(f)(sr.z), phi(g)(-sr.z))
    assert close(at(mixed, K1, -C, K2), at(mirrored, *law), abs(at(mixed, *law)))
    assert close(at(mirrored, *law), sign * at(mixed, *law), abs(at(mixed, *law)))


@examples
@given(st.sampled_from(sorted(DEGREES)), st.sampled_from(sorted(DEGREES)), laws(), ratios, ratios)
@precise
def test_homogeneity(f: str, g: str, law: tuple[sp.Rational, ...], s: sp.Rational, t: sp.Rational) -> None:
    """<f(s z1) g(t z2)> = s^p t^q <f g>."""
    K1, C, K2 = law
    p, q = DEGREES[f], DEGREES[g]
    square = one(phi(f)(sr.z) ** 2)
    assert close(at(square, s**2 * K1), real(s ** (2 * p)) * at(square, K1))
    quantity = two(phi(f)(sr.z), phi(g)(sr.z))
    assert close(at(quantity, s**2 * K1, s * t * C, t**2 * K2), real(s**p * t**q) * at(quantity, *law))


@examples
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), kernels)
@precise
def test_equal_inputs_are_one_input(f: str, g: str, K: sp.Rational) -> None:
    left = at(two(phi(f)(sr.z), phi(g)(sr.z)), K, K, K)
    assert close(left, at(one(phi(f)(sr.z) * phi(g)(sr.z)), K))


@examples
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), kernels, kernels)
@precise
def test_independent_inputs_factorise(f: str, g: str, K1: sp.Rational, K2: sp.Rational) -> None:
    left = at(two(phi(f)(sr.z), phi(g)(sr.z)), K1, R(0), K2)
    assert close(left, at(one(phi(f)(sr.z)), K1) * at(one(phi(g)(sr.z)), K2))


@pytest.mark.exhaustive
@examples
@given(st.sampled_from(NAMES), st.sampled_from(NAMES), laws())
@precise
def test_the_inputs_may_be_exchanged(f: str, g: str, law: tuple[sp.Rational, ...]) -> None:
    K1, C, K2 = law
    left = at(two(phi(f)(sr.z), phi(g)(sr.z)), K1, C, K2)
    assert close(left, at(two(phi(g)(sr.z), phi(f)(sr.z)), K2, C, K1))


# ---- layers of every kind ------------------------------------------------------------------------------------------
gamma, z, Dense = sr.gamma, sr.z, sr.Dense
tanh, erf, gelu = (sr.activation(name) for name in ("tanh", "erf", "gelu"))
h = Dense(erf(z))
KINDS = {"mlp": ("gelu", "relu", "tanh"), "residual": ("erf", "sin"), "glu": ("erf",), "of_a_sum": ("sin",)}
LAYERS = {f"{kind} {phi}": BUILD[kind](phi) for kind, names in KINDS.items() for phi in names} | {
    "nested": sr.Layer(gamma * z + Dense(tanh(Dense(erf(z))))),
    "nested exact": sr.Layer(gamma * z + Dense(gelu(Dense(erf(z))))),
    "shared draw": sr.Layer(gamma * z + Dense(erf(h) * h)),
    "branch used twice": sr.Layer(gamma * z + h + Dense(erf(h))),
}
MAPS = ("kernel_map", "covariance_map", "chi_parallel", "chi_perp")


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", LAYERS)
def test_maps_are_those_of_quadrature(name):
    report = sr.check(sr.derive(LAYERS[name]), "quadrature", quantities=MAPS, points=2)
    assert {verdict.quantity for verdict in report.verdicts} == set(MAPS)
    assert report.outcome.name == "PASSED", report.table()


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_the_slope_of_the_covariance_is_a_difference_of_the_map(name):
    theory, C, step = sr.derive(LAYERS[name]), R(-1, 3), R(1, 10**4)
    numbers = {"K1": R(3, 2), "K2": R(4, 5), "C_W": R(13, 10), "C_b": R(1, 7), "gamma": R(4, 5)}

    def value(quantity: Quantity, covariance: sp.Rational) -> mp.mpf:
        return quantity.evalf(15, **{s.name: {**numbers, "C": covariance}[s.name] for s in quantity.symbols})

    above, below = (value(theory.covariance_map, C + side * step) for side in (1, -1))
    assert abs((above - below) / float(2 * step) / value(theory.covariance_slope, C) - 1) < 1e-6


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LAYERS)
def test_proofs_replay(name):
    for quantity in sr.derive(LAYERS[name]).quantities.values():
        assert quantity.proof.replay() == quantity.expr


# ---- random piecewise sums -----------------------------------------------------------------------------------------
FUZZ_DIGITS, FUZZ_TOLERANCE = 22, 1e-19
CHUNK = 20
CASES = {"f^2": 140, "f": 320, "f g": 40}  # in this order the fast lane has two kinds
DECLINED = {"f": 8, "f^2": 14, "f g": 14}  # at most so many in a chunk; each has one with 7, 13 and 13


def one_input(generator: Random, power: int) -> tuple[Quantity, mp.mpf, Measured, str]:
    """<f^p> in closed form, its value, and the oracle's."""
    function, K = random_sections(generator), random_variance(generator)
    quantity = sr.expect(sr.Activation("f", function.as_piecewise(sr.z))(sr.z) ** power)
    return quantity, quantity.evalf(FUZZ_DIGITS, K=K), average(function**power, K), f"{function} at {K}"


def two_inputs(generator: Random) -> tuple[Quantity, mp.mpf, Measured, str]:
    """<f(z1) g(z2)> likewise."""
    first, second, (K1, C, K2) = random_sections(generator), random_sections(generator), random_law(generator)
    quantity = sr.expect2(*(sr.Activation(n, s.as_piecewise(sr.z)) for n, s in (("f", first), ("g", second))))
    value = quantity.evalf(FUZZ_DIGITS, K1=K1, C=C, K2=K2)
    return quantity, value, average2(first, second, (K1, C, K2)), f"{first} and {second} at {K1, C, K2}"


def case(kind: str, number: int) -> tuple[Quantity, mp.mpf, Measured, str]:
    """The number-th random case, the same in every run."""
    generator = Random(f"{kind} {number}")
    return two_inputs(generator) if kind == "f g" else one_input(generator, {"f": 1, "f^2": 2}[kind])


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("kind", "first"), [(kind, first) for kind, count in CASES.items() for first in range(0, count, CHUNK)]
)
def test_nothing_is_wrong(kind: str, first: int) -> None:
    statuses: Counter[Status] = Counter()
    for number in range(first, first + CHUNK):
        quantity, value, measured, what = case(kind, number)
        statuses[quantity.status] += 1
        assert measured.distance(value) < FUZZ_TOLERANCE, (number, quantity.status, what)
        assert bool(quantity.reason) == (quantity.status is Status.NUMERIC), what
    print(f"<{kind}> {first}..{first + CHUNK - 1}: {dict(statuses)}")
    assert set(statuses) <= {Status.EXACT, Status.NUMERIC}
    assert statuses[Status.NUMERIC] <= DECLINED[kind]


_BREAKS = (R(-2), R(-1), R(-1, 2), R(0), R(1, 3), R(1), R(3, 2))
_RATES = (R(1, 2), R(2, 3), R(1), R(3, 2), R(2))


def random_sections(generator: Random) -> Sections:
    """A function with 0, 1 or 2 breaks that is not constant."""
    while True:
        count = generator.choice((0, 0, 1, 1, 2))
        breaks = tuple(sorted(generator.sample(_BREAKS, count)))
        result = Sections(breaks, tuple(_sum(generator) for _ in range(count + 1)))
        if any(part.has(x) for part in result.parts) and all(
            left != right for left, right in zip(result.parts, result.parts[1:], strict=False)
        ):
            return result


def random_variance(generator: Random) -> sp.Rational:
    """Of order one."""
    return R(generator.randint(5, 120), 64)


def random_law(generator: Random) -> tuple[sp.Rational, sp.Rational, sp.Rational]:
    """(K1, C, K2), with a correlation of at most 0.8."""
    K1, K2 = random_variance(generator), random_variance(generator)
    return K1, R(generator.choice((1, -1)) * generator.randint(4, 50), 64) * min(K1, K2), K2


def _sum(generator: Random) -> sp.Expr:
    return sp.Add(*(_coefficient(generator) * _term(generator) for _ in range(generator.choice((1, 1, 2, 2, 3)))))


def _coefficient(generator: Random) -> sp.Rational:
    return R(generator.choice((1, -1)) * generator.randint(1, 9), generator.randint(1, 4))


def _term(generator: Random) -> sp.Expr:
    rate = generator.choice(_RATES)
    signed = rate * generator.choice((1, -1))
    shift = R(generator.choice((1, -1)), generator.randint(1, 4))
    power = x ** generator.choice((0, 0, 1, 2))
    return generator.choice(
        (
            x ** generator.randint(0, 4),
            x ** generator.randint(0, 3),
            power * sp.exp(signed * x / 2),
            power * sp.exp(-rate * x**2),
            sp.exp(-rate * x**2 + shift * x),
            power * sp.erf(signed * x),
            sp.erf(signed * x),
            sp.erf(rate * x + shift),
            generator.choice((sp.sin(rate * x), sp.sin(rate * x + shift), sp.cos(rate * x), x * sp.cos(rate * x))),
        )
    )
