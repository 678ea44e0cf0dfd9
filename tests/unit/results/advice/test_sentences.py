"""What the advice says: subjects are named, numbers that belong together are a table."""

import math
from dataclasses import replace

import pytest

import symres as sr
from symres.results.advice.parts import LearningRate, Origin, Path, Topic, Trial

RELU = sr.derive("relu").advice(depth=4, width=64)


def told(advice, word):
    (sentence,) = (text for text in advice.reasons if word in text)
    return sentence


def test_how_many_networks_change_too_much():
    ranges = (2.0,) * 30 + (7.0,) * 2
    trial = Trial(32, RELU.trial.mean, ranges)
    ending = "in 2 of the 32 networks one of these ratios is above 5."
    assert told(replace(RELU, trial=trial), "Tried in 32 networks of 4 layers and width 64").endswith(ending)
    steady = told(replace(RELU, trial=Trial(32, RELU.trial.mean, (2.0,) * 32)), "Tried")
    assert steady.endswith("in every single network both ratios are at most 5.")


def test_where_the_numbers_come_from():
    half = sr.derive("gelu").advice(depth=4, width=64)
    assert f"This is the critical point: a layer keeps the kernel {half.kernel:.9g}, and" in half.reasons[1]
    found = told(replace(RELU, origin=Origin.SEARCH), "No critical setting")
    assert "It is not critical" not in found  # relu at C_W = 2 keeps both
    path = Path((2.0, 1.0, 1.0), (1.0, 1.25, 1.25))
    found = told(replace(RELU, origin=Origin.SEARCH, theory=path), "No critical setting")
    assert found.endswith("the first layer multiplies the kernel by 0.5 and the squared gradient by 1.25.")
    assert told(replace(RELU, origin=Origin.BRANCH), "branches of this weight").startswith("Over 4 layers, ")


def test_one_layer_is_not_several():
    assert "networks of 1 layer and width 64" in told(replace(RELU, depth=1), "Tried")


@pytest.mark.parametrize(
    ("exponent", "words"),
    [
        (1.0, "grows in proportion to the depth; the largest learning rate of gradient descent is inversely"),
        (0.59, "grows like depth^0.59; the largest learning rate"),
        (1e-14, "does not change with the depth; the largest learning rate"),
    ],
)
def test_how_the_tangent_kernel_grows(exponent, words):
    assert words in told(replace(RELU, learning_rate=LearningRate(100.0, exponent)), "The tangent kernel is 100")


def test_customary_schemes_are_a_table():
    assert not any("He's" in text for text in RELU.reasons)
    about = "factors by which all layers change kernel and squared gradient, at infinite width"
    assert RELU.schemes_title == f"Usual schemes, for inputs of mean square 1: {about}"
    assert [row[:2] for row in RELU.schemes] == [("PyTorch's default", "0.333"), ("LeCun's", "1"), ("He's", "2")]
    assert RELU.schemes[2][2:] == ("1", "1")
    (he,) = (scheme for scheme in RELU.usual if scheme.C_W == 2)
    lost = replace(RELU, usual=(replace(he, kernel_ratio=math.nan, gradient_ratio=1.23e-6),))
    assert lost.schemes == [("He's", "2", "-", "1.2e-06")]
    assert "He's: C_W 2, kernel 1, squared gradient 1" in str(RELU)


def test_reasons_are_left_out_by_what_they_are_about():
    """By topic, not by how a sentence begins."""
    advice = sr.derive("gelu").advice(depth=4, width=64)
    scaling = set(advice.reasons) - set(advice.reasons_but(Topic.SCALING))
    assert len(scaling) == 2 and all("inputs" in text for text in scaling)
    assert advice.reasons_but() == advice.reasons
    assert advice.reasons_but(*Topic) == ()
