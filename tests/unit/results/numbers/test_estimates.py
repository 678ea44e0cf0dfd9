"""Numbers with errors, and solutions on several branches."""

import pytest

import symres as sr
from symres.results.numbers.branches import Branches
from symres.results.numbers.estimates import Estimates


def test_estimates_are_lists_with_errors():
    found = Estimates([1.0, 2.0], [0.1, 0.2])
    assert found == [1.0, 2.0]
    assert found.errors == [0.1, 0.2]


def test_a_single_branch_is_a_number():
    assert float(Branches([0.5])) == 0.5
    with pytest.raises(sr.DeclarationError, match="several"):
        float(Branches([0.5, 0.7]))
