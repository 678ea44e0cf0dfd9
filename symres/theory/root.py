"""A number defined as the root of an equation: known to any number of digits, with a proof of sign change."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import sympy as sp
from flint import arb, ctx, fmpq

from ..balls import enclose
from ..errors import NoClosedForm
from ..symbols import kappa


class Root(sp.Expr):
    """The root of an increasing or decreasing function between two rational points.

    Args:
        equation: expression in ``symbols.kappa``, of opposite sign at the two ends.
        low: left end, a positive rational.
        high: right end.
    """

    is_commutative = True
    is_number = True
    is_extended_real = True
    is_real = True
    is_positive = True

    def __new__(cls, equation: sp.Expr, low: sp.Rational, high: sp.Rational) -> Root:
        """The root between two points where the equation has opposite signs."""
        return super().__new__(cls, equation, low, high)

    @property
    def equation(self) -> sp.Expr:
        """What vanishes, in ``symbols.kappa``."""
        return self.args[0]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """None: a root is a number."""
        return set()

    _ball_arguments: tuple[sp.Expr, ...] = ()

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        """A float root, refined by secant steps, enclosed where the equation provably changes sign."""
        with mp.workprec(2 * bits + 40):
            root = self._refined(bits)
            radius = abs(root) * mp.mpf(2) ** -bits
            for _ in range(40):
                left, right = self._value(root - radius, 2 * bits), self._value(root + radius, 2 * bits)
                if left * right < 0:
                    with ctx.workprec(2 * bits):
                        return _ball_of(root - radius).union(_ball_of(root + radius))
                radius *= 4
        raise NoClosedForm(f"the root of {self.equation}", "no change of sign was found", "report a defect of symres")

    def _refined(self, bits: int) -> mp.mpf:
        low, high = (mp.mpf(int(e.p)) / int(e.q) for e in self.args[1:])
        with mp.workprec(53):
            root = mp.findroot(
                lambda k: _mid(self._value(k, 64)), (low, high), solver="anderson", tol=1e-40, verify=False
            )
        known = 40  # correct bits; a secant step over half of them gives nearly twice as many
        while known < bits + 10:
            step = root * mp.mpf(2) ** -(known // 2)
            here, there = (_mid(self._value(k, 2 * known + 30)) for k in (root, root + step))
            root -= here * step / (there - here)
            known = 3 * known // 2 - 4
        return root

    def _value(self, k: mp.mpf, bits: int) -> arb:
        return enclose(self.equation, {kappa: _ball_of(k)}, bits)

    def _eval_evalf(self, prec: int) -> sp.Float:
        return sp.Float(_mid(self._ball([], prec)), precision=prec)

    def _sympystr(self, printer: Any) -> str:
        return str(self.evalf(15))

    def _latex(self, printer: Any) -> str:
        return f"{self.evalf(15)}\\ldots"


def _ball_of(value: mp.mpf) -> arb:
    """An exact ball."""
    sign, mantissa, exponent, _ = value._mpf_
    numerator = -int(mantissa) if sign else int(mantissa)
    shift = int(exponent)
    return arb(fmpq(numerator * 2**shift, 1) if shift >= 0 else fmpq(numerator, 2**-shift))


def _mid(ball: arb) -> mp.mpf:
    mantissa, exponent = ball.mid().man_exp()
    return mp.mpf((0 if mantissa >= 0 else 1, abs(int(mantissa)), int(exponent), int(abs(mantissa)).bit_length()))
