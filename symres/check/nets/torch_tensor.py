"""PyTorch tensors that a net and its nodes take for arrays: the derivatives are autograd's."""

from __future__ import annotations

from functools import cache, reduce
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
import sympy as sp
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...core.errors import SymresError
from ..formulas.numeric_formula import Backend, Elementwise, NumericFunction, Tape, named

if TYPE_CHECKING:
    import torch as pytorch

Operand: TypeAlias = Union["Tensor", "pytorch.Tensor", np.ndarray, float]


class Tensor(NDArrayOperatorsMixin, Elementwise):
    """Neurons as a tensor: NumPy's elementwise functions and ``matmul`` are done by PyTorch, and recorded.

    Args:
        data: a tensor of shape (nets, n, inputs), in double precision.
    """

    def __init__(self, data: pytorch.Tensor) -> None:
        self.data = data

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Operand, **options: object) -> Tensor:
        name = _NAMES.get(ufunc.__name__, ufunc.__name__)
        function = getattr(torch(), name, None)
        if method != "__call__" or options or function is None:
            return NotImplemented
        return Tensor(function(*map(_tensor, args)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the neurons."""
        return tuple(self.data.shape)

    def apply(self, function: NumericFunction) -> Tensor:
        """A function of one variable, from its formula."""
        tape = Tape(function.expr, [function.variable], backend())
        return Tensor(tape(self.data) + 0.0 * self.data)

    def mean(self, axis: int, keepdims: bool = True) -> Tensor:
        """Average over the neurons (axis 1) or the inputs (axis 2)."""
        return Tensor(self.data.mean(dim=axis, keepdim=keepdims))


_NAMES = {"power": "pow", "absolute": "abs"}  # where PyTorch has another name than NumPy


def torch() -> ModuleType:
    """The package, imported when it is needed.

    Raises:
        SymresError: it is not installed.
    """
    try:
        import torch as package
    except ImportError:
        raise SymresError("networks in PyTorch", "torch is not installed", 'pip install "symres[torch]"') from None
    return package


@cache
def backend() -> Backend[pytorch.Tensor]:
    """PyTorch's functions for the nodes of a formula."""
    t = torch()
    return {
        **named(t),
        sp.erf: t.erf,
        sp.erfc: t.erfc,
        sp.Abs: t.abs,
        sp.sinc: lambda x: t.sinc(x / np.pi),
        sp.DiracDelta: lambda x, *_: 0.0 * x,
        sp.Heaviside: lambda x, at_zero=0.5: t.heaviside(x, _tensor(at_zero)),
        sp.Max: lambda *xs: reduce(lambda a, b: t.maximum(_tensor(a), _tensor(b)), xs),
        sp.Min: lambda *xs: reduce(lambda a, b: t.minimum(_tensor(a), _tensor(b)), xs),
        sp.Pow: lambda base, exponent: t.pow(base, exponent),
        sp.And: lambda *xs: reduce(lambda a, b: a & b, xs),
        sp.Or: lambda *xs: reduce(lambda a, b: a | b, xs),
        sp.Piecewise: lambda *xs: _chosen(xs),
    }


def _chosen(flat: tuple[Operand, ...]) -> pytorch.Tensor:
    result = _tensor(np.nan)
    for value, holds in reversed(list(zip(flat[::2], flat[1::2], strict=True))):
        result = torch().where(_tensor(holds), _tensor(value), result)
    return result


def _tensor(argument: Operand) -> pytorch.Tensor:
    """Numbers and arrays as tensors in double precision; conditions stay conditions."""
    if isinstance(argument, Tensor):
        return argument.data
    t = torch()
    if isinstance(argument, t.Tensor):
        return argument
    if isinstance(argument, bool):
        return t.tensor(argument)
    return t.as_tensor(np.asarray(argument, dtype=float))
