"""How far a critical point K* = 0 reaches."""

import pytest

from symres.studies.kernel_range import reach
from tests.shared import derived


@pytest.mark.sample(1)
@pytest.mark.parametrize(("formula", "largest"), [("tanh(z)", "1e-2"), ("tanh(100*z)/100", "1e-6"), ("sin(z)", "2e-2")])
def test_the_kernels_that_a_layer_keeps(formula, largest):
    """K' = K - 2 a^2 K^2 for tanh(a z)/a and K - K^2 for sin: 2 % are lost at 0.01/a^2 and at 0.02."""
    report = derived(formula).report()
    assert reach(report, report.critical_points[0]).kept == largest
