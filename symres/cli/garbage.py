"""How often a process of the command line looks for garbage."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 50_000  # before a search: Python's own 700 make a seventh of a derivation, which leaves few cycles


def collect_seldom() -> None:
    """Look for cycles of unused objects less often: a process that ends after one command has little garbage."""
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
