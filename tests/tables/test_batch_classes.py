"""Deep networks with batch normalisation: classes, exponents and fixed points against formulas written by hand.

The variance of a neuron over the batch is V = K - C. What enters the Dense has variance 1, so
V' = gamma^2 V + C_W v with v = <phi^2> - <phi>^2 at kernel 1, and chi_perp = gamma^2 + C_W s/V with s = <phi'^2>.
"""

import math
import re

import pytest
import sympy as sp

import symres as sr
from tests.shared import derived

# name -> (<phi^2> - <phi>^2, <phi'^2>) of a standard normal variable, exact
KNOWN = {
    "relu": (sp.Rational(1, 2) - 1 / (2 * sp.pi), sp.Rational(1, 2)),
    "erf": (2 / sp.pi * sp.asin(sp.Rational(2, 3)), 4 / (sp.pi * sp.sqrt(5))),
    "sin": ((1 - sp.exp(-2)) / 2, (1 + sp.exp(-2)) / 2),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("gamma", ["0", "1/2", "9/10"])
@pytest.mark.parametrize("name", KNOWN)
def test_with_a_skip_below_one_gradients_explode_at_every_initialisation(name, gamma):
    """V* = C_W v/(1 - gamma^2), so chi_perp = gamma^2 + (1 - gamma^2) s/v > 1, whatever C_W and C_b are."""
    theory = derived(sr.batch_norm(name, gamma))
    v, s = KNOWN[name]
    square = sp.Rational(gamma) ** 2
    assert (theory.universality_class, theory.critical_points) == ("none", ())
    expected = float(square + (1 - square) * s / v)
    assert expected > 1
    (said,) = (text for text in theory.remarks if "at the fixed point for all C_W and C_b" in text)
    assert float(re.search(r"chi_perp = ([0-9.]+) at", said)[1]) == pytest.approx(expected, rel=1e-11)
    for C_W, C_b in (("1.3", "0.1"), ("0.4", "0.7")):
        (found,) = theory.fixed_points(C_W=C_W, C_b=C_b)
        assert found.phase == "chaotic"
        assert found.chi_perp == pytest.approx(expected, rel=1e-12)
        assert found.chi_parallel == pytest.approx(float(square), abs=1e-12)
        # the kernel itself: K = gamma^2 K + C_b + C_W <phi^2>
        mean = 0 if name != "relu" else 1 / (2 * math.pi)
        own = (float(C_b) + float(C_W) * (float(v) + mean)) / (1 - float(square))
        assert found.K == pytest.approx(own, rel=1e-12)
        assert theory.correlation_length(C_W=C_W, C_b=C_b) == pytest.approx(1 / math.log(expected), rel=1e-10)


def test_without_a_skip_the_rate_of_relu_is_the_published_one():
    """Yang et al. 2019: gradients explode like (pi/(pi - 1))^l."""
    (found,) = derived(sr.batch_norm("relu")).fixed_points(C_W=1, C_b=0)
    assert found.chi_perp == pytest.approx(math.pi / (math.pi - 1), rel=1e-14)


@pytest.mark.parametrize("name", KNOWN)
def test_with_a_full_skip_every_initialisation_is_critical(name):
    """V = C_W v l, so J ~ l^(s/v)."""
    theory = derived(sr.batch_norm(name, 1))
    v, s = KNOWN[name]
    assert theory.universality_class == "everywhere-critical"
    found = theory.exponents
    assert found.kernel == -1
    assert float(found.jacobian + s / v) == pytest.approx(0, abs=1e-14)
    assert float(sp.N((found.amplitude / sr.C_W) - v)) == pytest.approx(0, abs=1e-14)


def test_the_class_that_is_asked_of_a_symbol_is_that_of_a_skip_below_one():
    assert derived(sr.batch_norm("relu", sr.gamma)).universality_class == "none"


def test_two_units_have_the_class_of_one():
    assert derived(sr.batch_norm("relu", 1, units=2)).universality_class == "everywhere-critical"
    assert derived(sr.batch_norm("relu", "1/2", units=2)).universality_class == "none"


def test_exponents_of_a_batch_are_those_of_its_variance():
    """By hand v' = v - 9/4 v^2 and chi_perp = 1 - 9/4 v around v = 0: both exponents are 1."""
    branch = sr.Dense(sr.activation("tanh")(sr.BatchNorm(sr.z, epsilon=1)))
    theory = derived(sr.Layer(sr.z / 2 + branch))
    assert theory.universality_class == "K*=0"
    assert (theory.exponents.kernel, theory.exponents.jacobian, theory.exponents.amplitude) == (1, 1, sp.Rational(4, 9))
