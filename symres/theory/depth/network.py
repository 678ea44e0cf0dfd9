"""A deep network as a list of layers: kernels, tangent kernels and Jacobians, layer by layer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import mpmath as mp
import sympy as sp

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError
from ...core.scalars import Number, number, whole
from ...core.symbols import K as KERNEL
from ...core.words import counted
from ...notation import latex
from ...notation.facts import equation
from ...results.arguments_of_quantities import undirected
from ...results.subjects import DerivedNetwork
from ..names_by_purpose import parameters_by_name
from ..observables.layer_theory import LayerTheory
from .fluctuating_network import DIGITS, FluctuatingNetwork, Parameter, Values, number_of
from .position_network import PositionNetwork, State

Returned = TypeVar("Returned")

_SHOWN = 15  # digits of kernels that are shown


class _DualKernel(NamedTuple):
    K1: mp.mpf
    K2: mp.mpf
    C: mp.mpf
    Theta: mp.mpf


class DualKernel(_DualKernel, Shown):
    """The kernels of a layer for two inputs, a named tuple.

    Args:
        K1, K2: kernels of the inputs.
        C: their covariance, the kernel of the Gaussian process.
        Theta: their tangent kernel.

    Examples:
        >>> last = sr.network(["linear"]).dual_kernels(K1=1, K2=4, C=1, C_W=1, C_b="1/2")[-1]
        >>> {name: float(value) for name, value in last._asdict().items()}
        {'K1': 1.5, 'K2': 4.5, 'C': 1.5, 'Theta': 1.5}
    """

    __slots__ = ()

    def _title(self) -> str:
        return "kernels of two inputs"

    def _facts(self) -> list[Fact]:
        """The four numbers."""
        lefts = ("K_1", "K_2", "C", r"\Theta")
        numbers = [mp.nstr(value, _SHOWN) for value in self]
        rows = zip(self._fields, lefts, numbers, strict=True)
        return [Fact("", f"{name} = {value}", f"{left} = {value}") for name, left, value in rows]


@parameters_by_name
@dataclass(frozen=True, repr=False)
class Network(PositionNetwork, FluctuatingNetwork, DerivedNetwork, Shown):
    """Layers one after the other, the first nearest to the input.

    A read-in is the layer ``Layer(Dense(z))`` of inputs with kernels ``x.x'/fan_in``, a readout one without a skip.

    Args:
        layers: the theory of each layer.
        kind: the theory of all layers, known also where there are none; None if layers differ.

    Methods take numbers by name for all parameters; a list or tuple holds one number for each layer.

    Examples:
        A read-in, two residual layers and a readout, with numbers for each layer:

        >>> net = sr.network(["Dense(z)", "z + Dense(abs(z))", "z + Dense(abs(z))", "abs"])
        >>> net.depth, net.parameter_names
        (4, ['C_W', 'C_b'])
        >>> [float(kernel) for kernel in net.kernels(K=1, C_W=[2, 1, 1, "1/8"], C_b=0)]
        [1.0, 2.0, 4.0, 8.0, 1.0]
    """

    layers: tuple[LayerTheory, ...]
    kind: LayerTheory | None = field(default=None, repr=False, compare=False)

    @property
    def has_covariance(self) -> bool:
        """Whether one input has a covariance too, of two inputs of a batch or of two positions.

        Examples:
            >>> sr.network(["relu"]).has_covariance
            False
        """
        return any(layer.has_covariance for layer in self.layers)

    def _title(self) -> str:
        return f"network of {counted(self.depth, 'layer')}"

    def _facts(self) -> list[Fact]:
        """The equations, equal layers that follow each other together."""
        facts, first = [], 1
        for layer, group in groupby(theory.layer for theory in self.layers):
            last = first + sum(1 for _ in group) - 1
            label = f"layer {first}" if first == last else f"layers {first} to {last}"
            facts += [
                equation(str(left), latex(left), right, label if n == 0 else "")
                for n, (left, right) in enumerate(layer.equations)
            ]
            first = last + 1
        return facts

    @property
    def parameter_names(self) -> list[str]:
        """The names of the parameters of all layers, in the order of the layers.

        Examples:
            >>> sr.network(["relu", "leaky_relu"]).parameter_names
            ['C_W', 'C_b', 'slope']
        """
        return list(dict.fromkeys(name for theory in self.layers for name in theory.parameter_names))

    def kernels(self, /, K: Any, C: Number | None = None, **params: Parameter) -> list[Any]:
        """``[K^0, ..., K^L]`` of one input from K^0 = K, as mpmath numbers with 15 digits.

        Args:
            K: kernel that enters the first layer; on a Torus the array of covariances over displacements, on Listed
                positions their matrix.
            C: covariance of two inputs of a batch, or of two tokens; None where there are neither.
            params: numbers for all parameters, by name; a list has one for each layer. Of a batch on a torus also M,
                the covariance of two inputs at any positions.

        Returns:
            L + 1 numbers, the first K itself; of tokens pairs (K, C), with 12 digits. On a Torus or Listed arrays in
            double precision, good to 11 digits for kernels from 1e-3 to 100; with M pairs of an array and a number.
            ``.errors`` says how far they may be off where scores of attention are weak or sampled.

        Raises:
            DeclarationError: a parameter without a value, an unknown name, or a number outside of its range.

        Examples:
            >>> [float(kernel) for kernel in sr.network(["relu", "relu"]).kernels(K=1, C_W=2, C_b="1/2")]
            [1.0, 1.5, 2.0]
        """
        if (grid := self._grid) is not None and C is None:
            return self._on_grid(grid, K, params).kernels
        _, states = self._walked(K, params if C is None else {**params, "C": C})
        if any(layer.has_positions for layer in self.layers):
            return [(state["K"], state["C"]) for state in states]
        return [state["K"] for state in states]

    def chi_perp(self, /, K: Number, **params: Parameter) -> list[mp.mpf]:
        """``[chi_perp^0, ..., chi_perp^{L-1}]`` at the kernels that enter the layers.

        Examples:
            >>> [float(chi) for chi in sr.network(["linear", "abs"]).chi_perp(K=1, C_W=[2, 3], C_b=0)]
            [2.0, 3.0]
        """
        rows, _ = self._walked(K, params)
        return [number_of(layer.chi_perp, values) for layer, values in rows]

    def displacement(self, /, K: Number, **params: Parameter) -> list[mp.mpf]:
        """How far the stream has moved: ``Delta_l^2 = E (z^l_i - z^0_i)^2`` of one neuron, from 0 for l = 0.

        Args:
            K: kernel that enters the first layer.
            params: numbers, by name.

        Returns:
            depth + 1 numbers, in units of kernels; times the width it is the squared distance (Chizat, 2.1).

        Examples:
            At a kernel of 1 that is kept the square is ``2 - 2 gamma^l``:

            >>> net = sr.network(["z/2 + Dense(z)"]*2)
            >>> [float(square) for square in net.displacement(K=1, C_W="3/4", C_b=0)]
            [0.0, 1.0, 1.5]
        """
        rows, states = self._walked(K, params)
        weights = [[number_of(q, values) for q in (layer.memory, layer.shared_memory)] for layer, values in rows]
        first = states[0]["K"]
        with mp.workdps(DIGITS + 2):  # those of the kernels: 0 is 0
            covariance, between = first, states[0].get("C", mp.mpf(0))  # with the first stream; of another input's
            covariances = [covariance]
            for memory, shared in weights:
                covariance, between = memory * covariance + shared * between, (memory + shared) * between
                covariances.append(covariance)
            return [state["K"] - 2 * c + first for state, c in zip(states, covariances, strict=True)]

    def jacobian(self, /, l0: Number, l: Number, K: Number, **params: Parameter) -> mp.mpf:  # noqa: E741 (the name in the literature)
        """The averaged partial Jacobian norm ``J^{l0,l}``: the product of chi_perp from layer l0 to l.

        Args:
            l0: from the stream after so many layers; 0 is the stream of kernel K.
            l: to the stream after so many layers.
            K: kernel that enters the first layer.
            params: numbers, by name.

        Returns:
            ``E[(1/n) sum_ij (dz^l_j/dz^l0_i)^2]`` at infinite width (Doshi et al. (3), (14)).

        Examples:
            >>> float(sr.network(["relu"]*3).jacobian(l0=1, l=3, K=1, C_W=[2, 3, 4], C_b=0))  # 3/2 * 4/2
            3.0
        """
        first, last = whole(l0, "l0", 0), whole(l, "l", 0)
        if any(layer.moves_together for layer in self.layers):
            found = "squared derivatives of one token do not multiply, for tokens move one another"
            raise DeclarationError("the Jacobian of tokens", found, "ask for apjn(l0, l, K, C)")
        if not first <= last <= self.depth:
            found = f"it has {self.depth} layers" if first <= last else f"layer {last} comes before layer {first}"
            raise DeclarationError(f"the Jacobian from layer {first} to {last}", found, "pass l0 <= l <= depth")
        return mp.fprod(self.chi_perp(K, **params)[first:last])

    def input_jacobian(
        self,
        /,
        l: Number,  # noqa: E741
        K: Number,
        n_0: Number,
        read_in: tuple[Number, Number],
        **params: Parameter,
    ) -> mp.mpf:
        """``J^{0,l}`` from inputs of finite dimension through a read-in ``Dense(x)`` and the network's layers.

        Args:
            l: the stream that is differentiated, 1 for the one after the read-in, l - 1 layers deep.
            K: its kernel after the read-in, ``C_b + C_W |x|^2/n_0``.
            n_0: dimension of the input.
            read_in: C_W and C_b of the read-in.
            params: numbers, by name.

        Returns:
            ``J`` at the end of ``J' = chi_perp J + 2 chi_Delta S``, ``S' = chi_parallel^2 S``, from ``J = C_W`` and
            ``S = C_W (K - C_b)/n_0``, which is ``|dK/dx|^2/4``: a neuron is correlated with its own gradient, which its
            average over many inputs would hide. Doshi et al. (36) has the correction of the first layer alone.

        Raises:
            DeclarationError: the network is not that deep, or no input has that kernel after that read-in.

        Examples:
            >>> float(sr.network(["relu"]).input_jacobian(l=2, K=2, n_0=784, read_in=(2, 0), C_W=2, C_b=0))
            2.0
        """
        last = whole(l, "l", 1)
        if last > self.depth + 1:
            raise DeclarationError(f"the Jacobian to layer {last}", f"there are {self.depth + 1} layers", "pass less")
        pair = tuple(read_in) if isinstance(read_in, Iterable) and not isinstance(read_in, str) else ()
        if len(pair) != 2:
            raise DeclarationError(f"a read-in {read_in!r}", "it is not a pair of variances", "pass (C_W, C_b)")
        weight, bias = (_mpf(value, name) for value, name in zip(pair, ("C_W", "C_b"), strict=True))
        dimension, start = whole(n_0, "n_0", 1), _mpf(K, "K")
        if weight <= 0 or not 0 <= bias <= start:
            found = f"no input has kernel K = {K} after a read-in with C_W = {pair[0]}, C_b = {pair[1]}"
            raise DeclarationError("the Jacobian in the input", found, "pass C_W > 0 and 0 <= C_b <= K")
        norm, along = weight, weight * (start - bias) / dimension
        for layer, values in self._walked(K, params)[0][: last - 1]:
            chi, parallel, delta = (number_of(q, values) for q in (layer.chi_perp, layer.chi_parallel, layer.chi_delta))
            norm, along = chi * norm + 2 * delta * along, parallel**2 * along
        return norm

    def gradient_norms(self, /, K: Number, **params: Parameter) -> list[mp.mpf]:
        """For each layer the squared gradient of an output neuron in its parameters, in the NTK parametrisation.

        ``|dz^L/dtheta^l|^2 = J^{l+1,L} |dz^{l+1}/dtheta^l|^2`` (Doshi et al. (37)); their sum is the tangent kernel of
        the input with itself.

        Args:
            K: kernel that enters the first layer.
            params: numbers, by name.

        Raises:
            DeclarationError: a layer normalises over a batch, all of whose inputs a change of parameters moves.

        Examples:
            Of the first layer ``C_W K`` times chi_perp of the second, of the second ``C_W K'``:

            >>> [float(square) for square in sr.network(["linear"]*2).gradient_norms(K=1, C_W=2, C_b=0)]
            [4.0, 4.0]
        """
        if any(layer.has_covariance for layer in self.layers):
            raise DeclarationError(
                "gradient norms of a network",
                "a layer normalises over a batch, so that a change of parameters changes all inputs",
                "ask for parameter_norm of one layer, or for dual_kernels of two inputs",
            )
        chis = self.chi_perp(K, **params)
        norms = [number_of(layer.parameter_norm, values) for layer, values in self._walked(K, params)[0]]
        return [norm * mp.fprod(chis[layer + 1 :]) for layer, norm in enumerate(norms)]

    @property
    def has_tangent_kernel(self) -> bool:
        """Whether the tangent kernel of an input with itself is finite.

        It is not where an activation jumps, or is as steep as ``|z|^(1/2)`` somewhere, and a trained layer stands
        before it: the mean square of its slope is infinite.

        Examples:
            Trained weights in front of a step have gradients of infinite mean square:

            >>> sr.network(["step"]*2).has_tangent_kernel, sr.network(["step"]).has_tangent_kernel
            (False, True)
        """
        is_trained = False
        for layer in self.layers:
            norm, slope = layer.parameter_norm.expr, layer.chi_perp.expr
            if any(e is not None and e.has(sp.oo) for e in (norm, slope if is_trained else None)):
                return False
            is_trained = is_trained or norm != 0
        return True

    def nearby_inputs(
        self, /, K: Number, dK: Number, ddK: Number, **params: Parameter
    ) -> list[tuple[mp.mpf, mp.mpf, mp.mpf]]:
        """Kernels of two nearly equal inputs, ``K +- dK + ddK`` and covariance ``K - ddK`` (PDLT (B.12) to (B.14)).

        Args:
            K: kernel of the midpoint that enters the first layer.
            dK: half the difference of the kernels, of first order.
            ddK: quarter of the squared distance, of second order.
            params: numbers, by name.

        Returns:
            ``(K, dK, ddK)`` for every layer, the first as passed:
            ``dK' = chi_parallel dK`` and ``ddK' = chi_perp ddK + chi_Delta/2 dK^2``, where chi_Delta/2 is h for layers
            without normalisation.

        Examples:
            >>> last = sr.network(["square"]).nearby_inputs(K=1, dK="1/10", ddK="1/100", C_W=1, C_b=0)[-1]
            >>> [float(number) for number in last]  # 3 K^2, 6 K dK and 4 K ddK + 2 dK^2
            [3.0, 0.6, 0.06]
        """
        first, second = _mpf(dK, "dK"), _mpf(ddK, "ddK")
        rows, states = self._walked(K, params)
        orders = [(states[0]["K"], first, second)]
        for (layer, here), after in zip(rows, states[1:], strict=True):
            second = number_of(layer.chi_perp, here) * second + number_of(layer.chi_delta, here) / 2 * first**2
            first *= number_of(layer.chi_parallel, here)
            orders.append((after["K"], first, second))
        return orders

    def dual_kernels(
        self, /, K1: Number, K2: Number, C: Number, Theta: Number = 0, **params: Parameter
    ) -> list[DualKernel]:
        """The kernels of two inputs after every layer, the tangent kernel in the NTK parametrisation.

        Args:
            K1: kernel of the first input.
            K2: kernel of the second input.
            C: their covariance.
            Theta: their tangent kernel: 0 where no trained layer comes before.
            params: numbers, by name.

        Returns:
            depth + 1 entries; the first is what was passed. Equal inputs keep C = K1 = K2 exactly.

        Examples:
            >>> last = sr.network(["linear"]*2).dual_kernels(K1=1, K2=1, C="1/2", C_W=1, C_b=0)[-1]
            >>> float(last.C), float(last.Theta)
            (0.5, 1.0)
        """
        state = DualKernel(*(_mpf(value, name) for value, name in ((K1, "K1"), (K2, "K2"), (C, "C"), (Theta, "Theta"))))
        if any(layer.has_covariance for layer in self.layers) and state.K1 != state.K2:
            raise DeclarationError(
                "two inputs of a batch", f"their kernels {state.K1} and {state.K2} differ", "pass equal ones"
            )
        kernels = [state]
        for layer, numbers in zip(self.layers, self._by_layer(params), strict=True):
            values = _as_pair(layer, state._asdict()) | numbers
            first = number_of(layer.kernel_map, {"K": state.K1} | values)
            equal = state.K1 == state.K2 == state.C
            second = first if state.K1 == state.K2 else number_of(layer.kernel_map, {"K": state.K2} | values)
            both = first if equal and not layer.has_covariance else number_of(layer.covariance_map, values)
            state = DualKernel(first, second, both, number_of(layer.ntk_map, values | {"Theta": state.Theta}))
            kernels.append(state)
        return kernels

    def _walked(
        self, K: Number, params: Mapping[str, Parameter]
    ) -> tuple[list[tuple[LayerTheory, Values]], list[State]]:
        """Every layer with what its one-input maps depend on: the state that enters it, and its parameters.

        And the states, before every layer and after the last: K, and C of a batch.
        """
        named = dict(params)
        batch = any(layer.has_covariance for layer in self.layers)
        state: State = {"K": _mpf(K, "K")}
        if batch:
            if "C" not in named:
                raise DeclarationError(
                    "kernels of a batch or of positions",
                    "C, the covariance of two, has no value",
                    "pass it by name: C=0.5",
                )
            state["C"] = _mpf(named.pop("C"), "C")
        rows, states = [], [state]
        for layer, numbers in zip(self.layers, self._by_layer(named), strict=True):
            if layer.walks.is_directed and state["K"] == 0:
                raise undirected("a network", KERNEL)
            rows.append((layer, state | numbers))
            follow = layer.token_maps.kernels(state | numbers) if layer.has_positions else None
            if follow is None:
                follow = {"K": number_of(layer.kernel_map, state | numbers)}
                if batch:
                    follow["C"] = number_of(layer.covariance_map, _as_pair(layer, state) | numbers)
            state = follow
            states.append(state)
        return rows, states


def of_networks(method: Callable[..., Returned]) -> Callable[..., Returned]:
    """A method of networks as one of theories: of a network of equal layers, whose depth comes before the kernel.

    It has the name, the description and the signature of the other; an argument ``l`` is the depth itself.

    Args:
        method: of networks; its first argument after ``self`` whose name begins with K is a kernel.
    """
    theirs = signature(method)
    arguments = list(theirs.parameters.values())
    if is_deep := "l" not in theirs.parameters:
        kernel = next(place for place, argument in enumerate(arguments) if argument.name.startswith("K"))
        depth = inspect.Parameter("depth", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Number")
        arguments.insert(kernel, depth)
    ours = theirs.replace(parameters=arguments)

    @wraps(method)
    def call(*given: Any, **params: Any) -> Returned:
        try:
            values = ours.bind(*given, **params).arguments
        except TypeError as error:
            raise TypeError(f"{method.__name__}(): {error}") from None
        values["self"] = values["self"].network(values.pop("depth") if is_deep else values["l"])
        passed = inspect.BoundArguments(theirs, values)
        return method(*passed.args, **passed.kwargs)

    call.__signature__ = ours  # type: ignore[attr-defined]
    text = method.__doc__ or ""
    call.__doc__ = text.replace("            K", "            depth: number of layers.\n            K", is_deep)
    return call


def _as_pair(layer: LayerTheory, state: Mapping[str, Parameter]) -> Values:
    """What the two-input maps of a layer depend on."""
    if layer.has_covariance:
        return {"K": state.get("K", state.get("K1")), "C": state["C"]}
    return {"K1": state.get("K1", state.get("K")), "K2": state.get("K2", state.get("K")), "C": state["C"]}


def _mpf(value: Number, name: str) -> mp.mpf:
    exact = number(value, name)
    with mp.workdps(DIGITS + 2):
        return mp.mpf(int(exact.p)) / int(exact.q) if exact.is_Rational else mp.mpf(exact.evalf(DIGITS + 2))
