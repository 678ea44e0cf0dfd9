"""The numbers of the parameters of each layer of a network, and of its quantities there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import mpmath as mp
import sympy as sp

from ...core.errors import DeclarationError
from ...core.scalars import Number, number
from ...results.quantity import Quantity
from ..observables.layer_theory import LayerTheory

DIGITS = 18  # of every step: results are good to 15

Parameter: TypeAlias = Number | Sequence[Number]  # of all layers, or of each
Values: TypeAlias = dict[str, Number]


def by_layer(
    layers: Sequence[LayerTheory], params: Mapping[str, Parameter], also: Sequence[LayerTheory] = ()
) -> list[Values]:
    """The parameters of every layer: a sequence has one value for each.

    Args:
        layers: in their order.
        params: numbers or sequences, by name.
        also: other layers whose parameters may be named.

    Raises:
        DeclarationError: a sequence of another length, or a name that no layer knows.
    """
    by_name = {name: listed(value) for name, value in params.items()}
    for name, value in by_name.items():
        if isinstance(value, list) and len(value) != len(layers):
            raise DeclarationError(
                f"{name} of {len(layers)} layers", f"it has {len(value)} values", "pass one value for each layer"
            )
    known = {name for layer in (*layers, *also) for name in layer.parameter_names}
    for name in params:
        if name not in known and name != "C":
            raise DeclarationError(
                f"a value for {name}", "no layer has this parameter", f"pass {', '.join(sorted(known))}"
            )
    columns = {name: value if isinstance(value, list) else [value] * len(layers) for name, value in by_name.items()}
    return [
        {name: values[place] for name, values in columns.items() if name in layer.parameter_names}
        for place, layer in enumerate(layers)
    ]


def number_of(quantity: Quantity, values: Mapping[str, Parameter]) -> mp.mpf:
    """The quantity at the values of its own symbols."""
    names: Sequence[str] = [s.name for s in (*quantity.symbols, *quantity.unused)]
    return quantity.evalf(DIGITS, **{name: value for name, value in values.items() if name in names})


def listed(value: Parameter) -> Number | list[Number]:
    """A list of one value for each layer, from a list, a tuple or an array of one dimension; else the number."""
    several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1
    return list(cast(Sequence[Number], value)) if several else cast(Number, value)


def float_values(layer: LayerTheory, values: Values) -> dict[sp.Symbol, float]:
    """The parameters of a layer in double precision."""
    return {s: float(number(values[s.name], s.name)) for s in layer.layer.parameters}
