"""What a procedure adds to a module of functions: its own functions, which call them."""

from __future__ import annotations

from pathlib import Path

from ...core import files
from ...core.errors import DeclarationError
from ...core.symbols import KERNELS, K
from ...results.quantity import Quantity
from ..emission.emitter import argument
from ..planning.module_plan import Extra
from ..wording import docstrings
from .array_code import Wording

_TAKEN = {"depth", "K", "r"}  # arguments of procedures themselves
_INPUT = "kernel of the input; K >= 0, else nan"


def procedure_text(extra: Extra, words: Wording, gradients: bool, templates: Path) -> str:
    """The code of a procedure.

    Args:
        extra: what is computed, and how well.
        words: what docstrings call things.
        gradients: whether results have any.
        templates: the folder of the templates.

    Raises:
        DeclarationError: a parameter has the name of an argument of the procedure.
    """
    procedure = extra.procedure
    names = list(map(argument, procedure.parameters))
    for name in names:
        if name in _TAKEN:
            raise DeclarationError(
                f"code for the {procedure.name} with the parameter {name}", "the code needs this name", "rename it"
            )
    meanings = {K: _INPUT} | {s: docstrings.ARGUMENTS.get(s, docstrings.OTHER) for s in procedure.parameters}
    facts = [f"Error: {extra.error}.", *([f"Generalises: {procedure.source}."] if procedure.source else [])]
    values = {
        "array": words.array,
        "numbers": words.numbers,
        "gradients": gradients,
        "functions": [q.name for q in procedure.functions],
        "calls": {q.name: f"{q.name}({_kernels(q)}**parameters)" for q in procedure.functions},
        "unknowns": list(map(argument, procedure.unknowns)),
        "signature": ", ".join(names),
        "given": ", ".join(f'"{name}": {name}' for name in names),
        "arguments": [
            line
            for s, text in meanings.items()
            for line in docstrings.wrapped(f"{argument(s)}: {text}; {words.argument}.", 8, 4)
        ],
        "facts": [line for fact in facts for line in docstrings.wrapped(fact, 4, 4)],
        **procedure.constants,
    }
    return files.render(f"procedures/{procedure.name}.py.j2", values, templates).strip("\n")


def _kernels(quantity: Quantity) -> str:
    return "".join(f"{s}, " for s in quantity.symbols if s in KERNELS)
