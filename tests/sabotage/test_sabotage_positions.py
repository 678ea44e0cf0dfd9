"""Wrong theories of sequences are refuted, by sampled scores and by networks with real heads; the right one passes."""

from dataclasses import replace
from functools import cache

import pytest
import sympy as sp

import symres as sr
from symres.check import Outcome, check
from symres.core.symbols import T
from symres.functions.records.softmax_family import SoftmaxOverlap
from tests.oracles.kernels import FakeTheory

C_Q = sp.Symbol("C_Q", positive=True)
NUMBERS = {"C_Q": 1, "T": 6}


class Sequences(FakeTheory):
    """Claims about sequences of tokens."""

    has_positions = has_covariance = True
    sequence_length = T


@cache
def theory():
    return sr.layer("Attention(LayerNorm(z), 1, 0, C_Q, 8)").derive()


def overlaps(slopes, change):
    """A change of all overlaps, or of all their slopes."""
    return lambda body: body.replace(lambda x: isinstance(x, SoftmaxOverlap) and bool(x.args[4:]) is slopes, change)


CHANGES = {
    "uniform weights": overlaps(False, lambda x: 1 / x.args[3]),
    "C_Q off by 5 %": lambda body: body.subs(C_Q, 21 * C_Q / 20),
    "one token more": lambda body: body.subs(T, T + 1),
    "no path through the scores": overlaps(True, lambda x: sp.S.Zero),
}
SEEN = [
    *(("quadrature", name, change) for name in ("kernel_map", "covariance_map") for change in list(CHANGES)[:3]),
    *(("simulation", "chi_perp", change) for change in CHANGES),
    ("simulation", "tangent_map", "no path through the scores"),
]


def outcomes(oracle, name, change):
    right = theory().quantity(name)
    needed = {"kernel_map": theory().kernel_map, "covariance_map": theory().covariance_map}
    claims = needed | {name: replace(right, body=change(right.body))}
    one = Sequences(theory().layer.forward, claims)
    rows = check(one, oracle, points=1, depth=1, parameters=NUMBERS, quantities=[name], progress=False).verdicts
    return {row.outcome for row in rows if row.quantity == name}


@pytest.mark.sample(6)
@pytest.mark.parametrize(("oracle", "name", "change"), SEEN)
def test_wrong_sequences_are_refuted(oracle, name, change):
    assert outcomes(oracle, name, CHANGES[change]) == {Outcome.REFUTED}


@pytest.mark.parametrize(("oracle", "name"), sorted({(oracle, name) for oracle, name, _ in SEEN}))
def test_right_sequences_pass(oracle, name):
    assert outcomes(oracle, name, lambda body: body) == {Outcome.PASSED}
