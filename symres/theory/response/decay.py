"""How the response of what a layer adds falls with the depth, where it falls like a power.

With ``eta^{l+1} = (chi_parallel - rho^2) chi^l``: where the kernel grows and ``chi_parallel - 1`` falls like ``l^-p``,
so does ``eta/chi``, and chi itself converges for p > 1. Where the kernel flows to 0 like ``l^-q``, ``dK/dl = -a K^m``
with ``q = 1/(m - 1)``, its derivative in the kernel of the input is ``(K^l/K^0)^m``, which falls like ``l^-(1 + q)``.
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm
from ...results.exponents import Exponents
from ...results.numbers.response import ResponseDecay
from ...results.quantity import Quantity, Status
from ..criticality.unbounded_growth import growth


def response_decay(kernel_map: Quantity, chi: Quantity, memory: Quantity, critical: Exponents) -> ResponseDecay:
    """The power law of eta.

    Args:
        kernel_map: K'.
        chi: chi_parallel.
        memory: rho, the weight of the skip connection.
        critical: exponents of the kernel at the critical point, or of one that grows.

    Raises:
        NoClosedForm: the response falls exponentially, or no law is known.
    """
    if Status.UNKNOWN not in (kernel_map.status, chi.status) and memory.body == 1:
        found = growth(kernel_map, chi)
        if found is not None and found.excess != 0:
            speed = sp.factor_terms((1 - found.power) * found.rate)
            order = found.decay / (1 - found.power)
            ratio = sp.factor_terms(found.excess * speed**-order)
            if order >= 1:
                return ResponseDecay(order if order > 1 else order - ratio, ratio, order)
    if critical.kernel is not None and critical.kernel.is_positive:
        return ResponseDecay(1 + critical.kernel, sp.expand(1 - memory.body**2), sp.Integer(0))
    raise NoClosedForm(
        "a power law of the response",
        "away from criticality it falls or grows exponentially, by the factor chi_parallel in each layer",
        "ask for response(depth, K) or phase(...)",
    )
