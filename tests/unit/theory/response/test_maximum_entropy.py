"""The kernel at which activations are nearest to uniform, against the divergence itself."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import symres as sr

KNOWN = {"erf": mp.mpf(1) / 2, "tanh": mp.pi**2 / 12, "sigmoid": mp.pi**2 / 3, "hard_tanh": mp.mpf(1) / 3}
KNOWN |= {"Phi(2*z - 1)": mp.mpf(1) / 2, "Phi(z - 1/2)": mp.mpf(5) / 4}  # mean squared and variance of the density
KNOWN |= {"1/(1 + 2^-z)": mp.pi**2 / (3 * mp.log(2) ** 2)}


KNOWN |= {  # <z^2> of a step erf(a(z - b)) is b^2 + 1/(2 a^2)
    "erf(1000*(z - 7.3))": mp.mpf("53.29") + mp.mpf("5e-7"),
    "erf(1000*(z - 7.3)) + erf(z + 20)": (mp.mpf("53.29") + mp.mpf("5e-7") + mp.mpf("400.5")) / 2,
    "erf(z - 2000)": mp.mpf("4000000.5"),
    "erf(1000000*z)": mp.mpf("5e-13"),
    "erf(z/1000000)": mp.mpf("5e11"),
    "z/(1 + abs(z)**3)**(1/3)": mp.mpf(1),  # whose density falls like z^-4: with z^2 = u^(2/3) it is elementary
}


@pytest.mark.parametrize("formula", KNOWN)
def test_second_moments_of_slopes(formula):
    """Steps anywhere and heavy tails among them."""
    assert abs(sr.derive(formula).maximum_entropy_kernel / KNOWN[formula] - 1) < 1e-14


UNIFORM = {  # h of the values y of phi, and phi'(h)
    "erf": (-1, 1, special.erfinv, lambda h: 2 / np.sqrt(np.pi) * np.exp(-(h**2))),
    "tanh": (-1, 1, np.arctanh, lambda h: 1 / np.cosh(h) ** 2),
    "sigmoid": (0, 1, special.logit, lambda h: special.expit(h) * special.expit(-h)),
    "hard_tanh": (-1, 1, lambda y: y, lambda h: 1.0 + 0 * h),
    "erf(z - 1)": (-1, 1, lambda y: special.erfinv(y) + 1, lambda h: 2 / np.sqrt(np.pi) * np.exp(-((h - 1) ** 2))),
    "erf(3*z + 1/2)": (
        -1,
        1,
        lambda y: (special.erfinv(y) - 0.5) / 3,
        lambda h: 6 / np.sqrt(np.pi) * np.exp(-((3 * h + 0.5) ** 2)),
    ),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_the_divergence_is_least_there(name):
    """Of y = phi(h), h of variance K, from a uniform y, as in (140) of Fischer et al.; (142) has K = 1/4 for erf.

    A scan over kernels of all sizes finds no smaller one elsewhere.
    """
    low, high, inverse, slope = UNIFORM[name]
    y = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    h = inverse(y)
    log_slope, square = np.log(slope(h)).mean(), (h**2).mean()

    def divergence(K):
        density = -square / (2 * K) - np.log(2 * np.pi * K) / 2 - log_slope  # <log p(y)> of y = phi(h)
        return -np.log(high - low) - density

    kernels = np.geomspace(1e-8, 1e8, 200_001)
    best = kernels[np.argmin(divergence(kernels))]
    assert float(sr.derive(name).maximum_entropy_kernel) == pytest.approx(best, rel=5e-4)
    assert divergence(best) >= -1e-3  # a divergence is never negative


def test_branches_that_lead_to_a_kernel():
    theory = sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))
    setting = {"C_W": "5/4", "C_b": "1/20"}
    scale = theory.branch_scale_for(theory.maximum_entropy_kernel, 10, "1/20", **setting)
    assert abs(theory.kernels(10, "1/20", xi=scale, **setting)[-1] - mp.mpf(1) / 2) < 1e-13
