"""What ``check`` and ``simulate_jacobian`` refuse, and how they say so."""

import pytest

import symres as sr
from symres.check import Budget, check, simulate_jacobian
from symres.core.errors import SymresError

THEORY, AVERAGE = sr.derive(sr.residual("relu")), sr.expect("relu")
NUMBERS = {"C_W": 1, "C_b": 0}


def checked(**options):
    return check(THEORY, **options)


def of_average(**options):
    return check(AVERAGE, **options)


def simulated(forward="tanh", K=1, **options):
    layer = sr.mlp(forward) if isinstance(forward, str) else forward
    return simulate_jacobian(layer, K, **{"parameters": NUMBERS} | options)


REFUSED = [
    *((checked, {name: value}, name) for name in ("seed", "points", "depth") for value in (-1, "x", 1.5, None)),
    *((checked, {name: 0}, f"{name} 0") for name in ("points", "depth")),
    *(
        (checked, {"against": value}, "use quadrature or simulation")
        for value in (None, 3, [], (), "", "magic", ["quadrature", 3], {})
    ),
    *((check, {"theory": what}, r"pass sr\.derive\(layer\)") for what in (None, 3, sr.z, ["relu"])),
    *((checked, {"parameters": value}, "not a mapping") for value in (3, "gamma", [("gamma", 1)], {3: 1})),
    (checked, {"parameters": {"gama": 1}}, "did you mean gamma"),
    (checked, {"parameters": {"beta": 1}}, "the parameters are: C_W, C_b, gamma"),
    (checked, {"parameters": {"K": 3}}, "an argument"),
    (checked, {"parameters": {"C_W": -1}}, "negative"),
    (checked, {"parameters": {"gamma": "much"}}, "not a finite real number"),
    (checked, {"parameters": {"gamma": None}}, "not a finite real number"),
    (checked, {"quantities": "chi_perp"}, "not a list"),
    (checked, {"quantities": ["chi"]}, "chi_p"),
    (checked, {"quantities": []}, "quantities is empty"),
    (checked, {"quantities": 3}, "not a list"),
    (checked, {"budget": 3}, "not a Budget"),
    (of_average, {"parameters": {"gama": 1}}, "the parameters are: none"),
    (of_average, {"against": "simulation"}, "not a network"),
    (Budget, {"widths": (0, 64)}, "width 0"),
    (Budget, {"widths": (64.5,)}, "width 64.5"),
    (Budget, {"precision": 0}, "precision"),
    (Budget, {"neurons": -1}, "neurons"),
    (simulated, {"estimator": "guess"}, "estimator"),
    (simulated, {"backend": "jax"}, "backend"),
    (simulated, {"n": 0}, "n"),
    (simulated, {"nets": 1}, "nets"),
    (simulated, {"depth": 1.5}, "depth"),
    (simulated, {"K": "many"}, "K"),
    (simulated, {"parameters": {"C_W": 1}}, "C_b"),
    (simulated, {"forward": sr.batch_norm("relu")}, "C in"),
    (simulated, {"forward": sr.batch_norm("relu"), "parameters": NUMBERS | {"C": 2}}, "C in"),
]


@pytest.mark.parametrize(("door", "options", "said"), REFUSED)
def test_what_cannot_be_checked_is_named(door, options, said):
    with pytest.raises(SymresError, match=said):
        door(**options)


def test_what_is_right_is_taken():
    parameters = {sr.gamma: "1/2", "C_W": 0.25}
    rows = check(THEORY, ["quadrature"], seed="3", points=1.0, parameters=parameters).verdicts
    assert all("gamma = 0.5" in row.point and "C_W = 0.25" in row.point for row in rows)
    assert {row.oracle for row in check(AVERAGE, points=1).verdicts} == {"quadrature"}
    assert str(check(sr.expect("sin(20*z)")).outcome) == "PASSED"
