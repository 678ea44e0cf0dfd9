"""Fixed points, phases and points of critical lines are plain data; a report holds what the theory found."""

import math
import pickle

import pytest

import symres as sr
from symres.core.errors import NoClosedForm
from symres.results.critical_point import CriticalPoint
from symres.results.exponents import Exponents
from symres.results.phases import CRITICAL, LinePoint, Phase, phase_name


def test_report_holds_the_points_of_the_theory():
    theory = sr.derive("relu")
    report = theory.report()
    assert report.critical_points == theory.critical_points
    assert all(isinstance(point, CriticalPoint) for point in report.critical_points)
    assert isinstance(report.exponents, Exponents)


@pytest.mark.parametrize(
    ("chi_perp", "name"),
    [(0.9, "ordered"), (1.1, "chaotic"), (1 + CRITICAL / 2, "critical"), (math.nan, "unknown")],
)
def test_phase_name(chi_perp, name):
    assert phase_name(chi_perp) == name


def test_correlation_length():
    assert Phase("ordered", 1.0, 0.5, math.exp(-0.1)).correlation_length == pytest.approx(10)
    assert Phase("critical", 1.0, 0.5, 1.0).correlation_length == math.inf
    with pytest.raises(NoClosedForm, match="the limit of chi_perp is not known"):
        _ = Phase("diverging", math.inf, math.nan, math.nan).correlation_length


@pytest.mark.parametrize(("chi_parallel", "reachable"), [(0.5, True), (1.0, True), (-1.5, False)])
def test_line_point(chi_parallel, reachable):
    point = LinePoint(0.25, 2.0, chi_parallel)
    assert (float(point), point.K, point.reachable) == (0.25, 2.0, reachable)
    assert ("unreachable" in repr(point)) is not reachable


def test_phases_and_line_points_pickle():
    phase, point = Phase("ordered", 1.0, 0.5, 0.9), LinePoint(0.25, 2.0, -1.5)
    assert pickle.loads(pickle.dumps(phase)) == phase
    again = pickle.loads(pickle.dumps(point))
    assert (again, again.K, again.chi_parallel) == (point, point.K, point.chi_parallel)
