"""Where kernels of deep networks end over a plane of parameters, and over which depths: maps as generated NumPy code.

Closed forms or fits, so that no point of the plane needs a quadrature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..codegen.generate import generate
from ..core.errors import NoClosedForm, UnsupportedLayer
from ..core.progress import Progress
from ..core.symbols import KERNELS, C
from ..numerics.deferred_numpy import np
from ..results.quantity import Quantity, Status
from ..theory.quantities.build import derivative
from ..theory.theory import Theory

Parameters: TypeAlias = "Mapping[str, np.ndarray | float]"  # by name; the arrays have one length

_SETTLED = 1e-10  # relative change of a kernel from one layer to the next: it has converged
_STEPS, _STILL = 60, 1e-9  # of Newton's rule, and the last: at a double root, c* = 1, each leaves half of the distance
_SMALL, _LARGE = 1e-12, 1e12  # kernels beyond count as 0 and as infinite


@dataclass(frozen=True)
class DeepEnds:
    """The deepest layer of networks, one entry for each point of a plane."""

    kernel: np.ndarray  # infinite where it diverges
    chi_perp: np.ndarray  # there
    settled: np.ndarray  # whether the kernel has converged, to a number, 0 or infinity

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
    """Maps of a layer, with different names, at many values of its parameters at once.

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
        """A map at the points of the plane of some indices, where the kernels are K, or K1, K2 and C."""
        needed = [s.name for s in self._maps[name].symbols if s not in KERNELS]
        values = {n: v[chosen] if isinstance(v := parameters[n], np.ndarray) else v for n in needed}
        with np.errstate(all="ignore"):
            result = getattr(self._module, name)(*kernels, **values)
        return np.broadcast_to(np.asarray(result, dtype=float), chosen.shape)

    def ends(self, parameters: Parameters, start: float, depth: int, progress: Progress | None = None) -> DeepEnds:
        """Kernels after many layers by ``kernel_map``, from that of the input on, and ``chi_perp`` there.

        Those that have converged stop.
        """
        size = max(np.size(value) for value in parameters.values())
        kernels, moving = np.full(size, start), np.arange(size)
        for layer in range(depth):
            here = kernels[moving]
            there = np.clip(self.at("kernel_map", moving, parameters, here), _SMALL, _LARGE)
            kernels[moving] = there
            moving = moving[(np.abs(there - here) > _SETTLED * here) & (there < _LARGE)]
            if progress is not None:
                progress("deep networks", max(layer / depth, 1 - len(moving) / size))
            if not len(moving):
                break
        chi, settled = self.at("chi_perp", np.arange(size), parameters, kernels), np.ones(size, dtype=bool)
        settled[moving] = False
        return DeepEnds(np.where(kernels >= _LARGE, np.inf, kernels), chi, settled)


def depths(theory: Theory, which: str, ends: DeepEnds, parameters: Parameters) -> np.ndarray:
    """The depth scales xi_q or xi_c of Schoenholz et al. (arXiv:1611.01232) at the points of a plane.

    Args:
        theory: of the layer.
        which: "xi_q", of the kernel, or "xi_c", of the correlation of two inputs.
        ends: of deep networks, as rows and columns.
        parameters: of the layer, of as many entries as the plane has points.

    Returns:
        Layers, in the shape of the plane: infinite where networks are critical, nan where the kernel ends at 0,
        diverges or has not converged.

    Raises:
        NoClosedForm: a map is unknown, or no accurate code was found for it.
        UnsupportedLayer: xi_c of a layer that normalises over a batch, which moves all correlations together.
    """
    kernels, chi = ends.kernel.ravel(), ends.chi_perp.ravel()
    usable = np.flatnonzero(ends.is_positive.ravel())
    factors = np.full(kernels.shape, np.nan)
    if which == "xi_q":
        chi_parallel = theory.flow_maps[1]
        factors[usable] = PlaneMaps(chi_parallel).at(chi_parallel.name, usable, parameters, kernels[usable])
    else:
        factors[usable] = chi[usable]
        chaotic = usable[chi[usable] > 1]
        if theory.has_covariance:
            found = "a layer that normalises over a batch moves the correlations of all of its inputs together"
            raise UnsupportedLayer("the depth of correlations", found, "draw xi_q")
        factors[chaotic] = _slopes(theory.covariance_map, chaotic, parameters, kernels[chaotic])
    with np.errstate(divide="ignore"):
        return (1 / np.abs(np.log(np.abs(factors)))).reshape(ends.kernel.shape)


def _slopes(covariance: Quantity, chosen: np.ndarray, parameters: Parameters, kernels: np.ndarray) -> np.ndarray:
    """f'(c*) of the correlation map f where chi_perp > 1.

    f is convex between 0 and 1 (``theory.criticality.phase``), so that Newton's rule for f(c) = c climbs from
    c = 0 to the fixed point c* without a step beyond it.
    """
    slope = derivative(covariance, C)
    maps = PlaneMaps(covariance, slope)
    c, slopes = np.zeros(len(chosen)), np.zeros(len(chosen))
    moving = np.arange(len(chosen))
    for _ in range(_STEPS):
        points, K = chosen[moving], kernels[moving]
        pair = K, K, c[moving] * K
        slopes[moving] = maps.at(slope.name, points, parameters, *pair)
        excess = maps.at(covariance.name, points, parameters, *pair) / K - c[moving]
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(slopes[moving] < 1, excess / (1 - slopes[moving]), 0.0)  # no climb is left to rounding
        c[moving] = np.minimum(c[moving] + step, 1.0)
        moving = moving[step > _STILL]
        if not len(moving):
            break
    return slopes
