"""Random declarations end in a result or in a true reason: no traceback, no silence; the long lane is a command."""

from random import Random

import pytest
import sympy as sp

import symres as sr

from .declarations import NAMES
from .formulas import random_formula, tree
from .stages import RUN, Outcome, _compare_values, _test_reason

FORMULAS, EQUATIONS = 200, 60  # of the exhaustive lane; the command runs 2000 and 500


def run(kind: str, seed: int, thorough: bool) -> None:
    outcome = RUN[kind](seed, thorough)
    assert not outcome.faults, f"{outcome.text}: {outcome.faults}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(FORMULAS))
def test_formulas(seed):
    run("formula", seed, thorough=seed % 10 == 5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(EQUATIONS))
def test_equations(seed):
    run("equation", seed, thorough=seed % 10 == 5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(len(NAMES)))
def test_names(seed):
    run("name", seed, thorough=True)


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_a_formula_is_refused_or_is_what_its_text_and_its_facts_say(first):
    accepted = 0
    for seed in range(first, first + 50):
        formula, outcome = random_formula(Random(seed)), Outcome("formula", seed, "")
        try:
            phi = sr.activation(str(formula))
        except sr.SymresError as error:
            _test_reason(outcome, error, formula)
        else:
            accepted += 1
            _compare_values(outcome, phi, formula)
            _assert_facts(phi, Random(seed))
        assert not outcome.faults, outcome.faults
    assert accepted > 20


def _assert_facts(phi, chance):
    """Pieces, parity and homogeneity, by the values of the formula."""
    for point in (sp.Rational(chance.randint(-4000, 4000), 1001) for _ in range(3)):
        value, mirrored, scaled = (sp.N(phi.expr.subs(sr.z, p), 20) for p in (point, -point, 3 * point))
        room = sp.Float("1e-12") * (1 + abs(value) + abs(scaled))
        assert value.is_real and value.is_finite, phi
        assert abs(sp.N(phi.pieces.part_at(point).subs(sr.z, point), 20) - value) < room, phi
        if phi.parity:
            assert abs(mirrored - (value if phi.parity == "even" else -value)) < room, phi
        if phi.homogeneity is not None:
            assert abs(scaled - 3**phi.homogeneity * value) < room, phi


# ---- the lane sees what it is there to see ---------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(50))
def test_texts_are_read_as_they_are_printed(seed):
    formula = random_formula(Random(seed))
    assert tree(str(formula)) == formula


def test_a_wrong_parse_is_seen():
    outcome = Outcome("formula", 0, "")
    _compare_values(outcome, sr.activation("z*tanh(z) + 1/1000"), tree("z*tanh(z)"))
    assert outcome.faults
    fine = Outcome("formula", 0, "")
    _compare_values(fine, sr.activation("z*tanh(z)"), tree("z*tanh(z)"))
    assert not fine.faults


@pytest.mark.parametrize(
    ("text", "reason", "is_false"),
    [
        ("tanh(z)", "it is not real for z < 0", True),
        ("tanh(z)", "it may grow like exp(c*z^2) or faster", True),
        ("exp((1e-20*z)^2)", "it may grow like exp(c*z^2)", False),  # it is 1 at z = 60
        ("exp(z)", "it may grow like exp(c*z^2)", True),  # it does not outgrow the weight
    ],
)
def test_false_reasons_are_seen_and_true_ones_far_out(text, reason, is_false):
    outcome = Outcome("formula", 0, "")
    _test_reason(outcome, sr.DeclarationError("the formula", reason, "mend it"), tree(text))
    assert bool(outcome.faults) is is_false


def test_a_crash_is_a_fault():
    outcome = Outcome("formula", 0, "")
    with pytest.raises(sr.SymresError), outcome.stage("derive"):
        sp.Integer(1) / "a"
    assert "TypeError" in outcome.faults[0]
