"""The recursion of the four-point vertex in Gaussian averages, as a page prints it."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp


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
