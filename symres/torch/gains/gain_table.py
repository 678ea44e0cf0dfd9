"""Gains for a terminal, and as plain data."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict

from ...core.display import Plain, plain
from ...report.text.catalogue_tables import table_head
from ...report.text.console import Line, Span, line
from .gain_number import Gain

_COLUMN = 10  # of the conventions' names
_HEADS = ("gain", "C_W", "C_b", "K", "inputs")
_WIDTH = 14
_NARROW = 20  # columns that text needs


def gain_table(name: str, gains: Mapping[str, Gain | str], width: int, unicode: bool) -> list[Line]:
    """A row for each convention, and its reason under it.

    Args:
        name: of the activation.
        gains: by convention; text says why there is none.
        width: columns.
        unicode: whether the terminal has other characters than ASCII.
    """
    lines = table_head(f"Gains of {name}: weights with std = gain/sqrt(fan_in)", width, unicode)
    heads = "".join(head.ljust(_WIDTH) for head in _HEADS)
    lines.append(line(" " * _COLUMN, Span(heads.rstrip(), "dim")))
    for convention, gain in gains.items():
        about = gain
        row = "none"
        if isinstance(gain, Gain):
            numbers = (float(gain), gain.C_W, gain.C_b, gain.K, gain.inputs_kernel)
            row = "".join(f"{number:.9g}".ljust(_WIDTH) for number in numbers)
            about = gain.why
        lines.append(line(Span(convention.ljust(_COLUMN), "bold"), row.rstrip()))
        texts = textwrap.wrap(str(about), max(_NARROW, width - _COLUMN))
        lines += [line(" " * _COLUMN, Span(text, "dim")) for text in texts]
    legend = (
        "C_W = gain^2 and C_b: variances of weights (times fan-in) and biases; K: the kernel at which the condition "
    )
    legend += "holds; inputs: the mean square of the inputs that gives the first layer this kernel"
    return lines + [line(Span(text, "dim")) for text in textwrap.wrap(legend, width)]


def gain_record(name: str, gains: Mapping[str, Gain | str]) -> dict[str, Plain]:
    """The same as plain data: for each convention the facts and the number, or why there is none."""
    return {
        "activation": name,
        "gains": {
            convention: {"none": gain}
            if not isinstance(gain, Gain)
            else {"gain": float(gain), **{key: plain(value) for key, value in asdict(gain.facts).items()}}
            for convention, gain in gains.items()
        },
    }
