"""What is passed to kernels: arrays of any library, parameters within their domains, inputs that are real and finite.

Functions of arrays have one name in NumPy, PyTorch and others, that of the Python array API standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat.numpy
import numpy as np
import sympy as sp
from array_api_compat import array_namespace, is_array_api_obj, is_dask_array, is_numpy_namespace

from ..core.errors import DeclarationError, SymresError
from ..core.foreign import is_installed
from ..core.scalars import Number, number
from ..core.symbols import SHARED
from ..results.arguments_of_quantities import require_range
from ..theory.depth.network import Network

Array: TypeAlias = Any  # of NumPy, PyTorch or another library of the standard
Value: TypeAlias = Number | Sequence[Number] | np.ndarray  # or one for each layer
Values: TypeAlias = dict[str, float | list[float]]

_LARGEST = float(np.finfo(np.float64).max)  # for SymPy, infinity has no sign
PART = 1 << 24  # entries of the inputs that are looked at together


def require(asked: str, extra: str, *packages: str) -> None:
    """Make sure that libraries are installed, without importing them; ``extra`` of symres brings them.

    Raises:
        SymresError: one is missing.
    """
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        raise SymresError(asked, f"{' and '.join(missing)} not installed", f"pip install symres[{extra}]")


def namespace_of(*arrays: Array) -> ModuleType:
    """The library of arrays; lists and numbers are of none.

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
    """An array as it is, with its gradients; of lists and numbers, or in another type, a new one."""
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


def parameter_values(known: Sequence[str], given: Mapping[str, Value], network: Network | None = None) -> Values:
    """The parameters of a network as its module takes them.

    Args:
        known: the names of those that it has.
        given: their values.
        network: with it, parameters that it declares have their signs, and lists their length; without it those that
            all networks share have them.

    Raises:
        DeclarationError: one is missing, or one is not of the network; no finite number, or one of the wrong sign; a
            list of another length.
    """
    asked = "the kernel of a network"
    missing = [name for name in known if name not in given]
    unknown = [name for name in given if name not in known]
    found = [f"it has no parameter {', '.join(unknown)}"] * bool(unknown)
    found += [f"no value was passed for {', '.join(missing)}"] * bool(missing)
    if found:
        raise DeclarationError(asked, " and ".join(found), f"pass numbers for {', '.join(known)}")
    symbols = _symbols(network)
    values: Values = {}
    for name, value in given.items():
        several = isinstance(value, list | tuple | np.ndarray) and bool(np.ndim(value))
        exact = [number(entry, name) for entry in (value if several else [value])]  # type: ignore[union-attr]
        for entry in exact if name in symbols else ():
            require_range(asked, symbols[name], entry)
        if several and network is not None and len(exact) != network.depth:
            lacking = f"{len(exact)} values, and the network has {network.depth} layers"
            raise DeclarationError(f"{name} of each layer", lacking, "pass one number for all, or one for each layer")
        values[name] = [float(entry) for entry in exact] if several else float(exact[0])
    return values


def require_interval(asked: str, network: Network, name: str, low: float, high: float) -> None:
    """Make sure that a parameter has the sign that it is declared with wherever an optimiser may lead it.

    Limits may be infinite.

    Raises:
        DeclarationError: there are values of the wrong sign in between.
    """
    symbol = _symbols(network).get(name)
    for limit in (low, high) if symbol is not None else ():
        require_range(asked, symbol, sp.sympify(min(max(limit, -_LARGEST), _LARGEST)))


def _symbols(network: Network | None) -> dict[str, sp.Symbol]:
    """The symbols whose signs are known, by name: those that all networks share, and those of a network."""
    own = [] if network is None else [s for theory in network.layers for s in theory.layer.parameters]
    return SHARED | {str(symbol): symbol for symbol in own}


def require_inputs(X: Array, name: str = "X") -> tuple[int, int]:
    """Make sure that an array holds inputs, a part at a time: it may be on a disk. Its shape (N, n0) is returned.

    Raises:
        DeclarationError: another shape, no inputs or no features, complex numbers, or some that are not finite.
    """
    asked, shape = f"the inputs {name}", tuple(getattr(X, "shape", ()))
    if len(shape) != 2:
        found = f"its shape is {shape}" if shape else f"it is a {type(X).__name__}"
        raise DeclarationError(asked, found, "pass an array of shape (inputs, features)")
    if 0 in shape:
        found = f"it is empty, its shape is {shape}" if not shape[0] else f"they have no features, its shape is {shape}"
        raise DeclarationError(asked, found, "pass one input of one feature at least")
    step = max(PART // shape[1], 1)
    for start in range(0, shape[0], step):
        part = X[start : start + step]
        if not is_real(part):
            raise DeclarationError(asked, "they are complex", "pass real features, such as real and imaginary parts")
        xp = namespace_of(part)
        values = np.asarray(part, dtype=np.float64) if is_numpy_namespace(xp) else part
        finite = xp.all(xp.isfinite(values), axis=1).tolist()
        if not all(finite):
            found = f"row {start + finite.index(False)} has a feature that is nan or infinite"
            raise DeclarationError(asked, found, "leave such inputs out, or fill in numbers")
    return shape[0], shape[1]
