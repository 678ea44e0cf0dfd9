"""BLAS in one thread, for products beside kernels that have threads of their own.

After a product the threads of BLAS ask again and again for the next one, and so do those of OpenMP: two kinds of
threads, each as many as there are processors, get into each other's way. Blocks of a product go to threads that end
with it instead, in each of which BLAS has no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from .kernels_of_rows import _kernels_of_rows

_LOCK = Lock()
_OPEN: list[object] = []  # contexts that have not ended
_LIMITS = ExitStack()  # of BLAS, until the last of them ends


def _kernels_beside_threads(
    X1: ArrayLike, X2: ArrayLike | None, kind: type[np.floating] | np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Kernels of the rows of feature matrices, as ``_kernels_of_rows`` has them, without threads that wait for more."""
    with _single_blas() as threads, ThreadPoolExecutor(threads) as pool:
        return _kernels_of_rows(X1, X2, kind, pool.map)


@contextmanager
def _single_blas() -> Iterator[int]:
    """A context in which BLAS, which all threads of the process share, has one thread.

    Yields:
        as many threads as BLAS has otherwise; 1 where another context has not ended.
    """
    context, threads = object(), 1
    with _LOCK:
        if not _OPEN:
            threads = max((library.num_threads for library in _libraries().lib_controllers), default=1)
            _LIMITS.enter_context(_libraries().limit(limits=1))
        _OPEN.append(context)
    try:
        yield threads
    finally:
        with _LOCK:
            _OPEN.remove(context)
            if not _OPEN:
                _LIMITS.close()


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded."""
    return ThreadpoolController().select(user_api="blas")
