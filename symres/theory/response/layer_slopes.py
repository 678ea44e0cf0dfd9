"""The maps of one layer and their derivatives in kernels and in one parameter, compiled for double precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K1, K2, C, K
from ...functions.floats.float_averages import CompiledExpressions, Values
from ...gaussian.calculus.expectation import Expectation
from ...numerics.deferred_numpy import Array, np
from ...results.quantity import Quantity, Status
from ..observables.layer_theory import LayerTheory

ONE = (K,)
PAIR = (K1, C, K2)
LARGEST = 1e5  # up to this kernel bends by quadrature have six digits: activations bend in a small part of the range


def maps_of(layer: LayerTheory, inputs: int) -> list[sp.Expr]:
    """The next kernels of one input, K', or of two, K1', C', K2'.

    Raises:
        NoClosedForm: a map is unknown, or the layer averages over a batch.
    """
    if layer.is_batch:
        raise NoClosedForm("the response of a batch", "it involves many inputs", "normalise over neurons instead")
    one = formula(layer.kernel_map)
    if inputs == 1:
        return [one]
    return [one.xreplace({K: K1}), formula(layer.covariance_map), one.xreplace({K: K2})]


def slopes_of(layer: LayerTheory, maps: Sequence[sp.Expr], state: Sequence[sp.Symbol]) -> list[list[sp.Expr]]:
    """The derivatives of all maps in all kernels; those of one input in closed form, which rounds least."""
    chi = layer.chi_parallel
    rows = [[m.diff(x) for x in state] for m in maps]
    if chi.expr is not None:
        for own in (0, len(state) - 1):
            rows[own][own] = chi.expr.xreplace({K: state[own]})
    return rows


def formula(quantity: Quantity) -> sp.Expr:
    """The closed form, or the definition in averages.

    Raises:
        NoClosedForm: the quantity is unknown.
    """
    if quantity.status is Status.UNKNOWN:
        raise NoClosedForm(f"a response from {quantity.name}", f"it is unknown: {quantity.reason}", "simulate")
    assert quantity.expr is not None
    return quantity.expr


def largest_kernel(expressions: Sequence[sp.Expr]) -> float:
    """Up to which kernel expressions, second derivatives among them, have digits in double precision."""
    return LARGEST if any(e.has(Expectation) for e in expressions) else float("inf")


@dataclass(frozen=True)
class Slopes:
    """Maps and their derivatives at one place.

    Args:
        kernels: the next kernels, shape (q,).
        jacobian: their derivatives in the kernels, shape (q, q).
        added: derivatives of what the layer adds to the kernels that the skip connection keeps, shape (q, q).
    """

    kernels: Array
    jacobian: Array
    added: Array


class LayerSlopes:
    """A layer whose maps and derivatives are compiled.

    Args:
        layer: its theory.
        inputs: 1 or 2.
    """

    def __init__(self, layer: LayerTheory, inputs: int) -> None:
        self.state: Sequence[sp.Symbol] = ONE if inputs == 1 else PAIR
        maps = maps_of(layer, inputs)
        slopes = [slope for row in slopes_of(layer, maps, self.state) for slope in row]
        memory = formula(layer.memory)
        one, other = (memory.xreplace({K: k}) for k in ((K, K) if inputs == 1 else (K1, K2)))
        weights = [one**2] if inputs == 1 else [one**2, one * other, other**2]
        kept = [(w * x).diff(y) for w, x in zip(weights, self.state, strict=True) for y in self.state]
        self._compiled = CompiledExpressions([*maps, *slopes, *kept])

    def at(self, kernels: Array, values: Values) -> Slopes:
        """The maps and derivatives at given kernels."""
        known = {**values, **dict(zip(self.state, map(float, kernels), strict=True))}
        found, size = self._compiled(known), len(self.state)
        slopes, kept = (part.reshape(size, size) for part in np.split(found[size:], 2))
        return Slopes(found[:size], slopes, slopes - kept)


class ScaleSlopes:
    """The derivative in a parameter of ``log dM_t/dx_t`` along the flow of the maps M.

    Args:
        layer: its theory.
        inputs: 1 or 2.
        target: the entry t of the state, on which no other map depends.
        scale: the parameter.
    """

    def __init__(self, layer: LayerTheory, inputs: int, target: int, scale: sp.Symbol) -> None:
        self.state: Sequence[sp.Symbol] = ONE if inputs == 1 else PAIR
        maps = maps_of(layer, inputs)
        slopes = slopes_of(layer, maps, self.state)
        steep = slopes[target][target]
        moves = [[*row, m.diff(scale)] for row, m in zip(slopes, maps, strict=True)]
        found = [*maps, *(move for row in moves for move in row), steep]
        found += [steep.diff(x) for x in (*self.state, scale)]
        self._compiled = CompiledExpressions(found)
        self._largest = largest_kernel(found)

    def at(self, kernels: Array, moved: Array, values: Values) -> tuple[Array, Array, float, float]:
        """One layer further.

        Args:
            kernels: the state.
            moved: its derivative in the parameter.
            values: of all parameters.

        Returns:
            The next state, its derivative, the slope, and the derivative of its logarithm.

        Raises:
            NoClosedForm: kernels are too large for averages by quadrature.
        """
        size = len(self.state)
        if not max(kernels) <= self._largest:
            found = f"averages by quadrature lose all digits above K = {self._largest:g}"
            raise NoClosedForm(f"a response at the kernel {max(kernels):g}", found, "take smaller kernels")
        numbers = self._compiled({**values, **dict(zip(self.state, map(float, kernels), strict=True))})
        following, rest = numbers[:size], numbers[size:]
        slopes = rest[: size * (size + 1)].reshape(size, size + 1)
        steep, rates = rest[size * (size + 1)], rest[size * (size + 1) + 1 :]
        with np.errstate(divide="ignore", invalid="ignore"):
            total = float((rates[:size] @ moved + rates[size]) / steep)
            return following, slopes[:, :size] @ moved + slopes[:, size], float(steep), total
