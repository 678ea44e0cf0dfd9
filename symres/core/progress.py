"""A bar on stderr for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, float], None]  # what is being done, and how much of it (0 to 1)


class Bar:
    """A progress bar that appears only on a terminal and only after a second; otherwise it is silent.

    Use as a context manager; calling it reports progress. It also appears where one step takes longer than that.
    """

    def __init__(self, title: str, patience: float = 1.0) -> None:
        self._title, self._due = title, time.monotonic() + patience
        self._bar: Any = None
        self._task: Any = None
        self._last: tuple[str, float] | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(patience, self._update)
        self._timer.daemon = True

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __call__(self, what: str, share: float) -> None:
        """Say what is being done, and the share (0 to 1) that is done."""
        with self._lock:
            self._last = (what, share)
        if time.monotonic() >= self._due and sys.stderr.isatty():
            self._update()

    def _update(self) -> None:
        with self._lock:
            if self._last is None:
                return
            if self._bar is None:
                self._show()
            what, share = self._last
            self._bar.update(self._task, completed=share, description=f"{self._title}: {what}")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._timer.cancel()
            self._last = None  # a timer that has run out meanwhile shows nothing
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._title, total=1.0)
        self._bar.start()


@contextmanager
def reported(wanted: bool | Progress, title: str) -> Iterator[Progress]:
    """What a caller asked for: a bar, nothing, or a function of his own."""
    if wanted is True:
        with Bar(title) as bar:
            yield bar
    else:
        yield (lambda what, share: None) if wanted is False else wanted


def within(report: Progress, begin: float, end: float) -> Progress:
    """Progress of a part of the work, which lies between two shares of all of it."""
    return lambda what, share: report(what, begin + (end - begin) * share)


class Steps:
    """Reports steps as a share of all.

    Attributes:
        report: what is told.
        count: how many there are, as soon as that is known.
    """

    def __init__(self, report: Progress = lambda what, share: None, count: int = 1) -> None:
        self.report, self.count, self._done = report, count, 0

    def __call__(self, what: str) -> None:
        """One more is done."""
        self._done += 1
        self.report(what, min(self._done / self.count, 1.0))
