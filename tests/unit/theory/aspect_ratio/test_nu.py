"""nu, the aspect ratio and its inverse, against closed forms, deep recursions and what the source prints."""

import math
import re

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import n_L
from tests.oracles.two_times import nu_of_slopes
from tests.shared import derived

GAMMAS = ("0", "0.3", "0.5", "0.9")


@pytest.mark.parametrize("gamma", GAMMAS)
def test_relu(gamma):
    found = derived(sr.residual("relu")).nu.evalf(gamma=gamma)
    assert found == pytest.approx(nu_of_slopes(1.0, 0.0, float(gamma)), rel=1e-14)


def test_the_values_of_the_field():
    nu = derived(sr.residual("relu")).nu
    assert nu.status is sr.Status.EXACT
    assert nu.evalf(gamma="1/2") == pytest.approx(6.49631254396469, rel=1e-14)
    assert nu.evalf(gamma=0) == 5
    assert nu.symbols == (sr.gamma,)


@pytest.mark.exhaustive
@pytest.mark.parametrize("gamma", ["0", "1/2"])
def test_any_two_slopes(gamma):
    a, b = sp.symbols("a_plus a_minus", positive=True)
    phi = sr.Activation("slopes", sp.Piecewise((b * sr.z, sr.z < 0), (a * sr.z, True)), (a, b))
    nu = derived(sr.residual(phi)).nu
    found = nu.evalf(gamma=gamma, a_plus="1.5", a_minus="0.4")
    assert found == pytest.approx(nu_of_slopes(1.5, 0.4, float(sp.Rational(gamma))), rel=1e-13)


def test_limits_of_relu():
    """nu/(1 - gamma^2) -> 12 + 4 log 2, where the printed formula has 4."""
    nu = derived(sr.residual("relu")).nu
    edge = nu.asymptotics(1)
    assert sp.simplify(edge.expr / (1 - sr.gamma**2) - 12 - 4 * sp.log(2)) == 0
    small = nu.series(3)
    assert small.evalf(gamma="1/1000") == pytest.approx(float(nu.evalf(gamma="1/1000")), rel=1e-11)
    ratio = derived(sr.residual("relu")).aspect_ratio
    assert sp.simplify(ratio.asymptotics(1).expr * edge.expr * (20 + 3 * n_L)) == 4
    near = {"gamma": "1/1000", "n_L": 2}
    assert ratio.series(3).evalf(**near) == pytest.approx(float(ratio.evalf(**near)), rel=1e-11)


def test_vanishing_kernels():
    nu = derived(sr.residual("tanh")).nu
    assert sp.expand(nu.expr - sp.Rational(2, 3) * (1 - sr.gamma**4)) == 0
    assert sp.expand(nu.asymptotics(1).expr - sp.Rational(4, 3) * (1 - sr.gamma**2)) == 0


def deep_slope(layer, depth, gamma):
    """The growth of V/K^2 in the second half of a deep network at its critical point."""
    theory = derived(layer)
    point = theory.critical_points[0]
    own = {name: sp.N(getattr(point, name).subs(sr.gamma, sp.Rational(gamma)), 20) for name in ("C_W", "C_b")}
    own = {s.name: own.get(s.name, gamma) for s in layer.parameters}
    K = 1 if point.K in (0, sr.K) else sp.N(point.K, 20)
    states = theory.fluctuations(depth, K, **own).states
    half, last = (states[k].V.item() / states[k].kernel.item() ** 2 for k in (depth // 2, depth))
    return (last - half) / (depth - depth // 2)


DEEP = {
    "relu": (lambda: sr.residual("relu"), 200, 1e-10),
    "gelu": (lambda: sr.residual("gelu"), 50, 3e-5),
    "tanh": (lambda: sr.residual("tanh"), 1000, 4e-3),
    "selu": (lambda: sr.residual("selu"), 800, 4e-3),
    "block": (lambda: sr.two_layer_block("tanh", gamma=sr.gamma, xi=1), 1000, 4e-3),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("gamma", ["0.3", "0.7"])
@pytest.mark.parametrize("name", DEEP)
def test_deep_networks_grow_by_nu(name, gamma):
    build, depth, tolerance = DEEP[name]
    layer = build()
    assert deep_slope(layer, depth, gamma) == pytest.approx(float(derived(layer).nu.evalf(gamma=gamma)), rel=tolerance)


def test_layers_without_a_critical_point():
    nu = derived(sr.pre_ln("relu", gamma=sr.gamma)).nu
    assert nu.status is sr.Status.UNKNOWN
    assert "critical" in nu.reason
    assert derived(sr.pre_ln("relu", gamma=sr.gamma)).aspect_ratio.status is sr.Status.UNKNOWN


# ---- the aspect ratio ---------------------------------------------------------------------------------------------


def test_layers_without_a_skip_connection_need_no_gamma():
    assert derived(sr.mlp("relu")).nu.evalf() == 5
    assert derived(sr.mlp("relu")).nu.evalf(gamma="1/2") == 5
    assert derived(sr.mlp("relu")).aspect_ratio.evalf(n_L=1) == pytest.approx(4 / 115)


def test_what_is_unknown_has_gamma_only_where_the_layer_has():
    assert "nu is unknown" in str(derived("sigmoid").nu)
    assert "nu(gamma) is unknown" in str(derived(sr.residual("sigmoid")).nu)


def test_layers_that_keep_kernels_bounded():
    """Pre-LN: V/K^2 settles, at what the recursion of deep networks ends in."""
    theory = derived(sr.pre_ln("relu", gamma=sr.gamma))
    own = {"C_W": 1.5, "C_b": 0.1, "gamma": 0.8}
    last = theory.fluctuations(150, 1, **own).states[-1]
    expected = last.V.item() / last.kernel.item() ** 2
    assert theory.vertex_limit.evalf(**own) == pytest.approx(expected, rel=1e-12)
    assert derived(sr.residual("relu")).vertex_limit.status is sr.Status.UNKNOWN


def test_quantities_that_are_listed_are_not_refused():
    """Fluctuations of a batch are not derived: what depends on them is unknown, with the reason."""
    theory = derived(sr.batch_norm("relu"))
    assert {"nu", "vertex_limit"} <= set(theory.all_quantities)
    assert theory.nu.status is theory.vertex_limit.status is sr.Status.UNKNOWN
    assert "fluctuations" in theory.vertex_limit.reason


def test_a_block_of_two_layers():
    """Of relu after a dense layer, whose C_W at criticality is imaginary for gamma > 1: nothing is verified there."""
    theory = derived(sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation("relu")(sr.Dense(sr.z)))))
    assert theory.nu.status is sr.Status.EXACT
    critical = {"gamma": "0.3", "C_W": sp.sqrt(2 * (1 - sp.Rational(9, 100))), "C_b": 0}
    after = theory.vertex(60, 1, **critical)
    assert after[60] - after[59] == pytest.approx(float(theory.nu.evalf(gamma="0.3")), rel=1e-11)


def test_the_inverse_takes_few_values(monkeypatch):
    """Values may take seconds, so solutions are searched in double precision."""
    curve = derived(sr.residual("relu")).aspect_ratio_curve(1)
    asked = []
    value = sr.results.quantity.Quantity.evalf
    monkeypatch.setattr(sr.results.quantity.Quantity, "evalf", lambda *a, **k: asked.append(k) or value(*a, **k))
    (found,) = curve.solve("0.25")
    assert len(asked) <= 8
    assert curve.ratio.evalf(gamma=repr(found), n_L=1) == pytest.approx(0.25, rel=1e-14)


# ---- how growth becomes nu where kernels flow to 0, against recursions of thousands of layers ----------------------

CASES = [
    (sr.mlp("tanh"), {"C_W": 1}, "-5/12"),
    (sr.mlp("sin"), {"C_W": 1}, "1/3"),
    (sr.residual("tanh"), {"C_W": 0.64, "gamma": 0.6}, "-233/192"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("layer", "setting", "expected"), CASES)
def test_deep_networks(layer, setting, expected):
    """V/(nu K^2) - l grows by kappa log 2 from l to 2 l, the better the deeper."""
    theory = derived(layer)
    weight = {name: value for name, value in setting.items() if name == "gamma"}
    found = float(theory.nu_log.evalf(**weight))
    assert found == pytest.approx(float(sp.Rational(expected)), rel=1e-13)
    assert theory.nu_log.verifications
    nu = float(theory.nu.evalf(**weight))
    states = theory.fluctuations(2000, 1, C_b=0, **setting).states
    excess = {
        depth: states[depth].V.item() / states[depth].kernel.item() ** 2 / nu - depth
        for depth in (250, 500, 1000, 2000)
    }
    missed = [abs((excess[2 * depth] - excess[depth]) / math.log(2) / found - 1) for depth in (250, 500, 1000)]
    assert missed[2] < missed[1] < missed[0] < 0.05
    assert missed[2] < 0.013


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formula", "reason"),
    [("relu", "do not flow"), ("gelu", "do not flow"), ("z - z^5*exp(-z^2)*sqrt(abs(z))", "like l\\*\\*-")],
)
def test_what_has_no_logarithm(formula, reason):
    found = derived(sr.mlp(formula)).nu_log
    assert found.status is sr.Status.UNKNOWN
    assert re.search(reason, str(found.reason))


def test_slopes_at_a_kink_that_are_parameters():
    """ELU's slopes at 0 are alpha and 1: N = (3 A4/A2^2 - 1) and nu = N/3."""
    alpha = 2
    ratio = 3 * (1 + alpha**4) / 2 / ((1 + alpha**2) / 2) ** 2 - 1
    assert float(sr.derive("elu").nu.evalf(15, alpha=alpha)) == pytest.approx(ratio / 3, rel=1e-12)
