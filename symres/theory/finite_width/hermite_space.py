"""Functions of independent standard Gaussian variables as coefficients in orthonormal Hermite polynomials.

``he_k = He_k/sqrt(k!)``; of several variables products of these, up to a total degree M. A function of d variables is
an array of d axes of length M + 1. For x = R y + rest, with the rest independent of y, the average given y keeps
degrees apart: with the generating function ``exp(s.x - |s|^2/2) = sum_alpha s^alpha/sqrt(alpha!) he_alpha(x)`` it is
the substitution ``t = R^T s`` in homogeneous polynomials. (Mehler's formula for one variable: R^k multiplies he_k.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

from ...numerics.deferred_numpy import Array, NDArray, np

_ROUNDING = 1e-18
_NOISE = 4e-16  # of the largest coefficient


@lru_cache(maxsize=8)
def root_factorials(degree: int) -> Array:
    """``log sqrt(k!)`` for k = 0, ..., degree."""
    from scipy.special import gammaln  # here, because it takes longer to import than the rest of symres

    return np.asarray(gammaln(np.arange(degree + 1) + 1.0) / 2)


@lru_cache(maxsize=8)
def within_degree(degree: int) -> NDArray[np.bool_]:
    """Which pairs of powers have at most that total degree."""
    k = np.arange(degree + 1)
    return k[:, None] + k[None, :] <= degree


def given(coefficients: Array, R: Array) -> Array:
    """The average of functions of x given y, for x = R y + rest.

    Args:
        coefficients: of the functions, d axes of length M + 1 after any others.
        R: shape (d, p), of spectral norm 1 at most: ``R_ij = <x_i y_j>``.

    Returns:
        Coefficients in y: p axes of length M + 1 in the place of the d.
    """
    degree, (d, p) = coefficients.shape[-1] - 1, R.shape
    if d == p == 1:
        return coefficients * R[0, 0] ** np.arange(degree + 1)
    averaged = np.zeros((*coefficients.shape[: coefficients.ndim - d], *(degree + 1,) * p))
    if not R.any():
        averaged[(..., *(0,) * p)] = coefficients[(..., *(0,) * d)]
        return averaged
    for k, matrix in enumerate(_powers(R, _needed(R, degree))):
        before: tuple[Any, ...] = (..., *_of_degree(k, d))
        after: tuple[Any, ...] = (..., *_of_degree(k, p))
        averaged[after] = coefficients[before] @ matrix.T
    return averaged


def _needed(R: Array, degree: int) -> int:
    """The highest degree that is more than rounding errors after the average: R has the norm r, its powers r^k."""
    r = float(np.linalg.norm(R, 2))
    return min(degree, int(np.log(_ROUNDING) / np.log(r)) + 1) if 0 < r < 1 else degree


def inner(one: Array, other: Array, degree: int) -> Array:
    """Averages of products of functions, from coefficients up to a total degree.

    Args:
        one: shape (q, M + 1) or (q, M + 1, M + 1).
        other: shape (r, M + 1, ...).
        degree: M at most.

    Returns:
        Shape (q, r).
    """
    part = (slice(None), *(slice(0, degree + 1),) * (one.ndim - 1))
    kept = other[part] * within_degree(degree) if one.ndim > 2 else other[part]
    return one[part].reshape(len(one), -1) @ kept.reshape(len(other), -1).T


def _of_degree(k: int, variables: int) -> tuple[NDArray[np.int64], ...]:
    """The places of the coefficients of one degree."""
    first = np.arange(k, -1, -1)
    return (np.array([k]),) if variables == 1 else (first, k - first)


def _powers(R: Array, degree: int) -> list[Array]:
    """The symmetric powers of R^T in the orthonormal bases: shape (size of degree k in p, in d variables) for each k.

    The row of ``he_beta(y)`` holds what ``s^beta/sqrt(beta!)`` becomes: ``t^beta/sqrt(beta!)`` for ``t = R^T s`` in
    ``s^alpha/sqrt(alpha!)``. Row by row: ``k T_beta`` is the sum over i of ``sqrt(beta_i)`` times t_i times the row of
    beta with one t_i less.
    """
    d, p = R.shape
    powers = [np.ones((1, 1))]
    for k in range(1, degree + 1):
        before = powers[-1]  # rows beta with |beta| = k - 1, columns alpha
        size = 1 if d == 1 else k + 1
        raised = np.zeros((p, len(before), size))  # by t_0 or t_1
        for i in range(p):
            if d == 1:
                raised[i, :, 0] = R[0, i] * np.sqrt(k) * before[:, 0]
            else:
                first = np.sqrt(np.arange(k, 0, -1))  # alpha_0 + 1 for alpha of degree k - 1, alpha_0 falling
                raised[i, :, :-1] += R[0, i] * first * before
                raised[i, :, 1:] += R[1, i] * first[::-1] * before
        if p == 1:
            powers.append(raised[0] / np.sqrt(k))
            continue
        rows = np.zeros((k + 1, size))  # sum over i of sqrt(beta_i) (raise i) = k times the row
        weight = np.sqrt(np.arange(k, 0, -1))
        rows[:-1] += weight[:, None] * raised[0]
        rows[1:] += weight[::-1][:, None] * raised[1]
        powers.append(rows / k)
    return powers


def product_given(parts: Sequence[Array]) -> Array:
    """The average given y of a product of functions of independent variables, from that of each.

    Args:
        parts: coefficients in y, each of the average of one function given y. They multiply as generating functions:
            the coefficient of ``s^beta/sqrt(beta!)``.
    """
    if len(parts) == 1:
        return parts[0]
    cleaned = (np.where(np.abs(part) > _NOISE * np.max(np.abs(part)), part, 0.0) for part in parts)
    # all but the first are polynomials, which have few coefficients
    return reduce(_multiplied, sorted(cleaned, key=np.count_nonzero, reverse=True))


def _multiplied(one: Array, other: Array) -> Array:
    """The product of two generating functions, up to the total degree of both."""
    size = len(one)
    logs = root_factorials(size - 1)
    total = np.zeros_like(one)
    for place in zip(*np.nonzero(other), strict=True):
        weights = [np.exp(logs[k:] - logs[k] - logs[: size - k]) for k in place]
        kept = one[tuple(slice(size - k) for k in place)]
        total[tuple(slice(k, None) for k in place)] += other[place] * kept * reduce(np.multiply.outer, weights)
    return total if one.ndim == 1 else np.where(within_degree(size - 1), total, 0.0)
