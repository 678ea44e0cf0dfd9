"""C functions as functions of arrays that broadcast, with the arguments that the functions in NumPy have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any

import cffi
import numpy as np
from numpy.typing import ArrayLike

from ....core.errors import DeclarationError
from ...arrays.feature_rows.kernels_of_rows import _covariances
from ...arrays.feature_rows.single_blas import _kernels_beside_threads
from ...emission.emitter import defined
from ...planning.network_plan import NetworkState
from ...scalar.arrays import Reals, evaluated, rows_through_layers, through_layers
from ...scalar.descriptions import SEVERAL, network_functions
from .compiling import compiled
from .declarations import PROTOTYPE, Declared, declarations_of, declared, declared_network, prefix_of
from .text import in_python

_TYPES = {np.dtype(np.float64): ("double", ""), np.dtype(np.float32): ("float", "f")}


@dataclass(frozen=True)
class CompiledSource:
    """A compiled source.

    Args:
        ffi: the declarations.
        functions: the library.
        prefix: what the names of its functions begin with.
    """

    ffi: cffi.FFI
    functions: Any
    prefix: str

    @classmethod
    def of(cls, stem: str, source: str, fast: bool = True) -> CompiledSource:
        """Compile a source.

        Raises:
            DeclarationError: there is no compiler, it refuses, or its library cannot be loaded.
        """
        ffi = cffi.FFI()
        found = PROTOTYPE.findall(declarations_of(source))
        ffi.cdef("\n".join(f"{kind} {name}({listed});" for kind, name, listed in found))
        with compiled(stem, source, fast) as path:
            try:
                return cls(ffi, ffi.dlopen(str(path)), prefix_of(source))
            except OSError as error:
                remedy = (
                    "let TMPDIR name a folder from which libraries may be loaded, and CC a compiler for this system"
                )
                raise DeclarationError("loading C code", str(error), remedy) from None

    def of_arrays(self, name: str) -> Callable[..., Any]:
        """A function whose array arguments are NumPy's, of float64 or float32 all of them; numbers are passed on."""

        def call(*arguments: Any) -> Any:
            real, suffix = _TYPES[next(a.dtype for a in arguments if isinstance(a, np.ndarray))]
            return getattr(self.functions, f"{self.prefix}{name}{suffix}")(*(self._passed(a, real) for a in arguments))

        return call

    def _passed(self, argument: Any, real: str) -> Any:
        if not isinstance(argument, np.ndarray):
            return argument
        if argument.size == 0:
            return self.ffi.NULL
        assert argument.flags.c_contiguous
        return self.ffi.cast(f"{real} *", argument.ctypes.data)


class CFunction:
    """A function of arrays that broadcast; float32 arrays are computed in float32, all else in float64."""

    def __init__(self, library: CompiledSource, function: Declared, known: frozenset[str]) -> None:
        self._function, self._known = function, known
        self._entries = library.of_arrays(function.name)
        self._matrix = library.of_arrays(f"{function.name}_matrix") if function.has_matrix else None
        self._signature = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in function.arguments])
        self.__name__ = self.__qualname__ = function.name
        listed = [f"{name}=0.0" if name in function.idle else name for name in function.arguments]
        self._shown = f"{function.name}({', '.join(listed)}, *, out=None)"
        self.__doc__ = f"{self._shown}, from C; its source explains it."

    def __call__(self, /, *arguments: ArrayLike, out: Reals | None = None, **named: ArrayLike) -> Any:
        """The values, of the broadcast shape; a number where all arguments are numbers.

        Raises:
            TypeError: an argument is missing, has two values, or is unknown.
        """
        function = self._function
        left_out = {name: 0.0 for name in function.arguments[len(arguments) :] if name in function.idle}
        used = {name: value for name, value in named.items() if name in function.arguments or name not in self._known}
        try:
            given = self._signature.bind(*arguments, **{**left_out, **used}).args
        except TypeError as error:
            raise TypeError(f"{self._shown}: {error}") from None
        count = len(function.inputs)
        return evaluated(self._entries, self._matrix, given[:count], given[count:], out)

    def __repr__(self) -> str:
        return f"<C function {self.__doc__}>"


def network_of(
    library: CompiledSource, names: Sequence[str], depth: int, state: NetworkState
) -> dict[str, Callable[..., Any]]:
    """The functions of a network, as the target numba has them; float32 arrays are computed in float32.

    Args:
        library: the compiled source.
        names: of the parameters.
        depth: the number of layers.
        state: what goes through them.
    """
    space: dict[str, Any] = {
        "_covariances": _covariances,
        "_kernels_beside_threads": _kernels_beside_threads,
        "_kind": _kind,
        "rows_through_layers": rows_through_layers,
        "through_layers": through_layers,
    }
    functions = network_functions(names, [f"{name}: {SEVERAL}." for name in names], depth, "_kind(given)", state)
    for function in functions:
        space[f"_{function['name']}"] = library.of_arrays(function["name"])
        about = [f'"""{function["meaning"]}', "", *function["lines"], '"""', *function["body"]]
        exec(defined(f"{function['name']}({function['signature']})", about), space)
    return {function["name"]: space[function["name"]] for function in functions}


def _kind(given: Sequence[Any]) -> np.dtype:
    """Float32 where all arrays are, else float64."""
    return np.dtype(np.float32 if all(np.asarray(a).dtype == np.float32 for a in given) else np.float64)


def functions_of(library: CompiledSource, source: str) -> dict[str, Callable[..., Any]]:
    """The functions of a source, by name."""
    functions = [
        replace(f, parameters=tuple(map(in_python, f.parameters)), idle=frozenset(map(in_python, f.idle)))
        for f in declared(source)
    ]
    known = frozenset(p for f in functions for p in f.parameters)
    found: dict[str, Callable[..., Any]] = {f.name: CFunction(library, f, known) for f in functions}
    network = declared_network(source)
    if network is not None:
        names, depth, state = network
        found |= network_of(library, [*map(in_python, names)], depth, state)
    return found
