"""Random piecewise sums of polynomials, exponentials, Gaussians, error functions and oscillations: nothing is wrong.

The numbers come from an oracle of its own, not from the quadrature with which the engine verifies itself. The engine
may decline a closed form; how often is bounded from above, so that an engine that gives up is seen.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.results.quantity import Quantity, Status
from tests.oracles.line30 import average
from tests.oracles.panels30 import Measured
from tests.oracles.plane30 import average2
from tests.oracles.random_sections import random_law, random_sections, random_variance

DIGITS, TOLERANCE = 22, 1e-19
CHUNK = 20
CASES = {"f^2": 140, "f": 320, "f g": 40}  # in this order the fast lane has two kinds
DECLINED = {"f": 8, "f^2": 14, "f g": 14}  # at most so many in a chunk; each has one with 7, 13 and 13


def one_input(generator: Random, power: int) -> tuple[Quantity, mp.mpf, Measured, str]:
    """<f^p> in closed form, its value, and the oracle's."""
    function, K = random_sections(generator), random_variance(generator)
    quantity = sr.expect(sr.Activation("f", function.as_piecewise(sr.z))(sr.z) ** power)
    return quantity, quantity.evalf(DIGITS, K=K), average(function**power, K), f"{function} at {K}"


def two_inputs(generator: Random) -> tuple[Quantity, mp.mpf, Measured, str]:
    """<f(z1) g(z2)> likewise."""
    first, second, (K1, C, K2) = random_sections(generator), random_sections(generator), random_law(generator)
    quantity = sr.expect2(*(sr.Activation(n, s.as_piecewise(sr.z)) for n, s in (("f", first), ("g", second))))
    value = quantity.evalf(DIGITS, K1=K1, C=C, K2=K2)
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
        assert measured.distance(value) < TOLERANCE, (number, quantity.status, what)
        assert bool(quantity.reason) == (quantity.status is Status.NUMERIC), what
    print(f"<{kind}> {first}..{first + CHUNK - 1}: {dict(statuses)}")
    assert set(statuses) <= {Status.EXACT, Status.NUMERIC}
    assert statuses[Status.NUMERIC] <= DECLINED[kind]


@pytest.mark.sample(4)
@pytest.mark.parametrize("share", [sp.Rational(1, 10**18), sp.Rational(-1, 10**18)])
@pytest.mark.parametrize("kind", CASES)
def test_a_wrong_result_would_be_seen(kind: str, share: sp.Rational) -> None:
    _, value, measured, _ = case(kind, 1)
    with mp.workdps(40):
        assert measured.distance(value) < TOLERANCE < measured.distance(value * (1 + mp.mpf(share.p) / share.q))
