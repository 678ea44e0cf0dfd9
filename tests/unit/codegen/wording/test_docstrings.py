"""What a generated function says about itself."""

import pytest

import symres as sr


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_is_infinite_is_called_so_and_nothing_else(target):
    text = sr.export(sr.derive("sign").chi_perp, target=target).text
    assert "Infinite for every kernel > 0: the mean square of a slope is infinite" in text
    assert "Valid when" not in text and "No closed form" not in text and "Error: rounding" not in text
