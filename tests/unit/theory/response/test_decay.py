"""The power law of the response, against the response of deep networks."""

import pytest
import sympy as sp

import symres as sr


@pytest.mark.exhaustive
@pytest.mark.parametrize("name, slope", [("erf", 1 / sp.pi), ("tanh", 1 / sp.sqrt(2 * sp.pi))])
def test_kernels_that_grow(name, slope):
    """K grows by xi^2 (C_W + C_b) a layer, and d<phi^2>/dK = slope*K^(-3/2)."""
    theory = sr.derive(sr.residual(name, gamma=1, xi=sr.xi))
    found = theory.response_decay
    assert (found.exponent, found.order) == (sp.Rational(3, 2), sp.Rational(3, 2))
    numbers = {sr.C_W: sp.Rational(6, 5), sr.C_b: sp.Rational(1, 5), sr.xi: sp.Rational(1, 2)}
    expected = slope * numbers[sr.C_W] / (numbers[sr.xi] * (sp.Rational(7, 5)) ** sp.Rational(3, 2))
    assert abs(float(found.ratio.subs(numbers) / expected) - 1) < 1e-14
    scaled = []
    for depth in (500, 2000):
        deep = theory.response(depth, 1, **{s.name: value for s, value in numbers.items()})
        scaled.append(deep.eta[depth] / deep.chi[depth] * depth**1.5)
    assert abs((2 * scaled[1] - scaled[0]) / float(expected) - 1) < 0.01  # corrections fall like the root of the depth


@pytest.mark.exhaustive
def test_kernels_that_flow_to_zero():
    found = sr.derive(sr.residual("tanh")).response_decay
    assert (found.exponent, found.ratio) == (2, 1 - sr.gamma**2)
    deep = sr.derive(sr.residual("tanh")).response(1000, 1, gamma=0.5, C_W=0.75, C_b=0)
    assert abs(deep.chi[1000] / deep.chi[500] * 4 - 1) < 0.02
    assert abs(deep.eta[1000] / deep.chi[1000] / 0.75 - 1) < 0.001
