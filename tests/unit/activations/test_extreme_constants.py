"""Constants beyond 64 bits and next to 0: right numbers, or one error with a true reason, at every stage."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import SymresError


def _maximum(c):
    """<max(z, c)^2> for z ~ N(0, 1): c^2 P(z < c) + <z^2; z > c>."""
    return c**2 * mp.ncdf(c) + c * mp.npdf(c) + mp.ncdf(-c)


# formula: the mean square at K = 1, by hand
FORMULAS = {
    "1e20*z": mp.mpf(10) ** 40,
    "max(z,1e20)": _maximum(mp.mpf(10) ** 20),
    "z*atan(1e20)": mp.atan(mp.mpf(10) ** 20) ** 2,
    "max(z,1e-160)": _maximum(mp.mpf(10) ** -160),
    "z*erfc(-1e300)": mp.mpf(4),
    "z*tanh(1e300)": mp.mpf(1),
    "z/3e-70": mp.mpf(10) ** 140 / 9,
    "z*log(1e300)": (300 * mp.log(10)) ** 2,
    "z*12345678901234567890123456789/7": (mp.mpf(12345678901234567890123456789) / 7) ** 2,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("formula", FORMULAS)
def test_every_stage_has_the_number(formula):
    theory = sr.derive(formula)
    values = dict(K=1, C_W=1, C_b=0)
    expected = float(FORMULAS[formula])
    assert float(theory.kernel_map.evalf(15, **values)) == pytest.approx(expected, rel=1e-13)
    for target in ("numpy", "c"):
        found = sr.export(theory.kernel_map, target).load().kernel_map(1.0, 1.0, 0.0)
        assert float(found) == pytest.approx(expected, rel=1e-13)
    report = sr.check(theory, "quadrature", points=1, quantities=["kernel_map"])
    assert report.outcome.name == "PASSED"
    assert formula in theory.page()


@pytest.mark.exhaustive
def test_a_saturated_formula_has_a_page():
    """Tanh far beyond where floats tell it from 1: neither exponentials of 1e60 nor their powers have digits."""
    assert "φ(z)" in sr.derive("sinh(tanh(1e60 + z))").page()


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", ["1e-200*z", "1e200*z", "max(z,1e200)"])
def test_code_refuses_numbers_that_floats_do_not_have(formula):
    """Their squares overflow to inf, or vanish: evalf has them, code says why it has not."""
    theory = sr.derive(formula)
    size = float(mp.log10(theory.kernel_map.evalf(15, K=1, C_W=1, C_b=0)))
    assert abs(size) == pytest.approx(400)
    assert theory.page()
    for target in ("numpy", "c"):
        with pytest.raises(SymresError, match="beyond the range of float64"):
            sr.export(theory.kernel_map, target)


@pytest.mark.parametrize("constant", [sp.erfc(10**300), sp.erfc(-(10**300))])
def test_functions_that_mpmath_cannot_evaluate_are_refused_in_python_too(constant):
    with pytest.raises(SymresError, match="is too large or too small to be computed"):
        sr.Activation("a", sr.z * constant)
