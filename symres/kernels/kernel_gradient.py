"""Derivatives of kernel matrices in the parameters of a network and in the kernels of inputs, exact to rounding.

An entry of a kernel matrix depends on three entries of the inputs' matrices and on the parameters, and on no other
entry. With a copy of each parameter for each entry, one pass backwards thus gives all derivatives of all entries,
however many parameters there are.

It goes tile by tile, which stay small, and their graphs with them; of inputs with themselves on and above the diagonal.
A tile is too small to be shared among threads: they would spend more time waiting for each other than they save, ten
times as much on a busy machine. Several tiles are done at a time instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..codegen.arrays.feature_rows.kernels_of_rows import _kernels_of_rows
from ..theory.depth.network import Network
from .kernel_arguments import function_of, loaded_export, require

if TYPE_CHECKING:
    import torch

Seed: TypeAlias = tuple[str, int | None]  # a parameter by name, of one layer or of all
Tile: TypeAlias = tuple[slice, slice]  # rows and columns

PAIRS = 1 << 17  # entries of a tile: a few hundred MB of intermediate results


def kernel_and_gradient(
    declared: Network,
    kernel: int,
    X: np.ndarray,
    parameters: Mapping[str, float | list[float]],
    seeds: Sequence[Seed],
    in_features: bool = False,
) -> tuple[np.ndarray, ...]:
    """A kernel matrix and its derivatives.

    Args:
        declared: the network.
        kernel: the place of the kernel in what its module returns.
        X: inputs of shape (N, n0).
        parameters: numbers by name, or one for each layer.
        seeds: in which of them.
        in_features: whether also in the logarithms of the variances of the features, which ``X`` has as factors.

    Returns:
        the matrix (N, N), and its derivatives (N, N, number of seeds); with ``in_features`` those (N, N, n0) as well.

    Raises:
        SymresError: PyTorch is not installed.
    """
    require("derivatives of a kernel in its parameters", "torch", "torch")
    import torch

    function = function_of(loaded_export(declared, "torch"), "dual_kernel")

    def evaluate(K1: torch.Tensor, K2: torch.Tensor, C: torch.Tensor, *entries: torch.Tensor) -> torch.Tensor:
        values: dict[str, object] = {}
        for name, value in parameters.items():
            values[name] = list(value) if isinstance(value, list) else value
        for (name, place), entry in zip(seeds, entries, strict=True):
            of_layers = values[name]
            if place is not None and isinstance(of_layers, list):
                of_layers[place] = entry
            else:
                values[name] = entry
        return function(K1, K2, C, **values)[kernel]

    kernels, _, upper = _kernels_of_rows(X, None, np.float64)  # those of equal inputs agree to the last bit
    K, C = torch.from_numpy(kernels), torch.from_numpy(np.triu(upper) + np.triu(upper, 1).T)
    numbers = [np.ravel(parameters[name])[place or 0] for name, place in seeds]
    arguments = [K[:, None], K, C, *(torch.tensor(number, dtype=torch.float64) for number in numbers)]
    wanted = [in_features] * 3 + [True] * len(seeds)
    matrix, slopes = entry_derivatives(evaluate, arguments, wanted, symmetric=not in_features)
    gradient = np.empty((*matrix.shape, len(seeds)))
    for place, slope in enumerate(slopes[3:]):
        gradient[..., place] = 0.0 if slope is None else slope.numpy()
    if not in_features:
        return matrix.numpy(), gradient
    # each feature adds x_d x'_d/n0 to kernels and covariances, in proportion to its variance
    first, second, both = (0.0 if slope is None else slope.numpy()[..., None] for slope in slopes[:3])
    rows, columns = X[:, None, :], X[None, :, :]
    return matrix.numpy(), gradient, (first * rows**2 + second * columns**2 + both * rows * columns) / X.shape[1]


def entry_derivatives(
    evaluate: Callable[..., torch.Tensor], arguments: Sequence[torch.Tensor], wanted: Sequence[bool], symmetric: bool
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """A matrix whose entries are functions of entries of the arguments, and the derivatives of these functions.

    Args:
        evaluate: the function of the arguments, or of any part of the matrix of each.
        arguments: float64 tensors that broadcast to (..., N, M).
        wanted: in which arguments.
        symmetric: whether the matrix, and all derivatives that are wanted, are their own mirror images.

    Returns:
        the matrix (..., N, M), and for each argument the derivatives of that shape; None where none is wanted, or
        where the function does not depend on it.
    """
    import torch

    shape = torch.broadcast_shapes(*(a.shape for a in arguments))
    like = next(a for a in arguments if a.ndim)
    matrix = torch.empty(shape, dtype=torch.float64, device=like.device)
    slopes: list[torch.Tensor | None] = [torch.zeros_like(matrix) if needed else None for needed in wanted]

    def fill(tile: Tile) -> None:
        parts = [_part(a.detach(), tile) for a in arguments]
        extent = matrix[(..., *tile)].shape
        leaves = [part.expand(extent).requires_grad_() for part, needed in zip(parts, wanted, strict=True) if needed]
        rest = iter(leaves)
        with torch.set_grad_enabled(bool(leaves)):
            found = evaluate(*[next(rest) if needed else part for part, needed in zip(parts, wanted, strict=True)])
        _write(matrix, tile, found.detach(), symmetric)
        if found.requires_grad:
            ones = torch.ones_like(found)
            each = iter(torch.autograd.grad(found, leaves, ones, allow_unused=True))
            for slope in slopes:
                part = None if slope is None else next(each)
                if slope is not None and part is not None:  # else no layer has this parameter
                    _write(slope, tile, part, symmetric)

    tiles = list(_tiles(shape, symmetric))
    with one_thread() if like.device.type == "cpu" else nullcontext(1) as workers, ThreadPoolExecutor(workers) as pool:
        list((map if 1 in (workers, len(tiles)) else pool.map)(fill, tiles))
    return matrix, slopes


class _OneThread:
    """The threads of PyTorch, of which each operation takes one for a while.

    Their number is that of the whole process: the first who comes keeps it, everybody who leaves sets it again.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._kept = Lock(), 0, 1

    @contextmanager
    def entered(self) -> Iterator[int]:
        """One thread for each operation; gives their number before."""
        import torch

        with self._lock:
            if not self._inside:
                self._kept = torch.get_num_threads()
            self._inside += 1
            kept = self._kept
            torch.set_num_threads(1)
        try:
            yield kept
        finally:
            with self._lock:
                self._inside -= 1
                torch.set_num_threads(kept)


one_thread = _OneThread().entered


def threads_for(entries: int) -> AbstractContextManager[object]:
    """One thread for operations on a matrix of so few entries that it is a tile, all for others."""
    return one_thread() if entries <= PAIRS else nullcontext()


def _tiles(shape: Sequence[int], symmetric: bool) -> Iterator[Tile]:
    """Rows after rows: of a symmetric matrix from the diagonal on."""
    *batch, rows, columns = shape
    start, others = 0, int(np.prod(batch))
    while start < rows:
        first = start if symmetric else 0
        stop = min(start + max(PAIRS // max(others * (columns - first), 1), 1), rows)
        yield slice(start, stop), slice(first, columns)
        start = stop


def _part(argument: torch.Tensor, tile: Tile) -> torch.Tensor:
    """The part of an argument that a tile needs: whole along axes on which it is broadcast."""
    sizes = argument.shape[-2:]
    cuts = tile[-len(sizes) :] if len(sizes) else ()
    return argument[(..., *(slice(None) if size == 1 else cut for size, cut in zip(sizes, cuts, strict=True)))]


def _write(matrix: torch.Tensor, tile: Tile, values: torch.Tensor, symmetric: bool) -> None:
    """Write a tile; of a symmetric matrix the part above the diagonal, and its mirror image."""
    if not symmetric:
        matrix[(..., *tile)] = values
        return
    rows, columns = tile
    height = rows.stop - rows.start
    square = values[..., :height].triu()
    matrix[..., rows, rows] = square + values[..., :height].triu(1).mT
    matrix[..., rows, slice(rows.stop, columns.stop)] = values[..., height:]
    matrix[..., slice(rows.stop, columns.stop), rows] = values[..., height:].mT
