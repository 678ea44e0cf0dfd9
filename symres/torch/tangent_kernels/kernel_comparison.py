"""A tangent kernel, with the shares of blocks and the kernel of the theory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.display import Fact, Shown
from ...results.annotated_numbers import DataFrame, data_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class TangentKernel(Shown):
    """The tangent kernel of a model.

    Args:
        model: the name of its class.
        matrix: ``(1/n) sum_i sum_p (df_i(x)/dp) (df_i(y)/dp)`` over the outputs i, shape (inputs x, inputs y).
        shares: what the parameters of each block add to it, by name; empty where no blocks were asked for.
        outputs: the number n of outputs of an input.
        parameters: how many numbers are trained.
        theory: at infinite width with the variances of the model's weights, in the same shape; None where it is not
            known, nan for opposite inputs.
        scatter: the standard deviation over networks with fresh weights of these variances; None without a theory.
        networks: how many of these were drawn.
        reason: why there is no theory; empty where there is one.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> _ = torch.manual_seed(0)
        >>> model = Sequential(Linear(2, 512, bias=False), ReLU(), Linear(512, 1, bias=False))
        >>> found = st.tangent_kernel(model, torch.eye(2), networks=4, progress=False)
        >>> found.parameters, found.outputs, bool((abs(found.matrix/found.theory - 1) < 0.5).all())
        (1536, 1, True)
        >>> found.frame().shape, found.z.shape, len(found.plot().axes)
        ((4, 5), (2, 2), 3)
    """

    model: str
    matrix: np.ndarray
    shares: Mapping[str, np.ndarray]
    outputs: int
    parameters: int
    theory: np.ndarray | None = None
    scatter: np.ndarray | None = None
    networks: int = 0
    reason: str = ""

    @property
    def z(self) -> np.ndarray | None:
        """Differences between model and theory in units of the scatter; None without a theory or without networks."""
        return None if self.theory is None or self.scatter is None else (self.matrix - self.theory) / self.scatter

    def frame(self) -> DataFrame:
        """A table with a row for each pair of inputs: x, y, kernel, shares by block, theory, scatter."""
        columns = {"kernel": self.matrix, **self.shares}
        columns |= {} if self.theory is None else {"theory": self.theory}
        columns |= {} if self.scatter is None else {"scatter": self.scatter}
        pairs = np.ndindex(self.matrix.shape)
        rows = [{"x": i, "y": j, **{name: float(a[i, j]) for name, a in columns.items()}} for i, j in pairs]
        return data_frame(rows, "a tangent kernel")

    def plot(self) -> Figure:
        """The matrix, and beside it each entry against that of the theory, with the scatter as bars."""
        from ...report.figures.styled_figure import styled

        with styled(3.6 if self.theory is None else 7.0, 3.4) as figure:
            panels = figure.subplots(1, 1 if self.theory is None else 2, squeeze=False)[0]
            figure.colorbar(panels[0].imshow(self.matrix), ax=panels[0])
            panels[0].set_title(f"tangent kernel of {self.model}", fontsize=10)
            if self.theory is not None:
                expected = self.theory.ravel()
                bars = None if self.scatter is None else self.scatter.ravel()
                panels[1].errorbar(expected, self.matrix.ravel(), yerr=bars, fmt="o", markersize=3, linewidth=0.8)
                panels[1].axline((0, 0), slope=1, color="0.6", linewidth=0.8)
                panels[1].set_xlabel("theory, infinite width")
                panels[1].set_ylabel("model; bars: scatter of networks")
        return figure

    def _title(self) -> str:
        one, other = self.matrix.shape
        return (
            f"tangent kernel of {self.model}: {one} x {other} inputs, {self.outputs} outputs, {self.parameters} weights"
        )

    def _facts(self) -> list[Fact]:
        mean = float(self.matrix.mean())
        facts = [Fact("kernel", f"{mean:.6g} on average, {self.matrix.min():.6g} to {self.matrix.max():.6g}")]
        facts += [Fact(name, f"adds {float(part.mean()) / mean:.3g} of it") for name, part in self.shares.items()]
        if self.theory is None:
            return [*facts, Fact("no theory", self.reason)]
        facts.append(Fact("theory", f"{float(np.nanmean(self.theory)):.6g} on average, at infinite width"))
        z = self.z
        if z is None:
            return facts
        distance = (
            f"entries differ from it by {float(np.sqrt(np.nanmean(np.square(z)))):.3g} standard deviations of networks"
        )
        return [*facts, Fact("scatter", f"{distance} of this width ({self.networks} drawn)")]
