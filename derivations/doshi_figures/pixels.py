"""Measured chi_J over a plane of two parameters, beside the theory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .findings import Point
from .last_block import Chi

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

REACH = 1.0  # of the colours, in log chi_J
TICKS = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.5)
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pixels:
    """Chi_J over a plane.

    Args:
        xs: values of the horizontal parameter, of length n.
        ys: of the vertical one, of length m.
        chi: measured, shape (m, n).
        errors: standard errors.
        theory: at the same depth.
        skip: mu^2, broadcast to the shape.
    """

    xs: Array
    ys: Array
    chi: Array
    errors: Array
    theory: Array
    skip: Array | float

    @property
    def ratio(self) -> tuple[float, float]:
        """What branches add to chi_J, measured over theory, and its standard error from the scatter of the pixels.

        chi_J is mu^2, exactly, and a part of the branch, which alone is compared. It is summed over the pixels, whose
        networks are independent.
        """
        found, expected = (self.chi - self.skip).ravel(), (self.theory - self.skip).ravel()
        share = found.sum() / expected.sum()
        scatter = (found - share * expected).std(ddof=1) * np.sqrt(found.size)
        return float(share), float(scatter / expected.sum())

    def rows(self, names: tuple[str, str], shared: Point) -> list[Point]:
        """A dictionary for each pixel.

        Args:
            names: of the parameters.
            shared: goes into all of them.
        """
        return [
            {
                **shared,
                names[0]: float(self.xs[column]),
                names[1]: float(self.ys[row]),
                "chi": float(self.chi[row, column]),
                "error": float(self.errors[row, column]),
                "theory": float(self.theory[row, column]),
            }
            for row, column in np.ndindex(self.chi.shape)
        ]


def draw_pixels(axes: Axes, pixels: Pixels) -> QuadMesh:
    """Draw log chi_J: blue where gradients fall, red where they grow."""
    from matplotlib.colors import Normalize

    shade = np.log(np.maximum(pixels.chi, 1e-30))
    colours = Normalize(-REACH, REACH)
    image = axes.pcolormesh(pixels.xs, pixels.ys, shade, cmap="RdBu_r", norm=colours, shading="nearest")
    axes.set(xlim=(pixels.xs[0], pixels.xs[-1]), ylim=(pixels.ys[0], pixels.ys[-1]))
    return image


def draw_bar(figure: Figure, image: QuadMesh, panels: NDArray[np.object_]) -> None:
    """The bar of colours of all panels."""
    bar = figure.colorbar(image, ax=panels, ticks=np.log(TICKS), extend="both")
    bar.ax.set_yticklabels([f"{tick:g}" for tick in TICKS])
    bar.set_label(r"measured $\chi_J$ of the last block")


def over_plane(
    xs: Array, ys: Array, measure: Callable[[float, float, int], Chi], told: Callable[[float], None]
) -> tuple[Array, Array]:
    """Measure at each point of a plane.

    Args:
        xs: of length n.
        ys: of length m.
        measure: of x, y and the number of the point, which serves for a seed.
        told: is told which share is done.

    Returns:
        Values and standard errors, shape (m, n).
    """
    values, errors = np.empty((2, len(ys), len(xs)))
    for place, (row, column) in enumerate(np.ndindex(values.shape)):
        values[row, column], errors[row, column] = measure(float(xs[column]), float(ys[row]), place)
        told((place + 1) / values.size)
    return values, errors
