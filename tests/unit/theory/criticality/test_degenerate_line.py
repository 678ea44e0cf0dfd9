"""Layers in which both susceptibilities are one function of the kernel: lines of critical points."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of
from tests.shared import derived


@pytest.mark.parametrize(
    ("formula", "function", "slope", "breaks"),
    [
        ("max(z-1,0)", lambda x: max(x - 1, 0), lambda x: x > 1, [1]),
        (
            "max(z-1/2,0) + min(z+1/2,0)",
            lambda x: mp.sign(x) * max(abs(x) - 0.5, 0),
            lambda x: abs(x) > 0.5,
            [-0.5, 0.5],
        ),
    ],
)
def test_a_line_of_critical_points(formula, function, slope, breaks):
    """An activation that is linear between its zeros has equal susceptibilities at every kernel."""
    theory = derived(formula)
    (line,) = theory.critical_points
    assert line.K == sr.K
    assert (line.stability, theory.universality_class) == ("half-stable", "half-stable")
    assert any("line of critical points" in remark for remark in theory.remarks)
    for k in (sp.Rational(1, 3), sp.Integer(2)):
        weight, bias = (mp.mpf(sp.N(e.subs(sr.K, k), 25)) for e in (line.C_W, line.C_b))
        assert bias > 0
        assert abs(weight * average_of(lambda x: slope(x), k, breaks) - 1) < 1e-15
        assert abs(bias + weight * average_of(lambda x: function(x) ** 2, k, breaks) - k) < 1e-15


def test_a_line_without_biases_is_none():
    theory = derived("max(z+1,0)")
    assert theory.critical_points == ()
    assert theory.universality_class == "none"
    assert "no C_b >= 0" in theory.remarks[0]
