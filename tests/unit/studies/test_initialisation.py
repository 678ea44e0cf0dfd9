"""Advice on initialisation, as the page gives it."""

import pytest

from tests.command_line import page


@pytest.mark.exhaustive
def test_advice_chooses_what_is_free(capsys):
    """A branch of weight 1, and a place with C_b >= 0 on a line of points."""
    shown = page(capsys, "derive", "tanh", "--layer", "two_layer_block", "--set", "gamma=1/2")
    assert "C_W = 0.866025404, and set biases to zero, here at" in " ".join(shown.split())
    assert "xi = 1" in shown or "ξ = 1" in shown
    shown = " ".join(page(capsys, "derive", "max(z-1,0)+3*min(z-1,0)/10").split())
    assert "here at K* = 2 (any other with C_b" in shown
