"""A gain: a number that knows its reason; tables of gains for a terminal, and as plain data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from ...core.display import Fact, Shown, plain
from ...report.text.catalogue_tables import Entry, table
from ...report.text.console import Line, Span, line
from ...results.annotated_numbers import AnnotatedNumber

_HEADS = ("gain", "C_W", "C_b", "K", "inputs")
_WIDTH = 14
_LEGEND = (
    "C_W = gain^2 and C_b: variances of weights (times fan-in) and biases; K: the kernel at which the condition holds; "
    "inputs: the mean square of the inputs that gives the first layer this kernel"
)


class Gain(AnnotatedNumber, Shown):
    """The factor in ``std = gain/sqrt(fan_in)`` of weights, a float with its reason.

    Attributes:
        convention: "critical", "forward", "backward", "centred" or "torch".
        activation: its name.
        C_W: fan-in times the variance of a weight, the square of the gain.
        C_b: variance of a bias.
        K: the kernel (mean square of a preactivation) at which the convention's condition holds.
        next_kernel: the kernel after a layer, ``C_b + C_W <phi(z)^2>_K``, or the variance of phi(z) in it.
        chi_perp: ``C_W <phi'(z)^2>_K``, the factor of squared gradient norms in a layer (Doshi et al. (9)).
        chi_parallel: the slope of the next kernel in K; above 1, kernels near a fixed point leave it.
        inputs_kernel: mean square of the inputs for which the first layer has the kernel K, ``(K - C_b)/C_W``.
        stability: of a critical point; empty for other conventions.
        error: of the gain: its difference from an independent quadrature, with that one's own error; 0 for an entry
            of PyTorch's table.
        why: two sentences with the formula.

    Examples:
        >>> gain = st.gain("relu")
        >>> round(gain, 6), gain.C_W, gain.C_b, gain.chi_perp
        (1.414214, 2.0, 0.0, 1.0)
        >>> gain.why.partition(",")[0]
        "C_W = 1/<phi'(z)^2>_1 = 2 and C_b = 0 make both susceptibilities 1 at every kernel"
    """

    convention: str
    activation: str
    C_W: float
    C_b: float
    K: float
    next_kernel: float
    chi_perp: float
    chi_parallel: float
    inputs_kernel: float
    stability: str
    error: float
    why: str

    def __str__(self) -> str:
        return f"{float(self):.9g}"

    def __repr__(self) -> str:
        return f"Gain({float(self)!r}, {self.convention!r}, {self.activation!r})"

    def _title(self) -> str:
        return f"gain {self} of {self.activation}, {self.convention}"

    def _facts(self) -> list[Fact]:
        """The numbers of a layer, and the reason."""
        sides = (
            ("C_W", "C_W", self.C_W),
            ("C_b", "C_b", self.C_b),
            ("K", "K", self.K),
            ("chi_perp", r"\chi_\perp", self.chi_perp),
            ("chi_parallel", r"\chi_\parallel", self.chi_parallel),
        )
        numbers = [Fact("", f"{name} = {side:.9g}", f"{left} = {side:.9g}") for name, left, side in sides]
        return [*numbers, Fact("why", self.why)]


def gain_entries(gains: Mapping[str, Gain | str]) -> dict[str, Entry]:
    """The numbers of each convention, and its reason; text in the place of a gain says why there is none."""
    entries = {}
    for convention, gain in gains.items():
        if isinstance(gain, Gain):
            numbers = (float(gain), gain.C_W, gain.C_b, gain.K, gain.inputs_kernel)
            record = {"gain": float(gain), **{key: plain(value) for key, value in vars(gain).items()}}
            entries[convention] = Entry(_row(f"{number:.9g}" for number in numbers), [gain.why], record)
        else:
            entries[convention] = Entry("none", [gain], {"none": gain})
    return entries


def gain_table(name: str, entries: Mapping[str, Entry], width: int, unicode: bool) -> list[Line]:
    """A row for each convention, and its reason under it."""
    title, heads = f"Gains of {name}: weights with std = gain/sqrt(fan_in)", Entry(_row(_HEADS), [], {})
    legend = textwrap.wrap(_LEGEND, width)
    return table(title, {"": heads, **entries}, width, unicode) + [line(Span(text, "dim")) for text in legend]


def _row(cells: Iterable[str]) -> str:
    return "".join(cell.ljust(_WIDTH) for cell in cells).rstrip()
