"""Tangents that enter at the first residual block and are carried through the tuned ones: APJN from there on.

A tangent u with entries +-1 at the first block becomes ``u' = gamma u + xi (dR/dz) u`` behind a block. Its mean square,
averaged over the signs, is the APJN from the first block, and obeys the equation of the kernel, PDLT (B.44), with
tangents in the place of the stream: ``T_zz``, ``T_RR``, ``T_Rz`` are mean squares and mean product of u and ``(dR/dz)
u``. It counts what chi of single blocks leaves out: that Jacobians of blocks are correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ....core.errors import DeclarationError
from ...probing.network_passes import mean_products
from ..batch_errors import SignSource
from .stream_passes import Visit


@dataclass(frozen=True)
class TangentSample:
    """Measurements of one block, shape (inputs, probes).

    Args:
        T_zz: mean square of a tangent that enters.
        T_RR: of what the Jacobian of the branch makes of it.
        T_Rz: mean product of both.
    """

    T_zz: np.ndarray
    T_RR: np.ndarray
    T_Rz: np.ndarray

    def leaving(self, gamma: float, xi: float) -> np.ndarray:
        """Mean square behind the block, shape (inputs, probes)."""
        return gamma**2 * self.T_zz + 2 * gamma * xi * self.T_Rz + xi**2 * self.T_RR


class Perturbations:
    """Tangents in one pass.

    Args:
        sources: of their signs, one for each tangent.
        size: the number of inputs.
    """

    def __init__(self, sources: Sequence[SignSource], size: int) -> None:
        self._sources, self._size = sources, size
        self._tangents: list[torch.Tensor] = []
        self._moved: list[torch.Tensor] = []

    def sample(self, visit: Visit, branch: torch.Tensor) -> TangentSample:
        """Carry the tangents to a block and through its branch.

        Args:
            visit: the block in a pass.
            branch: R(z), with a graph from ``visit.stream``.

        Raises:
            DeclarationError: no tangent arrives.
        """
        if visit.last is None:
            self._tangents = [signs.draw(visit.stream) for signs in self._sources]
        elif not torch.equal(visit.last, visit.stream):  # modules that are no blocks lie between
            moved = _pushed(visit.last, visit.attached, self._tangents)
            if moved is None:
                raise DeclarationError(
                    f"the tuning of {visit.place.name}",
                    "its stream does not depend on that of the block before",
                    "use target='gradient', or tune each chain of blocks by itself",
                )
            self._tangents = moved
        self._moved = _pushed(visit.stream, branch, self._tangents) or [torch.zeros_like(u) for u in self._tangents]
        pairs = (self._tangents, self._tangents), (self._moved, self._moved), (self._tangents, self._moved)
        return TangentSample(*(self._products(*pair) for pair in pairs))

    def advance(self, gamma: float, xi: float) -> None:
        """Go on behind the block that was sampled last."""
        self._tangents = [gamma * u + xi * v for u, v in zip(self._tangents, self._moved, strict=True)]

    def _products(self, first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> np.ndarray:
        return np.stack([mean_products(u, v, self._size) for u, v in zip(first, second, strict=True)], axis=1)


def _pushed(source: torch.Tensor, result: torch.Tensor, tangents: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """The Jacobian of a result times each tangent, by differentiating a reverse pass, which is linear in its cotangent;
    None where the result does not depend on the source."""
    cotangent = torch.zeros_like(result, requires_grad=True)
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(result, source, cotangent, create_graph=True, allow_unused=True)
    if gradient is None:
        return None
    found = []
    for tangent in tangents:
        (moved,) = torch.autograd.grad(gradient, cotangent, tangent, retain_graph=True, allow_unused=True)
        found.append(torch.zeros_like(result) if moved is None else moved)
    return found
