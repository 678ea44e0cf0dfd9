"""How fast four-point vertices grow at criticality, as numbers for a page, a record and a figure; their recursion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import sympy as sp

from ...core.display import Fact, Shown
from ...notation import latex

_SHOWN = (0.0, 0.5, 0.9)  # gamma of the rows that the curve shows of itself
OUTPUTS = 1  # n_L of the aspect ratios that are shown


@dataclass(frozen=True)
class GrowthRow:
    """One weight of the skip connection.

    Args:
        gamma: the weight; None for a layer without one.
        nu: the growth of ``V/K^2`` for each layer.
        second: the same if, of what neurons remember, only the second Hermite component of the noise is kept, as in
            PDLT (B.26).
    """

    gamma: float | None
    nu: float
    second: float

    @property
    def aspect_ratio(self) -> float:
        """The optimal depth/width, for one output."""
        return 4 / ((20 + 3 * OUTPUTS) * self.nu)

    @property
    def published(self) -> float:
        """The optimal depth/width of the recursion that is published."""
        return 4 / ((20 + 3 * OUTPUTS) * self.second)


@dataclass(frozen=True, repr=False)
class GrowthCurve(Shown):
    """nu along the weight of the skip connection.

    Args:
        rows: by increasing gamma.
        edge: the first term of nu for gamma to 1, where it is known.
    """

    rows: tuple[GrowthRow, ...]
    edge: sp.Expr | None = None

    def _title(self) -> str:
        return "nu, the growth of V/K^2 for each layer at criticality"

    def _facts(self) -> list[Fact]:
        """Growth and optimal aspect ratio of some rows, and the limit."""
        facts = []
        for row in self.at(*_SHOWN):
            values = f"nu = {row.nu:.6g}, optimal depth/width {row.aspect_ratio:.6g}"
            facts.append(Fact("" if row.gamma is None else f"gamma = {row.gamma:g}", values))
        if self.edge is not None:
            facts.append(Fact("gamma to 1", f"nu ~ {self.edge}", rf"\nu \sim {latex(self.edge)}"))
        return facts

    def at(self, *gammas: float) -> Iterator[GrowthRow]:
        """The rows nearest to some gamma; the only one of a layer without gamma."""
        for gamma in gammas if self.rows[0].gamma is not None else (0.0,):
            yield min(self.rows, key=lambda row: abs((row.gamma or 0.0) - gamma))

    def weights_of(self, ratio: float) -> list[float]:
        """The skip weights at which a depth/width is optimal, between the rows by interpolation in 1/r*."""
        found, wanted = [], 1 / ratio
        for one, other in pairwise(self.rows):
            low, high = 1 / one.aspect_ratio, 1 / other.aspect_ratio
            if one.gamma is not None and other.gamma is not None and min(low, high) <= wanted < max(low, high):
                found.append(one.gamma + (other.gamma - one.gamma) * (wanted - low) / (high - low))
        return found


@dataclass(frozen=True)
class VertexFormulas:
    """``P' = chi^2 P + N + 2 sum_k A_k M(K_k, K, C_k)``, ``G' = chi m^2 G + R``, ``V = P + 2 G``.

    Args:
        noise: N, the variance of what one neuron adds to n times the next kernel.
        memory_noise: M, its covariance between an earlier layer and this one; 0 where neurons remember nothing.
        stream_noise: R, its covariance with the square of the neuron's next stream.
        weight: m, of a neuron in the next stream.
        steps: (symbol, definition) of what stands inside of averages.
    """

    noise: sp.Expr
    memory_noise: sp.Expr
    stream_noise: sp.Expr
    weight: sp.Expr
    steps: tuple[tuple[sp.Symbol, sp.Expr], ...]
