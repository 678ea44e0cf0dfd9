"""A closed form against an independent number, at random points where that number is decisive."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product, tee

import mpmath as mp
import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm, SymresError
from ...core.symbols import K1, K2, C, K, z
from ...core.work_budget import panel_budget
from ...functions.balls import evaluate
from ...results.quantity import Verification

Values = dict[sp.Symbol, sp.Rational]
Enclosure = tuple[mp.mpf, mp.mpf]  # a number and a bound on its error

_KERNELS = (K, K1, K2, C)
_SHRINK_FACTOR = 64  # by which kernels are made smaller where a point decides nothing
_MAX_SHRINKS = 4  # times that kernels are made smaller
MIRRORED = "values at mirrored points"
_PANELS = (64, 2000)  # budgets of one average: first the small one, then the large one for points left undecided
_ODD_POINTS, _ODD_DIGITS = 6, 30  # at which the symmetry of an odd integrand is checked


def verify(
    asked: str,
    claim: sp.Expr,
    measure: Callable[[Values], Enclosure],
    symbols: Sequence[sp.Symbol],
    *,
    oracle: str,
    points: int,
    tolerance: float,
    digits: int,
    within: Sequence[tuple[sp.Symbol, int, int]] = (),
) -> Verification:
    """Compare a closed form with numbers that do not come from it.

    A number that is tiny against what it is an average of has few digits and decides nothing: exp(-20000*K) at K = 1.
    Then a point with smaller kernels takes its place.

    Args:
        asked: what is verified, for messages; it seeds the points, so that every run has the same.
        claim: the closed form.
        measure: its value and radius at given numbers.
        symbols: what needs a number.
        oracle: what ``measure`` is, for the reader.
        points: how many decisive points are wanted.
        tolerance: largest relative deviation that passes.
        digits: to which the claim is evaluated.
        within: (symbol, low, high) of symbols that must lie strictly between two numbers.

    Raises:
        NoClosedForm: the two differ, or no point decides.
    """
    generator, decided, worst = random.Random(asked), 0, 0.0
    # kernels of order one may need thousands of panels and decide nothing: smaller kernels first, then more panels
    for panels, scale in product(_PANELS, range(_MAX_SHRINKS + 1)):
        for _ in range(points - decided):
            values = _point(symbols, generator, sp.Rational(1, _SHRINK_FACTOR**scale), within)
            try:
                with panel_budget(panels):
                    (claimed, error), (value, radius) = evaluate(claim, values, digits), measure(values)
            except SymresError:  # exp(20*z) at K of order 1: no number, no decision
                continue
            distance = abs(claimed - value)
            deviation = (distance + error + radius) / abs(value) if value else mp.inf
            if value == radius == 0:  # zero has no relative deviation
                deviation = distance + error
            elif claimed == error == 0 and distance <= radius:
                deviation = mp.mpf(0)
            if deviation <= tolerance:
                decided += 1
                worst = max(worst, float(deviation))
            elif not distance <= error + radius:
                found = f"the closed form differs from {oracle} by {mp.nstr(deviation, 2)} at {values}"
                raise NoClosedForm(asked, f"{found}, a defect of symres", "report it, and use the numeric value")
        if decided == points:
            break
    if not decided:
        raise NoClosedForm(asked, f"no digit of the closed form could be verified by {oracle}", "use evalf")
    return Verification(oracle, decided, worst)


def verify_odd(asked: str, factors: Sequence[PiecewiseFunction]) -> Verification:
    """Compare a product of functions at random points with itself at the mirrored points: the sums must vanish.

    Raises:
        NoClosedForm: one does not.
    """
    generator, worst = random.Random(asked), 0.0
    parameters = sorted(set().union(*(f.free_symbols for f in factors)) - {z}, key=str)
    for _ in range(_ODD_POINTS):
        values = _point(parameters, generator, sp.Integer(1))
        # odd numbers of 128ths: parameters are 64ths, and at a jump that one is at a formula has the value of one side
        places = [sp.Rational(2 * generator.randint(1, 200) - 1, 128) * generator.choice((1, -1)) for _ in factors]
        (value, error), (mirrored, radius) = (
            evaluate(sp.Mul(*(f.as_expr().subs(values).subs(z, side * x) for f, x in factors_there)), {}, _ODD_DIGITS)
            for side, factors_there in zip((1, -1), tee(zip(factors, places, strict=True)), strict=True)
        )
        if abs(value + mirrored) > error + radius:
            raise NoClosedForm(asked, f"it is not odd at {places}, a defect of symres", "report it, and use evalf")
        worst = max(worst, float(abs(value + mirrored) / abs(value)) if value else 0.0)
    return Verification(MIRRORED, _ODD_POINTS, worst)


def _point(
    symbols: Sequence[sp.Symbol],
    generator: random.Random,
    shrink: sp.Rational,
    within: Sequence[tuple[sp.Symbol, int, int]] = (),
) -> Values:
    def rational(low: int, high: int) -> sp.Rational:
        return sp.Rational(generator.randint(low, high), 64)

    values = {s: rational(20, 130) if s.is_nonnegative else rational(-130, 130) for s in symbols}
    values |= {s: shrink * rational(4, 400) for s in symbols if s in (K, K1, K2)}
    values |= {s: low + (high - low) * rational(3, 58) for s, low, high in within if s in values}
    if C in values:
        # |C| <= min(K1, K2)*|rho| keeps the matrix positive definite with rational entries
        values[C] = rational(-58, 58) * min((values[k] for k in (K1, K2) if k in values), default=sp.Integer(1))
    return values
