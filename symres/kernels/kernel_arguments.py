"""What is passed to kernels: networks and their modules, arrays of any library, parameters, inputs.

Modules are known by their functions and their text, never by a target. Functions of arrays have one name in NumPy,
PyTorch and others, that of the Python array API standard.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import InspectLoader
from types import ModuleType
from typing import Any, TypeAlias

import array_api_compat.numpy
import numpy as np
import sympy as sp
from array_api_compat import array_namespace, is_array_api_obj, is_dask_array, is_numpy_namespace

from ..activations.activation import Activation
from ..codegen.module import Module
from ..core.errors import DeclarationError, SymresError
from ..core.foreign import is_installed
from ..core.scalars import Number, number, whole
from ..core.symbols import SHARED, z
from ..layers.layer import Layer
from ..layers.nodes import Dense
from ..report.export import export
from ..results.arguments_of_quantities import require_range
from ..theory.depth.network import Network
from ..theory.theory import Theory, derive, network

Declared: TypeAlias = Network | Theory | Layer | Activation | str
Array: TypeAlias = Any  # of NumPy, PyTorch or another library of the standard
Value: TypeAlias = Number | Sequence[Number] | np.ndarray  # or one for each layer
Values: TypeAlias = dict[str, float | list[float]]

KERNELS = ("nngp", "tangent")  # in the order in which a generated module returns them
_LARGEST = float(np.finfo(np.float64).max)  # for SymPy, infinity has no sign
PART = 1 << 24  # entries of the inputs that are looked at together


def place_of(kernel: str) -> int:
    """The place of a kernel in what ``dual_kernel`` returns.

    Raises:
        DeclarationError: there is no such kernel.
    """
    if kernel not in KERNELS:
        raise DeclarationError(f"the kernel {kernel!r}", "unknown kernel", f"use one of {', '.join(KERNELS)}")
    return KERNELS.index(kernel)


def without_tangent_kernel(asked: str, remedy: str = 'use kernel="nngp"') -> DeclarationError:
    """The error of a network whose tangent kernel is infinite for equal inputs."""
    found = "it is infinite for equal inputs: after a trained layer, the slope of an activation has no mean square"
    return DeclarationError(asked, found, remedy)


def function_of(module: ModuleType, name: str) -> Callable[..., tuple[Any, Any]]:
    """A public function of the module of a network.

    Raises:
        DeclarationError: the module has none of this name: it is no network's.
    """
    function = vars(module).get(name)
    if not callable(function):
        asked = f"the kernel of the module {module.__name__}"
        raise DeclarationError(asked, f"it has no function {name}", "pass the export of a network")
    return function


def parameters_of(module: ModuleType) -> tuple[str, ...]:
    """The names of the parameters that ``dual_kernel_matrix`` takes."""
    arguments = inspect.signature(function_of(module, "dual_kernel_matrix")).parameters.values()
    return tuple(a.name for a in arguments if a.kind is a.KEYWORD_ONLY)


@dataclass(frozen=True)
class ModuleSource:
    """A module that other processes can make again, and that is known by its text."""

    text: str  # of the module
    exported: Module | None = None  # what makes the module of it; None where running the text does

    @lru_cache(maxsize=8)  # noqa: B019 (sources are equal by their text, and so few are kept that they may live on)
    def load(self) -> ModuleType:
        """The module, made once in each process."""
        if self.exported is not None:
            return self.exported.load()
        module = ModuleType("symres_kernel_of_a_file")
        exec(compile(self.text, f"<{module.__name__}>", "exec"), module.__dict__)
        return module


def loaded(module: Module | ModuleType) -> ModuleType:
    """A module that can be called.

    Args:
        module: what ``sr.export`` returned, loaded or not, or a module that was imported from its file.

    Raises:
        DeclarationError: it is no module.
    """
    made = module.load() if isinstance(module, Module) else module
    if not isinstance(made, ModuleType):
        remedy = "pass what sr.export(network) returns"
        raise DeclarationError(f"the kernel matrix of {module!r}", "it is not a generated module", remedy)
    return made


def source_of(module: Module | ModuleType) -> ModuleSource:
    """A module by its text.

    Args:
        module: what ``sr.export`` returned, or a module that was imported from its file.

    Raises:
        DeclarationError: it is no module, or it does not know its text.
    """
    if isinstance(module, Module):
        return ModuleSource(module.text, module)
    module = loaded(module)
    loader = module.__loader__
    text = loader.get_source(module.__name__) if isinstance(loader, InspectLoader) else None
    if not text:
        remedy = "pass what sr.export returned, without .load(), or a module imported from its file"
        raise DeclarationError(f"the text of the module {module.__name__}", "the module does not keep its text", remedy)
    return ModuleSource(text)


def declared_network(declared: Declared, depth: Number | None) -> Network:
    """The network of a declaration.

    Args:
        declared: a Network, taken as it is; or a layer, its theory, an activation, its name or its formula.
        depth: so many of these layers stand behind a read-in ``Dense(z)``; None for a Network.

    Raises:
        DeclarationError: it is none of these; a depth is missing, or given for a Network.
    """
    if isinstance(declared, Network):
        if depth is not None:
            found = f"a network of {declared.depth} layers has a depth already"
            raise DeclarationError(f"a kernel of depth {depth}", found, "leave depth out, or pass a layer")
        return declared
    if not isinstance(declared, Theory | Layer | Activation | str):
        remedy = "pass a network, a layer, an activation or its name"
        raise DeclarationError(f"the kernel of {declared!r}", "it is not a network", remedy)
    if depth is None:
        raise DeclarationError(f"the kernel of {declared}", "the depth is missing", "pass depth=, the number of layers")
    return _of_layers(derive(declared).layer, whole(depth, "depth", 1))


@lru_cache(maxsize=32)
def _of_layers(layer: Layer, depth: int) -> Network:
    """So many layers behind a read-in: declared once, scikit-learn makes copies of its kernels at every step."""
    return network([Layer(Dense(z)), *[layer] * depth])


@lru_cache(maxsize=32)
def require_kernel(declared: Network, kernel: str) -> int:
    """Make sure that a network has a kernel.

    Args:
        declared: the network.
        kernel: "nngp" or "tangent".

    Returns:
        its place in what the module of a network returns.

    Raises:
        DeclarationError: there is no kernel of this name, or it is infinite.
    """
    place = place_of(kernel)
    if KERNELS[place] == "tangent" and not declared.has_tangent_kernel:
        names = dict.fromkeys(formula.name for theory in declared.layers for formula in theory.layer.formulas)
        asked = f"the tangent kernel of {', '.join(names) or 'linear layers'}"
        if all(theory.ntk_map.expr is not None for theory in declared.layers):
            raise without_tangent_kernel(asked)
        raise without_tangent_kernel(asked, "use another activation")  # there is no code for such a network at all
    return place


@lru_cache(maxsize=32)
def loaded_export(declared: Network, target: str) -> ModuleType:
    """The generated module of a network: it is made once, optimisers evaluate kernels hundreds of times."""
    return export(declared, target).load()


# ---- arrays and parameters -------------------------------------------------------------------------------------------


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
    obstacles = [f"it has no parameter {', '.join(unknown)}"] * bool(unknown)
    obstacles += [f"no value was passed for {', '.join(missing)}"] * bool(missing)
    if obstacles:
        raise DeclarationError(asked, " and ".join(obstacles), f"pass numbers for {', '.join(known)}")
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
    declared = [] if network is None else [s for theory in network.layers for s in theory.layer.parameters]
    return SHARED | {str(symbol): symbol for symbol in declared}


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
        xp = namespace_of(part)
        if xp.isdtype(as_array(xp, part).dtype, "complex floating"):
            raise DeclarationError(asked, "they are complex", "pass real features, such as real and imaginary parts")
        values = np.asarray(part, dtype=np.float64) if is_numpy_namespace(xp) else part
        finite = xp.all(xp.isfinite(values), axis=1).tolist()
        if not all(finite):
            found = f"row {start + finite.index(False)} has a feature that is nan or infinite"
            raise DeclarationError(asked, found, "leave such inputs out, or fill in numbers")
    return shape[0], shape[1]
