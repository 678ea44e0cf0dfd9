"""Processes of one command that share its work."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path

from .app import collect_seldom

# A copy of this process, which has one thread, has loaded all that is needed; elsewhere system libraries forbid copies.
_START = "fork" if sys.platform == "linux" else "spawn"


@contextmanager
def pool_of(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the context, at once where that ends with an error or an interrupt."""
    pool = ProcessPoolExecutor(workers, mp_context=get_context(_START), initializer=_begin)
    try:
        yield pool
    except BaseException:
        for child in active_children():  # what they have begun would go on for seconds
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """Begin a worker. A signal ends it without a traceback: the command says it."""
    collect_seldom()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_command() -> bool:
    """Whether this process is the command alone: another program may not expect that its main module is run again."""
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None:
        return main.__spec__ is not None and main.__spec__.name == "symres.__main__"
    return Path(getattr(main, "__file__", None) or "-").stem == "symres"
