"""What was read of a model: its blocks as layers of the theory, with their maps as floats, and what stays measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType

import sympy as sp

from ...activations.activation import Activation
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, UnsupportedLayer
from ...core.symbols import C, K, T, z
from ...functions.floats.float_averages import CompiledExpressions
from ...functions.records.softmax_family import SoftmaxOverlap
from ...layers.layer import Layer
from ...layers.mixing import Conv
from ...layers.nodes import Dense, Drawn
from ...report.text.formula_text import Maths
from ...theory.observables.layer_maps import CHI_PERP, KERNEL_MAP
from ...theory.theory import Theory, derive
from ...theory.walk.assignments import Assignment
from ..equations.formula_values import OpaquePart, factored
from ..equations.position_uses import AttentionUse, WindowUse

_OBSERVABLES = {observable.name: observable for observable in (KERNEL_MAP, CHI_PERP)}
_DIGITS = 8  # of layers that mix tokens: doubles have them
_STRONG = 32.0  # scores whose averages need more digits than doubles have
_KEPT = 128  # both observables of each layer: more layers than one model has


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
        inputs: number of neurons that go in.
        outputs: number of neurons that come out.
        axis: of the neurons that go in, negative.
        positions: of each input that goes in, their number along each axis.
    """

    entry: str
    exit: str
    kernels: tuple[float, ...]
    width: int
    inputs: int
    outputs: int
    axis: int = -1
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
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
        attention: how each attention layer makes scores.
        windows: which positions each of the dense layers sees that are convolutions; None for others.
        opaque: what was not read, at the first place.
        reason: why it stays measured; empty for a layer.
        remarks: what a reader should know.
        checks: comparisons with networks of random weights that the layer passed.
        spans: where each is in the run.
        unlike_draws: the places whose weights act on the stream of the model unlike independent draws.
        is_gaussian: whether the stream behind may be Gaussian; it is not where an activation is added to it.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> _ = torch.manual_seed(0)
        >>> model = Sequential(Linear(8, 64), ReLU(), Linear(64, 64), ReLU(), Linear(64, 64))
        >>> for name, tensor in model.named_parameters():
        ...     _ = torch.nn.init.normal_(tensor, std=(2/64)**0.5 if "weight" in name else 0)
        >>> block = st.read(model)["2"]
        >>> block.text, block.places, block.count, block.is_known, block.activation.name, block.skip_weight
        ("z' = Dense(relu(z))", ('2', '4'), 2, True, 'relu', 0.0)
        >>> abs(block.C_W[0]["2"] - 2) < 0.2, block.C_b, sorted(block.numbers[0])
        (True, ({'2': 0.0}, {'4': 0.0}), ['C_W', 'C_b'])
        >>> block.form_theory.chi_perp.expr, abs(block.theory.chi_perp(K=1) - 1) < 0.1
        (C_W/2, True)
        >>> len(block.layers), block.layer == block.layers[0]
        (2, True)

        Attention, whose scores have a record beside the variances:

        >>> layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        >>> block = st.read(layer, torch.randn(2, 6, 32), check=False).blocks[0]
        >>> block.attention[0].heads, block.attention[0].head_width, block.attention[0].is_causal
        (4, 8, False)

        A convolution, a dense layer where pixels are alike:

        >>> block = st.read(torch.nn.Conv2d(8, 64, 3, padding=1), torch.randn(2, 8, 6, 6), check=False).blocks[0]
        >>> block.text, block.windows[0].padding, block.of_positions.text, block.normalises_batch
        ("z' = Dense(z)", 'zeros', 'Conv(z)', False)
    """

    _names = MappingProxyType(
        {
            "parts": ("place", "places", "count", "activations", "activation", "norms", "opaque", "dense"),
            "positions": ("attention", "windows", "of_positions", "normalises_batch"),
            "layer": (
                "text",
                "is_known",
                "is_gaussian",
                "form",
                "form_theory",
                "layer",
                "layers",
                "theory",
                "skip_weight",
            ),
            "numbers": ("C_W", "C_b", "numbers"),
            "words": ("reason", "remarks", "checks", "unlike_draws"),
        }
    )

    place: str
    places: tuple[str, ...]
    form: Layer | None
    text: str
    dense: tuple[tuple[DenseNumbers, ...], ...]
    activations: tuple[Activation, ...] = ()
    norms: tuple[str, ...] = ()
    attention: tuple[AttentionUse, ...] = ()
    windows: tuple[WindowUse | None, ...] = ()
    opaque: tuple[OpaquePart, ...] = ()
    reason: str = ""
    remarks: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    spans: tuple[StretchPlaces, ...] = field(default=(), repr=False)
    unlike_draws: tuple[str, ...] = ()
    is_gaussian: bool = True

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.places)

    @property
    def is_known(self) -> bool:
        """Whether it is a layer of the theory."""
        return self.form is not None

    @property
    def skip_weight(self) -> float:
        """The weight with which the stream itself is part of the next one."""
        terms = () if self.form is None else sp.Add.make_args(self.form.forward)
        return float(sum(number for number, bare in map(factored, terms) if bare == z))

    @cached_property
    def of_positions(self) -> Layer | None:
        """The layer with convolutions where it has windows; None where the theory of grids has no such layer."""
        uses = {each.symbols[0]: use for each, use in zip(self.dense[0], self.windows, strict=True) if use is not None}
        around = {name: shares for name, use in uses.items() if (shares := use.around) is not None}
        paddings = {use.padding for use in uses.values()} - {"none"}
        if self.form is None or len(around) < len(uses) or len(paddings) > 1:
            return None

        def convolution(node: Dense) -> Drawn:
            u, C_W, C_b, _, tag = node.args
            use = uses.get(str(C_W))
            if use is None or use.size == use.stride == (1,) * len(use.size):
                return node
            shares = around[str(C_W)]
            window = shares if 0 in sp.flatten(shares) else None
            return Conv(u, C_W, C_b, len(shares), window, use.stride[0], tag=tag)

        return Layer(self.form.forward.replace(lambda node: isinstance(node, Dense), convolution))

    @property
    def normalises_batch(self) -> bool:
        """Whether inputs are normalised together."""
        return self.form is not None and self.form.program.has_batch

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
        names = {str(parameter) for parameter in self._form.parameters}
        return tuple(
            self._form.subs(**{name: value for name, value in numbers.items() if name in names})
            for numbers in self.numbers
        )

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
            raise DeclarationError(f"the layer of {self.place}", f"it has no theory: {self.reason}", "use st.measure")
        return self.form

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
        facts += [Fact("heads", use.text) for use in self.attention]
        facts += [Fact("norm", name) for name in self.norms]
        named = {a.name: a for a in self.activations if a.formula.label()[0]}  # a formula says what it is
        facts += [Fact("activation", f"{name}(z) = {Maths(unicode=False)(a.expr)}") for name, a in named.items()]
        if self.reason:
            facts.append(Fact("measured because", self.reason))
        for part in self.opaque:
            where = f" ({part.code})" if part.code else ""
            facts.append(Fact("not read", f"{part.kind}{where}" + (f" in {part.place}" if part.place else "")))
        facts += [Fact("checked", check) for check in self.checks]
        return facts + [Fact("note", remark) for remark in self.remarks]


def common_name(names: Sequence[str]) -> str:
    """One name for several that differ in numbers: ``h.*.mlp``; lists of equally many names entry by entry."""
    lists = [name.split(", ") for name in names]
    if {len(each) for each in lists} == {len(lists[0])} != {1}:
        return ", ".join(common_name(entries) for entries in zip(*lists, strict=True))
    first = names[0].split(".")
    split = [name.split(".") for name in names]
    if any(len(parts) != len(first) for parts in split):
        return f"{names[0]} ... {names[-1]}"
    common = [part if all(parts[i] == part for parts in split) else "*" for i, part in enumerate(first)]
    return f"{names[0]} ... {names[-1]}" if set(common) == {"*"} else ".".join(common)


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"


def layer_value(
    form: Layer,
    name: str,
    kernel: float,
    numbers: Mapping[str, float],
    tokens: int | None = None,
    covariance: float = 0.0,
) -> float:
    """An observable of one input in double precision.

    Args:
        form: the layer, variances being symbols.
        name: "kernel_map" or "chi_perp".
        kernel: of the stream that goes in.
        numbers: of the layer's parameters, by name.
        tokens: how many there are, where the layer mixes them.
        covariance: of two tokens, or of different inputs of a batch.

    Raises:
        SymresError: it is infinite, or has no definition in averages; or the layer mixes tokens, and none are given.
    """
    if form.program.has_positions:
        if tokens is None:
            found = "it depends on how many there are, and on their covariance"
            raise UnsupportedLayer(f"the {name} of a layer that mixes tokens", found, "ask .theory of the block")
        quantity = getattr(_derived(form), name)
        values = {K: kernel, C: covariance, **{p: numbers[p.name] for p in form.parameters}}
        values |= {T: tokens} if T in quantity.symbols else {}
        scores = max((float(atom.args[0].subs(values)) for atom in quantity.expr.atoms(SoftmaxOverlap)), default=0.0)
        if scores > _STRONG:
            found = f"scores have the variance {scores:.4g}, for which its sums are long"
            raise UnsupportedLayer(f"the {name} of attention", found, "ask .theory of the block")
        return float(quantity.evalf(_DIGITS, **{symbol.name: value for symbol, value in values.items()}))
    values = {p: numbers[p.name] for p in form.parameters if p.name in numbers}
    return float(_compiled(form, name)({K: kernel, C: covariance, **values})[0])


_derived = lru_cache(_KEPT)(derive)


@lru_cache(_KEPT)
def _compiled(form: Layer, name: str) -> CompiledExpressions:
    walks = derive(form).walks
    return compiled_expressions(walks.one.assignments, _OBSERVABLES[name].define(walks))


def compiled_expressions(assignments: Sequence[Assignment], *definitions: sp.Expr) -> CompiledExpressions:
    """Definitions in averages as floats, each average by quadrature; their named steps are written out."""
    for symbol, step in reversed(assignments):
        definitions = tuple(definition.xreplace({symbol: step}) for definition in definitions)
    return CompiledExpressions(definitions)
