"""Settings that advice finds by searches, against scans of kernels and weights."""

import math
from functools import cache

import numpy as np
import pytest

import symres as sr
from symres.core.symbols import C_W, C_b, xi
from symres.results.advice.parts import Origin
from symres.studies.advice.flow import DepthFlow, Setting
from symres.studies.advice.free_settings import TARGET, least_change, small_branches
from tests.shared import derived

KERNELS, WEIGHTS = np.exp(np.linspace(-2.3, 9, 16)), np.exp(np.linspace(-6, 9, 31))


@cache
def flow(layer):
    return DepthFlow(derived(layer))


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "formula", ["gelu", "sigmoid", "exp(-z^2/2)", "erf(z)+erf(z/30)", "sin(z)^2", "z*exp(-z^2/2)", "softplus"]
)
def test_no_setting_of_a_scan_changes_less(formula):
    own = flow(sr.mlp(formula))
    found = min(own.range(setting, 5) for setting in least_change(own, 5, {}))
    scanned = min(
        own.range(Setting(Origin.SEARCH, {C_b: 0.0, C_W: float(weight)}, float(kernel)), 5)
        for kernel in KERNELS
        for weight in WEIGHTS
    )
    assert found <= scanned


@pytest.mark.exhaustive
@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", ["erf(z)", "z*exp(-z^2/2)", "erf(z)+8*erf(z/30)", "8*erf(z/30)-erf(z)", "relu"])
def test_branches_are_as_large_as_they_may_be(formula):
    """Up to the scale that is found inputs change by at most a factor of 2, beyond by more."""
    own = flow(sr.residual(formula, gamma=1, xi=sr.xi))
    for setting in small_branches(own, 10, {}, None):
        scale = setting.values[xi]

        def change(xi_value, setting=setting):
            values = {**setting.values, xi: float(xi_value)}
            return max(
                own.range(Setting(setting.origin, values, setting.kernel), 10),
                own.range(Setting(setting.origin, values, 4 * setting.kernel), 10) / 4,
            )

        assert max(map(change, np.geomspace(1e-6 * scale, scale, 200))) <= TARGET * 1.02
        assert change(1.02 * scale) > TARGET or math.isnan(change(1.02 * scale))
