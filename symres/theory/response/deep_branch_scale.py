"""The optimal branch scale of many layers.

With branches of weight ``xi = c L^(-1/p)`` the kernel flows by ``dK/dtau = B(K)`` for tau from 0 to ``xi^p L = c^p``.
The response of the last kernel is ``dK_1/dK_0 = B(K_1)/B(K_0)``, that of the output ``G'(K_1) B(K_1)/B(K_0)`` with the
map G of the readout. It is largest where ``(G' B)' = 0`` at K_1, wherever the flow began, and ``c^p`` is the time that
the flow takes from K_0 to K_1.
"""

from __future__ import annotations

import numpy as np

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...results.numbers.branch_limit import DeepBranchScale
from ...results.quantity import Quantity, Status
from ..finite_width.float_averages import CompiledExpressions, FunctionLibrary
from ..finite_width.float_quadrature import Values
from ..quantities.build import build
from .layer_slopes import largest_kernel
from .scan import maxima, number_or_end, root

_REACH = 1e6, 1e3  # final kernels that are tried first: in units of the input's; and those where activations bend
_STEPS = 20  # in each decade
_MOST = 1000  # steps


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
        NoClosedForm: a map is unknown, or the response has no interior maximum.
    """
    if Status.UNKNOWN in (rate.status, readout_slope.status):
        raise NoClosedForm("the optimal branch scale", "a map of the layer is unknown", "ask for other layers")
    rate_expr, slope_expr = rate.expr, readout_slope.expr
    assert rate_expr is not None
    assert slope_expr is not None
    product = slope_expr * rate_expr
    condition = product.diff(K)
    largest = largest_kernel([condition])
    if kernel >= largest:
        lost = f"averages by quadrature lose their digits from K = {largest:g} on"
        raise NoClosedForm("the optimal branch scale", lost, "take a smaller kernel")
    compiled = CompiledExpressions([condition, product, 1 / rate_expr], FunctionLibrary())

    @number_or_end
    def slope(place: float) -> float:
        """Of the logarithm of the response in that of the final kernel."""
        numbers = compiled({**values, K: place})
        return float(place * numbers[0] / numbers[1]) if place <= largest else float("nan")

    end = min(max(_REACH[0] * kernel, _REACH[1]), largest)
    places = np.geomspace(kernel, end, min(int(_STEPS * np.log10(end / kernel)) + 2, _MOST)).tolist()
    found = maxima(slope, places, down=False)
    if not found.tops:
        asked = "the optimal branch scale of many layers"
        raise NoClosedForm(asked, found.instead("the final K", "without branches"), "choose one")
    from scipy.integrate import quad  # here, because it takes longer to import than the rest of symres

    final = root(slope, *found.tops[0])
    logarithm = np.log(final / kernel)
    time = quad(
        lambda u: float(compiled({**values, K: kernel * np.exp(u)})[2]) * kernel * np.exp(u),
        0.0,
        logarithm,
        epsabs=0,
        epsrel=1e-13,
        limit=200,
    )[0]
    shown = build("condition", (K,), condition, meaning="slope of the response of the output in the final kernel")
    return DeepBranchScale(shown, final, float(time ** (1 / power)), power)
