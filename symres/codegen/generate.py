"""A quantity, or all of a theory, as a module of a programming language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ..core.errors import DeclarationError, NoClosedForm, SymresError
from ..core.progress import Progress
from ..core.words import listed
from ..core.work_budget import Stage, limited
from ..results.observable import Procedure
from ..results.quantity import Quantity, Status
from ..results.subjects import DerivedLayer, DerivedNetwork
from . import targets
from .emission.emitter import LosesDigits, NoSpelling, identifier
from .module import Module
from .planning.module_plan import Extra, ModulePlan, procedure_names
from .planning.network_plan import plan_network, state_of
from .planning.plan import Function, Planner
from .planning.target import Target
from .power_sums.power_curve import curve_plan, has_power_sum
from .procedures.procedure_module import functions_of, measured
from .strategy.choose import build_component
from .wording import docstrings
from .wording.function_names import renamed, require_distinct

Subject: TypeAlias = Quantity | Mapping[str, Quantity] | DerivedLayer


def generate(
    subject: Subject | DerivedNetwork | Procedure,
    target: str = "numpy",
    *,
    title: str = "",
    command: str = "",
    prefix: str = "",
    report: Progress = lambda what, share: None,
) -> Module:
    """Generate code.

    Args:
        subject: as for ``export``.
        target: the name of a target.
        title: first line of the generated text; made from the subject if empty.
        command: the command that generates the text again, for its head.
        prefix: what the names of functions begin with in a language with one space of names.
        report: is told which quantity is being written, and the share that is done.

    Raises:
        DeclarationError: a name that no function can have, or no target has, or a prefix that names cannot have.
        NoClosedForm: what was asked for is unknown, or no accurate code was found for it.
    """
    language = targets.find(target)
    prefix = checked_prefix(prefix, language)
    arguments = f'target="{target}"' + (f', prefix="{prefix.rstrip("_")}"' if language.has_global_names else "")
    report("derivation", 0.0)  # of quantities that nobody has asked for before
    title, command = head_of(subject, arguments, title, command)
    if isinstance(subject, DerivedNetwork):
        with limited(Stage.MODULE, title):
            return _network(subject, language, title, command, prefix, report)
    if isinstance(subject, Procedure):
        with limited(Stage.MODULE, title):
            return _procedure(subject, language, title, command, prefix, report)
    with limited(Stage.MODULE, ends=False):  # a quantity whose code takes too much is missing, the others are there
        return _planned_module(quantities_of(subject), language, title, command, prefix, report)(None)


def head_of(
    subject: Subject | DerivedNetwork | Procedure, arguments: str, title: str = "", command: str = ""
) -> tuple[str, str]:
    """The first line of what is generated, and the call that generates it again.

    Args:
        subject: what is exported.
        arguments: of the call behind the subject, as text.
        title: takes the place of the first line, if not empty.
        command: takes the place of the call, if not empty.
    """
    if isinstance(subject, DerivedNetwork):
        line, call = f"Kernel and tangent kernel of a network of {len(subject.layers)} layers, two inputs.", "network"
    elif isinstance(subject, Procedure):
        line, call = subject.meaning.capitalize() + ".", subject.call
    else:
        quantities = quantities_of(subject)
        line, call = "Functions made of Gaussian averages.", "theory"
        if isinstance(subject, DerivedLayer):
            names = ", ".join(formula.name for formula in subject.layer.formulas) or "a linear function"
            line = f"Kernels and susceptibilities of {names} in the layer {subject.layer.name}."
        elif isinstance(subject, Mapping):
            call = "{" + ", ".join(f'"{name}": {name}' for name in quantities) + "}"
        else:
            (call,) = quantities
        if len(quantities) == 1:
            (quantity,) = quantities.values()
            line = (quantity.meaning or quantity.name).capitalize() + "."
    return title or line, command or f"symres.export({call}, {arguments})"


def checked_prefix(prefix: str, target: Target) -> str:
    """What the names of functions begin with, up to the underscore that ends it; empty for none.

    Raises:
        DeclarationError: names cannot begin so, or need not in the modules of the target.
    """
    if not prefix:
        return ""
    asked = f"the prefix {prefix!r}"
    if not target.has_global_names:
        problem = f"functions of the target {target.name} are called by the name of their module"
        raise DeclarationError(asked, problem, "leave it out, and give the module's file another name")
    if not re.fullmatch(r"[A-Za-z]\w*", prefix, re.ASCII) or prefix.lower().startswith("symres"):
        problem = f"names of functions in {target.title} cannot begin with it"
        raise DeclarationError(asked, problem, "use a letter, then letters, digits and underscores, but not symres")
    return f"{prefix.rstrip('_')}_"


def planner_for(target: Target) -> Planner:
    """What finds the components of a module and chooses how a target computes them, by errors on the reference."""
    return Planner(partial(build_component, target=target, reference=targets.find(targets.REFERENCE)))


def _planned_module(
    quantities: dict[str, Quantity], target: Target, title: str, command: str, prefix: str, report: Progress
) -> Callable[[Extra | None], Module]:
    """The module of some quantities, planned once; it remains to say what else stands in it."""
    name = next(iter(quantities)) if len(quantities) == 1 else "theory"
    if len(quantities) == 1 and has_power_sum(only := next(iter(quantities.values()))):
        curve = curve_plan(only, target, title, command)

        def with_curve(extra: Extra | None) -> Module:
            text = target.curve_text(replace(curve, extra=extra))
            return Module(only.name, target.name, text, functions=(*procedure_names(extra), only.name))

        return with_curve
    planner = planner_for(target)
    functions: list[Function] = []
    missing: dict[str, str] = {}
    for number, quantity in enumerate(quantities.values()):
        report(quantity.name, number / (len(quantities) + 1))
        try:
            with limited(Stage.CODE, quantity.name):
                functions.append(planned_function(planner, target, quantity))
        except SymresError as error:
            if len(quantities) == 1 and isinstance(error, DeclarationError | NoClosedForm):
                raise
            missing[quantity.name] = error.found
    if not functions:
        raise NoClosedForm(f"{target.name} code for {listed(missing)}", _reasons(missing), "export to LaTeX")
    lacking = tuple(f"{lacks}: {reason}" for lacks, reason in missing.items())
    plan = ModulePlan(title, command, tuple(functions), lacking, prefix=prefix)

    def module(extra: Extra | None) -> Module:
        report("errors of its code", len(quantities) / (len(quantities) + 1))
        with limited(Stage.CODE, title):  # errors for docstrings are measured
            text = target.module_text(replace(plan, extra=extra))
        names = tuple(f.quantity.name for f in functions)
        written = {*names, *(f"{prefix}{function}" for function in names)}
        require_distinct(f"{target.name} code for {listed(names)}", target.names_in(text), written)
        warnings = docstrings.named_warnings(functions)
        return Module(name, target.name, text, lacking, warnings, (*procedure_names(extra), *names))

    return module


def _procedure(procedure: Procedure, target: Target, title: str, command: str, prefix: str, report: Progress) -> Module:
    """The functions of a procedure, and the procedure itself with its measured error."""
    module = _planned_module(functions_of(procedure), target, title, command, prefix, report)
    unmeasured = module(Extra(procedure, "not measured"))
    if unmeasured.missing:
        missing = "; ".join(unmeasured.missing)
        raise NoClosedForm(f"{target.name} code for the {procedure.name}", missing, "export to LaTeX")
    if not target.is_runnable:
        return replace(unmeasured, name=procedure.name)
    with target.in_double_precision():
        error = measured(procedure, unmeasured)
    return replace(module(Extra(procedure, error)), name=procedure.name)


def _network(
    network: DerivedNetwork, target: Target, title: str, command: str, prefix: str, report: Progress
) -> Module:
    """A network as one function."""
    planner, done = planner_for(target), 0
    count = sum(len(group) for layer in set(network.layers) for group in state_of(layer).maps) + 1

    def planned(quantity: Quantity) -> Function:
        nonlocal done
        report(quantity.name, done / count)
        done += 1
        return planned_function(planner, target, quantity)

    plan = plan_network(network, planned, target.inlined, title, command)
    report("errors of its code", done / count)
    text = target.network_text(replace(plan, prefix=prefix))
    require_distinct(f"{target.name} code for the network", target.names_in(text))
    warnings = docstrings.network_warnings(plan)
    if not network.has_tangent_kernel:
        warnings += ("the tangent kernel of equal inputs is infinite: a slope has no mean square",)
    return Module("network", target.name, text, (), warnings, plan.functions)


def _reasons(missing: Mapping[str, str]) -> str:
    """Why quantities have no code; each reason once."""
    groups: dict[str, list[str]] = {}
    for name, reason in missing.items():
        groups.setdefault(reason, []).append(name)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{listed(names)}: {reason}" for reason, names in groups.items())


def quantities_of(subject: Subject) -> dict[str, Quantity]:
    """The quantities of a subject, by the names of their functions, which do not take covariances that must be 0."""
    quantities = subject.quantities if isinstance(subject, DerivedLayer) else subject
    if isinstance(subject, Quantity):
        quantities = {identifier(subject.name): subject}  # the slope in a symbol such as \alpha has its name
    if not isinstance(quantities, Mapping) or not quantities:
        raise DeclarationError(
            f"export of {type(subject).__name__}", "it contains no quantities", "pass a Quantity, a mapping or a Theory"
        )
    checked = renamed(quantities)
    taken = {name: tuple(s for s in q.symbols if s not in q.absent) for name, q in checked.items()}
    return {name: replace(q, symbols=taken[name]) for name, q in checked.items()}


def planned_function(planner: Planner, target: Target, quantity: Quantity) -> Function:
    """A function that can be written: of the closed form; of averages; of a closed form whose terms cancel.

    Raises:
        NoSpelling: why there is no code for the closed form.
    """
    try:
        return _writable(planner, target, quantity)
    except NoSpelling as error:
        refusal = error
    steps = tuple(replace(step, expr=step.definition) for step in quantity.steps)
    if quantity.status is Status.EXACT and (quantity.definition, steps) != (quantity.body, quantity.steps):
        integrated = replace(quantity, body=quantity.definition, steps=steps, status=Status.NUMERIC)
        with suppress(SymresError):
            return _writable(planner, target, replace(integrated, reason=f"there is one, but {refusal.found}"))
    if not isinstance(refusal, LosesDigits):
        raise refusal
    accepting = partial(planner.build, accept_cancellation=True)
    return _writable(replace(planner, build=accepting), target, quantity)


def _writable(planner: Planner, target: Target, quantity: Quantity) -> Function:
    function = planner.function(quantity)
    target.require(function)
    return function
