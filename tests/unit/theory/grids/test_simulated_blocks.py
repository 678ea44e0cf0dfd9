"""Networks of finite width with real windows, drawn here by definition, beside the theory of blocks on grids."""

import numpy as np
import pytest

import symres as sr

BLOCK = "gamma*z + Conv(relu({0}(Conv(relu({0}(z{1})), C_1, C_b){1})), C_2, C_b)"
NUMBERS = {"gamma": 0.8, "C_1": 1.5, "C_2": 2, "C_b": 0.1}
STEP = 1e-5
MORE = pytest.mark.exhaustive
CASES = {
    "torus": (sr.Torus(6), "wrap", 0),
    "torus of two axes": (sr.Torus(3, 4), "wrap", 0),
    "zero padding": (sr.Listed(5), "constant", 0),
    "zero padding of an image": (sr.Listed(3, 3), "constant", (0, 1)),
}


def with_gram(rng, covariances, width):
    """Neurons, shape (width, positions), whose Gram matrix is these covariances exactly."""
    frame = np.linalg.qr(rng.standard_normal((width, len(covariances))))[0]
    return np.sqrt(width) * frame @ np.linalg.cholesky(covariances).T


def normalised(z, axes):
    apart = z - z.mean(axis=axes, keepdims=True)
    return apart / np.sqrt((apart**2).mean(axis=axes, keepdims=True))


def convolved(weights, bias, u, shape, mode):
    """Every output from the window of 3 along each axis around it; ``mode`` of np.pad is what stands beyond edges."""
    padded = np.pad(u.reshape(-1, *shape), [(0, 0), *[(1, 1)] * len(shape)], mode=mode)
    total = np.zeros((len(u), *shape))
    for offset in np.ndindex((3,) * len(shape)):
        cut = (slice(start, start + count) for start, count in zip(offset, shape, strict=True))
        total += np.tensordot(weights[offset], padded[(slice(None), *cut)], axes=1)
    return total.reshape(u.shape) + bias[:, None]


def block(z, draws, shape, mode, axes):
    out = z
    for weights, bias in draws:
        out = convolved(weights, bias, np.maximum(normalised(out, axes), 0), shape, mode)
    return NUMBERS["gamma"] * z + out


def measured(covariances, shape, mode, axes, width=200, nets=120):
    """The Gram matrix behind a block, and the mean square of its change when the input moves by white noise."""
    rng, window, results = np.random.default_rng(1), (3,) * len(shape), []
    for _ in range(nets):
        draws = [
            (
                np.sqrt(NUMBERS[name] / 3 ** len(shape) / width) * rng.standard_normal((*window, width, width)),
                np.sqrt(NUMBERS["C_b"]) * rng.standard_normal(width),
            )
            for name in ("C_1", "C_2")
        ]
        z = with_gram(rng, covariances, width)
        direction = STEP * rng.standard_normal(z.shape)
        out, after, before = (block(x, draws, shape, mode, axes) for x in (z, z + direction, z - direction))
        change = ((after - before) ** 2).mean() / (2 * STEP) ** 2
        results.append(np.append(out.T @ out / width, change))
    return np.mean(results, axis=0), np.std(results, axis=0) / np.sqrt(nets)


@pytest.mark.parametrize("case", [pytest.param(case, marks=[MORE] * (" of " in case)) for case in CASES])
def test_blocks_of_real_windows(case):
    positions, mode, axes = CASES[case]
    places = np.array(list(np.ndindex(positions.shape)))
    apart = np.abs(places[:, None] - places)
    if mode == "wrap":
        apart = np.minimum(apart, np.array(positions.shape) - apart)
    covariances = 0.2 + 0.8 * np.exp(-apart.sum(axis=-1) / 2)
    if mode == "constant":  # and places differ
        sizes = 1 + np.arange(len(places)) / len(places)
        covariances *= np.sqrt(sizes[:, None] * sizes)
    theory = sr.layer(BLOCK.format("LayerNorm", ", positions" if axes else "")).derive(positions=positions)
    K = covariances[0].reshape(positions.shape) if mode == "wrap" else covariances
    kernel = theory.kernels(1, K, **NUMBERS)[-1]
    if mode == "wrap":
        displacements = (places[:, None] - places) % positions.shape
        kernel = kernel[tuple(np.moveaxis(displacements, -1, 0))]
    expected = np.append(kernel, float(theory.apjn(0, 1, K, **NUMBERS)))
    values, errors = measured(covariances, positions.shape, mode, axes)
    assert (errors < 0.02 * expected.max()).all()
    assert np.abs((values - expected) / errors).max() < 4
