"""What fluctuates in deep networks of finite width, and how kernels respond to that of the input."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K, n_L, r
from ...results.observable import DepthObservable, Section

_DEPTH = sp.Symbol("l", integer=True, nonnegative=True)

VERTEX = DepthObservable(
    name="vertex",
    sign=("V", "V"),
    notation="V^l",
    meaning="four-point vertex n E[z_i^2 z_j^2]_c of two neurons",
    unit="K^2",
    source="PDLT (B.26), which neglects a part of the memory of neurons",
    arguments=(_DEPTH, K),
    section=Section.FINITE_WIDTH,
    values=lambda theory, depth, K, params: theory.vertex(depth, K, **params),
    simulated=lambda networks, K, kernels: networks.vertices(K, kernels),
    procedure=lambda theory: theory.vertex_recursion,
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
    procedure=lambda theory: theory.vertex_recursion,
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
    procedure=lambda theory: theory.response_recursion(),
)
BRANCH_SCALE = DepthObservable(
    name="branch_scale",
    sign=("ξ*", "xi*"),
    notation=r"\xi^\star",
    meaning="weight of the branch at which the output responds most to the kernel of the input",
    source="Fischer et al. (66), with the estimates (67) and (68)",
    arguments=(_DEPTH, K),
    procedure=lambda theory: theory.branch_scale_procedure(),
)
OPTIMAL_GAMMA = DepthObservable(
    name="optimal_gamma",
    sign=("γ*", "gamma*"),
    notation=r"\gamma^\star",
    meaning="weights of the skip connection at which an aspect ratio depth/width is optimal",
    source="PDLT (B.36)",
    arguments=(r, n_L),
    procedure=lambda theory: theory.optimal_gamma_procedure,
)
OBSERVABLES = (VERTEX, KERNEL_FLUCTUATION, RESPONSE, BRANCH_SCALE, OPTIMAL_GAMMA)
