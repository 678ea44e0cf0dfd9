"""How fluctuations grow with depth, and how kernels of deep networks respond to that of the input."""

from __future__ import annotations

import sympy as sp

from ...core.symbols import K, gamma, n_L, r
from ...results.observable import DepthObservable, Observable, Section
from ..aspect_ratio.nu import approach, aspect_ratio, nu, vertex_limit
from .layer_observable import AtCriticality

_DEPTH = sp.Symbol("l", integer=True, nonnegative=True)

NU = AtCriticality(
    name="nu",
    sign=("ν", "nu"),
    notation=r"\nu",
    meaning="growth of the four-point vertex over the squared kernel at criticality, per layer of deep networks",
    source="PDLT (B.29), which neglects a part of the memory of neurons, and (B.35)",
    arguments=(gamma,),
    section=Section.FINITE_WIDTH,
    by_default=False,  # its derivation may take longer than all other comparisons
    simulated=lambda networks, K, kernels: networks.vertices(K, kernels),
    derive=lambda subject: nu(subject.layer.program, subject.critical_points, subject.layer.parameters),
    example='>>> sr.derive("leaky_relu(1/2)").nu.expr  # <phi^4>/<phi^2>^2 - 1 = 6*(1 + 1/16)/(1 + 1/4)^2 - 1\n77/25',
)
NU_LOG = AtCriticality(
    name="nu_log",
    sign=("ν_log", "nu_log"),
    notation=r"\nu_{\log}",
    meaning="coefficient of log(depth) over that of the depth, in the four-point vertex over the squared kernel",
    arguments=(gamma,),
    section=Section.FINITE_WIDTH,
    derive=lambda subject: approach(subject.quantity("kernel_map"), subject.critical_points),
    example='>>> sr.derive("z*exp(-z^2)").nu_log.expr\n1/6',
)
ASPECT_RATIO = AtCriticality(
    name="aspect_ratio",
    sign=("r*", "r*"),
    notation=r"r^\star",
    meaning="optimal aspect ratio depth/width",
    source="PDLT (B.36), (A.73), for outputs after a readout without a skip connection",
    arguments=(gamma, n_L),
    section=Section.FINITE_WIDTH,
    derive=lambda subject: aspect_ratio(subject.quantity("nu")),
    example='>>> sr.derive("linear").aspect_ratio.expr  # 4/((20 + 3*n_L)*nu), with nu = 2\n2/(3*n_L + 20)',
)
VERTEX_LIMIT = AtCriticality(
    name="vertex_limit",
    sign=("V/K²", "V/K^2"),
    notation=r"V^\infty/(K^\star)^2",
    meaning="four-point vertex of infinitely deep networks that keep kernels bounded, in squared kernels",
    arguments=(gamma,),
    derive=lambda subject: vertex_limit(
        subject.layer.program,
        subject.quantity("kernel_map"),
        subject.quantity("chi_parallel"),
        subject.layer.parameters,
    ),
    example='>>> sr.derive("square", layer="pre_ln").vertex_limit.expr  # <H_4(z)^2> = 24\n24*C_W**2/(3*C_W + C_b)**2',
)
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
FIXED_POINT = DepthObservable(
    name="fixed_point",
    sign=("K*", "K*"),
    notation=r"K^\star",
    meaning="kernel in which a deep network ends",
    source="Doshi et al. (64)",
    arguments=(K,),
    procedure=lambda theory: theory.fixed_point_procedure,
)
OBSERVABLES: tuple[Observable, ...] = (
    *(NU, NU_LOG, ASPECT_RATIO, VERTEX_LIMIT),
    *(VERTEX, KERNEL_FLUCTUATION, RESPONSE, BRANCH_SCALE, OPTIMAL_GAMMA, FIXED_POINT),
)
