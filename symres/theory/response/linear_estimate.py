"""The branch scale that leads linear layers to a kernel: an estimate for activations within their linear range.

With ``K' = K + xi^p (b_0 + b_1 K)``, the flow at small kernels, L layers lead from K_0 to F where
``xi^p b_1 = ((b_1 F + b_0)/(b_1 K_0 + b_0))^(1/L) - 1`` (Fischer et al. (67), and (68) for many layers).
"""

from __future__ import annotations

import sympy as sp

from ...core.errors import NoClosedForm
from ...results.quantity import Quantity, Status
from ..finite_width.float_quadrature import Values
from ..quantities.expansion import terms_of


def linear_estimate(rate: Quantity, power: int, start: float, target: float, depth: int, values: Values) -> float:
    """The scale.

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
