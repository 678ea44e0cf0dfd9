"""The literature: every claim has the verdict that it expects, and would have another if it were changed."""

import dataclasses
import re

import pytest
import sympy as sp

from symres.literature.formulas import Operation, PrintedAverage
from symres.literature.judging import FAILURES, Sides, judge
from symres.literature.printed_claims import KINDS, VERDICTS, chosen, documents

from .literature_mutants import mutants, mutants_of_path

PAIRS = [pytest.param(*pair, id=pair[1].id) for pair in chosen()]
_RELATIONS = ("inequality", "existence", "approximation")  # what is near a bound may lie on the same side of it


def _is_formula(claim):
    return claim.expect in ("CONFIRMED", "ERRATUM") and claim.kind not in _RELATIONS and not claim.error


FORMULAS = [pair for pair in PAIRS if _is_formula(pair.values[1])]
MAPS = [pair for pair in FORMULAS if re.search(r"_map|chi_p", pair.values[1].derived)]
# mutants that are not contradicted: constants under a derivative, the step of a difference, and the sign between two
# functions that are never both other than 0
_SURVIVORS = {
    "pdlt:B.13": [
        "slope(C_W * E(phi(z) ^ 2, K) + gamma ^ 2 * K, K)",
        "slope(C_W + C_W * E(phi(z) ^ 2, K) + gamma ^ 2 * K, K)",
    ],
    "pdlt:B.14": ["eps = 1 / 10 ^ (6 + 1 / 2)", "eps = 1 / 10 ^ 7", "eps = 1 / 11 ^ 6", "eps = 2 / 10 ^ 6"],
    "pdlt:B.18": [
        "1 / 2 * slope(C_W * E(phi1(z) ^ 2, K), K)",
        "1 / 2 * slope(C_W ^ 2 + C_W * E(phi1(z) ^ 2, K), K)",
        "1 / 2 * slope(gamma ^ (2 + 1 / 2) + C_W * E(phi1(z) ^ 2, K), K)",
        "1 / 2 * slope(gamma ^ 3 + C_W * E(phi1(z) ^ 2, K), K)",
    ],
    "doshi2023:99.line2": ["sigma_w ^ 2 * E((a_plus * step(z) + a_minus * step(-z)) ^ 2, K)"],
}


def test_claims_have_ids_of_their_own_and_words_that_count():
    ids = [claim.id for _, claim in chosen()]
    assert len(ids) == len(set(ids)) > 100
    for _, claim in chosen():
        assert claim.kind in KINDS and claim.expect in VERDICTS, claim.id
        assert bool(claim.derived) != bool(claim.missing), claim.id
        assert bool(claim.missing) <= bool(claim.reason), claim.id
        assert (claim.expect == "ERRATUM") == bool(claim.correct and claim.witness and claim.reason), claim.id
        assert (claim.expect == "CONFIRMED WITH CAVEAT") == bool(claim.caveat and claim.holds), claim.id


def test_at_most_ten_statements_are_not_derivable():
    assert sum(claim.expect == "NOT DERIVABLE" for _, claim in chosen()) <= 10
    assert {document.source for document in documents()} >= {"000", "001", "002", "003", "004"}


@pytest.mark.sample(12)
@pytest.mark.parametrize(("document", "claim"), PAIRS)
def test_verdicts(document, claim):
    judgement = judge(document, claim)
    assert judgement.sound, judgement.remark
    assert judgement.verdict == claim.expect


@pytest.mark.sample(12)
@pytest.mark.parametrize(("document", "claim"), FORMULAS)
def test_changed_formulas_are_contradicted(document, claim):
    """Of a confirmed claim the print is changed, of an erratum the correction, and the abbreviations of both."""
    text = claim.printed if claim.expect == "CONFIRMED" else claim.correct
    sides = Sides(document, claim)
    survivors = [mutant for mutant in set(mutants(text)) - {text} if not _is_contradicted(sides, text, mutant)]
    for name, meaning in claim.where.items():
        if re.search(rf"\b{name}\b", text):
            for mutant in set(mutants(meaning)) - {meaning}:
                changed = Sides(document, dataclasses.replace(claim, where={**claim.where, name: mutant}))
                if not _is_contradicted(changed, text, text, Sides(document, claim)):
                    survivors.append(f"{name} = {mutant}")
    assert sorted(survivors) == sorted(_SURVIVORS.get(claim.id, []))


@pytest.mark.sample(12)
@pytest.mark.parametrize(("document", "claim"), MAPS)
def test_other_derivations_are_contradicted(document, claim):
    """Another layer or another map; some agree, as those of layers that differ in what the quantity does not see."""
    text = claim.printed if claim.expect == "CONFIRMED" else claim.correct
    contradicted = []
    for path in mutants_of_path(claim.derived):
        try:
            contradicted.append(not Sides(document, claim).compared(text, path).agree)
        except FAILURES:
            contradicted.append(True)
    assert any(contradicted)


def _is_contradicted(sides, text, mutant, before=None):
    """Whether a changed formula differs from the derivation somewhere, or is the same formula written otherwise."""
    try:
        if not sides.compared(mutant, sides.claim.derived).agree:
            return True
    except FAILURES:
        return True
    (point, *_) = sides.points()
    difference = (before or sides).tree(text, point) - sides.tree(mutant, point)
    if isinstance(difference, sp.Expr):
        nodes = sorted(difference.atoms(PrintedAverage, Operation), key=str)
        return sp.simplify(difference.xreplace({node: sp.Dummy() for node in nodes})) == 0
    return False
