"""The optimal branch scale of many layers.

With branches of weight ``xi = c L^(-1/p)`` the kernel flows by ``dK/dtau = B(K)`` for tau from 0 to ``xi^p L = c^p``.
The response of the last kernel is ``dK_1/dK_0 = B(K_1)/B(K_0)``, that of the output ``G'(K_1) B(K_1)/B(K_0)`` with the
map G of the readout. It is largest where ``(G' B)' = 0`` at K_1, wherever the flow began, and ``c^p`` is the time that
the flow takes from K_0 to K_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...functions.floats.float_averages import CompiledExpressions
from ...functions.floats.float_function import Values
from ...numerics.deferred_numpy import np
from ...numerics.highest import Function, _highest_maximum, _instead_of_maximum, _surveyed
from ...results.annotated_numbers import DeepBranchScale
from ...results.quantity import Quantity, Status
from ..criticality.conditions.critical_conditions import expression_of
from ..quantities.build import build
from .layer_slopes import largest_kernel
from .scan import number_or_end, root, rows_of

_REACH = 1e6, 1e3  # final kernels that are tried first: in units of the input's; and those where activations bend
_STEPS = 6  # in each decade
_NEAR = 0.01  # of the last step to a kernel at which the flow ends, that is left out
_CONVERGED = 1e-9  # relative error of an integral, from which on it is no number
_ASKED = "the optimal branch scale of many layers"


def deep_branch_scale(
    rate: Quantity, readout_slope: Quantity, power: int, kernel: float, values: Values
) -> DeepBranchScale:
    """The limit for one input.

    Args:
        rate: B(K).
        readout_slope: G'(K), of the kernel map of the last layer.
        power: p.
        kernel: of the input.
        values: of all parameters.

    Raises:
        NoClosedForm: a map is unknown, or no kernel between the first and the last makes the response largest.
    """
    if Status.UNKNOWN in (rate.status, readout_slope.status):
        raise NoClosedForm(_ASKED, "a map of the layer is unknown", "take other layers")
    rate_expr = expression_of(rate)
    product = expression_of(readout_slope) * rate_expr
    condition = product.diff(K)
    largest = largest_kernel([condition])
    if kernel >= largest:
        lost = f"averages by quadrature lose all digits above K = {largest:g}"
        raise NoClosedForm(_ASKED, lost, "take a smaller kernel")
    compiled = CompiledExpressions([condition, product, rate_expr])

    def flow(place: float) -> float:
        return float(compiled({**values, K: place})[2])

    start = flow(kernel)
    if start == 0:
        raise NoClosedForm(_ASKED, f"layers do not change the kernel {kernel:g}", "take another kernel")

    @rows_of
    def rows_at(place: float) -> tuple[float, float]:
        """The logarithm of the response of the output for a final kernel, and its slope in that of the kernel."""
        bend, size, _ = compiled({**values, K: place})
        return float(np.log(abs(size / start))), float(place * bend / size) if place <= largest else float("nan")

    end = kernel / _REACH[0] if start < 0 else min(max(_REACH[0] * kernel, _REACH[1]), largest)
    places = _between(kernel, end)
    stop = _fixed_kernel(number_or_end(flow), places)
    if stop is not None:
        places = _between(kernel, stop)
        places[-1] += _NEAR * (places[-2] - stop)
    upwards = start > 0
    rows, rough = _surveyed(rows_at, sorted(places), not upwards and stop is None, upwards and stop is None)
    top = _highest_maximum(rows_at, rows, root)
    if found := _instead_of_maximum(rows, rough, top, "the final K", "without branches"):
        raise NoClosedForm(_ASKED, found, "choose one")
    assert top is not None
    final = top[0]
    time = _time(flow, kernel, final)
    shown = build("condition", (K,), condition, meaning="slope of the response of the output in the final kernel")
    response = float(compiled({**values, K: final})[1] / start)
    return DeepBranchScale(shown, final, response, float(time ** (1 / power)), power)


def _between(kernel: float, end: float) -> list[float]:
    """Kernels on the way from one to another."""
    return np.geomspace(kernel, end, int(_STEPS * abs(np.log10(end / kernel))) + 3).tolist()


def _fixed_kernel(flow: Function, places: Sequence[float]) -> float | None:
    """The kernel at which the flow ends; None if it passes all of these."""
    for before, after in pairwise(places):
        if flow(before) * flow(after) <= 0:
            return root(flow, *sorted((before, after)))
    return None


def _time(flow: Function, kernel: float, final: float) -> float:
    """How long the flow takes from one kernel to another.

    Raises:
        NoClosedForm: it is not positive on the way, or the integral does not converge.
    """
    from scipy.integrate import quad  # here, because it takes longer to import than the rest of symres

    logarithm = np.log(final / kernel)
    time, error = quad(
        lambda u: kernel * np.exp(u) / flow(kernel * np.exp(u)), 0.0, logarithm, epsabs=0, epsrel=1e-13, limit=200
    )[:2]
    if not (time > 0 and error <= _CONVERGED * time):
        found = f"the time of the flow from K = {kernel:g} to {final:g} does not converge"
        raise NoClosedForm(_ASKED, found, "ask for branch_scale at a finite depth")
    return float(time)
