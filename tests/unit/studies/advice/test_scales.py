"""The scale at which networks change by a factor of 2."""

import pytest

from symres.studies.advice.scales import where_doubled


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.1, 1, 10, 0.37, 1234.0])
def test_the_range_is_doubled_there(scale, power):
    # also at powers of ten, where the search begins and rounding decides on which side of 2 a range is
    assert where_doubled(lambda s: 1 + (s / scale) ** power) == pytest.approx(scale, rel=5e-3)


def test_rounding_at_the_ends_of_a_cell():
    assert where_doubled(lambda s: 2.0 if s == 0.1 else 1 + (s / 0.1) ** 2 + 1e-15) == pytest.approx(0.1, rel=5e-3)


def test_ranges_that_are_always_or_never_smaller():
    assert where_doubled(lambda s: 3.0) is None
    assert where_doubled(lambda s: 1.5) == pytest.approx(1e4)
