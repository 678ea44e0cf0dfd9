"""Kernels between images: by the published recursion of relu, by the theory of one image, of wide random networks."""

import itertools

import numpy as np
import pytest

import symres as sr
import symres.kernels
from symres.core.errors import DeclarationError, UnsupportedLayer

GAP = ["Conv(z)", "Conv(relu(z), stride=2)", "Conv(relu(z))", "Dense(Pool(relu(z)))"]
OWN = {"C_W": 1.8, "C_b": 0.1}
IMAGES = np.random.default_rng(0).standard_normal((3, 4, 4, 2))
OTHERS = np.random.default_rng(1).standard_normal((2, 4, 4, 2)) + 0.5 * IMAGES[:1]


def averages(C, k1, k2):
    """<relu relu> and <step step> of Cho and Saul."""
    size = np.sqrt(k1 * k2)
    angle = np.arccos(np.clip(C / size, -1, 1))
    return size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi), (np.pi - angle) / (2 * np.pi)


def windowed(F, shape, stride, is_circular):
    """Sums over a window of three by three, pair by pair, over nine."""
    kept = list(itertools.product(*(range(0, n, stride) for n in shape)))
    offsets = list(itertools.product((-1, 0, 1), repeat=2))

    def place(pixel, offset):
        moved = tuple(a + b for a, b in zip(pixel, offset, strict=True))
        if is_circular:
            moved = tuple(a % n for a, n in zip(moved, shape, strict=True))
        inside = all(0 <= a < n for a, n in zip(moved, shape, strict=True))
        return np.ravel_multi_index(moved, shape) if inside else None

    out = np.zeros((len(kept), len(kept)))
    for (i, one), (j, other) in itertools.product(enumerate(kept), repeat=2):
        for offset in offsets:
            a, b = place(one, offset), place(other, offset)
            out[i, j] += 0 if a is None or b is None else F[a, b] / 9
    return out


def published(x, y, is_circular, C_W, C_b):
    """Kernel and tangent kernel of a convolutional network with global average pooling (Arora et al. 2019), relu."""
    shape, flat = x.shape[:2], [image.reshape(-1, image.shape[-1]) for image in (x, y)]
    both = np.concatenate(flat)
    K = both @ both.T / both.shape[1]
    count, Theta = len(flat[0]), np.zeros((len(flat[0]), len(flat[1])))
    for number, stride in enumerate((1, 2, 1, None)):
        F, slopes = (K, np.ones_like(K)) if number == 0 else averages(K, K.diagonal()[:, None], K.diagonal())
        change = slopes[:count, count:] * Theta
        if stride is None:
            C = C_b + C_W * F[:count, count:].mean()
            return C, C + C_W * change.mean()
        blocks = [[windowed(F[a, b], shape, stride, is_circular) for b in cut(count)] for a in cut(count)]
        K, change = C_b + C_W * np.block(blocks), windowed(change, shape, stride, is_circular)
        shape = tuple(-(-n // stride) for n in shape)
        count = int(np.prod(shape))
        Theta = K[:count, count:] + C_W * change


def cut(count):
    return slice(0, count), slice(count, None)


@pytest.mark.parametrize("positions", [sr.Torus(4, 4), sr.Listed(4, 4)], ids=["circular", "zeros"])
def test_a_network_with_a_pool_is_the_published_recursion(positions):
    net = sr.network(GAP, positions=positions)
    C, Theta = symres.kernels.image_kernels(net, IMAGES, OTHERS, **OWN)
    assert C.shape == Theta.shape == (3, 2)
    for n, m in itertools.product(range(3), range(2)):
        exact = published(IMAGES[n], OTHERS[m], isinstance(positions, sr.Torus), **OWN)
        assert (C[n, m], Theta[n, m]) == pytest.approx(exact, rel=1e-12)
    square = symres.kernels.image_kernels(net, IMAGES, **OWN)
    for n, matrix in enumerate(square):
        assert np.array_equal(matrix, matrix.T)
        exact = published(IMAGES[1], IMAGES[1], isinstance(positions, sr.Torus), **OWN)[n]
        assert matrix[1, 1] == pytest.approx(exact, rel=1e-7)  # pixels with themselves: arccos(1) there


BLOCKS = ["Conv(z)", "z/2 + Conv(erf(LayerNorm(z)))", "Conv(erf(z))"]


@pytest.mark.parametrize("last", ["Dense(erf(z))", "Dense(Pool(erf(z)))"])
def test_an_image_with_itself_is_the_theory_of_its_pixels(last):
    """Residual, with normalisation, with zeros beyond the edges; the tangent kernel by steps of the weights."""
    net = sr.network([*BLOCKS, last], positions=sr.Listed(4, 4))
    C, _ = symres.kernels.image_kernels(net, IMAGES[:1], **OWN)
    pixels = IMAGES[0].reshape(16, 2)
    exact = net.kernels(pixels @ pixels.T / 2, **OWN)[-1]
    if C.ndim == 2:
        assert C[0, 0] == pytest.approx(exact[0, 5], rel=1e-12)
    else:
        np.testing.assert_allclose(C[0, 0].ravel(), exact.diagonal(), rtol=1e-12)


def test_of_equal_images_without_a_pool_the_tangent_kernel_is_a_sum_of_squared_gradients():
    """``sum_l apjn(l, L) (kernel behind l)`` where pixels are alike: each layer adds its kernel."""
    net = sr.network(["Conv(z)", "Conv(relu(z))", "Dense(relu(z))"], positions=sr.Torus(4))
    x = np.full((1, 4, 1), 1.3)
    C, Theta = symres.kernels.image_kernels(net, x, **OWN)
    kernels = [k.flat[0] for k in net.kernels(np.full(4, 1.69), **OWN)]
    gains = [net.apjn(place, 3, np.full(4, 1.69), tokens="all", **OWN) for place in (1, 2, 3)]
    np.testing.assert_allclose(C, np.full((1, 1, 4), kernels[-1]), rtol=1e-12)
    exact = sum(float(gain) * k for gain, k in zip(gains, kernels[1:], strict=True))
    np.testing.assert_allclose(Theta, np.full((1, 1, 4), exact), rtol=1e-12)


@pytest.mark.exhaustive
def test_wide_random_networks_have_these_kernels():
    """The covariance over networks of 256 channels; within 4 standard errors, which are at most 1 % of it."""
    rng, width, nets = np.random.default_rng(2), 256, 400
    exact, _ = symres.kernels.image_kernels(sr.network(GAP, positions=sr.Torus(4, 4)), IMAGES, **OWN)
    found = []
    for _ in range(nets):
        x = IMAGES
        for number, stride in enumerate((1, 2, 1)):
            u = x if number == 0 else np.maximum(x, 0)
            weights = rng.standard_normal((3, 3, u.shape[-1], width)) * np.sqrt(OWN["C_W"] / (9 * u.shape[-1]))
            moved = [
                np.roll(u, (1 - a, 1 - b), (1, 2)) @ weights[a, b] for a, b in itertools.product(range(3), repeat=2)
            ]
            x = (sum(moved) + rng.standard_normal(width) * np.sqrt(OWN["C_b"]))[:, ::stride, ::stride]
        pooled = np.maximum(x, 0).mean((1, 2))
        found.append(OWN["C_W"] * pooled @ pooled.T / width + OWN["C_b"])
    error = np.std(found, axis=0) / np.sqrt(nets)
    assert (error < 0.01 * exact).all()
    assert (np.abs(np.mean(found, axis=0) - exact) < 4 * error).all()


@pytest.mark.parametrize(
    ("layers", "positions", "images", "needle"),
    [
        (GAP, sr.Torus(4, 4), IMAGES[:, :3], "shape"),
        (GAP, sr.Torus(4, 4), IMAGES * np.nan, "not finite"),
        (["relu"], None, IMAGES, "no grid of pixels"),
        (["Attention(z)"], sr.Listed(4, 4), IMAGES, "none of images"),
        (["Dense(Pool(relu(z)))", "relu"], sr.Torus(4, 4), IMAGES, "behind a pool"),
        (["z + Conv(z, stride=2)"], sr.Torus(4, 4), IMAGES, "several grids"),
        (["Conv(z, stride=3)", "relu"], sr.Torus(4, 4), IMAGES, "close the circle"),
    ],
)
def test_what_is_no_network_of_images_is_refused(layers, positions, images, needle):
    net = sr.network(layers, positions=positions)
    with pytest.raises((DeclarationError, UnsupportedLayer), match=needle):
        symres.kernels.image_kernels(net, images, **{k: v for k, v in OWN.items() if k in net.parameter_names})
