"""What is said of a critical point, against the map."""

import pytest
import sympy as sp

from symres.studies.criticality_summary import stability
from tests.shared import derived


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "side"), [("gelu", "above"), ("silu", "below")])
def test_from_which_side_a_half_stable_kernel_attracts(name, side):
    """By the map: one step from that side leads closer to K*, one from the other side away."""
    theory = derived(name)
    report, point = theory.report(), theory.critical_points[0]
    assert stability(report.critical_points[0]).startswith(f"half-stable: it attracts nearby kernels from {side};")
    star = sp.N(point.K, 25)
    at = {"C_W": sp.N(point.C_W, 25), "C_b": sp.N(point.C_b, 25)}
    near = sp.Rational(1, 200) if side == "above" else -sp.Rational(1, 200)
    for start, comes_closer in ((star * (1 + near), True), (star * (1 - near), False)):
        end = theory.kernel_map.evalf(22, K=start, **at)
        assert (abs(end - star) < abs(start - star)) == comes_closer
