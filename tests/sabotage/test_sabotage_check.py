"""Every comparison must be able to fail: wrong theories of any scale are refuted at any seed, and right ones pass."""

from dataclasses import replace
from functools import cache

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.check import CheckReport, Outcome, check
from symres.check.oracles.natural_scales import natural_units
from symres.check.rows.claims import is_claim
from symres.check.sampling.random_points import ORDINARY
from symres.core.errors import CheckRefuted
from symres.core.symbols import C_W, C_b, gamma, z
from symres.layers.nodes import Dense
from symres.theory.observables.registry import observables
from tests.oracles.kernels import PHI, FakeTheory, theory

FORMULAS = {
    "softshrink": "where(z>1, z-1, where(z<-1, z+1, 0))",
    "dead zone": "where(z>2, (z-2)^2, 0)",
    "wide tanh": "tanh(z/100)",
    "steep tanh": "tanh(100*z)",
    "gelu": "gelu",
    "relu": "relu",
    "exp": "exp(z/4)",
    "square": "z^2",
}
MAPS = ("kernel_map", "covariance_map", "chi_parallel", "chi_perp")
CHANGES = {
    "1 %": lambda body: body * sp.Rational(101, 100),
    "sign": lambda body: -body,
    "factor 2": lambda body: 2 * body,
    "1e-3": lambda body: body * sp.Rational(999, 1000),
    "1 % of the branch": lambda body: body.xreplace({C_W: C_W * sp.Rational(101, 100)}),
    "no branch": lambda body: body.xreplace({C_W: sp.S.Zero}),
}
SCALES = ["1/1000", "1/30", "30", "1000"]
SCALED = {"tanh": "tanh({0})", "gelu": "gelu({0})", "softshrink": FORMULAS["softshrink"].replace("z", "({0})")}


def layer(formula, skip):
    phi = sr.activation(formula)
    return sr.residual(phi) if skip else sr.mlp(phi)


@cache
def theory_of(formula, skip):
    """Derived once: each test takes one quantity of it."""
    return sr.derive(layer(formula, skip))


def only(theory, name, change):
    right = theory.quantities[name]
    body = right.body
    for symbol, definition in ((step.symbol, step.definition) for step in right.steps):
        body = body.xreplace({symbol: definition})
    return FakeTheory(theory.layer.forward, {name: replace(right, body=change(body))})


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("skip", [False, True], ids=["mlp", "residual"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_wrong_maps_are_refuted_at_every_point(formula, skip, name):
    theory = theory_of(FORMULAS[formula], skip)
    changes = list(CHANGES) if not skip else ["1 % of the branch"]
    for change in changes:
        rows = check(only(theory, name, CHANGES[change]), "quadrature", points=2).verdicts
        assert [row.outcome for row in rows] == [Outcome.REFUTED] * 2, change


@pytest.mark.exhaustive
@pytest.mark.parametrize("skip", [False, True], ids=["mlp", "residual"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_right_theories_pass_with_open_eyes(formula, skip):
    rows = check(theory_of(FORMULAS[formula], skip), "quadrature", points=2, seed=1).verdicts
    assert {row.outcome for row in rows} == {Outcome.PASSED}
    assert max(row.detectable for row in rows) < 0.01


@pytest.mark.exhaustive
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("skip", [False, True], ids=["mlp", "residual"])
@pytest.mark.parametrize("formula", SCALED)
def test_scaled_activations_are_compared_where_they_bend(formula, skip, scale):
    theory = sr.derive(layer(SCALED[formula].format(f"z/{scale}" if "/" not in scale else f"{scale[2:]}*z"), skip))
    report = check(theory, "quadrature", points=1, quantities=MAPS)
    assert report.outcome is Outcome.PASSED
    for name in MAPS:
        wrong = only(theory, name, CHANGES["1 % of the branch"])
        assert check(wrong, "quadrature", points=1).outcome is Outcome.REFUTED, name


@pytest.mark.sample(3)
@pytest.mark.parametrize("skip", [False, True], ids=["mlp", "residual"])
@pytest.mark.parametrize("name", sr.activations)
def test_the_catalogue_passes(name, skip):
    theory = sr.derive(layer(name, skip))
    report = check(
        theory, "quadrature", points=1, seed=5, quantities=[n for n in MAPS if is_claim(theory.quantities[n])]
    )
    assert report.outcome is Outcome.PASSED, report.table()


@pytest.mark.exhaustive
def test_a_dead_zone_has_no_say_where_it_is_dead():
    """At a kernel where softshrink gives 10^-217, any small claim was once taken for a right one."""
    theory = sr.derive(layer(FORMULAS["softshrink"], False))
    right = theory.chi_perp
    for factor in (1, 2):
        small = FakeTheory(theory.layer.forward, {"chi_perp": replace(right, body=factor * right.body)})
        rows = check(small, "quadrature", points=4).verdicts
        assert {row.outcome for row in rows} == {Outcome.PASSED if factor == 1 else Outcome.REFUTED}
        assert all(row.claimed > 1e-4 for row in rows)


UNITS = {
    "tanh": (0, 0, 0),
    "gelu": (0, 0, 0),
    "relu": (0, 0, 0),
    "sin": (0, 0, 0),
    "sign": (0, 0, 0),
    "tanh(z/1000)": (6, 6, 6),
    "gelu(1000*z)": (-6, -6, -6),
    "gelu(z/1000)": (6, 6, 6),
    "1000*tanh(z)": (0, -6, 0),
    "sin(1000*z)": (-6, -6, -6),
    "where(abs(z)>1000, z - 1000*sign(z), 0)": (6, 0, 6),
    "10 + tanh(z/1000)": (6, 4, 6),
}


@pytest.mark.parametrize("formula", UNITS)
def test_units_follow_the_activation(formula):
    forward = layer(formula, False).forward
    found = natural_units(forward, {C_W, C_b}, 0, {})
    assert (found.kernel, found.weight, found.bias) == tuple(sp.Integer(10) ** power for power in UNITS[formula])


@pytest.mark.parametrize(
    ("formula", "power"),
    [(f"sin({w}*z)", 0) for w in ("1.5", "1.7", "2", "pi", "2.5")]
    + [
        ("sin(15*z)", -3),
        ("sin(20*z)", -3),
        ("sin(z)+sin(3*z)", 0),
        ("exp(-z^2/2)*sin(5*z)", 0),
        ("exp(-z^2/2)*sin(2*z)", 0),
    ]
    + [("z-z^3/6-sin(z)", 0), ("1-z^2/2-cos(z)", 0)]
    + [(f"where(z < -1, -1/2, where(z < {c}, z/2, z - {c}/2))", 0) for c in ("1/3", "0.45", "1/5")],
)
def test_neither_aliases_nor_rounding_set_a_unit(formula, power):
    for skip in (False, True):
        found = natural_units(layer(formula, skip).forward, {C_W, C_b, gamma}, 1, {})
        assert found.kernel == found.bias == sp.Integer(10) ** power
        assert sp.Rational(1, 100) <= found.weight <= 100


def test_kinks_of_a_piecewise_formula_are_looked_at():
    theory = sr.derive(layer("where(z < -1, -1/2, where(z < 1/3, z/2, z - 1/6))", False))
    kernels = [
        float(row.point.split(",")[0].split("=")[1])
        for row in check(FakeTheory(theory.layer.forward, {"kernel_map": theory.kernel_map}), "quadrature").verdicts
    ]
    assert sum(0.1 < kernel < 1000 for kernel in kernels) >= 2


HIDDEN = ["gelu(z)/1000", "tanh(z/1000)", "max(z-5,0)", "max(z-3,0)", "gelu(z)/10"]
BRANCH = {"no": sp.S.Zero, "twice": 2 * C_W, "minus": -C_W}


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", HIDDEN)
def test_networks_see_the_branch(formula):
    """With weights and kernels of size 1 all of these branches hide behind the skip connection."""
    theory = sr.derive(layer(formula, True))
    names = ("kernel_map", "covariance_map")
    maps = {name: theory.quantities[name] for name in names}
    rows = check(FakeTheory(theory.layer.forward, maps), "simulation", depth=1).verdicts
    assert [row.outcome for row in rows] == [Outcome.PASSED] * 2
    for change, weight in BRANCH.items():
        wrong = {name: replace(q, body=q.body.xreplace({C_W: weight})) for name, q in maps.items()}
        rows = check(FakeTheory(theory.layer.forward, wrong), "simulation", depth=1).verdicts
        assert [row.outcome for row in rows] == [Outcome.REFUTED] * 2, change


@pytest.mark.exhaustive
def test_a_branch_that_networks_cannot_see_is_inconclusive():
    theory = sr.derive(layer("gelu", True))
    maps = ["kernel_map", "covariance_map", "chi_parallel", "chi_perp", "ntk_map", "parameter_norm"]
    rows = check(theory, "simulation", depth=1, parameters={"C_W": "1/100000"}, quantities=maps).verdicts
    assert {row.outcome for row in rows} == {Outcome.INCONCLUSIVE}
    assert all("the branch is only" in row.reason for row in rows)


def test_units_of_growing_activations_end_before_the_tail_rules():
    assert ORDINARY.window == (-3, 2)
    low, high = natural_units(layer("exp(z)", False).forward, {C_W, C_b}, 0, {}).window
    assert (low, round(high, 1)) == (-3, 1)
    assert 0 < natural_units(layer("relu6", False).forward, {C_W, C_b}, 0, {}).centre < 1.5  # moved points go there
    low, high = natural_units(layer(FORMULAS["softshrink"], False).forward, {C_W, C_b}, 0, {}).window
    assert -1.2 < low < -0.5 and high == 2


def test_units_of_a_nested_layer_do_not_move_its_kernels():
    """Weights of the size that the outer activation asks for would feed the inner one and move the kernel's unit."""
    wide = sr.activation("tanh(z/1000)")
    found = natural_units(gamma * z + sr.Dense(wide(sr.Dense(z))), {C_W, C_b, gamma}, 0, {})
    assert (found.kernel, found.weight, found.bias) == (1, 1, 1)


SPOILT = {
    "1 % up": lambda v: v * mp.mpf("1.01"),
    "1 % down": lambda v: v * mp.mpf("0.99"),
    "sign": lambda v: -v,
    "factor 2": lambda v: 2 * v,
}


def alone(wrong, name):
    return FakeTheory(wrong.forward, {name: wrong.quantities[name]})


@pytest.mark.sample(4)
@pytest.mark.parametrize("change", SPOILT)
@pytest.mark.parametrize("name", [name for name, record in observables.items() if record.oracle is not None])
@pytest.mark.parametrize("phi", ["gelu", "erf"])
def test_quadrature_refutes_every_point(phi, name, change):
    wrong = alone(theory(phi).spoilt(name, SPOILT[change]), name)
    report = check(wrong, "quadrature", points=3, seed=len(change))
    assert {v.outcome for v in report.verdicts} == {Outcome.REFUTED}
    assert len(report.verdicts) >= 2
    with pytest.raises(CheckRefuted, match=name):
        report.raise_if_refuted()


@pytest.mark.parametrize("name", ["kernel_map", "covariance_map", "chi_parallel", "chi_perp"])
def test_quadrature_refutes_one_part_in_a_million(name):
    wrong = alone(theory("relu").spoilt(name, lambda v: v * (1 + mp.mpf(10) ** -6)), name)
    assert {v.outcome for v in check(wrong, "quadrature", points=3).verdicts} == {Outcome.REFUTED}


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("factor", ["1.05", "0.95"])
def test_simulation_refutes_a_kernel_map_that_is_five_percent_wrong(factor, skip, seed):
    wrong = theory("gelu", skip).spoilt("kernel_map", lambda v: v * mp.mpf(factor))
    wrong = FakeTheory(wrong.forward, {n: wrong.quantities[n] for n in ("kernel_map", "covariance_map")})
    rows = check(wrong, "simulation", seed=seed).verdicts
    refuted = [v for v in rows if v.outcome is Outcome.REFUTED]
    assert {(v.quantity, "3 layers" in v.point) for v in refuted} >= {("kernel_map", False), ("kernel_map", True)}
    assert abs(refuted[0].z) > 15


@pytest.mark.parametrize("name", ["covariance_map", "chi_parallel", "chi_perp"])
def test_simulation_refutes_five_percent_elsewhere(name):
    wrong = theory("relu").spoilt(name, lambda v: v * mp.mpf("1.05"))
    needed = {name, "kernel_map"} if name == "covariance_map" else {name}  # to iterate one map takes the other
    kept = {key: quantity for key, quantity in wrong.quantities.items() if key in needed}
    rows = check(FakeTheory(wrong.forward, kept), "simulation").verdicts
    assert {v.outcome for v in rows if v.quantity == name} == {Outcome.REFUTED}
    assert {v.outcome for v in rows if v.quantity != name} <= {Outcome.PASSED}


def test_a_wrong_declaration_is_noticed():
    # right formulas for another layer: ReLU instead of leaky ReLU, one draw instead of two
    leaky = Activation("leaky", sp.Max(z, 0) - sp.Max(-z, 0) / 100)
    claims = theory("relu").quantities
    assert check(FakeTheory(gamma * z + Dense(leaky(z)), claims), "quadrature", points=1).outcome is Outcome.REFUTED
    draw = Dense(PHI["relu"](z))
    for forward, outcome in (
        (draw, Outcome.PASSED),
        ((draw + Dense(PHI["relu"](z))) / 2, Outcome.REFUTED),
        ((draw + draw) / 2, Outcome.PASSED),
    ):
        wrong = FakeTheory(forward, {"kernel_map": theory("relu", skip=False).quantities["kernel_map"]})
        assert check(wrong, points=1).outcome is outcome


REAL = {
    "mlp tanh": lambda: sr.mlp("tanh"),
    "mlp gelu": lambda: sr.mlp("gelu"),
    "residual gelu": lambda: sr.residual("gelu"),
    "nested": lambda: sr.Layer(gamma * z + Dense(sr.activation("tanh")(Dense(sr.activation("erf")(z))))),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", REAL)
def test_simulation_refutes_derived_maps_that_are_five_percent_wrong(name, seed):
    """At these seeds a wrong claim after one layer is no covariance: its other rows must be judged all the same."""
    right = sr.derive(REAL[name]())
    maps = {quantity.name: quantity for quantity in (right.kernel_map, right.covariance_map)}
    assert outcomes(right, maps, seed) == {"kernel_map": Outcome.PASSED, "covariance_map": Outcome.PASSED}
    for wrong in maps:
        spoilt = replace(maps[wrong], body=maps[wrong].body * sp.Rational(95, 100))
        assert outcomes(right, maps | {wrong: spoilt}, seed)[wrong] is Outcome.REFUTED


def outcomes(theory, maps, seed):
    """Of the rows after one layer."""
    rows = check(FakeTheory(theory.layer.forward, maps), "simulation", seed=seed).verdicts
    return {row.quantity: row.outcome for row in rows if "layers" not in row.point}


def test_a_claim_that_is_no_covariance_is_refuted_as_such():
    right = sr.derive(sr.mlp("tanh"))
    kernel = replace(right.kernel_map, body=right.kernel_map.body * sp.Rational(1, 2))
    report = check(FakeTheory(right.layer.forward, {"kernel_map": kernel, "covariance_map": right.covariance_map}))
    rows = [row for row in report.verdicts if row.oracle == "simulation"]
    assert {row.outcome for row in rows} == {Outcome.REFUTED}
    told = [row for row in rows if "no covariance" in row.reason]
    assert {row.quantity for row in told} == {"covariance_map"}
    with pytest.raises(CheckRefuted, match=r"C\*\*2 > K1\*K2"):
        CheckReport(tuple(told)).raise_if_refuted()
