"""Settings tried in networks that are drawn from the forward equation itself."""

from __future__ import annotations

from ...check.simulation.partial_jacobians import depth_paths
from ...numerics.deferred_numpy import np
from ...results.advice.parts import Path, Trial, spread
from ...theory.theory import Theory
from .flow import Setting

NETWORKS = 32
_NEURONS = 2**26  # of all networks and layers, which take some seconds


def trial(theory: Theory, setting: Setting, depth: int, width: int) -> Trial:
    """Networks of a depth and a width with given numbers."""
    networks = int(np.clip(_NEURONS // (depth * width), 8, NETWORKS))
    kernels, jacobians = depth_paths(
        theory.layer, setting.values, setting.kernel, depth, width, networks, batch=theory.is_batch
    )
    ranges = tuple(max(spread(k), spread(j)) for k, j in zip(kernels, jacobians, strict=True))
    with np.errstate(all="ignore"):
        mean = Path(tuple(map(float, kernels.mean(axis=0))), tuple(map(float, jacobians.mean(axis=0))))
    return Trial(networks, mean, ranges)
