import symres as sr
from symres.core.words import Obstruction, SeriesRange, obstruction


def test_quantities_have_typed_reasons():
    assert obstruction(sr.derive("tanh").kernel_map.reason) is Obstruction.OUTSIDE
    assert obstruction(sr.derive("sign(z)").chi_perp.reason) is Obstruction.INFINITE
    assert obstruction(sr.derive("sign(z)").chi_delta.reason) is Obstruction.INFINITE
    found = sr.derive("tanh").kernel_map.series(4).reason
    assert isinstance(found, SeriesRange) and found == f"{found.terms}; {found.reach}"
