"""Advice in a LaTeX document: numbers in a table, one paragraph a sentence."""

from dataclasses import replace

import pytest

import symres as sr
from symres.report.latex.advice_section import advice_section
from symres.report.latex.document import document
from symres.report.latex.prose import prose
from symres.results.advice.advice import Advice
from tests.shared import derived


@pytest.mark.exhaustive
def test_numbers_are_a_table_and_sentences_are_paragraphs():
    theory = derived(sr.residual("gelu"))
    advice = theory.advice()
    rows = dict(row.split(" & ") for row in advice_section(advice)["rows"])
    assert rows["fan-in times variance of weights, $C_W$"] == f"${advice.C_W:.9g}$"
    assert rows[r"$\gamma$"] == "$0.93$" and rows["mean square of the inputs"] == f"${advice.inputs_kernel:.9g}$"
    mean = advice.trial.mean
    assert rows["largest mean kernel of a layer over the smallest"] == f"${mean.kernel_range:.3g}$"
    assert rows["largest mean squared gradient of a layer over the smallest"] == f"${mean.gradient_range:.3g}$"
    text = document(replace(theory.report(), advice=advice))
    assert r"\subsection*{How to initialise 50 layers of width 512}" in text
    assert all(f"\n{prose(reason)}\n\n" in text for reason in advice.reasons) and len(advice.reasons) > 5


def test_without_advice_there_is_no_table():
    for advice in (derived("swish").advice(), Advice(50, 512, False, 1.25, 0.125, {}, 0.5, 0.3)):
        shown = advice_section(advice)
        assert shown["rows"] == [] == shown["code"] and shown["sentences"]


def test_inputs_of_any_scale_have_no_mean_square():
    advice = Advice(50, 512, True, 2.0, 0.0, {}, 2.0, 1.0, any_scale=True)
    assert not any("mean square" in row or "K^0" in row for row in advice_section(advice)["rows"])
