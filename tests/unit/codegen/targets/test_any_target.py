"""What holds for every target; a throw-away one passes every stage, and wrong spellings are seen by its own errors.

The names of generated functions are those of the mapping; what modules and their functions say of themselves.
"""

import importlib
import inspect
import re
import sys

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen import targets
from symres.codegen.emission.emitter import Emitter
from symres.codegen.planning.target import Target, python_names
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.numpy.dialect import NUMPY as NUMPY_DIALECT
from symres.codegen.targets.torch.dialect import TORCH as TORCH_DIALECT
from symres.core.errors import DeclarationError
from symres.core.symbols import K, z
from symres.report.export import export_targets
from tests.command_line import run
from tests.oracles import plain_target
from tests.shared import derived

SOURCE = inspect.getsource(plain_target)


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Adds a package of targets, from its text, as people would: nothing else is touched."""
    names = []

    def add(name, source):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            source.replace('"plain", "plain Python"', f'"{name}", "{name} Python"')
        )
        monkeypatch.setattr(targets, "__path__", [*targets.__path__, str(tmp_path)])
        importlib.invalidate_caches()
        names.append(f"{targets.__name__}.{name}")
        return targets.find(name)

    yield add
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", targets.names())
def test_a_target_is_called_like_its_package(name):
    found = targets.find(name)
    assert isinstance(found, Target) and found.name == name
    assert found.title and set(found.capabilities.dtypes) <= {"float32", "float64"}


def test_an_unknown_target_is_refused_with_all_that_are_known(capsys):
    with pytest.raises(DeclarationError, match=r"unknown target; use one of .*numpy, .*torch, .*latex"):
        sr.export(sr.expect("relu"), target="fortran")
    code, _, err = run(capsys, "export", "relu", "--target", "fortran")
    assert code == 2 and "--target fortran: unknown target" in err and "latex" in err


def test_installed_packages_add_targets(monkeypatch):
    class Point:
        name = "elsewhere"

        def load(self):
            return plain_target.TARGET

    monkeypatch.setattr(targets, "entry_points", lambda group: [Point()] if group == "symres.targets" else [])
    assert "elsewhere" in export_targets()
    assert targets.find("elsewhere") is plain_target.TARGET


# ---- a throw-away target -----------------------------------------------------------------------------------------
def test_a_throw_away_target_passes_every_stage(added, capsys):
    added("throwaway", SOURCE)
    assert "throwaway" in export_targets()
    for name, values in (("gelu", {"C_W": 1.5, "C_b": 0.1}), ("erf", {"C_W": 0.7, "C_b": 0.3})):
        theory = derived(name)
        module = sr.export(theory, target="throwaway")
        assert not module.warnings and not module.missing
        loaded = module.load()
        for k1, k2, c in ((0.7, 1.2, -0.4), (1.0, 1.0, 1.0), (2.0, 3.0, 1e-9)):
            exact = theory.covariance_map.evalf(17, K1=k1, K2=k2, C=c, **values)
            assert loaded.covariance_map(k1, k2, c, **values) == pytest.approx(float(exact), rel=1e-14)
            exact = theory.chi_parallel.evalf(17, K=k1, **values)
            assert loaded.chi_parallel(k1, **values) == pytest.approx(float(exact), rel=1e-14)
        networks = [sr.export(theory.network(3), target=target).load() for target in ("throwaway", "numpy")]
        found, expected = (net.dual_kernel(1.0, 0.8, 0.3, **values) for net in networks)
        assert found == pytest.approx(expected, rel=1e-13)
    code, out, err = run(capsys, "export", "gelu", "--quantity", "chi_perp", "--target", "throwaway")
    assert (code, err) == (0, "") and "math.sqrt" in out and "def chi_perp(K" in out


def stated(module):
    """The largest error that a module states of its functions."""
    return max(map(float, re.findall(r"Error(?: \(\w+\))?: at most (\S+) of", " ".join(module.text.split()))))


def test_errors_are_measured_on_the_code_of_the_target(added):
    target = added("honest", SOURCE)
    module = sr.export(derived("gelu").covariance_map, target="honest")
    assert stated(module) < 1e-14
    component = next(iter(plan(target).components.values()))
    assert component.measured.language == "honest Python" != NUMPY.title


def plan(target):
    from symres.codegen.generate import _planner

    planner = _planner(target)
    planner.function(derived("gelu").covariance_map)
    return planner


WRONG = {  # spellings, each with an average whose code has it
    "arguments in the wrong order": (lambda: sr.expect2("erf", "erf"), "math.atan2({0}, {1})", "math.atan2({1}, {0})"),
    "a coefficient": (lambda: sr.expect2("relu", "relu"), "math.sqrt({0})", "1.00001*math.sqrt({0})"),
    "a difference that cancels": (lambda: sr.expect("sin(z)^2"), "math.expm1({0})", "(math.exp({0}) - 1.0)"),
}


@pytest.mark.parametrize(("made", "old", "new"), WRONG.values(), ids=WRONG)
def test_a_wrong_spelling_is_seen_by_the_targets_own_errors(added, made, old, new):
    assert old in SOURCE
    added("wrong", SOURCE.replace(old, new))
    quantity = made()
    module = sr.export(quantity, target="wrong")
    assert module.warnings or stated(module) > 1e-12
    assert stated(sr.export(quantity, target="numpy")) < 1e-14


def test_what_a_target_cannot_write_is_missing_from_its_modules(added):
    added("partial", SOURCE)
    with pytest.raises(DeclarationError, match="the target has no function averages"):
        sr.export(sr.expect2("tanh", "tanh"), target="partial")
    quantities = {"open": sr.expect2("tanh", "tanh"), "closed": sr.expect2("relu", "relu")}
    module = sr.export(quantities, target="partial")
    assert module.functions == ("closed",) and module.missing[0].startswith("open: ")
    assert np.isfinite(module.load().closed(1.0, 2.0, 0.5))


@pytest.mark.parametrize("dialect", [NUMPY_DIALECT, TORCH_DIALECT], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "expr", [sp.zeta(K), sp.besselj(0, K), sp.Integral(sp.exp(K * z), (z, 0, 1)), sp.gamma(K), sp.Symbol("q")], ids=str
)
def test_nodes_and_symbols_without_a_spelling_are_errors(dialect, expr):
    with pytest.raises(DeclarationError, match="the target has no function"):
        Emitter(dialect, {K: "K", z: "z"}).function([("return", expr)])


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
