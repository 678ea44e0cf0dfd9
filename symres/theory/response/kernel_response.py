"""The response of each layer's kernel to that of the input, from the maps of a layer and their compiled derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sympy as sp

from ...activations.activation import Activation
from ...core.errors import DeclarationError, NoClosedForm
from ...core.symbols import K1, K2, C, K
from ...functions.floats.float_averages import CompiledExpressions, Values
from ...gaussian.calculus.expectation import Expectation
from ...layers.architectures import mlp
from ...numerics.deferred_numpy import Array, np
from ...results.annotated_numbers import Response, ResponseDecay, Value
from ...results.critical_point import Exponents
from ...results.quantity import Quantity, Status
from ..criticality.kernel_flow import growth
from ..observables.layer_theory import LayerTheory

ONE = (K,)
PAIR = (K1, C, K2)
LARGEST = 1e5  # up to this kernel bends by quadrature have six digits: activations bend in a small part of the range


def maps_of(layer: LayerTheory, inputs: int) -> list[sp.Expr]:
    """The next kernels of one input, K', or of two, K1', C', K2'.

    Raises:
        NoClosedForm: a map is unknown, or the layer averages over a batch.
    """
    if layer.has_covariance:
        found = "it involves many of them"
        raise NoClosedForm("the response of a batch, or of positions", found, "normalise over neurons instead")
    one = formula(layer.kernel_map)
    if inputs == 1:
        return [one]
    return [one.xreplace({K: K1}), formula(layer.covariance_map), one.xreplace({K: K2})]


def slopes_of(layer: LayerTheory, maps: Sequence[sp.Expr], state: Sequence[sp.Symbol]) -> list[list[sp.Expr]]:
    """The derivatives of all maps in all kernels; those of one input in closed form, which rounds least."""
    chi = layer.chi_parallel
    rows = [[m.diff(x) for x in state] for m in maps]
    if chi.expr is not None:
        for place in (0, len(state) - 1):
            rows[place][place] = chi.expr.xreplace({K: state[place]})
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


class LayerSlopes:
    """The maps of a layer at one or two inputs with their derivatives, compiled."""

    def __init__(self, layer: LayerTheory, inputs: int) -> None:
        self.state: Sequence[sp.Symbol] = ONE if inputs == 1 else PAIR
        maps = maps_of(layer, inputs)
        slopes = [slope for row in slopes_of(layer, maps, self.state) for slope in row]
        memory = formula(layer.memory)
        one, other = (memory.xreplace({K: k}) for k in ((K, K) if inputs == 1 else (K1, K2)))
        weights = [one**2] if inputs == 1 else [one**2, one * other, other**2]
        kept = [(w * x).diff(y) for w, x in zip(weights, self.state, strict=True) for y in self.state]
        self._compiled = CompiledExpressions([*maps, *slopes, *kept])

    def at(self, kernels: Array, values: Values) -> tuple[Array, Array, Array]:
        """The next kernels, shape (q,); their derivatives in the kernels, shape (q, q); and those of what the layer
        adds to the kernels that the skip connection keeps.
        """
        numbers = self._compiled(values | dict(zip(self.state, map(float, kernels), strict=True)))
        size = len(self.state)
        slopes, kept = (part.reshape(size, size) for part in np.split(numbers[size:], 2))
        return numbers[:size], slopes, slopes - kept


class ScaleSlopes:
    """The derivative in a parameter of ``log dM_t/dx_t`` along the flow of the maps M.

    Args:
        layer: its theory.
        inputs: 1 or 2; then t is the covariance, on which no other map depends.
        scale: the parameter.
    """

    def __init__(self, layer: LayerTheory, inputs: int, scale: sp.Symbol) -> None:
        self.state: Sequence[sp.Symbol] = ONE if inputs == 1 else PAIR
        maps, target = maps_of(layer, inputs), inputs - 1
        slopes = slopes_of(layer, maps, self.state)
        steep = slopes[target][target]
        moves = [[*row, m.diff(scale)] for row, m in zip(slopes, maps, strict=True)]
        expressions = [*maps, *(move for row in moves for move in row), steep]
        expressions += [steep.diff(x) for x in (*self.state, scale)]
        self._compiled = CompiledExpressions(expressions)
        self._largest = largest_kernel(expressions)

    def at(self, kernels: Array, moved: Array, values: Values) -> tuple[Array, Array, float, float]:
        """One layer further: the state, its derivative in the parameter, the slope, the derivative of its logarithm.

        Args:
            kernels: the state before.
            moved: its derivative in the parameter.
            values: of all parameters.

        Raises:
            NoClosedForm: kernels are too large for averages by quadrature.
        """
        size = len(self.state)
        if not max(kernels) <= self._largest:
            found = f"averages by quadrature lose all digits above K = {self._largest:g}"
            raise NoClosedForm(f"a response at the kernel {max(kernels):g}", found, "take smaller kernels")
        numbers = self._compiled(values | dict(zip(self.state, map(float, kernels), strict=True)))
        following, derivatives = numbers[:size], numbers[size:]
        slopes = derivatives[: size * (size + 1)].reshape(size, size + 1)
        steep, rates = derivatives[size * (size + 1)], derivatives[size * (size + 1) + 1 :]
        with np.errstate(divide="ignore", invalid="ignore"):
            total = float((rates[:size] @ moved + rates[size]) / steep)
            return following, slopes[:, :size] @ moved + slopes[:, size], float(steep), total


def response(
    kernels: Array, layers: Sequence[tuple[LayerTheory, Values]], readout: tuple[LayerTheory, Values]
) -> Response:
    """Derivatives of the kernels of all layers in that of the input: K, or K11, K12, K22."""
    inputs = 1 if len(kernels) == 1 else 2
    kinds = dict.fromkeys(layer for layer, _ in (*layers, readout))
    compiled = {layer: LayerSlopes(layer, inputs) for layer in kinds}
    total = np.eye(len(kernels))
    chi, eta = [total], [total]
    for layer, values in layers:
        kernels, jacobian, added = compiled[layer].at(kernels, values)
        eta.append(added @ total)
        total = jacobian @ total
        chi.append(total)
    last, values = readout
    out = compiled[last].at(kernels, values)[1] @ total
    return Response([_value(m) for m in eta], [_value(m) for m in chi], _value(out))


def _value(matrix: Array) -> Value:
    return float(matrix[0, 0]) if matrix.size == 1 else matrix


def response_decay(kernel_map: Quantity, chi: Quantity, memory: Quantity, critical: Exponents) -> ResponseDecay:
    """The power law of eta, the response of what a layer adds, where it falls like a power of the depth.

    With ``eta^{l+1} = (chi_parallel - rho^2) chi^l``: where the kernel grows and ``chi_parallel - 1`` falls like
    ``l^-p``, so does ``eta/chi``, and chi itself converges for p > 1. Where the kernel flows to 0 like ``l^-q``,
    ``dK/dl = -a K^m`` with ``q = 1/(m - 1)``, its derivative in the kernel of the input is ``(K^l/K^0)^m``, which falls
    like ``l^-(1 + q)``.

    Args:
        kernel_map: K'.
        chi: chi_parallel.
        memory: rho, the weight of the skip connection.
        critical: exponents of the kernel at the critical point, or of one that grows.

    Raises:
        NoClosedForm: the response falls exponentially, or no law is known.
    """
    if Status.UNKNOWN not in (kernel_map.status, chi.status) and memory.body == 1:
        law = growth(kernel_map, chi)
        if law is not None and law.excess != 0:
            speed = sp.factor_terms((1 - law.power) * law.rate)
            order = law.decay / (1 - law.power)
            ratio = sp.factor_terms(law.excess * speed**-order)
            if order >= 1:
                return ResponseDecay(order if order > 1 else order - ratio, ratio, order)
    if critical.kernel is not None and critical.kernel.is_positive:
        return ResponseDecay(1 + critical.kernel, sp.expand(1 - memory.body**2), sp.Integer(0))
    raise NoClosedForm(
        "a power law of the response",
        "away from criticality it falls or grows exponentially, by the factor chi_parallel in each layer",
        "ask for response(depth, K) or phase(...)",
    )


def readout_of(layers: Sequence[LayerTheory]) -> LayerTheory:
    """A dense layer after the activation of the last layer, ``mlp(phi)`` with the same C_W and C_b.

    Raises:
        DeclarationError: there is no layer, or it has several activations or none.
    """
    formulas = layers[-1].layer.formulas if layers else ()
    if len(formulas) != 1:
        raise DeclarationError(
            "the response of an output",
            f"the last layer has {len(formulas)} activations, so that the readout has to be chosen",
            "pass readout=sr.derive(sr.mlp(phi)), or sr.derive(sr.Layer(sr.Dense(sr.z)))",
        )
    (formula,) = formulas
    return replace(layers[-1], layer=mlp(Activation(formula.name, formula.expr, formula.parameters)))
