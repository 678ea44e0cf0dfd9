"""The kernel at which activations are nearest to uniform, against the divergence itself."""

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, optimize, special

import symres as sr
from symres.core.errors import NoClosedForm

KNOWN = {"erf": mp.mpf(1) / 2, "tanh": mp.pi**2 / 12, "sigmoid": mp.pi**2 / 3, "hard_tanh": mp.mpf(1) / 3}


@pytest.mark.parametrize("name", KNOWN)
def test_second_moments_of_slopes(name):
    assert abs(sr.derive(name).maximum_entropy_kernel / KNOWN[name] - 1) < 1e-14


def test_the_divergence_is_least_there():
    """Of y = erf(h), h of variance K, from a uniform y, as in (140) of Fischer et al.; (142) has K = 1/4."""

    def divergence(K):
        def density(y):
            h = special.erfinv(y)
            return -np.log(np.exp(-(h**2) / (2 * K)) / np.sqrt(2 * np.pi * K) / (2 / np.sqrt(np.pi) * np.exp(-(h**2))))

        return integrate.quad(density, -1 + 1e-12, 1 - 1e-12, limit=400)[0] / 2

    found = optimize.minimize_scalar(divergence, bounds=(0.1, 2), method="bounded", options={"xatol": 1e-7}).x
    assert abs(found - float(sr.derive("erf").maximum_entropy_kernel)) < 1e-4


@pytest.mark.parametrize("name", ["relu", "sin", "softsign", "step"])
def test_what_has_none(name):
    with pytest.raises(NoClosedForm, match="maximum entropy"):
        _ = sr.derive(name).maximum_entropy_kernel


def test_branches_that_lead_to_a_kernel():
    theory = sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))
    setting = {"C_W": "5/4", "C_b": "1/20"}
    scale = theory.branch_scale_for(theory.maximum_entropy_kernel, 10, "1/20", **setting)
    assert abs(theory.kernels(10, "1/20", xi=scale, **setting)[-1] - mp.mpf(1) / 2) < 1e-13
    with pytest.raises(NoClosedForm, match="larger kernels"):
        theory.branch_scale_for("1/100", 10, "1/20", **setting)
