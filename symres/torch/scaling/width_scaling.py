"""How activations and the best learning rate depend on the width: exponents, a verdict, a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from ...core.display import Fact, Shown
from ...report.figures.style import number_axis
from ...results.annotated_numbers import DataFrame, EstimatedNumber, data_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OUTPUT = "output"  # the place of what the model returns

# between an exponent of 0 and one of 1/2 in size: these two are what the parametrisations differ by
_CHANGING = 0.25
_RANGE = 10.0  # the least of a vertical axis: noise does not look like a trend in it
_PANELS = 4  # of places in a figure, the last one being the output: more would be too small to read


class ScalingVerdict(StrEnum):
    """What training does to wide networks with one learning rate for all widths."""

    GROWING = "standard"
    LAZY = "NTK"
    STABLE = "mup"
    VANISHING = "vanishing"


_MEANINGS = {
    ScalingVerdict.GROWING: "a step changes wide networks more than narrow ones, and the best learning rate falls "
    "with the width, as in the standard parametrisation",
    ScalingVerdict.LAZY: "outputs change alike at all widths, and hidden activations less in wider networks, "
    "as in the NTK parametrisation: wide networks are lazy",
    ScalingVerdict.STABLE: "activations and outputs change alike at all widths, as in the maximal update "
    "parametrisation (mup): learning rates of narrow networks are those of wide ones",
    ScalingVerdict.VANISHING: "a step changes the output of wide networks less than that of narrow ones: they would "
    "learn nothing at infinite width",
}


@dataclass(frozen=True, eq=False, repr=False)
class WidthScaling(Shown):
    """Networks of several widths in their first steps.

    Args:
        widths: ascending.
        places: modules at whose outputs activations were looked at; the last one is the output of the model.
        inside: those of the places that have more entries in wider networks.
        rates: learning rates that were tried, ascending.
        rate: at which sizes and changes were watched.
        best_rates: of each width.
        losses: after the last step, shape (widths, networks, rates); infinite where training failed.
        sizes: root mean squares of activations, shape (widths, networks, places, steps + 1).
        changes: root mean squares of how they differ from those of step 0, in the same shape.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> def build(width):
        ...     return Sequential(Linear(8, width), ReLU(), Linear(width, 1))
        >>> rates = [2.0**-power for power in (10, 8, 6, 4)]
        >>> found = st.coordinate_check(build, widths=(64, 128, 256), steps=2, rates=rates, seeds=2, progress=False)
        >>> found.widths, found.places, found.losses.shape
        ((64, 128, 256), ('0', '2', 'output'), (3, 2, 4))
        >>> abs(found.size_exponents["0"]) < 0.2  # PyTorch keeps the sizes of hidden neurons
        True
        >>> abs(found.change_exponents["output"] - 1) < 0.4  # Adam's steps add up over the width
        True
        >>> -2 < found.rate_exponent < 0, str(found.verdict)  # the best learning rate falls with the width
        (True, 'standard')
        >>> found.frame().shape[0], len(found.plot().axes) > 1  # 3 widths, 3 places, the start and 2 steps
        (27, True)
    """

    widths: tuple[int, ...]
    places: tuple[str, ...]
    inside: tuple[str, ...]
    rates: tuple[float, ...]
    rate: float
    best_rates: tuple[float, ...]
    losses: np.ndarray
    sizes: np.ndarray
    changes: np.ndarray

    @property
    def size_exponents(self) -> dict[str, EstimatedNumber]:
        """The powers of the width with which the sizes at step 0 grow, by place."""
        return {name: self._exponent(self.sizes[:, :, row, 0]) for row, name in enumerate(self.places)}

    @property
    def change_exponents(self) -> dict[str, EstimatedNumber]:
        """The powers of the width with which the changes of all steps together grow, by place.

        Of places inside, changes are relative to the size at the start.
        """
        begun = np.array([name in self.inside for name in self.places])
        changed = self.changes[..., -1] / np.where(begun, self.sizes[..., 0], 1.0)
        return {name: self._exponent(changed[:, :, row]) for row, name in enumerate(self.places)}

    @property
    def rate_exponent(self) -> EstimatedNumber:
        """Of the best learning rate."""
        return self._exponent(np.array(self.best_rates)[:, None])

    @property
    def verdict(self) -> ScalingVerdict:
        """Which parametrisation the networks behave like, by the exponents of what the steps have changed."""
        exponents = self.change_exponents
        output, inside = float(exponents[OUTPUT]), [float(exponents[name]) for name in self.inside]
        if max([output, *inside]) > _CHANGING:
            return ScalingVerdict.GROWING
        if output < -_CHANGING:
            return ScalingVerdict.VANISHING
        return ScalingVerdict.LAZY if min(inside, default=0.0) < -_CHANGING else ScalingVerdict.STABLE

    def _exponent(self, numbers: np.ndarray) -> EstimatedNumber:
        """The slope of logarithms over that of the width, with the error that the scatter around the line leaves.

        Args:
            numbers: shape (widths, networks).
        """
        with np.errstate(divide="ignore"):
            y = np.log(numbers)
        fit = stats.linregress(np.repeat(np.log(self.widths), numbers.shape[1]), y.ravel())
        return EstimatedNumber(float(fit.slope), float(fit.stderr))

    def frame(self) -> DataFrame:
        """A table with a row for each width, place and step.

        Returns:
            Columns width, place, step, size, change (both root mean squares, averaged over networks), best_rate.
        """
        rows = [
            {
                **{"width": width, "place": name, "step": step, "size": float(self.sizes[i, :, j, step].mean())},
                **{"change": float(self.changes[i, :, j, step].mean()), "best_rate": self.best_rates[i]},
            }
            for i, width in enumerate(self.widths)
            for j, name in enumerate(self.places)
            for step in range(self.sizes.shape[-1])
        ]
        return data_frame(rows, "a coordinate check")

    def plot(self) -> Figure:
        """Sizes at the start and their changes over the width; losses over the rate, the best rate over the width.

        Returns:
            A figure that belongs to no window, and shows itself in notebooks.
        """
        from matplotlib import colormaps

        from ...report.figures.styled_figure import styled

        chosen = np.linspace(0, len(self.inside) - 1, min(len(self.inside), _PANELS - 1)).round().astype(int)
        shown = [*(self.inside[place] for place in chosen), OUTPUT]
        both = np.concatenate([self.sizes[..., :1], self.changes[..., 1:]], axis=-1).mean(axis=1)
        losses, widths = self.losses.mean(axis=1), self.widths
        small = {"marker": "o", "markersize": 3}
        with styled(2.4 * len(shown) + 0.6, 5.2) as figure:
            above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
            panels = above.subplots(1, len(shown), squeeze=False)[0]
            for panel, place in zip(panels, shown, strict=True):
                start, *changes = both[:, self.places.index(place)].T
                panel.loglog(widths, start, color="0.5", linestyle="--", label="start", **small)
                for step, column in enumerate(changes, 1):
                    color = colormaps["viridis"](0.9 * (step - 1) / max(1, len(changes) - 1))
                    panel.loglog(widths, column, color=color, label=f"change after step {step}", **small)
                panel.set_title(place, fontsize=9)
                _over_widths(panel, widths)
            panels[0].set_ylabel("root mean square")
            panels[0].legend(frameon=False, fontsize=7)
            left, right = below.subplots(1, 2)
            for row, (width, of_width) in enumerate(zip(widths, losses, strict=True)):
                color = colormaps["plasma"](0.85 * row / (len(widths) - 1))
                is_finite = np.isfinite(of_width)
                left.loglog(np.array(self.rates)[is_finite], of_width[is_finite], color=color, label=f"width {width}")
            left.set_ylim(top=min(left.get_ylim()[1], 10 * float(np.median(losses[:, 0]))))  # failures are higher
            left.set_xlabel("learning rate")
            left.set_ylabel("loss after the last step")
            left.legend(frameon=False, fontsize=7)
            right.loglog(widths, self.best_rates, color="#D55E00", marker="o")
            _over_widths(right, widths)
            right.set_ylabel("best learning rate")
            figure.suptitle(self._title(), fontsize=9)
        return figure

    def _title(self) -> str:
        return f"coordinate check of widths {', '.join(map(str, self.widths))}: {self.verdict}"

    def _facts(self) -> list[Fact]:
        facts = [Fact("verdict", _MEANINGS[self.verdict])]
        begun, changed = self.size_exponents, self.change_exponents
        for name in self.places:
            at_start = f"grows like width^{_in_words(begun[name])} at the start, what training adds like "
            facts.append(Fact(name, f"{at_start}width^{_in_words(changed[name])}"))
        rates = ", ".join(f"{rate:.3g}" for rate in self.best_rates)
        facts.append(Fact("best learning rates", f"{rates}: like width^{_in_words(self.rate_exponent)}"))
        steps = self.sizes.shape[-1] - 1
        return [*facts, Fact("watched", f"{steps} steps at the rate {self.rate:.3g}, {self.sizes.shape[1]} networks")]


def _in_words(number: EstimatedNumber) -> str:
    return f"{float(number):.2f} +- {number.error:.2f}"


def _over_widths(panel: Axes, widths: tuple[int, ...]) -> None:
    """The widths as ticks, and a vertical range in which noise does not look like a trend."""
    panel.set_xlabel("width")
    panel.set_xticks(widths, list(map(str, widths)))
    panel.set_xticks([], minor=True)
    low, high = panel.get_ylim()
    wider = max(1.0, _RANGE / (high / low)) ** 0.5
    panel.set_ylim(low / wider, high * wider)
    number_axis(panel)
