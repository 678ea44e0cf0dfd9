"""Fixed points, phases, points of critical lines, numbers with errors and solutions on several branches."""

import copy
import math
import pickle

import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.results.annotated_numbers import Branches, BranchScale, EstimatedNumber, Estimates
from symres.results.critical_point import CriticalPoint
from symres.results.phases import CRITICAL, LinePoint, Phase, phase_name


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


def test_kernels_as_floats():
    """A loop over points wants floats: the symbol for "every kernel" is none, nan stands for it."""
    theory = sr.derive("relu")
    (point,), (fixed,) = theory.critical_points, theory.fixed_points(C_W=2, C_b=0)
    assert point.K == fixed.K == sr.K and fixed.phase == "critical"
    assert math.isnan(point.kernel)
    assert math.isnan(fixed.kernel)
    assert math.isnan(theory.phase(C_W=2, C_b=0).kernel)
    assert theory.phase(C_W=1, C_b=1).kernel == theory.fixed_points(C_W=1, C_b=1)[0].kernel == pytest.approx(2)


def test_kernels_of_critical_points_as_floats():
    assert (
        CriticalPoint(sp.Rational(3, 2) + sp.sqrt(17) / 2, sr.C_W, sr.C_b, "half-stable").kernel == 3.5615528128088303
    )
    with pytest.raises(DeclarationError, match="it depends on gamma"):
        _ = CriticalPoint(1 / sr.gamma**2, sr.C_W, sr.C_b, "half-stable").kernel


def test_the_kernel_is_an_ordinary_symbol():
    """A symbol of the same name and sign that a user makes is the kernel; a class of its own would be another one."""
    assert sp.Symbol("K", positive=True) == sr.K
    with pytest.raises(TypeError):
        float(sr.K)


def test_a_single_branch_is_a_number():
    assert float(Branches([0.5])) == 0.5
    with pytest.raises(sr.DeclarationError, match="several"):
        float(Branches([0.5, 0.7]))


@pytest.mark.parametrize(
    "number",
    [EstimatedNumber(0.5, 0.1), BranchScale(0.5, -2.0, (0.1, 3.0)), LinePoint(0.5, 2.0, 0.9), Estimates([0.5], [0.1])],
    ids=lambda number: type(number).__name__,
)
def test_copies_keep_what_is_known(number):
    for copied in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert type(copied) is type(number)
        assert copied == number
        assert vars(copied) == vars(number)


def test_a_number_is_made_with_all_that_is_known():
    with pytest.raises(ValueError, match="argument"):
        EstimatedNumber(0.5)
