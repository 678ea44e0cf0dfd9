"""Where the correlation of two inputs ends in a deep network, and over which depths kernels and correlations go there.

At the kernel K* in which the network ends, a layer maps the correlation c of two inputs to
``f(c) = C'(K*, K*, c K*)/K*`` (Poole et al., arXiv:1606.05340; Schoenholz et al., arXiv:1611.01232). f maps positive
definite kernels on spheres of any dimension to positive definite ones, so that it is a power series with coefficients
that are not negative, whatever the layer (Schoenberg, 1942), and f(1) = 1. Therefore

* f is convex between 0 and 1: beside c = 1 there is one fixed point c* in [0, 1) if f'(1) = chi_perp > 1, and none
  otherwise unless f(c) = c;
* with odd and even parts, ``-f(-c) = odd(c) - even(c) <= c*odd(1) <= c``: fixed points below 0 need ``even = 0``, and
  then they are those above 0 with the other sign.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import mpmath as mp
import sympy as sp

from ...core.errors import NoClosedForm
from ...core.scalars import Number, number
from ...core.symbols import C, K
from ...numerics.brent import brent
from ...results.phases import CRITICAL, DepthScales, Phase
from ...results.quantity import Quantity
from ..quantities.build import derivative

_DIGITS = 32  # of the map: where a correlation is nearly 1, its distance from 1 still has 15
_GUARDED = 28  # digits of it in which values that are equal agree
_NEAREST = 1e-12  # to 1, of a fixed point: chi_perp - 1, half the curvature times that, counts as 0 at 1e-10


class CorrelationMap:
    """``f(c)`` at the kernel in which a network ends.

    Args:
        covariance: the covariance map of two inputs.
        phase: where the network ends.
        start: the kernel of the input, at which f is taken where every kernel is kept; None for 1.
        params: a number for every parameter, by name.

    Raises:
        NoClosedForm: the network ends at no positive kernel.
    """

    def __init__(self, covariance: Quantity, phase: Phase, start: Number | None, params: Mapping[str, Number]) -> None:
        if phase.K in (0, math.inf):
            found = f"the kernel ends at {phase.K:g}, where correlations depend on those of the input"
            raise NoClosedForm("the limit of correlations", found, "iterate dual_kernels()")
        self._kernel = number((1 if start is None else start) if phase.K == K else phase.K, "K")
        self._covariance, self._phase = covariance, phase
        self._params = dict(params)

    @cached_property
    def fixed_points(self) -> tuple[float, ...]:
        """All correlations that a layer keeps, in increasing order.

        Raises:
            NoClosedForm: every correlation is kept.
        """
        inner = self._inner
        if inner is None:
            # f(0) = 0, f(1) = 1 and f'(1) <= 1 leave nothing but f(c) = c to a convex function
            if self._value(sp.Integer(0)) == 0:
                raise NoClosedForm("the limit of correlations", "the layer keeps every correlation", "take another")
            return (1.0,)
        return (-1.0, 0.0, 1.0) if inner == 0 and self._is_odd else (inner, 1.0)

    @property
    def scales(self) -> DepthScales:
        """The correlation in which deep networks end, and the depths over which they go there."""
        inner = self._inner
        slope = self._phase.chi_perp if inner is None else self._slope(number(inner, "c"))
        return DepthScales(1.0 if inner is None else inner, _depth(abs(self._phase.chi_parallel)), _depth(slope))

    @cached_property
    def _inner(self) -> float | None:
        """c* in [0, 1); None where correlations end at 1."""
        if not self._phase.chi_perp > 1 + CRITICAL:
            return None
        if self._value(sp.Integer(0)) == 0:
            return 0.0
        apart = 1.0
        while self._excess(apart) < 0:
            apart /= 10
            if apart < _NEAREST:
                return None
        return 1 - brent(self._excess, apart, 10 * apart, xtol=1e-300, rtol=1e-15)

    @property
    def _is_odd(self) -> bool:
        """Whether f(-c) = -f(c): f(-1) = -1 leaves no even power."""
        with mp.workdps(_DIGITS):
            ends = [self._value(sp.Integer(c)) for c in (-1, 1)]
            return bool(abs(sum(ends)) <= mp.mpf(10) ** -_GUARDED * ends[1])

    def _excess(self, apart: float) -> float:
        """``(1 - f(c))/(1 - c) - 1`` at c = 1 - apart: negative where c < c*, positive where c > c*."""
        if apart == 1:
            return -float(self._value(sp.Integer(0)))
        distance = sp.Rational(apart)
        with mp.workdps(_DIGITS):
            gained = (self._value(sp.Integer(1)) - self._value(1 - distance)) / mp.mpf(apart)
            return float(gained / mp.mpf(sp.Float(self._kernel, _DIGITS)) - 1)

    def _value(self, c: sp.Expr) -> mp.mpf:
        """The next covariance, K* f(c)."""
        return self._covariance.evalf(_DIGITS, **self._pair(c))

    def _slope(self, c: sp.Expr) -> float:
        """f'(c), that of the covariance map in C."""
        return float(derivative(self._covariance, C).evalf(_DIGITS, **self._pair(c)))

    def _pair(self, c: sp.Expr) -> dict[str, Number]:
        return {"K1": self._kernel, "K2": self._kernel, "C": c * self._kernel, **self._params}


def _depth(factor: float) -> float:
    """The number of layers over which something that is multiplied by a factor in each falls by a factor e."""
    if math.isnan(factor):
        return math.nan
    if abs(factor - 1) < CRITICAL or factor == math.inf:
        return math.inf
    return 0.0 if factor == 0 else 1 / abs(math.log(factor))
