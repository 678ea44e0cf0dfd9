import sympy as sp

import symres as sr
from symres.core.proof import Insertion, Rule, SlopeAndValue, TermwiseStep
from symres.gaussian.closed_form.citations import CitedIdentity
from symres.notation import Notation
from symres.report.latex.proof_appendix import RULES, Appendix


def test_every_identity_that_a_proof_may_cite_is_stated_in_the_appendix():
    assert set(RULES) == {*CitedIdentity, Rule.BREAKPOINTS, Rule.STEIN}


def test_appendix_finds_the_slope_behind_names_for_coefficients():
    """The sign of a - 1 is unknown: the engine proves the average with a symbol for it, and puts it back."""
    covariance = sr.derive(sr.mlp(sr.activation("erf(a*z - z)", a=sp.Symbol("a", real=True)))).covariance_map
    (lemma,) = Appendix([covariance], Notation({})).lemmas
    assert sum("by Price's theorem" in text for text in lemma.paragraphs) == 1


def test_steps_say_what_they_insert_and_prove():
    proof = sr.derive("erf").covariance_map.proof
    inserted = [step for step in proof.steps if isinstance(step, Insertion)]
    assert inserted
    for step in inserted:
        assert proof.start.has(step.place)
        (terms,) = step.proof.steps
        assert isinstance(terms, TermwiseStep)
        (known,) = (s for _, part in terms.parts for s in part.second.steps if isinstance(s, SlopeAndValue))
        assert known.slope.subs(sr.C, 0) == known.after[0].subs(sr.C, 0)
        assert sp.simplify(known.slope - sp.diff(terms.parts[0][1].result, sr.C)) == 0
