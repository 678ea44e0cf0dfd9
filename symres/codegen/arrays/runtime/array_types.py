"""The types of what run-time functions take; generated modules have no annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Places: TypeAlias = NDArray[np.intp]
Cut: TypeAlias = tuple[slice, ...]
DType: TypeAlias = np.dtype[np.floating]
Function: TypeAlias = Callable[..., Floats]
Entries = TypeVar("Entries")  # an array, or tuples of arrays
Own: TypeAlias = tuple[Floats, ...]  # what an input has of its own in a layer, or the parameters of that
OwnOfLayers: TypeAlias = tuple[Own, ...]  # for every layer the kernel of an input and what else it needs of that
Near: TypeAlias = tuple[Floats, Floats, Floats, Floats]  # K1, K2, sqrt(K1*K2), its distance from C
Apart: TypeAlias = tuple[Floats, Floats, Floats]  # sqrt(K1*K2), its distance from C, K1*K2 - C**2
Maps: TypeAlias = Callable[..., tuple[Floats, ...]]
