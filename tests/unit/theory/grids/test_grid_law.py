"""Layers on grids beside the formulas of tokens and of dense layers, and at places where formulas have no value."""

import time

import numpy as np
import pytest

import symres as sr

TOKENS = 4
LAYERS = (
    "z/2 + Conv(gelu(LayerNorm(z)), 1.5, 0.1)",
    "Pool(z)/2 + Dense(relu(z - Pool(z)), 1, 0)",
    "Dense(Pool(relu(z)*z), 1, 0.2)",
    "h = Dense(z, 1, 0); z + Conv(tanh(h)*h, 1, 0)",
    "z + Pool(LayerNorm(z, positions))",
    "LayerNorm(z + Conv(erf(RMSNorm(relu(z))), 2, 0), positions)",
)
ATTENTIONS = (
    "z/2 + Attention(LayerNorm(z), 1.2, 0, 2, 1)",
    "Attention(z, 1, 0.3, 2, 1, C_bQ=0.5)",
    "Attention(z, 1, 0, 1, 2, keys=Dense(relu(z), 1, 0))",
    'Attention(z, 1, 0.1, 2, 2, scale="1/d")',
    'Attention(z, 1, 0, 3, scale="1/d", tied=True)',
)


@pytest.mark.sample(5)
@pytest.mark.parametrize("text", [*LAYERS, *ATTENTIONS])
def test_tokens_are_a_torus_and_listed(text):
    """Where all covariances of two positions are one, all three layouts have the same numbers."""
    layer, matrix = sr.layer(text), np.full((TOKENS, TOKENS), 0.3) + np.eye(TOKENS)
    of_tokens = layer.derive(positions=sr.Tokens(TOKENS))
    states = {sr.Listed(TOKENS): matrix} if "Conv" not in text else {}  # whose edges have zeros beyond
    states |= {sr.Torus(TOKENS): matrix[0]} if text not in ATTENTIONS else {}
    for positions, K in states.items():
        theory = layer.derive(positions=positions)
        last = theory.kernels(2, K)[-1].ravel()
        assert np.allclose(last[:2], [float(x) for x in of_tokens.kernels(2, 1.3, 0.3)[-1]], rtol=1e-12)
        assert np.allclose(last[: TOKENS - 1], [last[0], *last[1:2].repeat(TOKENS - 2)], rtol=1e-12)
        for tokens in ("one", "all"):
            expected = float(of_tokens.apjn(0, 2, 1.3, 0.3, tokens=tokens))
            assert float(theory.apjn(0, 2, K, tokens=tokens)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("phi", ["relu", "tanh"])
def test_an_image_of_a_thousand_pixels(phi):
    """Every displacement is a pair of the dense layer; an array of them takes the time of arrays."""
    theory, far = sr.conv_resnet(phi, C_1=1.5, C_2=2, C_b=0.1).derive(positions=sr.Torus(32, 32)), np.arange(32)
    rows = np.exp(-np.minimum(far, 32 - far) / 4)
    K = 0.3 + 0.7 * rows[:, None] * rows
    begin = time.process_time()
    kernel, slope = theory.kernels(1, K)[-1], theory.apjn(0, 1, K)
    assert time.process_time() - begin < 10
    for place in ((0, 1), (5, 9), (16, 16)):
        assert kernel[place] == pytest.approx(theory.covariance_map(1, float(K[place])), rel=1e-11)
    assert float(slope) == pytest.approx(theory.chi_perp(1, C=0), rel=1e-12)


@pytest.mark.parametrize("phi", ["relu", "gelu", "tanh", "abs(z)*tanh(z)"])
def test_places_that_are_one_or_multiples(phi):
    """Neurons at two places may be equal, or twice as large; there formulas of two variables may be 0/0."""
    K = np.array([[1, 1, 2], [1, 1, 2], [2, 2, 4.0]])
    layer = sr.layer("Dense(phi(z), 1, 0)", phi=phi)
    kernel = layer.derive(positions=sr.Listed(3)).kernels(1, K)[-1]
    dense = layer.derive()
    for i, j in ((0, 0), (0, 1), (0, 2), (2, 2)):
        assert kernel[i, j] == pytest.approx(dense.covariance_map(K[i, i], K[j, j], K[i, j]), rel=1e-12)
    assert np.array_equal(kernel, kernel.T)


def test_places_without_signal():
    dark = np.diag([0, 1.0, 1.0, 0])
    kernel = sr.layer("Conv(relu(z), 2, 0)").derive(positions=sr.Listed(4)).kernels(1, dark)[-1]
    assert np.allclose(kernel.diagonal(), np.array([1, 2, 2, 1]) / 3, rtol=1e-13)
    assert kernel[0, 3] == 0
    over_all = sr.layer("Conv(relu(LayerNorm(z, positions)), 2, 0)").derive(positions=sr.Listed(4))
    assert np.allclose(over_all.kernels(1, dark)[-1].diagonal(), np.array([2, 4, 4, 2]) / 3, rtol=1e-13)
    alone = sr.layer("Conv(relu(LayerNorm(z)), 2, 0)").derive(positions=sr.Listed(4))
    with pytest.raises(sr.DeclarationError, match="no direction"):
        alone.kernels(1, dark)


def test_numbers_that_overflow_come_from_balls():
    """Of exp(K/2) and its like, at kernels where neither has a number."""
    K = np.array([[1000, 600.0], [600, 1500]])
    kernel = sr.layer("Dense(selu(z), 1, 0)").derive(positions=sr.Listed(2)).kernels(1, K)[-1]
    dense = sr.layer("Dense(selu(z), 1, 0)").derive()
    assert kernel[0, 1] == pytest.approx(dense.covariance_map(1000, 1500, 600), rel=1e-12)


def test_norms_over_positions_take_a_mean_of_all():
    """ReLU at two places of kernels 1 and 4: averages over both by hand."""
    theory = sr.layer("Dense(LayerNorm(relu(z), positions), 1, 0)").derive(positions=sr.Listed(2))
    kernel = theory.kernels(1, np.diag([1, 4.0]))[-1]
    means, squares = np.array([1, 2]) / np.sqrt(2 * np.pi), np.array([1, 4]) / 2
    variance = squares.mean() - means.mean() ** 2
    expected = (np.diag(squares - means**2) + np.outer(means - means.mean(), means - means.mean())) / variance
    assert np.allclose(kernel, expected, rtol=1e-13)


def test_averages_over_positions_of_what_differs_are_refused():
    theory = sr.layer("z + Pool(LayerNorm(z))").derive(positions=sr.Listed(3))
    with pytest.raises(sr.UnsupportedLayer, match="numbers of their positions"):
        theory.kernels(1, np.eye(3))
    alike = sr.layer("z + Pool(LayerNorm(z))").derive(positions=sr.Torus(3))
    assert alike.kernels(1, [2, 0.5, 0.5])[-1][0] == pytest.approx(2 + 2 * np.sqrt(0.5) + 0.5)


@pytest.mark.parametrize(("C_Q", "most"), [(0.2, 6e-3), pytest.param(4, 2e-2, marks=pytest.mark.exhaustive)])
def test_listed_attention_has_errors_that_pass_on(C_Q, most):
    """Weak or sampled scores, of keys that do not turn, beside exact ones; errors of a layer go on in the next."""
    layer, K = sr.layer("z + Attention(LayerNorm(z), 1, 0, C_Q, 1)"), np.full((4, 4), 0.3) + np.eye(4)
    exact, theory = (layer.derive(positions=sr.Listed(4, rope=rope)) for rope in (None, [0, 0]))
    expected, kernels = (each.kernels(2, K, C_Q=C_Q) for each in (exact, theory))
    assert not any(error.any() for error in expected.errors)
    assert not kernels.errors[0].any()
    assert 0 < kernels.errors[1].max() < kernels.errors[2].max() < most
    for one, other, error in zip(kernels, expected, kernels.errors, strict=True):
        assert (np.abs(one - other) <= 3 * error).all()
    gradients = [each.apjn(0, 2, K, C_Q=C_Q) for each in (exact, theory)]
    assert gradients[0].error == 0
    assert abs(gradients[1] - gradients[0]) < 3 * gradients[1].error < 0.15 * gradients[0]


@pytest.mark.exhaustive
def test_tokens_of_a_random_gpt2():
    """Cosines of two tokens after blocks, T = 256, measured in three networks; and variances after the first."""
    norm = "LayerNorm(z, 1/100000)"
    text = (
        f"h = z + Attention({norm}, C_A, 0, C_1, C_1); h + Dense(gelu(Dense({norm.replace('z', 'h')}, C_1, 0)), C_2, 0)"
    )
    numbers = {"C_1": 768 * 0.02**2, "C_A": 768**2 * 0.02**4 / 24, "C_2": 4 * 768 * 0.02**2 / 24}
    theory = sr.layer(text).derive(positions=sr.Listed(256, mask="causal"))
    kernels = theory.kernels(11, 8e-4 * np.eye(256), **numbers)
    measured = {1: (0.1173, 0.0043), 2: (0.2150, 0.0109), 8: (0.4628, 0.0043), 11: (0.5015, 0.0041)}
    for depth, (cosine, error) in measured.items():
        lengths = np.sqrt(kernels[depth].diagonal())
        cosines = (kernels[depth] / np.outer(lengths, lengths))[np.triu_indices(256, 1)]
        assert abs(cosines.mean() - cosine) < 4 * error
    assert np.allclose(kernels[1].diagonal()[[0, -1]], [0.0104, 0.0063], rtol=0.04)
    assert (
        max(error.max() / kernel.max() for error, kernel in zip(kernels.errors, kernels, strict=True)) < 2e-3
    )  # bounds


@pytest.mark.parametrize(
    ("text", "positions", "K", "numbers", "said"),
    [
        ("Conv(z)", sr.Torus(3), [1, 0, 0], {}, "no value was passed for C_W, C_b"),
        ("Conv(z)", sr.Torus(3), [1, 0, 0], {"C_W": -1, "C_b": 0}, "C_W"),
        ("Conv(z, 1, 0)", sr.Torus(3), 1, {}, "no array of shape 3"),
        ("Conv(z, 1, 0)", sr.Torus(3), [1, 0.3, 0.2], {}, "not symmetric"),
        ("Conv(z, 1, 0)", sr.Torus(3), [1, -0.6, -0.6], {}, "eigenvalue is negative"),
        ("Conv(z, 1, 0)", sr.Listed(2), [[1, 2], [2, 1]], {}, "eigenvalue is negative"),
        ("Conv(z, 1, 0)", sr.Listed(2), [[1, np.nan], [2, 1]], {}, "not finite"),
        ("Conv(z, 1, 0, window=[[1, 2], [3, 4]])", sr.Torus(3), [1, 0, 0], {}, "has 2 axes"),
        ("z + Conv(z, 1, 0, stride=2)", sr.Torus(4), [1, 0, 0, 0], {}, "take equal strides"),
        ("Conv(z, 1, 0, stride=2)", sr.Torus(3), [1, 0, 0], {}, "do not close"),
        ("Conv(BatchNorm(z), 1, 0)", sr.Torus(3), [1, 0, 0], {}, "M, the covariance of two inputs"),
        ("Conv(BatchNorm(z), 1, 0)", sr.Torus(3), [1, 0, 0], {"M": 0.5}, "from 0 to the mean of K"),
        ("Conv(BatchNorm(z), 1, 0)", sr.Torus(3), [1, 0, 0], {"M": [0.2, 0.1, 0.1]}, "relative variance 0.0059"),
        ("Conv(BatchNorm(z), 1, 0)", sr.Listed(2), np.eye(2), {"M": 0.1}, "differs from channel to channel"),
        ("TokenMix(z, 1, 0)", sr.Torus(3), [1, 0, 0], {}, "unlike one another"),
        ("Attention(z, 1, 0)", sr.Torus(3), [1, 0, 0], {}, "not exchangeable"),
    ],
)
def test_refusals_on_grids(text, positions, K, numbers, said):
    with pytest.raises(sr.SymresError, match=said):
        sr.layer(text).derive(positions=positions).kernels(1, K, **numbers)


def test_waves_need_a_torus_without_pools():
    for text, positions, K in (
        ("Conv(z, 1, 0)", sr.Listed(2), np.eye(2)),
        ("Conv(z, 1, 0, stride=2)", sr.Torus(2), [1, 0]),
        ("z + Pool(z)", sr.Torus(2), [1, 0]),
    ):
        theory = sr.layer(text).derive(positions=positions)
        for modes in (theory.perpendicular_modes, theory.parallel_modes):
            with pytest.raises(sr.UnsupportedLayer, match="waves"):
                modes(1, K)
    with pytest.raises(sr.DeclarationError, match="no neighbours"):
        sr.derive("relu").perpendicular_modes(1, [1], C_W=1, C_b=0)


def test_jumps_have_gradients_without_a_mean_square():
    theory = sr.layer("Conv(step(z), 1, 0)").derive(positions=sr.Torus(4))
    assert theory.apjn(0, 1, [1, 0.5, 0.25, 0.5]) == np.inf


def test_strides_leave_fewer_positions():
    """Of a torus those at multiples of the stride, of a list those from the first on."""
    layer, K = (
        sr.layer("Conv(gelu(z), 2, 0.1, stride=2)"),
        0.2 + 0.8 * np.exp(-np.minimum(np.arange(8), 8 - np.arange(8))),
    )
    full = sr.layer("Conv(gelu(z), 2, 0.1)")
    once, twice = layer.derive(positions=sr.Torus(8)).kernels(2, K)[1:]
    assert np.allclose(once, full.derive(positions=sr.Torus(8)).kernels(1, K)[-1][::2], rtol=1e-14)
    assert twice.shape == (2,)
    matrix = K[(np.arange(8)[:, None] - np.arange(8)) % 8]
    of_list = layer.derive(positions=sr.Listed(8)).kernels(1, matrix)[-1]
    assert np.allclose(of_list, full.derive(positions=sr.Listed(8)).kernels(1, matrix)[-1][::2, ::2], rtol=1e-14)
    pooled = sr.network(["Conv(gelu(z), 2, 0, stride=2)", "Dense(Pool(z), 1, 0)"], positions=sr.Torus(8))
    assert float(pooled.apjn(0, 2, K)) == pytest.approx(float(sr.derive("Dense(gelu(z), 2, 0)").chi_perp(1)) / 4)


def test_parallel_modes_are_slopes():
    """The wave of length infinity is the whole kernel; normalised over positions other waves see no normaliser."""
    K, numbers = [1.3, 0.4, 0.2, 0.4], {"C_W": 1.7, "C_b": 0.2}
    for text in ("z/2 + Conv(gelu(z))", "z/2 + Conv(gelu(LayerNorm(z)))", "z/2 + Conv(gelu(LayerNorm(z, positions)))"):
        theory = sr.layer(text).derive(positions=sr.Torus(4))
        modes = theory.parallel_modes(1, K, **numbers)[0]
        assert modes[0] == pytest.approx(theory.chi_parallel(1.3, C=0, **numbers), rel=1e-12)
    frozen = sr.layer("z/2 + Conv(gelu(z/c))", c="sqrt(1.3)").derive(positions=sr.Torus(4))
    assert modes[2] == pytest.approx(frozen.parallel_modes(1, K, **numbers)[0][2], rel=1e-12)
