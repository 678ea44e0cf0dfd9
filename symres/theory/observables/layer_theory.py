"""The theory of one layer: its observables as attributes, each derived when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import indent
from typing import Self, TypeVar, overload

import sympy as sp

from ...activations.formula_parser import nearest
from ...core import symbols
from ...core.errors import DeclarationError, OutOfBudget
from ...core.scalars import Number, scalar
from ...core.work_budget import Stage, limited
from ...layers.layer import Layer
from ...layers.layouts import ONE, Axis
from ...layers.positions import Tokens
from ...results.observable import Section
from ...results.quantity import Quantity
from ..finite_width.layer_noise import CompiledLayer
from ..finite_width.layer_response import LayerResponse
from ..quantities.build import unknown
from . import layer_maps, registry
from .layer_observable import LayerObservable, Subject
from .layer_walks import LayerWalks
from .token_maps import TokenMaps

Part = TypeVar("Part")


class Derived:
    """An observable of a layer as an attribute."""

    def __init__(self, record: LayerObservable) -> None:
        self.record = record
        self.__doc__ = _documented(record)

    @overload
    def __get__(self, layer: None, owner: type) -> Self: ...

    @overload
    def __get__(self, layer: LayerTheory, owner: type) -> Quantity: ...

    def __get__(self, layer: LayerTheory | None, owner: type) -> Self | Quantity:
        return self if layer is None else layer.derived(self.record)


def _documented(record: LayerObservable) -> str:
    """What ``help`` and the reference say of an observable."""
    source = f" ({record.source})" if record.source else ""
    arguments = ", ".join(symbol.name for symbol in record.arguments)
    unit = "a number" if record.unit == "1" else f"in units of {record.unit}"
    meaning = record.meaning.replace(": ", ", ")  # what stands before a colon is a type in Google's style
    lines = [
        f"{meaning[:1].upper()}{meaning[1:]}{source}.",
        f":math:`{record.notation}`: a Quantity in {arguments} and the parameters of the layer, {unit}.",
    ]
    if record.example:
        lines.append(f"Examples:\n{indent(record.example, '    ')}")
    return "\n\n".join(lines)


@dataclass(frozen=True)
class LayerTheory(Subject):
    """What a layer does to kernels, gradients and tangent kernels: each quantity is derived when it is asked for.

    Args:
        layer: the forward equation.
        positions: in each input; where the layer mixes them tokens in any number, or many if it needs many; else none.
    """

    layer: Layer
    positions: Axis | None = None

    def __post_init__(self) -> None:
        if self.positions is None:
            program = self.layer.program
            tokens = Tokens("oo") if program.is_uncorrelated else Tokens()
            object.__setattr__(self, "positions", tokens if program.has_positions else ONE)
        elif not isinstance(self.positions, Axis):
            remedy = "pass sr.Tokens(16), sr.Torus(8, 8) or sr.Listed(16)"
            raise DeclarationError(f"positions={self.positions}", "it is not a layout of positions", remedy)

    phi_squared = Derived(layer_maps.PHI_SQUARED)
    kernel_map = Derived(layer_maps.KERNEL_MAP)
    covariance_map = Derived(layer_maps.COVARIANCE_MAP)
    chi_parallel = Derived(layer_maps.CHI_PARALLEL)
    chi_perp = Derived(layer_maps.CHI_PERP)
    h = Derived(layer_maps.H)
    chi_delta = Derived(layer_maps.CHI_DELTA)
    covariance_slope = Derived(layer_maps.COVARIANCE_SLOPE)
    memory = Derived(layer_maps.MEMORY)
    shared_memory = Derived(layer_maps.SHARED_MEMORY)
    ntk_map = Derived(layer_maps.NTK_MAP)
    parameter_norm = Derived(layer_maps.PARAMETER_NORM)

    @cached_property
    def walks(self) -> LayerWalks:
        """The laws of the layer's neurons."""
        return LayerWalks(self.layer, self.positions or ONE)

    @property
    def parameter_names(self) -> list[str]:
        """The names of the layer's parameters, in alphabetical order.

        Examples:
            >>> sr.derive("swish", layer="residual").parameter_names
            ['C_W', 'C_b', 'beta', 'gamma']
        """
        return [symbol.name for symbol in self.layer.parameters]

    @cached_property
    def _known(self) -> dict[str, Quantity]:
        return {}

    def derived(self, record: LayerObservable) -> Quantity:
        """An observable of this layer, derived once; unknown if it takes more work than a quantity may."""
        if record.name not in self._known:
            try:
                with limited(Stage.QUANTITY, record.name):
                    self._known[record.name] = record.of(self)
            except OutOfBudget as error:
                self.given_up[record.name] = str(error)
                lost = unknown(record.name, record.arguments, error.found, **record.words)
                self._known[record.name] = lost
        return self._known[record.name]

    def quantity(self, name: str) -> Quantity:
        """An observable by its name.

        Raises:
            DeclarationError: the layer has no such observable.

        Examples:
            >>> sr.derive("linear").quantity("chi_perp").expr
            C_W
        """
        records = self.observables
        if name not in records:
            remedy = nearest(str(name), list(records)) or f"choose one of {', '.join(records)}"
            raise DeclarationError(f"the quantity {name}", "the layer has no quantity of this name", remedy)
        return self.derived(records[name])

    @cached_property
    def given_up(self) -> dict[str, str]:
        """What took more work than its budget, and how to ask for more, by its name; see ``symres.budget``."""
        return {}

    def attempted(self, stage: Stage, subject: str, compute: Callable[[], Part], otherwise: Part) -> Part:
        """A part of the theory within the budget of its stage; what stands in its place where that is not enough."""
        try:
            with limited(stage, subject):
                return compute()
        except OutOfBudget as error:
            self.given_up[subject] = str(error)
            return otherwise

    @property
    def observables(self) -> Mapping[str, LayerObservable]:
        """The records of all observables that have a meaning for this layer, by name, in the order of the page."""
        records = registry.observables.items()
        return {n: record for n, record in records if isinstance(record, LayerObservable) and record.applies_to(self)}

    def tangent_kernel_map(self, weight_rate: Number = 1, bias_rate: Number = 1) -> Quantity:
        """``ntk_map`` with learning rates of the weights and the biases.

        PDLT's lambda_W and lambda_b belong to weights that are not scaled: weight_rate = lambda_W/C_W and
        bias_rate = lambda_b/C_b.

        Args:
            weight_rate: of every w, a number or an expression in parameters.
            bias_rate: of every b.

        Returns:
            A Quantity in K1, K2, C, Theta and the parameters of the layer, in units of K.

        Examples:
            Of weights alone, for exp: the covariance is ``exp((K1 + K2)/2 + C)``, and so is that of the slopes:

            >>> sr.derive("exp(z)").tangent_kernel_map(weight_rate=1, bias_rate=0).expr
            C_W*(Theta + 1)*exp(C + K1/2 + K2/2)
        """
        rates = scalar(weight_rate, "weight_rate"), scalar(bias_rate, "bias_rate")
        return layer_maps.tangent_kernel_map(rates).of(self)

    @cached_property
    def _compiled(self) -> dict[int, CompiledLayer]:
        return {}

    def fluctuating(self, inputs: int) -> CompiledLayer:
        """The layer at finite width in numbers, for one input or for a pair.

        Raises:
            UnsupportedLayer: it averages over a batch.
        """
        if inputs not in self._compiled:
            self._compiled[inputs] = CompiledLayer(LayerResponse(self.layer.program, inputs))
        return self._compiled[inputs]

    @property
    def has_covariance(self) -> bool:
        """Whether the maps depend on the kernel K and a covariance C, of two inputs of a batch or two positions.

        Examples:
            >>> [sr.derive("linear", layer=layer).has_covariance for layer in ("batch_norm", "transformer", "mlp")]
            [True, True, False]
        """
        return self.walks.layout.has_pairs

    @property
    def has_positions(self) -> bool:
        """Whether inputs have positions.

        Examples:
            >>> sr.layer("Attention(z)").derive().has_positions, sr.derive("linear").has_positions
            (True, False)
        """
        return self.positions != ONE

    @cached_property
    def token_maps(self) -> TokenMaps:
        """The maps of K, C, t and s, compiled for stacks of many layers."""
        names = ("kernel_map", "covariance_map", "tangent_map", "tangent_covariance_map")
        one, two, moved, both = map(self.quantity, names)
        return TokenMaps((one, two), (moved, both))

    @property
    def sequence_length(self) -> sp.Expr:
        """The number of positions of an input, which may be oo or the parameter T; 1 where it has none.

        Examples:
            >>> sr.derive("gelu", layer="transformer", positions=sr.Tokens(16)).sequence_length
            16
        """
        return (self.positions or ONE).size

    @property
    def is_exchangeable(self) -> bool:
        """Whether any two positions are alike, as far as an input has any.

        Examples:
            >>> [sr.derive("Conv(z, 1, 0)", positions=of).is_exchangeable for of in (sr.Tokens(8), sr.Torus(8))]
            [True, False]
        """
        return not self.has_positions or isinstance(self.positions, Tokens)

    @property
    def is_uncorrelated(self) -> bool:
        """Whether it holds for positions without covariance alone.

        Examples:
            >>> sr.mixer("erf").derive().is_uncorrelated
            True
        """
        return self.layer.program.is_uncorrelated

    @property
    def moves_together(self) -> bool:
        """Whether the change of a neuron at one position depends on that at others."""
        return self.has_positions and self.quantity("tangent_map").definition.has(symbols.s)

    @property
    def all_quantities(self) -> Mapping[str, Quantity]:
        """Everything that can be exported and checked by name, derived when it is looked up; the page's come first.

        ``phi_squared`` of one activation only.

        Examples:
            >>> names = list(sr.derive("linear").all_quantities)
            >>> names[:2], names[-2:]
            (['phi_squared', 'kernel_map'], ['aspect_ratio', 'vertex_limit'])
        """
        return LazyQuantities(self.quantity, tuple(self.observables))

    @property
    def quantities(self) -> dict[str, Quantity]:
        """What a page, a document and a module of the theory hold, by name, in the order of the derivation.

        Examples:
            >>> list(sr.derive("linear").quantities)[:4]
            ['phi_squared', 'kernel_map', 'covariance_map', 'chi_parallel']
        """
        return self.of_section(Section.MAPS)

    def of_section(self, section: Section) -> dict[str, Quantity]:
        """The observables that are shown in one place, by name."""
        return {name: self.quantity(name) for name, record in self.observables.items() if record.section is section}


class LazyQuantities(Mapping[str, Quantity]):
    """A mapping from names, in their order, to quantities, each derived when it is looked up."""

    def __init__(self, derive: Callable[[str], Quantity], names: tuple[str, ...]) -> None:
        self._derive, self._names = derive, names

    def __getitem__(self, name: str) -> Quantity:
        if name not in self._names:
            raise KeyError(name)
        return self._derive(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
