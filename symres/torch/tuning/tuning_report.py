"""What tuning has measured, what it has set and what that did, as a table and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from torch import nn

from ...core.display import Fact, Shown
from ...results.annotated_numbers import DataFrame, EstimatedNumber, data_frame, row_of
from ..measuring.signals import number_in_words


@dataclass(frozen=True)
class TunedBlock:
    """A residual block ``z' = gamma z + xi R(z)``, R being its branch as it was found. Numbers have standard errors.

    Args:
        name: of the module.
        kind: "block", or "branch" where the module is R and the model adds it to a stream.
        gamma: weight of the stream.
        xi: weight of the branch; its error, or that of gamma, is what inputs and probes leave open.
        scaled: what was multiplied by xi, by name.
        G_zz: mean square of the stream that enters, behind the tuned blocks before.
        G_RR: of the branch.
        G_Rz: mean product of both.
        J_RR: squared norm of the Jacobian of the branch per neuron.
        J_R1: its trace per neuron.
        kernel_before: of the stream that left the block.
        kernel_after: of the stream that leaves it now.
        growth_before: the factor between the kernels on both sides of the block.
        growth_after: likewise.
        chi_before: squared norm of the Jacobian of the block per neuron.
        chi_after: likewise, measured with new random directions.
        apjn_before: squared norm of the Jacobian from the first block to what leaves this one, per neuron; nan unless
            it is the target.
        apjn_after: likewise, measured with new random directions.
        chi_tuned: what the directions of the tuning gave for it: its error is how far the true one may be from there.
    """

    name: str
    kind: str
    gamma: EstimatedNumber
    xi: EstimatedNumber
    scaled: str
    G_zz: EstimatedNumber
    G_RR: EstimatedNumber
    G_Rz: EstimatedNumber
    J_RR: EstimatedNumber
    J_R1: EstimatedNumber
    kernel_before: float
    kernel_after: float
    growth_before: EstimatedNumber
    growth_after: EstimatedNumber
    chi_before: EstimatedNumber
    chi_after: EstimatedNumber
    apjn_before: EstimatedNumber
    apjn_after: EstimatedNumber
    chi_tuned: EstimatedNumber

    def fact(self) -> Fact:
        """One line."""
        before, after = map(number_in_words, (self.apjn_before, self.apjn_after))
        apjn = "" if math.isnan(self.apjn_after) else f", J {before} -> {after}"
        return Fact(
            self.name,
            f"gamma {float(self.gamma):.4g}, xi {number_in_words(self.xi)} on {self.scaled}; "
            f"kernel grows by {float(self.growth_before):.4g} -> {float(self.growth_after):.4g}, "
            f"chi {number_in_words(self.chi_before)} -> {number_in_words(self.chi_after)}{apjn}",
        )


@dataclass(frozen=True)
class TunedLayer:
    """A dense or convolutional layer without a skip connection, its weights rescaled.

    Args:
        name: of the module.
        weight_factor: by which its weight was multiplied.
        bias_factor: its bias.
        kernel_before: of its output.
        kernel_after: likewise.
        chi_before: squared norm of the Jacobian from the output of the layer before to its own, per neuron of its own;
            nan at the first layer.
        chi_after: likewise, measured with new random directions.
        chi_tuned: what the directions of the tuning gave for it: its error is how far the true one may be from there.
    """

    name: str
    weight_factor: EstimatedNumber
    bias_factor: EstimatedNumber
    kernel_before: EstimatedNumber
    kernel_after: EstimatedNumber
    chi_before: EstimatedNumber
    chi_after: EstimatedNumber
    chi_tuned: EstimatedNumber

    def fact(self) -> Fact:
        """One line."""
        return Fact(
            self.name,
            f"weight x {number_in_words(self.weight_factor)}, bias x {number_in_words(self.bias_factor)}; "
            f"kernel {float(self.kernel_before):.4g} -> {float(self.kernel_after):.4g}, "
            f"chi {number_in_words(self.chi_before)} -> {number_in_words(self.chi_after)}",
        )


_KEPT = {
    "size": "kernels",
    "gradient": "gradients",
    "apjn": "Jacobian norms from the first block",
    "both": "kernels and gradients",
}
TunedPart: TypeAlias = TunedBlock | TunedLayer


@dataclass(frozen=True, repr=False)
class TuningReport(Shown):
    """What ``tune_`` found and did.

    Args:
        parts: blocks, or layers, in the order of execution.
        target: "size", "gradient", "apjn" or "both".
        applied: whether the model was changed; not in a dry run.
        model: the model; another object only where it was a single block that was wrapped.
        inputs: how many inputs.
        probes: how many random directions for each Jacobian norm.
        mode: "train", "eval" or "as it is".
        notes: what should be known when the numbers are read; each of them has also been a warning.

    Examples:
        >>> layer = torch.nn.Linear(16, 16, bias=False)
        >>> layer.weight.data = torch.eye(16)/2
        >>> report = st.tune_(torch.nn.Sequential(layer), 4*torch.eye(16), target="size", kernel=4, progress=False)
        >>> report.applied, round(report["0"].weight_factor, 6)  # its inputs have the mean square 1
        (True, 4.0)
        >>> round(report.rows()[0]["kernel_after"], 6), report.frame().shape[0]
        (4.0, 1)
    """

    parts: tuple[TunedPart, ...]
    target: str
    applied: bool
    model: nn.Module
    inputs: int
    probes: int
    mode: str
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> TunedPart:
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)

    def rows(self) -> list[dict[str, str | float]]:
        """The table, a dictionary for each block or layer; ``_error`` is a standard error."""
        return [row_of(part) for part in self.parts]

    def frame(self) -> DataFrame:
        """The table as a pandas DataFrame, a row for each block or layer.

        Returns:
            Columns named as the attributes of ``TunedBlock`` or ``TunedLayer``, with ``_error`` behind those numbers
            that have a standard error.

        Raises:
            SymresError: pandas is not installed.
        """
        return data_frame(self.rows(), "a tuning")

    def _title(self) -> str:
        kept = _KEPT[self.target]
        what = "blocks" if isinstance(self.parts[0], TunedBlock) else "layers"
        done = "tuned" if self.applied else "would be tuned (dry run)"
        return f"{len(self.parts)} {what} {done} for {kept}, on {self.inputs} inputs"

    def _facts(self) -> list[Fact]:
        facts = [part.fact() for part in self.parts]
        facts.append(Fact("errors", f"standard errors over inputs and {self.probes} random directions"))
        return facts + [Fact("note", note) for note in self.notes]
