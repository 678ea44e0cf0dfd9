"""Expansions of the fixed point beside critical points, beside roots that are found in numbers."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.theory.criticality import near_criticality as room

SIDES = {  # the power of the distance that the last of three terms has, plus that between terms
    ("tanh", "C_W"): 4,
    ("sin", "C_b"): sp.Rational(3, 2) + sp.Rational(1, 2),
    ("z*exp(-z^2)", "C_W"): 4,
    ("erf", "C_b"): 2,
}


@pytest.mark.parametrize(("name", "parameter"), SIDES)
def test_kernel_and_susceptibility_approach_those_at_the_fixed_point(name, parameter):
    """Their distance falls with the first power that is left out."""
    theory = sr.derive(name)
    beside, star, point = theory.near_criticality(parameter), theory.at_fixed_point(), theory.critical_points[0]
    for series, exact in ((beside.K, star.K), (beside.chi_perp, star.chi_perp)):
        off = []
        for distance in (sp.Rational(1, 10**4), sp.Rational(1, 10**6)):
            values = {"C_W": point.C_W, "C_b": point.C_b}
            values[parameter] += distance
            off.append(abs(series.evalf(40, **{parameter: values[parameter]}) - exact.evalf(40, **values)))
        assert abs(mp.log(off[0] / off[1]) / mp.log(100) - float(SIDES[name, parameter])) < 0.1
    assert str(beside.K.status) == "SERIES" and beside.K.verified.worst < 1e-20


def test_coefficients_of_tanh():
    """<tanh^2> = K - 2 K^2 + 17/3 K^3 - ...: (C_W - 1) K = C_W (2 K^2 - 17/3 K^3) in the first two orders."""
    beside = sr.derive("tanh").near_criticality("C_W", order=2)
    distance = sr.C_W - 1
    assert sp.expand(beside.K.expr - distance / 2 - 5 * distance**2 / 24) == 0
    assert beside.exists == (sr.C_W > 1)


def test_a_skip_connection_stays_a_symbol():
    theory = sr.derive(sr.residual("tanh", gamma=sr.gamma))
    beside = theory.near_criticality("C_W", order=2)
    plain = sr.derive("tanh").near_criticality("C_W", order=2)
    scale = 1 - sr.gamma**2  # K* depends on C_W/(1 - gamma^2) alone
    assert sp.simplify(beside.K.expr - plain.K.expr.subs(sr.C_W, sr.C_W / scale)) == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_half_stable_points(name):
    theory = sr.derive(name)
    beside, point = theory.near_criticality("C_b", order=2), theory.critical_points[0]
    side = 1 if isinstance(beside.exists, sp.StrictGreaterThan) else -1
    with mp.workdps(50):
        W, b, start = (mp.mpf(sp.N(e, 50)) for e in (point.C_W, point.C_b, point.K))
        bias = b + side * mp.mpf(10) ** -16

        def excess(k):
            return theory.kernel_map.evalf(45, K=k, C_W=W, C_b=bias) - k

        expected = beside.K.evalf(30, C_b=bias)
        found = mp.findroot(excess, (expected, expected * (1 + mp.mpf(10) ** -12)), tol=1e-70, verify=False)
        assert abs(found - start) > 1e-8
        assert abs((expected - found) / (found - start)) < 1e-7
        assert theory.chi_parallel.evalf(30, K=found, C_W=W, C_b=bias) < 1


def test_a_wrong_coefficient_is_not_returned(monkeypatch):
    """Sabotage: the second of three coefficients off by 1 %."""
    expanded = room._Branch.expanded

    def wrong(self, cells, order):
        branch = expanded(self, cells, order)
        first, second, *others = branch.terms
        return room.replace(branch, terms=(first, second * sp.Rational(101, 100), *others))

    monkeypatch.setattr(room._Branch, "expanded", wrong)
    with pytest.raises(NoClosedForm, match="the series is off"):
        sr.derive("tanh").near_criticality()


@pytest.mark.parametrize(
    ("name", "parameter", "error", "message"),
    [
        ("relu", "C_W", NoClosedForm, "none that is a point"),
        ("sigmoid", "C_W", NoClosedForm, "none that is a point"),
        ("tanh", "gamma", DeclarationError, "not C_W or C_b"),
        ("softsign", "C_W", NoClosedForm, "other powers of K than integers"),
    ],
)
def test_where_there_is_none(name, parameter, error, message):
    with pytest.raises(error, match=message):
        sr.derive(name).near_criticality(parameter)
