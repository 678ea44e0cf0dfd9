"""``sr.compare``: activations side by side in one layer: criticality, gains, and how deep networks may be."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import sympy as sp

from ..activations.activation import Activation
from ..activations.catalogue import Declared, activation
from ..core.display import Fact, Shown, preformatted
from ..core.errors import DeclarationError, SymresError
from ..core.progress import Progress, reported
from ..core.scalars import Number
from ..core.symbols import gamma, z
from ..layers.equation_parser import layer as layer_of
from ..notation import escape
from ..notation.decimals import plain_number
from ..results.annotated_numbers import data_frame
from ..theory.quantities.expectations import expect
from ..theory.theory import Theory, derive
from .criticality_summary import CLASSES, first_usable

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
            lines.append(_row([escape(row.activation), kind, escape(cells[1]), *map(_in_latex, cells[2:])]))
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


def _in_latex(cell: str) -> str:
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


def compare(
    *activations: Declared, layer: str = "mlp", progress: bool | Progress = True, **parameters: Number
) -> ActivationComparison:
    """Compare activations: universality class, critical point, gains, nu and the optimal aspect ratio of each.

    Args:
        activations: two or more, each a name, a formula, an Activation or a PyTorch module; with numbers for their
            parameters, ``"leaky_relu(0.01)"``.
        layer: the name of an architecture, or a forward equation with ``phi``, for all of them.
        progress: whether a bar is shown on a terminal, or a function of what is derived and the share that is done.
        parameters: numbers for parameters of the layer or of activations, by name: ``gamma="1/2"``.

    Returns:
        A ActivationComparison; it prints as a table, and has ``latex()``, ``csv()``, ``frame()`` and ``records()``.

    Raises:
        DeclarationError: no activation, one that cannot be read, or one whose parameters have no numbers.
        UnsupportedLayer: a layer that cannot be derived.

    Examples:
        >>> table = sr.compare("relu", "abs", progress=False)
        >>> [(row.activation, row.C_W, round(row.nu, 6)) for row in table.rows]
        [('relu', 2.0, 5.0), ('abs', 1.0, 2.0)]
    """
    if not activations:
        raise DeclarationError("a comparison", "no activation is named", 'pass some: sr.compare("relu", "gelu")')
    declared = [activation(what) for what in activations]
    chosen = [_with_numbers(phi, parameters) for phi in declared]
    names = {str(symbol) for phi in declared for symbol in phi.parameters}
    left = {name: value for name, value in parameters.items() if name not in names}
    layers = [layer_of(layer, phi=phi, **left) for phi in chosen]
    rows = []
    with reported(progress, "compare") as report:
        for done, (phi, built) in enumerate(zip(chosen, layers, strict=True)):
            report(phi.name, done / len(chosen))
            rows.append(_compared(phi, derive(built)))
    settings = {name: str(value) for name, value in left.items()}
    settings |= {name: "0" for name in map(str, layers[0].parameters) if name == str(gamma)}  # of all numbers of rows
    classes = dict.fromkeys(row.universality_class for row in rows if row.C_W is None)
    notes = tuple(f"{name}: {CLASSES[name]}; symres derive shows critical lines" for name in classes)
    return ActivationComparison(layers[0].name, tuple(rows), settings, notes)


def _with_numbers(phi: Activation, values: Mapping[str, Number]) -> Activation:
    """An activation with numbers for its parameters.

    Raises:
        DeclarationError: one has none.
    """
    names = [str(symbol) for symbol in phi.parameters]
    missing = [name for name in names if name not in values]
    if missing:
        remedy = f"pass one: {phi.name}({missing[0]}=1/10), or {missing[0]}=1/10 for all"
        raise DeclarationError(f"{phi.name} in a comparison", f"its parameter {missing[0]} has no number", remedy)
    return phi.subs(**{name: values[name] for name in names})


def _compared(phi: Activation, theory: Theory) -> Compared:
    point, growth = first_usable(theory.critical_points), theory.growth_curve
    # without a skip connection where its weight is free; None for a symbol
    values = () if point is None else map(plain_number, (point.K, point.C_W, point.C_b))
    numbers = [value if isinstance(value, float) else None for value in values] or [None] * 3
    row = None if growth is None else next(growth.at(0.0))
    return Compared(
        activation=phi.name,
        universality_class=theory.universality_class,
        stability=None if point is None else point.stability,
        K=numbers[0],
        C_W=numbers[1],
        C_b=numbers[2],
        gain=None if numbers[1] is None else math.sqrt(numbers[1]),
        forward_gain=_gain(lambda: phi.expr),
        backward_gain=_gain(lambda: phi(z).diff(z)),
        nu=None if row is None else row.nu,
        aspect_ratio=None if row is None else row.aspect_ratio,
    )


def _gain(function: Callable[[], sp.Expr]) -> float | None:
    """``<f^2>^(-1/2)`` at K = 1; None where the average is infinite or 0."""
    try:
        average = float(expect(function() ** 2).evalf(17, K=1))
    except SymresError:
        return None
    return 1 / math.sqrt(average) if 0 < average < math.inf else None
