"""The memory that a measurement took, where it can be known."""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch


def watched_memory(device: torch.device) -> Callable[[], int | None]:
    """Begin to watch.

    Args:
        device: where the model is.

    Returns:
        A function that returns the bytes at the peak since then: of an accelerator's tensors, those beyond what was
        allocated before; of the process on a CPU, the growth of its largest resident size. None where that is unknown:
        the process had been larger before.
    """
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        return lambda: int(torch.cuda.max_memory_allocated(device) - before)
    largest = _largest()
    return lambda: (_largest() - largest) or None


def _largest() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kilobytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
