"""Attention of listed tokens beside scores that are sampled here, from their covariances at all pairs of positions."""

import numpy as np
import pytest

import symres as sr
from symres.numerics import listed_attention
from symres.numerics.listed_attention import ListedAttention

COUNT = 6
RNG = np.random.default_rng(7)
K, D = (factor @ factor.T / 9 for factor in RNG.standard_normal((2, COUNT, 9)))
SOME = (RNG.random((COUNT, COUNT)) < 0.5) | np.eye(COUNT, dtype=bool)
MASKS = {"none": np.ones((COUNT, COUNT)), "causal": np.tril(np.ones((COUNT, COUNT))), "some": SOME * 1.0}
TURNS = (1.0, 0.3, 0.01)
MORE = pytest.mark.exhaustive


def by_definition(sigma, seen, frequencies, count):
    """Kernel and tangent of attention with Gaussian scores, each with its standard error."""
    rng, places = np.random.default_rng(3), np.array(list(np.ndindex(COUNT, COUNT)))
    query, key = places.T
    distance = query - key
    turns = np.zeros((1,)) if not frequencies else np.array(frequencies)
    weaker = np.cos(turns[:, None, None] * (distance[:, None] - distance)).mean(axis=0)

    def samples(*laws):
        law = (
            sigma
            * weaker
            * sum(of_queries[np.ix_(query, query)] * of_keys[np.ix_(key, key)] for of_queries, of_keys in laws)
        )
        values, vectors = np.linalg.eigh(law)
        drawn = rng.standard_normal((count, len(places))) * np.sqrt(np.maximum(values, 0))
        return (drawn @ vectors.T).reshape(count, COUNT, COUNT)

    weights = np.exp(samples((K, K))) * seen
    weights /= weights.sum(axis=2, keepdims=True)
    change = samples((D, K), (K, D))
    moved = weights * (change - (weights * change).sum(axis=2, keepdims=True))
    kernel = np.einsum("nab,bd,ncd->nac", weights, K, weights, optimize=True)
    tangent = sum(np.einsum("nab,bd,ncd->nac", A, X, A, optimize=True) for A, X in ((weights, D), (moved, K)))
    return [(part.mean(axis=0), part.std(axis=0) / count**0.5) for part in (kernel, tangent)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("frequencies", [(), TURNS])
@pytest.mark.parametrize(
    ("sigma", "count"), [(0.02, 4000), pytest.param(0.1, 100_000, marks=MORE), pytest.param(2.0, 20_000, marks=MORE)]
)
def test_any_tokens_masks_and_rotations(mask, frequencies, sigma, count):
    """Estimated errors and those of both samples explain the difference."""
    seen = MASKS[mask]
    attention = ListedAttention(sigma * K, K, seen, frequencies)
    assert 0.7 < attention.variance / (sigma * K.diagonal().max()) < 2
    estimates = attention.kernel(), attention.tangent(D, sigma * D)
    for (values, off), (expected, errors) in zip(
        estimates, by_definition(sigma, seen, frequencies, count), strict=True
    ):
        scale = np.abs(expected).max()
        assert np.abs(off).max() < (4 * attention.variance**2 if sigma < 1 else 0.02) * scale
        assert (np.abs(values - expected) <= 4 * errors + (1 if sigma < 1 else 4) * np.abs(off) + 1e-12).all()
        assert np.allclose(values, values.T, rtol=1e-12)


def test_keys_that_are_first_ones_are_summed_as_any():
    """Beginnings are cumulative sums; the same mask with two keys exchanged is a product of matrices."""
    order = np.array([1, 0, 2, 3, 4, 5])
    causal = ListedAttention(0.1 * K, K, MASKS["causal"]).tangent(D, 0.1 * D)[0]
    moved = [X[np.ix_(order, order)] for X in (K, D)]
    seen = MASKS["causal"][np.ix_(order, order)]
    other = ListedAttention(0.1 * moved[0], moved[0], seen).tangent(moved[1], 0.1 * moved[1])[0]
    assert np.allclose(causal[np.ix_(order, order)], other, rtol=1e-12)


def test_bounds_of_weak_scores_hold_where_terms_cancel(monkeypatch):
    """Kernels of rank 2, whose entries have both signs; beside samples, with 4 of their standard errors."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.normal(size=(4, 2))
        K = rows @ rows.T
        scale = rng.uniform(0.02, 0.25) / ListedAttention(K, K, MASKS["causal"][:4, :4]).variance
        attention = ListedAttention(scale * K, K, MASKS["causal"][:4, :4])
        value, bound = attention.kernel()
        with monkeypatch.context() as patched:
            patched.setattr(listed_attention, "_WEAK", 0.0)
            sampled, error = attention.kernel()
        assert (abs(value - sampled) < bound + 4 * error + 1e-12).all()


@pytest.mark.exhaustive
@pytest.mark.parametrize("text", ["LayerNorm(Attention(z, 1, 0, 4))", "z + Attention(LayerNorm(z), 1, 0, 8)"])
def test_errors_of_sampled_stacks_are_those_of_other_samples(text, monkeypatch):
    rows = np.random.default_rng(1).normal(size=(8, 6))
    theory = sr.layer(text).derive(positions=sr.Listed(8, mask="causal"))
    values, errors = [], []
    for seed in range(10, 42, 2):
        monkeypatch.setattr(listed_attention, "_SEED", seed)
        kernels = theory.kernels(3, rows @ rows.T / 6)
        values.append(kernels[-1]), errors.append(kernels.errors[-1])
    ratios = np.std(values, axis=0, ddof=1) / np.median(errors, axis=0)
    assert 0.3 < np.median(ratios) < 1.3 and ratios.max() < 2
