"""Kernel matrices larger than memory: block by block, on several threads, processes or machines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from ..codegen.module import Module
from ..core.errors import DeclarationError
from ..core.progress import Progress, reported
from ..core.scalars import whole
from .block_store import Block, Grid, Journal, Store, prepare, store_at
from .kernel_arguments import (
    KERNELS,
    PART,
    Array,
    ModuleSource,
    Value,
    Values,
    function_of,
    parameter_values,
    parameters_of,
    place_of,
    require,
    require_inputs,
    source_of,
    without_tangent_kernel,
)

Inputs: TypeAlias = Array  # of shape (N, n0), of the library that the module is made for
Scheduler: TypeAlias = str | Executor | Callable[..., Any] | Any  # what dask.compute takes; a client of distributed too

DTYPES = ("float64", "float32")


def matrix(
    module: Module | ModuleType,
    X: Inputs,
    X2: Inputs = None,
    *,
    kernel: str = "tangent",
    chunks: int | tuple[int, int] = 2048,
    scheduler: Scheduler = "threads",
    out: str | Path | Array | None = None,
    dtype: str | np.dtype | type = "float64",
    resume: bool = True,
    batch: int = 16,
    progress: bool | Progress = True,
    **parameters: Value,
) -> np.ndarray:
    """The kernel matrix of many inputs, block by block through dask.

    Of ``X`` with itself, blocks on and above the diagonal are computed, and mirrored. With a path as ``out``, a journal
    beside it (the path with ``.journal``) names the blocks that are on the disk, with checksums: the same call reads
    them, and computes what is not there, or not what was written. Memory is that of the inputs and, for each worker,
    of about ten blocks in float64.

    Args:
        module: the export of a network, ``sr.export(network)``, or the module imported from its file.
        X: inputs of shape (N, n0), of the library of the module: an array, a memory map, a tensor.
        X2: others, of shape (M, n0); None stands for ``X``.
        kernel: "tangent", or "nngp" for the kernel of the Gaussian process.
        chunks: rows and columns of a block, one number for both or a pair; one number where ``X2`` is None.
        scheduler: "threads", "processes" (in a program below ``if __name__ == "__main__":``), "synchronous", a
            ``concurrent.futures`` executor, or a ``distributed`` client, whose workers have to reach ``out``.
        out: a path that ends with .npy or .zarr; or an array of shape (N, M) to write into, of any kind that takes
            blocks by ``out[rows, columns] = block``, of float64 or float32; None for a new array in memory.
        dtype: float64 or float32, in which blocks are kept; all is computed in float64. An array has its own.
        resume: False overwrites what is at the path.
        batch: blocks between two entries of the journal: those of a kill are computed again. Several times the number
            of workers.
        progress: a bar on stderr, nothing, or a function of a text and a share from 0 to 1.
        parameters: C_W, C_b and others of the network: numbers, or lists of one for each layer.

    Returns:
        the matrix of shape (N, M): from a path a memory map or a zarr array, which read from the disk; else the array.

    Raises:
        DeclarationError: a parameter without value, of another network or of the wrong sign; inputs of another shape,
            complex ones, or such that are not finite; at the path there is another matrix, a damaged journal, or too
            little room; the tangent kernel of an input with itself is infinite. Nothing has been written then. A disk
            that is full meanwhile, or an entry that is not finite: what the journal names stays.
        SymresError: dask is not installed, or zarr for a zarr array.

    Examples:
        >>> module = sr.export(sr.network(["relu"]))
        >>> X = np.array([[1.0, 1.0], [1.0, -1.0]])  # orthogonal inputs
        >>> symres.kernels.matrix(module, X, kernel="nngp", C_W=2, C_b=0, progress=False).round(6).tolist()  # 1/pi
        [[1.0, 0.31831], [0.31831, 1.0]]
    """
    require("symres.kernels.matrix", "kernels", "dask")
    source = source_of(module)
    made = source.load()
    function_of(made, "dual_kernel_matrix")
    values = parameter_values(parameters_of(made), dict(sorted(parameters.items())))
    first = require_inputs(X)
    second = first if X2 is None else require_inputs(X2, "X2")
    if second[1] != first[1]:
        reason = f"X has {first[1]} features, X2 {second[1]}"
        raise DeclarationError("the kernel matrix of X and X2", reason, "pass inputs with the same features")
    shape = (first[0], second[0])
    is_array = not (out is None or isinstance(out, str | Path))
    kind = _kind_of_array(out, shape) if is_array else _type_of_blocks(dtype)
    if kind is None or not (is_array or kind.isnative):
        raise DeclarationError(f"a kernel matrix of type {dtype}", "unknown type", f"use {' or '.join(DTYPES)}")
    work = _Work(source, place_of(kernel), values, kind)
    grid = Grid(shape, _pair(chunks, square=X2 is None), X2 is None)
    # before anything is written: a tangent kernel may not exist, or a parameter have too many numbers
    work.block(X[:1], None if X2 is None else X2[:1])
    size = whole(batch, "batch", 1)

    def inputs(block: Block) -> tuple[Inputs, Inputs]:
        rows, columns = grid.areas(block)[0]
        return X[rows], None if grid.symmetric and block[0] == block[1] else (X if X2 is None else X2)[columns]

    if not isinstance(out, str | Path):
        target = np.empty(shape, work.dtype) if out is None else out
        with reported(progress, "kernel matrix") as report:
            for computed in _batches(grid, set(), lambda block: (work, block, *inputs(block)), size, scheduler, report):
                for block, entries in computed.items():
                    for area, part in grid.parts(block, entries):
                        target[area] = part
        return target
    path = Path(out)
    store = store_at(path, grid, work.dtype)
    journal = Journal(path.with_name(f"{path.name}.journal"), _facts(work, grid, X, X2))
    finished = prepare(store, journal, resume)
    with reported(progress, f"kernel matrix {path.name}") as report:
        for sums in _batches(
            grid, finished, lambda block: (work, block, *inputs(block), store), size, scheduler, report
        ):
            journal.add(sums)
    return store.opened()


@dataclass(frozen=True)
class _Work:
    """How a block is computed, in whatever process."""

    source: ModuleSource  # of the module
    kernel: int  # the place of the kernel in what the module returns
    parameters: Values  # of the network, by name
    dtype: np.dtype  # of the block

    def block(self, first: Inputs, second: Inputs) -> np.ndarray:
        """The kernel of some inputs and others, or of some with themselves where ``second`` is None.

        Raises:
            DeclarationError: an entry is not finite.
        """
        function = function_of(self.source.load(), "dual_kernel_matrix")
        try:
            kernels = function(first, second, **self.parameters)
        except ValueError as error:  # of parameters of another number of layers
            remedy = "pass one number for each parameter, or one for each layer"
            raise DeclarationError("the parameters of the network", str(error), remedy) from None
        with np.errstate(over="ignore"):  # of float32: it is infinite then, and refused
            values, *others = (np.asarray(kernels[k], dtype=self.dtype) for k in (self.kernel, 1 - self.kernel))
        if not np.isfinite(values).all():
            asked = f"the {KERNELS[self.kernel]} kernel matrix"
            if KERNELS[self.kernel] == "tangent" and np.isfinite(others).all():
                raise without_tangent_kernel(asked)
            found = f"it has infinite or nan entries in {self.dtype}"
            raise DeclarationError(asked, found, "pass smaller inputs")
        return values


def _task(work: _Work, block: Block, first: Inputs, second: Inputs, store: Store | None = None) -> Any:
    """A block; where there is a store it is written, and its checksum returned."""
    values = work.block(first, second)
    return values if store is None else store.write_block(block, values)


def _batches(
    grid: Grid,
    finished: set[Block],
    arguments: Callable[[Block], tuple[Any, ...]],
    size: int,
    scheduler: Scheduler,
    report: Progress,
) -> Iterator[dict[Block, Any]]:
    """What ``_task`` makes of the blocks that are not finished, some after another, as dask's scheduler returns it."""
    import dask

    task = dask.delayed(_task, pure=False, traverse=False)
    blocks = [block for block in grid.blocks if block not in finished]
    with _workers(scheduler) as workers:
        for start in range(0, len(blocks), size):
            batch = blocks[start : start + size]
            made = dask.compute(*(task(*arguments(block)) for block in batch), scheduler=workers)
            yield dict(zip(batch, made, strict=True))
            done = len(finished) + start + len(batch)
            report(f"{done} of {len(grid.blocks)} blocks", done / len(grid.blocks))


@contextmanager
def _workers(scheduler: Scheduler) -> Iterator[Scheduler]:
    """Processes that live as long as the work: dask would start new ones for each batch."""
    if scheduler != "processes":
        yield scheduler
        return
    import dask

    count = dask.config.get("num_workers", None) or os.cpu_count()
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        yield pool


def _facts(work: _Work, grid: Grid, X: Inputs, X2: Inputs) -> dict[str, object]:
    """What a matrix is: equal facts, equal matrix."""
    return {
        "kernel": KERNELS[work.kernel],
        "module": hashlib.sha256(work.source.text.encode()).hexdigest(),
        "inputs": _digest(X),
        "other inputs": None if X2 is None else _digest(X2),
        "parameters": work.parameters,
        "shape": list(grid.shape),
        "chunks": list(grid.chunks),
        "dtype": work.dtype.name,
        "checksum": "blake2b, 128 bits",
    }


def _digest(X: Inputs) -> str:
    """Of inputs as they are, a part at a time: they may be on a disk."""
    digest = hashlib.sha256()
    step = max(PART // X.shape[1], 1)
    for start in range(0, X.shape[0], step):
        part = np.ascontiguousarray(X[start : start + step])
        digest.update(f"{part.dtype.str} {part.shape}".encode())
        digest.update(part.tobytes())
    return digest.hexdigest()


def _pair(chunks: int | tuple[int, int], square: bool) -> tuple[int, int]:
    """The shape of a block."""
    shape = chunks if isinstance(chunks, tuple | list) else (chunks, chunks)
    if len(shape) != 2 or (square and shape[0] != shape[1]):
        remedy = "pass one number" if square else "pass one number, or one for rows and one for columns"
        raise DeclarationError(f"blocks of the shape {chunks}", "blocks of this shape do not tile the matrix", remedy)
    rows, columns = (whole(size, "chunks", 1) for size in shape)
    return rows, columns


def _type_of_blocks(dtype: Any) -> np.dtype | None:
    """A type in which blocks are kept; None for any other, such as that of another library."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        return None
    return kind if kind.name in DTYPES else None


def _kind_of_array(out: Any, shape: tuple[int, int]) -> np.dtype:
    """The type of an array into which blocks are written.

    Raises:
        DeclarationError: it has another shape, does not hold floating-point numbers, or may not be written.
    """
    asked = f"a kernel matrix of shape {shape}"
    if tuple(getattr(out, "shape", ())) != shape:
        reason = f"out has the shape {out.shape}" if hasattr(out, "shape") else f"out is a {type(out).__name__}"
        raise DeclarationError(asked, reason, "pass an array of this shape")
    kind = _type_of_blocks(getattr(out, "dtype", np.float64))
    if kind is None:
        raise DeclarationError(asked, f"out is of type {out.dtype}", f"pass an array of {' or '.join(DTYPES)}")
    try:
        out[:0, :0] = np.empty((0, 0), kind)
        if getattr(out, "read_only", False):  # a zarr array, to which no entry is nothing to refuse
            raise ValueError("it is read-only")
    except Exception as error:  # each library has its own
        reason = f"blocks cannot be written to out ({type(error).__name__}: {error})"
        raise DeclarationError(asked, reason, "pass an array that can be written") from None
    return kind.newbyteorder("=")
