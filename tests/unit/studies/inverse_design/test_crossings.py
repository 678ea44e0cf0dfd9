"""Zeros between places, beside extrema, and next to where a function ends."""

import math

import numpy as np
import pytest

from symres.studies.inverse_design.crossings import brackets, to_the_edges


def zeros(function, places):
    refined, values = to_the_edges(function, places, [function(place) for place in places])
    assert refined == sorted(refined)
    return brackets(function, refined, values)


def test_signs_extrema_and_flat_functions():
    places = list(np.linspace(-2, 2, 21) + 0.01)
    ((low, high),) = zeros(lambda x: x - 0.3, places)
    assert low < 0.3 < high
    first, second = zeros(lambda x: (x - 0.02) ** 2 - 1e-6, places)  # both between the same two places
    assert first[0] < 0.019 < first[1] <= second[0] < 0.021 < second[1]
    ((touched, _),) = zeros(lambda x: x**2, places)
    assert touched == pytest.approx(0, abs=1e-6)
    assert zeros(lambda x: 1.0, places) == []


def test_zeros_where_a_function_ends():
    """sqrt(1 - x) = 1e-3 lies between the last place with a value and the end."""
    ((low, high),) = zeros(lambda x: math.sqrt(1 - x) - 1e-3 if x <= 1 else math.nan, [0.0, 0.3, 0.6, 0.9, 1.2])
    assert low <= 1 - 1e-6 <= high
