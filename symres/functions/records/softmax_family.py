"""Softmax vectors with Gaussian scores: the overlap of two, what attention does to covariances, and the entropy."""

from __future__ import annotations

import math

import sympy as sp
from flint import arb, ctx
from sympy.core.function import ArgumentIndexError

from ...core.errors import DeclarationError
from ...core.scalars import Number, number, whole
from ...numerics.softmax_entropy import softmax_entropy
from ...numerics.softmax_overlap import overlap_ball
from ..balls import to_ball
from ..function_record import FunctionRecord, register
from .special_function import SpecialFunction

_BITS = 53  # of double precision
_ROUNDING = 1e-14  # of an entropy: measured 4e-15


class SoftmaxOverlap(SpecialFunction):
    """``B(S1, S2, k; T) = E sum_b A_b A'_b``, A and A' the softmax vectors of T pairs of scores; or a derivative of it.

    The pairs are independent, centred and Gaussian, with variances S1 and S2 and covariance k.

    Args:
        S1: variance of the first scores.
        S2: variance of the second.
        k: their covariance, ``k**2 <= S1*S2``.
        T: the number of keys.
        orders: of derivatives in S1, S2 and k; none, or all three.
    """

    nargs = (4, 7)
    is_number = False  # sympy would ask for its value, at many precisions, to compare it with others
    digits = 12  # of sums in double precision
    meaning = (
        "B(S1, S2, k, T): the mean overlap of two softmax vectors of T keys, scores centred, of variances S1 and S2 "
        "and covariance k; B_1, B_2 and B_k its slopes in these"
    )
    tex = (
        r"$\mathrm{B}(S_1, S_2, k, T) = \mathrm{E} \sum_b A_b A'_b$, the overlap of two softmax vectors of $T$ keys "
        r"whose scores have variances $S_1$ and $S_2$ and covariance $k$; indices are derivatives in these"
    )

    @classmethod
    def eval(cls, S1: sp.Expr, S2: sp.Expr, k: sp.Expr, T: sp.Expr, *orders: sp.Expr) -> sp.Expr | None:
        """Elementary values; one order of the scores; no orders of derivatives where all are 0."""
        if orders and not any(orders):
            return cls(S1, S2, k, T)
        if T == 1:
            return sp.Integer(not orders)
        if T is sp.oo:
            return sp.Integer(0)
        if k.is_zero and (not orders or orders[2] == 0):  # two independent vectors, of mean 1/T
            return sp.Integer(0) if orders else 1 / T
        if sp.default_sort_key(S2) < sp.default_sort_key(S1) or (S1 == S2 and orders and orders[0] < orders[1]):
            return cls(S2, S1, k, T, *(orders and (orders[1], orders[0], orders[2])))
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """A derivative of one order more.

        Raises:
            ArgumentIndexError: T, or an order, which is a whole number.
        """
        if argindex > 3:
            raise ArgumentIndexError(self, argindex)
        orders = list(self.orders)
        orders[argindex - 1] += 1
        return type(self)(*self.args[:4], *orders)

    @property
    def orders(self) -> tuple[int, int, int]:
        """Of derivatives in S1, S2 and k."""
        one, other, both = self.args[4:] or (0, 0, 0)
        return int(one), int(other), int(both)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        keys = arguments[3].unique_fmpz()
        if keys is None or keys < 1:
            raise DeclarationError(
                f"the overlap {self}", f"{arguments[3].str(5)} is not a number of keys", "pass a whole T above 0"
            )
        return overlap_ball(arguments[0], arguments[1], arguments[2], int(keys), self.orders)

    @property
    def constants(self) -> dict[str, str]:
        """What its spellings in code contain besides arguments."""
        return {"orders": ", ".join(map(str, self.orders))}

    @property
    def written(self) -> tuple[str, tuple[sp.Expr, ...]]:
        """B; with 1, 2 and k for its derivatives."""
        index = "".join(n * letter for n, letter in zip(self.orders, "12k", strict=True))
        return "B" + f"_{index}" * bool(index), self.args[:4]

    @property
    def _symbol(self) -> str:
        name, _, index = self.written[0].partition("_")
        return rf"\mathrm{{{name}}}" + f"_{{{index}}}" * bool(index)


class SoftmaxEntropy(SpecialFunction):
    """``H(S; T) = -E sum_b A_b log(A_b)``, A the softmax vector of T independent centred Gaussian scores.

    Args:
        S: variance of the scores.
        T: their number.
    """

    nargs = 2
    is_number = False
    digits = 12
    meaning = "H(S, T): the mean entropy of a softmax vector of T keys, scores centred, of variance S"
    tex = r"$\mathrm{H}(S, T)$, the mean entropy of a softmax vector of $T$ keys whose scores have variance $S$"

    @classmethod
    def eval(cls, S: sp.Expr, T: sp.Expr) -> sp.Expr | None:
        """Of equal scores; of one key, or of too many to choose from."""
        if T is sp.oo:
            return sp.oo
        return sp.log(T) if S.is_zero or T == 1 else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """``dH/dS = S dB/dS - (1 - B)/2`` with the overlap ``B(S, S, S, T)`` of the vector with itself.

        Raises:
            ArgumentIndexError: T, which is a whole number.
        """
        if argindex != 1:
            raise ArgumentIndexError(self, argindex)
        S, T = self.args
        overlap = SoftmaxOverlap(S, S, S, T)
        return S * overlap.diff(S) - (1 - overlap) / 2

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        variance, keys = arguments[0], arguments[1].unique_fmpz()
        if keys is None or keys < 1 or variance.upper() < 0:
            found = f"there are no {arguments[1].str(5)} scores of variance {variance.str(5)}"
            raise DeclarationError(f"the entropy {self}", found, "pass a variance that is not negative, and a whole T")
        value = softmax_entropy(max(float(variance.mid()), 0.0), int(keys))
        slope = 1 + variance.abs_upper()  # of H in S at most, for -3/4 <= dB/dS <= 1/4
        return arb(value, _ROUNDING * (1 + math.log(int(keys)))) + arb(0, 1) * (slope * variance.rad()).upper()

    @property
    def written(self) -> tuple[str, tuple[sp.Expr, ...]]:
        """H."""
        return "H", self.args


_CALL = "softmax_overlap({0}, {1}, {2}, {3}, {orders})"

register(FunctionRecord(kind=SoftmaxOverlap, spellings={"arrays": f"_{_CALL}", "scalar": _CALL}))
register(FunctionRecord(kind=SoftmaxEntropy))
_ORDERS = {None: (0, 0, 0), "S1": (1, 0, 0), "S2": (0, 1, 0), "k": (0, 0, 1)}


def softmax_overlap(S1: Number, S2: Number, k: Number, T: Number, derivative: str | None = None) -> float:
    """The mean overlap of two softmax vectors with Gaussian scores, ``B(S1, S2, k; T) = E sum_b A_b A'_b``.

    Args:
        S1: variance of the first scores.
        S2: variance of the second.
        k: their covariance, for each of the keys.
        T: the number of keys.
        derivative: None; or "S1", "S2" or "k" for a slope.

    Returns:
        The value in double precision, with twelve digits.

    Raises:
        DeclarationError: no keys have these scores; another derivative.
        NoClosedForm: the scores are too large for sums.

    Examples:
        One query, at weak scores: ``1/T`` and ``(T - 1)/T^2`` times their variance:

        >>> sr.softmax_overlap(0, 0, 0, T=4), round(sr.softmax_overlap(1e-4, 1e-4, 1e-4, T=4), 8)
        (0.25, 0.25001875)
    """
    if derivative not in _ORDERS:
        raise DeclarationError(f"the derivative {derivative} of an overlap", "it is unknown", "pass S1, S2 or k")
    with ctx.workprec(_BITS):
        one, other, both = (to_ball(number(value, name), _BITS) for name, value in (("S1", S1), ("S2", S2), ("k", k)))
        return float(overlap_ball(one, other, both, whole(T, "T", 1), _ORDERS[derivative]).mid())
