"""The upper tail of two normal variables with its derivatives: densities along the edges, and at the corner."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.scipy import special

from ....arrays.runtime.sign_averages import _legs, _of_two_tails
from .given_derivatives import _sloped


def _clipped_tails(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The tail, thresholds at most 99 deviations from 0: nothing is left beyond."""
    return _of_two_tails(jnp.clip(h, -99.0, 99.0), jnp.clip(k, -99.0, 99.0), x, y)


def _slope_along_h(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The derivative in the first threshold."""
    return -0.19947114020071635 * jnp.exp(-0.5 * h * h) * special.erfc(0.7071067811865476 * _legs(h, k, x, y)[0])


def _slope_along_k(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The derivative in the second."""
    return _slope_along_h(k, h, x, y)


def _turn(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The derivative in the angle whose sine is the correlation, over x*x + y*y."""
    leg = _legs(h, k, x, y)[0]
    return 0.15915494309189535 * jnp.exp(-0.5 * (h * h + leg * leg)) / jnp.clip(x * x + y * y, 1e-300, None)


def _slope_in_x(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The derivative in the first leg of that angle."""
    return y * _turn(h, k, x, y)


def _slope_in_y(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The derivative in the second."""
    return -x * _turn(h, k, x, y)


def _two_tails(h: Array, k: Array, x: Array, y: Array) -> Array:
    """The upper tail of the bivariate normal law, see _of_two_tails."""
    slopes = (_slope_along_h, _slope_along_k, _slope_in_x, _slope_in_y)
    return _sloped(_clipped_tails, slopes, h, k, x, y)
