"""Identities of Gaussian averages, for catalogue activations at random kernels, through the public door."""

from __future__ import annotations

from functools import cache

import mpmath as mp
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import symres as sr
from symres.activations.activation import Activation
from symres.results.quantity import Quantity
from tests.oracles.sections import PARAMETERS

R = sp.Rational
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


@pytest.mark.parametrize("name", ["gelu", "tanh", "hard_tanh"])
def test_the_comparison_sees_a_difference_in_the_17th_digit(name: str) -> None:
    number = at(one(phi(name)(sr.z) ** 2), R(7, 5))
    with mp.workdps(30):
        assert not close(number, number * (1 + 2 * TOLERANCE))
        assert not close(number, number + 3 * TOLERANCE, number)
