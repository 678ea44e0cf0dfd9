"""The optimal branch scale of many layers.

With branches of weight ``xi = c L^(-1/p)`` the kernel flows by ``dK/dtau = B(K)`` for tau from 0 to ``xi^p L = c^p``.
The response of the last kernel is ``dK_1/dK_0 = B(K_1)/B(K_0)``, that of the output ``G'(K_1) B(K_1)/B(K_0)`` with the
map G of the readout. It is largest where ``(G' B)' = 0`` at K_1, wherever the flow began, and ``c^p`` is the time that
the flow takes from K_0 to K_1.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...results.numbers.branch_limit import DeepBranchScale
from ...results.quantity import Quantity, Status
from ..finite_width.float_averages import CompiledExpressions, FunctionLibrary
from ..finite_width.float_quadrature import Values
from ..quantities.build import build

_REACH = np.geomspace(1.0, 1e6, 121)  # final kernels that are tried, in units of the input's


def deep_branch_scale(rate: Quantity, readout: Quantity, power: int, kernel: float, values: Values) -> DeepBranchScale:
    """The limit for one input.

    Args:
        rate: B(K).
        readout: G(K), the kernel map of the last layer.
        power: p.
        kernel: of the input.
        values: of all parameters.

    Raises:
        NoClosedForm: a map is unknown, or the response has no interior maximum.
    """
    if Status.UNKNOWN in (rate.status, readout.status):
        raise NoClosedForm("the optimal branch scale", "a map of the layer is unknown", "ask for other layers")
    rate_expr, readout_expr = rate.expr, readout.expr
    assert rate_expr is not None
    assert readout_expr is not None
    product = readout_expr.diff(K) * rate_expr
    condition = product.diff(K)
    compiled = CompiledExpressions([condition, 1 / rate_expr], FunctionLibrary())

    def slope(place: float) -> float:
        return float(compiled({**values, K: place})[0])

    places = kernel * _REACH
    signs = [slope(float(k)) for k in places]
    end = next((k for k in range(len(places) - 1) if signs[k] > 0 >= signs[k + 1]), None)
    if end is None:
        found = "it falls along the depth: without branches it is largest" if signs[0] < 0 else "it has no maximum"
        raise NoClosedForm("the optimal branch scale", f"the response has no interior maximum: {found}", "choose one")
    final = float(brentq(slope, places[end], places[end + 1], xtol=1e-15, rtol=1e-14))
    time = quad(lambda k: float(compiled({**values, K: k})[1]), kernel, final, epsabs=0, epsrel=1e-13, limit=200)[0]
    shown = build("condition", (K,), condition, meaning="slope of the response of the output in the final kernel")
    return DeepBranchScale(shown, final, float(time ** (1 / power)), power)
