"""The public names of a theory, by purpose: what completes in a terminal, and the sections of its reference.

Parameters of layers are passed by name: the error of a call that passes them by position shows the call to write.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, TypeVar

from ..core.errors import DeclarationError

OTHER_WORDS = MappingProxyType({"K_star": "at_fixed_point().K", "ntk": "ntk_map"})  # what users also ask for
_BY_PURPOSE = {
    "declaration": "layer positions has_positions parameter_names has_covariance subs",
    "maps": (
        "phi_squared kernel_map covariance_map chi_parallel chi_perp h chi_delta covariance_slope memory "
        "shared_memory ntk_map tangent_kernel_map tangent_kernel_of parameter_norm quantities all_quantities quantity"
    ),
    "criticality": (
        "critical_points universality_class exponents exponents_of remarks critical_line critical_line_expr "
        "critical_line_weights critical_line_parametric critical_line_averages critical_curve fixed_points "
        "at_fixed_point near_criticality phase correlation_fixed_points depth_scales correlation_length"
    ),
    "depth": (
        "network kernels similarity similarity_fixed_points rates entropy apjn perpendicular_modes parallel_modes "
        "dual_kernels displacement jacobian jacobian_expr in_depth depth_limit"
    ),
    "finite width": (
        "vertex kernel_fluctuation fluctuations covariance nu nu_log vertex_limit growth_curve aspect_ratio "
        "aspect_ratio_curve optimal_gamma"
    ),
    "response to the input": (
        "response response_decay branch_scale branch_scale_limit branch_scale_for branch_scale_estimate "
        "maximum_entropy_kernel"
    ),
    "practice": "advice page summary report",
    "export": (
        "fixed_point_procedure vertex_recursion response_recursion branch_scale_procedure optimal_gamma_procedure"
    ),
}
THEORY_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {purpose: tuple(names.split()) for purpose, names in _BY_PURPOSE.items()}
)


Subject = TypeVar("Subject", bound=type)


def parameters_by_name(cls: Subject) -> Subject:
    """Let every public method with ``**params`` refuse surplus positional arguments with the call to write.

    Instances of the class have the names of the parameters as ``parameter_names``, and say in ``has_covariance``
    whether an optional argument C, the covariance of two places of one input, has a meaning.
    """
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        kinds = {p.kind for p in inspect.signature(method).parameters.values()}
        if not name.startswith("_") and inspect.Parameter.VAR_KEYWORD in kinds:
            setattr(cls, name, _refusing(method))
    return cls


def _refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that refuses more positional arguments than it has, with the call to write."""
    taken = inspect.signature(method).parameters.values()
    positional = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
    needed = [p.name for p in positional if p.default is p.empty]

    @wraps(method)
    def call(self: Any, /, *arguments: Any, **values: Any) -> Any:
        meant = [p for p in positional if p.name in needed or p.name != "C" or self.has_covariance]
        if len(arguments) <= len(meant):
            return method(self, *arguments, **values)
        asked = f"{method.__name__}({', '.join(map(str, arguments))})"
        names = [name for name in self.parameter_names if name not in (*needed, *values)]
        numbers = arguments[len(needed) :]  # what stands behind the arguments that have a place
        shown = dict(zip(names, map(str, numbers), strict=False)) if len(numbers) == len(names) else {}
        first = map(str, arguments[: len(needed)])
        named = (f"{name}={shown.get(name, '...')}" for name in names)
        kept = (f"{name}={value}" for name, value in values.items())
        remedy = f"write {method.__name__}({', '.join([*first, *named, *kept])})"
        raise DeclarationError(f"{asked:.80}", "parameters of the layer are passed by name", remedy)

    return call
