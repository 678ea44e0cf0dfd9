"""What a generated function says about itself."""

import re

import pytest

import symres as sr
from tests.shared import derived


def test_a_network_says_once_which_results_a_warning_is_about():
    module = sr.export(sr.network(["exp(z)*sin(z)"] * 2), progress=False)
    of = "of dual_kernel and dual_kernel_matrix: "
    (ends,) = module.warnings
    assert ends.startswith(f"C and Theta {of}nan beyond kernels of")
    text = " ".join(module.text.split())
    assert text.count("Warning:") == 1 and f"Warning: {ends}" in text


@pytest.mark.exhaustive
def test_each_result_of_a_network_ends_at_one_kernel():
    """The map of tangent kernels contains that of covariances, which ends later."""
    module = sr.export(sr.network([sr.Layer(sr.Dense(sr.z)), "silu", "silu"]), target="c", progress=False)
    ends = [
        re.fullmatch(r"(\w+) of (.*), layers 2 to 3: nan beyond kernels of ([\d.]+): .*", w) for w in module.warnings
    ]
    assert [match[1] for match in ends] == ["C", "Theta"] and float(ends[0][3]) > float(ends[1][3])
    assert all(tuple(match[2].split(" and ")) == module.functions for match in ends)


@pytest.mark.exhaustive
def test_series_in_compiled_code_end_at_one_kernel():
    """Each function of a theory is named once."""
    module = sr.export(derived("silu"), target="c", progress=False)
    names = [name for w in module.warnings if "nan beyond" in w for name in w.partition(":")[0].split(", ")]
    assert len(names) == len(set(names)) > 0 and set(names) <= set(module.functions)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_is_infinite_is_called_so_and_nothing_else(target):
    text = sr.export(sr.derive("sign").chi_perp, target=target).text
    assert "Infinite for every kernel > 0: the mean square of a slope is infinite" in text
    assert "Valid when" not in text and "No closed form" not in text and "Error: rounding" not in text
