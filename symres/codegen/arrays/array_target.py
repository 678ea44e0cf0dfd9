"""Modules for array libraries of Python: the functions, what they call, and the imports that all of it needs."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...core import files
from ...numerics import brent, highest
from ..emission.emitter import Source, variable
from ..planning.module_plan import CurvePlan, Extra, ModulePlan, procedure_names
from ..planning.network_plan import NetworkPlan
from ..planning.plan import Component, Function
from ..planning.target import ArrayFunction, Floats
from ..wording import docstrings
from ..wording.function_names import signature
from .array_code import ArrayCode, Definition
from .network_text import NetworkText
from .procedure_text import curve_values, procedure_text

HERE = Path(__file__).parent
SHARED = HERE / "runtime"  # the functions that every array library has
FEATURE_ROWS = HERE / "feature_rows"  # the function of feature matrices, where arrays are NumPy's
HERMITE = HERE / "hermite"  # averages of smooth functions
SLOPED = HERE / "sloped"  # those of libraries that differentiate
SEARCHES = Path(highest.__file__)  # the search for a maximum, that of the theory
ZEROS = Path(brent.__file__)  # the search for a zero, likewise
TEMPLATES = HERE / "templates"


class ArrayTarget(ArrayCode):
    """The texts of a target whose functions take arrays."""

    # ---- planning ----------------------------------------------------------------------------------------------

    def require(self, function: Function) -> None:
        """Make sure that a function and its components can be written.

        Raises:
            NoSpelling: they cannot.
        """
        self.function_definitions(function)
        for component in function.components:
            self.source(component)

    # ---- text --------------------------------------------------------------------------------------------------

    def module_text(self, plan: ModulePlan) -> str:
        """The module of some functions."""
        sources = {c: self.source(c) for c in plan.components}
        code = docstrings.measured_code(plan.components, self.title)
        head = {
            "title": plan.title,
            "command": plan.command,
            "about": [line for text in self.words.head for line in docstrings.wrapped(text.format(code=code), 0)],
            "missing": [line for text in plan.missing for line in docstrings.wrapped(text, 4, 4)],
        }
        values = {
            "extra": self._extra(plan.extra),
            "functions": [self._function(f, plan) for f in plan.functions],
            "components": [self._component(*found) for found in sources.items()],
        }
        names = (*procedure_names(plan.extra), *(f.quantity.name for f in plan.functions))
        return self._text("functions.py.j2", values, head, names, sources.values())

    def network_text(self, plan: NetworkPlan) -> str:
        """The module of a network."""
        text = NetworkText(self, plan)
        values = text.values() | {"components": [self._component(*found) for found in text.sources.items()]}
        return self._text("network.py.j2", values, text.head(), plan.functions, text.sources.values(), text.tables())

    def curve_text(self, plan: CurvePlan) -> str:
        """The module of a function with sums over the powers of a weight."""
        values = curve_values(self, plan) | {"extra": self._extra(plan.extra)}
        head = {"title": plan.title, "command": plan.command, "about": [self.words.precision], "missing": []}
        return self._text("curve.py.j2", values, head, (*procedure_names(plan.extra), plan.quantity.name), ())

    def _function(self, function: Function, plan: ModulePlan) -> dict[str, object]:
        quantity, in_place = function.quantity, self.capabilities.in_place
        body, definitions = self.function_definitions(function)
        notes = [line for text in self.function_notes(function) for line in docstrings.wrapped(text, 4, 4)]
        out = ["out: float array of the broadcast shape that receives the result."] * in_place
        return {
            "name": quantity.name,
            "signature": signature(quantity, [f.quantity for f in plan.functions], ["out=None"] * in_place),
            "meaning": "\n    ".join(docstrings.wrapped(docstrings.first_paragraph(function), 8)),
            "formula": docstrings.formula_lines(quantity.definition, 8),
            "where": docstrings.meanings(quantity),
            "parameters": [*docstrings.argument_lines(quantity, self.words.argument), *out],
            "result": self.words.result,
            "facts": [*docstrings.function_lines(function, self.capabilities.gradients), *notes],
            "lines": body,
            "definitions": definitions,
        }

    def _component(self, component: Component, source: Source) -> dict[str, object]:
        own = Definition(_head_of(component), source.lines, docstrings.component_lines(component, self.words.averages))
        return {"preamble": source.preamble, "definitions": [own, *self.component_definitions(component, source)]}

    def _extra(self, extra: Extra | None) -> str:
        return "" if extra is None else procedure_text(extra, self.words, self.capabilities.gradients, TEMPLATES)

    def _text(
        self,
        template: str,
        values: Mapping[str, object],
        head: Mapping[str, object],
        names: Sequence[str],
        sources: Iterable[Source],
        others: Iterable[tuple[str, str]] = (),
    ) -> str:
        """A module: its functions by a template, what they call, and the imports of all."""
        body = files.render(template, values, TEMPLATES).strip("\n")
        tables = [*sorted({table for source in sources for table in source.tables}), *others]
        helpers = _spaced(self.runtime.definitions(body, *(value for _, value in tables)))
        code = "\n".join([body, helpers, *(value for _, value in tables)])
        groups = [[line for name, line in group.items() if _is_used(name, code)] for group in self.imports]
        parts = {"imports": [group for group in groups if group], "names": names, "body": body, "helpers": helpers}
        return self.finished(files.render("module.py.j2", {**head, **parts, "tables": tables}, TEMPLATES))

    def finished(self, text: str) -> str:
        """The text of a module, or of a component alone, with what depends on all of it."""
        return text

    # ---- running -----------------------------------------------------------------------------------------------

    def standalone(self, component: Component) -> str:
        """A module with one component alone, as public functions call it."""
        source = self.source(component)
        own = Definition(_head_of(component), source.lines)
        others = self.component_definitions(component, source) + self.measured_definitions(component, source)
        body = [*source.preamble, *("\n    ".join([f"def {d.head}:", *d.lines]) for d in (own, *others))]
        imports = [line for group in self.imports for line in group.values()]
        tables = [f"{name} = {value}" for name, value in source.tables]
        return self.finished("\n".join([*imports, *self.runtime.definitions(*body), *tables, *body, ""]))

    def run(self, component: Component) -> ArrayFunction:
        """The component's generated function, of NumPy arrays; averages of equal entries are integrated once."""
        space: dict[str, ArrayFunction] = {}
        exec(compile(self.standalone(component), component.name, "exec"), space)
        if "_pair_average" in space:
            space["_pair_average"] = _once(space["_pair_average"])
        return partial(self.call, space[component.name])

    @abstractmethod
    def call(self, function: ArrayFunction, *arguments: ArrayLike) -> Floats:
        """The value of a function of the module at NumPy arrays, in float64."""


def _once(average: ArrayFunction) -> ArrayFunction:
    """An average at entries, which computes equal ones once: what the measured matrices have many of."""

    def wrapped(f: Sequence[Sequence[object]], g: Sequence[Sequence[object]], *columns: Floats) -> Floats:
        if any(isinstance(b, np.ndarray) for h in (f, g) for b in h[2]):  # breakpoints of entries
            return average(f, g, *columns)
        _, first, place = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
        return average(f, g, *(column[first] for column in columns))[place.reshape(-1)]

    return wrapped


def _head_of(component: Component) -> str:
    return f"{component.name}({', '.join(map(variable, component.symbols))})"


def _is_used(name: str, code: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\.", code) is not None


def _spaced(definitions: Sequence[str]) -> str:
    """Definitions with empty lines between them, constants close together."""
    text = ""
    for before, following in zip(("", *definitions), definitions, strict=False):
        apart = (
            "\n\n\n"
            if following.startswith(("def ", "class ", "@", "#")) or before.startswith(("def ", "class "))
            else "\n"
        )
        text += (apart if text else "") + following
    return text
