"""Numbers with errors, and solutions on several branches."""

import copy
import pickle

import pytest

import symres as sr
from symres.results.annotated_numbers import Branches, BranchScale, EstimatedNumber, Estimates
from symres.results.phases import LinePoint


def test_a_single_branch_is_a_number():
    assert float(Branches([0.5])) == 0.5
    with pytest.raises(sr.DeclarationError, match="several"):
        float(Branches([0.5, 0.7]))


@pytest.mark.parametrize(
    "number",
    [EstimatedNumber(0.5, 0.1), BranchScale(0.5, -2.0, (0.1, 3.0)), LinePoint(0.5, 2.0, 0.9), Estimates([0.5], [0.1])],
    ids=lambda number: type(number).__name__,
)
def test_copies_keep_what_is_known(number):
    for copied in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):
        assert type(copied) is type(number)
        assert copied == number
        assert vars(copied) == vars(number)


def test_a_number_is_made_with_all_that_is_known():
    with pytest.raises(ValueError, match="argument"):
        EstimatedNumber(0.5)
