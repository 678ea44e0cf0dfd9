"""What an example found: a table of numbers beside the theory, all points as CSV, a figure, and the command line."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import torch

from symres.core.progress import Bar, Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = ("number", "measured", "error", "theory", "allowed", "z")
Settings = TypeVar("Settings")
Point = dict[str, str | float]  # a row of a CSV file


@dataclass(frozen=True)
class Comparison:
    """A measured number beside the theory.

    Args:
        what: the number.
        measured: its value.
        error: its standard error.
        theory: at infinite width; nan where there is none.
        allowed: how far the finite width may shift the average of many networks from it, absolute.
    """

    what: str
    measured: float
    error: float
    theory: float = math.nan
    allowed: float = 0.0

    @property
    def z(self) -> float:
        """The difference in units of the error and of what is allowed, added in squares."""
        scale = math.hypot(self.error, self.allowed)
        return (self.measured - self.theory) / scale if scale > 0 else math.nan

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        allowed = math.nan if math.isnan(self.theory) else self.allowed
        numbers = (self.measured, self.error, self.theory, allowed, self.z)
        texts = ["" if math.isnan(x) else f"{x:.2g}" if i in (1, 3, 4) else f"{x:.5g}" for i, x in enumerate(numbers)]
        return (self.what, *texts)


@dataclass(frozen=True)
class Findings:
    """What an example found.

    Args:
        comparisons: rows of the table.
        points: everything that was measured, a dictionary for each row of the CSV file.
        figure: the figure.
        remarks: printed below the table.
    """

    comparisons: Sequence[Comparison]
    points: Sequence[Point]
    figure: Figure
    remarks: Sequence[str] = field(default=())

    @property
    def table(self) -> str:
        """The table as text."""
        rows = [COLUMNS, *(c.cells for c in self.comparisons)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))) for row in rows]
        return "\n".join([*lines, *self.remarks])

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write NAME.png and NAME.csv into a folder, which is made.

        Args:
            folder: where.
            name: of both files.
        """
        folder.mkdir(parents=True, exist_ok=True)
        picture, numbers = folder / f"{name}.png", folder / f"{name}.csv"
        self.figure.savefig(picture, dpi=150)
        with numbers.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(key for point in self.points for key in point)))
            writer.writeheader()
            writer.writerows(self.points)
        return picture, numbers


def main(
    name: str,
    about: str | None,
    run: Callable[[Settings, Progress], Findings],
    full: Settings,
    quick: Settings,
    arguments: Sequence[str] | None = None,
) -> None:
    """The command line of an example.

    Args:
        name: of the example and of its files.
        about: its docstring.
        run: does it.
        full: settings for some minutes on two cores.
        quick: settings for some seconds.
        arguments: of the command; None: those of the process.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m derivations.doshi_figures.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="smaller networks, some seconds")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder of the files (default: here)")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(min(2, torch.get_num_threads()))
    with Bar(name) as bar:
        findings = run(quick if chosen.quick else full, bar)
    print(findings.table)
    for path in findings.write(chosen.out, name):
        print(f"wrote {path}")
