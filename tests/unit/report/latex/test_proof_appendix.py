import pytest
import sympy as sp

import symres as sr
from symres.core.proof import Insertion, Rule, SlopeAndValue, TermwiseStep
from symres.gaussian.closed_form.citations import CitedIdentity
from symres.notation import Notation
from symres.report.latex.proof_appendix import RULES, Appendix
from symres.report.latex.prose import prose


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


def test_formulas_in_every_clause_of_a_reason_are_typeset():
    reason = "z**(2/3) is not a polynomial; sqrt(2)*exp(z)/4 - sqrt(2)/4 is not a sine"
    assert prose(reason) == (r"$z^{2/3}$ is not a polynomial; $\frac{e^{z} - 1}{2 \sqrt{2}}$ is not a sine")


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("K* = 0 is not a fixed point", "$K^* = 0$ is not a fixed point"),
        ("no C_W > 0 makes chi_perp 1", r"no $C_W > 0$ makes $\chi_\perp$ 1"),
        ("C_b = 2*K with 100% of it", r"$C_b$ = $2 K$ with 100\% of it"),
        ("tanh(z) is not a polynomial", r"$\tanh(z)$ is not a polynomial"),
        ("parallel susceptibility dK'/dK", r"parallel susceptibility $\mathrm{d}K'/\mathrm{d}K$"),
        ("the average of sigmoid(beta*z)", r"the average of $\operatorname{sigmoid}(\beta z)$"),
        ("a_b {x} sharp", r"a\_b \{x\} sharp"),
        (
            "networks where C_b >= 0 and -1 <= chi_parallel <= 1",
            (r"networks where $C_b \ge  0$ and $-1 \le  \chi_\parallel \le  1$"),
        ),
        ("skips below 1, |gamma| < 1", r"skips below 1, $|\gamma| < 1$"),
        ("of size <= 3 or |x|", r"of size $\le$ 3 or \textbar{}x\textbar{}"),
    ],
)
def test_sentences_become_latex(sentence, shown):
    assert prose(sentence) == shown


def test_what_a_user_types_is_set_as_it_is_typed():
    text = prose("Give beta (--set beta=...) and a (--set a=...) a number.")
    assert text == r"Give $\beta$ (\texttt{--set beta=...}) and a (\texttt{--set a=...}) a number."


def test_numbers_with_a_power_of_ten_are_set_as_mathematics():
    text = prose("relative error below 1e-3 up to K = 5e-2, from 2e4 on")
    assert prose("by a factor of 5.5e+08") == r"by a factor of $5.5 \cdot 10^{8}$"
    assert text == r"relative error below $10^{-3}$ up to $K = 5 \cdot 10^{-2}$, from $2 \cdot 10^{4}$ on"
