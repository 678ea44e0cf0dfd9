"""What a proof by Stein's lemma cites: the identities, the boundary terms and the conditions of convergence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import sympy as sp

from ...core.words import Words


class CitedIdentity(StrEnum):
    """The identities of averages of signs and exponentials."""

    ERROR_FUNCTION = "erf(a z + b) = E_eps sgn(z + b/a + eps) for a > 0 and Gaussian eps with <eps^2> = 1/(2 a^2)"
    BOUNDARY = (
        "derivative of sgn(y): boundary term with weight 2 exp(-m^2/(2 V))/sqrt(2 pi V), the rest averaged given y = 0"
    )
    GAUSSIAN_FACTOR = "exp(alpha z^2) in the density: Sigma' = (1 - 2 Sigma alpha)^-1 Sigma, weight det^(-1/2)"
    EXPONENTIAL_FACTOR = "exp(beta z) in the density: mean Sigma beta, weight exp(beta Sigma beta/2)"
    ONE_SIGN = "<sgn(y)> = erf(m/sqrt(2 V)), y of mean m and variance V"
    TWO_SIGNS = "<sgn(y1) sgn(y2)> = (2/pi) asin(<y1 y2>/sqrt(<y1^2> <y2^2>)), y centred"
    TWO_SHIFTED_SIGNS = "<sgn(m1 + y1) sgn(m2 + y2)> = S2(m1/sqrt(V1), m2/sqrt(V2), <y1 y2>/sqrt(V1 V2)), y centred"
    FOUR_SIGNS = "<sgn(y1) sgn(y2) sgn(y3) sgn(y4)> = S4(their correlations), T4 if those are equal; y centred"
    SIGNS_OF_ONE_VARIABLE = "sgn(y + h) sgn(y) = 1 - sgn(y + h) + sgn(y) for h > 0"


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryTerm(Words):
    """The derivative of sgn(y + eps), a delta function.

    Args:
        place: y, which vanishes at the boundary.
        noise: <eps^2> of an error function, 0 for a sign.
        mean: of y.
        variance: of y + eps.
    """

    place: sp.Expr
    noise: sp.Expr
    mean: sp.Expr
    variance: sp.Expr

    def __new__(cls, place: sp.Expr, noise: sp.Expr, mean: sp.Expr, variance: sp.Expr) -> Self:
        """Write the words."""
        eps, its_square = (" + eps", f", <eps^2> = {noise}") if noise else ("", "")
        return super().__new__(
            cls, f"boundary where y = {place}{eps} = 0{its_square}: m = <y> = {mean}, V = Var(y) = {variance}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Convergence(Words):
    """Where an average with a Gaussian factor in it converges.

    Args:
        positive: the determinant that has to be positive.
    """

    positive: sp.Expr

    def __new__(cls, positive: sp.Expr) -> Self:
        """Write the words."""
        return super().__new__(cls, f"valid where the average converges: {positive} > 0")
