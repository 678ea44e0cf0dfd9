"""One study of many subjects, in this process or spread over others.

    with ProcessPoolExecutor() as pool:
        for report in sr.survey(sr.derivation, [sr.mlp("silu"), sr.residual("mish")], pool):
            print(report.universality_class)

Derivations, checks, the Gaussian averages of an activation and where its networks are critical are studies; so is any
function of one subject that can be sent to the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import sympy as sp

from ..activations import catalogue
from ..activations.activation import Activation
from ..activations.atom import Formula
from ..activations.catalogue import Declared, activation
from ..core.errors import DeclarationError, NoClosedForm, SymresError
from ..core.symbols import K1, K2, C, K, gamma, x1, x2, z
from ..core.words import Reason
from ..gaussian.calculus.expectation import Expectation
from ..layers import architectures
from ..layers.layer import Layer
from ..results.annotated_numbers import GrowthCurve
from ..results.critical_point import CriticalPoint, Exponents
from ..results.phases import Phase
from ..results.quantity import Quantity
from ..results.report import Report
from ..theory.quantities.build import unknown
from ..theory.quantities.expectations import expect, expect2
from ..theory.theory import Theory, derive

if TYPE_CHECKING:
    from ..check import CheckReport

Subject = TypeVar("Subject")
Found = TypeVar("Found")

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
class NamedAverage:
    """One average of an activation."""

    key: str  # what is averaged, in ASCII: ``f^2``, ``f' f'``
    asked: sp.Expr  # the average, unevaluated
    quantity: Quantity  # what the engine says


@dataclass(frozen=True)
class Surveyed:
    """The criticality of one activation in one layer."""

    activation: str  # its name
    layer: str  # its name
    formulas: tuple[Formula, ...]  # the activations in the layer
    universality_class: str
    critical_points: tuple[CriticalPoint, ...]
    line: sp.Expr | None  # C_b on the critical line; None where it is not explicit
    line_weights: tuple[sp.Expr, sp.Expr] | None  # between which it has kernels; None if that is all or unknown
    line_averages: tuple[sp.Expr, sp.Expr] | None  # (C_W, C_b) along the kernel, in averages; None without such a form
    exponents: Exponents  # of kernel and Jacobian, or why there are none
    phase: Phase | None  # of deep networks at the setting of the survey; None if unknown
    no_phase: str = ""  # then why
    growth: GrowthCurve | None = None  # of the four-point vertex at the critical point; None without one


def survey(
    study: Callable[[Subject], Found], subjects: Iterable[Subject], executor: Executor | None = None
) -> Iterator[Found]:
    """What a study finds of each subject, in their order, each as soon as those before it are known.

    Args:
        study: of one subject; ``derivation``, ``quadrature_check``, ``averages``, ``criticality``, or your own.
        subjects: layers or activations.
        executor: who does the work, any of ``concurrent.futures`` or with its interface; None for this process, which
            studies a subject when its result is asked for. Studies hold Python's lock: threads do not make them faster.

    Raises:
        SymresError: that of the first subject whose study fails; those that have not begun are given up.

    Examples:
        >>> reports = sr.survey(sr.derivation, [sr.mlp("where(z > 0, z, -z/4)"), sr.mlp("step")])
        >>> [report.universality_class for report in reports]
        ['scale-invariant', 'none']
    """
    return map(study, subjects) if executor is None else executor.map(study, subjects)


def derivation(layer: Layer | Activation | Theory | str) -> Report:
    """Everything that is known of a layer, as plain data.

    Examples:
        >>> sr.derivation("square").universality_class
        'none'
    """
    return derive(layer).report()


def quadrature_check(layer: Layer | Activation | Theory | str) -> CheckReport:
    """The comparison of what is derived of a layer with quadrature.

    Examples:
        >>> print(sr.quadrature_check("linear").outcome)
        PASSED
    """
    from ..check import check  # which loads NumPy, and the other studies are done sooner

    # several studies would write their bars over each other
    return check(derive(layer), against="quadrature", progress=False)


def averages(what: Declared | Layer | Theory) -> list[NamedAverage]:
    """The Gaussian averages that one asks for of an activation, or of the only one in a layer.

    Raises:
        DeclarationError: it is not an activation; a layer of several.

    Examples:
        >>> {average.key: average.quantity.expr for average in sr.averages("sin")}["f f"]
        exp(-K1/2 - K2/2)*sinh(C)
    """
    if not isinstance(what, Layer | Theory):
        return list(averages_of(activation(what)))
    formulas = derive(what).layer.formulas
    if len(formulas) != 1:
        found, remedy = f"it has {len(formulas)} activations", 'name one of them: sr.averages("gelu")'
        raise DeclarationError("the averages of a layer", found, remedy)
    return averages(Activation(formulas[0].name, formulas[0].expr, formulas[0].parameters))


def averages_of(phi: Activation) -> Iterator[NamedAverage]:
    """<f>, <f^2>, <f'^2>, <f^4> in one input and <f f>, <f' f'>, <f^2 f^2> in two; parameters stay symbols."""
    f = phi(z)
    slope = f.diff(z)
    one = {"f": f, "f^2": f**2, "f'^2": slope**2, "f^4": f**4}
    two = {"f f": f, "f' f'": slope, "f^2 f^2": f**2}
    for key, integrand in one.items():
        asked = Expectation(integrand.subs(z, x1), K)
        yield NamedAverage(key, asked, _average_or_reason(key, (K,), partial(expect, integrand)))
    for key, integrand in two.items():
        asked = Expectation(integrand.subs(z, x1) * integrand.subs(z, x2), K1, C, K2)
        yield NamedAverage(key, asked, _average_or_reason(key, (K1, K2, C), partial(expect2, integrand, integrand)))


def _average_or_reason(key: str, arguments: tuple[sp.Symbol, ...], ask: Callable[[], Quantity]) -> Quantity:
    """An average, or that it does not exist: powers of infinite slopes."""
    try:
        return ask()
    except NoClosedForm as error:
        return unknown(key, arguments, Reason.listed([error.found, error.remedy]))


def criticality(what: Declared | Layer | Theory) -> list[Surveyed]:
    """Where deep networks of an activation are critical, in every layer of the survey, or in the one that is passed.

    Examples:
        >>> (found,) = sr.criticality(sr.mlp("where(z > 0, 3*z, 0)"))
        >>> found.universality_class, found.critical_points[0].C_W
        ('scale-invariant', 2/9)
    """
    if not isinstance(what, Layer | Theory):
        phi = activation(what)
        return [surveyed(phi.name, name, derive(build(phi))) for name, build in LAYERS.items()]
    theory = derive(what)
    activations = ", ".join(formula.name for formula in theory.layer.formulas)
    return [surveyed(activations, theory.layer.name, theory)]


def named_activation(name: str) -> Activation:
    """An activation with numbers for its parameters."""
    return catalogue.activation(name, **_NUMBERS.get(name, {}))


def surveyed(activation: str, layer: str, theory: Theory) -> Surveyed:
    """The criticality of one theory."""
    phase, why = None, ""
    try:
        numbers = {s.name: _SETTING[s.name] for s in theory.layer.parameters if s.name in _SETTING}
        phase = theory.phase(K=1, **numbers)
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
