"""Layers with positions: rules across positions, layouts, nodes and their refusals."""

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.symbols import C, K, T, s, t
from symres.layers.across import Attend
from symres.layers.layouts import BATCH, MEAN, ONE, TWO, TWO_INPUTS, Exchangeable, Label, Layout
from symres.layers.positions import positions_of

TOKENS = Layout(ONE, Exchangeable(T))
SEQUENCES = Layout(TWO, Exchangeable(T))
ATTENTION = "Attention(z, C_A, 0, C_Q, C_K)"
FOUR = sr.layer("Attention(LayerNorm(z), 1, 0)").derive(positions=sr.Tokens(4))


def test_every_layout_has_its_classes():
    assert list(Layout().kernel.values()) == [K]
    assert [x.name for x in TWO_INPUTS.kernel.values()] == ["K1", "C", "K2"]
    assert list(BATCH.kernel.values()) == list(TOKENS.kernel.values()) == [K, C]
    assert [x.name for x in SEQUENCES.kernel.values()] == ["K1", "P1", "C", "E", "K2", "P2"]
    assert [SEQUENCES.index(*pair) for pair in SEQUENCES.pairs] == ["1a1a", "1a1b", "1a2a", "1a2b", "2a2a", "2a2b"]


def test_an_average_has_shares_of_both_classes():
    one, mean = Label(1, 1), Label(1, MEAN)
    for pair in ((one, mean), (mean, mean)):
        assert [share for _, share in TOKENS.shares(*pair)] == [1 / T, 1 - 1 / T]
    assert BATCH.shares(Label(MEAN), Label(1)) == (((Label(1), Label(2)), 1),)


def test_equal_sequences_are_one():
    """The covariances of a sequence with itself are its kernel and that of its tokens."""
    theory = sr.layer(ATTENTION).derive(positions=sr.Tokens(8))
    at = {"K1": 1, "K2": 1, "C": 1, "P1": 0.3, "P2": 0.3, "E": 0.3, "C_A": 1, "C_Q": 3, "C_K": 1}
    one = {"K": 1, "C": 0.3, "C_A": 1, "C_Q": 3, "C_K": 1}
    assert theory.sequence_map(**at) == pytest.approx(theory.kernel_map(**one), rel=1e-14)
    assert theory.sequence_cross_map(**at) == pytest.approx(theory.covariance_map(**one), rel=1e-14)


@pytest.mark.parametrize("equation", [ATTENTION, "Pool(z)", "Dense(Pool(z), 2, 0)", "Conv(z, 2, 0, 3)"])
def test_tangents_are_slopes_for_two_sequences(equation):
    """Equal sequences whose pair moves: differences of c' and e' in the direction (t, s), kernels being fixed."""
    theory, step = sr.layer(equation).derive(positions=sr.Tokens(5)), 1e-4
    numbers = {name: value for name, value in (("C_A", 1), ("C_Q", 2), ("C_K", 1)) if name in theory.parameter_names}
    own = {"K1": 1, "K2": 1, "P1": 0.4, "P2": 0.4} | numbers
    for name, slope in (("sequence_map", "tangent_map"), ("sequence_cross_map", "tangent_covariance_map")):
        moved = [theory.quantity(name)(C=1 - x, E=0.4 - 0.7 * x, **own) for x in (0, step, 2 * step)]
        expected = (3 * moved[0] - 4 * moved[1] + moved[2]) / (2 * step)
        found = theory.quantity(slope)(K=1, C=0.4, t=1, s=0.7, **numbers)
        assert found == pytest.approx(expected, rel=1e-6)


def drawn(inputs, heads, seed, tied):
    """Outputs of attention with C_Q = 4 by its definition, for inputs of shape (n, tokens): a network of many heads."""
    rng, (n, tokens), d = np.random.default_rng(seed), inputs.shape, 64
    out = np.zeros((n, tokens))
    for _ in range(heads):
        W_Q, W_K, W_V = (rng.normal(size=(d, n)) / np.sqrt(n) for _ in range(3))
        W_Q = 2 * W_Q
        W_K = W_Q if tied else W_K
        scores = (W_Q @ inputs).T @ (W_K @ inputs) / (d if tied else np.sqrt(d))
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        out += rng.normal(size=(n, d)) @ (W_V @ inputs @ weights.T) / np.sqrt(heads * d)
    return out


@pytest.mark.parametrize("tied", [False, True])
def test_drawn_heads_have_these_kernels(tied):
    """Inputs with exact Gram numbers, eight networks of 64 heads: five standard errors, and one per cent for d = 64."""
    n, tokens, p = 256, 6, 0.4
    gram = (1 - p) * np.eye(tokens) + p
    rows = np.linalg.qr(np.random.default_rng(0).normal(size=(n, tokens)))[0] * np.sqrt(n)
    inputs = rows @ np.linalg.cholesky(gram).T
    text = 'Attention(z, 1, 0, 4, 1, tied=True, scale="1/d")' if tied else "Attention(z, 1, 0, 4, 1)"
    theory = sr.layer(text).derive(positions=sr.Tokens(tokens))
    found = []
    for seed in range(8):
        out = drawn(inputs, 64, seed, tied)
        measured = out.T @ out / n
        own, other = measured.trace() / tokens, (measured.sum() - measured.trace()) / tokens / (tokens - 1)
        found.append((own, other, own - other))
    means, errors = np.mean(found, 0), np.std(found, 0) / np.sqrt(7)
    own, other = theory.kernel_map(K=1, C=p), theory.covariance_map(K=1, C=p)
    assert (np.abs(means - (own, other, own - other)) < 5 * errors + 0.01 * own).all()
    assert means[2] > 8 * errors[2] + 0.02 * own  # scores without effect would make all tokens equal


def test_tied_heads_turn_with_rotary_embeddings():
    """One head of 200,000 pairs of neurons, so wide that its scores are sharp."""
    gram, turns, pairs = 0.5 * np.eye(4) + 0.5, (1.0, 0.3), 100_000
    root, places = np.linalg.cholesky(gram), np.arange(4)
    weights = np.random.default_rng(0).normal(size=(len(turns), 2, pairs, 4)) * np.sqrt(2)
    heads = np.einsum("fspn,an->fspa", weights, root)
    turned = [np.exp(1j * f * places) * (h[0] + 1j * h[1]) for f, h in zip(turns, heads, strict=True)]
    scores = sum((h[:, :, None] * h[:, None].conj()).real.sum(0) for h in turned) / (2 * pairs * len(turns))
    for mask in (None, "causal"):
        softmax = np.exp(scores) * (np.tril(np.ones((4, 4))) if mask else 1)
        softmax /= softmax.sum(1, keepdims=True)
        layer = sr.layer('Attention(z, 1, 0, 2, 1, scale="1/d", tied=True)')
        kernels = layer.derive(positions=sr.Listed(4, mask=mask, rope=turns)).kernels(1, gram)
        assert kernels[1] == pytest.approx(softmax @ gram @ softmax.T, abs=3e-3)
        assert not kernels.errors[1].any()


def test_one_token_attends_to_itself():
    for text in (ATTENTION, 'Attention(z, C_A, 0, C_Q, C_K, scale="1/d")'):
        assert sr.layer(text).derive(positions=sr.Tokens(1)).kernel_map.expr == sp.Symbol("C_A", positive=True) * K
    tied = sr.layer('z + Attention(z, 1/2, 0, 2, 1, scale="1/d", tied=True)').derive(positions=sr.Tokens(1))
    assert [float(kernel) for kernel, _ in tied.kernels(2, K=1, C=1)] == [1, 1.5, 2.25]


def test_queries_of_another_source():
    """Cross-attention with the same source is self-attention, but for the names of what it reads."""
    h = sr.Dense(sr.z, 1, 0)
    cross = sr.Layer(sr.Attention(h, 1, 0, 2, 1, keys=h)).derive(positions=sr.Tokens(4))
    itself = sr.Layer(sr.Attention(h, 1, 0, 2, 1)).derive(positions=sr.Tokens(4))
    assert cross.kernel_map(K=1, C=0.5) == pytest.approx(itself.kernel_map(K=1, C=0.5), rel=1e-14)
    one = sr.layer(ATTENTION)
    assert one.program.draws[0].across == Attend(*sp.symbols("C_Q C_K", positive=True), sp.S.Zero)


def test_a_pool_of_neurons_is_their_average():
    theory = sr.layer("z/2 + Pool(z)/2").derive(positions=sr.Tokens(2))
    assert sp.expand(theory.kernel_map.expr - (5 * K / 8 + 3 * C / 8)) == 0
    assert sp.expand(theory.tangent_map.expr - (5 * t / 8 + 3 * s / 8)) == 0


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sr.layer("Attention(z, tied=True)"), "grows like the square root of d_head"),
        (lambda: sr.layer('Attention(z, scale="2")'), "scale 2"),
        (lambda: sr.layer('Attention(z, 1, 0, scale="1/d", tied=True, keys=-z)'), "keys of different streams"),
        (lambda: sr.layer("Attention(z, 1, 0, -2, 1)"), "attention with C_Q = -2: a variance is not negative"),
        (lambda: sr.layer("Attention(z, 1, 0, C_bV=-1/2)"), "attention with C_bV = -1/2"),
        (
            lambda: sr.derive("relu", layer="transformer", positions=16),
            "positions=16: it is not a layout of positions; pass",
        ),
        (lambda: sr.network([sr.transformer("relu")], positions="causal"), "the positions causal: they cannot be read"),
        (lambda: sr.Listed(2, mask=[[1, 0.5], [1, 1]]), "other entries than True"),
        (
            lambda: sr.derive(sr.transformer("relu", C_A=1, C_1=1, C_2=1), positions=sr.Tokens(4)).kernels(1, 0, 0),
            "K = 0",
        ),
        (lambda: sr.layer("z + Conv(LayerNorm(z), 1, 0)").derive(positions=sr.Torus(4)).kernels(1, 0, 0), "K = 0"),
        (lambda: sr.mixer("erf", C_1=1, C_2=1).derive().kernels(1, 1, C=0.8), "kernel_map at C = 0.8: mixing makes"),
        (lambda: sr.mixer("erf", C_1=1, C_2=1).derive().covariance_map(1, 0.3), "covariance_map at C = 0.3: mixing"),
        (
            lambda: sr.mixer("erf", C_1=1, C_2=1).derive().tangent_map(K=1, C=0, t=1, s=1),
            "tangent_map at s = 1: mixing",
        ),
        (lambda: sr.layer("phi(Pool(phi(z))) + z", phi="relu"), "not Gaussian"),
        (lambda: sr.layer("z + Pool(relu(z))"), "mean of activations over positions"),
        (lambda: sr.mixer("relu").derive(positions=sr.Tokens("oo")).kernel_map, "unlike one another"),
        (lambda: sr.mixer("erf").derive(positions=sr.Tokens(16)).kernel_map, "unlike one another"),
        (lambda: sr.layer("Conv(relu(z), stride=2)").derive().kernel_map, "fewer positions"),
        (lambda: sr.conv_resnet("relu", norm="batch").derive().kernel_map, "no variance over a batch"),
        (lambda: sr.layer("TokenMix(z, 1, C_b)").derive().kernel_map, "biases of positions"),
        (lambda: sr.Tokens(0), "not a number of tokens"),
        (lambda: sr.Tokens(8, mask="causal"), "tokens with mask: they are alike.*positions=sr.Listed"),
        (lambda: positions_of("Tokens(8, rope=100)"), "positions=sr.Listed"),
        (lambda: sr.layer("Attention(z, 1, 0, heads=4)"), "'heads' that the node does not have.*mixture of Gaussians"),
        (lambda: sr.layer('Attention(z, 1, 0, mask="causal")'), "positions=sr.Listed"),
        (lambda: sr.layer("Conv(z, 1, 0, width=3)"), "its arguments are u, C_W, C_b, size, window, stride"),
        (lambda: sr.layer('tanh("z")'), "unexpected"),
        (lambda: sr.Tokens("1/2"), "not a number of tokens"),
        (lambda: positions_of("Tokens"), "cannot be read"),
        (lambda: sr.transformer("relu", norm="batch"), "pass layer or rms"),
        (lambda: sr.layer(ATTENTION).derive().kernel_map(K=1, C=0, C_A=1, C_Q=1, C_K=1), "needs a number of tokens"),
        (
            lambda: sr.layer(ATTENTION).derive(positions=sr.Tokens(4)).kernel_map(K=1, C=-0.5, C_A=1, C_Q=1, C_K=1),
            "no 4 places have these covariances",
        ),
        (lambda: FOUR.apjn(0, 1, 1, 0, tokens="both"), 'tokens=both: it is unknown; pass "one", or "all"'),
        (lambda: FOUR.apjn(1, 0, 1, 0), "from layer 1 to layer 0 of"),
        (lambda: FOUR.sequence_map(K1=1, P1=-0.9, K2=2, P2=0.3, C=0.1, E=0.1), "pass -1/3 <= P1 <= K1"),
        (lambda: FOUR.sequence_map(K1=1, P1=0.2, K2=2, P2=0.3, C=0.5, E=1.3), "no two sequences of 4 tokens"),
        (lambda: FOUR.sequence_map(K1=1, P1=0.2, K2=2, P2=0.3, C=1.4, E=-1.4), "no two sequences of 4 tokens"),
        (lambda: sr.derive("relu", layer="transformer").jacobian(0, 1, 1, C=0), "tokens move one another"),
        (lambda: sr.derive("relu").similarity(2, 1, 0, C_W=1, C_b=0), "have no positions"),
        (lambda: sr.derive("relu", layer="transformer").vertex(2, 1), "without positions"),
    ],
)
def test_refusals(ask, said):
    with pytest.raises(sr.SymresError, match=said):
        ask()


def test_covariances_at_the_edge_may_be_rounded():
    sixteen = sr.layer("z + Attention(z, 1, 0)").derive(positions=sr.Tokens(16))
    assert float(sixteen.kernels(1, 1, -1 / 15)[0][1]) == -1 / 15
    assert sixteen.kernel_map(K=1, C=-1 / 15) == pytest.approx(float(sixteen.kernel_map(K=1, C="-1/15")), rel=1e-12)


def test_texts_read_as_they_are_written():
    for text in (
        "h = z + Attention(LayerNorm(z)); h + Dense(relu(h))",
        "z + Conv(relu(z), 1, 0, size=5)",
        "Attention(z, tied=False)",
        'Attention(z, 1, 0, 2, 1, "1/d", tied=True)',
    ):
        layer = sr.layer(text)
        assert sr.layer(layer.text) == layer
