"""The part of a page about finite width."""

import pytest

import symres as sr
from tests.command_line import page
from tests.shared import derived

RELU = sr.residual("relu")
SECTIONS = [  # of a layer, what it says and what it does not
    (RELU, ["r = γ, γ², γ³, ...", "(3 + log(2))", "6.49631", "3.19 times as large"], []),
    # V itself falls where kernels flow to 0
    (RELU, ["V/K^2 grows by ν per layer in deep networks"], []),
    (RELU, ["after about 4/(1 - γ^2) layers it grows by more than 90 % of ν"], []),
    (RELU, ["P' = χ∥²·P + N + 2·Σ_k A_k·M(K_k, K, C_k)", "G' = χ∥·γ²·G + R", "V = P + 2G"], []),
    (RELU, ["M = C_W²·(⟨φ(z₁)²·φ(z₂)²⟩ - ⟨φ(z)²⟩_K₁·⟨φ(z)²⟩_K₂)", "1/16 at γ = 0.888, 1/4 at γ = 0.976"], []),
    (RELU.subs(gamma="4/5"), ["G' = χ∥·(16/25)·G + R", "the complete ν is 2.76 times as large"], ["at γ = 0 "]),
    # kernels that shrink; neurons that remember nothing; noise that is quadratic in a neuron
    *((layer, [], ["underestimated"]) for layer in (sr.residual("tanh"), sr.mlp("relu"), sr.residual("linear"))),
    pytest.param(sr.pre_ln("relu"), ["V = P"], ["ν"], marks=pytest.mark.exhaustive),  # it has no critical point
]


@pytest.mark.parametrize(("layer", "said", "unsaid"), SECTIONS)
def test_the_recursion_its_limit_and_what_stands_in_it(layer, said, unsaid):
    shown = " ".join(derived(layer).page().partition("Finite width")[2].split())
    assert [part for part in said if part not in shown] == []
    assert [part for part in unsaid if part in shown] == []


def test_vertices_of_few_layers_fall_short_of_their_final_growth():
    """At gamma = 0.9 the page has 4 layers for 128 neurons; the 21st adds nine tenths of nu, the first a third."""
    theory = derived(RELU)
    vertices = theory.vertex(21, 1, C_W=0.38, C_b=0, gamma=0.9)
    growth, last = float(theory.nu.evalf(gamma=0.9)), float(vertices[21] - vertices[20])
    assert float(vertices[1] - vertices[0]) / growth < 0.4
    assert 0.9 < last / growth < 0.95


def test_depths_are_told_for_the_width_of_the_advice(capsys):
    """The optimal aspect ratio of tanh is 6/23, so 300 neurons go with 78 layers."""
    lines = page(capsys, "derive", "tanh", "--width", "300").splitlines()
    (place,) = (number for number, line in enumerate(lines) if "n = 300" in line)
    assert lines[place].split("r*")[1].split() == ["n", "=", "75", "n", "=", "300", "n", "=", "1200"]
    assert lines[place + 1].split()[-3:] == [str(round(width * 6 / 23)) for width in (75, 300, 1200)]
