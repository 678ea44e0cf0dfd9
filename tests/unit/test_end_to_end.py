"""One place to touch: a throw-away activation, node and observable pass through every stage."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations import catalogue
from symres.check import Outcome
from symres.notation import latex
from symres.results.observable import Section
from symres.theory.observables import registry
from symres.theory.observables.layer_observable import OfOneInput
from tests.command_line import page

ENTRY = catalogue.CatalogueEntry("bumpy", "z*exp(-z^2/2) + z/2", "made up for a test")


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(catalogue, "activations", catalogue.activations.extended(ENTRY))


def test_a_new_entry_is_listed_derived_exported_and_checked(registered, capsys, tmp_path):
    assert "bumpy" in page(capsys, "list", "activations")
    document = json.loads(page(capsys, "derive", "bumpy", "--layer", "residual", "--json"))
    assert document["universality_class"]
    out = tmp_path / "bumpy.py"
    page(capsys, "export", "bumpy", "--target", "numpy", "--quantity", "kernel_map", "--out", str(out))
    namespace = {}
    exec(out.read_text(), namespace)
    z, weight = np.polynomial.hermite_e.hermegauss(120)
    oracle = np.sum(weight * (z * np.exp(-(z**2) / 2) + z / 2) ** 2) / math.sqrt(2 * math.pi)
    assert abs(namespace["kernel_map"](1.0, 1.3, 0.2) / (0.2 + 1.3 * oracle) - 1) < 1e-13
    asked = [word for name in ("kernel_map", "covariance_map", "chi_perp") for word in ("--quantity", name)]
    assert "PASSED" in page(capsys, "check", "bumpy", *asked, "--against", "quadrature")


CURVATURE = OfOneInput(
    name="bend_of_tests",
    sign=("κ", "curv"),
    notation=r"\kappa",
    meaning="second derivative of the kernel map",
    unit="1/K",
    section=Section.MAPS,
    oracle=lambda layer, K: layer.slope(layer.chi_parallel, K),
    define=lambda walks: walks.slope(walks.slope(walks.next_kernel)),
)


@pytest.fixture
def observed(monkeypatch):
    monkeypatch.setattr(registry, "observables", registry.observables | {CURVATURE.name: CURVATURE})


@pytest.mark.exhaustive
def test_a_new_observable_is_derived_and_checked(observed):
    theory = sr.derive(sr.residual("erf"))
    K, expected = 1.3, sp.diff(2 / sp.pi * sp.asin(2 * sr.K / (1 + 2 * sr.K)), sr.K, 2)
    assert abs(theory.bend_of_tests.evalf(K=K, C_W=1) / expected.subs(sr.K, K).evalf() - 1) < 1e-14
    assert theory.bend_of_tests.unit == "1/K"
    report = sr.check(theory, "quadrature", quantities=["bend_of_tests"])
    assert report.outcome is Outcome.PASSED and len(report.verdicts) >= 4
    wrong = sr.derive(sr.residual("erf"))
    right = theory.bend_of_tests
    wrong._known["bend_of_tests"] = replace(right, definition=sp.nan, body=right.body * 51 / 50)
    report = sr.check(wrong, "quadrature", quantities=["bend_of_tests"])
    assert {verdict.outcome for verdict in report.verdicts} == {Outcome.REFUTED}


@pytest.mark.exhaustive
def test_a_new_observable_is_shown_and_exported(observed, capsys, tmp_path):
    assert "bend_of_tests" in page(capsys, "list", "quantities")
    printed = page(capsys, "derive", "erf", "--layer", "residual", "--out", str(tmp_path / "out"))
    assert "second derivative of the kernel map" in printed and "κ     = C_W·" in printed
    assert r"\kappa" in (tmp_path / "out" / "derivation.tex").read_text()
    record = json.loads((tmp_path / "out" / "results.json").read_text())["quantities"]["bend_of_tests"]
    assert record["unit"] == "1/K" and record["status"] == "EXACT"
    for target in ("numpy", "torch", "latex"):
        assert "bend_of_tests" in page(capsys, "export", "erf", "--quantity", "bend_of_tests", "--target", target)
    table = page(capsys, "check", "erf", "--quantity", "bend_of_tests", "--against", "quadrature")
    assert table.splitlines()[-1].startswith("PASSED")


def test_it_is_gone_afterwards():
    with pytest.raises(AttributeError):
        _ = sr.derive("erf").bend_of_tests


class Spherical(sr.Node):
    """u divided by its root mean square over the neurons."""

    def lower(self, program, u):
        return u / sp.sqrt(program.mean(u**2))

    def sample(self, net, u):
        return u / net.mean(u**2) ** 0.5

    def _latex(self, printer):
        return rf"\operatorname{{Sph}}\left({printer._print(self.args[0])}\right)"


def test_a_new_node_is_derived_exported_and_checked():
    erf = sr.activation("erf")
    theory = sr.derive(sr.Layer(sr.gamma * sr.z + sr.Dense(erf(Spherical(sr.z)))))
    assert (
        sp.expand(
            theory.kernel_map.expr - (sr.gamma**2 * sr.K + sr.C_b + sr.C_W * 2 / sp.pi * sp.asin(sp.Rational(2, 3)))
        )
        == 0
    )
    report = sr.check(theory, seed=1, quantities=["kernel_map", "covariance_map", "chi_perp", "ntk_map"])
    assert {verdict.oracle for verdict in report.verdicts} == {"quadrature", "simulation"}
    assert report.outcome is Outcome.PASSED, report.table()
    module = sr.export(theory.kernel_map, target="numpy").load()
    value = module.kernel_map(1.5, 1.2, 0.1, 0.5)
    assert abs(value / float(theory.kernel_map.evalf(17, K=1.5, C_W=1.2, C_b=0.1, gamma=0.5)) - 1) < 1e-13
    written = latex(theory.layer.forward)
    assert (
        written == r"\gamma z + \operatorname{Dense}\left(\operatorname{erf}\left(\operatorname{Sph}(z)\right)\right)"
    )


NODE_LAYER = "gamma*z + Dense(Spherical(phi(z)))"


@pytest.mark.exhaustive
def test_a_new_node_is_typed_on_the_command_line(capsys, tmp_path):
    """The mean square of what enters the Dense is 1: K' = gamma^2 K + C_W + C_b, whatever phi is."""
    out = tmp_path / "out"
    printed = page(capsys, "derive", "erf", "--layer", NODE_LAYER, "--out", str(out))
    assert "z'    = γ·z + Dense(Spherical(φ(z)))" in printed
    assert "K'    = C_W + C_b + γ²·K" in printed
    assert r"\operatorname{Sph}" in (out / "derivation.tex").read_text()
    record = json.loads((out / "results.json").read_text())
    symbols = {s.name: s for s in (sr.gamma, sr.K, sr.C_W, sr.C_b)}
    found = sp.sympify(record["quantities"]["kernel_map"]["expression"]["text"], symbols)
    assert found == sr.gamma**2 * sr.K + sr.C_W + sr.C_b
    assert {path.suffix for path in out.iterdir()} == {".tex", ".json", ".pdf", ".png", ".svg", ".py"}


@pytest.mark.exhaustive
def test_a_new_node_that_was_typed_is_exported_and_checked(capsys, tmp_path):
    path = tmp_path / "node.py"
    page(capsys, "export", "erf", "--layer", NODE_LAYER, "--quantity", "covariance_map", "--out", str(path))
    namespace = {}
    exec(path.read_text(), namespace)
    equal = namespace["covariance_map"](1.3, 1.3, 1.3, 2.0, 0.1, 0.5)
    assert abs(equal / (0.25 * 1.3 + 2.0 + 0.1) - 1) < 1e-13
    quantities = [word for name in ("kernel_map", "covariance_map", "chi_perp") for word in ("--quantity", name)]
    table = page(capsys, "check", "erf", "--layer", NODE_LAYER, *quantities)
    assert "simulation" in table
    assert table.splitlines()[-1].startswith("PASSED")


@pytest.mark.exhaustive
def test_a_layer_that_nobody_has_seen_is_confirmed_by_simulation():
    tanh, erf = sr.activation("tanh"), sr.activation("erf")
    theory = sr.derive(sr.Layer(sr.gamma * sr.z + sr.Dense(tanh(sr.Dense(erf(sr.z))))))
    asked = ["kernel_map", "covariance_map", "chi_perp", "ntk_map", "kernel_fluctuation"]
    report = sr.check(theory, seed=3, quantities=asked)
    assert report.outcome is Outcome.PASSED, report.table()
    assert {verdict.oracle for verdict in report.verdicts} >= {"simulation"}


@pytest.mark.exhaustive
def test_a_formula_typed_by_a_user_is_the_catalogue_entry(capsys):
    typed = json.loads(page(capsys, "derive", "z*tanh(log(1+exp(z)))", "--layer", "residual", "--json"))
    named = json.loads(page(capsys, "derive", "mish", "--layer", "residual", "--json"))
    decimals = [
        [point[name]["decimal"] for point in document["critical_points"] for name in ("K", "C_W", "C_b")]
        for document in (typed, named)
    ]
    assert decimals[0] == decimals[1]
    assert len(decimals[0]) >= 3
