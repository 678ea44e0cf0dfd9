"""What ``check`` refuses, and how it says so."""

import pytest

import symres as sr
from symres.check import check
from symres.core.errors import DeclarationError

THEORY = sr.derive(sr.residual("relu"))
AVERAGE = sr.expect("relu")


@pytest.mark.parametrize("name", ["seed", "points", "depth"])
@pytest.mark.parametrize("value", [-1, "x", "a", 1.5, None])
def test_numbers_are_whole(name, value):
    with pytest.raises(DeclarationError, match=name):
        check(THEORY, "quadrature", **{name: value})


@pytest.mark.parametrize("name", ["points", "depth"])
def test_at_least_one(name):
    with pytest.raises(DeclarationError, match=f"{name} 0"):
        check(THEORY, "quadrature", **{name: 0})


@pytest.mark.parametrize("against", [None, 3, [], (), "", "magic", ["quadrature", 3], {}])
def test_oracles_have_names(against):
    with pytest.raises(DeclarationError, match="use quadrature or simulation"):
        check(THEORY, against)


@pytest.mark.parametrize("subject", [None, 3, sr.z, ["relu"]])
def test_what_is_no_theory_is_refused(subject):
    with pytest.raises(DeclarationError, match=r"pass sr\.derive\(layer\)"):
        check(subject)


@pytest.mark.parametrize("parameters", [3, "gamma", [("gamma", 1)], {3: 1}])
def test_parameters_are_a_mapping(parameters):
    with pytest.raises(DeclarationError, match="not a mapping"):
        check(THEORY, parameters=parameters)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"gama": 1}, "did you mean gamma"),
        ({"beta": 1}, "the parameters are: C_W, C_b, gamma"),
        ({"K": 3}, "an argument"),
        ({"C_W": -1}, "negative"),
        ({"gamma": "much"}, "not a finite real number"),
        ({"gamma": None}, "not a finite real number"),
    ],
)
def test_parameters_are_those_of_the_layer(parameters, said):
    with pytest.raises(DeclarationError, match=said):
        check(THEORY, parameters=parameters)
    if "gama" in parameters:
        with pytest.raises(DeclarationError, match="the parameters are: none"):
            check(AVERAGE, parameters=parameters)


def test_an_average_cannot_be_simulated():
    with pytest.raises(DeclarationError, match="not a network"):
        check(AVERAGE, against="simulation")
    assert {row.oracle for row in check(AVERAGE, points=1).verdicts} == {"quadrature"}


def test_a_budget_is_one():
    with pytest.raises(DeclarationError, match="not a Budget"):
        check(THEORY, budget=3)


def test_what_is_right_is_taken():
    parameters = {sr.gamma: "1/2", "C_W": 0.25}
    rows = check(THEORY, ["quadrature"], seed="3", points=1.0, parameters=parameters).verdicts
    assert all("gamma = 0.5" in row.point and "C_W = 0.25" in row.point for row in rows)
    assert str(check(sr.expect("sin(20*z)")).outcome) == "PASSED"
