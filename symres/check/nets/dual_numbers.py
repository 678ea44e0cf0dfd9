"""Arrays with tangents: exact derivatives of whatever a network does, forward mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, Union

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..formulas.numeric_formula import Elementwise, NumericFunction

Operand: TypeAlias = Union[np.ndarray, float, "Dual"]


class Dual(NDArrayOperatorsMixin, Elementwise):
    """Neurons and their derivatives along some directions in the space of an earlier stream.

    What NumPy's elementwise functions and ``matmul`` do to the neurons is done to the derivatives by the chain rule;
    nets and nodes need not know. A function without a rule here is refused.

    Args:
        value: (nets, n, inputs), or of any shape on the way.
        tangent: (nets, n, inputs, directions).
    """

    def __init__(self, value: np.ndarray, tangent: np.ndarray) -> None:
        self.value = value
        self.tangent = tangent

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Operand, **options: object) -> Dual:
        if method != "__call__" or options:
            return NotImplemented
        if ufunc is np.matmul:
            return _product(*args)
        if ufunc not in _SLOPES:
            return NotImplemented
        values = [a.value if isinstance(a, Dual) else np.asarray(a, dtype=float) for a in args]
        tangents = [
            np.asarray(slope)[..., None] * a.tangent
            for a, slope in zip(args, _SLOPES[ufunc](*values), strict=True)
            if isinstance(a, Dual)
        ]
        return Dual(ufunc(*values), sum(tangents[1:], tangents[0]))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the neurons."""
        return self.value.shape

    @property
    def columns(self) -> np.ndarray:
        """The inputs and, after them, their derivatives as further inputs, (nets, n, inputs*(1 + directions))."""
        return np.concatenate([self.value, _flat(self.tangent)], axis=2)

    @classmethod
    def of_columns(cls, columns: np.ndarray, inputs: int) -> Dual:
        """The inverse of ``columns``."""
        return cls(columns[..., :inputs], _unflat(columns[..., inputs:], inputs))

    def apply(self, function: NumericFunction) -> Dual:
        """A function of one variable; its derivative is that of the formula away from switching points."""
        return Dual(function(self.value), function.slope(self.value)[..., None] * self.tangent)

    def mean(self, axis: int, keepdims: bool = True) -> Dual:
        """Average over an axis, the neurons (axis 1) or the inputs (axis 2)."""
        if not keepdims:
            raise TypeError("an average of neurons keeps the axes of its array")
        return Dual(self.value.mean(axis=axis, keepdims=True), self.tangent.mean(axis=axis, keepdims=True))

    def reshape(self, *shape: int) -> Dual:
        """The neurons in another shape."""
        return Dual(self.value.reshape(shape), self.tangent.reshape(*shape, self.tangent.shape[-1]))

    def transpose(self, *axes: int) -> Dual:
        """The neurons with their axes in another order."""
        return Dual(self.value.transpose(axes), self.tangent.transpose(*axes, len(axes)))


def _product(x: Operand, y: Operand) -> Dual:
    """Matrices times matrices, in the last two axes."""
    values = [a.value if isinstance(a, Dual) else np.asarray(a) for a in (x, y)]
    tangent: np.ndarray | float = 0.0
    if isinstance(x, Dual):  # directions come first, for they are a stack of matrices
        tangent = np.moveaxis(np.matmul(np.moveaxis(x.tangent, -1, 0), values[1]), 0, -1)
    if isinstance(y, Dual):
        tangent = tangent + _unflat(np.matmul(values[0], _flat(y.tangent)), y.tangent.shape[-2])
    return Dual(np.matmul(*values), np.asarray(tangent))


def _flat(tangent: np.ndarray) -> np.ndarray:
    """Inputs and directions on one axis: then a layer's weights meet one large matrix, not many vectors."""
    return tangent.reshape(*tangent.shape[:-2], -1)


def _unflat(columns: np.ndarray, inputs: int) -> np.ndarray:
    return columns.reshape(*columns.shape[:-1], inputs, -1)


# ufunc -> its partial derivatives, given the values of its arguments
_SLOPES: Mapping[np.ufunc, Callable[..., tuple[np.ndarray | float, ...]]] = {
    np.add: lambda x, y: (1.0, 1.0),
    np.subtract: lambda x, y: (1.0, -1.0),
    np.multiply: lambda x, y: (y, x),
    np.divide: lambda x, y: (1 / y, -x / y**2),
    np.negative: lambda x: (-1.0,),
    np.positive: lambda x: (1.0,),
    np.square: lambda x: (2 * x,),
    np.sqrt: lambda x: (0.5 / np.sqrt(x),),
    np.power: lambda x, y: (y * x ** (y - 1), np.nan),  # no exponent depends on a neuron
    np.absolute: lambda x: (np.sign(x),),
    np.maximum: lambda x, y: (np.heaviside(x - y, 0.5), np.heaviside(y - x, 0.5)),
    np.minimum: lambda x, y: (np.heaviside(y - x, 0.5), np.heaviside(x - y, 0.5)),
    np.exp: lambda x: (np.exp(x),),
    np.log: lambda x: (1 / x,),
    np.tanh: lambda x: (1 - np.tanh(x) ** 2,),
    np.sin: lambda x: (np.cos(x),),
    np.cos: lambda x: (-np.sin(x),),
}
