"""Parts of matrices, and what broadcasts over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias, TypeVar

Cut: TypeAlias = tuple[slice, ...]
Entries = TypeVar("Entries")


def _parts(shape: tuple[int, ...], size: int) -> Iterator[Cut]:
    """Cuts of the first axes into parts of at most so many elements, whole along the other axes."""
    inner = math.prod(shape[1:])
    step = max(size // max(inner, 1), 1)
    for start in range(0, shape[0], step):
        cut = slice(start, start + step)
        if inner > size:
            for rest in _parts(shape[1:], size):
                yield cut, *rest
        else:
            yield (cut,)


def _chunk(a: Entries, part: Cut) -> Entries:
    """A part of a broadcast array, as long as the array itself where it is broadcast; of a tuple that of each entry.

    None and lists are whole in every part.
    """
    if isinstance(a, tuple):
        return tuple([_chunk(entry, part) for entry in a])  # type: ignore[return-value]
    if a is None or isinstance(a, (list, float)) or a.ndim == 0 or len(part) == 1 == len(a):  # type: ignore
        return a
    return a[tuple([slice(None) if n == 1 else cut for n, cut in zip(a.shape, part)])]  # type: ignore
