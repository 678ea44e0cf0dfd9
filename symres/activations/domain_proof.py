"""Proof that a smooth formula is real and finite on an interval.

A formula of elementary functions can only fail where it divides, takes a root or a logarithm, or leaves the domain of
an inverse function. Each such place gives a condition ``h(z) > 0``, which is proved on the whole interval by
evaluating ranges on smaller and smaller boxes. Parameters range over everything that their assumptions admit, or, where
that is not enough, over a handful of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import sympy as sp
from flint import arb, ctx, fmpq

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..core.words import abbreviated
from ..functions.balls import compile_ball
from ..functions.function_record import record_of
from ..functions.ranges import BITS, RangeProgram, range_of_assumptions, samples, sign_of
from ..functions.removable import quotient_beside_zero
from ..numerics.interval_arithmetic import LINE, Range, Undefined, interval

_BOXES = 600  # evaluations per condition before the proof is given up
_BESIDE = arb(2) ** -6  # from a zero of what must not be negative: it is negative on one side, or touches 0
_AROUND_ZERO = sp.Rational(1, 64)  # up to which a formula that is 0/0 at 0 is enclosed by one ball
_KINK_REMEDY = "write its kink with abs, max, where, or the root of a polynomial such as sqrt(z^4 + z^2)"
_PROBES = (0, 1, -1, 2, -2, Fraction(1, 2), Fraction(-1, 2), 3, -3, 5, -5, 10, -10, 100, -100)

Values: TypeAlias = Mapping[sp.Symbol, sp.Rational]
Ends: TypeAlias = tuple[sp.Expr | None, sp.Expr | None]  # of an interval; None for -oo and oo


def require_finite(asked: str, part: sp.Expr, left: sp.Expr | None, right: sp.Expr | None) -> None:
    """Prove that a smooth formula is real and finite between two points.

    Both ends belong to the interval, None stands for infinity; the formula is free of Abs, sign, Heaviside, Max,
    Min and Piecewise. Messages begin with ``asked``, what it is part of.

    Raises:
        DeclarationError: the formula is not real or not finite (the message says where), or the proof failed.
    """
    if part.has(sp.nan, sp.zoo, sp.oo, sp.S.NegativeInfinity, sp.I):
        between = f"between {'-oo' if left is None else left} and {'oo' if right is None else right}"
        kind = "real" if part.has(sp.I) else "finite"
        raise DeclarationError(asked, f"it is not {kind} {between}", _remedy(left, right, real=kind != "real"))
    if quotient_beside_zero(part, z) is not None and _is_inside(left, right):
        with ctx.workprec(BITS):
            value = compile_ball(part, (z,))([arb(0, float(_AROUND_ZERO))])
        if value.is_finite():  # what is left is on both sides of 0
            for a, b in ((left, -_AROUND_ZERO), (_AROUND_ZERO, right)):
                if a is None or b is None or sign_of(b - a) == 1:
                    require_finite(asked, part, a, b)
            return
    ends = [end for end in (left, right) if end is not None]
    parameters = set().union(part.free_symbols, *(end.free_symbols for end in ends)) - {z}
    choices: list[Values] = list(samples(sorted(parameters, key=str)))
    # where the formula may fail, innermost places first
    for condition in dict.fromkeys(c for node in sp.postorder_traversal(part) for c in _conditions_of(node)):
        condition.prove(asked, (left, right), choices)


def _is_inside(left: sp.Expr | None, right: sp.Expr | None) -> bool:
    """Whether 0 is in a closed interval."""
    return (left is None or sign_of(left) in (-1, 0)) and (right is None or sign_of(right) in (1, 0))


@dataclass(frozen=True)
class _Condition:
    """``positive`` must be above zero (``sign`` 0: must not be zero) where ``node`` is evaluated."""

    node: sp.Expr
    positive: sp.Expr
    kind: str  # "positive", "nonzero", or "inside": positive but for the ends of the interval

    def prove(self, asked: str, ends: Ends, choices: Sequence[Values]) -> None:
        """Try all parameter values at once, then the samples."""
        parameters = self.positive.free_symbols - {z}
        ends_are_fixed = not any(end is not None and end.free_symbols for end in ends)
        if parameters and ends_are_fixed:
            try:
                return self._prove(asked, ends, {s: range_of_assumptions(s) for s in parameters})
            except DeclarationError:
                pass  # only the samples can tell whether a single admissible value fails
        for values in choices if parameters or not ends_are_fixed else choices[:1]:
            low, high = (end if end is None else end.xreplace(values) for end in ends)
            fixed = _Condition(self.node, self.positive.xreplace(values), self.kind)
            where = ", ".join(f"{s} = {v}" for s, v in values.items() if s in parameters)
            fixed._prove(asked, (low, high), {}, where)

    def _prove(self, asked: str, ends: Ends, ranges: Mapping[sp.Symbol, Range], where: str = "") -> None:
        with ctx.workprec(BITS):
            try:
                _Prover(self, ranges, ends, asked, where).run()
            except Undefined:
                found = f"{self.positive} is not a formula of elementary functions"
                raise DeclarationError(asked, found, "use exp, log and powers") from None


class _Prover:
    """Proof of one condition on one interval, by bisection."""

    def __init__(
        self, condition: _Condition, ranges: Mapping[sp.Symbol, Range], ends: Ends, asked: str, where: str
    ) -> None:
        self.condition, self.ranges, self.ends, self.asked, self.where = condition, ranges, ends, asked, where
        self.program = RangeProgram(condition.positive, ranges)
        self.sign = 1
        if condition.positive.has(z):
            outside = condition.kind != "inside"
            low, high = (end_place(end, side, outside) for end, side in zip(ends, (-1, 1), strict=True))
            self.domain = Range(low, high, ends[0] is None, ends[1] is None)
        else:
            self.domain = interval(arb(0), arb(0))

    def _refused(self, found: str, real: bool = True, kink: bool = False) -> DeclarationError:
        """A condition that is violated, or could not be proved.

        A kink is real and finite, but the root in it is not smooth.
        """
        shown = abbreviated(str(self.condition.node).replace("**", "^"), 60)
        remedy = _KINK_REMEDY if kink else _remedy(*self.ends, bool(self.where), real)
        return DeclarationError(self.asked, f"{shown} {found}{' for ' if self.where else ''}{self.where}", remedy)

    def run(self) -> None:
        """Refuse the formula unless the condition holds."""
        if self.condition.kind == "nonzero":
            self._choose_sign()
        if self._holds(self.domain):
            return
        ends = (end for end in (self.domain.lo, self.domain.hi) if end.is_finite())
        self._probe(*ends, *self._points())  # simple points first: they make the clearest messages
        boxes, spent = [self.domain], 0
        while boxes:
            box = boxes.pop()
            spent += 1
            if self._holds(box):
                continue
            middle = split_place(box)
            if spent > _BOXES or middle is None:
                where = "for z -> oo" if box.lo.is_finite() else "for z -> -oo"
                if box.lo.is_finite() and box.hi.is_finite():
                    where = f"near z = {_readable(((box.lo + box.hi) / 2).mid())}"
                raise self._refused(f"could not be shown to be finite {where}")
            self._probe(middle)
            boxes += [box._replace(lo=middle, lo_open=False), box._replace(hi=middle, hi_open=False)]

    def _holds(self, box: Range) -> bool:
        """Whether the condition is shown to hold on a box: by its range, else by its slope from a good end on."""
        value = self._value(box)
        if value is None:
            return False
        if value.is_positive:
            return True
        if box.lo.is_finite() != box.hi.is_finite():
            return self._rises_outwards(box)
        touches_end = bool(box.lo == self.domain.lo) or bool(box.hi == self.domain.hi)
        if self.condition.kind != "inside" or not touches_end or not box.hi - box.lo < arb(2) ** -20:
            return False
        return value.is_nonnegative or self._rises_inwards(box)

    def _rises_outwards(self, box: Range) -> bool:
        """Positive at the end of a half-line and increasing away from it."""
        end = box.lo if box.lo.is_finite() else box.hi
        start, slope = self._value(Range(end, end)), self._slope(box)
        rising = slope.is_nonnegative if box.lo.is_finite() else slope.is_nonpositive
        return rising and start is not None and start.is_positive

    def _rises_inwards(self, box: Range) -> bool:
        """Not negative at the exact end of the interval and increasing away from it."""
        is_left = bool(box.lo == self.domain.lo)
        end = self.ends[0 if is_left else 1]
        slope = self._slope(box)
        rising = slope.is_positive if is_left else slope.is_negative
        return rising and end is not None and sign_of(self.condition.positive, end) in (0, 1)

    def _slope(self, box: Range) -> Range:
        try:
            return self._derivative(box)
        except Undefined:
            return LINE

    @cached_property
    def _derivative(self) -> RangeProgram:
        return RangeProgram((self.sign * self.condition.positive).diff(z), self.ranges)

    def _value(self, box: Range) -> Range | None:
        try:
            value = self.program(box)
        except Undefined:
            return None
        return value if self.sign == 1 else Range(-value.hi, -value.lo, value.hi_open, value.lo_open)

    def _choose_sign(self) -> None:
        """Which sign a formula without zeros has, from the first point where it is seen."""
        for point in self._points():
            value = self._value(Range(point, point))
            if value is not None and value.excludes_zero:
                self.sign = 1 if value.is_positive else -1
                return

    def _points(self) -> Iterator[arb]:
        if self.domain.lo == self.domain.hi:
            yield self.domain.lo
        for probe in _PROBES:
            point = arb(fmpq(probe.numerator, probe.denominator))
            if self.domain.lo < point < self.domain.hi:
                yield point
        if (middle := split_place(self.domain)) is not None:
            yield middle

    def _probe(self, *points: arb) -> None:
        """Refuse the formula if the condition is violated at one of the points, for the clearest violation first."""
        values = [(point, value) for point in points if (value := self._value(Range(point, point))) is not None]
        for point, value in values:
            if self.condition.kind == "nonzero" and value.is_nonpositive and not value.is_negative:
                raise self._refused(f"is not finite at z = {_readable(point)}")
        for point, value in values:
            if self.condition.kind == "nonzero" and value.is_negative:
                raise self._refused(f"is not finite near z = {_readable(self._root(point))}")
            if value.is_negative:
                raise self._refused(f"is not real at z = {_readable(point)}", real=False)
        for point, value in values:
            if self.condition.kind == "positive" and value.is_nonpositive:
                raise self._refused(f"is not finite at z = {_readable(point)}")
            if value.is_nonpositive and self.domain.lo < point < self.domain.hi:
                for beside in (point - _BESIDE, point + _BESIDE):
                    if (there := self._value(Range(beside, beside))) is not None and there.is_negative:
                        raise self._refused(f"is not real at z = {_readable(beside)}", real=False)
                raise self._refused(f"is not smooth at z = {_readable(point)}", kink=True)

    def _root(self, negative: arb) -> arb:
        """Where the sign changes between a point of the right sign and one of the wrong sign."""
        right = (p for p in self._points() if (v := self._value(Range(p, p))) is not None and v.is_positive)
        positive = next(right, negative)
        for _ in range(60):
            middle = ((positive + negative) / 2).mid()
            value = self._value(Range(middle, middle))
            if value is not None and value.is_positive:
                positive = middle
            else:
                negative = middle
        return negative


def _conditions_of(node: sp.Basic) -> Iterator[_Condition]:
    """What must hold for one node to be real and finite: a base, a pole, the ends of a domain."""
    if isinstance(node, sp.Pow) and not isinstance(node, sp.exp):
        base, exponent = node.base, node.exp
        if exponent.is_Integer:
            if exponent < 0:
                yield _Condition(node, base, "nonzero")
        elif exponent.has(z) or not exponent.is_positive:
            yield _Condition(node, base, "positive")
        else:
            yield _Condition(node, base, "inside")
    elif (record := record_of(node)) is not None and len(node.args) == 1:
        u, (low, high, low_open, high_open) = node.args[0], record.domain
        if record.poles is not None:
            yield _Condition(node, record.poles(u), "nonzero")
        for end, is_open, side in ((high, high_open, -1), (low, low_open, 1)):
            if end.is_finite():
                margin = side * (u - int(end.unique_fmpz()))
                if end != 0 and margin.is_rational_function(z):
                    margin = sp.cancel(margin)  # a quotient in lowest terms has a sharper range
                yield _Condition(node, margin, "positive" if is_open else "inside")


# ------------------------------------------------------------------------------------------------ points
def end_place(end: sp.Expr | None, side: int, outside: bool) -> arb:
    """An end of the interval as an exact number, outside or inside it by less than a rounding error."""
    if end is None:
        return arb.pos_inf() * side
    value = RangeProgram(end, {})()
    return value.hi if (side == 1) == outside else value.lo


def split_place(box: Range) -> arb | None:
    """A point inside, or None if the box is too small or too far out to be split."""
    if not box.lo.is_finite() and not box.hi.is_finite():
        return arb(0)
    if not box.hi.is_finite():
        return None if box.lo > 10**30 else max(arb(1), (2 * box.lo).mid())
    if not box.lo.is_finite():
        return None if box.hi < -(10**30) else min(arb(-1), (2 * box.hi).mid())
    middle = ((box.lo + box.hi) / 2).mid()
    return middle if box.lo < middle < box.hi and box.hi - box.lo > arb(2) ** -40 * (1 + abs(middle)) else None


def _remedy(left: sp.Expr | None, right: sp.Expr | None, parameters: bool = False, real: bool = True) -> str:
    always = " and every admissible value of its parameters" if parameters else ""
    if left is None and right is None:
        advice = "where(...) cannot leave out a single point"
        if not real:
            advice = "use abs(z) inside, as sign(z)*abs(z)^(1/3) and log(1 + abs(z)) do, or where(z > 0, ..., 0)"
        return f"give a formula that is real and finite for every real z{always}; {advice}"
    return (
        f"give branches that are real and finite for every z of their intervals, ends included{always}: "
        "end one before that point, or keep it out as 1/max(1 - z^2, 1/100) does"
    )


def _readable(point: arb) -> str:
    value = float(point)
    nearest = Fraction(value).limit_denominator(12)
    if abs(value - nearest) < 1e-9 * (1 + abs(value)):
        return str(nearest)
    return f"{value:.6g}"
