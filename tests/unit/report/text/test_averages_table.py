"""``symres list averages``: what is closed, what is not, and what a reader sees of it."""

import json
import sys
from dataclasses import replace

import pytest
import sympy as sp

from symres import cli
from symres.activations import catalogue
from symres.core.symbols import K
from symres.functions.records.gaussian_signs import T4
from symres.report.text import averages_table
from symres.studies import survey
from tests.command_line import Terminal, assert_plain, page

ENTRIES = [entry for entry in catalogue._TABLE if entry.name in ("relu", "leaky_relu", "sign", "tanh", "square")]
KEYS = ["f", "f^2", "f'^2", "f^4", "f f", "f' f'", "f^2 f^2"]


@pytest.fixture
def few(monkeypatch):
    """A catalogue that is quickly listed."""
    monkeypatch.setattr(catalogue, "activations", catalogue.Catalogue(ENTRIES))


def row(out, label):
    """The line of one average, and those below it until the next."""
    lines = out.splitlines()
    first = next(k for k, text in enumerate(lines) if text.strip().startswith(label))
    rest = lines[first + 1 :]
    end = next((k for k, text in enumerate(rest) if not text.startswith("    ")), len(rest))
    return " ".join(text.strip() for text in [lines[first], *rest[:end]])


def test_closed_forms_stand_beside_their_averages(capsys, few):
    out = page(capsys, "list", "averages").split("\nrelu")[1].split("leaky_relu")[0]
    assert row(out, "⟨φ(z)²⟩").endswith("EXACT    K/2")
    assert row(out, "⟨φ(z)⁴⟩").endswith("EXACT    3K²/2")
    assert row(out, "⟨φ'(z)²⟩").endswith("EXACT    1/2")
    assert "asin(C/√(K₁·K₂))" in row(out, "⟨φ(z₁)·φ(z₂)⟩")
    assert "verified" not in out


def test_numbers_have_their_bound_and_one_activation_its_reason(capsys):
    out = page(capsys, "list", "averages", "tanh")
    assert_plain(out)
    assert "NUMERIC  to 1e-15 or better" in row(out, "⟨φ(z)²⟩")
    assert row(out, "⟨φ(z)⟩").split()[1:3] == ["EXACT", "0"]
    assert out.count("tanh(z) is not a polynomial") == 1


@pytest.mark.parametrize("formula", ["erf(2*z+1)*max(z-1,0)", "tanh"])
def test_every_number_of_one_activation_has_a_reason(capsys, formula):
    """A reason that two averages have is told once; the second row says where."""
    rows = page(capsys, "list", "averages", formula).splitlines()
    numeric = [k for k, text in enumerate(rows) if "NUMERIC  to" in text]
    assert len(numeric) == 6
    labels = {text.split()[0] for text in rows if text.startswith("  ⟨")}
    for k in numeric:
        reason, _, first = rows[k + 1].strip().partition("for the same reason as ")
        assert rows[k + 1].startswith("    ") and (reason or first in labels), rows[k]


def test_one_activation_is_shown_whole_with_its_verification(capsys):
    out = page(capsys, "list", "averages", "relu")
    assert_plain(out)
    assert out.count("verified at ") == 7
    formula = page(capsys, "list", "averages", "relu(z)+1")
    assert "EXACT    1 + √(2K/π) + K/2" in row(formula, "⟨φ(z)²⟩")


def test_long_forms_are_left_out_of_the_list_with_the_way_to_see_them():
    phi = catalogue.activations["relu"]
    long = sp.Add(*(sp.exp(-k * K) / (1 + K) ** k for k in range(1, 20)))
    quantity = replace(next(survey.averages_of(phi)).quantity, body=long)
    sheet = averages_table.Averages(phi, 80, True)
    known = [survey.NamedAverage("f", quantity.definition, quantity)]
    short, whole = (["".join(s.text for s in line) for line in sheet.lines(known, w)] for w in (False, True))
    assert any(text.endswith("lines: ") for text in short)
    assert "    symres list averages relu" in short
    assert not any("exp" in text for text in short)
    assert sum(text.count("exp(") for text in whole) == 19
    assert max(map(len, short + whole)) <= 80


def test_special_functions_are_explained():
    phi = catalogue.activations["relu"]
    quantity = replace(next(survey.averages_of(phi)).quantity, body=T4(K / (1 + K)))
    lines = averages_table.Averages(phi, 80, True).lines(
        [survey.NamedAverage("f", quantity.definition, quantity)], True
    )
    text = " ".join("".join(s.text for s in line).strip() for line in lines)
    assert "T₄(r): the average of sgn(x₁)*sgn(x₂)*sgn(x₃)*sgn(x₄)" in text
    assert "S₄" not in text


def test_slopes_of_jumps_are_not_finite(capsys):
    out = page(capsys, "list", "averages", "sign")
    assert "EXACT    ∞" in row(out, "⟨φ'(z)²⟩")
    assert "2/(π·√(K₁·K₂ - C²))" in row(out, "⟨φ'(z₁)·φ'(z₂)⟩")
    steep = page(capsys, "list", "averages", "sign(z)*sqrt(abs(z))")
    assert "UNKNOWN" in row(steep, "⟨φ'(z)²⟩")
    assert "infinite slope" in steep


def test_the_document_has_the_same(capsys, few):
    document = json.loads(page(capsys, "list", "averages", "--json"))
    assert document["format"] == 1
    assert [entry["activation"] for entry in document["activations"]] == [entry.name for entry in ENTRIES]
    for entry in document["activations"]:
        assert [one["average"] for one in entry["averages"]] == KEYS
        for one in entry["averages"]:
            assert bool(one["reason"]) == (one["status"] != "EXACT" or one["expression"] == "oo"), one
    tanh = next(entry for entry in document["activations"] if entry["activation"] == "tanh")
    assert tanh["averages"][1]["error_bound"] == 1e-15
    assert tanh["averages"][0]["error_bound"] == 0


def test_the_document_of_one_activation_holds_its_closed_forms(capsys):
    (entry,) = json.loads(page(capsys, "list", "averages", "leaky_relu", "--json"))["activations"]
    assert entry["parameters"] == ["slope"]
    square = entry["averages"][1]
    found = sp.sympify(square["expression"], locals={"K": K}).subs({"slope": sp.Rational(1, 2), K: 3})
    assert found == sp.Rational(15, 8)  # K (1 + slope^2)/2


def test_a_terminal_is_told_what_is_being_done(capsys, monkeypatch, few):
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", terminal)
    assert cli.run(["list", "averages"]) == 0
    assert "averages of relu (1 of 5)" in terminal.getvalue()
    assert "averages of relu" not in capsys.readouterr().out
