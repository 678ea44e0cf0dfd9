"""The table of ``torch.nn.init.calculate_gain``, asked and not copied."""

from __future__ import annotations

import torch

from ...activations.activation import Activation
from ...core.symbols import z
from ..activations.known_formulas import known_formula

LINEAR_NAMES = frozenset(f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3))  # maps, to PyTorch
_ENTRIES = ("linear", "sigmoid", "tanh", "relu", "selu")


def table_entry(phi: Activation) -> tuple[str, float] | None:
    """The call of ``calculate_gain`` for an activation, and what it returns; None if the table has no such entry.

    Args:
        phi: without free parameters.
    """
    known = known_formula(phi, ()) or phi
    if known.name in _ENTRIES:
        return f"calculate_gain({known.name!r})", float(torch.nn.init.calculate_gain(known.name))
    if known.formula.label()[0] == "leaky_relu":
        slope = float(-known.expr.subs(z, -1))
        return f"calculate_gain('leaky_relu', {slope:g})", float(torch.nn.init.calculate_gain("leaky_relu", slope))
    return None
