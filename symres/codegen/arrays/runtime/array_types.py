"""The types of what run-time functions take; generated modules have no annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]
DType: TypeAlias = np.dtype[np.floating]
Function: TypeAlias = Callable[..., Floats]
Own: TypeAlias = tuple[Floats, ...]  # what an input has of its own in a layer, or the parameters of that
Near: TypeAlias = tuple[Floats, Floats, Floats, Floats]  # K1, K2, sqrt(K1*K2), its distance from C
Maps: TypeAlias = Callable[..., tuple[Floats, ...]]
Layer: TypeAlias = tuple[Maps, Maps, Function, Function | None, bool, tuple[str, ...]]
Network: TypeAlias = tuple[Sequence[Layer], bool, bool, bool, int]  # see layer_recursion.py
