"""Parameters that only set a scale leave functions of kernels alone, and cost no digits."""

import pytest
import sympy as sp

from symres.core.symbols import K
from symres.report.export import export
from symres.results.quantity import Quantity, Status
from tests.oracles.closed_forms import KERNELS, in_50_digits

ALPHA = sp.Symbol("alpha", positive=True)
SCALES = {  # alpha as celu and swish have it: f(K, alpha) = alpha^m f(K*alpha^s, 1)
    "celu": ALPHA**2 * KERNELS["elu"].subs(K, K / ALPHA**2),
    "swish": KERNELS["gelu"].subs(K, K * ALPHA**2) / ALPHA**2,
}


@pytest.mark.parametrize("name", SCALES)
def test_a_parameter_that_is_a_scale_costs_no_digits(name):
    formula = SCALES[name]
    f = export(Quantity("kernel_map", (K, ALPHA), formula, formula, Status.EXACT)).load().kernel_map
    for k, alpha in ((1e-8, 1.7), (0.3, 0.2), (1e4, 3.0)):
        assert f(k, alpha) == pytest.approx(float(in_50_digits(formula, K=k, alpha=alpha)), rel=2e-15)
    assert f(0.0, 2.0) == 0.0


@pytest.mark.parametrize(
    "formula", [K * sp.exp(-ALPHA * K), K / (1 + ALPHA * K + ALPHA * K**2), sp.log(1 + K**2 * ALPHA)], ids=str
)
def test_a_parameter_that_is_no_scale_stays_an_argument(formula):
    f = export(Quantity("kernel_map", (K, ALPHA), formula, formula, Status.EXACT)).load().kernel_map
    for k, alpha in ((1e-8, 1.7), (0.3, 0.2), (7.0, 3.0)):
        assert f(k, alpha) == pytest.approx(float(in_50_digits(formula, K=k, alpha=alpha)), rel=2e-15)
