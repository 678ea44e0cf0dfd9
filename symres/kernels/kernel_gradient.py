"""Derivatives of kernel matrices in the parameters of a network, exact to rounding.

Differentiation backwards, as PyTorch does it, is quick for one number that depends on many; here a matrix depends on a
few numbers. The product of its derivative with weights W, the sum over ij of W_ij dK_ij/dp, is linear in W: its own
derivative in W is dK/dp, entry by entry. Thus each parameter takes one more pass, whatever the size of the matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..theory.depth.network import Network
from .declared_network import loaded_export
from .generated_module import function_of
from .libraries import require

Seed = tuple[str, int | None]  # a parameter by name, of one layer or of all


def kernel_and_gradient(
    declared: Network,
    kernel: int,
    X: np.ndarray,
    parameters: Mapping[str, float | Sequence[float]],
    seeds: Sequence[Seed],
) -> tuple[np.ndarray, np.ndarray]:
    """A kernel matrix and its derivatives.

    Args:
        declared: the network.
        kernel: the place of the kernel in what its module returns.
        X: inputs of shape (N, n0).
        parameters: numbers by name, or one for each layer.
        seeds: in which of them.

    Returns:
        the matrix (N, N), and its derivatives (N, N, number of seeds).

    Raises:
        SymresError: PyTorch is not installed.
    """
    require("derivatives of a kernel in its parameters", "torch", "torch")
    import torch

    function = function_of(loaded_export(declared, "torch"), "dual_kernel_matrix")
    values: dict[str, Any] = {
        name: [_leaf(v) for v in value] if isinstance(value, Sequence) else _leaf(value)
        for name, value in parameters.items()
    }
    leaves = [values[name] if place is None else values[name][place] for name, place in seeds]
    for leaf in leaves:
        leaf.requires_grad_()
    matrix = function(torch.from_numpy(np.ascontiguousarray(X, dtype=np.float64)), **values)[kernel]
    derivatives = np.zeros((*matrix.shape, len(seeds)))
    if matrix.requires_grad:
        weights = torch.zeros_like(matrix, requires_grad=True)
        sums = torch.autograd.grad(matrix, leaves, weights, create_graph=True, allow_unused=True)
        for column, weighted in enumerate(sums):
            if weighted is not None and weighted.requires_grad:  # else no layer has this parameter
                (found,) = torch.autograd.grad(weighted, weights, retain_graph=True, allow_unused=True)
                if found is not None:
                    derivatives[..., column] = found.numpy()
    return matrix.detach().numpy(), derivatives


def _leaf(value: float) -> Any:
    import torch

    return torch.tensor(float(value), dtype=torch.float64)
