"""Which cache is in use, if any."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .disk_cache import DiskCache, default_folder

ACTIVE: ContextVar[DiskCache | None] = ContextVar("ACTIVE", default=None)
OFF = "SYMRES_NO_CACHE"  # the environment variable that turns it off, with any text


def default_cache() -> DiskCache | None:
    """The cache of this user; None where the environment turns it off, or there is no home."""
    if os.environ.get(OFF):
        return None
    folder = default_folder()
    return None if folder is None else DiskCache(folder)


@contextmanager
def caching(cache: DiskCache | None) -> Iterator[None]:
    """Use a cache, or none, as long as the context lasts; what is new is on disk at its end."""
    token = ACTIVE.set(cache)
    try:
        yield
    finally:
        ACTIVE.reset(token)
        if cache is not None:
            cache.flush()
