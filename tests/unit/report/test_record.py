"""Records of a report: plain data, and the same as page and document say."""

import json
from dataclasses import dataclass, replace

import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C_W, C_b, K, gamma
from symres.report.latex.document import document
from symres.report.record import dumps, record
from symres.studies.criticality_summary import expansions
from tests.oracles.closed_forms import theory
from tests.shared import derived


@dataclass(frozen=True)
class FixedPoint:
    """A row as the theory makes them."""

    K: object
    chi_parallel: float
    chi_perp: float
    phase: str


def test_record_reads_back(report):
    data = json.loads(dumps(report))
    assert data == record(report)
    point = data["critical_points"][0]
    assert data["critical_points_decimals_at"] == "gamma = 0"
    assert point["C_W"]["decimal"].startswith("1.98305825743754712")
    assert point["C_b"]["decimal"].startswith("0.17292239")
    assert sp.sympify(point["K"]["text"]) == (3 + sp.sqrt(17)) / 2
    assert [point[name]["value"] for name in ("K", "C_W", "C_b")] == [
        float(point[name]["decimal"]) for name in ("K", "C_W", "C_b")
    ]
    kernel = data["quantities"]["kernel_map"]
    names = {str(s): s for s in (K, C_W, C_b, gamma)}
    assert sp.sympify(kernel["definition"]["text"], locals=names) == theory("gelu")["kernel_map"].definition
    assert kernel["symbols"] == ["K", "C_W", "C_b", "gamma"]
    assert kernel["verifications"] == [{"oracle": "quadrature", "points": 4, "worst": 3e-30}]
    assert data["quantities"]["h"]["expression"] is None
    undefined = replace(report, quantities=(derived("step").h,))
    assert record(undefined)["quantities"]["h"]["definition"] is None
    assert data["quantities"]["h"]["error_bound"] is None
    assert data["checks"][0]["outcome"] == "PASSED"
    assert "sympy" in data["versions"]
    assert data["fixed_points"] is None
    rows = (FixedPoint(0.25, 0.5, 1.5, "chaotic"), FixedPoint(K, 1.0, 1.0, "critical"))
    assert record(replace(report, fixed_points=rows))["fixed_points"] == [
        {"K": 0.25, "chi_parallel": 0.5, "chi_perp": 1.5, "phase": "chaotic"},
        {"K": "any", "chi_parallel": 1.0, "chi_perp": 1.0, "phase": "critical"},
    ]


def test_record_has_no_infinities(report):
    rows = (replace(report.checks[0], claimed=float("inf"), z=float("nan")),)
    text = dumps(replace(report, checks=rows))
    assert json.loads(text)["checks"][0]["claimed"] == "inf"
    assert "NaN" not in text


@pytest.mark.exhaustive
def test_page_document_and_record_give_the_same_advice():
    theory = derived(sr.mlp("gelu"))
    assert record(theory.report())["initialisation"] is None  # nobody asked
    report = replace(theory.report(), advice=theory.advice())
    told = record(report)["initialisation"]
    assert abs(told["C_W"] - 1.98305826) < 1e-8 and abs(told["C_b"] - 0.172922391) < 1e-9
    assert (
        told["holds"]
        and told["origin"] == "critical point"
        and told["trial"]["kernel_range"] < 4
        and told["trial"]["networks"] == 32
    )
    text = document(report)
    assert told["code"][0] in text and "has kernel 3.56155281" in text and "32 networks of 50 layers" in text


@pytest.mark.exhaustive
def test_expansions_are_told_alike_in_every_form():
    """Page, document and record: terms in order, and how far they reach."""
    silu = derived(sr.mlp("silu"))
    small, large = expansions(silu.phi_squared)
    assert (small.limit, large.limit) == (0, sp.oo)
    assert small.body == K / 4 + 3 * K**2 / 16 - 5 * K**3 / 32
    (told,) = [q["expansions"] for q in record(silu.report())["quantities"].values() if q["expansions"]]
    assert [entry["limit"] for entry in told] == ["K -> 0", "K -> oo"]
    assert [sp.sympify(entry["text"], {"K": K}) for entry in told] == [small.body, large.body]
    assert told[0]["reach"] == small.reach and "1e-12 up to K" in small.reach
    text = document(silu.report())
    assert text.index(r"\frac{K}{2} - \frac{\pi^{3/2}}") > text.index("For large kernels it equals")
    assert r"up to $K = 5 \cdot 10^{-2}$" in text
