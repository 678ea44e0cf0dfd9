"""How much work one enclosure may cost, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

MOST_PANELS = ContextVar("MOST_PANELS", default=2000)  # beyond, an answer would take too long


@contextmanager
def panel_budget(panels: int) -> Iterator[None]:
    """Give up averages that need more panels than this: where a hundred averages are asked for, not one."""
    token = MOST_PANELS.set(panels)
    try:
        yield
    finally:
        MOST_PANELS.reset(token)
