"""Every composition of two functions of the grammar: its average is right, or the reason why it has none is true."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of
from tests.oracles.compositions import FUNCTIONS, Composition, judge

PAIRS = [Composition(outer, inner) for outer, inner in product(FUNCTIONS, FUNCTIONS)]
_DIGITS = 60


@pytest.mark.sample(60)
@pytest.mark.parametrize("composition", PAIRS, ids=[pair.text for pair in PAIRS])
def test_the_average_is_right_or_the_reason_of_the_refusal_true(composition):
    try:
        phi = sr.activation(composition.text)
        value = sr.expect(phi).evalf(15, K="1/2")
    except sr.SymresError as refusal:
        with mp.workdps(_DIGITS):
            assert judge(composition, f"{refusal};"), str(refusal)
        return
    breaks = [mp.mpf(str(b.evalf(_DIGITS))) for b in phi.breakpoints]
    exact = average_of(composition, "0.5", breaks)
    size = average_of(lambda u: abs(composition(u)), "0.5", breaks, digits=4)
    assert abs(value - exact) <= 1e-12 * size


# powers of numbers, as they are typed
POWERS = ["2^z", "1/(1 + 2^-z)", "2^z/(1 + 2^z)", "z*2^(-z^2)", "log(1 + 2^z)", "pi^z", "(1 + z^2)^sin(z)/(1 + z^2)"]
_TARGETS = ["numpy", "torch", "jax", "numba", "c"]


def second_moment(text, k):
    return float(average_of(sp.sympify(text.replace("^", "**")) ** 2, k))


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_goes_through_derive_and_advice(text):
    theory = sr.derive(sr.mlp(text))
    for k in (0.3, 1.1):
        assert float(theory.kernel_map.evalf(K=k, C_W=1, C_b=0)) == pytest.approx(second_moment(text, k), rel=1e-13)
    assert "in the layer mlp" in theory.page()
    assert theory.advice(depth=10, width=100).reasons


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_is_checked(text):
    """Simulations of averages that a few of all networks make up are inconclusive, and say so."""
    report = sr.check(sr.derive(sr.mlp(text)), quantities=["kernel_map", "chi_perp"])
    unsure = [verdict for verdict in report.verdicts if verdict.outcome.value != "PASSED"]
    assert not unsure or text == "pi^z"
    for verdict in unsure:
        assert (verdict.oracle, verdict.outcome.value) == ("simulation", "INCONCLUSIVE")
        assert "a few networks dominate the average" in verdict.remarks[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("text", POWERS)
def test_a_number_to_a_power_of_z_is_exported(text, target):
    module = sr.export(sr.derive(sr.mlp(text)).kernel_map, target=target).load()
    found = float(np.asarray(module.kernel_map(as_array(1.1, target), 1.0, 0.0))[0])
    assert found == pytest.approx(second_moment(text, 1.1), rel=1e-5 if target == "jax" else 1e-9)


def as_array(number, target):
    if target == "torch":
        return pytest.importorskip("torch").tensor([number], dtype=pytest.importorskip("torch").float64)
    return np.array([number])
