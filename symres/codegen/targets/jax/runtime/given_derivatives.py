"""Functions whose derivatives are given, where those that JAX finds lose digits, overflow or are not finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

Function: TypeAlias = Callable[..., Array]


def _sloped(value: Function, slopes: Sequence[Function | None], *arguments: Array) -> Array:
    """A function of arguments that broadcast, with its derivative in each; None stands for one without a part in it.

    Derivatives in arguments that do not move are left out: they may be infinite, and 0 times infinity is nan.
    """

    def moved(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
        result = function(*primals)
        total = jnp.zeros_like(result)
        for slope, tangent in zip(slopes, tangents):
            if slope is not None and not isinstance(tangent, jax.custom_derivatives.SymbolicZero):
                total = total + slope(*primals) * tangent
        return result, total

    function = jax.custom_jvp(lambda *primals: value(*primals))
    function.defjvp(lambda primals, tangents: moved(primals, tangents), symbolic_zeros=True)
    return function(*jnp.broadcast_arrays(*arguments))


def _moving_with(a: Array, value: Array) -> Array:
    """A value with the derivatives of ``a``. It is no sum: what a compiler computes twice need not be equal twice."""
    return _sloped(lambda a, value: value, (lambda a, value: jnp.ones_like(a), None), a, value)


# fmt: off

_ERFCX_SERIES = (  # (1 + 2*u)*erfcx(u) for u >= 0, in Chebyshev polynomials of (u - 3)/(u + 3)
    1.17756257419656, 0.005353904539615676, -0.09377550342284209, 0.05436652555744322, -0.018976596707845208,
    0.004453426061462712, -0.0006335531710553147, 1.7661719523171593e-05, 1.2841532864056671e-05,
    -2.0072285659059913e-06, -1.807522790414837e-07, 7.549828343825093e-08, 1.885668523838603e-09,
    -2.699519049798364e-09, -1.4600791199391048e-11, 1.036160744596949e-10, 1.4757159766234698e-12,
    -4.2773400643969885e-12, -2.0792249285998015e-13, 1.813450200323934e-13, 1.9734255749969863e-14,
    -7.287943734362214e-15, -1.5169879302699403e-15, 2.3514090455290406e-16, 1.0006151438958986e-16,
)

# fmt: on


def _of_erfcx(u: Array) -> Array:
    """exp(u**2)*erfc(u)."""
    size = jnp.abs(u)
    t = 1.0 - 6.0 / (size + 3.0)
    high, low = jnp.zeros_like(u), jnp.zeros_like(u)
    for coefficient in _ERFCX_SERIES[:0:-1]:
        high, low = coefficient + 2.0 * t * high - low, high
    tail = (_ERFCX_SERIES[0] + t * high - low) / (1.0 + 2.0 * size)
    return jnp.where(u < 0.0, 2.0 * jnp.exp(u * u) - tail, tail)
