"""Generated averages of activations with parameters: nodes follow the scale that a parameter sets, far from 3/4 too."""

import math

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.planning.plan import Component
from symres.codegen.strategy import choose
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.symbols import K1, K2, C, z
from tests.languages import language

A, B = sp.Symbol("a", positive=True), sp.Symbol("b", real=True)
ISRU = sr.Activation("isru", z / sp.sqrt(1 + A * z**2), (A,))
SRELU = sr.Activation("srelu", (z + sp.sqrt(z**2 + A)) / 2, (A,))
SOFTSQ = sr.Activation("softsq", z**2 / (1 + A * sp.Abs(z)), (A,))
BUMP = sr.Activation("bump", sp.erf((z + 1) * A) - sp.erf((z - 1) * A), (A,))
TWO = [
    (ISRU, 1.0, 1.0, -0.999, 100.0),
    (ISRU, 100.0, 1.0, 0.99, 1e4),
    (SRELU, 1e-4, 1.0, -1.0, 0.01),
    (SRELU, 1.0, 1.0, -0.999, 1e-4),
    (BUMP, 1.0, 1.0, -0.999, 10.0),
    (BUMP, 1.0, 1.0, -0.999, 20.0),
    (SOFTSQ, 3.0, 1.0, 0.9, 20.0),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("f", "k1", "k2", "rho", "a"), TWO)
def test_two_inputs_at_parameters_far_from_the_measured_one(f, k1, k2, rho, a):
    quantity, square = sr.expect2(f, f), sr.expect(f(z) ** 2)
    c = rho * math.sqrt(k1 * k2)
    exact = float(quantity.evalf(15, K1=k1, K2=k2, C=c, a=a))
    size = math.sqrt(square(K=k1, a=a) * square(K=k2, a=a))
    assert abs(sr.export(quantity).load().expect2(k1, k2, c, a) - exact) < 1e-14 * size


@pytest.mark.exhaustive
def test_entries_with_parameters_of_their_own():
    """The scale differs from entry to entry, in the series, on the line and in the plane."""
    quantity = sr.expect2(ISRU, ISRU)
    a = np.array([1e-2, 1.0, 30.0, 1e3])
    c = np.array([0.1, 0.999, 1.0, -0.999])
    for target in ("numpy", "torch"):
        found = language(target).value(sr.export(quantity, target=target).load().expect2, np.ones(4), np.ones(4), c, a)
        exact = [float(quantity.evalf(15, K1=1, K2=1, C=x, a=y)) for x, y in zip(c, a, strict=True)]
        np.testing.assert_allclose(np.asarray(found), exact, rtol=1e-13)


@pytest.mark.exhaustive
def test_what_was_measured_with_other_parameters_is_said():
    text = " ".join(sr.export(sr.expect2(ISRU, ISRU)).text.split("def _expect2")[0].split())
    assert "for parameters of 3/4; at most" in text
    assert "with a = 12; at most" in text and "with a = 1/12." in text


@pytest.mark.exhaustive
def test_a_closed_form_that_cancels_is_integrated():
    m = sp.Symbol("m", real=True)
    f = sr.Activation("shifted", (z**2 - 1) * sp.exp(-((z - m) ** 2) / 2), (m,))
    quantity = sr.expect2(f, f)
    assert quantity.status is sr.Status.EXACT
    module = sr.export(quantity)
    assert not module.warnings
    c = 1e4 * (1 - 1e-12)
    exact = float(quantity.evalf(15, K1=10**4, K2=10**4, C=c, m=-1 / 3))
    assert module.load().expect2(1e4, 1e4, c, -1 / 3) == pytest.approx(exact, rel=1e-12)


@pytest.mark.exhaustive
def test_an_algebraic_tail_far_beyond_themeasured_kernels():
    """Logarithms at large K keep a fit from reaching infinity; a parameter multiplies the kernel by its square."""
    quantity = sr.expect("softsign(z)^2")
    module = sr.export(quantity).load()
    for kernel in (1e6, 3e8, 1e11):
        assert module.expect(kernel) == pytest.approx(float(quantity.evalf(17, K=kernel)), rel=3e-15)


@pytest.mark.exhaustive
def test_a_scale_with_intermediate_results_has_a_function_of_its_own():
    b = sp.Symbol("b", positive=True)
    steep = A**2 + b
    f = sr.Activation("mixed", sp.tanh(steep * (z - A * b)) + sp.exp(-steep * z**2), (A, b))
    quantity = sr.expect2(f, f)
    exact = float(quantity.evalf(15, K1=1, K2=1, C="1/2", a=3, b=2))
    for target in ("numpy", "torch"):
        found = float(sr.export(quantity, target=target).load().expect2(1.0, 1.0, 0.5, 3.0, 2.0))
        assert found == pytest.approx(exact, rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("formula", ["relu", "exp(-abs(z-1))", "tanh"])
def test_means_at_kernel_zero(formula, target):
    """A limit that depends on a parameter is no constant of the module."""
    m = sp.Symbol("m", real=True)
    function = sr.export(sr.expect(formula, mean=m), target=target).load().expect
    phi_ = sp.lambdify(z, sr.activation(formula).expr, "mpmath")
    for mean in (1 / 3, 2.0, -1.0):
        assert float(function(0.0, mean)) == pytest.approx(float(phi_(mean)), abs=1e-15, rel=1e-15)


# ---- closed forms of two inputs ----------------------------------------------------------------------------------
@pytest.mark.sample(2)
@pytest.mark.parametrize("other", ["exp(-b*z**2)", "z**2*exp(-b*z**2)", "erf(b*z)"])
@pytest.mark.parametrize("gap", [1e-8, 1e-12])
def test_closed_forms_with_parameters_keep_their_digits_near_correlation_one(other, gap):
    """K1*K2 - C**2 is in their determinants too, (1 + 2*a*K1)*(1 + 2*b*K2) - 4*a*b*C**2 among them."""
    b = sp.Symbol("b", positive=True)
    first = z * sp.exp(-A * z**2) if "erf" in other else sp.exp(-A * z**2)
    f = sr.Activation("f", first, (A,))
    g = sr.Activation("g", sp.sympify(other, {"b": b, "z": z}), (b,))
    quantity = sr.expect2(f, g)
    assert quantity.status is sr.Status.EXACT
    average, slope = sr.export(quantity).load().expect2, quantity.expr.diff(C)
    for k1, k2, p, q in ((1e4, 1e4, 1e4, 1e4), (1e4, 1.0, 0.01, 300.0), (1e-8, 1e-8, 1e4, 1e-3)):
        c = (1 - gap) * math.sqrt(k1) * math.sqrt(k2)
        point = {s: sp.Rational(v) for s, v in zip((K1, K2, C, A, b), (k1, k2, c, p, q), strict=True)}
        exact = float(sp.N(quantity.expr.xreplace(point), 20, maxn=200))
        size = max(abs(exact), abs(c * float(sp.N(slope.xreplace(point), 20, maxn=200))))
        assert abs(average(k1, k2, c, p, q) - exact) < 2e-15 * size


# ---- places far out beside a small scale -------------------------------------------------------------------------
@pytest.mark.exhaustive
def test_a_pair_that_is_faint_around_zero_without_parameters():
    gate = "1/(1 + exp(-12*(z - 12)))"
    square, pair = sr.expect(f"({gate})^2"), sr.expect2(gate, gate)
    average = sr.export(pair, "numpy").load().expect2
    for kernel, c in ((1, 0.5), (0.7, 0.7), (30, -9)):
        exact = pair.evalf(15, K1=kernel, K2=kernel, C=c)
        assert abs(average(kernel, kernel, c) - exact) < 1e-13 * square.evalf(15, K=kernel)


# ---- measuring ---------------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
def test_a_place_far_out_beside_a_small_scale_is_looked_at(monkeypatch):
    """An error that only one mixture shows is said, with the mixture."""
    honest = NUMPY.run

    def wrong(component):
        f = honest(component)
        return lambda k, a, b: f(k, a, b) * (1 + 9e-4 * ((a < 1) & (b > 1)))

    monkeypatch.setattr(NUMPY, "run", wrong)
    quantity = sr.expect(sr.Activation("f", sp.tanh(A * (z - B)), (A, B)))
    component = Component("_average_1", quantity.symbols, quantity.body, None)
    found = choose._measured.__wrapped__(component, NUMPY)
    assert found.measured.error < 1e-13
    *right, last, _, cancels = found.measured.elsewhere.split("; ")
    assert cancels == "fewer digits where values of both signs cancel"
    assert len(right) == 2 and not any("worst" in text for text in right)
    assert last.startswith("at most 2e-03 (worst at K = ") and last.endswith(" with a = 1/12, b = 12")
