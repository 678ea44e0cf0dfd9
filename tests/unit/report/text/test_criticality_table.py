"""``symres list criticality``: its structure, as text and as JSON, and entries against independent facts."""

import json
import math
import re

import mpmath as mp
import pytest

from symres.report.text import criticality_table
from symres.studies import survey
from tests.command_line import assert_plain, page
from tests.shared import derived

LAYERS = ["mlp", "residual", "pre_ln", "ln_act", "pre_ln, skip"]
FIELDS = set(
    ["activation", "layer", "universality_class", "where", "exponents", "correlation_length", "critical_points", "nu"]
)


def records(capsys, *words):
    document = json.loads(page(capsys, "list", "criticality", *words, "--json"))
    assert set(document) == {"format", "criticality"} and document["format"] == 1
    return {(row["activation"], row["layer"]): row for row in document["criticality"]}


@pytest.fixture(scope="module")
def erf():
    return {
        (row.activation, row.layer): criticality_table.record(row)
        for row in map(criticality_table.entry, survey.criticality("erf"))
    }


def number(text):
    """What a formula of the table is worth, at C_W = 1.3."""
    python = re.sub(r"(sqrt|asin|pi)", r"mp.\1", text.replace("^", "**"))
    return eval(python, {"mp": mp, "C_W": mp.mpf("1.3"), "gamma": mp.mpf("0.5")})


@pytest.mark.exhaustive
def test_json_has_one_row_for_each_layer(capsys, erf):
    assert list(erf) == [("erf", layer) for layer in LAYERS]
    assert records(capsys, "erf") == erf
    for row in erf.values():
        assert set(row) == FIELDS
        assert row["where"] and all(isinstance(text, str) and text for text in row["where"])
        assert all(
            isinstance(v, float) for point in row["critical_points"] for k, v in point.items() if k != "stability"
        )
        assert not re.search(r"<(?!phi)", str(row)) and "Quantity" not in str(row)


@pytest.mark.parametrize("layer", ["mlp", "residual", "pre_ln"])
def test_lines_of_erf_as_they_are_printed(erf, layer):
    """chi_perp = gamma^2 + 4 C_W/(pi sqrt(1 + 4K)) = 1 gives K, and K' = K gives C_b."""
    said = next(text for text in erf["erf", layer]["where"] if text.startswith("line: C_b = "))
    C_W, gamma = mp.mpf("1.3"), mp.mpf(0 if layer == "mlp" else "0.5")
    if layer == "pre_ln":  # of a kernel 1, over K: C_W 4/(pi sqrt(5) K) = 1
        expected = 4 * C_W / (mp.pi * mp.sqrt(5)) - 2 * C_W / mp.pi * mp.asin(mp.mpf(2) / 3)
    else:
        K = ((4 * C_W / (mp.pi * (1 - gamma**2))) ** 2 - 1) / 4
        expected = (1 - gamma**2) * K - 2 * C_W / mp.pi * mp.asin(2 * K / (1 + 2 * K))
    line, _, where = said.removeprefix("line: C_b = ").partition(" for ")
    assert abs(number(line) - expected) < 1e-10
    assert where == {"mlp": "C_W > pi/4", "residual": "C_W > pi*(1 - gamma^2)/4", "pre_ln": ""}[layer]


def test_the_correlation_length_of_erf_is_that_of_a_recursion(erf):
    kernel = 1.0
    for _ in range(4000):
        kernel = 0.1 + 1.3 * 2 / math.pi * math.asin(2 * kernel / (1 + 2 * kernel))
    chi = 1.3 * 4 / math.pi / math.sqrt(1 + 4 * kernel)
    said, phase = erf["erf", "mlp"]["correlation_length"].split(" ")
    assert float(said) == pytest.approx(1 / abs(math.log(chi)), rel=1e-9)
    assert phase == ("(chaotic)" if chi > 1 else "(ordered)")


def test_relu_against_the_literature(capsys):
    """He initialisation for the multilayer perceptron, (1 - gamma^2) of it with a skip, and C_b = C_W/(pi - 1)."""
    rows = records(capsys, "relu")
    assert rows["relu", "mlp"]["where"] == ["neutral: K* = any, C_W = 2, C_b = 0"]
    assert rows["relu", "residual"]["where"] == ["neutral: K* = any, C_W = 2*(1 - gamma^2), C_b = 0"]
    assert rows["relu", "pre_ln"]["where"] == ["line: C_b = 0"]
    # the variance that is divided by is (1/2 - 1/(2 pi)) K
    assert rows["relu", "ln_act"]["where"] == ["line: C_b = C_W/(pi - 1)"]
    length = float(rows["relu", "mlp"]["correlation_length"].split(" ")[0])
    assert length == pytest.approx(1 / abs(math.log(1.3 / 2)), rel=1e-10)


@pytest.mark.exhaustive
def test_the_page_holds_what_the_record_holds(capsys, erf):
    out = page(capsys, "list", "criticality", "erf")
    assert_plain(out)
    assert out.startswith("Criticality ") and re.search(r"^erf$", out, re.MULTILINE)
    joined = re.sub(r"\s+", "", out)
    for layer in LAYERS:
        assert re.search(rf"^  {re.escape(layer)} +{re.escape(erf['erf', layer]['universality_class'])}$", out, re.M)
        assert erf["erf", layer]["correlation_length"] in out
    for found in survey.criticality("erf"):
        row = criticality_table.entry(found, unicode=True)
        assert row.where and all(re.sub(r"\s+", "", text) in joined for text in row.where)


@pytest.mark.exhaustive
def test_a_formula_and_its_parameters(capsys):
    rows = records(capsys, "a*max(z, 0)", "--set", "a=2")
    (row,) = (row for (_, layer), row in rows.items() if layer == "mlp")
    assert row["where"] == ["neutral: K* = any, C_W = 1/2, C_b = 0"]


def test_without_a_name_every_activation_of_the_table_is_asked(capsys, monkeypatch):
    monkeypatch.setattr(survey, "ACTIVATIONS", ("relu", "leaky_relu"))
    monkeypatch.setattr(survey, "LAYERS", {"mlp": survey.LAYERS["mlp"]})
    rows = records(capsys)
    assert [layer for _, layer in rows] == ["mlp", "mlp"]
    leaky = next(row for (name, _), row in rows.items() if "leaky" in name)
    assert "C_W = " in leaky["where"][0]
    assert number(leaky["where"][0].split("C_W = ")[1].split(",")[0]) == pytest.approx(2 / (1 + 1e-4))


def test_a_parameter_without_a_number_leaves_the_phase_open():
    found = survey.surveyed("elu", "mlp", derived("elu"))
    assert found.phase is None
    assert "alpha" in found.no_phase
