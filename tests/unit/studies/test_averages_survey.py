"""The averages of an activation, and what is known of each."""

import mpmath as mp
import pytest
import sympy as sp

from symres.activations import catalogue
from symres.core.symbols import z
from symres.results.quantity import Status
from symres.studies import averages_survey

ENTRIES = [entry for entry in catalogue._TABLE if entry.name in ("relu", "leaky_relu", "sign", "tanh", "square")]


@pytest.fixture
def few(monkeypatch):
    """A catalogue that is quickly listed."""
    monkeypatch.setattr(catalogue, "activations", catalogue.Catalogue(ENTRIES))


def test_what_is_listed_is_what_the_door_says(few):
    for phi in catalogue.activations.values():
        for known in averages_survey.averages_of(phi):
            q = known.quantity
            assert q.status is not Status.EXACT or q.verifications or q.body == sp.oo
            assert len(q.symbols) - len(phi.parameters) <= (1 if " " not in known.key else 3)
    squared = list(averages_survey.averages_of(catalogue.activations["square"]))[1].quantity
    assert squared.evalf(K=2) == mp.mpf(12)
    assert squared.definition.has(type(catalogue.activations["square"](z)))
