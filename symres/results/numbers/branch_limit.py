"""The optimal scale of branches in the limit of many layers."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...core.display import Fact, Shown
from ...core.scalars import Number, whole
from ..quantity import Quantity


@dataclass(frozen=True)
class DeepBranchScale(Shown):
    """The branch scale at which outputs of a deep network respond most to the kernel of their input.

    Args:
        condition: a function of the final kernel that is 0 at the optimum, whatever the input is.
        final_kernel: where it is.
        coefficient: c of the optimal scale ``c * depth**(-1/power)``.
        power: in which the branch's weight enters the kernel.
    """

    condition: Quantity
    final_kernel: float
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
            Fact("final kernel", f"{self.final_kernel:.15g}, for every input"),
        ]
