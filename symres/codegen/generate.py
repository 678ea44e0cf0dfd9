"""A quantity, or all of a theory, as a module of a programming language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import sympy as sp

from ..core import files
from ..core.errors import DeclarationError, NoClosedForm, SymresError
from ..core.symbols import KERNELS, place
from ..results.numbers.procedure import Procedure
from ..results.quantity import Quantity, Status
from ..results.subjects import DerivedLayer, DerivedNetwork
from .emission.emitter import LosesDigits, NoSpelling, Source, Tile, argument, identifier, variable
from .languages import LANGUAGES
from .module import Module, Target
from .network.network_module import NETWORK_FUNCTIONS, network_text
from .planning.language import Language
from .planning.plan import Component, Function, Planner
from .power_sums.curve_module import curve_module, has_power_sum
from .procedures.procedure_module import Added, added, functions_of, measured
from .runtime.quadrature_nodes import with_digest
from .strategy.choose import build_component
from .targets.numpy import dialect as numpy_printer
from .wording import docstrings
from .wording.function_names import renamed, require_distinct

Subject: TypeAlias = Quantity | Mapping[str, Quantity] | DerivedLayer


def generate(
    subject: Subject | DerivedNetwork | Procedure, target: Target = "numpy", *, title: str = "", command: str = ""
) -> Module:
    """Generate code.

    Args:
        subject: as for ``export``.
        target: "numpy" or "torch".
        title: first line of the generated text; made from the subject if empty.
        command: the command that generates the text again, for its head.

    Raises:
        DeclarationError: a name that no function can have.
        NoClosedForm: what was asked for is unknown, or no accurate code was found for it.
    """
    if isinstance(subject, DerivedNetwork):
        return _network(subject, target, title, command)
    if isinstance(subject, Procedure):
        return _procedure(subject, target, title, command)
    quantities = quantities_of(subject)
    title = title or title_of(subject, quantities)
    command = command or call_of(subject, quantities, target)
    return _planned_module(quantities, target, title, command)(Added())


def _planned_module(
    quantities: dict[str, Quantity], target: Target, title: str, command: str
) -> Callable[[Added], Module]:
    """The module of some quantities, planned once; it remains to say what else stands in it."""
    name = next(iter(quantities)) if len(quantities) == 1 else "theory"
    if len(quantities) == 1 and has_power_sum(only := next(iter(quantities.values()))):
        return partial(curve_module, only, target, title, command)
    language = LANGUAGES[target]
    planner = Planner(partial(build_component, language=language))
    functions: list[Function] = []
    sources: dict[str, Source] = {}
    missing: dict[str, str] = {}
    for quantity in quantities.values():
        try:
            functions.append(_planned(planner, language, quantity, sources))
        except SymresError as error:
            if len(quantities) == 1 and isinstance(error, DeclarationError | NoClosedForm):
                raise
            missing[quantity.name] = error.found
    if not functions:
        raise NoClosedForm(f"{target} code for {_listed(missing)}", _reasons(missing), "export to LaTeX")
    lacking = tuple(f"{lacks}: {found}" for lacks, found in missing.items())

    def module(more: Added) -> Module:
        text = _python(language, title, command, functions, sources, lacking, more)
        names = tuple(f.quantity.name for f in functions)
        require_distinct(_listed(names), text)
        warnings = tuple(f"{f.quantity.name}: {warning}" for f in functions for warning in docstrings.warnings(f))
        return Module(name, target, with_digest(text), lacking, warnings, (*more.names, *names))

    return module


def procedure_title(procedure: Procedure) -> str:
    """The first line of what is generated from a procedure."""
    return procedure.meaning.capitalize() + "."


def procedure_call(procedure: Procedure, target: str) -> str:
    """The call that generates a procedure again."""
    return f'symres.export({procedure.call}, target="{target}")'


def _procedure(procedure: Procedure, target: Target, title: str, command: str) -> Module:
    """The functions of a procedure, and the procedure itself with its measured error."""
    title, command = title or procedure_title(procedure), command or procedure_call(procedure, target)
    module = _planned_module(functions_of(procedure), target, title, command)
    unmeasured = module(added(procedure, target, "not measured"))
    if unmeasured.missing:
        raise NoClosedForm(f"{target} code for the {procedure.name}", "; ".join(unmeasured.missing), "export to LaTeX")
    found = module(added(procedure, target, measured(procedure, unmeasured)))
    return replace(found, name=procedure.name)


def network_title(network: DerivedNetwork) -> str:
    """The first line of what is generated from a network."""
    return f"Kernel and tangent kernel of a network of {len(network.layers)} layers, two inputs."


def network_call(target: str) -> str:
    """The call that generates it again."""
    return f'symres.export(network, target="{target}")'


def _network(network: DerivedNetwork, target: str, title: str, command: str) -> Module:
    """A network as one function."""
    title, command = title or network_title(network), command or network_call(target)
    language = LANGUAGES[target]
    planner = Planner(partial(build_component, language=language))
    sources: dict[str, Source] = {}
    text, warnings = network_text(
        network, language, lambda quantity: _planned(planner, language, quantity, sources), sources, (title, command)
    )
    require_distinct("the network", text)
    return Module(
        "network", "numpy" if target == "numpy" else "torch", with_digest(text), (), warnings, NETWORK_FUNCTIONS
    )


def _reasons(missing: Mapping[str, str]) -> str:
    """Why quantities have no code; each reason once."""
    groups: dict[str, list[str]] = {}
    for name, found in missing.items():
        groups.setdefault(found, []).append(name)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{_listed(names)}: {found}" for found, names in groups.items())


def _listed(names: Iterable[str]) -> str:
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last


def quantities_of(subject: Subject) -> dict[str, Quantity]:
    """The quantities of a subject, by the names of their functions."""
    if isinstance(subject, Quantity):
        return renamed({identifier(subject.name): subject})  # the slope in a symbol such as \alpha has its name
    found = subject.quantities if isinstance(subject, DerivedLayer) else subject
    if not isinstance(found, Mapping) or not found:
        raise DeclarationError(
            f"export of {type(subject).__name__}", "it holds no quantities", "pass a Quantity, a mapping or a Theory"
        )
    return renamed(found)


def _planned(planner: Planner, language: Language, quantity: Quantity, sources: dict[str, Source]) -> Function:
    """A function that can be printed: by averages where the language lacks a function of the closed form.

    The code of its components goes into ``sources``, by their names.
    """
    try:
        return _printable(planner, language, quantity, sources)
    except NoSpelling as refusal:
        error = refusal
        steps = tuple(replace(step, expr=step.definition) for step in quantity.steps)
        reason = f"there is one, but {error.found}"
        by_quadrature = replace(quantity, body=quantity.definition, steps=steps, status=Status.NUMERIC, reason=reason)
        try:
            if quantity.status is not Status.EXACT or (by_quadrature.body, by_quadrature.steps) == (
                quantity.body,
                quantity.steps,
            ):
                raise error
            return _printable(planner, language, by_quadrature, sources)
        except SymresError:
            if not isinstance(error, LosesDigits):
                raise
            build: Any = planner.build  # there is nothing better
            planner = replace(planner, build=partial(build, accept_cancellation=True))
            return _printable(planner, language, quantity, sources)


def _printable(planner: Planner, language: Language, quantity: Quantity, sources: dict[str, Source]) -> Function:
    function = planner.function(quantity)
    language.function_source(function)
    for component in function.components:
        if component.name not in sources:
            sources[component.name] = language.component_source(component)
    return function


def title_of(subject: Subject, quantities: dict[str, Quantity]) -> str:
    """The first line of what is generated."""
    if len(quantities) == 1:
        (quantity,) = quantities.values()
        return (quantity.meaning or quantity.name).capitalize() + "."
    if isinstance(subject, DerivedLayer):
        return f"Kernels and susceptibilities of {subject.layer.name}."
    return "Functions made of Gaussian averages."


def call_of(subject: Subject, quantities: dict[str, Quantity], target: str) -> str:
    """The call that generates it again."""
    what = next(iter(quantities)) if isinstance(subject, Quantity) else "theory"
    if isinstance(subject, Mapping):
        what = "{" + ", ".join(f'"{name}": {name}' for name in quantities) + "}"
    return f'symres.export({what}, target="{target}")'


def _python(
    language: Language,
    title: str,
    command: str,
    functions: list[Function],
    sources: Mapping[str, Source],
    missing: tuple[str, ...],
    more: Added,
) -> str:
    target, dialect = language.library, language.dialect
    components: dict[str, Component] = {c.name: c for f in functions for c in f.components}
    sources = {name: sources[name] for name in components}  # those of refused functions are left out
    bodies = [language.function_source(f) for f in functions]
    tiles = [numpy_printer.function_tile(f) if target == "numpy" else None for f in functions]
    needed = [_needed(f.quantity) for f in functions]
    listed = [_function(*parts, target, needed) for parts in zip(functions, bodies, tiles, strict=True)]
    code = [line for function in listed for line in (*function["lines"], function["call"])]
    for source in sources.values():
        code += [*source.lines, *source.preamble]
    for tile in (*tiles, *(source.tile for source in sources.values())):
        code += [] if tile is None else [*tile.axes, *tile.lines]
    helpers = [
        dialect.helpers[n][0].strip("\n") for n in dialect.needed([*code, *language.always_called, *more.helpers])
    ]
    text = "\n".join([*code, *helpers])
    tables = dict(table for source in sources.values() for table in source.tables)
    return files.render(
        f"{target}.py.j2",
        {
            "title": docstrings.quoted(title),
            "command": docstrings.quoted(command),
            "measured_code": docstrings.measured_code(components.values(), language.name),
            "missing": [line for text_ in missing for line in docstrings.wrapped(text_, 4, 4)],
            "special": "special." in text and target == "numpy",
            "math": "math." in text,
            "functools": "functools." in text,
            "scratch": numpy_printer.SCRATCH if any(tiles) else 0,
            "tables": sorted(tables.items()),
            "helpers": helpers,
            "components": [_component(c, sources[name]) for name, c in components.items()],
            "functions": listed,
            "added": more,
        },
    )


def _component(component: Component, source: Source) -> dict[str, Any]:
    return {
        "name": component.name,
        "arguments": ", ".join(map(variable, component.symbols)),
        "doc": docstrings.component_lines(component),
        "preamble": source.preamble,
        "lines": source.lines,
        "tile": source.tile,
        "factor": f"/({source.tile.factor})" if source.tile and source.tile.factor != 1 else "",
    }


def _needed(quantity: Quantity) -> tuple[sp.Symbol, ...]:
    """The parameters that a value depends on."""
    return tuple(s for s in quantity.symbols if s not in KERNELS)


def _signature(quantity: Quantity, options: Sequence[str], needed: Sequence[tuple[sp.Symbol, ...]]) -> str:
    """The arguments that a value depends on, then the others.

    Those that would stand before one that is needed, or where a function of the module needs another one, have a name
    and no place.

    Args:
        quantity: of which the function gives values.
        options: further arguments, by name alone.
        needed: the parameters that each function of the module needs.
    """
    placed = list(_needed(quantity))
    named: list[sp.Symbol] = []
    last = max(map(place, placed), default=(-1, ""))
    for symbol in sorted(quantity.unused, key=place):
        more = (*placed, symbol)
        clash = any(parameters[: len(more)] != more for parameters in needed if len(parameters) >= len(more))
        (named if clash or place(symbol) < last else placed).append(symbol)
    optional = [f"{argument(s)}=0.0" for s in placed if s not in quantity.symbols]
    options = [*(f"{argument(s)}=0.0" for s in named), *options]
    return ", ".join([*map(argument, quantity.symbols), *optional, *(["*", *options] if options else [])])


def _function(
    function: Function, body: tuple[str, ...], tile: Tile | None, target: str, needed: Sequence[tuple[sp.Symbol, ...]]
) -> dict[str, Any]:
    quantity = function.quantity
    kind = "array_like" if target == "numpy" else "tensor or number"
    meaning = quantity.meaning or quantity.name
    names, ignored = list(map(argument, quantity.symbols)), list(map(argument, quantity.unused))
    out = ["out=None"] if target == "numpy" else []
    return {
        "name": quantity.name,
        "signature": _signature(quantity, out, needed),
        "arguments": ", ".join([*names, *ignored]),
        "variables": ", ".join(map(variable, function.arguments)),
        "names": [*names, *ignored],
        "meaning": docstrings.quoted(f"{meaning[:1].upper()}{meaning[1:]}."),
        "formula": docstrings.formula_lines(quantity.definition, 8),
        "where": docstrings.meanings(quantity),
        "parameters": docstrings.argument_lines(quantity, kind),
        "facts": docstrings.function_lines(function, target),
        "lines": body,
        "tile": tile,
        "call": numpy_printer.call(function, tile) if target == "numpy" else "",
    }
