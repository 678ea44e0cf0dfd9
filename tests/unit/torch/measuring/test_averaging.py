"""Standard errors have the size of the scatter of repeated measurements."""

import math

import numpy as np
import pytest

from symres.torch.measuring.averaging import average, average_of_pairs, root_of_sums

RNG = np.random.default_rng(0)


def repeated(draw, estimate, times=400):
    """The scatter of estimates, and their mean stated error."""
    found = [estimate(draw()) for _ in range(times)]
    return np.std(found), np.mean([number.error for number in found])


@pytest.mark.parametrize("shape", [(12, 3, 4), (1, 15, 4), (1, 1, 30), (9, 1, 1)])
def test_errors_of_averages(shape):
    def draw():
        networks, inputs, _ = shape
        network = RNG.standard_normal((networks, 1, 1)) if networks > 1 else 0
        own = RNG.standard_normal((networks, inputs, 1)) if inputs > 1 else 0
        return 5 + network + own + 2 * RNG.standard_normal(shape)

    scatter, stated = repeated(draw, average)
    assert stated == pytest.approx(scatter, rel=0.2)


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


@pytest.mark.parametrize("networks", [1, 10])
def test_errors_of_pairs(networks):
    def draw():
        own = RNG.standard_normal((networks, 20))  # what an input has in all of its pairs
        return own[:, :, None] + own[:, None, :]

    scatter, stated = repeated(draw, average_of_pairs)
    assert stated == pytest.approx(scatter, rel=0.2)


def test_pairs_that_were_not_compared_do_not_count():
    gram = np.full((1, 4, 4), np.nan)
    gram[0, :2, :2], gram[0, 2:, 2:] = 1.0, 3.0
    assert average_of_pairs(gram) == 2


@pytest.mark.parametrize("networks", [1, 10])
def test_errors_of_norms(networks):
    scatter, stated = repeated(lambda: RNG.chisquare(8, (networks, 40)), root_of_sums)
    assert stated == pytest.approx(scatter, rel=0.25)
