"""Generated averages whose growth, waves and places of change depend on parameters, entry by entry."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.planning.plan import Component
from symres.codegen.stable.rewrites import stabilise
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.symbols import K1, K2, C, K, z
from symres.functions.companions import ScaledTail
from symres.report.export import export

A, B = sp.Symbol("a", real=True), sp.Symbol("b", real=True)
STEEP = sp.Symbol("c", positive=True)
GROWING = {
    "tanh": sp.exp(A * z) * sp.tanh(z),
    "softplus": sp.log(1 + sp.exp(z)) * sp.exp(A * z),
    "cosh": sp.cosh(A * z) / (1 + z**2),
}
WAVES = {
    "smooth": sp.sin(A * z + B) * sp.erf(z),
    "cut": sp.cos(A * z) * sp.Heaviside(z - B, 1),
    "snake": sp.tanh(z) + sp.sin(A * z) ** 2 + sp.Max(z - B, 0),
}


def square(formula, parameters):
    """The generated average of the square of a function, as yet unmeasured."""
    f = sr.Activation("f", formula, parameters)
    return NUMPY.run(Component("_average_1", (K, *parameters), sr.expect(f(z) ** 2).body, None))


def product(formula, parameters):
    """That of a product at two inputs."""
    f = sr.Activation("f", formula, parameters)
    return NUMPY.run(Component("_average_1", (K1, K2, C, *parameters), sr.expect2(f, f).body, None))


def called(function, target, at):
    """The value of an exported function at numbers."""
    return float(function(*(torch.tensor(v, dtype=torch.float64) for v in at) if target == "torch" else at))


def plain(formula, parameters):
    """A formula as a function of arrays, and of mpmath's numbers."""
    shown = formula.replace(sp.Heaviside, lambda u, *_: sp.Piecewise((1, u > 0), (0, True)))
    return sp.lambdify((z, *parameters), shown, ["scipy", "numpy"]), sp.lambdify((z, *parameters), shown, "mpmath")


@pytest.mark.parametrize("name", GROWING)
def test_two_inputs_that_grow(name):
    """The same input twice has the average of the square, and half-correlated ones that of mpmath."""
    average, one = product(GROWING[name], (A,)), square(GROWING[name], (A,))
    for kernel, a in ((9.0, -1.0), (20.0, 1.0), (1.0, 3.0)):
        assert float(average(kernel, kernel, kernel, a)) == pytest.approx(float(one(kernel, a)), rel=1e-13)
    k, c, a = 4.0, 3.0, -1.5
    exact = nested(GROWING[name], (A,), (a,), k, c, shift=6.0)
    assert abs(float(average(k, k, c, a)) - exact) < 1e-14 * float(one(k, a))


def nested(formula, parameters, values, kernel, c, shift=0.0, kinks=()):
    """<f(z1) f(z2)> for equal kernels, by panels of Gauss and Legendre in one input given the other."""
    phi, _ = plain(formula, parameters)
    nodes, weights = np.polynomial.legendre.leggauss(20)

    def rule(edges):
        edges = np.unique(np.clip(edges, -11 - shift, 11 + shift))
        half = np.diff(edges)[:, None] / 2
        x = (edges[:-1, None] + half * (1 + nodes)).ravel()
        return x, (half * weights).ravel() * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    s, slope = math.sqrt(kernel), c / math.sqrt(kernel)
    spread = math.sqrt(kernel - slope**2)
    near = np.concatenate([np.linspace(-4, 4, 17), kinks])
    grid = np.linspace(-11 - shift, 11 + shift, 80)
    total = 0.0
    for x, w in zip(*rule(np.concatenate([grid, near / s])), strict=True):
        y, v = rule(np.concatenate([grid, (near - slope * x) / spread]))
        total += w * phi(s * x, *values) * (phi(slope * x + spread * y, *values) * v).sum()
    return total


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_where_growth_ends_is_said(target):
    f = sr.Activation("f", GROWING["tanh"], (A,))
    module = export(sr.expect(f(z) ** 2), target=target)
    text = " ".join(module.text.split())
    assert "finite from K = 0 to 120, nan beyond with parameters of 3/4." in text
    assert "with a = 12; at most" in text and "for kernels up to 0.38 with a = -12" in text
    assert "up to 10000 with a = 1/12" in text
    assert module.warnings and "nan beyond kernels of 120 with parameters of 3/4" in module.warnings[0]
    function = module.load().expect
    assert math.isfinite(called(function, target, (1e3, 0.01)))
    assert math.isnan(called(function, target, (1e3, -12.0)))


# ---- waves -------------------------------------------------------------------------------------------------------
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["smooth", "cut"])
@pytest.mark.parametrize(
    ("kernel", "c", "a", "b"), [(1.0, 0.9, 5.0, 0.1), (4.0, -3.6, 2.5, 0.5), (25.0, 20.0, 1.0, 0.2)]
)
def test_two_inputs_with_waves(name, kernel, c, a, b):
    exact = nested(WAVES[name], (A, B), (a, b), kernel, c, kinks=[b])
    assert float(product(WAVES[name], (A, B))(kernel, kernel, c, a, b)) == pytest.approx(exact, abs=2e-15)


def test_waves_that_would_take_too_many_nodes_have_no_value():
    for name in ("smooth", "cut"):
        assert math.isnan(float(product(WAVES[name], (A, B))(1e4, 1e4, 9e3, 12.0, 0.1)))
        assert math.isnan(float(square(WAVES[name], (A, B))(1e8, 12.0, 0.1)))


@pytest.mark.exhaustive
# ---- tails of unknown sign ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_tail_is_finite_for_either_sign_of_a_parameter(target):
    f = sr.Activation("f", sp.exp(-A * sp.Abs(z)), (A,))
    first, second = sr.expect(f), sr.expect(f(z) ** 2)
    slope = sr.derivative(second, "K")
    for quantity, tolerance in ((first, 1e-15), (second, 1e-15), (slope, 1e-11)):
        module = export(quantity, target=target)
        assert not module.warnings
        function = getattr(module.load(), quantity.name)
        for k, a in ((8060, 0.75), (100, 12), (1, -12), (50, -1), (9, -1), (1, 0.75), (2, 0)):
            exact = float(quantity.evalf(17, K=sp.Rational(k), a=sp.Rational(a)))
            at = (float(k), float(a))
            assert called(function, target, at) == pytest.approx(exact, rel=tolerance, abs=1e-300)


@pytest.mark.exhaustive
def test_gradients_of_a_tail_of_unknown_sign():
    f = sr.Activation("f", sp.exp(-A * sp.Abs(z)), (A,))
    quantity = sr.expect(f)
    function = export(quantity, target="torch").load().expect
    for k, a in ((100.0, 12.0), (3.0, -1.0), (2.0, 0.5)):
        at = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (k, a)]
        function(*at).backward()
        for tensor, symbol in zip(at, (K, A), strict=True):
            exact = float(sp.N(quantity.expr.diff(symbol).subs({K: sp.Rational(k), A: sp.Rational(a)}), 17))
            assert float(tensor.grad) == pytest.approx(exact, rel=1e-10)


def test_the_exponent_of_a_tail_is_a_difference_of_symbols():
    w = A * sp.sqrt(K / 2) + B
    assert stabilise(sp.exp(w**2 + A) * sp.erfc(w)) == ScaledTail(w**2 + A, sp.expand(A), w)


# ---- places of change that a parameter takes away ---------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_a_function_that_is_constant_with_some_parameters_has_no_place(target):
    f = sr.Activation("f", sp.erf(A * z + B), (A, B))
    quantity = sr.expect2(f, "step(z-1)")
    function = export(quantity, target=target).load().expect2
    tail = float(mp.ncdf(-1))
    for a, b in ((0.0, 0.3), (0.0, 0.0), (12.0, -0.3)):
        at = (1.0, 1.0, 0.5, a, b)
        exact = float(quantity.evalf(15, K1=1, K2=1, C="1/2", a=a, b=b)) if a else math.erf(b) * tail
        assert called(function, target, at) == pytest.approx(exact, abs=1e-16, rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kernel", [1e2, 1e4])
def test_a_double_exponential_has_its_gradients_at_every_kernel(kernel):
    """exp(u)*exp(-exp(u)) decays on both sides, though one of its factors grows."""
    f = sr.Activation("f", sp.exp(-sp.exp(STEEP * (z - B))), (STEEP, B))
    at = {"K": kernel, "c": 0.75, "b": 0.5}
    tensors = {name: torch.tensor(v, dtype=torch.float64).requires_grad_() for name, v in at.items()}
    export(sr.expect(f), "torch").load().expect(**tensors).backward()

    def value(k, c, b):
        width = mp.sqrt(k)
        edges = [-12, *((b + mp.mpf(j) / c) / width for j in (-60, -20, -8, -3, 0, 1, 3, 6)), 12]
        return mp.quad(lambda x: mp.exp(-mp.exp(c * (x * width - b))) * mp.npdf(x), edges)

    for tensor, place in zip(tensors.values(), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        with mp.workdps(30):
            exact = float(mp.diff(value, tuple(at.values()), place))
        assert float(tensor.grad) == pytest.approx(exact, rel=1e-11)
