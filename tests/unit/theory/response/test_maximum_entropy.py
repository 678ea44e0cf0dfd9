"""The kernel at which activations are nearest to uniform, against the divergence itself."""

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, optimize, special

import symres as sr
from symres.core.errors import NoClosedForm

KNOWN = {"erf": mp.mpf(1) / 2, "tanh": mp.pi**2 / 12, "sigmoid": mp.pi**2 / 3, "hard_tanh": mp.mpf(1) / 3}
KNOWN |= {"Phi(2*z - 1)": mp.mpf(1) / 2, "Phi(z - 1/2)": mp.mpf(5) / 4}  # mean squared and variance of the density
KNOWN |= {"1/(1 + 2^-z)": mp.pi**2 / (3 * mp.log(2) ** 2)}


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


STEPS = {  # <z^2> of a step erf(a(z - b)) is b^2 + 1/(2 a^2)
    "erf(1000*(z - 7.3))": mp.mpf("53.29") + mp.mpf("5e-7"),
    "erf(1000*(z - 7.3)) + erf(z + 20)": (mp.mpf("53.29") + mp.mpf("5e-7") + mp.mpf("400.5")) / 2,
    "erf(z - 2000)": mp.mpf("4000000.5"),
    "erf(1000000*z)": mp.mpf("5e-13"),
    "erf(z/1000000)": mp.mpf("5e11"),
    "z/(1 + abs(z)**3)**(1/3)": mp.mpf(1),  # whose density falls like z^-4: with z^2 = u^(2/3) it is elementary
}


@pytest.mark.parametrize("formula", STEPS)
def test_steps_anywhere_and_heavy_tails(formula):
    assert abs(sr.derive(formula).maximum_entropy_kernel / STEPS[formula] - 1) < 1e-14


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("relu", "two different finite limits"),
        ("sin", "two different finite limits"),
        ("step", "it jumps"),
        ("softsign", "infinite or out of reach"),
        ("atan(z)", "infinite or out of reach"),
        ("z/sqrt(1 + z**2)", "infinite or out of reach"),
        ("3*erf(z) + erf(1000*(z - 7.3)) - erf(1000*(z - 7.31))", "it falls somewhere"),  # it falls at 7.31
    ],
)
def test_what_has_none(name, said):
    with pytest.raises(NoClosedForm, match=f"maximum entropy.*{said}"):
        _ = sr.derive(name).maximum_entropy_kernel


def test_branches_that_lead_to_a_kernel():
    theory = sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))
    setting = {"C_W": "5/4", "C_b": "1/20"}
    scale = theory.branch_scale_for(theory.maximum_entropy_kernel, 10, "1/20", **setting)
    assert abs(theory.kernels(10, "1/20", xi=scale, **setting)[-1] - mp.mpf(1) / 2) < 1e-13
    with pytest.raises(NoClosedForm, match="larger kernels"):
        theory.branch_scale_for("1/100", 10, "1/20", **setting)
