"""What holds for every target; a throw-away one passes every stage, and wrong spellings are seen by its own errors."""

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
from symres.codegen.planning.target import Target
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.numpy.components import NUMPY as NUMPY_DIALECT
from symres.codegen.targets.torch.components import TORCH as TORCH_DIALECT
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
    from symres.codegen.generate import planner_for

    planner = planner_for(target)
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


def test_what_a_target_lacks_is_said_in_words_of_the_formula():
    tail = sr.derive("max(z, 0)*exp(-z)").covariance_map
    with pytest.raises(
        DeclarationError, match=r"C code for sqrt\(-C\*\*2 \+ K1\*K2\)/\(2\*pi\) \+ \.\.\.: .*exp\(u\)\*erfc\(w\)"
    ):
        sr.export({"tail": tail}, target="c")


@pytest.mark.parametrize("dialect", [NUMPY_DIALECT, TORCH_DIALECT], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "expr", [sp.zeta(K), sp.besselj(0, K), sp.Integral(sp.exp(K * z), (z, 0, 1)), sp.gamma(K), sp.Symbol("q")], ids=str
)
def test_nodes_and_symbols_without_a_spelling_are_errors(dialect, expr):
    with pytest.raises(DeclarationError, match="the target has no function"):
        Emitter(dialect, {K: "K", z: "z"}).function([("return", expr)])
