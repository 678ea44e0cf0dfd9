"""The averages of signs of Gaussian variables as sympy sees them: elementary values, symmetries, derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from ...numerics.plackett import conditional_on_pair, four_signs, two_signs, two_tails
from ..function_record import FunctionRecord, register
from .special_function import SpecialFunction

_FAR = 99.0  # standard deviations, beyond which double precision has nothing of a normal law
_SLACK = 64 * 2.0**-53  # by which a correlation of 1 exceeds it, if it was computed in double precision


class _SignAverage(SpecialFunction):
    """An average of signs: of shifts or thresholds first, then of correlations."""

    _first_correlation = 0

    @classmethod
    def _within(cls, arguments: Sequence[float]) -> list[float]:
        """Shifts where double precision tells them apart; correlations without the rounding beyond 1."""
        shifts, correlations = arguments[: cls._first_correlation], arguments[cls._first_correlation :]
        rounded = [min(max(r, -1.0), 1.0) if abs(r) <= 1 + _SLACK else r for r in correlations]
        return [*(min(max(shift, -_FAR), _FAR) for shift in shifts), *rounded]

    @property
    def _symbol(self) -> str:
        letter, count = list(type(self).__name__)
        return rf"\mathrm{{{letter}}}_{count}"


class _OfPair(_SignAverage):
    """A function of two shifts or thresholds h and k, and of the correlation r of two standard normal variables."""

    nargs = 3
    _first_correlation = 2
    _jump: int  # of the function of each variable
    _beside: Callable[[sp.Expr], sp.Expr]  # the average of the other one where a variable is at its jump

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """The density of a variable at its jump times what the other has there; Plackett's identity for r."""
        h, k, r = self.args
        variance = 1 - r**2  # of a variable, the other one being known
        if argindex == 3:
            return (
                self._jump**2
                * sp.exp(-(h**2 - 2 * h * k * r + k**2) / (2 * variance))
                / (2 * sp.pi * sp.sqrt(variance))
            )
        if argindex == 2:
            h, k = k, h
        density = self._jump * sp.exp(-(h**2) / 2) / sp.sqrt(2 * sp.pi)
        return density * type(self)._beside((k - r * h) / sp.sqrt(2 * variance))


class S2(_OfPair):
    """``<sgn(h + x) sgn(k + y)>`` of standard normal x and y with correlation r.

    ``S2 = 4 P(x < h, y < k) - 2 P(x < h) - 2 P(y < k) + 1`` links it to the bivariate normal law.

    Args:
        h: shift of the first, real.
        k: shift of the second.
        r: correlation, between -1 and 1.
    """

    _enclosed = staticmethod(two_signs)
    _jump, _beside = 2, sp.erf
    meaning = "S2(h, k, r): the average of sgn(h + x)*sgn(k + y), x and y standard normal with correlation r"
    tex = (
        r"$\mathrm{S}_2(h, k, r) = \langle \operatorname{sgn}(h + x) \operatorname{sgn}(k + y) \rangle$, "
        r"$x$ and $y$ standard normal with correlation $r$"
    )

    @classmethod
    def eval(cls, h: sp.Expr, k: sp.Expr, r: sp.Expr) -> sp.Expr | None:
        """Elementary values, and one way of writing equal ones: the function is symmetric, and odd in h and in k."""
        for one, other in ((h, k), (k, h)):
            if one.is_infinite:
                return sp.sign(one) * sp.erf(other / sp.sqrt(2))
        if r.is_zero:
            return sp.erf(h / sp.sqrt(2)) * sp.erf(k / sp.sqrt(2))
        if h.is_zero and k.is_zero:
            return 2 * sp.asin(r) / sp.pi
        if abs(r) == 1:
            return r * (1 - abs(sp.erf(h / sp.sqrt(2)) - r * sp.erf(k / sp.sqrt(2))))
        signs = [-1 if shift.could_extract_minus_sign() else 1 for shift in (h, k)]
        sign = signs[0] * signs[1]
        turned = sign * r
        if (h.is_zero or k.is_zero) and turned.could_extract_minus_sign():  # a centred variable may change its sign
            turned, sign = -turned, -sign
        ordered = sorted((signs[0] * h, signs[1] * k), key=sp.default_sort_key)
        if (*ordered, turned) != (h, k, r):
            return sign * cls(*ordered, turned)
        return None


class Q2(_OfPair):
    """``P(x > h, y > k)`` of standard normal x and y with correlation r: the upper tail of the bivariate normal law.

    ``4 Q2 = 1 - erf(h/sqrt(2)) - erf(k/sqrt(2)) + S2``, without the cancellation far out.

    Args:
        h: first threshold, real.
        k: second threshold.
        r: correlation, between -1 and 1.
    """

    _enclosed = staticmethod(two_tails)
    _jump, _beside = -1, staticmethod(lambda u: sp.erfc(u) / 2)
    meaning = "Q2(h, k, r): the probability of x > h and y > k, x and y standard normal with correlation r"
    tex = (
        r"$\mathrm{Q}_2(h, k, r)$ is the probability of $x > h$ and $y > k$, "
        r"$x$ and $y$ standard normal with correlation $r$"
    )

    @classmethod
    def eval(cls, h: sp.Expr, k: sp.Expr, r: sp.Expr) -> sp.Expr | None:
        """Elementary values, and one order of the thresholds."""
        for one, other in ((h, k), (k, h)):
            if one.is_infinite:
                return (1 - sp.sign(one)) * sp.erfc(other / sp.sqrt(2)) / 4
        if r.is_zero:
            return sp.erfc(h / sp.sqrt(2)) * sp.erfc(k / sp.sqrt(2)) / 4
        if h.is_zero and k.is_zero:
            return sp.Rational(1, 4) + sp.asin(r) / (2 * sp.pi)
        if sp.default_sort_key(k) < sp.default_sort_key(h):
            return cls(k, h, r)
        return None


class S4(_SignAverage):
    """``<sgn(x1) sgn(x2) sgn(x3) sgn(x4)>`` of centred Gaussian variables.

    Args:
        r12, r13, r14, r23, r24, r34: correlations.
    """

    nargs = 6
    _enclosed = staticmethod(lambda *r: four_signs(r))
    meaning = "S4(r12, ..., r34): the average of sgn(x1)*sgn(x2)*sgn(x3)*sgn(x4), centred, with these correlations"
    tex = (
        r"$\mathrm{S}_4(r_{12}, \ldots, r_{34}) = \langle \operatorname{sgn}(x_1 x_2 x_3 x_4) \rangle$, "
        r"centred variables with these correlations"
    )

    @classmethod
    def eval(cls, *r: sp.Expr) -> sp.Expr | None:
        """Products where the variables fall into independent pairs, T4 where all correlations are equal."""
        for pair in ((0, 5), (1, 4), (2, 3)):
            if all(r[k].is_zero for k in range(6) if k not in pair):
                return sp.Mul(*(2 * sp.asin(r[k]) / sp.pi for k in pair))
        if len(set(r)) == 1:
            return T4(r[0])
        return None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Plackett: both variables at zero, and the signs of the others there."""
        polynomials = conditional_on_pair(self.args, argindex - 1)
        covariance, one, other = (sp.Add(*coefficients) for coefficients in polynomials)  # their values at t = 1
        correlation = covariance / sp.sqrt(one * other)
        return 4 / sp.pi**2 * sp.asin(correlation) / sp.sqrt(1 - self.args[argindex - 1] ** 2)


class T4(_SignAverage):
    """``<sgn(x1) sgn(x2) sgn(x3) sgn(x4)>`` of centred Gaussian variables with equal correlations.

    ``T4(r) = (24/pi**2) * integral of asin(sin(t)/(1 + 2*sin(t)))`` over t from 0 to asin(r); the volume of a regular
    spherical tetrahedron, for which no elementary form is known.

    Args:
        r: the correlation, between -1/3 and 1.
    """

    nargs = 1
    _enclosed = staticmethod(lambda r: four_signs((r,) * 6))
    meaning = "T4(r): the average of sgn(x1)*sgn(x2)*sgn(x3)*sgn(x4), centred, all correlations r"
    tex = (
        r"$\mathrm{T}_4(r) = \langle \operatorname{sgn}(x_1 x_2 x_3 x_4) \rangle$, "
        r"centred variables of which any two have correlation $r$"
    )

    @classmethod
    def eval(cls, r: sp.Expr) -> sp.Expr | None:
        """T4(0) = 0, T4(1/2) = 1/5 (one ordering in five has an even rank), T4(1) = 1."""
        if r.is_zero:
            return sp.Integer(0)
        if r == 1:
            return sp.Integer(1)
        return sp.Rational(1, 5) if r == sp.Rational(1, 2) else None

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        """Plackett's identity, six times."""
        (r,) = self.args
        return 24 / sp.pi**2 * sp.asin(r / (1 + 2 * r)) / sp.sqrt(1 - r**2)


register(
    FunctionRecord(kind=S2),
    FunctionRecord(kind=S4, spellings={"arrays": "_four_signs({0}, {1}, {2}, {3}, {4}, {5})"}),
    FunctionRecord(kind=T4, spellings={"arrays": "_equal_signs({0})"}),
    FunctionRecord(
        kind=Q2,
        definition=lambda h, k, r: (1 - sp.erf(h / sp.sqrt(2)) - sp.erf(k / sp.sqrt(2)) + S2(h, k, r)) / 4,
    ),
)
