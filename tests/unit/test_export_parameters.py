"""Generated averages of activations with parameters: nodes follow the scale that a parameter sets, far from 3/4 too."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.declare.pieces import split
from symres.export import export
from symres.export.code.features import features
from symres.symbols import z

A = sp.Symbol("a", positive=True)
FORMULAS = {
    "isru": z / sp.sqrt(1 + A * z**2),
    "srelu": (z + sp.sqrt(z**2 + A)) / 2,
    "softsq": z**2 / (1 + A * sp.Abs(z)),
    "bump": sp.erf((z + 1) * A) - sp.erf((z - 1) * A),
    "steep": sp.atan(A * z),
}
ONE = [("isru", 1.0, 100.0), ("isru", 0.01, 1e4), ("softsq", 1e4, 20.0), ("steep", 1e4, 30.0), ("srelu", 2.0, 1e-4)]
TWO = [
    ("isru", 1.0, 1.0, -0.999, 100.0),
    ("isru", 100.0, 1.0, 0.99, 1e4),
    ("srelu", 1e-4, 1.0, -1.0, 0.01),
    ("srelu", 1.0, 1.0, -0.999, 1e-4),
    ("bump", 1.0, 1.0, -0.999, 10.0),
    ("bump", 1.0, 1.0, -0.999, 20.0),
    ("softsq", 3.0, 1.0, 0.9, 20.0),
]


def phi(name):
    return sr.Activation(name, FORMULAS[name], (A,))


@pytest.mark.parametrize(("name", "kernel", "a"), ONE)
def test_one_input_at_parameters_far_from_the_measured_one(name, kernel, a):
    quantity = sr.expect(phi(name)(z) ** 2)
    exact = float(quantity.evalf(17, K=kernel, a=a))
    assert export(quantity).load().expect(kernel, a) == pytest.approx(exact, rel=3e-15)


@pytest.mark.parametrize(("name", "k1", "k2", "rho", "a"), TWO)
def test_two_inputs_at_parameters_far_from_the_measured_one(name, k1, k2, rho, a):
    f = phi(name)
    quantity, square = sr.expect2(f, f), sr.expect(f(z) ** 2)
    c = rho * math.sqrt(k1 * k2)
    exact = float(quantity.evalf(15, K1=k1, K2=k2, C=c, a=a))
    size = math.sqrt(square(K=k1, a=a) * square(K=k2, a=a))
    assert abs(export(quantity).load().expect2(k1, k2, c, a) - exact) < 1e-14 * size


def test_entries_with_parameters_of_their_own():
    """The scale differs from entry to entry, in the series, on the line and in the plane."""
    f = phi("isru")
    quantity = sr.expect2(f, f)
    a = np.array([1e-2, 1.0, 30.0, 1e3])
    c = np.array([0.1, 0.999, 1.0, -0.999])
    for target, made in (("numpy", np.asarray), ("torch", torch.tensor)):
        found = export(quantity, target=target).load().expect2(made(np.ones(4)), made(np.ones(4)), made(c), made(a))
        exact = [float(quantity.evalf(15, K1=1, K2=1, C=x, a=y)) for x, y in zip(c, a, strict=True)]
        np.testing.assert_allclose(np.asarray(found), exact, rtol=1e-13)


@pytest.mark.parametrize(
    ("formula", "places", "scale", "at_9"),
    [
        (sp.tanh(A * (z - 2)), (2,), 1 / sp.Max(1, A), sp.Rational(1, 9)),
        (1 / sp.sqrt(1 + A * z**2), (), 1 / sp.Max(1, sp.sqrt(A)), sp.Rational(1, 3)),
        (sp.sqrt(z**2 + A), (), 1 / sp.Max(1, 1 / sp.sqrt(A)), 1),
        (z / (1 + A * sp.Abs(z)), (), 1 / sp.Max(1, A), sp.Rational(1, 9)),
    ],
    ids=str,
)
def test_places_and_scale_in_parameters(formula, places, scale, at_9):
    assert features(split(formula)) == (places, scale)
    assert scale.subs(A, 9) == at_9


def test_what_was_measured_with_other_parameters_is_said():
    f = phi("isru")
    text = export(sr.expect2(f, f)).text
    public = text.split("def _expect2")[0]
    assert "with parameters of 3/4; at most" in " ".join(public.split())
    assert "with parameters of 12." in " ".join(public.split())


def test_a_closed_form_that_cancels_is_integrated():
    m = sp.Symbol("m", real=True)
    f = sr.Activation("shifted", (z**2 - 1) * sp.exp(-((z - m) ** 2) / 2), (m,))
    quantity = sr.expect2(f, f)
    assert quantity.status is sr.Status.EXACT
    module = export(quantity)
    assert not module.warnings
    c = 1e4 * (1 - 1e-12)
    exact = float(quantity.evalf(15, K1=10**4, K2=10**4, C=c, m=-1 / 3))
    assert module.load().expect2(1e4, 1e4, c, -1 / 3) == pytest.approx(exact, rel=1e-12)


def test_an_algebraic_tail_far_beyond_the_measured_kernels():
    """Logarithms at large K keep a fit from reaching infinity; a parameter multiplies the kernel by its square."""
    quantity = sr.expect("softsign(z)^2")
    module = export(quantity).load()
    for kernel in (1e6, 3e8, 1e11):
        assert module.expect(kernel) == pytest.approx(float(quantity.evalf(17, K=kernel)), rel=3e-15)


def test_a_scale_with_intermediate_results_has_a_function_of_its_own():
    b = sp.Symbol("b", positive=True)
    steep = A**2 + b
    f = sr.Activation("mixed", sp.tanh(steep * (z - A * b)) + sp.exp(-steep * z**2), (A, b))
    quantity = sr.expect2(f, f)
    exact = float(quantity.evalf(15, K1=1, K2=1, C="1/2", a=3, b=2))
    for target in ("numpy", "torch"):
        found = float(export(quantity, target=target).load().expect2(1.0, 1.0, 0.5, 3.0, 2.0))
        assert found == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(("a", "b", "kernel"), [(30, 100, 1e4), (30, 30, 1e3), (1e4, -1, 1.0), (1, 30, 1e4)])
def test_smooth_functions_that_change_where_a_parameter_says(a, b, kernel):
    place = sp.Symbol("b", real=True)
    f = sr.Activation("gate", 1 / (1 + sp.exp(-A * (z - place))), (A, place))
    quantity = sr.expect(f(z) ** 2)
    exact = float(quantity.evalf(17, K=kernel, a=a, b=b))
    assert export(quantity).load().expect(kernel, a, b) == pytest.approx(exact, rel=3e-15)


@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("formula", ["relu", "exp(-abs(z-1))", "tanh"])
def test_means_at_kernel_zero(formula, target):
    """A limit that depends on a parameter is no constant of the module."""
    m = sp.Symbol("m", real=True)
    function = export(sr.expect(formula, mean=m), target=target).load().expect
    phi_ = sp.lambdify(z, sr.activation(formula).expr, "mpmath")
    for mean in (1 / 3, 2.0, -1.0):
        assert float(function(0.0, mean)) == pytest.approx(float(phi_(mean)), abs=1e-15, rel=1e-15)
