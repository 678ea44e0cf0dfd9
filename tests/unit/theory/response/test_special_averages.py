"""Responses of layers whose averages close in S2, Q2, S4 and T4, against integrals over the plane by hand."""

import numpy as np
import pytest
from scipy.special import erf

import symres as sr
from tests.shared import derived

C_W, C_B, XI = 1.25, 0.05, 0.4
NUMBERS = {"C_W": "5/4", "C_b": "1/20"}
INPUTS = [["0.05", "0.03"], ["0.03", "0.07"]]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def panels(breaks, spread):
    """Places and weights on a line, between breaks and on the scale of the spread, 12 of it far."""
    ends = np.unique([*(b for b in breaks if abs(b) < 12 * spread), *np.linspace(-12, 12, 25) * spread])
    half, middle = np.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
    return (middle[:, None] + half[:, None] * NODES).ravel(), (half[:, None] * WEIGHTS).ravel()


def plane(f, g, K1, C, K2, breaks):
    """``<f(z1) g(z2)>``."""
    x, u = panels(breaks, np.sqrt(K1))
    y, v = panels(breaks, np.sqrt(K2))
    determinant = K1 * K2 - C * C
    exponent = K2 * x[:, None] ** 2 - 2 * C * x[:, None] * y + K1 * y**2
    density = np.exp(-exponent / (2 * determinant)) / (2 * np.pi * np.sqrt(determinant))
    return float((u * f(x)) @ density @ (v * g(y)))


def line(f, K, breaks=()):
    """``<f(z)>``."""
    x, u = panels(breaks, np.sqrt(K))
    return float((u * f(x)) @ np.exp(-x * x / (2 * K)) / np.sqrt(2 * np.pi * K))


PIECEWISE = {  # the function, its slope, its breaks
    "hard_tanh": (lambda z: np.clip(z, -1, 1), lambda z: 1.0 * (abs(z) < 1), (-1, 1)),
    "relu6": (lambda z: np.clip(z, 0, 6), lambda z: 1.0 * ((z > 0) & (z < 6)), (0, 6)),
    "hard_swish": (
        lambda z: z * np.clip(z + 3, 0, 6) / 6,
        lambda z: np.where(z < -3, 0, np.where(z > 3, 1, (2 * z + 3) / 6)),
        (-3, 3),
    ),
    "elu": (lambda z: np.where(z > 0, z, np.expm1(z)), lambda z: np.where(z > 0, 1, np.exp(np.minimum(z, 0))), (0,)),
}


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PIECEWISE)
def test_two_inputs_of_a_residual_layer(name):
    """dC/dC of each layer is 1 + xi^2 C_W <phi'(z1) phi'(z2)>; that of the readout has no 1."""
    phi, slope, breaks = PIECEWISE[name]
    own = {"alpha": 1} if name == "elu" else {}
    found = derived(sr.residual(name, gamma=1, xi=sr.xi)).response(3, INPUTS, xi="2/5", **NUMBERS, **own)
    K1, C, K2 = 0.05, 0.03, 0.07
    chi = [1.0]
    for _ in range(3):
        chi.append(chi[-1] * (1 + XI**2 * C_W * plane(slope, slope, K1, C, K2, breaks)))
        C += XI**2 * (C_B + C_W * plane(phi, phi, K1, C, K2, breaks))
        K1, K2 = (K + XI**2 * (C_B + C_W * line(lambda z: phi(z) ** 2, K, breaks)) for K in (K1, K2))
    assert [matrix[1, 1] for matrix in found.chi] == pytest.approx(chi, rel=1e-12)
    assert found.chi_out[1, 1] == pytest.approx(chi[-1] * C_W * plane(slope, slope, K1, C, K2, breaks), rel=1e-12)


def _slope_of_erf(z):
    return 2 / np.sqrt(np.pi) * np.exp(-z * z)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formula", "phi", "slope"),
    [
        ("erf(z)^3", lambda z: erf(z) ** 3, lambda z: 3 * erf(z) ** 2 * _slope_of_erf(z)),
        (
            "erf(z)*erf(3*z)",
            lambda z: erf(z) * erf(3 * z),
            lambda z: _slope_of_erf(z) * erf(3 * z) + 3 * erf(z) * _slope_of_erf(3 * z),
        ),
    ],
)
def test_one_input_of_products(formula, phi, slope):
    """dK'/dK = C_W <z phi(z) phi'(z)>/K."""
    found = derived(sr.mlp(formula)).response(3, "0.5", **NUMBERS)
    kernel, chi = 0.5, [1.0]
    for _ in range(4):
        chi.append(chi[-1] * C_W * line(lambda z: z * phi(z) * slope(z), kernel) / kernel)
        kernel = C_B + C_W * line(lambda z: phi(z) ** 2, kernel)
    assert found.chi == pytest.approx(chi[:4], rel=1e-12)
    assert found.chi_out == pytest.approx(chi[4], rel=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(sr.activations))
def test_every_activation_has_a_response(name):
    """To two inputs, with slopes by differences of the maps; or a refusal, no other error."""
    theory = derived(sr.residual(name, gamma=1, xi=sr.xi))
    own = {s.name: "0.7" for s in theory.layer.parameters if s.name not in ("xi", "C_W", "C_b")}
    numbers = {**own, **NUMBERS, "xi": "2/5"}
    try:
        found = theory.response(1, INPUTS, **numbers).chi[1]
    except sr.NoClosedForm:
        return
    at = {"K1": "0.05", "K2": "0.07", **numbers}
    high, low = (theory.covariance_map.evalf(20, C=c, **at) for c in ("0.0300001", "0.0299999"))
    assert found[1, 1] == pytest.approx(float(high - low) / 2e-7, rel=1e-5)
