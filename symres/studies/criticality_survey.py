"""Where deep networks of several activations and layers are critical."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import sympy as sp

from ..activations import catalogue
from ..activations.activation import Activation
from ..activations.atom import Formula
from ..core.errors import SymresError
from ..core.symbols import gamma
from ..layers import architectures
from ..layers.layer import Layer
from ..results.annotated_numbers import GrowthCurve
from ..results.critical_point import CriticalPoint, Exponents
from ..results.phases import Phase
from ..theory.theory import Theory, derive

ACTIVATIONS = ("relu", "leaky_relu", "erf", "gelu", "tanh", "sin", "silu", "softplus", "elu", "selu")
_NUMBERS: Mapping[str, Mapping[str, str | int]] = {
    "leaky_relu": {"slope": "0.01"},
    "elu": {"alpha": 1},
}  # parameters of activations
LAYERS: Mapping[str, Callable[[Activation], Layer]] = {
    "mlp": architectures.mlp,
    "residual": architectures.residual,
    "pre_ln": architectures.pre_ln,
    "ln_act": architectures.ln_act,
    "pre_ln, skip": lambda phi: architectures.pre_ln(phi, gamma),
}
_SETTING = {"C_W": sp.Rational(13, 10), "C_b": sp.Rational(1, 10), "gamma": sp.Rational(1, 2)}  # off the critical line


@dataclass(frozen=True)
class Surveyed:
    """The criticality of one activation in one layer.

    Args:
        activation: its name.
        layer: the name of the layer.
        formulas: the activations in the layer.
        universality_class: of it.
        critical_points: of it.
        line: C_b on the critical line; None where it is not explicit.
        line_weights: the weight variances between which the line has kernels; None if that is all or unknown.
        line_averages: (C_W, C_b) on the line along the kernel, in averages; None where there is no such form.
        exponents: of kernel and Jacobian, or why there are none.
        phase: of deep networks at the setting of the survey; None if unknown.
        no_phase: then why.
        growth: of the four-point vertex at the critical point; None without one.
    """

    activation: str
    layer: str
    formulas: tuple[Formula, ...]
    universality_class: str
    critical_points: tuple[CriticalPoint, ...]
    line: sp.Expr | None
    line_weights: tuple[sp.Expr, sp.Expr] | None
    line_averages: tuple[sp.Expr, sp.Expr] | None
    exponents: Exponents
    phase: Phase | None
    no_phase: str = ""
    growth: GrowthCurve | None = None


def named_activation(name: str) -> Activation:
    """An activation with numbers for its parameters."""
    return catalogue.activation(name, **_NUMBERS.get(name, {}))


def survey(phi: Activation) -> Iterator[Surveyed]:
    """An activation in every layer of the survey."""
    for name, build in LAYERS.items():
        yield surveyed(phi.name, name, derive(build(phi)))


def surveyed(activation: str, layer: str, theory: Theory) -> Surveyed:
    """The criticality of one theory."""
    phase, why = None, ""
    try:
        known = {s.name: _SETTING[s.name] for s in theory.layer.parameters if s.name in _SETTING}
        phase = theory.phase(K=1, **known)
    except SymresError as error:
        why = error.found
    return Surveyed(
        activation,
        layer,
        theory.layer.formulas,
        theory.universality_class,
        theory.critical_points,
        theory.critical_line_expr,
        theory.critical_line_weights,
        theory.critical_line_averages,
        theory.exponents,
        phase,
        why,
        theory.growth_curve,
    )
