"""Functions in Hermite coefficients: averages given correlated variables, against quadrature."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from symres.numerics.gauss_rules import hermite_rows
from symres.theory.finite_width.hermite_space import given, product_given

NODES, WEIGHTS = hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def coefficients(f, degree):
    return hermite_rows(NODES, degree) @ (WEIGHTS * f(NODES))


def plane(f, degree):
    rows = hermite_rows(NODES, degree) * WEIGHTS
    found = rows @ f(NODES[:, None], NODES[None, :]) @ rows.T
    k = np.arange(degree + 1)
    return np.where(k[:, None] + k <= degree, found, 0)


def value(c, *places):
    """The function of these coefficients at a place."""
    rows = [hermite_rows(np.array([x]), len(c) - 1)[:, 0] for x in places]
    return c @ rows[0] if len(rows) == 1 else rows[0] @ c @ rows[1]


def test_rows_are_orthonormal():
    rows = hermite_rows(NODES, 12)
    assert np.allclose(rows * WEIGHTS @ rows.T, np.eye(13), atol=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.3, -0.8, 1.0])
def test_one_variable_given_one(r):
    """<sin(x)|y> = sin(r y) exp(-(1 - r^2)/2)."""
    found = given(coefficients(np.sin, 40), np.array([[r]]))
    assert value(found, 0.7) == pytest.approx(np.sin(r * 0.7) * np.exp(-(1 - r * r) / 2), abs=1e-12)


def test_one_variable_given_two():
    R = np.array([[0.5, -0.6]])
    found = given(coefficients(np.sin, 40), R)
    u = 0.5 * 0.7 + -0.6 * 0.2
    assert value(found, 0.7, 0.2) == pytest.approx(np.sin(u) * np.exp(-(1 - 0.61) / 2), abs=1e-12)


def test_two_variables_given_one_and_two():
    """<cos(a x1 + b x2)|y> for x = R y + rest."""
    a = np.array([0.9, -0.4])
    c = plane(lambda x, y: np.cos(0.9 * x - 0.4 * y), 40)
    for R in (np.array([[0.3], [-0.5]]), np.array([[0.3, 0.2], [-0.5, 0.6]])):
        y = np.array([0.4, -0.9])[: R.shape[1]]
        left = 1 - R @ R.T if R.shape[1] == 0 else np.eye(2) - R @ R.T
        expected = np.cos(a @ R @ y) * np.exp(-(a @ left @ a) / 2)
        assert value(given(c, R), *y) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("variables", [1, 2])
def test_products_of_independent_functions(variables):
    """cos(u) cos(v) = (cos(u + v) + cos(u - v))/2 for independent u and v that y knows a part of."""
    R = [np.array([[0.4, 0.3][:variables]]), np.array([[-0.5, 0.2][:variables]])]
    found = product_given([given(coefficients(np.cos, 40), r) for r in R])
    y = np.array([0.8, -0.3])[:variables]
    expected = 0.0
    for sign in (1, -1):
        mean = R[0][0] + sign * R[1][0]
        left = 2 - R[0][0] @ R[0][0] - R[1][0] @ R[1][0]
        expected += np.cos(mean @ y) * np.exp(-left / 2) / 2
    # given y the two are correlated, which the average of a product of independent ones knows
    shared = R[0][0] @ R[1][0]
    both = 0.0
    for sign in (1, -1):
        mean = R[0][0] + sign * R[1][0]
        spread = 2 - R[0][0] @ R[0][0] - R[1][0] @ R[1][0] - 2 * sign * shared
        both += np.cos(mean @ y) * np.exp(-spread / 2) / 2
    assert value(found, *y) == pytest.approx(both, abs=1e-11)
