"""The names of generated functions are those of the mapping; what they and their module say of themselves."""

import re

import pytest

import symres as sr
from symres.codegen.planning.target import python_names
from symres.codegen.wording.function_names import require_distinct
from symres.core.errors import DeclarationError
from symres.report.export import export_targets
from tests.shared import derived

LINEAR, SQUARE = sr.expect("gelu"), sr.expect("tanh(z)^2")


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_functions_are_called_as_the_mapping_says(target):
    module = sr.export({"a": LINEAR, "b": SQUARE}, target=target)
    assert module.functions == ("a", "b")
    loaded = module.load()
    assert loaded.__all__ == ["a", "b"] and not hasattr(loaded, "expect")
    assert float(loaded.a(1.0)) == pytest.approx(float(LINEAR.evalf(K=1)), rel=1e-14)
    assert float(loaded.b(1.0)) == pytest.approx(float(SQUARE.evalf(K=1)), rel=1e-14)
    assert f'symres.export({{"a": a, "b": b}}, target="{target}")' in module.text


def test_a_document_writes_the_names_of_the_mapping():
    module = sr.export({"a": LINEAR, "b": SQUARE}, target="latex")
    assert r"\mathrm{a} &=" in module.text and r"\mathrm{b} &=" in module.text
    assert 'symres.export({"a": a, "b": b}, target="latex")' in module.text
    own = sr.export({"expect": LINEAR}, target="latex").text  # under its own name it keeps its notation
    assert r"\mathrm{expect}" not in own


@pytest.mark.parametrize("target", export_targets())
@pytest.mark.parametrize("name", ["a-b", "2a", "", "class", "_a", 3, "a"])
def test_what_is_not_a_name_or_not_a_quantity_is_refused(name, target):
    quantity, reason = (3, "it is of the type int") if name == "a" else (LINEAR, "cannot be the name of a function")
    with pytest.raises(DeclarationError, match=reason):
        sr.export({name: quantity}, target=target)


@pytest.mark.parametrize(
    ("name", "target"), [("np", "numpy"), ("torch", "torch"), ("average_1", "numpy"), ("isinstance", "torch")]
)
def test_a_name_that_the_module_needs_itself_is_refused(name, target):
    with pytest.raises(DeclarationError, match=f"the module itself needs the name _?{name}"):
        sr.export({name: SQUARE}, target=target)


def test_a_name_that_hides_a_function_of_python_in_the_code_of_a_target_is_the_targets():
    text = "def pow(x, y):\n    return x\n\ndef area(K):\n    return pow(K, 2.0)\n"
    with pytest.raises(DeclarationError, match="the target's own code defines pow"):
        require_distinct("code for area", python_names(text), ["area"])
    with pytest.raises(DeclarationError, match="give the quantity another name"):
        require_distinct("code for pow", python_names(text), ["pow"])


def test_what_is_imported_is_not_the_function_of_python():
    """Numba's modules take pow from math."""
    assert python_names("from math import pow\n\ndef power(x):\n    return pow(abs(x), 80.0)\n").count("pow") == 1


def test_a_name_of_python_that_the_module_does_not_use_is_free():
    assert sr.export({"map": LINEAR}).load().map(1.0) == pytest.approx(float(LINEAR.evalf(K=1)), rel=1e-14)


def test_a_module_shows_what_it_holds_and_not_its_source():
    module = sr.export({"a": LINEAR, "b": SQUARE})
    assert repr(module) == f"<numpy module: a, b; {len(module.text.splitlines())} lines in .text>"
    assert str(module) == module.text
    assert module._repr_html_().count("def a(") == 1  # the button copies what stands behind it
    assert repr(sr.export({"a": LINEAR}, target="latex")).startswith("<latex module: a; ")
    lacking = repr(sr.export(sr.derive("step")))
    assert "without h: it is unknown" in lacking and "def " not in lacking


# ---- docstrings and warnings ----------------------------------------------------------------------------------------
@pytest.mark.exhaustive
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
