"""Operations entry by entry, one after the other: the formula that they compute, and the activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp
import torch
from torch.utils._pytree import tree_map

from ...core.errors import SymresError
from ...core.symbols import z
from ..activations.symbolic_tensor import Recording, SymbolicTensor
from ..tracing.run_record import RecordedCall, made_again
from .formula_values import NotRead

_WORDS = {
    "embedding": "an embedding: integers choose vectors from a table",
    "add": "a constant that differs between neurons or positions is added",
    "cat": "values are concatenated with others",
    "multi_head_attention_forward": "attention: it mixes positions",
}


def applied(
    call: RecordedCall, formulas: Mapping[int, sp.Expr], values: Mapping[int, torch.Tensor], recording: Recording
) -> sp.Expr:
    """The formula of what comes out of a call, from those of the stream values that go in.

    Shapes and types are taken from ``values``, all stream values; ``recording`` is that of all that belongs together.

    Raises:
        NotRead: the operation does not act on each entry alone, or cannot be read.
    """
    if len(call.results) != 1 or not all(values[number].is_floating_point() for number in formulas):
        raise NotRead(call, _WORDS.get(call.name, f"symres has no rule for the operation {call.name}"))
    symbolic = {
        number: SymbolicTensor(formula, torch.empty_like(values[number], device="meta"), recording)
        for number, formula in formulas.items()
    }
    prepared = with_scalars(call)
    try:
        with torch.no_grad():
            result = next((made for _, made in made_again(prepared, symbolic)), None)
    except SymresError as error:
        raise NotRead(call, error.found) from error
    except Exception as error:  # whatever an operation makes of a tensor without numbers
        raise NotRead(call, f"symres has no rule for the operation {call.name}") from error
    if not isinstance(result, SymbolicTensor) or result.shape != values[call.results[0]].shape:
        raise NotRead(call, f"the operation {call.name} does not act on each entry separately")
    if not isinstance(result.formula, sp.Expr) or result.formula.has(sp.nan):
        raise NotRead(call, f"the operation {call.name} does not return real numbers")
    return result.formula


def with_scalars(call: RecordedCall) -> RecordedCall:
    """A call whose constant tensors, if their entries are all equal, are tensors of one entry.

    Raises:
        NotRead: the entries of a constant tensor differ.
    """

    def scalar(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.numel() == 1:
            return leaf.detach().reshape(()) if isinstance(leaf, torch.Tensor) else leaf
        if not is_uniform(leaf):
            raise NotRead(call, _WORDS.get(call.name, f"{call.name} with a constant tensor whose entries differ"))
        return leaf.detach().reshape(-1)[:1]

    args, kwargs = tree_map(scalar, (call.args, dict(call.kwargs)))
    return replace(call, args=args, kwargs=kwargs)


def is_uniform(tensor: torch.Tensor) -> bool:
    """Whether all entries are the same number."""
    flat = tensor.detach().reshape(-1)
    return bool(flat.numel() > 0 and (flat == flat[0]).all())


def pointwise_chain(
    label: str, calls: Sequence[RecordedCall], start: int, end: int, passing: frozenset[int]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Recorded calls as a function of one tensor.

    Args:
        label: what it is called.
        calls: in order.
        start: the number of the stream value that goes in.
        end: the number of the one that comes out.
        passing: numbers of calls that leave the formula of an entry as it is.
    """
    scalar = [call if call.number in passing else with_scalars(call) for call in calls]

    def chain(entries: torch.Tensor) -> torch.Tensor:
        values = {start: entries}
        for call in scalar:
            is_passing = call.number in passing
            values |= dict.fromkeys(call.results, values[call.sources[0]]) if is_passing else made_again(call, values)
        return values[end]

    chain.__name__ = label
    return chain


def multiple_of_identity(formula: sp.Expr) -> sp.Expr | None:
    """The number c of a formula ``c*z``; None for any other."""
    factor = sp.cancel(formula / z) if formula.is_polynomial(z) else None
    return factor if factor is not None and factor.is_number else None
