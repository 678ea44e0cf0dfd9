"""The oracle of 30 digits against averages that everybody knows, and with defects that it must notice."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import mpmath as mp
import pytest
import sympy as sp
from flint import arb

from tests.oracles import kernels, panels30
from tests.oracles.line30 import average
from tests.oracles.panels30 import Unsettled
from tests.oracles.plane30 import average2
from tests.oracles.sections import Sections, sections, x

R = sp.Rational
KERNELS = [R(1, 10**12), R(3, 10**6), R(7, 5), R(2000), R(10**6)]
LAWS = [(R(4, 5), R(-2, 5), R(7, 6)), (R(3, 2), R(9, 8), R(1)), (R(1, 10**6), R(9, 10**6), R(100)), (R(50), R(1), R(2))]
HARD_TANH, RELU, GELU = (sections(name) for name in ("hard_tanh", "relu", "gelu"))

# <f>_K, by hand
LINE = {
    "z^4": (sections("linear") ** 4, lambda k: 3 * k**2),
    "exp(z)": (Sections((), (sp.exp(x),)), lambda k: mp.exp(k / 2)),
    "relu": (RELU, lambda k: mp.sqrt(k / (2 * mp.pi))),
    "erf^2": (sections("erf") ** 2, lambda k: 2 / mp.pi * mp.asin(2 * k / (1 + 2 * k))),
    "gelu^2": (
        GELU**2,
        lambda k: k / 4 + k / (2 * mp.pi) * (mp.asin(k / (1 + k)) + 2 * k / ((1 + k) * mp.sqrt(1 + 2 * k))),
    ),
    "hard_tanh^2": (
        HARD_TANH**2,
        lambda k: mp.erfc(1 / mp.sqrt(2 * k)) + k * mp.gammainc(R(3, 2), 0, 1 / (2 * k), regularized=True),
    ),
    "bell": (sections("bell"), lambda k: 1 / mp.sqrt(1 + k)),
    "cos^2": (sections("cos") ** 2, lambda k: (1 + mp.exp(-2 * k)) / 2),
}


# beyond, exp(z) has its weight further out than the oracle looks
ONE = [(name, k) for name in LINE for k in KERNELS if name != "exp(z)" or k < 100]


@pytest.mark.sample(26)
@pytest.mark.parametrize(("name", "kernel"), ONE, ids=str)
def test_one_variable(name: str, kernel: sp.Rational) -> None:
    function, expected = LINE[name]
    with mp.workdps(60):
        assert average(function, kernel).distance(expected(mp.mpf(kernel.p) / kernel.q)) < 1e-30


def test_what_lies_too_far_out_is_refused() -> None:
    with pytest.raises(Unsettled):
        average(LINE["exp(z)"][0], R(10**4))


# <f(z1) f(z2)>, by hand
PLANE = {
    "relu": kernels.relu,
    "erf": kernels.erf,
    "gelu": kernels.gelu,
    "square": lambda K1, K2, C: K1 * K2 + 2 * C * C,
    "sin": lambda K1, K2, C: mp.exp(-(K1 + K2) / 2) * mp.sinh(C),
    "sign": lambda K1, K2, C: 2 / mp.pi * mp.asin(C / mp.sqrt(K1 * K2)),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", PLANE)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_two_variables(name: str, law: tuple[sp.Rational, ...]) -> None:
    with mp.workdps(60):
        K1, C, K2 = (mp.mpf(v.p) / v.q for v in law)
        expected = PLANE[name](K1, K2, C)
        assert average2(sections(name), sections(name), law).distance(expected) < 1e-29


def test_different_functions_of_the_two_variables() -> None:
    """<relu(z1) z2^3>: z2 given z1 is normal with mean s*z1 and variance v, and <z^4; z > 0> = 3 K^2/2."""
    K1, C, K2 = law = (R(3, 4), R(1, 2), R(2))
    s, v = C / K1, K2 - C**2 / K1
    expected = s**3 * 3 * K1**2 / 2 + 3 * s * v * K1 / 2
    with mp.workdps(50):
        assert average2(RELU, sections("cube"), law).distance(mp.mpf(expected.p) / expected.q) < 1e-30


@pytest.mark.parametrize("share", [R(1, 10**28), R(-1, 10**28)])
def test_a_claim_that_is_wrong_in_the_29th_digit_is_seen(share: sp.Rational) -> None:
    with mp.workdps(60):
        one, two = average(GELU**2, R(1)), average2(RELU, RELU, LAWS[0])
        for measured in (one, two):
            assert measured.distance(measured.value) < 1e-31
            assert measured.distance(measured.value * (1 + mp.mpf(share.p) / share.q)) > 0.99e-28


def test_zero_is_judged_by_what_cancels() -> None:
    odd = average(sections("tanh"), R(2))
    assert odd.distance(mp.mpf(0)) < 1e-38
    assert odd.distance(mp.mpf(10) ** -20) > 1e-21


@pytest.mark.exhaustive
def test_a_forgotten_break_never_settles() -> None:
    """A kink inside a panel costs so many digits that the two rules cannot agree."""
    forgotten = Sections((), (sp.Abs(x - R(1, 3)),))
    with pytest.raises(Unsettled):
        average(forgotten, R(1))
    with pytest.raises(Unsettled):
        average2(forgotten, RELU, LAWS[0])
    with mp.workdps(40):
        b = mp.mpf(1) / 3
        given = Sections((R(1, 3),), (R(1, 3) - x, x - R(1, 3)))
        assert average(given, R(1)).distance(2 * mp.npdf(b) + b * mp.erf(b / mp.sqrt(2))) < 1e-30


@pytest.mark.exhaustive
@pytest.mark.parametrize("spoilt", panels30.RULES)
def test_a_wrong_weight_is_seen(monkeypatch: pytest.MonkeyPatch, spoilt: int) -> None:
    """One weight of either rule, wrong in the 25th digit."""

    def legendre(count: int) -> list[tuple[arb, arb]]:
        factor = 1 + arb(10) ** -25
        return [(t, w * factor if (count, k) == (spoilt, 20) else w) for k, (t, w) in enumerate(right(count))]

    right = panels30.legendre
    for module in ("line30", "plane30"):
        monkeypatch.setattr(f"tests.oracles.{module}.legendre", legendre)
    with pytest.raises(Unsettled):
        average(RELU, R(1))
    with pytest.raises(Unsettled):
        average2(RELU, RELU, LAWS[0])


def test_what_lies_beyond_the_reach_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels30, "REACHES", (6,))
    with pytest.raises(Unsettled):
        average(RELU, R(1))
    with pytest.raises(Unsettled):
        average2(RELU, RELU, LAWS[0])


@pytest.mark.parametrize("module", ["sections", "panels30", "line30", "plane30"])
def test_the_oracle_shares_nothing_with_its_subject(module: str) -> None:
    tree = ast.parse((Path(__file__).parents[1] / "oracles" / f"{module}.py").read_text())
    names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not [name for name in names if name.startswith("symres")]


def test_measured_is_judged_by_its_error() -> None:
    measured = average(RELU, R(1))
    assert replace(measured, error=measured.value / 10).distance(measured.value) > 0.09
