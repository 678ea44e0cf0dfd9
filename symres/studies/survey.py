"""One study of many subjects, in this process or spread over others.

    with ProcessPoolExecutor() as pool:
        for report in sr.survey(sr.derivation, [sr.mlp("silu"), sr.residual("mish")], pool):
            print(report.universality_class)

Derivations, checks and the surveys of the command line are studies; so is any function of one subject that can be
sent to the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import TypeVar

from ..activations.activation import Activation
from ..activations.catalogue import Declared, activation
from ..check import CheckReport, check
from ..core.errors import DeclarationError
from ..layers.layer import Layer
from ..results.report import Report
from ..theory.theory import Theory, derive
from . import averages_survey, criticality_survey

Subject = TypeVar("Subject")
Found = TypeVar("Found")


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
    # several studies would write their bars over each other
    return check(derive(layer), against="quadrature", progress=False)


def averages(what: Declared | Layer | Theory) -> list[averages_survey.Known]:
    """The Gaussian averages that one asks for of an activation, or of the only one in a layer.

    Raises:
        DeclarationError: it is not an activation; a layer of several.

    Examples:
        >>> {known.key: known.quantity.expr for known in sr.averages("sin")}["f f"]
        exp(-K1/2 - K2/2)*sinh(C)
    """
    if not isinstance(what, Layer | Theory):
        return list(averages_survey.averages_of(activation(what)))
    formulas = derive(what).layer.formulas
    if len(formulas) != 1:
        found, remedy = f"it has {len(formulas)} activations", 'name one of them: sr.averages("gelu")'
        raise DeclarationError("the averages of a layer", found, remedy)
    return averages(Activation(formulas[0].name, formulas[0].expr, formulas[0].parameters))


def criticality(what: Declared | Layer | Theory) -> list[criticality_survey.Surveyed]:
    """Where deep networks of an activation are critical, in every layer of the survey, or in the one that is passed.

    Examples:
        >>> (found,) = sr.criticality(sr.mlp("where(z > 0, 3*z, 0)"))
        >>> found.universality_class, found.critical_points[0].C_W
        ('scale-invariant', 2/9)
    """
    if not isinstance(what, Layer | Theory):
        return list(criticality_survey.survey(activation(what)))
    theory = derive(what)
    activations = ", ".join(formula.name for formula in theory.layer.formulas)
    return [criticality_survey.surveyed(activations, theory.layer.name, theory)]
