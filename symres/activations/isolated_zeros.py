"""Zeros of smooth formulas that have no closed form: each is enclosed, and together they are shown to be all.

The line is cut into boxes until each of them has no zero, or one: a formula that rises or falls over a box vanishes
there once if it has opposite signs at the ends, and next to a zero of order k that is seen exactly, such as 0 of
``z - tanh(z)``, there is no other one as far as the derivative of that order does not vanish.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp
from flint import arb, ctx

from ..core.symbols import kappa, z
from ..functions.balls import exact_middle, to_ball
from ..functions.ranges import BITS, RangeProgram, sign_of
from ..functions.roots.root import FormulaZero
from ..numerics.interval_arithmetic import LINE, Range, Undefined
from .domain_proof import Ends, end_place, split_place

_BOXES = 2000  # after which the search ends: an oscillation has no last zero, and ten zeros take two hundred boxes
_MAX_ORDER = 6  # of a zero: z - tanh(z) has one of order 3
_SIMPLE = 12  # largest denominator of a zero that is looked for exactly, as 1 of max(z, exp(z - 1))


def isolated_zeros(part: sp.Expr, ends: Ends) -> list[sp.Expr] | None:
    """Every zero of a smooth formula without parameters on a closed interval.

    Args:
        part: the formula, real and finite on the interval.
        ends: of the interval, numbers; None for infinite ones.

    Returns:
        The zeros in no order, exact ones or roots that are enclosed to any precision; None where they could not all
        be told apart: infinitely many, or double ones that are not simple fractions.
    """
    with ctx.workprec(BITS):
        return _Search(part, ends).run()


class _Search:
    def __init__(self, part: sp.Expr, ends: Ends) -> None:
        self.ends = ends
        self.derivatives = [part]
        self.programs: list[RangeProgram] = []

    def run(self) -> list[sp.Expr] | None:
        """All zeros."""
        low, high = (end_place(end, side, outside=True) for end, side in zip(self.ends, (-1, 1), strict=True))
        boxes = [LINE._replace(lo=low, hi=high)]
        zeros: dict[sp.Expr, None] = {}
        for _ in range(_BOXES):
            if not boxes:
                return list(zeros)
            box = boxes.pop()
            inside = None if box.lo < 0 < box.hi else self._zeros_in(box)
            if inside is not None:
                zeros.update(dict.fromkeys(inside))
                continue
            middle = arb(0) if box.lo < 0 < box.hi else split_place(box)
            if middle is None:
                return None
            boxes += [box._replace(lo=middle), box._replace(hi=middle)]
        return None

    def _zeros_in(self, box: Range) -> list[sp.Expr] | None:
        """The zeros in a box on one side of 0, if it can be told that it has none, or one."""
        if self._range(0, box).excludes_zero:
            return []
        signs = [self._sign(0, end) for end in (box.lo, box.hi)]
        slope = self._range(1, box)
        if slope.excludes_zero:
            rise = 1 if slope.is_positive else -1
            if signs[0] == rise or signs[1] == -rise:  # it moves away from 0, to an infinite end too
                return []
            if signs == [-rise, rise]:
                return [self._root(box, rise)]
        for place in self._exact_places(box):
            if sign_of(self._derivative(0), place) == 0:
                order = next((k for k in range(1, _MAX_ORDER + 1) if sign_of(self._derivative(k), place) != 0), 0)
                return [place] if self._range(order, box).excludes_zero else None
        return None

    def _root(self, box: Range, rise: int) -> sp.Expr:
        """The zero between two ends of opposite signs: the root of an equation in a positive variable that rises."""
        low, high = map(exact_middle, (box.lo, box.hi))
        if high > 0:
            return FormulaZero.between(rise * self._derivative(0).xreplace({z: kappa}), low, high)
        return -FormulaZero.between(-rise * self._derivative(0).xreplace({z: -kappa}), -high, -low)

    def _exact_places(self, box: Range) -> list[sp.Expr]:
        """Numbers in a box at which a zero may be seen exactly: its ends, those of the interval, a simple fraction."""
        places = [exact_middle(end) for end in (box.lo, box.hi) if end.is_finite()]
        places += [end for end in self.ends if end is not None]
        if len(places) > 1 and box.lo.is_finite() and box.hi.is_finite():
            places.append(sp.Rational(Fraction(float((box.lo + box.hi) / 2)).limit_denominator(_SIMPLE)))
        with_balls = ((place, to_ball(place, BITS)) for place in dict.fromkeys(places))
        return [place for place, ball in with_balls if not (ball < box.lo or ball > box.hi)]

    def _sign(self, order: int, place: arb) -> int | None:
        return sign_of(self._derivative(order), exact_middle(place)) if place.is_finite() else None

    def _range(self, order: int, box: Range) -> Range:
        while len(self.programs) <= order:
            self.programs.append(RangeProgram(self._derivative(len(self.programs)), {}))
        try:
            return self.programs[order](box)
        except Undefined:
            return LINE

    def _derivative(self, order: int) -> sp.Expr:
        while len(self.derivatives) <= order:
            self.derivatives.append(self.derivatives[-1].diff(z))
        return self.derivatives[order]
