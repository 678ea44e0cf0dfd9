"""What a procedure computes from functions of a module, and how well the module does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import SymresError
from ...results.observable import Procedure, SampleArguments
from ...results.quantity import Quantity
from ..module import Module
from ..strategy.measured_error import round_up

_NEXT_TO_ZERO = 1e-12  # a difference of larger numbers, without digits of its own


def functions_of(procedure: Procedure) -> dict[str, Quantity]:
    """The functions of a procedure, which take all its parameters, those without influence by name."""
    known = (*procedure.parameters, *procedure.unknowns)
    return {
        quantity.name: replace(quantity, unused=tuple(s for s in known if s not in quantity.symbols))
        for quantity in procedure.functions
    }


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
        return "not measured, as the theory has no numbers to compare with"
    return f"at most {round_up(worst):.0e} of each value, measured against the theory at {'; '.join(seen)}"


def _deviation(function: Callable[..., Any], exact: Callable[..., Any], sample: SampleArguments) -> float:
    """The largest relative deviation of the numbers of a function; absolute where the right number is next to 0."""
    numbers = {name: value if isinstance(value, int) else float(value) for name, value in sample.items()}
    right, found = _flat(exact(**sample)), _flat(function(**numbers))
    return max(abs(a - b) / (abs(b) if abs(b) > _NEXT_TO_ZERO else 1.0) for a, b in zip(found, right, strict=True))


def _flat(value: Any) -> list[float]:
    """All numbers of arrays, tensors, or sequences and dicts of these."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [number for entry in value for number in _flat(entry)]
    return np.ravel(np.asarray(value, dtype=float)).tolist()
