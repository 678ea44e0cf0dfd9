"""The literature: every claim has the verdict that it expects, and would have another if it were changed."""

import dataclasses
import re

import pytest
import sympy as sp

from symres.literature.claims import KINDS, VERDICTS, chosen, documents
from symres.literature.formulas import Average, Operation
from symres.literature.judging import _FAILURES, Sides, judge

from .literature_mutants import mutants, mutants_of_path

PAIRS = [pytest.param(*pair, id=pair[1].id) for pair in chosen()]
JUDGED = [pair for pair in PAIRS if pair.values[1].expect in ("CONFIRMED", "ERRATUM")]
_SURVIVORS = {}  # by claim: mutants that are not contradicted, and why


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
@pytest.mark.parametrize(("document", "claim"), JUDGED)
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
@pytest.mark.parametrize(("document", "claim"), JUDGED)
def test_other_derivations_are_contradicted(document, claim):
    text = claim.printed if claim.expect == "CONFIRMED" else claim.correct
    for path in mutants_of_path(claim.derived):
        try:
            assert not Sides(document, claim).compared(text, path).agree, path
        except _FAILURES:
            continue


def _is_contradicted(sides, text, mutant, before=None):
    """Whether a changed formula differs from the derivation somewhere, or is the same formula written otherwise."""
    try:
        if not sides.compared(mutant, sides.claim.derived).agree:
            return True
    except _FAILURES:
        return True
    (point, *_) = sides.points()
    difference = (before or sides).tree(text, point) - sides.tree(mutant, point)
    if isinstance(difference, sp.Expr):
        nodes = sorted(difference.atoms(Average, Operation), key=str)
        return sp.simplify(difference.xreplace({node: sp.Dummy() for node in nodes})) == 0
    return False
