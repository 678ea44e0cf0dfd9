"""Finite networks of plain arrays: witnesses that share nothing with a derivation."""

from __future__ import annotations

import mpmath as mp
import numpy as np

from .plain import ACTIVATIONS, BIAS, SKIP, WEIGHT

WIDTH = 2000
COVARIANCE = mp.mpf("0.125")  # of two inputs of a batch


def _applied(name: str, order: int, stream: np.ndarray) -> np.ndarray:
    """An activation or a derivative of it on an array."""
    return np.array([float(ACTIVATIONS[name][order](mp.mpf(float(h)))) for h in stream])


def jacobian(name: str, K: mp.mpf) -> mp.mpf:
    """(3) for one layer of a finite perceptron."""
    draw = np.random.default_rng(1)
    slopes = _applied(name, 1, draw.normal(0, float(mp.sqrt(K)), WIDTH))
    weights = draw.normal(0, float(mp.sqrt(WEIGHT / WIDTH)), (WIDTH, WIDTH))
    return mp.mpf(float(((weights * slopes) ** 2).sum() / WIDTH))


def batch_jacobian(name: str, K: mp.mpf) -> mp.mpf:
    """(3) for one layer with BatchNorm, by a small step of one input of a finite batch, in a random direction."""
    draw, size, step = np.random.default_rng(2), 300, 1e-4
    common, apart = draw.normal(size=(WIDTH, 1)), draw.normal(size=(WIDTH, size))
    batch = float(mp.sqrt(COVARIANCE)) * common + float(mp.sqrt(K - COVARIANCE)) * apart
    direction = draw.normal(size=WIDTH)
    weights = draw.normal(0, float(mp.sqrt(WEIGHT / WIDTH)), (WIDTH, WIDTH))

    def branch(shift: float) -> np.ndarray:
        moved = batch.copy()
        moved[:, 0] += shift * direction
        normal = (moved[:, 0] - moved.mean(axis=1)) / moved.std(axis=1)
        return weights @ _applied(name, 0, normal)

    change = (branch(step) - branch(-step)) / (2 * step)
    return mp.mpf(float((change**2).sum() / (direction**2).sum())) + SKIP**2


def gradient(name: str, K: mp.mpf) -> mp.mpf:
    """Squared gradient of the neurons of a second layer in the parameters of the first, averaged over them."""
    draw, weight, bias = np.random.default_rng(3), float(mp.sqrt(WEIGHT / WIDTH)), float(mp.sqrt(BIAS))
    active = _applied(name, 0, draw.normal(0, float(mp.sqrt(K)), WIDTH))
    hidden = weight * draw.normal(size=(WIDTH, WIDTH)) @ active + bias * draw.normal(size=WIDTH)
    back = weight * draw.normal(size=(WIDTH, WIDTH)) * _applied(name, 1, hidden)
    return mp.mpf(float((back**2).sum() / WIDTH * (weight**2 * (active**2).sum() + bias**2)))
