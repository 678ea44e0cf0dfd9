"""Libraries: those that may be missing, and the functions of the one that an array is of.

Functions of arrays have one name in NumPy, PyTorch and others, that of the Python array API standard.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat.numpy
from array_api_compat import array_namespace, is_array_api_obj, is_dask_array

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
    spaces = {array_namespace(array) for array in arrays if _is_array(array)}
    if len(spaces) > 1:
        names = " and ".join(sorted(space.__name__.removeprefix("array_api_compat.") for space in spaces))
        raise DeclarationError("kernels and targets", f"they belong to {names}", "pass arrays of one library")
    return next(iter(spaces), array_api_compat.numpy)


def as_array(xp: ModuleType, values: Array, dtype: Any = None) -> Array:
    """An array as it is, with its gradients; of lists and numbers, or in another type, a new one.

    Args:
        xp: the library, as ``namespace_of`` found it.
        values: an array of it, or lists of numbers.
        dtype: the type that is needed; None for any.
    """
    if _is_array(values) and (dtype is None or dtype == values.dtype):
        return values
    return xp.asarray(values, dtype=dtype)


def is_real(array: Array) -> bool:
    """Whether the numbers of an array are none of a complex type."""
    xp = namespace_of(array)
    return not xp.isdtype(as_array(xp, array).dtype, "complex floating")


def is_finite(xp: ModuleType, array: Array) -> bool:
    """Whether no number of an array of a library is nan or infinite."""
    return bool(xp.all(xp.isfinite(array)))


def _is_array(values: Array) -> bool:
    """Whether a library of the standard has the numbers; those of dask are computed, and then NumPy's."""
    return is_array_api_obj(values) and not is_dask_array(values)
