"""Closed forms in the depth beside the printed ones and networks layer by layer."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError, NoClosedForm
from symres.theory.depth import depth_formulas as room
from symres.theory.depth.depth_formulas import K_FINAL, LAYERS

LINEAR = "z + xi*Dense(z)"


def test_linear_layers():
    """Fischer et al. (64) and (66), with rho^2 = xi^2 and phi'(0) = 1."""
    formulas, steep = sr.derive(LINEAR).in_depth(), 1 + sr.xi**2 * sr.C_W
    added = steep ** (LAYERS - 1) * sr.xi**2 * (sr.C_W * sr.K + sr.C_b)
    final = steep**LAYERS * sr.K + sr.C_b / sr.C_W * (steep**LAYERS - 1)
    assert sp.simplify(formulas.added.expr - added) == 0
    assert sp.simplify(formulas.kernel.expr - final) == 0
    assert formulas.kernel.verified.points == 4


def test_the_scale_for_a_last_kernel():
    """Fischer et al. (67) and (68), with K_final in the place of (V/2)^2; the latter is approached like 1/l."""
    formulas = sr.derive(LINEAR).in_depth()
    ratio = (sr.C_W * K_FINAL + sr.C_b) / (sr.C_W * sr.K + sr.C_b)
    exact, deep = formulas.scale_for(), formulas.scale_for(is_deep=True)
    values = {"K": "0.05", "C_W": "1.25", "C_b": "0.05", "K_final": "0.25"}
    numbers = {s: sp.Rational(values[s.name]) for s in (sr.K, sr.C_W, sr.C_b, K_FINAL)}
    with mp.workdps(20):
        for layers in (3, 50):
            printed = sp.sqrt(ratio ** sp.Rational(1, layers) - 1) / sp.sqrt(sr.C_W)
            scale = exact.evalf(18, l=layers, **values)
            assert abs(scale / mp.mpf(sp.N(printed.subs(numbers), 20)) - 1) < 1e-15
            kept = {name: value for name, value in values.items() if name != "K_final"}
            assert abs(formulas.kernel.evalf(18, l=layers, xi=scale, **kept) - mp.mpf("0.25")) < 1e-14
        ratios = [exact(l=n, **values) / deep(l=n, **values) - 1 for n in (100, 1000)]
    assert ratios[0] / ratios[1] == pytest.approx(10, rel=0.02)
    assert sp.simplify(deep.expr**2 * LAYERS * sr.C_W - sp.log(ratio)) == 0


def test_blocks_of_two_layers():
    """Chizat, Proposition 2.1, with c alpha^2 M = xi^2 C_u C_v/2."""
    formulas = sr.derive("z + xi*Dense(relu(Dense(z, C_1, 0)), C_2, 0)").in_depth()
    c = sr.xi**2 * sp.prod(s for s in formulas.flow.symbols if s.name in ("C_1", "C_2")) / 2
    assert sp.simplify(formulas.displacement.expr - ((1 + c) ** LAYERS - 1) * sr.K) == 0


@pytest.mark.parametrize(
    "layer",
    [
        "gamma*z + Dense(relu(z))",
        "Dense(relu(z))",
        "gamma*z + Dense(tanh(LayerNorm(z)))",
        "z + xi*Dense(gelu(LayerNorm(z)))",
        "gamma*z + Dense(abs(RMSNorm(z)))",
    ],
)
def test_networks_layer_by_layer(layer):
    theory = sr.derive(layer)
    formulas, numbers = theory.in_depth(), {"gamma": "0.7", "xi": "0.4", "C_W": "1.3", "C_b": "0.2"}
    own = {name: numbers[name] for name in theory.parameter_names}
    kernels, moved = theory.kernels(6, "0.8", **own), theory.displacement(6, "0.8", **own)
    for layers in range(7):
        for quantity, expected in ((formulas.kernel, kernels), (formulas.displacement, moved)):
            names = {s.name for s in quantity.symbols}
            given = {n: v for n, v in {"l": layers, "K": "0.8", **own}.items() if n in names}
            assert abs(quantity.evalf(15, **given) - expected[layers]) < 1e-13 * (1 + expected[layers])


def test_a_wrong_formula_is_not_returned(monkeypatch):
    """Sabotage: 1 % too much in every layer."""
    right = room.affine_parts
    monkeypatch.setattr(room, "affine_parts", lambda e: (right(e)[0], right(e)[1] * sp.Rational(101, 100)))
    with pytest.raises(NoClosedForm, match="differs from the recursion"):
        sr.derive(LINEAR).in_depth()


@pytest.mark.parametrize(
    ("layer", "message"),
    [("Dense(tanh(z))", "not affine"), ("Dense(relu(BatchNorm(z)))", "batch"), ("z + Attention(z)", "positions")],
)
def test_other_layers_are_refused(layer, message):
    with pytest.raises(NoClosedForm, match=message):
        sr.derive(layer).in_depth()


def test_scales_that_do_not_lead_there():
    formulas = sr.derive("gamma*z + Dense(relu(z))").in_depth()
    with pytest.raises(DeclarationError, match="does not depend on it"):
        formulas.scale_for()
    with pytest.raises(NoClosedForm, match="depends on gamma"):
        formulas.scale_for("gamma")
