"""What fluctuates in deep networks of finite width, and how kernels respond to that of the input."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K
from ...results.observable import DepthObservable, Section

_DEPTH = sp.Symbol("l", integer=True, nonnegative=True)

VERTEX = DepthObservable(
    name="vertex",
    sign=("V", "V"),
    notation="V^l",
    meaning="four-point vertex n E[z_i^2 z_j^2]_c of two neurons",
    unit="K^2",
    source="PDLT (B.26), which leaves out a part of what neurons remember",
    arguments=(_DEPTH, K),
    section=Section.FINITE_WIDTH,
    values=lambda theory, depth, K, params: theory.vertex(depth, K, **params),
    simulated=lambda networks, K, kernels: networks.vertices(K, kernels),
)
KERNEL_FLUCTUATION = DepthObservable(
    name="kernel_fluctuation",
    sign=("P", "P"),
    notation="P^l",
    meaning="n times the variance of the conditional kernel",
    unit="K^2",
    source="Fischer et al. (131)",
    arguments=(_DEPTH, K),
    section=Section.FINITE_WIDTH,
    values=lambda theory, depth, K, params: theory.kernel_fluctuation(depth, K, **params),
    simulated=lambda networks, K, kernels: networks.kernel_fluctuations(K, kernels),
)
RESPONSE = DepthObservable(
    name="response",
    sign=("χ", "chi"),
    notation=r"\chi^l",
    meaning="response of the kernel after l layers to that of the input, dK^l/dK^0",
    source="Fischer et al. (52)",
    arguments=(_DEPTH, K),
    values=lambda theory, depth, K, params: theory.response(depth, K, readout=theory, **params).chi,
    simulated=lambda networks, K, kernels: networks.responses(K, len(kernels)),
)
OBSERVABLES = (VERTEX, KERNEL_FLUCTUATION, RESPONSE)
