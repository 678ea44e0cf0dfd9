"""How kernel and Jacobian go with the depth: exponents, stretched exponentials, laws of growth."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ..core.display import Fact, Shown
from ..core.symbols import C_b
from ..notation import latex
from ..notation.decimals import rounded, rounded_law
from ..notation.factors import tidy_factors

_DEPTH = sp.Symbol("l", positive=True)


@dataclass(frozen=True)
class Stretch:
    """A stretched exponential ``log J ~ rate*l**power``.

    Args:
        power: between 0 and 1.
        rate: positive where the Jacobian grows.
    """

    power: sp.Expr
    rate: sp.Expr

    @property
    def scale(self) -> sp.Expr:
        """The depth lambda in ``J ~ exp((l/lambda)**power)``, up to the sign of the exponent."""
        return sp.Abs(self.rate) ** (-1 / self.power)


@dataclass(frozen=True)
class Exponents(Shown):
    """``K - K* ~ amplitude*l**-kernel`` and ``J ~ l**-jacobian`` after many layers l.

    Args:
        kernel: negative for kernels that grow (K* is 0 then); None if no power law describes the kernel.
        jacobian: None if the Jacobian is no power of the depth.
        amplitude: of the kernel; its sign is the side of K* from which it comes.
        stretch: of a Jacobian that is a stretched exponential.
        remark: why there is no power law.
    """

    kernel: sp.Expr | None
    jacobian: sp.Expr | None
    amplitude: sp.Expr | None
    stretch: Stretch | None = None
    remark: str = ""

    def _title(self) -> str:
        return "kernel K and Jacobian J after many layers l"

    def _facts(self) -> list[Fact]:
        """Laws of the depth, as far as there are any."""
        laws = []
        if self.kernel is not None and self.amplitude is not None and self.amplitude != 0:
            sides = ("K", "K") if self.kernel.is_negative else ("K - K*", "K - K^*")
            laws.append((*sides, self.amplitude * _DEPTH**-self.kernel))
        if self.jacobian is not None:
            laws.append(("J", "J", _DEPTH ** -rounded(self.jacobian)))
        if self.stretch is not None:
            laws.append(("log J", r"\log J", self.stretch.rate * _DEPTH**self.stretch.power))
        shown = ((name, left, rounded_law(law)) for name, left, law in laws)
        facts = [Fact("", f"{name} ~ {law}", rf"{left} \sim {latex(law)}") for name, left, law in shown]
        return [*facts, Fact("remark", self.remark)] if self.remark else facts


@dataclass(frozen=True)
class KernelGrowth:
    """The law of growth for large kernels.

    Args:
        rate, power: ``K' - K ~ rate*K**power`` with 0 <= power < 1 or below.
        excess, decay: ``chi_perp - 1 ~ excess*K**-decay``; excess 0 if it vanishes faster than every power that was
            looked at.
    """

    rate: sp.Expr
    power: sp.Expr
    excess: sp.Expr
    decay: sp.Expr

    @property
    def universality_class(self) -> str:
        """ "everywhere-critical" for power laws, "subcritical" for stretched exponentials."""
        return "subcritical" if self.excess != 0 and self._order < 1 else "everywhere-critical"

    @property
    def _order(self) -> sp.Expr:
        """chi_perp - 1 falls with the depth like its minus this power."""
        return self.decay / (1 - self.power)

    @property
    def needs_biases(self) -> bool:
        """Whether the law is another one without biases: their variance is what the kernel grows by."""
        return bool(self.rate.has(C_b) and self.rate.subs(C_b, 0) == 0)

    @property
    def exponents(self) -> Exponents:
        """Of kernel and Jacobian."""
        speed = sp.factor_terms((1 - self.power) * self.rate)  # K**(1 - power) = speed*l
        kernel, amplitude = -1 / (1 - self.power), speed ** (1 / (1 - self.power))
        if self.excess == 0 or self._order > 1:
            return Exponents(kernel, sp.Integer(0), amplitude)
        front = tidy_factors(sp.factor_terms(self.excess * speed**-self._order))
        if self._order == 1:
            return Exponents(kernel, -front, amplitude)
        return Exponents(kernel, None, amplitude, Stretch(1 - self._order, front / (1 - self._order)))
