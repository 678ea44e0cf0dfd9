"""Stein's lemma: every average of polynomials, exponentials, signs and error functions falls to orthants.

With y_k = z_(i_k) + shift_k + eps_k, S_k = E sgn(y_k), and p a polynomial,

    E[z_i p prod S] = mu_i E[p prod S] + sum_j Sigma_ij E[d_j p prod S]
                      + sum_k Sigma_(i, i_k) * 2 N(m_k; 0, V_k) * E[p prod_(l != k) S_l | y_k = 0]

where m_k, V_k are mean and variance of y_k. The degree of p falls in the first two sums, the number of factors in
the third, so the recursion ends at averages of products of signs. Exponentials are absorbed in the law before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import variables
from ...core.work_budget import NODE, spend
from ..algebra.from_sympy import Reader
from ..algebra.radical_forms import Form, exponential, root
from ..algebra.rational_functions import Frac
from .citations import BoundaryTerm, CitedIdentity, Convergence
from .orthants import Matrix, sign_average
from .terms import SmoothedSign, Terms

Polynomial = dict[tuple[int, ...], Form]


@dataclass(frozen=True)
class JointNormal:
    """Jointly Gaussian variables."""

    mean: tuple[Form, ...]
    covariance: Matrix


@dataclass(frozen=True)
class Factor:
    """A sign or error function of one of the variables."""

    variable: int
    sign: SmoothedSign


def average_terms(factors: Sequence[Terms], covariance: Matrix, reader: Reader, details: list[str]) -> Form:
    """The average of a product of functions, one of each variable.

    Args:
        factors: the terms of the function of each variable.
        covariance: of the centred variables.
        reader: the algebra.
        details: lines for the reader of a proof are appended.

    Raises:
        NoClosedForm: the average needs an orthant that is not known, or does not converge.
    """
    field = reader.field
    groups: dict[tuple[tuple[Frac, ...], tuple[Form, ...]], dict[tuple[Factor, ...], Polynomial]] = {}
    for choice in product(*(terms.items() for terms in factors)):
        kinds = [kind for kind, _ in choice]
        coefficient = Form.integer(field, 1)
        for _, c in choice:
            coefficient = coefficient * c
        exponents = tuple(kind.alpha for kind in kinds), tuple(kind.beta for kind in kinds)
        signs = tuple(Factor(i, s) for i, kind in enumerate(kinds) for s in kind.signs)
        _add(groups.setdefault(exponents, {}).setdefault(signs, {}), tuple(kind.power for kind in kinds), coefficient)
    if any(s.noise for terms in factors for kind in terms for s in kind.signs):
        details.append(CitedIdentity.ERROR_FUNCTION)
    # all conditions of convergence first: they bound the domain on which signs under roots are read off
    laws = {alphas: _with_quadratic_weight(covariance, alphas, reader, details) for alphas, _ in groups}
    total = Form(field, {})
    for (alphas, betas), by_signs in groups.items():
        determinant, absorbed = laws[alphas]
        law, weight = _tilted(absorbed, betas, reader, details)
        weight = weight * root(field.one / determinant)
        for signs, polynomial in by_signs.items():
            total = total + weight * _average(law, polynomial, signs, reader, details)
    return total


def _with_quadratic_weight(
    covariance: Matrix, alphas: tuple[Frac, ...], reader: Reader, details: list[str]
) -> tuple[Frac, Matrix]:
    """det(1 - 2 Sigma alpha) and the covariance of the law weighted with exp(sum alpha z^2)."""
    field = reader.field
    if not any(alphas):
        return field.one, covariance
    size = range(len(alphas))
    matrix = [
        [(field.one if i == j else field.zero) - field.integer(2) * covariance[i][j] * alphas[j] for j in size]
        for i in size
    ]
    determinant, absorbed = _solve(matrix, covariance, field.one)
    details.append(CitedIdentity.GAUSSIAN_FACTOR)
    if any(field.sign_of(alpha) >= 0 for alpha in alphas if alpha):
        conditions = [determinant, *(absorbed[i][i] for i in size if covariance[i][i])]
        if any(c.is_constant and field.sign_of(c) <= 0 for c in conditions):
            raise _divergent()
        field.restrict(conditions)
        if not field.points:
            raise _divergent()
        details.append(Convergence(reader.written(Form.of(determinant))))
    return determinant, absorbed


def _tilted(covariance: Matrix, betas: Sequence[Form], reader: Reader, details: list[str]) -> tuple[JointNormal, Form]:
    """The law weighted with exp(sum beta z), and the average of that weight."""
    size = range(len(betas))
    zero = Form(reader.field, {})
    mean = tuple(sum((betas[j] * covariance[i][j] for j in size), zero) for i in size)
    exponent = sum((betas[i] * mean[i] for i in size), zero) * reader.field.ratio(1, 2)
    if exponent:
        details.append(CitedIdentity.EXPONENTIAL_FACTOR)
    return JointNormal(mean, covariance), exponential(exponent)


def _divergent() -> NoClosedForm:
    return NoClosedForm("a Gaussian average", "it does not converge", "use a function that grows more slowly")


def _solve(matrix: list[list[Frac]], right: Matrix, one: Frac) -> tuple[Frac, Matrix]:
    """Determinant of the matrix and matrix^-1 right, by elimination."""
    size = len(matrix)
    rows = [[*row, *right_row] for row, right_row in zip(matrix, right, strict=True)]
    determinant = one
    for i in range(size):
        pivot = next((r for r in range(i, size) if rows[r][i]), None)
        if pivot is None:
            raise _divergent()
        if pivot != i:
            rows[i], rows[pivot], determinant = rows[pivot], rows[i], -determinant
        determinant = determinant * rows[i][i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for r in range(size):
            if r != i and rows[r][i]:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return determinant, tuple(tuple(row[size:]) for row in rows)


def _average(
    law: JointNormal, polynomial: Polynomial, signs: tuple[Factor, ...], reader: Reader, details: list[str]
) -> Form:
    """E[polynomial * prod signs]: the recursion of the module's head."""
    field = reader.field
    dimension = len(law.mean)
    boundary: list[Polynomial] = [{} for _ in signs]
    polynomial = {powers: c for powers, c in polynomial.items() if c}
    constant = Form(field, {})
    while polynomial:
        spend(NODE)
        powers = max(polynomial, key=lambda p: (sum(p), p))
        c = polynomial.pop(powers)
        if not any(powers):
            constant = constant + c
            continue
        i = next(k for k, power in enumerate(powers) if power)
        lower = _shifted(powers, i)
        _add(polynomial, lower, c * law.mean[i])
        for j in range(dimension):
            if lower[j] and law.covariance[i][j]:
                _add(polynomial, _shifted(lower, j), c * (law.covariance[i][j] * field.integer(lower[j])))
        for k, factor in enumerate(signs):
            if law.covariance[i][factor.variable]:
                _add(boundary[k], lower, c * law.covariance[i][factor.variable])
    total = constant * _orthant(law, signs, reader, details) if constant else constant
    for k, factor in enumerate(signs):
        if boundary[k]:
            density, conditioned = _conditioned(law, factor, reader, details)
            total = total + density * _average(conditioned, boundary[k], signs[:k] + signs[k + 1 :], reader, details)
    return total


def _orthant(law: JointNormal, signs: tuple[Factor, ...], reader: Reader, details: list[str]) -> Form:
    mean = [law.mean[f.variable] + f.sign.shift for f in signs]
    matrix = tuple(
        tuple(
            law.covariance[f.variable][g.variable] + f.sign.noise if k == m else law.covariance[f.variable][g.variable]
            for m, g in enumerate(signs)
        )
        for k, f in enumerate(signs)
    )
    return sign_average(reader, mean, matrix, details)


def _conditioned(law: JointNormal, factor: Factor, reader: Reader, details: list[str]) -> tuple[Form, JointNormal]:
    """2 N(m; 0, V) of y = z_i + shift + eps, and the law of z where y = 0."""
    field = reader.field
    i = factor.variable
    m = law.mean[i] + factor.sign.shift
    variance = law.covariance[i][i] + factor.sign.noise
    column = [row[i] for row in law.covariance]
    size = range(len(column))
    mean = tuple(law.mean[j] - m * (column[j] / variance) for j in size)
    covariance = tuple(tuple(law.covariance[j][k] - column[j] * column[k] / variance for k in size) for j in size)
    two_pi = field.integer(2) * field.generator(sp.pi)
    height = root(field.one / (two_pi * variance)) * field.integer(2)
    place = variables[i] + reader.written(factor.sign.shift)
    noise, of_y = reader.written(Form.of(factor.sign.noise)), reader.written(Form.of(variance))
    details += (CitedIdentity.BOUNDARY, BoundaryTerm(place, noise, reader.written(m), of_y))
    return height * exponential(m * m * (field.ratio(-1, 2) / variance)), JointNormal(mean, covariance)


def _shifted(powers: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*powers[:i], powers[i] - 1, *powers[i + 1 :])


def _add(polynomial: Polynomial, powers: tuple[int, ...], c: Form) -> None:
    if not c:
        return
    value = polynomial[powers] + c if powers in polynomial else c
    if value:
        polynomial[powers] = value
    else:
        polynomial.pop(powers, None)
