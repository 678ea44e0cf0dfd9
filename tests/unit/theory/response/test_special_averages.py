"""Responses of layers whose averages close in S2, Q2, S4 and T4, against integrals over the plane by hand."""

import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of
from tests.oracles.quadrature30 import average, average2
from tests.oracles.sections import PARAMETERS, sections
from tests.shared import derived

C_W, C_B, XI = 1.25, 0.05, 0.4
NUMBERS = {"C_W": "5/4", "C_b": "1/20"}
INPUTS = [["0.05", "0.03"], ["0.03", "0.07"]]
PIECEWISE = ("hard_tanh", "relu6", "hard_swish", "elu")


def exactly(law):
    return tuple(sp.Rational(repr(float(v))) for v in law)


def pair(f, law):
    """``<f(z1) f(z2)>``."""
    return float(average2(f, f, exactly(law)).value)


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PIECEWISE)
def test_two_inputs_of_a_residual_layer(name):
    """dC/dC of each layer is 1 + xi^2 C_W <phi'(z1) phi'(z2)>; that of the readout has no 1."""
    phi, own = sections(name), PARAMETERS.get(name, {})
    found = derived(sr.residual(name, gamma=1, xi=sr.xi)).response(3, INPUTS, xi="2/5", **NUMBERS, **own)
    law, chi = (0.05, 0.03, 0.07), [1.0]
    for _ in range(3):
        chi.append(chi[-1] * (1 + XI**2 * C_W * pair(phi.slope, law)))
        squares = [float(average(phi**2, *exactly([K])).value) for K in (law[0], law[2])]
        added = (squares[0], pair(phi, law), squares[1])
        law = tuple(K + XI**2 * (C_B + C_W * more) for K, more in zip(law, added, strict=True))
    assert [matrix[1, 1] for matrix in found.chi] == pytest.approx(chi, rel=1e-12)
    assert found.chi_out[1, 1] == pytest.approx(chi[-1] * C_W * pair(phi.slope, law), rel=1e-12)


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", [sp.erf(sr.z) ** 3, sp.erf(sr.z) * sp.erf(3 * sr.z)], ids=str)
def test_one_input_of_products(formula):
    """dK'/dK = C_W <z phi(z) phi'(z)>/K."""
    found = derived(sr.mlp(sr.activation(formula))).response(3, "0.5", **NUMBERS)
    kernel, chi = 0.5, [1.0]
    for _ in range(4):
        chi.append(chi[-1] * C_W * float(average_of(sr.z * formula * formula.diff(sr.z), kernel)) / kernel)
        kernel = C_B + C_W * float(average_of(formula**2, kernel))
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
