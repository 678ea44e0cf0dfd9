"""Where kernels of deep networks end over a plane of parameters: the maps of a layer as generated NumPy code.

Closed forms or fits, so that no point of the plane needs a quadrature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..codegen.generate import generate
from ..core.errors import NoClosedForm
from ..core.progress import Progress
from ..core.symbols import KERNELS
from ..numerics.deferred_numpy import np
from ..results.quantity import Quantity, Status

Parameters: TypeAlias = "Mapping[str, np.ndarray | float]"  # by name; the arrays have one length

_SETTLED = 1e-10  # relative change of a kernel from one layer to the next: it has converged
_SMALL, _LARGE = 1e-12, 1e12  # kernels beyond count as 0 and as infinite


@dataclass(frozen=True)
class DeepEnds:
    """The deepest layer of networks, one entry for each point of a plane.

    Args:
        kernel: infinite where it diverges.
        chi_perp: there.
        settled: whether the kernel has converged, to a number, 0 or infinity.
    """

    kernel: np.ndarray
    chi_perp: np.ndarray
    settled: np.ndarray

    @property
    def is_positive(self) -> np.ndarray:
        """Whether the kernel has converged to a positive number."""
        return self.settled & (self.kernel > _SMALL) & np.isfinite(self.kernel)

    def reshaped(self, shape: tuple[int, int]) -> DeepEnds:
        """The same over the rows and columns of the plane."""
        return DeepEnds(self.kernel.reshape(shape), self.chi_perp.reshape(shape), self.settled.reshape(shape))


def require_maps(*maps: Quantity) -> None:
    """Raise NoClosedForm if one of the maps is unknown."""
    for q in maps:
        if q.status is Status.UNKNOWN:
            raise NoClosedForm("a phase diagram", f"{q.name} is unknown: {q.reason}", "use another layer")


class PlaneMaps:
    """Maps of a layer at many values of its parameters at once.

    Args:
        maps: what is evaluated, with different names.

    Raises:
        NoClosedForm: one of them is unknown, or no accurate code was found for it.
    """

    def __init__(self, *maps: Quantity) -> None:
        require_maps(*maps)
        self._maps = {q.name: q for q in maps}
        self._module = generate(self._maps, "numpy").load()
        if missing := [name for name in self._maps if name not in self._module.__all__]:
            raise NoClosedForm(
                "a phase diagram", f"no accurate code was found for {', '.join(missing)}", "use kernels()"
            )

    def at(self, name: str, chosen: np.ndarray, parameters: Parameters, *kernels: np.ndarray) -> np.ndarray:
        """A map at some points of the plane.

        Args:
            name: of the map.
            chosen: indices of the points.
            parameters: of the layer, at all points.
            kernels: K, or K1, K2 and C, at the chosen points.
        """
        needed = [s.name for s in self._maps[name].symbols if s not in KERNELS]
        values = {n: v[chosen] if isinstance(v := parameters[n], np.ndarray) else v for n in needed}
        with np.errstate(all="ignore"):
            result = getattr(self._module, name)(*kernels, **values)
        return np.broadcast_to(np.asarray(result, dtype=float), chosen.shape)


class PlaneFlow:
    """The flow of a kernel at many values of the parameters at once.

    Args:
        kernel_map: K' as a function of K.
        chi_perp: as a function of K.

    Raises:
        NoClosedForm: one of them is unknown, or no accurate code was found for it.
    """

    def __init__(self, kernel_map: Quantity, chi_perp: Quantity) -> None:
        self._maps = PlaneMaps(kernel_map, chi_perp)

    def ends(self, parameters: Parameters, start: float, depth: int, progress: Progress | None = None) -> DeepEnds:
        """Kernels after many layers; those that have converged stop.

        Args:
            parameters: of the layer.
            start: the kernel of the input.
            depth: number of layers.
            progress: is called with what is being done and the share that is done.
        """
        size = max(np.size(value) for value in parameters.values())
        kernels, moving = np.full(size, start), np.arange(size)
        for layer in range(depth):
            here = kernels[moving]
            there = np.clip(self._maps.at("kernel_map", moving, parameters, here), _SMALL, _LARGE)
            kernels[moving] = there
            moving = moving[(np.abs(there - here) > _SETTLED * here) & (there < _LARGE)]
            if progress is not None:
                progress("deep networks", max(layer / depth, 1 - len(moving) / size))
            if not len(moving):
                break
        chi, settled = self._maps.at("chi_perp", np.arange(size), parameters, kernels), np.ones(size, dtype=bool)
        settled[moving] = False
        return DeepEnds(np.where(kernels >= _LARGE, np.inf, kernels), chi, settled)
