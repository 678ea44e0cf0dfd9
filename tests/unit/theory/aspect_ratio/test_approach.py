"""How growth becomes nu where kernels flow to 0, against recursions of thousands of layers."""

import math
import re

import pytest
import sympy as sp

import symres as sr
from tests.shared import derived

CASES = [
    (sr.mlp("tanh"), {"C_W": 1}, "-5/12"),
    (sr.mlp("sin"), {"C_W": 1}, "1/3"),
    (sr.residual("tanh"), {"C_W": 0.64, "gamma": 0.6}, "-233/192"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("layer", "setting", "expected"), CASES)
def test_deep_networks(layer, setting, expected):
    """V/(nu K^2) - l grows by kappa log 2 from l to 2 l, the better the deeper."""
    theory = derived(layer)
    weight = {name: value for name, value in setting.items() if name == "gamma"}
    found = float(theory.nu_log.evalf(**weight))
    assert found == pytest.approx(float(sp.Rational(expected)), rel=1e-13)
    assert theory.nu_log.verifications
    nu = float(theory.nu.evalf(**weight))
    states = theory.fluctuations(2000, 1, C_b=0, **setting).states
    excess = {
        depth: states[depth].V.item() / states[depth].kernel.item() ** 2 / nu - depth
        for depth in (250, 500, 1000, 2000)
    }
    missed = [abs((excess[2 * depth] - excess[depth]) / math.log(2) / found - 1) for depth in (250, 500, 1000)]
    assert missed[2] < missed[1] < missed[0] < 0.05
    assert missed[2] < 0.013


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formula", "reason"),
    [("relu", "do not flow"), ("gelu", "do not flow"), ("z - z^5*exp(-z^2)*sqrt(abs(z))", "like l\\*\\*-")],
)
def test_what_has_no_logarithm(formula, reason):
    found = derived(sr.mlp(formula)).nu_log
    assert found.status is sr.Status.UNKNOWN
    assert re.search(reason, str(found.reason))
