"""The scale of the branch at which outputs respond most to the kernel of the inputs, at a depth and for many layers.

With branches of weight ``xi = c L^(-1/p)`` the kernel of many layers flows by ``dK/dtau = B(K)`` for tau from 0 to
``xi^p L = c^p``. The response of the last kernel is ``dK_1/dK_0 = B(K_1)/B(K_0)``, that of the output
``G'(K_1) B(K_1)/B(K_0)`` with the map G of the readout. It is largest where ``(G' B)' = 0`` at K_1, wherever the flow
began, and ``c^p`` is the time that the flow takes from K_0 to K_1.

Zeros of a function of a positive number are looked for from place to place. The scan begins at the places where
problems without large or small numbers are solved. It goes on beyond them as long as what it has seen says so, up to
where numbers end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias, TypeVar

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...functions.floats.float_averages import CompiledExpressions, Values
from ...numerics.brent import brent
from ...numerics.deferred_numpy import Array, np
from ...numerics.highest import (
    _BEYOND,
    _LARGEST_PLACE,
    _WIDER,
    Function,
    Rows,
    _highest_maximum,
    _instead_of_maximum,
    _surveyed,
)
from ...results.annotated_numbers import BranchScale, DeepBranchScale
from ...results.quantity import Quantity, Status
from ..criticality.critical_conditions import expression_of
from ..observables.layer_theory import LayerTheory
from ..quantities.build import build
from ..quantities.expansion import terms_of
from .kernel_response import ScaleSlopes, largest_kernel, maps_of

T = TypeVar("T")
Value: TypeAlias = tuple[float, float]  # a place, and the value there
SCALES = 1e-3, 30.0, 24  # that are tried first, in units of 1/sqrt(depth): the lowest, the highest, how many
_LEAST = 1e-300  # kernels below are nothing
_REACH = 1e6, 1e3  # final kernels that are tried first: in units of the input's; and those where activations bend
_STEPS = 6  # in each decade
_NEAR = 0.01  # of the last step to a kernel at which the flow ends, that is left out
_CONVERGED = 1e-9  # relative error of an integral, from which on it is no number
_ASKED = "the optimal branch scale of many layers"


def scanned(function: Function, start: Sequence[float]) -> list[Value]:
    """Places and values; where the sign is the same at all places of the start, also further and further out.

    There the scan ends where the sign is another one, or numbers end.

    Raises:
        NoClosedForm: numbers end everywhere.
    """
    rows = [(place, value) for place in start if np.isfinite(value := function(place))]
    if not rows:
        found = f"it is not finite between {start[0]:.3g} and {start[-1]:.3g}"
        raise NoClosedForm("the response", found, "take smaller kernels, or fewer layers")
    if crossings(rows):
        return rows
    for (first, value), factor in ((rows[0], 1 / _WIDER), (rows[-1], _WIDER)):
        place, sign = first, value > 0
        while first / _BEYOND <= place * factor <= _LARGEST_PLACE and (value > 0) == sign:
            place *= factor
            value = function(place)
            if not np.isfinite(value):
                break
            rows.append((place, value))
    return sorted(rows)


def crossings(rows: Sequence[Value]) -> list[tuple[float, float]]:
    """Neighbours whose values have different signs."""
    return [(low, high) for (low, left), (high, right) in pairwise(rows) if (left > 0) != (right > 0)]


def root(function: Function, low: float, high: float) -> float:
    """The zero between two places where a function has different signs."""
    return brent(function, low, high, xtol=1e-15 * low, rtol=1e-14)


def or_ended(function: Callable[[float], T], ended: T) -> Callable[[float], T]:
    """The same function, with another value where numbers end."""

    def value(place: float) -> T:
        try:
            with np.errstate(all="ignore"):
                return function(place)
        except (NoClosedForm, OverflowError, ZeroDivisionError):
            return ended

    return value


def rows_of(function: Callable[[float], tuple[float, float]]) -> Rows:
    """The rows of a function that returns a logarithm and its slope, nan where numbers end."""
    both = or_ended(function, (math.nan, math.nan))
    return lambda places: [(place, *both(place)) for place in places]


def largest_response(
    layer: LayerTheory, readout: LayerTheory, depth: int, kernels: Array, values: Values, scale: sp.Symbol
) -> BranchScale:
    """The scale at which outputs of so many layers and a readout respond most to the kernels K, or K11, K12, K22.

    ``values`` are those of all parameters but the scale, which weighs the branch.

    Raises:
        NoClosedForm: no scale between 0 and infinity makes the response largest.
    """
    inputs = 1 if len(kernels) == 1 else 2
    repeated, last = (ScaleSlopes(theory, inputs, scale) for theory in (layer, readout))

    def response_at(place: float) -> tuple[float, float, float]:
        """``log |chi_out|``, its derivative in the scale, and the sign of chi_out."""
        there, state, moved = {**values, scale: place}, kernels, np.zeros(len(kernels))
        total, rate, sign = 0.0, 0.0, 1.0
        for slopes in (*(repeated,) * depth, last):
            state, moved, steep, slope = slopes.at(state, moved, there)
            total, rate, sign = total + np.log(abs(steep)), rate + slope, sign * np.sign(steep)
        return float(total), rate, sign

    scales = (np.geomspace(*SCALES) / np.sqrt(depth)).tolist()
    with np.errstate(all="ignore"):
        response_at(scales[0])  # what is refused at every scale says so here

    @rows_of
    def rows_at(place: float) -> tuple[float, float]:
        size, rate, _ = response_at(place)
        return size, place * rate

    rows, rough = _surveyed(rows_at, scales)
    top = _highest_maximum(rows_at, rows, root)
    if found := _instead_of_maximum(rows, rough, top, scale.name, "without the branch"):
        raise NoClosedForm(f"the {scale} at which the output responds most", found, "choose a weight")
    assert top is not None
    size, _, sign = response_at(top[0])
    return BranchScale(top[0], float(sign * np.exp(size)), (rows[0][0], rows[-1][0]))


def scale_for(layer: LayerTheory, target: float, depth: int, kernel: float, values: Values, scale: sp.Symbol) -> float:
    """The scale for which ``depth`` layers lead from one kernel to another.

    Raises:
        NoClosedForm: none between 0 and infinity does.
    """
    step = CompiledExpressions(maps_of(layer, 1))

    def reached(size: float) -> float:
        found = kernel
        for _ in range(depth):
            found = float(step({**values, scale: size, K: found})[0])
        return found

    def excess(size: float) -> float:
        """``log(reached/target)``, finite where the kernel has become 0 or infinite too."""
        return float(np.log(np.clip(reached(size), _LEAST, 1 / _LEAST) / target))

    scales = (np.geomspace(*SCALES) / np.sqrt(depth)).tolist()
    with np.errstate(all="ignore"):
        reached(scales[0])  # what is refused at every scale says so here
    rows = scanned(or_ended(excess, math.nan), scales)
    if not crossings(rows):
        asked = f"{scale} for which {depth} layers lead from K = {kernel:g} to {target:g}"
        span = f"between {scale.name} = {rows[0][0]:.3g} and {rows[-1][0]:.3g}"
        found = f"{span} all final kernels are {'larger' if rows[0][1] > 0 else 'smaller'}"
        raise NoClosedForm(asked, found, "ask for another final kernel")
    return root(excess, *crossings(rows)[0])


def linear_estimate(rate: Quantity, power: int, start: float, target: float, depth: int, values: Values) -> float:
    """The scale that leads linear layers to a kernel: an estimate for activations within their linear range.

    With ``K' = K + xi^p (b_0 + b_1 K)``, the flow at small kernels, L layers lead from K_0 to F where
    ``xi^p b_1 = ((b_1 F + b_0)/(b_1 K_0 + b_0))^(1/L) - 1`` (Fischer et al. (67), and (68) for many layers).

    Args:
        rate: ``b_0 + b_1 K + ...``, the flow of the kernel for branches of weight 1.
        power: p.
        start: K_0.
        target: F.
        depth: L.
        values: of all other parameters.

    Raises:
        NoClosedForm: the flow is unknown or not linear at small kernels, or it does not lead to F.
    """
    if rate.status is Status.UNKNOWN:
        raise NoClosedForm("an estimate of the branch scale", f"the flow is unknown: {rate.reason}", "use branch_scale")
    terms = terms_of(rate, sp.Integer(1), large=False)
    if not set(terms) <= {sp.Integer(0), sp.Integer(1)}:
        raise NoClosedForm(
            "an estimate of the branch scale", "layers are not linear for small kernels", "use branch_scale"
        )
    b0, b1 = (float(terms.get(sp.Integer(k), sp.Integer(0)).subs(values)) for k in (0, 1))
    grown = ((b1 * target + b0) / (b1 * start + b0)) ** (1 / depth) - 1 if b1 else (target - start) / depth
    size = grown / (b1 or b0)
    if not size > 0:
        found = f"linear layers do not lead from K = {start:g} to {target:g}"
        raise NoClosedForm("an estimate of the branch scale", found, "ask for another final kernel")
    return float(size ** (1 / power))


def deep_branch_scale(
    rate: Quantity, readout_slope: Quantity, power: int, kernel: float, values: Values
) -> DeepBranchScale:
    """The limit for one input, from the flow B(K), the readout's slope G'(K) and the power p of the scale.

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
    ahead = or_ended(flow, math.nan)
    ends = next(((a, b) for a, b in pairwise(places) if ahead(a) * ahead(b) <= 0), None)
    stop = root(ahead, *sorted(ends)) if ends else None  # the kernel at which the flow ends
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
