"""Averages in one or two variables at many variances and covariances, entry by entry of arrays.

Two variables of few different variances, and many correlations, have one series for all of them, by Mehler's formula:

    <f(w1) g(w2)> = sum_n f_n g_n c**n

in Hermite coefficients and the correlation c. What terms beyond the degree N add is at most ``|c|**(N + 1)`` times the
roots of what the mean squares of f and g have beyond that degree (Parseval): an error that is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...core.errors import NoClosedForm
from ...numerics.deferred_numpy import Array, NDArray, np
from .float_averages import FloatFunction, FloatProduct, Values, average, coefficients, expansion, means

_DEGREE = 256  # of the series
_REST = 1e-15  # of what lies beyond, in units of the roots of mean squares
_NOISE = 1e-16  # of a mean square
_SAME = 1e-14  # of a variance, that is left if the other variable is known
_ENTRIES = 2  # for each different variance, from which on a series is made
_ROWS = 4096  # at once


def average_at(functions: tuple[FloatFunction, ...], covariance: Sequence[Array], values: Mapping) -> Array:
    """``average`` for arrays, entry by entry; nan where it is not a number.

    Args:
        functions: one of each variable.
        covariance: arrays.
        values: of parameters, arrays too.
    """
    names = [s for s in values if any(s in f.parameters for f in functions)]
    arrays = np.broadcast_arrays(*covariance, *(values[s] for s in names))
    shape, rows, size = arrays[0].shape, np.stack([a.ravel() for a in arrays], axis=1), len(covariance)
    results, is_constant = np.full(len(rows), np.nan), bool((rows[:, size:] == rows[:1, size:]).all())
    constant = {s: float(rows[0, size + k]) for k, s in enumerate(names)} if len(rows) else {}
    if len(functions) == 1 and is_constant and (rows[:, 0] > 0).all():
        return means(functions[0], rows[:, 0], constant).reshape(shape)
    if len(functions) == 2 and is_constant and _have_series(rows[:, :size:2]):
        results = _series(functions, rows[:, :size], constant)
    for number in np.flatnonzero(np.isnan(results)).tolist():
        row = rows[number].tolist()
        try:
            results[number] = _at(functions, row[:size], dict(zip(names, row[size:], strict=True)))
        except NoClosedForm:
            continue
    return results.reshape(shape)


def _have_series(variances: Array) -> bool:
    """Whether enough entries share a variance."""
    return bool((variances > 0).all()) and len(variances) >= _ENTRIES * len(np.unique(variances))


def _at(functions: tuple[FloatFunction, ...], covariance: list[float], values: Values) -> float:
    """One average; two variables that are multiples of one another are one."""
    if len(functions) == 2:
        one, both, other = covariance
        if one > 0 and other - both**2 / one <= _SAME * other:
            product = FloatProduct(((functions[0], 1.0), (functions[1], both / one)))
            return float(coefficients(product, one, 0, values)[0])
    return average(functions, covariance, values)


def _series(functions: Sequence[FloatFunction], covariances: Array, values: Values) -> Array:
    """The sums for rows of variance, covariance and variance; nan where their error is not small."""
    try:
        tables = [_table(f, v, values) for f, v in zip(functions, covariances[:, ::2].T, strict=True)]
    except NoClosedForm:
        return np.full(len(covariances), np.nan)
    results, degrees = [], np.arange(_DEGREE + 2)
    for start in range(0, len(covariances), _ROWS):
        rows = covariances[start : start + _ROWS]
        correlations = rows[:, 1] / np.sqrt(rows[:, 0] * rows[:, 2])
        chosen = [(table, roots, place[start : start + _ROWS]) for table, place, roots in tables]
        (one, first), (other, second) = ((table[at], roots[at]) for table, roots, at in chosen)
        terms = one * other * correlations[:, None] ** degrees
        results.append(np.where(np.abs(terms[:, -1]) <= _REST, terms[:, :-1].sum(axis=1) * first * second, np.nan))
    return np.concatenate(results)


def _table(function: FloatFunction, variances: Array, values: Values) -> tuple[Array, NDArray[np.intp], Array]:
    """Hermite coefficients and, last, the root of what lies beyond, for each different variance.

    In units of the roots of mean squares; the number of the variance of every entry, and those roots, follow.
    """
    different, place = np.unique(variances, return_inverse=True)
    table = np.zeros((len(different), _DEGREE + 2))
    for row, variance in zip(table, different.tolist(), strict=True):
        coefficients, square = expansion(function, variance, _DEGREE, values)
        row[:-1] = coefficients
        row[-1] = math.sqrt(max(square - float(coefficients @ coefficients), _NOISE * square))
    roots = np.sqrt((table**2).sum(axis=1, keepdims=True))  # of the mean squares
    return np.divide(table, roots, out=np.zeros_like(table), where=roots > 0), place, roots[:, 0]
