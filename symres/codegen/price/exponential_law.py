"""Functions that break at 0 and are polynomials plus decaying exponentials on each side, and their averages."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.symbols import z
from ...functions.companions import Erfcx, Erfcxm1
from ..averages.integrands import PiecewiseIntegrand
from .piecewise_law import density, tail_moments


@dataclass(frozen=True)
class ExponentialPieces:
    """A function that breaks at 0.

    Args:
        polynomials: on the left and on the right.
        exponentials: (rate, height): positive rates are on the left, negative ones on the right.
    """

    polynomials: tuple[sp.Expr, sp.Expr]
    exponentials: tuple[tuple[sp.Expr, sp.Expr], ...]

    @classmethod
    def of(cls, f: PiecewiseIntegrand) -> ExponentialPieces | None:
        """The pieces of a function, or None if it is not of this kind."""
        if f.breaks not in ((), (0,)):
            return None
        polynomials, exponentials = [], []
        for part, sign in zip((f.parts[0], f.parts[-1]), (1, -1), strict=True):
            polynomial = sp.S.Zero
            for term in sp.Add.make_args(sp.expand(part)):
                if term.is_polynomial(z):
                    polynomial += term
                    continue
                height, exponential = term.as_independent(z, as_Add=False)
                rate = exponential.args[0].diff(z) if isinstance(exponential, sp.exp) else sp.nan
                if rate.has(z) or not (sign * rate).is_positive:
                    return None
                exponentials.append((rate, height * exponential.subs(z, 0)))
            polynomials.append(polynomial)
        return cls((polynomials[0], polynomials[1]), tuple(exponentials))

    @property
    def order(self) -> int:
        """How often the polynomials are differentiated until they vanish."""
        return 1 + max(-1 if p == 0 else int(sp.degree(p, z)) for p in self.polynomials)

    def diff(self) -> ExponentialPieces:
        """The derivative away from 0."""
        left, right = (p.diff(z) for p in self.polynomials)
        return ExponentialPieces((left, right), tuple((r, r * h) for r, h in self.exponentials))

    @property
    def jump(self) -> sp.Expr:
        """The value on the right of 0 minus that on the left."""
        left, right = (p.subs(z, 0) for p in self.polynomials)
        return sp.expand(right - left - sp.Add(*(sp.sign(r) * h for r, h in self.exponentials)))

    @property
    def terms(self) -> list[tuple[int, sp.Expr, int, sp.Expr]]:
        """The function as a sum of height*abs(z)**power*exp(-rate*abs(z)) on a side: (side, height, power, rate)."""
        listed = []
        for sign, polynomial in zip((-1, 1), self.polynomials, strict=True):
            coefficients = sp.Poly(polynomial, z).all_coeffs()[::-1]
            listed += [(sign, sign**j * c, j, sp.S.Zero) for j, c in enumerate(coefficients) if c != 0]
        return [*listed, *((-int(sp.sign(r)), h, 0, sp.Abs(r)) for r, h in self.exponentials)]

    def average(self, deviation: sp.Expr) -> sp.Expr:
        """The average over a normal variable of mean 0."""
        terms = (height * deviation**j * half_moment(j, rate * deviation) for _, height, j, rate in self.terms)
        return sp.Add(*terms)

    def uncancelled_average(self, deviation: sp.Expr) -> sp.Expr:
        """The same, where constants may cancel exponentials: at small deviations."""
        value_at_0 = sp.Add(*(height for _, height, j, _ in self.terms if j == 0))
        total = sp.expand(value_at_0) / 2
        for _, height, j, rate in self.terms:
            if j:
                total += height * deviation**j * half_moment(j, rate * deviation)
            elif rate != 0:
                total += height * Erfcxm1(rate * deviation / sp.sqrt(2)) / 2
        return total


def half_moment(power: int, rate: sp.Expr) -> sp.Expr:
    """<x**power exp(-rate x)> over x > 0, x standard normal."""
    if rate == 0:
        return tail_moments(sp.S.Zero, power)[power]
    moments = [Erfcx(rate / sp.sqrt(2)) / 2]
    before = density(sp.S.Zero)
    for j in range(1, power + 1):
        moments.append(max(j - 1, 1) * before - rate * moments[-1])
        before = moments[-2]
    return moments[power]
