"""Brent's method against SciPy's: the same float, on functions of all kinds."""

import math
import random

import pytest
from scipy.optimize import brentq

from symres.core.errors import NoClosedForm
from symres.numerics.roots.brent import brent

KINDS = {
    "cubic": lambda a, b: lambda x: a + b * x + x**3,
    "steep": lambda a, b: lambda x: math.tanh(20 * a * x) + b / 3,
    "exponential": lambda a, b: lambda x: math.exp(a * x) - 1 - abs(b),
    "root": lambda a, b: lambda x: math.copysign(abs(x - a) ** 0.3, x - a),
    "flat": lambda a, b: lambda x: (x - a) ** 9,
    "tiny": lambda a, b: lambda x: 1e-160 * (x - a) ** 3,
}
TOLERANCES = ((2e-12, 2.0**-50), (1e-300, 1e-14), (1e-3, 1e-9))


@pytest.mark.parametrize("kind", KINDS)
def test_the_zero_is_scipys_bit_for_bit(kind):
    draw, compared = random.Random(kind), 0
    while compared < 100:
        function = KINDS[kind](draw.gauss(0, 1), draw.gauss(0, 1))
        low, high = sorted((draw.gauss(0, 3), draw.gauss(0, 3)))
        if (function(low) > 0) == (function(high) > 0):
            continue
        xtol, rtol = draw.choice(TOLERANCES)
        try:
            expected = brentq(function, low, high, xtol=xtol, rtol=rtol)
        except RuntimeError:  # too many steps
            with pytest.raises(NoClosedForm, match="steps"):
                brent(function, low, high, xtol, rtol)
        else:
            assert brent(function, low, high, xtol, rtol) == expected
        compared += 1


def test_zeros_at_the_ends_are_found():
    assert brent(lambda x: x, 0.0, 1.0) == 0.0
    assert brent(lambda x: x - 1, 0.0, 1.0) == 1.0


def test_equal_signs_and_what_is_no_number_are_refused():
    with pytest.raises(NoClosedForm, match="same sign"):
        brent(lambda x: x * x + 1, -1.0, 1.0)
    with pytest.raises(NoClosedForm, match="no number"):
        brent(lambda x: math.nan if 0 < x < 1 else x - 0.5, 0.0, 1.0)
