"""Functions without numbers at large kernels: where they end, what they return beyond, and what they say of it."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.codegen.fits.asymptotics import End, end_of
from symres.codegen.fits.chebyshev import fit
from symres.codegen.planning.plan import Component
from symres.codegen.strategy import choose
from symres.codegen.strategy.measured_error import measured_quadrature
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.core.errors import NoClosedForm, SymresError
from symres.core.symbols import K1, K2, C, K
from symres.results.quantity import Quantity, Status


def until(last, values=lambda k: k):
    """Values that cannot be found beyond a kernel."""

    def value(k):
        if k > last:
            raise SymresError("a Gaussian average", "it varies too fast", "use a smaller variance")
        return values(k)

    return value


# ---- where numbers end -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (lambda k: k**3 / (1 + k), End()),
        (lambda k: k**40, End()),
        (lambda k: 0 * k, End()),
        (lambda k: mp.exp(k / 2) * k, End(1300.0, 0.5, "values exceed the range of floats")),
        (lambda k: -mp.exp(2 * k / 9), End(2900.0, 2 / 9, "values exceed the range of floats")),
        (until(2e4), End(10000.0, 0.0, "it varies too fast")),
        (until(4e4), End(30000.0, 0.0, "it varies too fast")),
        (until(2), End(1.0, 0.0, "it varies too fast")),
    ],
    ids=range(8),
)
def test_ends_and_growth_are_found(values, expected):
    with mp.workdps(32):
        assert end_of(values, mp.mpf(10) ** 6) == expected


def test_a_function_without_a_number_at_one_is_refused():
    with pytest.raises(SymresError, match="too fast"):
        fit(until(0.5), "nothing")


# ---- what functions return there ---------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def growing():
    """<phi'^2> for phi = sqrt(cosh(z)), which grows like exp(K/2)."""
    return sr.expect("sinh(z)^2/(4*cosh(z))")


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_exponential_growth_is_divided_out(growing, target):
    module = sr.export(growing, target)
    assert module.warnings == ("expect: nan beyond kernels of 1300: values exceed the range of floats",)
    text = " ".join(module.text.split())
    assert "Valid when: kernels in 1e-8..1300 (measured); finite from K = 0 to 1300, nan beyond." in text
    kernels = np.array([1e-6, 0.3, 20.0, 400.0, 1299.0, 1301.0, 1e6])
    found = np.asarray(module.load().expect(kernels if target == "numpy" else torch.tensor(kernels)))
    for k, value in zip(kernels[:5], found, strict=False):
        assert value == pytest.approx(float(growing.evalf(17, K=mp.mpf(k))), rel=1e-15 * max(1, k))
    assert np.isnan(found[5:]).all()


@pytest.mark.exhaustive
def test_a_published_activation_with_a_saturating_inside_has_all_functions():
    """tanh(exp(z)) is 1 to all digits over most of a wide law, and no wider panel is analytic."""
    module = sr.export(sr.derive(sr.mlp("z*tanh(exp(z))")))
    assert (module.missing, module.warnings) == ((), ())
    loaded = module.load()
    assert {"kernel_map", "covariance_map", "chi_parallel", "chi_perp", "h"} <= set(loaded.__all__)
    assert loaded.kernel_map(1e4, 1.0, 0.0) == pytest.approx(5000.00081883622, rel=1e-14)
    assert math.isnan(loaded.chi_perp(1e9, 1.0))


@pytest.mark.exhaustive
def test_waves_stop_where_their_numbers_do():
    module = sr.export(sr.derive(sr.mlp("sin(z^2)")).kernel_map)
    assert module.warnings == ("kernel_map: nan beyond kernels of 300: "
                               "the function varies too fast within the width of the Gaussian",)  # fmt: skip
    f = module.load().kernel_map
    exact = lambda k: 0.5 - 0.5 * ((1 + 4j * k) ** -0.5).real  # noqa: E731
    for k in (0.01, 3.0, 299.0):
        assert f(k, 1.0, 0.0) == pytest.approx(exact(k), rel=1e-13)
    assert math.isnan(f(301.0, 1.0, 0.0))


# ---- measuring ---------------------------------------------------------------------------------------------------
def pair_component():
    return Component("_average_1", (K1, K2, C), sr.expect2("tanh(z)", "tanh(z)").body, None)


@pytest.mark.sample(1)
@pytest.mark.parametrize("last", [0.6, 5.0])
def test_a_pair_kernel_ends_before_the_first_kernel_without_a_number(monkeypatch, last):
    """A nan is never hidden behind a larger error at another point."""
    honest = NUMPY.run

    def failing(component):
        f = honest(component)
        return lambda k1, k2, c, *rest: np.where(np.maximum(k1, k2) > last, np.nan, f(k1, k2, c, *rest))

    monkeypatch.setattr(NUMPY, "run", failing)
    if last < 0.7:
        with pytest.raises(SymresError, match=r"quadrature fails at K1 = 0\.7"):
            measured_quadrature(pair_component(), NUMPY)
    else:
        found = measured_quadrature(pair_component(), NUMPY)
        assert found.guards.largest == 0.7
        assert found.measured.reason == "quadrature fails at K1 = 1, K2 = 30, C = -5.47723e-06"
        assert found.measured.error < 1e-13


# ---- messages ----------------------------------------------------------------------------------------------------
def test_an_average_out_of_reach_names_what_was_asked_for(monkeypatch):
    def failing(values, what):
        raise SymresError("a Gaussian average", "it varies too fast", "use a smaller variance")

    monkeypatch.setattr(choose, "fit", failing)
    chi = Quantity("chi", (K,), sr.expect("tanh(cos(z))").body, sr.expect("tanh(cos(z))").body, Status.NUMERIC)
    with pytest.raises(NoClosedForm) as one:
        sr.export(chi)
    assert str(one.value) == "numpy code for chi: it varies too fast; export to LaTeX"
    other = Quantity("map", (K,), sr.expect("tanh(sin(z)^2)").body, sr.expect("tanh(sin(z)^2)").body, Status.NUMERIC)
    with pytest.raises(NoClosedForm) as two:
        sr.export({"chi": chi, "map": other}, title="Kernels.")
    assert str(two.value) == "numpy code for chi and map: it varies too fast; export to LaTeX"
    unknown = Quantity("h", (K,), sp.nan, sp.nan, Status.UNKNOWN, reason="nothing applies")
    with pytest.raises(NoClosedForm) as three:
        sr.export({"chi": chi, "map": other, "h": unknown})
    assert "chi and map: it varies too fast; h: it is unknown (nothing applies)" in str(three.value)


@pytest.mark.parametrize("formula", ["sign(z)", "sign(z)+z"])
def test_a_jump_at_zero_says_that_the_corner_is_not_the_limit_along_the_diagonal(formula):
    module = sr.export(sr.derive(sr.mlp(formula)).covariance_map)
    text = " ".join(module.text.split())
    assert ("At K1 = K2 = C = 0, where the inputs count as uncorrelated, _average_1 is 0; its limit along the "
            "diagonal is 1.") in text  # fmt: skip
    f = module.load().covariance_map
    assert f(0.0, 0.0, 0.0, 1.7, 0.2) == 0.2
    assert f(1e-250, 1e-250, 1e-250, 1.7, 0.2) == pytest.approx(1.9, rel=1e-14)
    assert "along the diagonal is" not in sr.export(sr.derive(sr.mlp("relu")).covariance_map).text
