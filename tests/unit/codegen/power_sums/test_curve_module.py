"""Generated functions of gamma that contain sums over its powers."""

import numpy as np
import pytest
import sympy as sp
import torch
from numpy.polynomial.chebyshev import chebval

import symres as sr
from symres.codegen.power_sums.power_curve import series_of
from symres.core import symbols
from symres.core.symbols import r
from symres.theory.aspect_ratio.geometric_sum import GeometricSum
from symres.theory.quantities.build import build
from tests.shared import derived


@pytest.fixture(scope="module")
def theory():
    return derived(sr.residual("relu"))


def test_numpy(theory):
    module = sr.export(theory.nu, target="numpy").load()
    gammas = np.array([[-0.5, 0.0], [0.5, 0.99]])
    expected = [[float(theory.nu.evalf(gamma=float(g))) for g in row] for row in gammas]
    assert np.allclose(module.nu(gammas), expected, rtol=1e-13)
    assert module.nu(0.5) == pytest.approx(6.49631254396469, rel=1e-14)
    assert np.isnan(module.nu(1.0))


def test_the_aspect_ratio_broadcasts(theory):
    module = sr.export(theory.aspect_ratio, target="numpy").load()
    found = module.aspect_ratio(np.array([0.0, 0.5])[:, None], np.array([1.0, 10.0]))
    assert found.shape == (2, 2)
    assert found[1, 1] == pytest.approx(float(theory.aspect_ratio.evalf(gamma="1/2", n_L=10)), rel=1e-14)


def test_torch_is_differentiable(theory):
    module = sr.export(theory.nu, target="torch").load()
    gamma = torch.tensor([0.3, 0.5], dtype=torch.float64, requires_grad=True)
    values = module.nu(gamma)
    values.sum().backward()
    step = 1e-5
    slope = (theory.nu.evalf(20, gamma=repr(0.5 + step)) - theory.nu.evalf(20, gamma=repr(0.5 - step))) / (2 * step)
    assert values[1].item() == pytest.approx(6.49631254396469, rel=1e-14)
    assert gamma.grad[1].item() == pytest.approx(float(slope), rel=1e-7)


def test_polynomials_and_latex_as_before(theory):
    assert sr.export(derived(sr.residual("tanh")).nu, target="numpy").load().nu(0.5) == 0.625
    assert r"\sum" in sr.export(theory.nu, target="latex").text


def test_terms_become_series():
    """``r/(2 - r)``, and a function that is not smooth at 1."""
    found = series_of(r / (2 - r), r)
    places = np.array([-1.0, -0.3, 0.0, 0.7, 1.0])
    assert np.allclose(chebval(places, found), 1 / (2 - places), rtol=1e-15)
    assert len(found) < 40
    with pytest.raises(sr.NoClosedForm, match="234 terms"):
        series_of(r * sp.sqrt(1 - r**2), r)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_the_language_lacks(target):
    """Averages: constants become decimals, terms polynomials; parameters of the activation are too many variables."""
    smooth = sp.Symbol("alpha", positive=True)
    average = sr.expect(sp.tanh(sr.z) ** 2).definition
    for beta, sample in ((1, True), (smooth, False)):
        constant = average.xreplace({symbols.K: 2 * beta})
        body = (1 - sr.gamma**2) * (constant + GeometricSum(constant * r / (2 - r), r, sr.gamma, sp.Integer(1)))
        quantity = build("nu", (sr.gamma,), body, parameters=(sr.gamma,))
        if not sample:
            with pytest.raises(sr.NoClosedForm, match=f"that {target} lacks, of alpha"):
                sr.export(quantity, target=target)
            continue
        found = sr.export(quantity, target=target).load().nu(0.4)
        assert float(found) == pytest.approx(float(quantity.evalf(gamma="0.4")), rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["gelu", "z*tanh(log(1 + exp(z)))"])
def test_nu_of_smooth_activations(formula):
    """Gelu's closed form has functions that no library has; that of the formula has averages."""
    quantity = derived(sr.residual(formula)).aspect_ratio
    for target in ("numpy", "torch"):
        module = sr.export(quantity, target=target).load()
        for gamma in ("-0.3", "0", "0.6", "0.97"):
            found = float(module.aspect_ratio(float(gamma), 2.0))
            assert found == pytest.approx(float(quantity.evalf(gamma=gamma, n_L=2)), rel=1e-13)


def test_the_stated_error_is_measured(theory):
    assert "relative at gamma" in sr.export(theory.nu, target="numpy").text
