from symres.core.proof import Rule
from symres.gaussian.closed_form.citations import CitedIdentity
from symres.report.latex.proof_appendix import RULES


def test_every_identity_that_a_proof_may_cite_is_stated_in_the_appendix():
    assert set(RULES) == {*CitedIdentity, Rule.BREAKPOINTS, Rule.STEIN}
