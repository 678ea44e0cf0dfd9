"""The optimal scale of branches, at a depth and in the limit of many layers."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.display import Fact, Shown
from ...core.scalars import Number, whole
from ..quantity import Quantity
from .estimates import AnnotatedNumber


class BranchScale(AnnotatedNumber):
    """The branch scale at which the output of a network responds most to the kernel of its input.

    Attributes:
        response: chi_out there, with its sign: it is largest in size.
        searched: between which scales the response was looked at.
    """

    response: float
    searched: tuple[float, float]


@dataclass(frozen=True, repr=False)
class DeepBranchScale(Shown):
    """The branch scale at which outputs of a deep network respond most to the kernel of their input.

    Args:
        condition: a function of the final kernel that is 0 at the optimum, whatever the input is.
        final_kernel: where it is.
        response: of the output there, chi_out, with its sign: it is largest in size.
        coefficient: c of the optimal scale ``c * depth**(-1/power)``.
        power: in which the branch's weight enters the kernel.
    """

    condition: Quantity
    final_kernel: float
    response: float
    coefficient: float
    power: int

    def at(self, depth: Number) -> float:
        """The scale at a depth; the exact one differs by a term that is smaller by a factor 1/depth."""
        return float(self.coefficient * whole(depth, "depth", 1) ** (-1 / self.power))

    def _title(self) -> str:
        return f"optimal branch scale {self.coefficient:.15g}*L^(-{sp.Rational(1, self.power)}) of L layers"

    def _facts(self) -> list[Fact]:
        return [
            Fact("condition", f"{self.condition.definition} = 0"),
            Fact("final kernel", f"{self.final_kernel:.15g}"),
            Fact("response", f"{self.response:.12g}, of the output's kernel to the input's"),
        ]
