"""The public names of a theory, by purpose: what completes in a terminal, and the sections of its reference."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

OTHER_WORDS = MappingProxyType({"K_star": "critical_points[0].K", "ntk": "ntk_map"})  # what users also ask for
THEORY_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "declaration": ("layer", "parameter_names", "is_batch", "subs"),
        "maps": (
            "phi_squared",
            "kernel_map",
            "covariance_map",
            "chi_parallel",
            "chi_perp",
            "h",
            "chi_delta",
            "covariance_slope",
            "memory",
            "shared_memory",
            "ntk_map",
            "tangent_kernel_map",
            "parameter_norm",
            "quantities",
            "all_quantities",
            "quantity",
        ),
        "criticality": (
            "critical_points",
            "universality_class",
            "exponents",
            "remarks",
            "critical_line",
            "critical_line_expr",
            "critical_line_weights",
            "critical_line_parametric",
            "critical_line_averages",
            "critical_curve",
            "fixed_points",
            "phase",
            "correlation_fixed_points",
            "depth_scales",
            "correlation_length",
        ),
        "depth": (
            "network",
            "kernels",
            "dual_kernels",
            "displacement",
            "jacobian",
            "jacobian_expr",
            "depth_limit",
        ),
        "finite width": (
            "vertex",
            "kernel_fluctuation",
            "fluctuations",
            "covariance",
            "nu",
            "nu_log",
            "vertex_limit",
            "growth_curve",
            "aspect_ratio",
            "aspect_ratio_curve",
            "optimal_gamma",
        ),
        "response to the input": (
            "response",
            "response_decay",
            "branch_scale",
            "branch_scale_limit",
            "branch_scale_for",
            "branch_scale_estimate",
            "maximum_entropy_kernel",
        ),
        "practice": ("advice", "page", "summary", "report"),
        "export": (
            "vertex_recursion",
            "response_recursion",
            "branch_scale_procedure",
            "optimal_gamma_procedure",
        ),
    }
)
