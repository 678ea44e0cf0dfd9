"""Forty formulas of the catalogue as a theorist would write them, and none longer than it once was.

``python -m pytest tests/golden/test_formulas.py --renew-golden`` writes the texts anew; each is to be read. ``before``
counts the symbols of the text at commit 3c7a0c1, before one step chose the shortest form.
"""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from symres.activations.catalogue import activations
from symres.layers.architectures import architectures
from symres.notation import named, symbols
from symres.notation.shortest import readable
from symres.report.text.formula_text import Maths
from symres.theory.theory import derive

KEPT = Path(__file__).parent / "kept" / "formulas.json"
ROWS = json.loads(KEPT.read_text())
# names, numbers, roots, averages, exponents and operators, read from what is printed
PRINTED = re.compile(
    r"⟨|Σ|√|(?![²³¹⁰⁴-⁹⁻\d])\w(?:(?![²³¹⁰⁴-⁹⁻])\w)*\*?'*|\d+(?:\.\d+)?(?:\.\.\.)?|[-+/·^|*]|[²³¹⁰⁴-⁹⁻]+"
)


@cache
def derived(activation, layer):
    return derive(architectures[layer](activations[activation]))


def formula(row):
    theory = derived(row["activation"], row["layer"])
    name, _, part = row["name"].partition(".")
    if name == "point":
        return getattr(theory.critical_points[0], part)
    if name == "exponents":
        return getattr(theory.exponents, part)
    if name == "critical_line_expr":
        return theory.critical_line_expr
    return named(getattr(theory, name).body)[0]


def written(row):
    return Maths(True, activations[row["activation"]].formula)(formula(row))


@pytest.mark.sample(8)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join((row["activation"], row["layer"], row["name"])))
def test_formulas_are_written_in_their_shortest_form(row, request):
    text = written(row)
    if request.config.getoption("--renew-golden"):
        row["text"] = text
        KEPT.write_text(json.dumps(ROWS, ensure_ascii=False, indent=1) + "\n")
    assert text == row["text"]
    assert len(PRINTED.findall(text)) <= row["before"]


def test_forty_formulas_became_shorter_together():
    assert len(ROWS) == 40
    lengths = [len(PRINTED.findall(row["text"])) for row in ROWS]
    assert sum(lengths) < 0.75 * sum(row["before"] for row in ROWS)


@pytest.mark.exhaustive  # derives a dozen layers again where the rows above ran in another worker
def test_symbols_are_counted_as_they_are_printed():
    rows = [row for row in ROWS if row["activation"] in ("relu", "erf", "sin") and "Σ" not in row["text"]]
    assert len(rows) > 8
    for row in rows:
        assert symbols(readable(formula(row))) == len(PRINTED.findall(row["text"]))
