"""Averages of products of signs of jointly Gaussian variables: where the Stein recursion ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.words import Obstruction, Reason
from ..algebra.from_sympy import Reader
from ..algebra.radical_forms import Form, root
from ..algebra.rational_functions import Frac
from .citations import CitedIdentity

Matrix = tuple[tuple[Frac, ...], ...]


def sign_average(reader: Reader, mean: Sequence[Form], covariance: Matrix, details: list[str]) -> Form:
    """<sgn(y_1) ... sgn(y_m)> for Gaussian y.

    Args:
        reader: the algebra.
        mean: means of y.
        covariance: covariance of y; singular matrices are fine.
        details: lines for the reader of a proof; the identities used are appended.

    Raises:
        NoClosedForm: three or more correlated factors that are not centred, or more than four.
    """
    field = reader.field
    result = Form.integer(field, 1)
    left = []
    for i, m in enumerate(mean):
        if covariance[i][i]:
            left.append(i)
        else:
            result = result * field.integer(_decided_sign(reader, m))
    while left and result:
        block = _correlated_block(left, covariance)
        left = [i for i in left if i not in block]
        result = result * _correlated(reader, block, mean, covariance, details)
    return result


def _correlated_block(left: Sequence[int], covariance: Matrix) -> list[int]:
    """All variables that are correlated, directly or through others, with the first."""
    block = [left[0]]
    for i in block:
        block += [j for j in left if j not in block and covariance[i][j]]
    return sorted(block)


def _correlated(reader: Reader, block: list[int], mean: Sequence[Form], covariance: Matrix, details: list[str]) -> Form:
    field = reader.field
    centred = not any(mean[i] for i in block)
    if centred and len(block) % 2:
        return Form.integer(field, 0)
    if len(block) == 1:
        (i,) = block
        variance = covariance[i][i]
        details.append(CitedIdentity.ONE_SIGN)
        if mean[i].imaginary_part() and (mean[i] + mean[i].imaginary_part() * -Form.imaginary(field)):
            raise _refusal("an error function of a complex argument (an oscillation times a step away from zero)")
        return reader.function(sp.erf, mean[i] * root(field.one / (variance * field.integer(2))))
    for place, i in enumerate(block):
        for j in block[place + 1 :]:
            c = covariance[i][j]
            if c * c == covariance[i][i] * covariance[j][j]:
                return _one_variable_twice(reader, (i, j), block, mean, covariance, details)
    correlations = [
        Form.of(covariance[i][j]) * root(field.one / (covariance[i][i] * covariance[j][j]))
        for i, j in combinations(block, 2)
    ]
    if len(block) == 2 and centred:
        details.append(CitedIdentity.TWO_SIGNS)
        return reader.function(sp.asin, *correlations) * (field.integer(2) / field.generator(sp.pi))
    if len(block) == 2:
        shifts = [mean[i] * root(field.one / covariance[i][i]) for i in block]
        if any(shift.imaginary_part() for shift in shifts):
            raise _refusal("two correlated signs of complex means (an oscillation times steps)")
        details.append(CitedIdentity.TWO_SHIFTED_SIGNS)
        return reader.two_signs(*shifts, *correlations)
    if len(block) == 4 and centred:
        details.append(CitedIdentity.FOUR_SIGNS)
        return reader.four_signs(*correlations)
    where = "centred at zero" if centred else "not centred at zero"
    raise _refusal(f"the average of {len(block)} correlated signs {where}")


def _one_variable_twice(
    reader: Reader,
    pair: tuple[int, int],
    block: list[int],
    mean: Sequence[Form],
    covariance: Matrix,
    details: list[str],
) -> Form:
    """Two factors whose variables differ by a constant, y_i = s*(y_j + h): the product is a sum of single signs."""
    field = reader.field
    i, j = pair
    scale = covariance[i][j] / covariance[j][j]
    orientation = field.integer(field.sign_of(scale))
    if not orientation:
        raise _refusal("two correlated signs whose order is unknown")
    rest = [k for k in block if k not in pair]

    def average(keep: list[int]) -> Form:
        chosen = sorted(keep)
        matrix = tuple(tuple(covariance[a][b] for b in chosen) for a in chosen)
        return sign_average(reader, [mean[k] for k in chosen], matrix, details)

    distance = mean[i] * (field.one / scale) - mean[j]
    order = _decided_sign(reader, distance)
    if not order:
        return average(rest) * orientation
    details.append(CitedIdentity.SIGNS_OF_ONE_VARIABLE)
    # sgn(y_i) = orientation*sgn(y_j + h); order = -1 exchanges sgn(y_j + h) and sgn(y_j)
    first, second = average([i, *rest]) * orientation, average([j, *rest])
    return (average(rest) + (second - first) * field.integer(order)) * orientation


def _decided_sign(reader: Reader, value: Form) -> int:
    if not value:
        return 0
    expr = reader.written(value)
    if expr.is_positive or expr.is_negative:
        return 1 if expr.is_positive else -1
    raise _refusal(f"the sign of {expr}, which its symbols do not decide")


def _refusal(found: str) -> NoClosedForm:
    return NoClosedForm(
        "a Gaussian average in closed form",
        Reason("it", f"needs {found}", Obstruction.OUTSIDE),
        "use the numeric value",
    )
