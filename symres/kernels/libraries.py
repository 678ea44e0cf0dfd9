"""Libraries: those that may be missing, and the functions of the one that an array is of.

Functions of arrays have one name in NumPy, PyTorch and others, that of the Python array API standard.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from ..core.errors import DeclarationError, SymresError
from ..core.foreign import is_installed

Array: TypeAlias = Any  # of NumPy, PyTorch or another library of the standard


def require(asked: str, extra: str, *packages: str) -> None:
    """Make sure that libraries are installed, without importing them.

    Args:
        asked: what needs them.
        extra: the extra of symres that brings them.
        packages: the names under which they are imported.

    Raises:
        SymresError: one is missing.
    """
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        raise SymresError(asked, f"{' and '.join(missing)} not installed", f"pip install symres[{extra}]")


def namespace_of(*arrays: Array) -> ModuleType:
    """The library of arrays; lists and numbers are of none.

    Args:
        arrays: arrays, all of one library.

    Returns:
        its namespace; NumPy if none is an array.

    Raises:
        DeclarationError: they are of several libraries.
    """
    found = {id(space): space for space in map(_namespace, arrays) if space is not None}
    if len(found) > 1:
        names = " and ".join(sorted(space.__name__ for space in found.values()))
        raise DeclarationError("kernels and targets", f"they belong to {names}", "pass arrays of one library")
    return next(iter(found.values()), np)


def as_array(xp: ModuleType, values: Array, dtype: Any = None) -> Array:
    """An array as it is, with its gradients; of lists and numbers, or in another type, a new one.

    Args:
        xp: the library, as ``namespace_of`` found it.
        values: an array of it, or lists of numbers.
        dtype: the type that is needed; None for any.
    """
    if _namespace(values) is not None and (dtype is None or dtype == values.dtype):
        return values
    return xp.asarray(values, dtype=dtype)


def is_real(array: Array) -> bool:
    """Whether the numbers of an array are none of a complex type."""
    xp = namespace_of(array)
    return not np.iscomplexobj(np.asarray(array)) if xp is np else bool(xp.can_cast(array.dtype, xp.float64))


def is_finite(xp: ModuleType, array: Array) -> bool:
    """Whether no number of an array of a library is nan or infinite."""
    return bool(xp.all(xp.isfinite(array)))


def _namespace(array: Array) -> ModuleType | None:
    if isinstance(array, np.ndarray | np.generic):
        return np
    standard = getattr(type(array), "__array_namespace__", None)
    if standard is not None:
        return standard(array)
    package = sys.modules[type(array).__module__.partition(".")[0]]
    return package if getattr(package, "Tensor", None) is not None and isinstance(array, package.Tensor) else None
