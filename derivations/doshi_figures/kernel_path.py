"""The theory of many networks at once: kernels and chi_J from block to block, on arrays of parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import symres as sr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """Kernels along a network.

    Args:
        kernels: that enter the blocks, and the last; shape (depth + 1, ...).
        chi: squared Jacobian norm J^{l,l+1} of each block; shape (depth, ...).
    """

    kernels: Array
    chi: Array

    @property
    def jacobians(self) -> Array:
        """J^{0,l} from the first kernel's stream for l = 0 to depth; shape (depth + 1, ...)."""
        return np.concatenate([np.ones_like(self.chi[:1]), np.cumprod(self.chi, axis=0)])


def path(theory: sr.Theory, depth: int, K: ArrayLike, **params: ArrayLike) -> Path:
    """Iterate the kernel map of a theory, and chi_perp on the way.

    Args:
        theory: of one block.
        depth: number of blocks.
        K: kernel of the first stream.
        params: numbers or arrays for all parameters, by name; they are broadcast.
    """
    maps = {quantity.name: quantity for quantity in (theory.kernel_map, theory.chi_perp)}
    code = {name: getattr(sr.export(quantity, target="numpy").load(), name) for name, quantity in maps.items()}
    needed = {name: [s.name for s in quantity.symbols if s.name != "K"] for name, quantity in maps.items()}
    given = {name: np.asarray(value, dtype=float) for name, value in params.items()}
    shape = np.broadcast_shapes(np.shape(K), *(value.shape for value in given.values()))

    def at(name: str, kernel: Array) -> Array:
        values = code[name](kernel, **{parameter: given[parameter] for parameter in needed[name]})
        return np.broadcast_to(np.asarray(values, dtype=float), shape)

    kernels, chi = [np.broadcast_to(np.asarray(K, dtype=float), shape)], []
    for _ in range(depth):
        chi.append(at("chi_perp", kernels[-1]))
        kernels.append(at("kernel_map", kernels[-1]))
    return Path(np.array(kernels), np.array(chi))
