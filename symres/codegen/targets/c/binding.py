"""C functions as functions of arrays that broadcast, with the arguments that the functions in NumPy have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import cffi
import numpy as np
from numpy.typing import ArrayLike

from ....core.errors import DeclarationError
from ...arrays.feature_rows.single_blas import _kernels_beside_threads
from ...scalar.arrays import Reals, evaluated, pairs_through_layers, rows_through_layers
from .compiling import compiled
from .declarations import PROTOTYPE, Declared, declarations_of, declared, declared_network, prefix_of

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
        self._call_entries = library.of_arrays(function.name)
        self._call_matrix = library.of_arrays(f"{function.name}_matrix")
        self.__name__ = self.__qualname__ = function.name
        numbers = [f"{name}=0.0" if name in function.idle else name for name in function.parameters]
        listed = [*function.inputs, *numbers]
        self.__doc__ = f"{function.name}({', '.join(listed)}, *, out=None), from C; its header explains it."

    def __call__(self, /, *arguments: ArrayLike, out: Reals | None = None, **named: ArrayLike) -> Any:
        """The values, of the broadcast shape; a number where all arguments are numbers."""
        order, count = (*self._function.inputs, *self._function.parameters), len(self._function.inputs)
        given = bound(self._function.name, order, arguments, named, self._known, self._function.idle)
        matrix = self._call_matrix if self._function.has_matrix else None
        return evaluated(self._call_entries, matrix, given[:count], given[count:], out)

    def __repr__(self) -> str:
        return f"<C function {self.__doc__}>"


def bound(
    name: str,
    order: Sequence[str],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    known: frozenset[str],
    idle: frozenset[str] = frozenset(),
) -> list[Any]:
    """The arguments of a function in order.

    Args:
        name: of the function.
        order: the names of its arguments.
        arguments: those that were given by place.
        named: those that were given by name.
        known: names that may be given and are of no influence.
        idle: arguments that may be left out: the value does not depend on them.

    Raises:
        TypeError: an argument lacks, is given twice, or is unknown.
    """
    shown = f"{name}({', '.join(order)})"
    surplus = [n for n in named if n not in order and n not in known]
    if surplus or len(arguments) > len(order):
        found = f"got an argument {surplus[0]}" if surplus else f"got {len(arguments)} arguments"
        raise TypeError(f"{shown} {found}")
    given = dict(zip(order, arguments, strict=False))
    twice = [n for n in named if n in given]
    lacking = [n for n in order if n not in given and n not in named and n not in idle]
    if twice or lacking:
        found = f"got two values for {twice[0]}" if twice else f"lacks {', '.join(lacking)}"
        raise TypeError(f"{shown} {found}")
    return [given[n] if n in given else named.get(n, 0.0) for n in order]


class NetworkFunctions:
    """The functions of a network: kernel and tangent kernel of two inputs behind all layers, from C.

    Args:
        library: the compiled source.
        parameters: names of the parameters.
        depth: the number of layers.
    """

    def __init__(self, library: CompiledSource, parameters: Sequence[str], depth: int) -> None:
        self._parameters, self._depth = tuple(parameters), depth
        self._of_matrix, self._of_pairs = map(library.of_arrays, ("dual_kernel_matrix", "dual_kernel"))

    def dual_kernel(
        self,
        K1: ArrayLike,
        K2: ArrayLike,
        C: ArrayLike,
        *given: Any,
        Theta: ArrayLike = 0.0,
        every_layer: bool = False,
        **named: Any,
    ) -> tuple[Any, Any]:
        """Kernel and tangent kernel of two inputs behind all layers.

        Args:
            K1: kernels of the first inputs, typically of shape (N, 1); K1 >= 0, nan else.
            K2: kernels of the second inputs, typically of shape (1, M).
            C: covariances of the inputs, of shape (N, M).
            given: the parameters; each is a number, or a list of one for each layer.
            Theta: tangent kernel of the inputs.
            every_layer: whether to return the kernels behind every layer.
            named: the parameters, by name.

        Returns:
            (C, Theta), arrays of the broadcast shape; with ``every_layer`` they have a leading axis, entry l is that
            behind l layers, entry 0 what was passed.
        """
        kind = _kind([np.asarray(a) for a in (K1, K2, C)])
        numbers = self._by_name(given, named)
        return pairs_through_layers(self._of_pairs, self._depth, (K1, K2, C, Theta), numbers, every_layer, kind)

    def dual_kernel_matrix(
        self, X1: ArrayLike, X2: ArrayLike | None = None, *given: Any, **named: Any
    ) -> tuple[Reals, Reals]:
        """Kernel and tangent kernel of the rows of feature matrices, in the form that Gaussian processes take.

        Args:
            X1: inputs, of shape (N, n0); the network sees kernels x.x'/n0. Float32 is computed in float32.
            X2: others, of shape (M, n0); None stands for X1, and makes the matrices exactly symmetric.
            given: the parameters; each is a number, or a list of one for each layer.
            named: the parameters, by name.

        Returns:
            (C, Theta), of shape (N, M).
        """
        kind, numbers = _kind([np.asarray(X) for X in (X1, X2) if X is not None]), self._by_name(given, named)
        kernels = _kernels_beside_threads(X1, X2, kind)
        return rows_through_layers(self._of_matrix, self._depth, kernels, X2 is None, numbers)

    def _by_name(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters by name."""
        values = bound("dual_kernel", self._parameters, given, named, frozenset())
        return dict(zip(self._parameters, values, strict=True))


def _kind(arrays: Sequence[Any]) -> np.dtype:
    """Float32 where all arrays are, else float64."""
    return np.dtype(np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)


def functions_of(library: CompiledSource, source: str) -> dict[str, Callable[..., Any]]:
    """The functions of a source, by name."""
    functions = declared(source)
    known = frozenset(p for f in functions for p in f.parameters)
    found: dict[str, Callable[..., Any]] = {f.name: CFunction(library, f, known) for f in functions}
    network = declared_network(source)
    if network is not None:
        deep = NetworkFunctions(library, *network)
        for function in (deep.dual_kernel, deep.dual_kernel_matrix):
            found[function.__name__] = _signed(function, network[0])
    return found


def _signed(function: Callable[..., Any], parameters: Sequence[str]) -> Callable[..., Any]:
    """A function of a network whose signature names the parameters, as those of the other targets do."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        return function(*given, **named)

    ordinary = [p for p in signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    names = [Parameter(name, Parameter.KEYWORD_ONLY) for name in parameters]
    vars(call)["__signature__"] = Signature([*ordinary, *names])
    return call
