"""What was read of a model: its blocks as layers of the theory, and what stays measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError
from ...layers.layouts import Axis
from ...theory.depth.network import Network
from ...theory.theory import Theory, network
from .read_block import ReadBlock


@dataclass(frozen=True, repr=False)
class Reading(Shown):
    """A model as layers of the theory, and what stays measured.

    Args:
        model: the name of its class.
        blocks: equal parts together, in the order in which the first of each comes.
        order: the parts of the model in the order of the stream: the position of the block, and which of its places.
        notes: what should be known about the whole.
        shared: the names of weights that several layers have.

    Examples:
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> _ = torch.manual_seed(0)
        >>> model = Sequential(Linear(16, 64), ReLU(), Linear(64, 64), ReLU(), Linear(64, 1))
        >>> reading = st.read(model)
        >>> [block.place for block in reading.blocks], reading.model
        (['0', '2', '4'], 'Sequential')
        >>> abs(reading["2"].C_W[0]["2"] - 1/3) < 0.02  # PyTorch draws weights with variance 1/(3 fan_in)
        True
        >>> len(reading.recognised), len(reading.unrecognised), reading.network().depth
        (3, 0, 3)
        >>> reading.theory.layer.formulas[0].name
        'relu'
    """

    model: str
    blocks: tuple[ReadBlock, ...]
    order: tuple[tuple[int, int], ...]
    notes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

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
                f"the theory of {self.model}", f"it has {len(kinds)} kinds of layers", "use .network() or .blocks"
            )
        return chosen[0]

    def network(self, positions: Axis | str | None = None) -> Network:
        """All layers in order, with the numbers of their weights.

        Args:
            positions: in each input, such as ``sr.Tokens(16)``, where layers mix them.

        Raises:
            DeclarationError: parts stay measured, or weights are shared between layers.
        """
        self._require_known("the network")
        if self.shared:
            raise DeclarationError(
                f"the network of {self.model}", f"layers share the weights {', '.join(self.shared)}", "use its blocks"
            )
        return network([self.blocks[block].layers[place] for block, place in self.order], positions)

    def _require_known(self, what: str) -> None:
        if unknown := self.unrecognised:
            names = ", ".join(block.place or block.text for block in unknown)
            raise DeclarationError(
                f"{what} of {self.model}", f"symres has no theory for {names}", "use the blocks in .recognised"
            )

    def _title(self) -> str:
        layers = sum(block.count for block in self.recognised)
        said = f"{self.model}: {layers} of {len(self.order)} parts are layers that the theory knows"
        unlike = sum(len(block.unlike_draws) for block in self.recognised)
        return said + (f", {unlike} of them with weights that do not act like independent draws" if unlike else "")

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
