"""Corrections to laws of the depth, beside the iteration of maps in long numbers."""

import math

import pytest
import sympy as sp

import symres as sr
from symres.results.critical_point import NextOrder
from symres.theory.criticality.next_orders import of_distance, of_growth
from tests.shared import derived

LAYERS = 100_000


def iterated(step, start, layers=LAYERS):
    """The kernels after some layers and after twice as many."""
    kernels, kernel = [], start
    for layer in range(1, 2 * layers + 1):
        kernel = step(kernel)
        if layer in (layers, 2 * layers):
            kernels.append(kernel)
    return kernels


def measured(kernels, amplitude, power, layers=LAYERS):
    """The coefficient of log(l)/l: what the start adds, a constant over l, cancels between l and 2l."""
    near, far = (
        kernel * depth**power / amplitude - 1 for kernel, depth in zip(kernels, (layers, 2 * layers), strict=True)
    )
    return (2 * far - near) * layers / math.log(2)


@pytest.mark.parametrize(
    ("n", "b", "m", "c"),
    [(2, -2.0, 3, 17 / 3), (2, -0.5, 3, -1.0), (3, -1.0, 5, 0.7), (2, -1.0, 4, 5.0)],
)
def test_logarithms(n, b, m, c):
    first, second = (sp.Integer(n), sp.Rational(str(b))), (sp.Integer(m), sp.Rational(str(round(c, 12))))
    amplitude = (1 / ((n - 1) * -first[1])) ** sp.Rational(1, n - 1)
    order = of_distance(first, second, amplitude)
    kernels = iterated(lambda d: d + b * d**n + c * d**m, 0.1)
    assert order.logarithmic and order.power == 1
    assert float(order.coefficient) == pytest.approx(measured(kernels, float(amplitude), 1 / (n - 1)), abs=0.03)
    wrong = of_distance(first, (second[0], second[1] + 1), amplitude)
    assert m == 4 or abs(float(wrong.coefficient - order.coefficient)) > 0.1  # what the comparison would see


def test_powers_of_the_depth():
    """D' = d - d^3 + c d^4: the correction falls like 1/sqrt(l)."""
    order = of_distance((sp.Integer(3), sp.Integer(-1)), (sp.Integer(4), sp.Rational(1, 2)), 1 / sp.sqrt(2))
    assert (order.power, order.logarithmic) == (sp.Rational(1, 2), False)
    _, far = iterated(lambda d: d - d**3 + d**4 / 2, 0.3)
    relative = (far * math.sqrt(4 * LAYERS) - 1) * math.sqrt(2 * LAYERS)
    assert float(order.coefficient) == pytest.approx(relative, rel=0.05)  # the next term is log(l)/sqrt(l) of it


@pytest.mark.parametrize(("t", "s"), [(-0.5, -0.4), (-1.0, 0.8)])
def test_growth(t, s):
    """K' = K + r + s K^t."""
    order = of_growth((sp.Integer(0), sp.Rational(3, 2)), (sp.Rational(str(t)), sp.Rational(str(s))))
    kernels = iterated(lambda k: k + 1.5 + s * k**t, 2.0)
    if order.logarithmic:
        assert float(order.coefficient) == pytest.approx(measured(kernels, 1.5, -1), abs=0.01)
    else:
        relative = (kernels[1] / (3 * LAYERS) - 1) * math.sqrt(2 * LAYERS)
        assert float(order.coefficient) == pytest.approx(relative, rel=0.02)


def test_of_activations():
    """GELU's law, amplitude/l, says nothing below a million layers."""
    gelu = derived(sr.mlp("gelu")).exponents.next_order
    assert float(gelu.coefficient) == pytest.approx(-10462.3, abs=0.1)
    assert 10**6 < gelu.onset() < 2 * 10**6
    assert sr.derive("tanh").exponents.next_order.coefficient == sp.Rational(5, 12)
    assert sr.derive("sin").exponents.next_order.coefficient == -sp.Rational(1, 3)
    skip = sr.derive(sr.residual("erf", gamma=1)).exponents.next_order
    at = {"C_W": 2, "C_b": sp.Rational(1, 10)}
    value = float(skip.coefficient.subs({s: at[s.name] for s in skip.coefficient.free_symbols}))
    _, far = iterated(lambda k: k + 0.1 + 4 / math.pi * math.asin(2 * k / (1 + 2 * k)), 1.0)
    assert value == pytest.approx((far / (4.2 * LAYERS) - 1) * math.sqrt(2 * LAYERS), rel=0.02)


@pytest.mark.parametrize("name", ["tanh", "sin", "erf"])
def test_the_layer_from_which_a_law_holds(name):
    theory = sr.derive(name)
    laws, C_W = theory.exponents, theory.critical_points[0].C_W
    first = laws.next_order.onset(float(laws.amplitude))
    kernels = theory.kernels(4 * first, 1, C_W=C_W, C_b=0)
    for layer in range(first, 4 * first):
        assert abs(float(kernels[layer]) * layer / float(laws.amplitude) - 1) < 0.1
    assert NextOrder(sp.Symbol("b"), sp.Integer(1)).onset() is None
