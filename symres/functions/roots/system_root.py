"""A solution of several equations in the kernel and the variances, known to any number of digits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import mpmath as mp
import sympy as sp
from flint import arb

from ...core.errors import NoClosedForm
from ...core.scalars import number
from ...core.symbols import C_W, C_b, K, kappa, kappa_b, kappa_W
from ..balls import as_mpf, enclose, value_and_radius
from .implicit_number import ImplicitNumber

UNKNOWNS = (K, C_W, C_b)
_BOUND = (kappa, kappa_W, kappa_b)
_START_BITS = 70  # bits of the start that a number stores: printing needs no further evaluation
_STEP_EXPONENT = 35  # slopes are differences over relative steps of 2^-35, with relative errors of about 2^-70
_SLOPE_BITS = 140  # working precision of the slopes
_BITS_GAINED = 30  # that a Newton step with these slopes adds
_MAX_STEPS = 60


class SystemRoot(ImplicitNumber):
    """One coordinate of the place where three functions of K, C_W and C_b vanish.

    Args:
        equations: the three, in ``symbols.kappa``, ``kappa_W`` and ``kappa_b``.
        start: a place so close that Newton's method goes to the solution, exact numbers.
        index: 0 for K, 1 for C_W, 2 for C_b.
    """

    def __new__(cls, equations: sp.Tuple, start: sp.Tuple, index: int) -> SystemRoot:
        """A coordinate of the solution near a place."""
        return super().__new__(cls, equations, start, sp.Integer(index))

    @classmethod
    def near(cls, equations: Sequence[sp.Expr], start: Sequence[float]) -> tuple[SystemRoot, SystemRoot, SystemRoot]:
        """K, C_W and C_b where three functions vanish.

        Raises:
            NoClosedForm: there is no solution close to the start.
        """
        bound = dict(zip(UNKNOWNS, _BOUND, strict=True))
        system, place = sp.Tuple(*(e.xreplace(bound) for e in equations)), sp.Tuple(*(number(x, "K*") for x in start))
        close = sp.Tuple(*(number(x, "K*") for x in cls(system, place, 0)._refined(_START_BITS + 10, _numbers(place))))
        return cls(system, close, 0), cls(system, close, 1), cls(system, close, 2)

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        with mp.workprec(bits + 20):
            value = self._solved(bits + 4)[int(self.args[2])]
            radius = abs(value) * mp.mpf(2) ** -bits
            ends = [enclose(K, {K: end}, bits + 20) for end in (value - radius, value + radius)]
        return ends[0].union(ends[1])

    def _solved(self, bits: int) -> list[mp.mpf]:
        """The solution with so many bits."""
        known, place = self._closest
        if known < bits:
            place = self._refined(bits, place)
            self._closest = bits, place
        return place

    @cached_property
    def _closest(self) -> tuple[int, list[mp.mpf]]:
        """The best solution so far, with its bits."""
        return _START_BITS, _numbers(self.args[1])

    def _refined(self, bits: int, place: Sequence[mp.mpf]) -> list[mp.mpf]:
        """Newton's method with the slopes at the start."""
        precision = 2 * bits + 40
        with mp.workprec(precision):
            for _ in range(_MAX_STEPS):
                step = mp.lu_solve(self._slopes, -mp.matrix(self._values(place, precision)))
                place = [x + d for x, d in zip(place, step, strict=True)]
                if all(abs(d) < abs(x) * mp.mpf(2) ** (_BITS_GAINED - bits) for x, d in zip(place, step, strict=True)):
                    return place
        raise NoClosedForm("a critical point", "Newton's method found no solution near the start", "report a defect")

    @cached_property
    def _slopes(self) -> mp.matrix:
        with mp.workprec(_SLOPE_BITS):
            start, columns = _numbers(self.args[1]), []
            for k, x in enumerate(start):
                h = x * mp.mpf(2) ** -_STEP_EXPONENT
                ends = [self._values([*start[:k], x + side * h, *start[k + 1 :]], _SLOPE_BITS) for side in (1, -1)]
                columns.append([(a - b) / (2 * h) for a, b in zip(*ends, strict=True)])
            return mp.matrix(columns).T

    def _values(self, place: Sequence[mp.mpf], bits: int) -> list[mp.mpf]:
        values = dict(zip(_BOUND, place, strict=True))
        return [value_and_radius(enclose(e, values, bits))[0] for e in self.args[0]]


def _numbers(place: sp.Tuple) -> list[mp.mpf]:
    with mp.workprec(2 * _START_BITS):  # whoever asks first
        return [*map(as_mpf, place)]
