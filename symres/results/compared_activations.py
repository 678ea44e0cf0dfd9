"""Several activations in one layer side by side: criticality, gains, and how deep networks may be."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..core.display import Fact, Shown, preformatted
from ..notation import escape
from .annotated_numbers import data_frame

if TYPE_CHECKING:
    import pandas as pd

_DIGITS = 6  # of numbers in text and LaTeX; frame() and csv() have all
_GAP = 2  # spaces between columns
_WIDTH = 80  # columns of the text

# what stands in each row, as text and as LaTeX
HEADS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "universality_class": ("class", "class"),
        "stability": ("stability", "stability"),
        "K": ("K*", "$K^*$"),
        "C_W": ("C_W", "$C_W$"),
        "C_b": ("C_b", "$C_b$"),
        "gain": ("gain, critical", r"$\sqrt{C_W}$"),
        "forward_gain": ("gain, forward", r"$\langle\phi^2\rangle_1^{-1/2}$"),
        "backward_gain": ("gain, backward", r"$\langle\phi'^2\rangle_1^{-1/2}$"),
        "nu": ("nu", r"$\nu$"),
        "aspect_ratio": ("r*", "$r^*$"),
    }
)


@dataclass(frozen=True)
class Compared:
    """One activation of a comparison. Numbers are floats; None where there is none.

    Args:
        activation: its name.
        universality_class: of its networks.
        stability: of the critical point at which a network can be built; None without one.
        K, C_W, C_b: kernel and variances there, without a skip connection where its weight is free; K is None where
            every kernel is kept.
        gain: ``sqrt(C_W)``.
        forward_gain: ``<phi^2>^(-1/2)`` at K = 1, which keeps a mean square of 1 in a multilayer perceptron.
        backward_gain: ``<phi'^2>^(-1/2)`` at K = 1, which keeps gradients there.
        nu: growth of the four-point vertex ``V/K^2`` for each layer at the critical point.
        aspect_ratio: the optimal depth/width for one output.
    """

    activation: str
    universality_class: str
    stability: str | None
    K: float | None
    C_W: float | None
    C_b: float | None
    gain: float | None
    forward_gain: float | None
    backward_gain: float | None
    nu: float | None
    aspect_ratio: float | None

    def cells(self) -> list[str]:
        """What stands in a table, in the order of ``HEADS``; the kernel is "any" where every one is kept."""
        values = {name: getattr(self, name) for name in HEADS}
        if self.C_W is not None and self.K is None:
            values["K"] = "any"
        return list(map(_shown, values.values()))


@dataclass(frozen=True, repr=False)
class ActivationComparison(Shown):
    """Several activations in one layer; a table as text, LaTeX, CSV and DataFrame.

    Args:
        layer: its name or forward equation.
        rows: one for each activation, in the order in which they were named.
        settings: the numbers of its parameters, by name.
        notes: sentences under the table.

    Examples:
        >>> table = sr.compare("relu", "linear", layer="residual", gamma="1/2", progress=False)
        >>> [(row.activation, row.C_W) for row in table.rows]  # 2*(1 - 1/4) and 1 - 1/4
        [('relu', 1.5), ('linear', 0.75)]
    """

    layer: str
    rows: tuple[Compared, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(row.activation for row in self.rows)} in the layer {self.layer}>"

    def _title(self) -> str:
        settings = [f"{name} = {value}" for name, value in self.settings.items()]
        return ", ".join([f"activations in the layer {self.layer}", *settings])

    def _facts(self) -> list[Fact]:
        return [Fact(row.activation, row.universality_class) for row in self.rows]

    def __str__(self) -> str:
        return self.table()

    def _repr_latex_(self) -> None:
        """None: front ends show the HTML, whose columns are aligned."""

    def _repr_html_(self) -> str:
        return preformatted(self.table())

    def table(self, width: int = _WIDTH) -> str:
        """The comparison as text: a column for each activation, as many beside each other as there is space for.

        Examples:
            >>> print(sr.compare("relu", "linear", progress=False).table()[:32])
            activations in the layer mlp
        """
        columns = [[row.activation, *row.cells()] for row in self.rows]
        heads = ["", *(head for head, _ in HEADS.values())]
        label = max(map(len, heads))
        blocks: list[list[list[str]]] = [[]]
        for column in columns:
            used = label + sum(_GAP + max(map(len, other)) for other in [*blocks[-1], column])
            if blocks[-1] and used > width:
                blocks.append([])
            blocks[-1].append(column)
        parts = [_aligned([heads, *block]) for block in blocks]
        notes = [line for note in self.notes for line in textwrap.wrap(note, width)]
        return "\n\n".join([self._title(), *parts, *(["\n".join(notes)] if notes else [])])

    def latex(self) -> str:
        """A ``tabular`` of booktabs: a row for each activation.

        Examples:
            >>> print(sr.compare("relu", "linear", progress=False).latex().splitlines()[-3][:46])
            linear & scale-invariant & neutral & any & $1$
        """
        heads = ["activation", *(head for _, head in HEADS.values())]
        lines = [rf"\begin{{tabular}}{{lll{'r' * (len(heads) - 3)}}}", r"\toprule", _row(heads), r"\midrule"]
        for row in self.rows:
            cells = row.cells()
            kind = cells[0].replace("K*=0", "$K^*=0$")
            lines.append(_row([escape(row.activation), kind, escape(cells[1]), *map(_number, cells[2:])]))
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def csv(self) -> str:
        """Comma-separated values with all digits; empty cells where there is no number.

        Examples:
            >>> sr.compare("relu", "linear", progress=False).csv().splitlines()[2][:39]
            'linear,scale-invariant,neutral,,1.0,0.0'
        """
        text = io.StringIO()
        writer = csv.DictWriter(text, ["activation", *HEADS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()

    def records(self) -> list[dict[str, str | float | None]]:
        """The rows as dictionaries, for ``json.dumps``.

        Examples:
            >>> sr.compare("relu", "linear", progress=False).records()[0]["gain"]
            1.4142135623730951
        """
        return [asdict(row) for row in self.rows]

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame with the columns activation, universality_class, stability, K, C_W, C_b, gain,
        forward_gain, backward_gain, nu and aspect_ratio; nan where there is no number.

        Raises:
            SymresError: pandas is not installed.

        Examples:
            >>> sr.compare("relu", "linear", progress=False).frame()["C_W"].tolist()
            [2.0, 1.0]
        """
        numbers = [name for name in HEADS if name not in ("universality_class", "stability")]
        return data_frame(self.records(), "a comparison", ["activation", *HEADS]).astype(dict.fromkeys(numbers, float))


def _shown(value: str | float | None) -> str:
    return "-" if value is None else value if isinstance(value, str) else f"{value:.{_DIGITS}g}"


def _number(cell: str) -> str:
    """A number in LaTeX, 1e-05 as a power of ten."""
    mantissa, e, exponent = cell.partition("e")
    if cell in ("-", "any"):
        return cell.replace("-", "--")
    return rf"${mantissa} \cdot 10^{{{int(exponent)}}}$" if e else f"${cell}$"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _aligned(columns: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    gap = " " * _GAP
    return "\n".join(gap.join(map(str.ljust, row, widths)).rstrip() for row in rows)
