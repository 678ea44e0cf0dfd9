"""The rows of the sweep as a table, and what in them is a defect."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WORSE = 10.0  # signals after over signals before, as factors from 1, that count as a defect
SLOW = 120.0  # seconds that one call of symres may take
_CALLS = ("measure", "read", "init")
_SIGNALS = ("activations", "gradients")
_HEAD = ("family", "library", *_CALLS, "layers read", "set / left", *_SIGNALS, "said")

Row = Mapping[str, Any]  # name, library, and the stages by their names


def defects(row: Row) -> list[str]:
    """What symres does wrong with a family, each in a few words."""
    found = []
    stages: Mapping[str, Mapping[str, Any]] = row["stages"]
    for stage, told in stages.items():
        if told["outcome"] in ("exception", "killed"):
            found.append(f"{stage}: {told['said']}")
        elif told["seconds"] > SLOW:
            found.append(f"{stage} takes {told['seconds']:.0f} s")
    init = stages.get("init", {})
    if init.get("outcome") == "done" and not init["changed"] and not init["notes"]:
        found.append("init: nothing set, nothing said")
    before, after = stages.get("before", {}), stages.get("after", {})
    for name in _SIGNALS:
        old, new = before.get(name), after.get(name)
        if after and old and (new is None or abs(math.log(new or 1e-300)) - abs(math.log(old)) > math.log(WORSE)):
            found.append(f"{name} are worse afterwards")
    return found


def markdown(rows: Sequence[Row]) -> str:
    """The table: seconds of each call, layers read, tensors changed and left, signals before and after."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    for row in rows:
        stages: Mapping[str, Mapping[str, Any]] = row["stages"]
        read, init = stages.get("read", {}), stages.get("init", {})
        cells = [row["name"], row["library"], *(_seconds(stages.get(name, {})) for name in _CALLS)]
        cells.append(f"{read['recognised']} of {read['parts']}" if "parts" in read else "-")
        cells.append(f"{init['changed']} / {init['left']}" if "changed" in init else "-")
        cells += [_change(stages, name) for name in _SIGNALS]
        cells.append(_said(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> str:
    """How many families were set, refused and treated wrongly."""
    outcomes = [row["stages"].get("init", {}).get("outcome", "not built") for row in rows]
    wrong = sum(bool(defects(row)) for row in rows)
    counts = f"{outcomes.count('done')} initialised, {outcomes.count('refused')} refused"
    return f"{len(rows)} families: {counts}, {wrong} with a defect"


def _seconds(told: Mapping[str, Any]) -> str:
    if not told:
        return "-"
    mark = "" if told["outcome"] == "done" else f" {told['outcome']}"
    return f"{told['seconds']:.1f}{mark}"


def _change(stages: Mapping[str, Mapping[str, Any]], name: str) -> str:
    before, after = (stages.get(stage, {}).get(name) for stage in ("before", "after"))
    return f"{_number(before)} → {_number(after)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"


def _said(row: Row) -> str:
    """Defects first; else why it was refused, or the first sentence of the report."""
    stages = row["stages"]
    refusals = [stages[s]["said"] for s in _CALLS if stages.get(s, {}).get("outcome") == "refused"]
    sentences = [f"**{text}**" for text in defects(row)] + list(dict.fromkeys(refusals))
    return "; ".join(sentences or [stages.get("init", {}).get("said", "")]).replace("|", "\\|")
