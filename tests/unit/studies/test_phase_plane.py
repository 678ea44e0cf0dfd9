"""Critical lines of phase diagrams: along their kernels, and between pixels."""

import math

import numpy as np
import pytest

import symres as sr
from symres.report.figures.phase_diagram import phase_diagram
from symres.studies import phase_plane
from tests.shared import derived


@pytest.mark.parametrize(("formula", "lines"), [("max(z-1,0)-max(-z-1,0)", 0), ("erf", 1)])
def test_a_jump_of_chi_perp_is_no_critical_line(formula, lines):
    """Where a fixed point vanishes, chi_perp jumps from 0.5 to 3.5 without being 1."""
    theory = derived(sr.residual(formula))
    drawn = phase_diagram(theory, ("C_W", 1, 4), ("gamma", 0.2, 0.95), points=60, C_b=0.1)
    assert drawn.chi_perp.min() < 0.9 and drawn.chi_perp.max() > 1.1
    assert len(drawn.lines) == lines


def test_lines_are_smooth_and_reach_their_ends():
    """Of z - sin(z) the line is reachable above the critical point; of cos(3z) it ends on the axis."""
    found = phase_diagram(derived("z-sin(z)"), points=3)
    (star,) = found.points
    size = np.array([found.xs[-1], found.ys[-1]])
    assert {reachable for *_, reachable in found.lines} == {True, False}
    for weights, biases, _ in found.lines:
        places = np.column_stack([weights, biases]) / size
        inside = (places <= 1).all(axis=1)
        assert np.hypot(*np.diff(places[inside], axis=0).T).max() < 0.01
        assert np.hypot(*(places - star / size).T).min() < 0.01
    ((weights, biases, _),) = phase_diagram(derived("cos(3*z)"), points=3).lines
    assert biases[0] == pytest.approx(0, abs=0.01)
    kernel = 1.0  # K' = C_b + C_W (1 + exp(-18K))/2 and chi_perp = 9 C_W (1 - exp(-18K))/2, by hand
    for _ in range(400):
        kernel = biases[0] + weights[0] * (1 + math.exp(-18 * kernel)) / 2
    assert 9 * weights[0] * (1 - math.exp(-18 * kernel)) / 2 == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("step", "lines"), [(0.1, 0), (0.0, 1)], ids=["chi_perp jumps", "chi_perp passes 1"])
def test_a_border_between_two_ends_of_the_kernel_is_a_line_only_where_chi_perp_passes_1(step, lines):
    xs, ys = np.linspace(0, 2, 41) + 0.01, np.linspace(0, 1, 11)
    chi = np.tile(1 + 0.05 * (xs - 1) + step * np.sign(xs - 1), (11, 1))
    kernel = np.tile(np.where(xs < 1, 0.0, np.inf), (11, 1))
    assert len(phase_plane.between_pixels(xs, ys, kernel, chi)) == lines
