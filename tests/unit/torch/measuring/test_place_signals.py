"""Standard errors have the size of the scatter of repeated measurements."""

import math
from functools import partial

import numpy as np
import pytest

from symres.torch.measuring.place_signals import average, average_of_pairs, root_of_sums

RNG = np.random.default_rng(0)


def repeated(draw, estimate, times=400):
    """The scatter of estimates, and their mean stated error."""
    found = [estimate(draw()) for _ in range(times)]
    return np.std(found), np.mean([number.error for number in found])


def of_networks(networks, inputs, probes):
    network = RNG.standard_normal((networks, 1, 1)) if networks > 1 else 0
    own = RNG.standard_normal((networks, inputs, 1)) if inputs > 1 else 0
    return 5 + network + own + 2 * RNG.standard_normal((networks, inputs, probes))


def of_pairs(networks):
    own = RNG.standard_normal((networks, 20))  # what an input has in all of its pairs
    return own[:, :, None] + own[:, None, :]


@pytest.mark.parametrize(
    ("draw", "estimate"),
    [
        *((partial(of_networks, *shape), average) for shape in [(12, 3, 4), (1, 15, 4), (1, 1, 30), (9, 1, 1)]),
        *((partial(of_pairs, networks), average_of_pairs) for networks in (1, 10)),
        *((partial(RNG.chisquare, 8, (networks, 40)), root_of_sums) for networks in (1, 10)),
    ],
)
def test_errors_have_the_size_of_the_scatter(draw, estimate):
    scatter, stated = repeated(draw, estimate)
    assert stated == pytest.approx(scatter, rel=0.2 if estimate is not root_of_sums else 0.25)


def test_probes_bound_the_error_from_below():
    samples = np.array([[[0.0, 10.0], [10.0, 0.0]]])  # by chance equal averages of both inputs
    assert average(samples).error == pytest.approx(math.sqrt(50 / 4))


def test_a_single_number_has_no_error():
    assert math.isnan(average(np.ones((1, 1))).error)
    assert math.isnan(average_of_pairs(np.ones((1, 2, 2))).error)
    assert average_of_pairs(np.array([[[9.0, 2.0], [2.0, 9.0]]])) == 2
    assert math.isnan(average_of_pairs(np.ones((1, 1, 1))))


def test_numbers_that_are_not_finite_stay_visible():
    assert average(np.array([[1.0, math.inf]])) == math.inf
    assert math.isnan(average(np.array([[1.0, math.nan]])))


def test_pairs_that_were_not_compared_do_not_count():
    gram = np.full((1, 4, 4), np.nan)
    gram[0, :2, :2], gram[0, 2:, 2:] = 1.0, 3.0
    assert average_of_pairs(gram) == 2
