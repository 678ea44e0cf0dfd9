"""Roots and correlations of the kernels of two inputs, with derivatives that are finite where the inputs are parallel.

A library that differentiates has ``_moving_with`` and a ``_determinant`` of its own, which moves like the polynomial on
the boundary too; one that is to compute products in a wider type has ``_for_products`` and ``_of_type``.
"""

from __future__ import annotations

import numpy as xp

from ..runtime.array_types import Floats
from ..runtime.error_free import _determinant


def _for_products(a: Floats) -> Floats:
    """An array in the type in which products of kernels are computed."""
    return a


def _of_type(a: Floats, like: Floats) -> Floats:
    """An array in the type of another one."""
    return a


def _at_least(x: Floats, bound: float) -> Floats:
    """The larger one; what equals the bound still moves with x."""
    return xp.clip(x, bound, None)


def _at_most(x: Floats, bound: float) -> Floats:
    """The smaller one; what equals the bound still moves with x."""
    return xp.where(x > bound, bound, x)


def _root(x: Floats) -> Floats:
    """The square root; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return xp.where(vanishes, 0.0, xp.sqrt(xp.where(vanishes, 1.0, x)))


def _radical(x: Floats, power: float) -> Floats:
    """x**power for x >= 0 and a power below 1; its derivative at 0, which is infinite, is given as 0."""
    vanishes = x <= 0.0
    return xp.where(vanishes, 0.0, xp.where(vanishes, 1.0, x) ** power)


def _ratio(a: Floats, b: Floats) -> Floats:
    """a/b; 0 where b = 0."""
    nonzero = b != 0.0
    return xp.where(nonzero, a / xp.where(nonzero, b, 1.0), 0.0)


def _correlation(K1: Floats, K2: Floats, C: Floats) -> tuple[Floats, Floats]:
    """C/sqrt(K1*K2) and sqrt(1 - (C/sqrt(K1*K2))**2), without cancellation; 0 and 1 where a kernel vanishes."""
    k1, k2, c = map(_for_products, (K1, K2, C))
    size = _root(k1) * _root(k2)
    vanishes = size == 0.0
    size = xp.where(vanishes, 1.0, size)
    ratio = xp.where(vanishes, 0.0, _at_most(_at_least(c / size, -1.0), 1.0))
    complement = _root(_determinant(k1, k2, c)) / size
    smallest = float(xp.finfo(size.dtype).tiny) ** 0.45  # rounding errors of products below are no floats
    complement = xp.where(size > smallest, complement, _root((1.0 - ratio) * (1.0 + ratio)))
    return _of_type(ratio, C), _of_type(_at_most(complement, 1.0), C)


def _separation(K1: Floats, K2: Floats, C: Floats) -> Floats:
    """sqrt(K1*K2) - C without cancellation; 0 where rounding made C a little too large."""
    k1, k2, c = map(_for_products, (K1, K2, C))
    size = _root(k1) * _root(k2)
    both = size + xp.abs(c)
    near = _determinant(k1, k2, c) / (both + (both == 0.0))
    return _of_type(xp.where(c > 0.0, near, size - c), C)
