"""The second proof of pair averages: it replays, it uses other averages, and a wrong form has none."""

from __future__ import annotations

import pickle

import pytest
import sympy as sp

import symres as sr
from symres.activations.piecewise import split
from symres.core.symbols import K1, K2, C, z
from symres.gaussian.closed_form.average import _verified
from symres.gaussian.closed_form.engine import closed_form
from symres.gaussian.closed_form.price_proof import price_proof

R = sp.Rational
PAIR = (K1, C, K2)
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
