"""The fluctuations of a network of finite width, layer by layer; the numbers of the parameters of each layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import mpmath as mp
import sympy as sp

from ...activations.activation import Activation
from ...activations.catalogue import activation
from ...activations.piecewise import PiecewiseFunction
from ...core.errors import DeclarationError, UnsupportedLayer
from ...core.scalars import Number, number, parameter
from ...core.symbols import z
from ...functions.floats.float_averages import FloatFunction, coefficients
from ...gaussian.calculus.integrand import pieces_of
from ...numerics.deferred_numpy import Array, np
from ...results.annotated_numbers import EstimatedNumber, Estimates, Response
from ...results.quantity import Quantity
from ..finite_width.fluctuations import DeepFluctuations, Fluctuations, states_of
from ..finite_width.layer_noise import CompiledLayer
from ..observables.layer_theory import LayerTheory
from ..quantities.build import has_softmax
from ..response.kernel_response import readout_of, response

DIGITS = 18  # of every step: results are good to 15
_OF_OVERLAPS = 12  # where attention is: sums in double precision have no more, balls take seconds

Parameter: TypeAlias = Number | Sequence[Number]  # of all layers, or of each
Values: TypeAlias = dict[str, Number]
Kernels: TypeAlias = Number | Sequence[Sequence[Number]]  # of one input, or the matrix of several
Function: TypeAlias = Activation | sp.Expr | str | Callable[[sp.Symbol], sp.Expr]
_SINGULAR = 1e-12  # an eigenvalue of this size is 0
_PARALLEL = 1e-14  # the squared sine of an angle that is 0


def by_layer(
    layers: Sequence[LayerTheory], params: Mapping[str, Parameter], also: Sequence[LayerTheory] = ()
) -> list[Values]:
    """The parameters of every layer: a sequence has one value for each. Those of other layers may ``also`` be named.

    Raises:
        DeclarationError: a sequence of another length, or a name that no layer knows.
    """
    by_name = {name: listed(value) for name, value in params.items()}
    for name, value in by_name.items():
        if isinstance(value, list) and len(value) != len(layers):
            raise DeclarationError(
                f"{name} of {len(layers)} layers", f"it has {len(value)} values", "pass one value for each layer"
            )
    known = {name for layer in (*layers, *also) for name in layer.parameter_names}
    for name in params:
        if name not in known and name != "C":
            raise DeclarationError(
                f"a value for {name}", "no layer has this parameter", f"pass {', '.join(sorted(known))}"
            )
    columns = {name: value if isinstance(value, list) else [value] * len(layers) for name, value in by_name.items()}
    return [
        {name: values[place] for name, values in columns.items() if name in layer.parameter_names}
        for place, layer in enumerate(layers)
    ]


def number_of(quantity: Quantity, values: Mapping[str, Parameter]) -> mp.mpf:
    """The quantity at the values of its own symbols."""
    names: Sequence[str] = [s.name for s in (*quantity.symbols, *quantity.unused)]
    digits = _OF_OVERLAPS if has_softmax(quantity.body, quantity.steps) else DIGITS
    return quantity.evalf(digits, **{name: value for name, value in values.items() if name in names})


def listed(value: Parameter) -> Number | list[Number]:
    """A list of one value for each layer, from a list, a tuple or an array of one dimension; else the number."""
    several = isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1
    return list(cast(Sequence[Number], value)) if several else cast(Number, value)


def float_values(layer: LayerTheory, values: Values) -> dict[sp.Symbol, float]:
    """The parameters of a layer in double precision."""
    return {s: float(number(values[s.name], s.name)) for s in layer.layer.parameters}


class FluctuatingNetwork:
    """A network of layers, one after the other, at order 1/n.

    Args:
        layers: the theory of each layer.
        kind: the theory of all layers, known also where there are none; None if layers differ.
    """

    layers: tuple[LayerTheory, ...]
    kind: LayerTheory | None

    @property
    def depth(self) -> int:
        """The number of layers.

        Examples:
            >>> sr.network(["relu"]*3).depth
            3
        """
        return len(self.layers)

    @property
    def _kinds(self) -> tuple[LayerTheory, ...]:
        """The layers; of a network of none, the layer that it has none of."""
        return self.layers or ((self.kind,) if self.kind else ())

    def _by_layer(self, params: Mapping[str, Parameter]) -> list[Values]:
        return by_layer(self.layers, params, self._kinds)

    def fluctuations(self, /, K: Kernels, **params: Parameter) -> DeepFluctuations:
        """The fluctuations at order 1/n of the stream before every layer and after the last.

        Neurons of the inputs are independent, and their kernel does not fluctuate.

        Args:
            K: kernel that enters the first layer: a number, or the (p, p) matrix of p inputs as nested lists, no two of
                which are parallel.
            params: numbers, by name.

        Returns:
            DeepFluctuations, whose ``states`` have the four-point vertex V, the fluctuation P of the conditional
            kernel, and the covariance D of mean and kernel.

        Raises:
            UnsupportedLayer: a layer averages over a batch, or multiplies functions of too many different neurons.
                Of three inputs or more, products of two averages count as well.
            DeclarationError: a parameter without a value, or a kernel that is none.

        Examples:
            >>> found = sr.network(["linear"]*3).fluctuations(K=1, C_W=1, C_b=0)
            >>> [round(float(state.P.item()), 9) for state in found.states]
            [0.0, 2.0, 4.0, 6.0]
        """
        kernel = kernel_matrix(K)
        parameters = self._by_layer(params)
        kinds: dict[LayerTheory, CompiledLayer] = {}
        for layer, values in zip(self.layers, parameters, strict=True):
            if layer not in kinds:
                kinds[layer] = layer.fluctuating(min(len(kernel), 2))
                number_of(layer.kernel_map, {"K": kernel[0][0]} | values)  # refuses what is missing
        numbers = [float_values(layer, values) for layer, values in zip(self.layers, parameters, strict=True)]
        rows = [(kinds[layer], values) for layer, values in zip(self.layers, numbers, strict=True)]
        states = states_of(np.array([[float(k) for k in row] for row in kernel]), rows)
        errors = [self._float_error([s.kernel[a, a] for s in states], parameters) for a in range(len(kernel))]
        return DeepFluctuations(states, max(errors))

    def _float_error(self, kernels: Sequence[float], params: Sequence[Values]) -> float:
        """The largest relative error of one input's kernels: of each kind of layer, the first and the last."""
        places = {layer: place for place, layer in reversed(list(enumerate(self.layers)))}
        errors = [0.0]
        for place in {*places.values(), *([self.depth - 1] if self.layers else [])}:
            right = number_of(self.layers[place].kernel_map, {"K": kernels[place]} | params[place])
            errors.append(abs(float(kernels[place + 1] / right) - 1) if right else 0.0)
        return max(errors)

    def response(self, /, K: Kernels, readout: LayerTheory | None = None, **params: Parameter) -> Response:
        """How the kernels of all layers and of the output respond to that of the input.

        Args:
            K: kernel of the input, or the matrix of two inputs that are not parallel.
            readout: the layer that makes the output; by default one dense layer after the activation, ``mlp(phi)``.
            params: numbers, by name; of a list the readout takes the last.

        Raises:
            NoClosedForm: a map of a layer is unknown.
            UnsupportedLayer: a layer normalises over a batch.
            DeclarationError: the last layer has several activations, and no readout is given.

        Source:
            Fischer et al. (51) to (55).

        Examples:
            >>> sr.network(["abs"]*2).response(K=1, C_W=[2, 3], C_b=0).chi
            [1.0, 2.0, 6.0]
        """
        if any(layer.has_covariance for layer in self.layers):
            raise UnsupportedLayer(
                "the response of a network",
                "a layer normalises over a batch, or mixes positions, which respond together",
                "normalise over neurons (LayerNorm, RMSNorm), or ask for the maps at infinite width",
            )
        kernels = entries(kernel_matrix(K))
        last = readout or readout_of(self._kinds)
        named = {name: self._with_readout(name, value) for name, value in params.items()}
        layers, rows = (*self.layers, last), []
        for layer, values in zip(layers, by_layer(layers, named, self._kinds), strict=True):
            number_of(layer.kernel_map, {"K": 1} | values)  # refuses what is missing
            rows.append((layer, float_values(layer, values)))
        return response(np.array([float(k) for k in kernels]), rows[:-1], rows[-1])

    def _with_readout(self, name: str, value: Parameter) -> Parameter:
        """Of a list for each layer, the readout takes the last."""
        values = listed(value)
        if not isinstance(values, list):
            return values
        if len(values) != self.depth or not values:
            several = "pass one number for each layer; the readout takes the last"
            raise DeclarationError(
                f"{name} of {self.depth} layers",
                f"it has {len(values)} values",
                several if self.depth else "pass one number, that of the readout",
            )
        return [*values, values[-1]]

    def vertex(self, /, K: Kernels, **params: Parameter) -> Estimates | list[Array]:
        """``[V^0, ..., V^L]``: the four-point vertex ``n E[z_i^2 z_j^2]_c`` of two neurons, V^0 = 0.

        Args:
            K: kernel of the input: a number; or the (p, p) matrix of p inputs, no two of which are parallel.
            params: numbers for all parameters, by name; a list has one for each layer.

        Returns:
            L + 1 numbers in units of K^2, with their absolute ``errors``. Of p inputs, arrays of shape (p, p, p, p):
            ``V[a,b,c,d] = n Cov(z_ia z_ib, z_jc z_jd)``.

        Examples:
            Each layer adds ``(<phi^4>/<phi^2>^2 - 1)`` at kernels of 1: 5 for relu, 2 for linear.

            >>> [round(V, 9) for V in sr.network(["relu", "linear"]).vertex(K=1, C_W=[2, 1], C_b=0)]
            [0.0, 5.0, 7.0]
        """
        return _of_states(self.fluctuations(K, **params), lambda state: state.V)

    def kernel_fluctuation(self, /, K: Kernels, **params: Parameter) -> Estimates | list[Array]:
        """``[P^0, ..., P^L]``: n times the variance of the conditional kernel, the sum of the layers' covariances.

        It is what the empirical averages of all layers before fluctuate by; V has also what neurons remember. The
        variance of the empirical kernel is ``n Var((1/n) sum z_i^2) = V + 2 K^2``. Of p inputs arrays of shape
        (p, p, p, p): ``P[a,b,c,d] = n Cov(K_ab, K_cd)``.

        Args:
            K: kernel of the input, or the matrix of several, as for ``vertex``.
            params: numbers, by name.

        Examples:
            >>> [round(P, 9) for P in sr.network(["relu", "linear"]).kernel_fluctuation(K=1, C_W=[2, 1], C_b=0)]
            [0.0, 5.0, 7.0]
        """
        return _of_states(self.fluctuations(K, **params), lambda state: state.P)

    def covariance(self, /, f: Function, g: Function, K: Number, **params: Parameter) -> EstimatedNumber:
        """``n Cov(f(z_i), g(z_j))`` of two neurons of the stream after the last layer.

        Args:
            f: an activation, its name or formula, an expression in ``z``, or a Python function of z that makes one.
            g: of the other neuron.
            K: kernel that enters the first layer.
            params: numbers, by name.

        Examples:
            >>> round(sr.network(["linear"]).covariance("z^2", "abs", K=1, C_W=1, C_b=0), 9)  # 2 d<|z|>/dK = sqrt(2/pi)
            0.797884561
        """
        fluctuations = self.fluctuations(K, **params)
        functions = [FloatFunction(_function(h)) for h in (f, g)]
        last = fluctuations.states[-1]
        expansions = [coefficients(h, float(last.kernel[0, 0]), last.G[0].shape[-1] - 1, {}) for h in functions]
        size = float(np.prod([np.sqrt(np.sum(h[1:] ** 2)) for h in expansions])) / float(last.kernel[0, 0]) ** 2
        return EstimatedNumber(last.covariance(*expansions), fluctuations.errors[-1] * size)


def kernel_matrix(K: Kernels, name: str = "K") -> list[list[sp.Expr]]:
    """The kernel of one input as a matrix, or that of several.

    Args:
        K: a number, or a square matrix as nested sequences or an array.
        name: what it is, for messages.

    Raises:
        DeclarationError: it is no number and no symmetric matrix of numbers, an input vanishes, two inputs are
            parallel, or no inputs have such products.
    """
    products = K.tolist() if isinstance(K, np.ndarray | np.generic) else K
    array = np.array(products, dtype=object)
    if not array.ndim:
        return [[_positive(products, name)]]
    p, asked = len(array), _shown(name, products)
    if array.shape != (p, p) or not p:
        found = "it is neither a number nor a square matrix"
        raise DeclarationError(asked, found, "pass one number, or [[K1, C], [C, K2]] and more rows")
    diagonal = [_positive(array[a, a], f"{name}[{a}][{a}]") for a in range(p)]
    rows = [[diagonal[a] if a == b else parameter(array[a, b], name) for b in range(p)] for a in range(p)]
    if any(rows[a][b] != rows[b][a] for a in range(p) for b in range(a)):
        raise DeclarationError(asked, "it is not a symmetric matrix", "pass [[K1, C], [C, K2]], or more rows")
    _require_inputs(rows, asked)
    return rows


def single_kernel(K: Kernels, name: str = "K") -> float:
    """The kernel of one input.

    Raises:
        DeclarationError: it is not positive, or that of several inputs.
    """
    rows = kernel_matrix(K, name)
    if len(rows) > 1:
        raise DeclarationError(_shown(name, K), f"it is a matrix of {len(rows)} inputs", "pass the kernel of one input")
    return float(rows[0][0])


def _positive(value: Number, name: str) -> sp.Expr:
    """The kernel of an input that does not vanish."""
    kernel = parameter(value, name)
    if not kernel > 0:
        says = "it is negative" if kernel < 0 else "an input of kernel 0 is zero"
        raise DeclarationError(f"the kernel {name} = {value} of an input", says, f"pass {name} > 0")
    return kernel


def _require_inputs(rows: Sequence[Sequence[sp.Expr]], asked: str) -> None:
    """Refuse a matrix that is the kernel of no inputs; it may be singular, if no two inputs are parallel."""
    scale = [float(row[a]) ** -0.5 for a, row in enumerate(rows)]
    cosines = np.array([[float(v) * scale[a] * scale[b] for b, v in enumerate(row)] for a, row in enumerate(rows)])
    least = np.linalg.eigvalsh(cosines)[0]
    if least < -_SINGULAR * len(rows):
        found = f"no inputs have it: their cosines have the eigenvalue {least:.3g} < 0"
        raise DeclarationError(asked, found, "pass the matrix of scalar products of the inputs")
    for a, row in enumerate(rows):
        for b in range(a):
            product = row[a] * rows[b][b]
            if float((product - row[b] ** 2) / product) <= _PARALLEL:
                found = f"inputs {b} and {a} (counted from 0) are parallel"
                raise DeclarationError(asked, found, "pass kernels with C**2 < K1*K2")


def _shown(name: str, value: object) -> str:
    text = str(value)
    return f"{name} = {text if len(text) <= 80 else text[:77] + '...'}"


def entries(kernel: Sequence[Sequence[sp.Expr]]) -> list[sp.Expr]:
    """K of one input, or K11, K12, K22."""
    if len(kernel) > 2:
        raise DeclarationError(f"the response of {len(kernel)} inputs", "it exists for one or two", "pass a 2x2 matrix")
    return [kernel[a][b] for a in range(len(kernel)) for b in range(a, len(kernel))]


def _of_states(fluctuations: DeepFluctuations, entry: Callable[[Fluctuations], Array]) -> Estimates | list[Array]:
    """A number for each state, or an array for several inputs."""
    arrays = [entry(state) for state in fluctuations.states]
    return fluctuations.estimates([float(a.item()) for a in arrays]) if arrays[0].size == 1 else arrays


def _function(f: Function) -> PiecewiseFunction:
    """A function of one neuron between its breakpoints."""
    made = f(z) if callable(f) and not isinstance(f, Activation | sp.Expr) else f
    expression = made if isinstance(made, sp.Expr) else activation(made)(z)
    if expression.free_symbols - {z}:
        raise DeclarationError(f"the function {expression}", "it has parameters", "pass a function of sr.z alone")
    return pieces_of(expression, z)
