"""Gauss-Legendre panels for quadrature to 30 digits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import mpmath as mp
import sympy as sp
from flint import arb, ctx, fmpq

BITS = 220  # of every number: 30 digits, and what cancels on the way
RULES = (30, 44)  # nodes per panel; the difference is the measured error of the smaller rule
REACHES = (16, 22, 30, 44, 64)  # standard deviations beyond which nothing is left, tried in turn
LEFT_OUT = 1e-42  # the last panel's share of the whole at which the reach is enough
ENOUGH, OF_SIZE = 1e-31, 1e-40  # error of a number, relative to it or to what was integrated
ENOUGH_LEFT = 1e-20  # a value with fewer digits than that is judged by the size of what cancelled


class Unsettled(Exception):
    """The rules do not agree to 30 digits."""


@dataclass(frozen=True)
class Measured:
    """A number by quadrature.

    Args:
        value: the number.
        error: difference of two rules and rounding, at most 1e-31 of the value or 1e-40 of the size.
        size: the integral of the absolute value, roughly: against which a number may be zero.
    """

    value: mp.mpf
    error: mp.mpf
    size: mp.mpf

    def distance(self, claim: mp.mpf) -> mp.mpf:
        """By how much a claim differs, relative to the value; to the size, where that is all cancellation left."""
        with mp.workprec(BITS):
            whole = abs(self.value) if abs(self.value) > 10 * self.error / ENOUGH_LEFT else self.size
            return (abs(mp.mpf(claim) - self.value) + self.error) / whole if whole else abs(mp.mpf(claim))


class Panel:
    """An interval with exact ends."""

    def __init__(self, left: Fraction, right: Fraction, piece: int) -> None:
        self.left, self.right, self.piece = left, right, piece
        self.middle, self.half = (left + right) / 2, (right - left) / 2

    def nodes(self, count: int) -> list[arb]:
        """The places at which a rule looks."""
        middle, half = ball(self.middle), ball(self.half)
        return [middle + half * t for t, _ in legendre(count)]


def ball(number: Fraction) -> arb:
    """An exact number as a ball of the working precision."""
    return arb(fmpq(number.numerator, number.denominator))


@cache
def legendre(count: int) -> list[tuple[arb, arb]]:
    """Nodes and weights on (-1, 1)."""
    with ctx.workprec(BITS + 40):
        return [arb.legendre_p_root(count, k, weight=True) for k in range(count)]


def fraction(number: sp.Rational) -> Fraction:
    """A rational number of sympy as one of Python."""
    return Fraction(int(number.p), int(number.q))


def ruler(variance: sp.Rational) -> Fraction:
    """A power of two between one and two standard deviations."""
    return Fraction(2) ** math.ceil(math.log2(float(variance)) / 2)


def panels(breaks: Sequence[sp.Rational], reach: Fraction, narrow: Fraction, wide: Fraction) -> list[Panel]:
    """Cut (-reach, reach) at the breaks and at 0, then in halves.

    Args:
        breaks: ends of the smooth pieces.
        reach: where to stop.
        narrow: largest width of a panel that touches a break or 0.
        wide: largest width of any; in between it may be as wide as its distance from them.
    """
    places = [fraction(b) for b in breaks]
    marks = sorted({Fraction(0), *places})
    edges = [-reach, *(m for m in marks if -reach < m < reach), reach]
    result: list[Panel] = []

    def cut(left: Fraction, right: Fraction, piece: int) -> None:
        distance = min((max(m - right, left - m) for m in marks), default=reach)
        if right - left <= min(wide, max(narrow, distance)):
            result.append(Panel(left, right, piece))
            return
        cut(left, (left + right) / 2, piece)
        cut((left + right) / 2, right, piece)

    for left, right in pairwise(edges):
        cut(left, right, sum(place <= left for place in places))
    return result


def settle(attempt: Callable[[int, Fraction], tuple[arb, arb, arb, bool]], halvings: int) -> Measured:
    """Halve the panels and move the ends outwards until two rules agree.

    Args:
        attempt: integrates within a reach and with panels so much narrower; returns the number, the difference of the
            two rules, the integral of the absolute value, and whether something was left at the ends.
        halvings: how often.

    Raises:
        Unsettled: they never do.
    """
    with ctx.workprec(BITS):
        reaches, share = iter(REACHES), Fraction(1)
        reach = next(reaches)
        while 2**halvings * share >= 1:
            number, difference, size, short = attempt(reach, share)
            error = abs(difference) + number.rad()
            if not error.is_finite():
                break
            if short:
                reach = next(reaches, 0)
                if not reach:
                    break
            elif error <= ENOUGH * abs(number) or error <= OF_SIZE * size:
                return Measured(real(number), real(error), real(size))
            else:
                share /= 2
    raise Unsettled(f"{number} with an error of {error}")


def real(number: arb) -> mp.mpf:
    """The middle of a ball."""
    mantissa, exponent = number.mid().man_exp()
    with mp.workprec(BITS + 40):
        return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))
