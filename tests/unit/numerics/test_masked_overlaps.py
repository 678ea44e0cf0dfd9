"""Attention to the first keys of a list: overlaps beside samples of softmax vectors, and their own identities."""

import numpy as np
import pytest

import symres as sr
from symres.numerics.masked_overlaps import MaskedOverlaps

SAMPLES = 200_000


def overlaps(fewer, more, variances, both):
    counts = tuple(np.array([count]) for count in (fewer, more))
    return MaskedOverlaps(counts, tuple(np.array([v]) for v in variances), np.array([both]))


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("fewer", "more"), [(1, 4), (2, 2), (3, 5), (4, 9)])
def test_averages_of_a_matrix_over_keys(fewer, more):
    variances, both, rng = (1.5, 2.0), 0.8, np.random.default_rng(fewer)
    law = np.linalg.cholesky(np.array([[variances[0], both], [both, variances[1]]]))
    scores = law @ rng.standard_normal((SAMPLES, more, 2, 1))
    one, other = softmax(scores[:, :fewer, 0, 0]), softmax(scores[:, :, 1, 0])
    factor = rng.standard_normal((more, more))
    matrix = factor @ factor.T
    sampled = np.einsum("nb,bd,nd->n", one, matrix[:fewer], other)
    found = overlaps(fewer, more, variances, both).averages(matrix)
    # the matrix is not that of exchangeable keys, but their scores are
    assert abs(found[0] - sampled.mean()) < 4 * sampled.std() / np.sqrt(SAMPLES)


def test_equal_numbers_of_keys_have_the_overlap_of_all():
    found = overlaps(7, 7, (1.2, 0.9), 0.5)
    assert found.values()[0] == pytest.approx(sr.softmax_overlap(1.2, 0.9, 0.5, 7), rel=1e-13)
    assert found.values(order=1)[0] == pytest.approx(sr.softmax_overlap(1.2, 0.9, 0.5, 7, "k"), rel=1e-13)


def test_slopes_are_those_of_values():
    step = 1e-3
    low, middle, high = (overlaps(3, 6, (1.0, 1.4), 0.4 + x).values()[0] for x in (-step, 0, step))
    assert (high - low) / (2 * step) == pytest.approx(overlaps(3, 6, (1.0, 1.4), 0.4).values(order=1)[0], rel=1e-6)
    assert middle == pytest.approx((high + low) / 2, rel=1e-5)


def test_a_query_that_sees_one_key():
    found = overlaps(1, 5, (1.0, 1.0), 1.0)
    assert found.values()[0] == pytest.approx(1 / 5)
    assert found.values(order=1)[0] == 0
