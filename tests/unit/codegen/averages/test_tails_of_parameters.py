"""Averages of two variables with means, far out: code has the digits there or no number, in every language."""

from __future__ import annotations

import math
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr

A, B = sp.symbols("a b", real=True)
ISSUE = [(1, 1, 0.5, -8, -8), (1, 1, 0.5, -10, -10), (1, 1, -0.5, -20, 3), (1, 1, 0.3, -37, 0)]
TAILS = [(1, 1, rho, a, b) for rho in (0.9, 0.3, -0.5) for a, b in ((-6, -6), (-15, 2), (4, -25), (-1, 5), (30, 30))]
EDGES = [
    (1, 1, 1, 0.75, -0.75),
    (1, 1, 1, 0.75, 0.75),
    (1, 1, -1, 0.75, 0.75),
    (1, 4, 2, 0.3, 0.6),
    (0, 1, 0, -0.5, 0.5),
]
PARTS = {  # f(z) for z >= 0 and its average over a normal variable with mean m and deviation s
    "step": (lambda z: mp.mpf(1), lambda m, s: mp.ncdf(m / s)),
    "relu": (lambda z: z, lambda m, s: m * mp.ncdf(m / s) + s * mp.npdf(m / s)),
}


@cache
def exact(name: str, k1: float, k2: float, c: float, a: float, b: float) -> mp.mpf:
    """<f(a + z1) f(b + z2)> by quadrature over z1 of the average over z2."""
    f, average = PARTS[name]
    with mp.workdps(40):
        k1, k2, c, a, b = map(mp.mpf, (k1, k2, c, a, b))
        if k1 == 0:
            return f(a) * average(b, mp.sqrt(k2)) if a > 0 else mp.mpf(0)
        spread, deviation = mp.sqrt(k2 - c * c / k1), mp.sqrt(k1)

        def integrand(x):
            mean = b + c / deviation * x
            inner = average(mean, spread) if spread else (f(mean) if mean > 0 else mp.mpf(0))
            return f(a + deviation * x) * inner * mp.npdf(x)

        low = -a / deviation
        zero = [-b * deviation / c] if c else []
        peak = [-b * c / (k2 * deviation)]
        steps = [
            p + d
            for p in (low, *zero, *peak, 0)
            for d in (-40, -20, -8, -4, -2, -1, -0.3, 0, 0.01, 0.05, 0.3, 1, 2, 4, 8, 20, 40)
        ]
        return mp.quad(integrand, [low, *sorted(x for x in steps if x > low)])


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", [t if t == "numpy" else pytest.param(t, marks=pytest.mark.exhaustive)
                                    for t in ("numpy", "c", "numba", "jax", "torch")])  # fmt: skip
@pytest.mark.parametrize("name", ["step", pytest.param("relu", marks=pytest.mark.exhaustive)])
def test_tails_keep_their_digits_or_are_no_numbers(name, target):
    pytest.importorskip({"c": "cffi"}.get(target, target))
    if target == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    function = sr.export(sr.expect2(name, name, means=(A, B)), target=target).load().expect2
    for point in (*ISSUE, *TAILS, *EDGES):
        value, truth = float(np.asarray(function(*map(float, point)))), exact(name, *point)
        if math.isnan(value):
            assert point in TAILS and truth < 1e-100, point  # six digits are lost in the deepest corners only
        elif truth > 1e-290:
            assert abs(value - truth) <= 1e-7 * truth, point
        else:
            assert abs(value) < 1e-280, point
    for point in ISSUE:
        assert not math.isnan(float(np.asarray(function(*map(float, point)))))


@pytest.mark.exhaustive
def test_numbers_of_averages_where_inputs_are_parallel():
    """Sympy lets erf(zoo) - erf(zoo) cancel: the poles are seen before."""
    for name in PARTS:
        quantity = sr.expect2(name, name, means=(A, B))
        for k1, k2, c, a, b in EDGES[:4]:
            values = dict(zip(("K1", "K2", "C", "a", "b"), map(sp.Rational, map(str, (k1, k2, c, a, b))), strict=True))
            assert quantity.evalf(15, **values) == pytest.approx(float(exact(name, k1, k2, c, a, b)), rel=1e-12)


def test_ranges_of_parameters_are_in_the_first_paragraph():
    for target in ("numpy", "c"):
        text = sr.export(sr.expect("relu", mean=A), target=target).text
        paragraphs = [" ".join(part.split()) for part in text.replace("\n *", "\n").split("\n\n")]
        stated = "Gaussian average of relu. Right to six digits, as measured, for a in -1e+06..1e+06."
        assert any(part.endswith(stated) for part in paragraphs)


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["c", "jax"])
def test_languages_that_integrate_nothing_have_fixed_sums_with_means(target):
    """The closed form of hard_tanh with means loses digits where its terms cancel; its sums do not."""
    if target == "jax":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    quantity = sr.expect2("hard_tanh", "hard_tanh", means=(A, B))
    assert quantity.status is sr.Status.EXACT
    average = sr.export(quantity, target=target).load().expect2
    for at in ((1, 1, 0.5, 0.75, -0.5), (0.3, 2.0, -0.6, 3.0, 0.1), (9.0, 4.0, 5.9, -2.0, 1.0)):
        values = dict(zip(("K1", "K2", "C", "a", "b"), map(sp.Rational, map(str, at)), strict=True))
        assert float(np.asarray(average(*map(float, at)))) == pytest.approx(
            float(quantity.evalf(15, **values)), abs=1e-13
        )


@pytest.mark.exhaustive
def test_derivatives_that_are_lacking_are_errors_of_symres():
    torch = pytest.importorskip("torch")
    softsign = sr.export(sr.expect2("softsign", "softsign"), target="torch").load().expect2
    place, one = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (1.3, 1.0))
    slope = softsign(place, one, 0.4 * one)
    with pytest.raises(sr.SymresError, match="take fewer derivatives"):
        for _ in range(2):
            (slope,) = torch.autograd.grad(slope, place, create_graph=True)
