"""Tangent kernels of the weights of attention, and its entropy."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.functions.balls import evaluate
from symres.functions.records.softmax_family import SoftmaxEntropy
from symres.numerics.softmax_entropy import softmax_entropy

LETTERS = ("Q", "K", "V", "O")
TOKENS, WIDTH, HEADS, HEAD = 6, 128, 48, 64
VARIANCES = {"C_Q": 2, "C_K": 1.5, "C_V": 0.8, "C_O": 0.5, "C_bQ": 0.6, "C_bV": 0.3}
KERNEL, COVARIANCE = 1.0, 0.4


def gradients(inputs, seed):
    """Sums of products of derivatives of outputs in standard normal weights, by definition, in drawn heads."""
    rng, C = np.random.default_rng(seed), VARIANCES
    totals = {letter: np.zeros((TOKENS, TOKENS)) for letter in LETTERS} | {"H": 0.0}
    gram = inputs.T @ inputs / WIDTH
    for _ in range(HEADS):
        queries, keys, values = (rng.normal(size=(HEAD, WIDTH)) @ inputs / np.sqrt(WIDTH) for _ in range(3))
        queries = np.sqrt(C["C_Q"]) * queries + np.sqrt(C["C_bQ"]) * rng.normal(size=(HEAD, 1))
        keys = np.sqrt(C["C_K"]) * keys
        values = np.sqrt(C["C_V"]) * values + np.sqrt(C["C_bV"]) * rng.normal(size=(HEAD, 1))
        scores = queries.T @ keys / np.sqrt(HEAD)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        totals["H"] += -(weights * np.log(weights)).sum(1).mean() / np.log(TOKENS) / HEADS
        outputs = rng.normal(size=(WIDTH, HEAD)) * np.sqrt(C["C_O"] / (HEADS * HEAD))
        heads = values @ weights.T
        totals["O"] += C["C_O"] * heads.T @ heads / (HEADS * HEAD)
        totals["V"] += C["C_V"] * (outputs**2).sum(1).mean() * weights @ gram @ weights.T
        read = outputs @ values  # what each key gives to each output
        slopes = weights * (read[:, None, :] - np.einsum("ab,ib->ia", weights, read)[:, :, None])  # in the scores
        along = np.einsum("iab,jb->ija", slopes, keys).reshape(-1, TOKENS)
        totals["Q"] += C["C_Q"] * gram * (along.T @ along) / (HEAD * WIDTH)
        between = np.einsum("iab,bd,icd->ac", slopes, gram, slopes, optimize=True) / WIDTH
        totals["K"] += C["C_K"] * (queries.T @ queries) / HEAD * between
    return totals


def test_tangent_kernels_of_drawn_heads():
    """Inputs with exact Gram numbers, twelve networks: five standard errors, and 2 % for heads of 64 neurons."""
    gram = (KERNEL - COVARIANCE) * np.eye(TOKENS) + COVARIANCE
    rows = np.linalg.qr(np.random.default_rng(0).normal(size=(WIDTH, TOKENS)))[0] * np.sqrt(WIDTH)
    drawn = [gradients(rows @ np.linalg.cholesky(gram).T, seed) for seed in range(12)]
    text = "Attention(z, C_V*C_O, 0, C_Q, C_K, C_bQ=C_bQ, C_bV=C_bV, C_O=C_O)"
    theory = sr.layer(text).derive(positions=sr.Tokens(TOKENS))
    numbers = VARIANCES | {"K": KERNEL, "C": COVARIANCE}
    for letter in LETTERS:
        own = [np.trace(totals[letter]) / TOKENS for totals in drawn]
        other = [(totals[letter].sum() - np.trace(totals[letter])) / TOKENS / (TOKENS - 1) for totals in drawn]
        for quantity, measured in zip(theory.tangent_kernel_of(letter), (own, other), strict=True):
            names = {s.name for s in quantity.symbols}
            value = float(quantity.evalf(12, **{name: x for name, x in numbers.items() if name in names}))
            error = np.std(measured, ddof=1) / np.sqrt(len(measured))
            assert abs(np.mean(measured) - value) < 5 * error + 0.02 * value, (letter, quantity.name)
            assert error < 0.02 * value  # a factor that is missing would be seen
    entropies = [totals["H"] for totals in drawn]
    (value,) = theory.entropy(1, **numbers)
    assert abs(np.mean(entropies) - float(value)) < 5 * np.std(entropies, ddof=1) / np.sqrt(12) + 0.005
    assert 0.5 < value < 0.9


def test_a_weight_that_is_none_of_attention():
    theory = sr.derive("relu", layer="transformer", positions=sr.Tokens(4))
    with pytest.raises(sr.DeclarationError, match="no weights of this name"):
        theory.tangent_kernel_of("W")
    with pytest.raises(sr.DeclarationError, match="has no attention"):
        sr.derive("relu").tangent_kernel_of("Q")


def test_entropies_along_a_stack():
    """Tokens that become alike attend to all others alike; tied scores at 1/d have weights without scatter."""
    at = {"K": 1, "C": 0.1, "C_A": 1, "C_1": 1, "C_2": 1}
    entropies = sr.derive("gelu", layer="transformer", positions=sr.Tokens(16)).entropy(4, **at)
    assert len(entropies) == 4
    assert sorted(entropies) == entropies
    assert entropies[0] == pytest.approx(softmax_entropy(0.9, 16) / np.log(16), rel=1e-12)
    tied = sr.derive('Attention(z, 1, 0, 2, tied=True, scale="1/d")', positions=sr.Tokens(4))
    weights = np.array([np.exp(2 * 0.7), 1, 1, 1]) / (np.exp(2 * 0.7) + 3)
    assert float(tied.entropy(1, K=1, C=0.3)[0]) == pytest.approx(-(weights * np.log(weights)).sum() / np.log(4))
    two = sr.derive("Attention(z, 1, 0, 4) + Attention(z, 1, 0, 1)", positions=sr.Tokens(4))
    expected = (softmax_entropy(4.0, 4) + softmax_entropy(1.0, 4)) / 2 / np.log(4)
    assert float(two.entropy(1, K=1, C=0)[0]) == pytest.approx(expected, rel=1e-12)


def test_no_entropies():
    with pytest.raises(sr.DeclarationError, match="has no attention"):
        sr.derive("Pool(z)", positions=sr.Tokens(4)).entropy(1, K=1, C=0)
    with pytest.raises(sr.DeclarationError, match="have no positions"):
        sr.derive("relu").entropy(1, K=1, C=0, C_W=2, C_b=0)
    with pytest.raises(sr.DeclarationError, match="needs a number of tokens"):
        sr.derive("Attention(z, 1, 0)").entropy(1, K=1, C=0)
    assert sr.derive("Attention(z, 1, 0)", positions=sr.Tokens(1)).entropy(2, K=1, C=1) == [1, 1]


def test_the_slope_of_the_entropy():
    variance, step = sp.Symbol("S", positive=True), 1e-3
    slope = SoftmaxEntropy(variance, sp.Integer(9)).diff(variance)
    expected = (softmax_entropy(2 + step, 9) - softmax_entropy(2 - step, 9)) / (2 * step)
    assert float(evaluate(slope, {variance: 2}, 10)[0]) == pytest.approx(expected, rel=1e-6)


def test_all_weights_of_a_transformer_count():
    """Two attentions of one layer draw apart: their kernels add up behind a dense layer too."""
    one = sr.layer("Dense(Attention(z, 1, 0, 2, 1), 3, 0)").derive(positions=sr.Tokens(4))
    two = sr.layer("Dense(Attention(z, 1, 0, 2, 1) + Attention(z, 1, 0, 2, 1), 3, 0)").derive(positions=sr.Tokens(4))
    for single, double in zip(one.tangent_kernel_of("Q"), two.tangent_kernel_of("Q"), strict=True):
        assert double(K=1, C=0.3) == pytest.approx(2 * single(K=1, C=0.3), rel=1e-13)
