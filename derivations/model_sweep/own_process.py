"""A family in a process of its own, with a time limit."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

from .families import all_families
from .family_run import STAGES, stages_of

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([f"{__package__}.preloaded"])


def run(name: str, limit: float) -> dict[str, Any]:
    """The row of one family, from a process of its own.

    Args:
        name: of the family.
        limit: seconds after which the process is killed; the stage that it was in is told as killed.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=send_stages, args=(name, sender))
    start = time.monotonic()
    process.start()
    sender.close()  # so that the end of the process is the end of the pipe
    stages: dict[str, dict[str, Any]] = {}
    said = ""
    while not said:
        if not receiver.poll(max(0.0, start + limit - time.monotonic())):
            process.kill()
            said = f"killed after {limit:.0f} s"
            continue
        try:
            told = receiver.recv()
        except EOFError:
            break
        stages[told.pop("stage")] = told
    process.join()
    if process.exitcode != 0:
        stage = next(stage for stage in STAGES if stage not in stages)
        said = said or f"the process ended with exit code {process.exitcode}"
        stages[stage] = {"seconds": round(time.monotonic() - start, 1), "outcome": "killed", "said": said}
    return {"name": name, "library": all_families()[name].library, "stages": stages}


def send_stages(name: str, sender: Connection) -> None:
    """What the process of a family does."""
    families = all_families()
    with sender:
        for told in stages_of(families[name]):
            sender.send(told)
