"""What a generated function says about itself."""

import pytest

import symres as sr


def test_a_network_says_once_which_maps_a_warning_is_about():
    module = sr.export(sr.network(["exp(z)*sin(z)"] * 2), progress=False)
    ends, digits = module.warnings
    assert ends.startswith("kernel_map: nan beyond kernels of")
    assert digits.startswith("covariance_map, ntk_map: _average_2 is inaccurate")
    text = " ".join(module.text.split())
    assert text.count("Warning:") == 2 and f"Warning: {digits}" in text


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_is_infinite_is_called_so_and_nothing_else(target):
    text = sr.export(sr.derive("sign").chi_perp, target=target).text
    assert "Infinite for every kernel > 0: the mean square of a slope is infinite" in text
    assert "Valid when" not in text and "No closed form" not in text and "Error: rounding" not in text
