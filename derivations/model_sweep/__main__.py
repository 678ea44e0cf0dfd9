"""The command: ``python -m derivations.model_sweep``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .families import all_families
from .own_process import run
from .sweep_table import defects, markdown, summary


def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """The table as Markdown, and all that was told as JSON beside it; each file whole or not at all."""
    texts = {".md": f"{summary(rows)}\n\n{markdown(rows)}\n", ".json": json.dumps(rows, indent=1)}
    for suffix, text in texts.items():
        partial = path.with_suffix(f"{suffix}.part")
        partial.write_text(text)
        os.replace(partial, path.with_suffix(suffix))


def main(words: Sequence[str] | None = None) -> int:
    """The command line.

    Returns:
        1 if symres treats a family wrongly, else 0.
    """
    parser = argparse.ArgumentParser(prog="python -m derivations.model_sweep", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="families, by name; --list prints them")
    parser.add_argument("--out", type=Path, help="PATH.md and .json; rows that are there and not run again are kept")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one family (240)")
    parser.add_argument("--list", action="store_true", help="print the names of the families")
    chosen = parser.parse_args(words)
    families = all_families()
    wanted = chosen.only or list(families)
    if unknown := [name for name in wanted if name not in families]:
        parser.error(f"there is no family {unknown[0]!r}; --list prints the names")
    if chosen.list:
        print("\n".join(families))
        return 0
    rows: dict[str, dict[str, Any]] = {}
    if chosen.out is not None and chosen.out.with_suffix(".json").exists():
        rows = {row["name"]: row for row in json.loads(chosen.out.with_suffix(".json").read_text())}
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("families", total=len(wanted))
        for name in wanted:
            bar.update(task, description=name)
            rows[name] = run(name, chosen.limit)
            bar.advance(task)
            if chosen.out is not None:
                write(chosen.out, [rows[name] for name in families if name in rows])
    ordered = [rows[name] for name in families if name in rows]
    print(f"{markdown(ordered)}\n\n{summary(ordered)}")
    return int(any(map(defects, ordered)))


if __name__ == "__main__":
    sys.exit(main())
