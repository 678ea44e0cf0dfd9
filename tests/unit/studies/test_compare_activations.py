"""Activations side by side: the numbers are those of their theories and of quadrature; every form says the same."""

import csv
import io
import math

import numpy as np
import pytest

import symres as sr


@pytest.fixture(scope="module")
def compared():
    return sr.compare("relu", "gelu", "tanh", "step")


def test_the_critical_points_are_those_of_the_theories(compared):
    """PDLT, 5.3.3 and B.20: gelu's point (3 + sqrt(17))/2; 23 nu r* = 4 for one output."""
    gelu = compared.rows[1]
    assert pytest.approx(3.561552812808830) == gelu.K
    assert pytest.approx(1.98305825743755) == gelu.C_W
    assert pytest.approx(0.172922390756067) == gelu.C_b
    assert pytest.approx(math.sqrt(gelu.C_W)) == gelu.gain
    assert pytest.approx(4 / 23 / gelu.nu) == gelu.aspect_ratio
    relu, _, tanh, step = compared.rows
    assert (relu.K, relu.C_W, relu.C_b) == (None, 2, 0)  # every kernel is kept
    assert relu.nu == pytest.approx(5, rel=1e-14)  # a product of doubles, whose last digit is the processor's
    assert (tanh.K, tanh.C_W, tanh.nu) == (0, 1, pytest.approx(2 / 3))
    assert (step.universality_class, step.C_W, step.nu, step.backward_gain) == ("none", None, None, None)


def test_gains_are_those_of_quadrature(compared):
    gelu = compared.rows[1]
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    phi = nodes * (1 + np.array([math.erf(x / math.sqrt(2)) for x in nodes])) / 2
    slope = phi / nodes + nodes * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    for values, gain in ((phi, gelu.forward_gain), (slope, gelu.backward_gain)):
        assert gain == pytest.approx((weights @ values**2 / math.sqrt(2 * math.pi)) ** -0.5, rel=1e-9)


def test_every_form_has_every_row(compared):
    names = [row.activation for row in compared.rows]
    assert str(compared).splitlines()[2].split() == names
    assert [row["activation"] for row in csv.DictReader(io.StringIO(compared.csv()))] == names
    frame = compared.frame()
    assert list(frame["activation"]) == names
    assert math.isnan(frame["K"][0]) and frame["C_W"].dtype == float
    rows = compared.latex().splitlines()
    assert [row.split(" & ")[0] for row in rows[4:-2]] == ["relu", "gelu", "tanh", "step"]
    assert {row.count("&") for row in rows if "&" in row} == {10}
    assert "K*=0" in compared._repr_html_()


def test_a_narrow_table_goes_on_below(compared):
    parts = compared.table(50).split("\n\n")[1:-1]  # without the note under the table
    assert [part.split()[0] for part in parts] == ["relu", "tanh"]
    assert all(len(line) <= 50 for part in parts for line in part.splitlines())


def test_parameters_of_layers_and_activations():
    (leaky,) = sr.compare("leaky_relu", layer="residual", gamma="1/2", slope="1/10").rows
    assert leaky.C_W == pytest.approx(0.75 * 2 / 1.01)
    with pytest.raises(sr.DeclarationError, match="its parameter slope has no number"):
        sr.compare("leaky_relu")
    with pytest.raises(sr.DeclarationError, match="no activation is named"):
        sr.compare()
    with pytest.raises(sr.DeclarationError, match="unknown layer"):
        sr.compare("relu", layer="nope")


def test_long_work_says_how_far_it_is():
    seen = []
    sr.compare("relu", "abs", progress=lambda what, share: seen.append((what, share)))
    assert seen == [("relu", 0.0), ("abs", 0.5)]


def test_the_table_names_the_numbers_and_says_why_there_are_none():
    assert str(sr.compare("relu", layer="residual", progress=False)).startswith(
        "activations in the layer residual, gamma = 0\n"
    )
    half = sr.compare("relu", layer="residual", gamma="1/2", progress=False)
    assert "gamma = 1/2" in str(half) and "no C_W and C_b" not in str(half)
    words = " ".join(str(sr.compare("relu", layer="pre_ln", progress=False)).split())
    assert "none: no C_W and C_b make both susceptibilities 1" in words
