"""Deep stacks of tokens, as pages show them."""

import json

import pytest

import symres as sr
from symres.studies.token_stacks import stack_of_tokens
from tests.command_line import page

BLOCK = "h = z + Attention(LayerNorm(z), {A}, 0); h + Dense(phi(Dense(LayerNorm(h), 1, 0)), 1, 0)"


def stack(activation, A, positions=None, depth=12):
    return stack_of_tokens(sr.layer(BLOCK.format(A=A), phi=activation).derive(positions=positions), depth)


def test_rows_are_those_of_the_theory():
    shown = stack("gelu", 1, sr.Tokens(8))
    theory = sr.layer(BLOCK.format(A=1), phi="gelu").derive(positions=sr.Tokens(8))
    assert [row.layers for row in shown.rows] == [0, 1, 2, 4, 8, 12]
    last = shown.rows[-1]
    assert last.similarity == pytest.approx(float(theory.similarity(12, 1, 0)[-1]), rel=1e-12)
    assert last.apjn == pytest.approx(float(theory.apjn(0, 12, 1, 0)), rel=1e-12)
    assert shown.collapses and shown.collapse < 0
    assert shown.sentences[0].startswith("Tokens become equal: 1 - rho falls like l^-0.68")


def test_tokens_that_stay_apart():
    """Below the threshold of attention, C_A = .05: the end .3473 and the exponent 1.1973 of the reference values."""
    shown = stack("erf", "1/20")
    assert shown.is_usual and shown.tokens == 16 and not shown.collapses
    assert shown.similarity == pytest.approx(0.3472996607505, rel=1e-9)
    fate, near, gradients = shown.sentences
    assert "stay apart" in fate and "0.3473" in fate and "come apart" in near and "l^1.2" in gradients


def test_laws_are_left_out_where_averages_have_no_closed_form():
    shown = stack("tanh", 1, sr.Tokens(4), depth=2)
    assert shown.rows[-1].layers == 2 and not shown.kind and shown.sentences == ()


def test_layers_without_numbers_have_no_stack():
    assert stack_of_tokens(sr.derive("gelu", layer="transformer"), 12) is None
    assert stack_of_tokens(sr.derive("Conv(relu(z), 2, 0)", positions=sr.Torus(4)), 12) is None


@pytest.mark.exhaustive
def test_pages_and_json_have_it(capsys):
    words = "derive", "relu", "--layer", BLOCK.format(A=1), "--tokens", "4"
    shown = page(capsys, *words)
    assert "Deep stacks of tokens" in shown and "Tokens become equal" in shown
    record = json.loads(page(capsys, *words, "--json"))["tokens"]
    assert record["tokens"] == 4 and record["kind"] == "power law"
    assert record["ends"] == [{"similarity": 1.0, "stable": True}]
