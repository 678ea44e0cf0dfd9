"""NumPy, imported where the first array is made: symres imports, parses, derives and prints without it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array: TypeAlias = NDArray[np.float64]
else:

    class _Deferred:
        """A module that is imported when something of it is asked for."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            value = getattr(import_module(self._name), name)
            setattr(self, name, value)
            return value

    np = _Deferred("numpy")
    Array = NDArray = ArrayLike = Any

__all__ = ["Array", "ArrayLike", "NDArray", "np"]
