"""PyTorch tensors that a net and its nodes take for arrays: the derivatives are autograd's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...core.errors import SymresError, UnsupportedLayer
from ..formulas.numeric_formula import Elementwise, NumericFunction

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
        if method != "__call__" or options:
            return NotImplemented
        if not hasattr(torch(), name):
            raise UnsupportedLayer(f"{name} of a neuron", "PyTorch does not have it", "use elementary functions")
        return Tensor(getattr(torch(), name)(*map(_tensor, args)))

    def __array_function__(
        self, function: Callable[..., Any], types: Collection[type], args: Sequence[Any], options: Mapping[str, Any]
    ) -> Tensor:
        return _FUNCTIONS[function](*args, **options) if function in _FUNCTIONS else NotImplemented

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the neurons."""
        return tuple(self.data.shape)

    def apply(self, function: NumericFunction) -> Tensor:
        """A function of one variable, from its formula."""
        return Tensor(_tensor(function.in_arrays(self)) + 0.0 * self.data)

    def mean(self, axis: int, keepdims: bool = True) -> Tensor:
        """Average over an axis, the neurons (axis 1) or the inputs (axis 2)."""
        return Tensor(self.data.mean(dim=axis, keepdim=keepdims))

    def reshape(self, *shape: int) -> Tensor:
        """The neurons in another shape."""
        return Tensor(self.data.reshape(shape))

    def transpose(self, *axes: int) -> Tensor:
        """The neurons with their axes in another order."""
        return Tensor(self.data.permute(axes))


_NAMES = {"power": "pow", "absolute": "abs", "equal": "eq"}  # where PyTorch has another name than NumPy


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


def _chosen(conditions: Sequence[Operand], values: Sequence[Operand], default: float) -> Tensor:
    result = _tensor(default)
    for condition, value in reversed(list(zip(conditions, values, strict=True))):
        result = torch().where(_tensor(condition), _tensor(value), result)
    return Tensor(result)


_FUNCTIONS: Mapping[Callable[..., Any], Callable[..., Tensor]] = {
    np.select: _chosen,
    np.sinc: lambda argument: Tensor(torch().sinc(argument.data)),
}


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
