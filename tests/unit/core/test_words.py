import copy
import pickle

import symres as sr
from symres.core.words import Obstruction, Reason, SeriesRange, obstruction, predicate


def test_a_reason_is_its_words_and_knows_its_kind():
    reason = Reason("tanh(z)", "is not a polynomial", Obstruction.OUTSIDE)
    assert reason == "tanh(z) is not a polynomial" and predicate(reason) == "is not a polynomial"
    assert obstruction(reason) is Obstruction.OUTSIDE
    for twin in (copy.deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert twin == reason and (twin.subject, twin.obstruction) == ("tanh(z)", Obstruction.OUTSIDE)
    assert obstruction("plain words") is Obstruction.OTHER and predicate("plain words") == "plain words"


def test_several_reasons_are_of_the_first_kind_that_says_something():
    inside = Reason("the sign of w", "is unknown")
    outside = Reason("tanh(z)", "is not a polynomial", Obstruction.OUTSIDE)
    assert Reason.listed([]) == "" and Reason.listed([outside, outside]) is outside
    both = Reason.listed([inside, outside])
    assert both == "the sign of w is unknown; tanh(z) is not a polynomial"
    assert obstruction(both) is Obstruction.OUTSIDE
    plain = Reason.listed(["unknown", outside])
    assert plain == "unknown; tanh(z) is not a polynomial" and obstruction(plain) is Obstruction.OUTSIDE


def test_quantities_have_typed_reasons():
    assert obstruction(sr.derive("tanh").kernel_map.reason) is Obstruction.OUTSIDE
    assert obstruction(sr.derive("sign(z)").chi_perp.reason) is Obstruction.INFINITE
    assert obstruction(sr.derive("sign(z)").chi_delta.reason) is Obstruction.INFINITE
    found = sr.derive("tanh").kernel_map.series(4).reason
    assert isinstance(found, SeriesRange) and found == f"{found.terms}; {found.reach}"
