"""Grids of positions: windows, pairs, waves, texts, and what is refused."""

import pickle

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.layers.across import Across, GridGrams, Window
from symres.layers.positions import positions_of

RNG = np.random.default_rng(3)


def covariances(count):
    factor = RNG.standard_normal((count, 2 * count))
    return factor @ factor.T / count


def window_by_definition(gram, shape, weights, stride, is_circular):
    """The sum over the window of each pair of outputs, place by place."""
    places = list(np.ndindex(shape))
    outputs = [place for place in places if all(x % stride == 0 for x in place)]
    total = np.zeros((len(outputs), len(outputs)))
    for at in np.ndindex(weights.shape):
        offset = np.array(at) - (np.array(weights.shape) - 1) // 2
        for i, one in enumerate(outputs):
            for j, other in enumerate(outputs):
                moved = [tuple(place + offset) for place in (one, other)]
                if is_circular:
                    moved = [tuple(np.array(place) % shape) for place in moved]
                if all(place in places for place in moved):
                    total[i, j] += weights[at] * gram[places.index(moved[0]), places.index(moved[1])]
    return total


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 2, 2)])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_of_images(shape, size, stride):
    grid, gram = sr.Listed(*shape), covariances(int(np.prod(shape)))
    rule = Window(size, stride)
    weights = rule.weights(grid)
    assert weights.shape == (size,) * len(shape)
    assert weights.sum() == pytest.approx(1)
    found = rule.averaged(GridGrams(grid, [gram], float), gram)
    assert np.allclose(found, window_by_definition(gram, shape, weights, stride, False), rtol=1e-13)


def test_windows_of_a_torus():
    """Displacements keep their covariance; of those that a stride leaves the reverse is left too."""
    grid, kernel = sr.Torus(4, 6), RNG.random((4, 6))
    places = np.array(list(np.ndindex(4, 6)))
    displacements = (places[None] - places[:, None]) % (4, 6)
    gram = kernel[displacements[..., 0], displacements[..., 1]]
    for stride in (1, 2):
        weights = RNG.random((3, 3))
        weights /= weights.sum()
        expected = window_by_definition(gram, (4, 6), weights, stride, True)[0]
        assert np.allclose(grid.window(kernel, weights, stride).ravel(), expected, rtol=1e-13)
    assert grid.strided(2) == sr.Torus(2, 3)


@pytest.mark.parametrize("window", [[1, 1, 1], [1, 2, 3], [1, 1], [[1, 2, 1], [0, 3, 0], [1, 2, 1]]])
def test_gains_of_waves(window):
    """A wave of variances on a torus, and the sums over its windows."""
    shape = (6,) if np.ndim(window) == 1 else (6, 4)
    grid, weights = sr.Torus(*shape), np.array(window) / np.sum(window)
    gains = grid.gains(weights).reshape(shape)
    for wave in np.ndindex(shape):
        phases = [2 * np.pi * k * x / count for k, x, count in zip(wave, np.indices(shape), shape, strict=True)]
        values = np.exp(1j * sum(phases))
        moved = sum(
            weights[at] * np.roll(values, (np.array(weights.shape) - 1) // 2 - at, axis=tuple(range(len(shape))))
            for at in np.ndindex(weights.shape)
        )
        assert np.allclose(moved, gains[wave] * values, atol=1e-14)


def test_texts_of_positions_are_read():
    for text in ("Tokens(16)", "Tokens(oo)", "Torus(8)", "Torus(8, 8)", "Listed(4)", 'Listed(8, mask="causal")'):
        assert str(positions_of(text)) == text
        assert pickle.loads(pickle.dumps(positions_of(text))) == positions_of(text)
    assert positions_of("Listed(2, 3)") == sr.Listed(2, 3) != sr.Torus(2, 3)
    assert positions_of("Listed(8, mask=None)") == sr.Listed(8)
    assert positions_of("Listed(8, rope=10000)") == sr.Listed(8, rope=1e4)
    assert str(positions_of("Listed(8, rope=[1, 0.1])")) == "Listed(8, rope=array)"


def test_masks_and_frequencies():
    """A mask of an array, as it is after a stride; a base is 64 frequencies."""
    assert sr.Listed(3, mask=np.tril(np.ones((3, 3)))) == sr.Listed(3, mask="causal")
    seen = np.eye(4, dtype=bool) | (np.arange(4) == 2)
    grid = sr.Listed(4, mask=seen)
    assert np.array_equal(grid.visible, seen)
    assert pickle.loads(pickle.dumps(grid)) == grid != sr.Listed(4)
    assert np.array_equal(grid.strided(2).visible, seen[::2, ::2])
    turns = sr.Listed(3, rope=10000).frequencies
    assert len(turns) == 64
    assert turns[32] == pytest.approx(0.01, rel=1e-14)
    assert sr.Listed(3, rope=[1, 0.5]).frequencies == (1, 0.5)


def test_norms_over_positions_are_written_as_they_are_read():
    layer = sr.layer("z + Conv(relu(LayerNorm(z, positions)))")
    assert layer == sr.layer('z + Conv(relu(LayerNorm(z, over="positions")))')
    assert layer.text == sr.layer(layer.text).text == "z + Conv(relu(LayerNorm(z, positions)))"
    assert layer != sr.layer("z + Conv(relu(LayerNorm(z)))")
    assert r"\mathrm{positions}" in sr.LayerNorm(sr.z, over="positions")._repr_latex_()
    theory = layer.derive(positions=sr.Tokens(4))  # where positions are alike, both are one
    assert theory.kernel_map.expr == sr.layer("z + Conv(relu(LayerNorm(z)))").derive().kernel_map.expr


def test_formulas_of_a_torus_are_those_of_a_dense_layer():
    of_torus = sr.layer("z/2 + Conv(relu(z))").derive(positions=sr.Torus(8, 8))
    dense = sr.layer("z/2 + Dense(relu(z))").derive()
    numbers = {"C_W": 1.5, "C_b": 0.1}
    assert of_torus.chi_perp.expr == dense.chi_perp.expr
    assert of_torus.covariance_map(2, 0.7, **numbers) == pytest.approx(dense.covariance_map(2, 2, 0.7, **numbers))


def test_windows_are_written_as_they_are_read():
    for window in ([1, 2, 1], [[1, 2], [0, sr.core.scalars.number("1/3", "share")]]):
        layer = sr.Layer(sr.Conv(sr.z, 1, 0, window=window))
        assert sr.layer(layer.text) == layer != sr.Layer(sr.Conv(sr.z, 1, 0, len(window)))
    assert sr.layer("Conv(z, window=[1, 1/2, 0.25])").text == "Conv(z, window=[1, 1/2, 1/4])"


class Mirrored(Across):
    """Weights that read the position opposite to each."""

    def covariance(self, pair, grams):
        return grams.between[0][pair]

    def averaged(self, of, gram):
        return gram[::-1, ::-1]


class ThrowAwayMirror(sr.Node):
    """A node that mixes positions: one class, and one for its rule."""

    def lower(self, program, u):
        return program.draw(u, sp.S.One, sp.S.Zero, sp.S.One, Mirrored())

    def sample(self, net, u):
        raise NotImplementedError


def test_a_throw_away_rule_is_known_to_formulas_and_to_arrays():
    layer = sr.layer("z + ThrowAwayMirror(relu(z))")
    of_tokens = layer.derive(positions=sr.Tokens(3)).kernels(1, 2, 0)[-1]
    assert float(of_tokens[0]) == pytest.approx(3)
    theory = layer.derive(positions=sr.Listed(3))
    assert np.allclose(theory.kernels(1, np.diag([2, 1, 4]))[-1].diagonal(), [2 + 2, 1 + 0.5, 4 + 1])
    assert float(theory.apjn(0, 1, np.diag([2, 1, 4]))) == pytest.approx(1.5)
    with pytest.raises(sr.UnsupportedLayer, match="a formula for Listed"):
        theory.page()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sr.Torus(), "it has no axis"),
        (lambda: sr.Torus(0), "whole number"),
        (lambda: sr.Listed(4, mask="window"), "mask window"),
        (lambda: sr.Listed(4, 4, mask="causal"), "no order"),
        (lambda: sr.Listed(2, mask=[[1, 0], [0, 0]]), "sees none"),
        (lambda: sr.Listed(2, mask=[True, True]), "another shape"),
        (lambda: sr.Listed(2, rope=0), "not positive"),
        (lambda: sr.Listed(2, rope=[1, np.inf]), "not finite"),
        (lambda: positions_of("Torus(8"), "cannot be read"),
        (lambda: positions_of("Listed(8, roof=1)"), "cannot be read"),
        (lambda: sr.layer("Conv(z, window=[1, 2)"), "at column"),
        (lambda: sr.layer("Conv(z, window=[1,, 2])"), "cannot be read as a list"),
        (lambda: sr.LayerNorm(sr.z, over="heads"), "LayerNorm over heads"),
        (lambda: sr.Conv(sr.z, window=[1, -1, 1]), "not negative"),
        (lambda: sr.Conv(sr.z, window=[[1, 2], [1]]), "its size is 2"),
        (lambda: sr.Conv(sr.z, window=[[[1, 2], [1, 2]], [[1, 2], [1]]]), "its size is 2"),
        (lambda: sr.Conv(sr.z, window=[1, [1, 2]]), "its size is 2"),
        (lambda: sr.Conv(sr.z, window=[0, 0]), "its size is 2"),
        (lambda: sr.Conv(sr.z, size=5, window=[1, 2, 1]), "its size is 5"),
        (lambda: sr.layer("Conv(z)").derive(positions=sr.Listed(4)).kernel_map, "kernels are matrices"),
        (lambda: sr.layer("Pool(z)").derive(positions=sr.Torus(4)).kernel_map, "covariances of all pairs"),
        (lambda: sr.layer("Attention(z)").derive(positions=sr.Torus(4)).kernel_map, "not exchangeable"),
    ],
)
def test_refusals_of_grids(ask, said):
    with pytest.raises(sr.SymresError, match=said):
        ask()
