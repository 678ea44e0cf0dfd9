"""Entropies of softmax vectors against one-variable quadrature, sampled vectors and integrals of the overlap."""

import math

import mpmath as mp
import numpy as np
import pytest

import symres as sr
from symres.core.errors import NoClosedForm
from symres.numerics.softmax_entropy import softmax_entropy


@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0])
def test_two_keys(variance):
    """The entropy of a coin of log-odds N(0, 2 S)."""

    def coin(x):
        odds = mp.sqrt(2 * variance) * x
        part = 1 / (1 + mp.exp(-odds))
        return mp.npdf(x) * (mp.log1p(mp.exp(-abs(odds))) + abs(odds) * (1 - max(part, 1 - part)))

    expected = 2 * mp.quad(coin, [0, 1, 3, 10])
    assert softmax_entropy(variance, 2) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize(("variance", "keys"), [(0.5, 16), (6.0, 5), (20.0, 64)])
def test_the_integral_of_the_overlap(variance, keys):
    """``H = log(T) + int (1 - B)/2 dS - S (1 - B)``, over the root of S."""

    def less(s):
        return 1 - sr.softmax_overlap(s, s, s, T=keys)

    places, lengths = np.polynomial.legendre.leggauss(40)
    roots = math.sqrt(variance) * (1 + places) / 2
    integral = sum(w * math.sqrt(variance) * root * less(root**2) for root, w in zip(roots, lengths, strict=True))
    expected = math.log(keys) + integral / 2 - variance * less(variance)
    assert softmax_entropy(variance, keys) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("variance", "keys"), [(0.3, 16), (4.0, 1024), (100.0, 8)])
def test_sampled_vectors(variance, keys):
    scores = np.random.default_rng(1).normal(size=(8000, keys)) * math.sqrt(variance)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    entropies = -(weights * np.log(np.maximum(weights, 1e-300))).sum(1)
    error = entropies.std() / math.sqrt(len(entropies))
    assert abs(entropies.mean() - softmax_entropy(variance, keys)) < 4 * error


def test_ends():
    assert softmax_entropy(0.0, 7) == math.log(7)
    assert softmax_entropy(3.0, 1) == 0
    assert softmax_entropy(1e-30, 1000) == pytest.approx(math.log(1000), rel=1e-15)
    with pytest.raises(NoClosedForm, match="weaker queries"):
        softmax_entropy(1e6, 16)
