"""Functions of arrays that broadcast, on top of compiled loops over entries, matrices and layers. Inlined at export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays.feature_rows.kernels_of_rows import _covariances, _real

Reals = NDArray[np.floating]


def evaluated(
    entries: Callable[..., None],
    matrix: Callable[..., None] | None,
    inputs: Sequence[Any],
    parameters: Sequence[Any],
    out: Reals | None,
) -> Any:
    """The values of a function of the broadcast shape: in float32 where all inputs are, else in float64.

    Args:
        entries: NAME_entries of ``loops.py``.
        matrix: NAME_matrix of ``loops.py``; None if there is one input.
        inputs: kernels and covariances.
        parameters: the others.
        out: receives the values.
    """
    arrays = [np.asarray(a) for a in inputs]
    kind = np.dtype(np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)
    if matrix is not None:
        arrays[2] = np.asarray(_covariances(arrays[0], arrays[1], arrays[2], kind))
    arrays = [_real(a, kind) for a in arrays]
    numbers = [_real(p) for p in parameters]
    shape = np.broadcast_shapes(*(a.shape for a in (*arrays, *numbers)), *(() if out is None else (out.shape,)))
    if out is not None and out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, but the arguments broadcast to {shape}")
    if out is not None and not out.flags.writeable:
        raise ValueError("out is read-only")
    is_plain = out is not None and out.dtype == kind and out.flags.c_contiguous
    is_shared = out is not None and any(np.may_share_memory(a, out) for a in arrays)  # it would change what is read
    target: Reals = np.empty(shape, dtype=kind) if out is None or is_shared or not is_plain else out
    shaped = [a.reshape((1,) * (target.ndim - a.ndim) + a.shape) for a in arrays]
    if target.size == 0:
        pass
    elif any(p.size != 1 for p in numbers):
        _by_parameters(entries, shaped, numbers, target)
    elif matrix is not None and target.ndim >= 2 and shaped[0].shape[-1] == 1 and shaped[1].shape[-2] == 1:
        *batch, rows, columns = shape
        for index in np.ndindex(*batch):
            K1, K2, *others = [np.broadcast_to(a, (*batch, *a.shape[-2:]))[index] for a in shaped]
            steps = [x for a in others for x in (_flat(a, (rows, columns)), columns)]
            ends = [*steps, *(p.item() for p in numbers), target[index].reshape(-1), columns]
            matrix(rows, columns, _flat(K1, (rows, 1)), _flat(K2, (1, columns)), *ends)
    else:
        entries(target.size, *(_flat(a, shape) for a in shaped), *(p.item() for p in numbers), target.reshape(-1))
    if out is None:
        return target[()]
    if target is not out:
        np.copyto(out, target, casting="same_kind")
    return out


def through_layers(
    call: Callable[..., int],
    depth: int,
    fixed: Sequence[Any],
    moving: Sequence[Any],
    parameters: Mapping[str, Any],
    every_layer: bool,
    kind: np.dtype[Any],
) -> tuple[Any, ...]:
    """Numbers of entries behind all layers.

    Args:
        call: a function of entries of ``loops.py``.
        depth: how many layers there are.
        fixed: what it reads, before the layers.
        moving: what it replaces, before the layers.
        parameters: by name, a number or one for each layer.
        every_layer: whether to return the numbers behind every layer.
        kind: what is computed in.
    """
    arrays = [_real(a, kind) for a in (*fixed, *moving)]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    flat = [np.array(np.broadcast_to(a, shape)).reshape(-1) for a in arrays]
    read, replaced = flat[: len(fixed)], flat[len(fixed) :]
    every = [np.empty((depth + 1 if every_layer else 1, *shape), dtype=kind) for _ in replaced]
    for e, start in zip(every, replaced, strict=True):
        e[0] = start.reshape(shape)
    inner = [e[1:].reshape(-1) for e in every]
    _require_memory(call(replaced[0].size, *read, *_by_layer(parameters, depth, kind), *replaced, *inner))
    return tuple([a[()] for a in (every if every_layer else [b.reshape(shape) for b in replaced])])


def rows_through_layers(
    call: Callable[..., int],
    depth: int,
    kernels: Sequence[Reals],
    symmetric: bool,
    parameters: Mapping[str, Any],
) -> tuple[Reals, Reals]:
    """Kernel and tangent kernel of all pairs of rows behind all layers.

    Args:
        call: dual_kernel_matrix of ``loops.py``.
        depth: how many layers there are.
        kernels: K1, K2 and C before them; C is overwritten.
        symmetric: whether rows and columns are the same inputs.
        parameters: by name, a number or one for each layer.
    """
    K1, K2, C = kernels
    Theta = np.empty_like(C)
    numbers = _by_layer(parameters, depth, C.dtype)
    _require_memory(call(*C.shape, K1, K2, symmetric, True, *numbers, C.reshape(-1), Theta.reshape(-1)))
    return C, Theta


def _by_layer(parameters: Mapping[str, Any], depth: int, kind: np.dtype[Any]) -> list[Reals]:
    """The parameters as arrays of one number for each layer."""
    arrays = []
    for name, value in parameters.items():
        array = _real(value, kind)
        if array.ndim and array.shape != (depth,):
            raise ValueError(f"{name} has {array.size} values, but the network has {depth} layers")
        arrays.append(np.array(np.broadcast_to(array, (depth,))))
    return arrays


def _require_memory(failed: int) -> None:
    if failed:
        raise MemoryError("memory is too small for the numbers of all layers and inputs")


def _flat(a: Reals, shape: Sequence[int]) -> Reals:
    """The numbers of an array that is broadcast, one behind the other in memory; a view that is only read."""
    flat = np.ascontiguousarray(np.broadcast_to(a, shape)).reshape(-1)
    return np.broadcast_to(flat, flat.shape)


def _by_parameters(
    entries: Callable[..., None], inputs: Sequence[Reals], parameters: Sequence[Reals], target: Reals
) -> None:
    """Entries with the same parameters at a time."""
    flat = [_flat(a, target.shape) for a in inputs]
    columns, which = np.unique(np.stack([_flat(p, target.shape) for p in parameters]), axis=1, return_inverse=True)
    values = target.reshape(-1)
    for number, column in enumerate(columns.T):
        chosen = np.flatnonzero(which.reshape(-1) == number)
        part = np.empty(chosen.size, dtype=target.dtype)
        entries(chosen.size, *(_flat(a[chosen], chosen.shape) for a in flat), *column.tolist(), part)
        values[chosen] = part
