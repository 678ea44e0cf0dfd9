"""What was read of a model: its blocks as layers of the theory, and what stays measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import sympy as sp

from ...activations.activation import Activation
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError
from ...core.symbols import z
from ...layers.layer import Layer
from ...theory.depth.network import Network
from ...theory.theory import Theory, derive, network
from .opaque_parts import OpaquePart


@dataclass(frozen=True)
class DenseNumbers:
    """A dense layer or convolution in a block, with the variances of its weights.

    Args:
        name: the qualified name of the module.
        fan_in: how many entries go into a neuron.
        fan_out: how many neurons there are.
        C_W: fan_in*<w^2>, the number for ``symbols[0]``.
        C_b: <b^2>, the number for ``symbols[1]``; 0 without biases.
        symbols: their names in the equation of the block.
    """

    name: str
    fan_in: int
    fan_out: int
    C_W: float
    C_b: float
    symbols: tuple[str, str]


@dataclass(frozen=True)
class StretchPlaces:
    """Where a block is in a run of the model, for comparisons with measurements.

    Args:
        entry: the name of the place where the stream goes in, as measurements call it; empty where none is observable.
        exit: of the place where it comes out.
        kernels: mean squares of the stream that went in, at several positions of several inputs, in order of size.
        width: of the narrowest part over which the layer averages, for corrections of order 1/n.
        outputs: number of neurons that come out.
    """

    entry: str
    exit: str
    kernels: tuple[float, ...]
    width: int
    outputs: int


@dataclass(frozen=True)
class ReadBlock(Shown):
    """Equal parts of a model: a layer of the theory, or something that stays measured.

    Args:
        place: the name of the modules, ``*`` for what differs between them.
        places: the name of each.
        form: the layer, variances being symbols; None for what stays measured.
        text: its forward equation; of what stays measured as far as it was read, unknown modules being functions.
        dense: of each place the dense layers in the order of their symbols.
        activations: in order, each once.
        norms: the names of modules that normalise.
        opaque: what was not read, at the first place.
        reason: why it stays measured; empty for a layer.
        remarks: what a reader should know.
        checks: comparisons with networks of random weights that the layer passed.
        spans: where each is in the run.
    """

    place: str
    places: tuple[str, ...]
    form: Layer | None
    text: str
    dense: tuple[tuple[DenseNumbers, ...], ...]
    activations: tuple[Activation, ...] = ()
    norms: tuple[str, ...] = ()
    opaque: tuple[OpaquePart, ...] = ()
    reason: str = ""
    remarks: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    spans: tuple[StretchPlaces, ...] = field(default=(), repr=False)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.places)

    @property
    def is_known(self) -> bool:
        """Whether it is a layer of the theory."""
        return self.form is not None

    @property
    def has_skip(self) -> bool:
        """Whether the stream itself is part of the next one."""
        terms = () if self.form is None else sp.Add.make_args(self.form.forward)
        return any(term.as_coeff_Mul()[1] == z for term in terms)

    @property
    def activation(self) -> Activation | None:
        """The activation, if there is exactly one."""
        return self.activations[0] if len(self.activations) == 1 else None

    @property
    def numbers(self) -> tuple[Mapping[str, float], ...]:
        """Of each place the variances by the names of their symbols."""
        return tuple(
            {symbol: value for d in each for symbol, value in zip(d.symbols, (d.C_W, d.C_b), strict=True)}
            for each in self.dense
        )

    @property
    def C_W(self) -> tuple[Mapping[str, float], ...]:
        """Of each place fan_in*Var(weight) of the dense layers, by the names of their modules."""
        return tuple({d.name: d.C_W for d in each} for each in self.dense)

    @property
    def C_b(self) -> tuple[Mapping[str, float], ...]:
        """Of each place Var(bias) of the dense layers, by the names of their modules."""
        return tuple({d.name: d.C_b for d in each} for each in self.dense)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layer of each place with the numbers of its weights.

        Raises:
            DeclarationError: it stays measured.
        """
        return tuple(self._form.subs(**self._used(numbers)) for numbers in self.numbers)

    @property
    def layer(self) -> Layer | None:
        """The layer of the first place with the numbers of its weights; None for what stays measured."""
        return self.layers[0] if self.is_known else None

    @cached_property
    def theory(self) -> Theory:
        """The theory of the first place with the numbers of its weights.

        Raises:
            DeclarationError: it stays measured.
        """
        return derive(self.layers[0])

    @cached_property
    def form_theory(self) -> Theory:
        """The theory of the block with symbols for its variances, ``numbers`` being theirs.

        Raises:
            DeclarationError: it stays measured.
        """
        return derive(self._form)

    @property
    def _form(self) -> Layer:
        if self.form is None:
            raise DeclarationError(f"the layer of {self.place}", f"it is measured: {self.reason}", "use st.measure")
        return self.form

    def _used(self, numbers: Mapping[str, float]) -> dict[str, float]:
        names = {str(parameter) for parameter in self._form.parameters}
        return {name: value for name, value in numbers.items() if name in names}

    def _title(self) -> str:
        times = f", {self.count} times" if self.count > 1 else ""
        return f"{self.place}{times}: {'layer' if self.is_known else 'measured'}"

    def _facts(self) -> list[Fact]:
        facts = [Fact("", self.text)] if self.text else []
        for position, dense in enumerate(self.dense[0] if self.dense else ()):
            row = [each[position] for each in self.dense]
            name = common_name([d.name for d in row])
            values = f"{dense.symbols[0]} = {_range([d.C_W for d in row])}"
            values += f", {dense.symbols[1]} = {_range([d.C_b for d in row])}"
            facts.append(Fact(name, f"{dense.fan_in} to {dense.fan_out}, {values}"))
        facts += [Fact("norm", name) for name in self.norms]
        facts += [Fact("activation", f"{a.name}(z) = {a.expr}") for a in self.activations]
        if self.reason:
            facts.append(Fact("measured because", self.reason))
        for part in self.opaque:
            where = f" ({part.code})" if part.code else ""
            facts.append(Fact("not read", f"{part.kind}{where}" + (f" in {part.place}" if part.place else "")))
        facts += [Fact("checked", check) for check in self.checks]
        return facts + [Fact("note", remark) for remark in self.remarks]


@dataclass(frozen=True)
class Reading(Shown):
    """A model as layers of the theory, and what stays measured.

    Args:
        model: the name of its class.
        blocks: equal parts together, in the order in which the first of each comes.
        order: the parts of the model in the order of the stream: the position of the block, and which of its places.
        notes: what should be known about the whole.
    """

    model: str
    blocks: tuple[ReadBlock, ...]
    order: tuple[tuple[int, int], ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, place: str) -> ReadBlock:
        for block in self.blocks:
            if place == block.place or place in block.places:
                return block
        raise KeyError(place)

    @property
    def recognised(self) -> tuple[ReadBlock, ...]:
        """The blocks that are layers of the theory."""
        return tuple(block for block in self.blocks if block.is_known)

    @property
    def unrecognised(self) -> tuple[ReadBlock, ...]:
        """What stays measured, each with its reason and its place in the code."""
        return tuple(block for block in self.blocks if not block.is_known)

    @cached_property
    def theory(self) -> Theory:
        """The theory of the layer that the model repeats, with symbols for its variances.

        Raises:
            DeclarationError: parts stay measured, or there is no one layer between read-in and readout.
        """
        self._require_known("the theory")
        forms = [self.blocks[block].form_theory for block, _ in self.order]
        kinds = list(dict.fromkeys(forms))
        inner = list(dict.fromkeys(forms[1:-1]))
        chosen = kinds if len(kinds) == 1 else inner
        if len(chosen) != 1:
            raise DeclarationError(
                f"the theory of {self.model}", f"it has {len(kinds)} kinds of layers", "use .network(), or one block's"
            )
        return chosen[0]

    def network(self) -> Network:
        """All layers in order, with the numbers of their weights.

        Raises:
            DeclarationError: parts stay measured, or weights are shared between layers.
        """
        self._require_known("the network")
        names = [dense.name for block, place in self.order for dense in self.blocks[block].dense[place]]
        if shared := sorted({name for name in names if names.count(name) > 1}):
            raise DeclarationError(
                f"the network of {self.model}", f"layers share the weights {', '.join(shared)}", "use its blocks"
            )
        return network([self.blocks[block].layers[place] for block, place in self.order])

    def _require_known(self, what: str) -> None:
        if unknown := self.unrecognised:
            names = ", ".join(block.place or block.text for block in unknown)
            raise DeclarationError(f"{what} of {self.model}", f"measured parts: {names}", "use the blocks in .recognised")

    def _title(self) -> str:
        known = sum(block.count for block in self.recognised)
        return f"{self.model}: {known} of {len(self.order)} parts are layers that the theory knows"

    def _facts(self) -> list[Fact]:
        facts: list[Fact] = []
        for block in self.blocks:
            label = block.place + (f" ({block.count}x)" if block.count > 1 else "")
            if block.is_known:
                facts.append(Fact(label, block.text))
                facts += [f for f in block._facts()[1:] if f.label not in ("checked", "norm", "activation")]
            else:
                kinds = ", ".join(dict.fromkeys(f"{p.kind} ({p.code})" if p.code else p.kind for p in block.opaque))
                said = "; ".join(filter(None, [block.text, kinds, block.reason]))
                facts.append(Fact(label, f"measured: {said}"))
        return facts + [Fact("note", note) for note in self.notes]


def common_name(names: Sequence[str]) -> str:
    """One name for several that differ in numbers: ``h.*.mlp``."""
    first = names[0].split(".")
    split = [name.split(".") for name in names]
    if any(len(parts) != len(first) for parts in split):
        return f"{names[0]} ... {names[-1]}"
    found = [part if all(parts[i] == part for parts in split) else "*" for i, part in enumerate(first)]
    return f"{names[0]} ... {names[-1]}" if set(found) == {"*"} else ".".join(found)


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"
