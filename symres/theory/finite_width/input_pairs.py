"""Which inputs the statistics of a network belong to, and which of them are looked at together.

The law of a neuron at inputs a and b depends on the kernels of these two alone. So do the average of a product of
functions of the neuron at a and at b, and all that it responds to. A theory of any number of inputs is thus made of
pairs: each pair of inputs is a *view* of the layer, and of a neuron; one input is a view of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement

from ...numerics.deferred_numpy import NDArray, np

Inputs = tuple[int, ...]


def views_of(p: int) -> list[Inputs]:
    """The pairs of different inputs, in order; of one input this."""
    return list(combinations(range(p), 2)) if p > 1 else [(0,)]


def state_places(p: int) -> list[Inputs]:
    """The inputs of each entry of the state: p means, then the kernels of the pairs a <= b."""
    return [*((a,) for a in range(p)), *combinations_with_replacement(range(p), 2)]


def of_view(places: list[Inputs], view: Inputs) -> list[Inputs]:
    """Places at the inputs 0 and 1 of a view, as places at the inputs of the network."""
    return [tuple(view[a] for a in place) for place in places]


def block(rows: Sequence[int], columns: Sequence[int]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The index of some rows and columns of a matrix."""
    return np.array(rows, dtype=np.intp)[:, None], np.array(columns, dtype=np.intp)
