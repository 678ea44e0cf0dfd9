"""Depths over which kernels and correlations reach their ends, over a plane of parameters."""

from __future__ import annotations

from ..core.errors import UnsupportedLayer
from ..core.symbols import C
from ..numerics.deferred_numpy import np
from ..results.quantity import Quantity
from ..theory.quantities.build import derivative
from ..theory.theory import Theory
from .phase_flow import DeepEnds, Parameters, PlaneMaps

_STEPS = 60  # of Newton's rule: at a double root, c* = 1, each leaves half of the distance
_STILL = 1e-9  # the last of them


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
        if theory.is_batch:
            found = "a layer that normalises over a batch moves the correlations of all of its inputs together"
            raise UnsupportedLayer("the depth of correlations", found, "draw xi_q")
        factors[chaotic] = _slopes(theory.covariance_map, chaotic, parameters, kernels[chaotic])
    with np.errstate(divide="ignore"):
        return (1 / np.abs(np.log(np.abs(factors)))).reshape(ends.kernel.shape)


def _slopes(covariance: Quantity, chosen: np.ndarray, parameters: Parameters, kernels: np.ndarray) -> np.ndarray:
    """f'(c*) of the correlation map f where chi_perp > 1.

    f is convex between 0 and 1 (``theory.criticality.correlation_map``), so that Newton's rule for f(c) = c climbs from
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
