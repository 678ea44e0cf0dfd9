"""``export``: a quantity, or all of a theory, as a module of a programming language or as LaTeX.

Functions have prefixes in languages with one space of names for all modules.
"""

from __future__ import annotations

from typing import Any

from ..activations.activation import Activation, Formula, file_stem, identifier
from ..codegen import targets
from ..codegen.generate import checked_prefix, generate, head_of, quantities_of
from ..codegen.module import LATEX, Module
from ..core.errors import DeclarationError
from ..core.progress import Progress, reported
from ..layers.equation_parser import is_equation
from ..layers.layer import Layer
from ..results.observable import Procedure
from ..results.quantity import Quantity
from ..results.subjects import DerivedLayer, DerivedNetwork
from ..theory.theory import derive
from .latex.depth_documents import procedure_document, recursion
from .latex.document import equations

_PLAIN = "mlp"  # the layer of an activation alone


def export_targets() -> tuple[str, ...]:
    """The names of all targets of ``export``."""
    return (*targets.names(), LATEX)


def require_target(name: str, asked: str) -> None:
    """Make sure that there is a target of some name.

    Raises:
        DeclarationError: there is none.
    """
    if name not in export_targets():
        raise DeclarationError(asked, "unknown target", f"use one of {', '.join(export_targets())}")


def export(
    subject: Any,
    target: str = "numpy",
    *,
    title: str = "",
    command: str = "",
    prefix: str | None = None,
    progress: bool | Progress = True,
) -> Module:
    """Generate code or LaTeX.

    Args:
        subject: a Quantity, a mapping name -> Quantity, or an object with such a mapping as ``.quantities``
            (a Theory); what ``derive`` takes, a layer, an activation or text, means its theory. The names are those of
            the functions. Of several quantities those without code are named in ``missing`` and in the module's
            docstring. A Network becomes one function of all its layers, dual_kernel.
            A Procedure, a recursion in depth or a search, becomes a function beside those of the layer that it is
            made of: ``theory.vertex_recursion``, ``theory.response_recursion()``,
            ``theory.branch_scale_procedure()``, ``theory.aspect_ratio_curve(n_L).inverse``.
        target: "numpy", "torch", "latex", or another of ``export_targets()``.
        title: first line of the generated text; made from the subject if empty.
        command: the command that generates the text again, for its head.
        prefix: what the names of functions in C begin with, so that modules live together in one program:
            ``prefix="gelu"`` makes gelu_kernel_map. None stands for the names of the activations and of the layer
            where it is no mlp, and for nothing where a mapping names the functions; ``load()`` leaves it away.
        progress: whether a bar is shown on a terminal, or a function of the quantity and the share that is done.

    Raises:
        DeclarationError: an unknown target, a name that no function can have, or a prefix for a target whose
            functions have their module before their names.
        NoClosedForm: what was asked for is unknown, or no accurate code was found for it.

    Examples:
        >>> module = sr.export("relu").load()
        >>> float(module.covariance_map(1.0, 1.0, 0.0, C_W=2.0, C_b=0.0))  # 1/pi
        0.3183098861837907
        >>> text = sr.export({"mean": sr.expect("z^8")}, target="latex").text
        >>> r"105 K^{4}" in text
        True
    """
    require_target(target, f"export to {target!r}")
    require_prefix(prefix or "", target)
    if isinstance(subject, str | Activation | Layer):
        subject = derive(subject)
    prefix = default_prefix(subject, target) if prefix is None else prefix
    if target != LATEX:
        with reported(progress, f"export to {target}") as report:
            return generate(subject, target, title=title, command=command, prefix=prefix, report=report)
    title, command = head_of(subject, f'target="{LATEX}"', title, command)
    if isinstance(subject, DerivedNetwork):
        return Module("network", LATEX, recursion(subject, title, command), functions=("network",))
    if isinstance(subject, Procedure):
        return Module(subject.name, LATEX, procedure_document(subject, title, command), functions=(subject.name,))
    quantities = quantities_of(subject)
    name = next(iter(quantities)) if len(quantities) == 1 else "theory"
    return Module(name, LATEX, equations(tuple(quantities.values()), title, command), functions=tuple(quantities))


def default_prefix(subject: Any, target: str) -> str:
    """The activations of a subject and its layers, for a target with global names; else, and for a mapping, nothing.

    Returns:
        an identifier, such as ``gelu``, ``gelu_residual``, or ``formula_`` and a digest for a long formula.
    """
    if target == LATEX or not targets.find(target).has_global_names:
        return ""
    return "_".join(dict.fromkeys(_parts(subject)))


def require_prefix(prefix: str, target: str) -> None:
    """Make sure that names of functions can begin so, or that nothing is asked for.

    Raises:
        DeclarationError: they cannot, or need not: only some targets have global names.
    """
    if target != LATEX:
        checked_prefix(prefix, targets.find(target))
    elif prefix:
        raise DeclarationError(f"the prefix {prefix!r}", "LaTeX has no names of functions", "leave it out")


def _parts(subject: Any) -> list[str]:
    match subject:
        case DerivedNetwork():
            return [part for theory in subject.layers for part in _parts(theory)]
        case DerivedLayer(layer=Layer() as layer):
            plain = "layer" if is_equation(layer.name) else identifier(layer.name)
            return [*map(file_stem, layer.formulas), *([plain] if layer.name != _PLAIN else [])]
        case Procedure(functions=quantities):
            return [part for quantity in quantities for part in _parts(quantity)]
        case Quantity():
            expressions = [subject.definition, *(step.definition for step in subject.steps)]
            formulas = {formula for e in expressions for formula in e.atoms(Formula)}
            return sorted(map(file_stem, formulas))
    return []
