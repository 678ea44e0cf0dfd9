"""How fast fluctuations grow with depth at criticality, and how deep networks may be."""

from __future__ import annotations

from ...core.symbols import gamma, n_L
from ...results.observable import Section
from ..aspect_ratio.nu import approach, aspect_ratio, nu, vertex_limit
from .layer_observable import AtCriticality, LayerObservable

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
OBSERVABLES: tuple[LayerObservable, ...] = (NU, NU_LOG, ASPECT_RATIO, VERTEX_LIMIT)
