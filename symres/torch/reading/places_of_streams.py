"""Where a stretch begins and ends, in the words of measurements: places that can be observed."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..equations.layering import StretchReading
from ..tracing.run_record import RunRecord
from .read_block import StretchPlaces

_KERNELS = 16  # shares of positions


def span_of(record: RunRecord, stretch: StretchReading) -> StretchPlaces:
    """The places of a stretch, and the kernels at the first.

    Args:
        record: the run.
        stretch: the stretch.
    """
    found = stretch.found
    dense = () if found is None else found.dense
    axis = -1 if found is None or found.axis is None else found.axis
    inputs, outputs = (int(record.values[number].shape[axis]) for number in (stretch.entry, stretch.exit))
    entry = place_of(record, stretch.entry)
    inner = [use.fan_out for use in dense]
    if outputs in inner:  # the dense layer that makes the exit: nothing averages over its neurons
        inner.remove(outputs)
    if entry != "input" or (found is not None and found.norms):  # what is given does not fluctuate
        inner.append(inputs)
    return StretchPlaces(
        entry=entry,
        exit=place_of(record, stretch.exit),
        kernels=_kernels(record, stretch.entry),
        width=min(inner, default=max(inputs, outputs)),
        inputs=inputs,
        outputs=outputs,
    )


def place_of(record: RunRecord, number: int) -> str:
    """The place at which a stream value can be observed: it leaves a module, or enters one; empty if neither."""
    times = Counter(call.name for call in [*record.left])
    for call, value in record.left.items():
        if value == number and call.name and times[call.name] == 1:
            return call.name
    if number == 0:
        return "input"
    for call, value in record.entered.items():
        if value == number and call.name and times[call.name] == 1:
            return f"input of {call.name}"
    return ""


def _kernels(record: RunRecord, number: int) -> tuple[float, ...]:
    """Means of the mean square over the last axis, of equal shares of positions in order of size.

    Their mean is that of all, also where the number of positions is no multiple of that of shares: a position then
    belongs to two of them.
    """
    tensor = record.values[number].detach()
    if not tensor.is_floating_point() or number in record.overwritten:
        return ()
    squares = np.sort(tensor.square().mean(dim=-1).reshape(-1).double().cpu().numpy())
    shares = min(_KERNELS, len(squares))
    ends = np.linspace(0, len(squares), shares + 1)
    sums = np.interp(ends, np.arange(len(squares) + 1), np.concatenate([[0.0], np.cumsum(squares)]))
    return tuple(map(float, np.diff(sums) / np.diff(ends)))
