"""The errors that a module states are those of its own code, where the library that it needs is installed."""

from dataclasses import fields

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.planning.plan import Component
from symres.codegen.strategy.choose import build_component
from symres.codegen.targets.numpy import TARGET as NUMPY
from symres.codegen.targets.torch import TARGET as TORCH
from symres.core.symbols import K1, K2, C, K
from tests.shared import altered

A = sp.Symbol("a", positive=True)
COMPONENTS = {
    "closed form": ((K,), sp.exp(-K) * sp.erf(sp.sqrt(K))),
    "fit": ((K,), sr.expect("tanh(z)**2").body),
    "pair": ((K1, K2, C), sr.expect2("relu", "relu").body),
    "quadrature": ((K1, K2, C), sr.expect2("tanh", "tanh").body),
    "parameter": ((K, A), sp.exp(-A * K) * sp.erf(sp.sqrt(K))),
}


def words(text):
    return " ".join(text.split())


def target_with(value):
    """PyTorch whose functions have another value."""

    def call(function, *arguments):
        return value(TORCH.call(function, *arguments), *arguments)

    return altered(TORCH, call=call)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", COMPONENTS)
def test_an_error_of_the_target_alone_is_found_and_changes_no_code(name):
    symbols, formula = COMPONENTS[name]
    numpy, honest = (build_component("_average_1", symbols, formula, x, NUMPY) for x in (NUMPY, TORCH))
    assert (numpy.measured.language, honest.measured.language) == ("NumPy", "PyTorch")
    assert max(numpy.measured.error, honest.measured.error) < 2e-14
    off = build_component("_average_1", symbols, formula, target_with(lambda value, *_: value * (1 + 1e-9)), NUMPY)
    assert 5e-10 < off.measured.error < 2e-9
    assert ("at most 5e-09 " in off.measured.elsewhere) == (name == "parameter")
    for found in (honest, off):
        assert all(getattr(found, f.name) == getattr(numpy, f.name) for f in fields(Component) if f.name != "measured")


@pytest.mark.exhaustive
def test_a_number_that_the_target_alone_lacks_is_said():
    symbols, formula = COMPONENTS["closed form"]
    lost = target_with(lambda value, k: np.where(k == 0.0, np.nan, value))
    found = build_component("_average_1", symbols, formula, lost, NUMPY)
    assert (found.measured.error, found.measured.worst, found.guards.limit) == (float("inf"), "K = 0", None)
    symbols, formula = COMPONENTS["quadrature"]
    short = target_with(lambda value, k1, k2, c: value * (1 + 1e-5 * (k1 > 5.0)))
    found = build_component("_average_1", symbols, formula, short, NUMPY)
    assert found.measured.error == found.guards.largest == float("inf")
    assert found.measured.worst.startswith("kernels above 30: quadrature is off by 2.1e-06 at K1 = 60")


def test_the_module_says_on_which_code_its_errors_were_measured(monkeypatch):
    theory = sr.derive("erf")
    text = sr.export(theory, "torch").text
    assert "measured on this code, against ball arithmetic" in words(text)
    network = sr.export(theory.network(2), "torch").text
    assert "Errors are those of float64, measured on this code, against" in words(network)
    monkeypatch.setattr(TORCH, "libraries", ("no_such_library",))
    without = words(sr.export(theory, "torch").text)
    assert "measured on the NumPy code of the same functions, as PyTorch was not installed, against ball" in without
    network = sr.export(theory.network(2), "torch").text
    assert "measured on the NumPy code of the same functions, as PyTorch was not" in words(network)
    assert "this code" not in sr.export(theory, "numpy").text
