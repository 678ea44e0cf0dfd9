"""Where all of a model's stream goes through one tensor: there it is cut into steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .run_record import RecordedCall, RunRecord


@dataclass(frozen=True)
class StreamStep:
    """Calls between two tensors, each of which everything that follows depends on alone.

    Args:
        entry: the number of the tensor that goes in.
        exit: the number of the tensor that comes out.
        calls: in order.
    """

    entry: int
    exit: int
    calls: tuple[RecordedCall, ...]


def stream_steps(record: RunRecord, output: int) -> list[StreamStep]:
    """The steps from the input to a value; no step can be divided.

    A tensor is a place to cut if no call after it uses anything from before it. Calls whose results do not reach the
    output, such as the keys and values that a language model keeps, count for nothing.

    Args:
        record: the run of a model.
        output: the value at which the last step ends.
    """
    live = _live_calls(record.calls, output)
    last_use: dict[int, int] = {}
    for position, call in enumerate(live):
        last_use.update(dict.fromkeys(call.sources, position))
    steps: list[StreamStep] = []
    begun, entry, reach = 0, 0, last_use.get(0, -1)
    for position, call in enumerate(live):
        alive = [number for number in call.results if last_use.get(number, -1) > position or number == output]
        if reach <= position and len(alive) == 1:
            steps.append(StreamStep(entry, alive[0], tuple(live[begun : position + 1])))
            begun, entry = position + 1, alive[0]
        reach = max([reach, *(last_use.get(number, -1) for number in alive)])
    return steps


def _live_calls(calls: Sequence[RecordedCall], output: int) -> list[RecordedCall]:
    needed, live = {output}, []
    for call in reversed(calls):
        if needed.intersection(call.results):
            live.append(call)
            needed.update(call.sources)
    return live[::-1]
