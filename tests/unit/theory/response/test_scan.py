"""Where zeros are looked for, of functions whose zeros are known, and where numbers end."""

import numpy as np
import pytest

import symres as sr
from symres.theory.response.branch_scale import number_or_end, rows_of, zeros

START = [0.1, 1.0, 10.0]


def test_where_numbers_end():
    def function(x):
        if x > 1e4:
            raise sr.NoClosedForm("a value", "it overflows", "stop")
        return 1.0

    assert np.isnan(number_or_end(function)(1e5))
    assert number_or_end(function)(1e3) == 1.0
    (kept, ended) = rows_of(lambda x: (function(x), 2.0))([1.0, 1e5])
    assert kept == (1.0, 1.0, 2.0)
    assert np.isnan(ended[1:]).all()
    with pytest.raises(sr.NoClosedForm, match=r"it is not finite between 0\.1 and 10"):
        zeros(lambda x: float("nan"), START)
