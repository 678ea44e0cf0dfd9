"""The errors that a module states are those of its own code, where the library that it needs is installed."""

from dataclasses import fields, replace

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.codegen.planning.plan import Component
from symres.codegen.strategy import choose
from symres.codegen.strategy.choose import build_component
from symres.codegen.targets.numpy.dialect import NUMPY_LANGUAGE
from symres.codegen.targets.torch.dialect import TORCH_LANGUAGE
from symres.core.symbols import K1, K2, C, K
from symres.report.export import export

A = sp.Symbol("a", positive=True)
MEASURED = {"error", "worst", "error_over_max", "gap", "next_to_zero", "elsewhere", "undefined", "measured_in"}
COMPONENTS = {
    "closed form": ((K,), sp.exp(-K) * sp.erf(sp.sqrt(K))),
    "fit": ((K,), sr.expect("tanh(z)**2").body),
    "pair": ((K1, K2, C), sr.expect2("relu", "relu").body),
    "quadrature": ((K1, K2, C), sr.expect2("tanh", "tanh").body),
    "parameter": ((K, A), sp.exp(-A * K) * sp.erf(sp.sqrt(K))),
}


def language_with(value):
    """PyTorch whose functions have another value."""

    def call(function, *arguments):
        return value(TORCH_LANGUAGE.call(function, *arguments), *arguments)

    return replace(TORCH_LANGUAGE, call=call)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", COMPONENTS)
def test_an_error_of_the_target_alone_is_found_and_changes_no_code(name):
    symbols, formula = COMPONENTS[name]
    numpy, honest = (build_component("_average_1", symbols, formula, x) for x in (NUMPY_LANGUAGE, TORCH_LANGUAGE))
    assert (numpy.measured_in, honest.measured_in) == ("NumPy", "PyTorch")
    assert max(numpy.error, honest.error) < 2e-14
    off = build_component("_average_1", symbols, formula, language_with(lambda value, *_: value * (1 + 1e-9)))
    assert 5e-10 < off.error < 2e-9
    assert ("at most 5e-09 " in off.elsewhere) == (name == "parameter")
    for found in (honest, off):
        assert all(
            getattr(found, f.name) == getattr(numpy, f.name) for f in fields(Component) if f.name not in MEASURED
        )


def test_a_number_that_the_target_alone_lacks_is_said():
    symbols, formula = COMPONENTS["closed form"]
    lost = language_with(lambda value, k: np.where(k == 0.0, np.nan, value))
    found = build_component("_average_1", symbols, formula, lost)
    assert (found.error, found.worst, found.origin) == (float("inf"), "K = 0", None)
    symbols, formula = COMPONENTS["quadrature"]
    short = language_with(lambda value, k1, k2, c: value * (1 + 1e-5 * (k1 > 5.0)))
    found = build_component("_average_1", symbols, formula, short)
    assert found.error == found.max_kernel == float("inf")
    assert found.worst.startswith("kernels above 30: quadrature is off by 2.1e-06 at K1 = 60")


def test_the_module_says_on_which_code_its_errors_were_measured(monkeypatch):
    theory = sr.derive("erf")
    text = export(theory, "torch").text
    assert "measured\non this code, against ball arithmetic" in text
    network = export(theory.network(2), "torch").text
    assert "Errors are those of float64, measured on this code, against" in " ".join(network.split())
    monkeypatch.setattr(choose, "is_runnable", lambda language: False)
    without = export(theory, "torch").text
    assert "measured\non the NumPy code of the same functions, as PyTorch was not installed, against ball" in without
    network = export(theory.network(2), "torch").text
    assert "measured on the NumPy code of the same functions, as PyTorch was not" in " ".join(network.split())
    assert "this code" not in export(theory, "numpy").text
