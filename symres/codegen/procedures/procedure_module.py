"""What a procedure adds to a module of functions: its own functions, which call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core import files
from ...core.errors import DeclarationError, SymresError
from ...core.symbols import KERNELS, K
from ...results.numbers.procedure import Procedure, Sample
from ...results.quantity import Quantity
from ..emission.emitter import argument
from ..module import Module
from ..strategy.measured_error import round_up
from ..wording import docstrings

_TAKEN = {"depth", "K", "r"}  # arguments of procedures themselves
_INPUT = "kernel of the input; K >= 0, nan else"
_NEXT_TO_ZERO = 1e-12  # a difference of larger numbers, without digits of its own
_WORDS = {"numpy": ("np", "array_like", "float64 array"), "torch": ("torch", "tensor or number", "tensor")}


@dataclass(frozen=True)
class Added:
    """Functions that are added to a module.

    Args:
        names: of the public ones.
        text: their code.
        helpers: what they call of the helpers of a language, as text.
    """

    names: tuple[str, ...] = ()
    text: str = ""
    helpers: tuple[str, ...] = ()


def functions_of(procedure: Procedure) -> dict[str, Quantity]:
    """The functions of a procedure, which take all its parameters, those without influence by name."""
    known = (*procedure.parameters, *procedure.unknowns)
    return {
        quantity.name: replace(quantity, unused=tuple(s for s in known if s not in quantity.symbols))
        for quantity in procedure.functions
    }


def added(procedure: Procedure, library: str, error: str) -> Added:
    """The code of a procedure.

    Args:
        procedure: what is computed.
        library: "numpy" or "torch".
        error: the sentence about its error.

    Raises:
        DeclarationError: a parameter has the name of an argument of the procedure.
    """
    names = list(map(argument, procedure.parameters))
    for name in names:
        if name in _TAKEN:
            raise DeclarationError(
                f"code for the {procedure.name} with the parameter {name}", "the name is taken", "rename it"
            )
    library_name, kind, array = _WORDS[library]
    words = {K: _INPUT} | {s: docstrings.ARGUMENTS.get(s, docstrings.OTHER) for s in procedure.parameters}
    facts = [f"Error: {error}.", *([f"Generalises: {procedure.source}."] if procedure.source else [])]
    values = {
        "library": library,
        "library_name": library_name,
        "array": array,
        "functions": [q.name for q in procedure.functions],
        "calls": {q.name: f"{q.name}({_kernels(q)}**parameters)" for q in procedure.functions},
        "unknowns": list(map(argument, procedure.unknowns)),
        "signature": ", ".join(names),
        "keywords": ", ".join(f"{name}={name}" for name in names),
        "arguments": [
            line for s, text in words.items() for line in docstrings.wrapped(f"{argument(s)}: {text}; {kind}.", 8, 4)
        ],
        "facts": [line for fact in facts for line in docstrings.wrapped(fact, 4, 4)],
        **procedure.constants,
    }
    text = files.render(f"procedures/{procedure.name}.py.j2", values).strip("\n")
    return Added(tuple(procedure.exact), text, ("_tensors",) if library == "torch" else ())


def _kernels(quantity: Quantity) -> str:
    return "".join(f"{s}, " for s in quantity.symbols if s in KERNELS)


def measured(procedure: Procedure, module: Module) -> str:
    """The largest error of the generated functions, beside those of the theory, as a sentence."""
    loaded = module.load()
    worst, seen = 0.0, []
    for sample in procedure.samples:
        try:
            for name, exact in procedure.exact.items():
                worst = max(worst, _deviation(getattr(loaded, name), exact, sample))
        except SymresError:  # the theory has no number there
            continue
        seen.append(", ".join(f"{name} = {value}" for name, value in sample.items()))
    if not seen:
        return "not measured, there are no numbers to compare with"
    return f"at most {round_up(worst):.0e} of each value, measured against the theory at {'; '.join(seen)}"


def _deviation(function: Callable[..., Any], exact: Callable[..., Any], sample: Sample) -> float:
    """The largest relative deviation of the numbers of a function; absolute where the right number is next to 0."""
    numbers = {name: value if isinstance(value, int) else float(value) for name, value in sample.items()}
    right, found = _flat(exact(**sample)), _flat(function(**numbers))
    return max(abs(a - b) / (abs(b) if abs(b) > _NEXT_TO_ZERO else 1.0) for a, b in zip(found, right, strict=True))


def _flat(value: Any) -> list[float]:
    """All numbers of arrays, tensors or sequences of these."""
    if isinstance(value, list | tuple):
        return [number for entry in value for number in _flat(entry)]
    return np.ravel(np.asarray(value, dtype=float)).tolist()
