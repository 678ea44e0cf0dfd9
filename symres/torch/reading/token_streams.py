"""Tokens of a model whose layers mix them: their Gram matrices, measured at a place, and what layers make of these."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp
import torch
from torch import nn

from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...layers.grids import Listed
from ...layers.normalisation import Normaliser
from ...theory.grids.grid_law import GridLaw, State
from ...theory.grids.stretches import stretches
from ..equations.formula_values import AttentionUse, factored
from ..models.call_arguments import CallArguments
from ..models.choosing import ChosenModules
from ..models.keeping import kept, seeded
from ..models.observing import Site, names_of, watching
from .read_block import ReadBlock

_ENTRIES = 2**19  # of Gram matrices that the theory follows; those of two inputs at least
MANY_TOKENS = "many tokens"
_UNSEEN = -1e4  # what masks add to scores of keys that are not seen, at most


def token_grams(
    model: nn.Module, arguments: CallArguments, chosen: ChosenModules, places: Collection[str], seed: int
) -> dict[str, np.ndarray]:
    """Gram matrices over tokens at some places, (inputs, tokens, tokens); of the first inputs where they are many.

    Args:
        model: as it is in evaluation mode.
        arguments: all inputs.
        chosen: the modules at which the places are.
        places: their names, "input" among them perhaps.
        seed: of whatever draws random numbers.
    """
    seen: list[tuple[Site, np.ndarray]] = []

    def gram(tensor: torch.Tensor) -> np.ndarray:
        rows = tensor.detach().to("cpu", torch.float64)
        if rows.ndim != 3:
            return np.empty((0, 0, 0))
        most = max(_ENTRIES // rows.shape[1] ** 2, 2)
        rows = rows[:most]
        return np.asarray((rows @ rows.mT / rows.shape[2]).numpy())

    def at(site: Site, tensor: torch.Tensor) -> None:
        if {*names_of([site])} & {*places}:
            seen.append((site, gram(tensor)))

    with seeded(seed), kept(model, train=False), torch.no_grad(), watching(chosen, at):
        arguments.call(model)
    grams = dict(zip(names_of([site for site, _ in seen]), (each for _, each in seen), strict=True))
    if "input" in places and arguments.differentiable is not None:
        grams["input"] = gram(arguments.differentiable)
    return {place: each for place, each in grams.items() if each.size}


def cosines(kernel: np.ndarray) -> float:
    """The mean cosine of two different tokens."""
    lengths = np.sqrt(kernel.diagonal())
    return float((kernel / np.outer(lengths, lengths))[~np.eye(len(kernel), dtype=bool)].mean())


@dataclass(frozen=True)
class TokenLayer:
    """One layer of a model on the tokens of some inputs.

    Args:
        block: that it is a place of.
        which: of its places.
        kernels: that go in, one matrix for each input.
    """

    block: ReadBlock
    which: int
    kernels: Sequence[np.ndarray]

    @cached_property
    def laws(self) -> list[GridLaw]:
        """Of each input."""
        return [self.law(number) for number in range(len(self.kernels))]

    def law(self, number: int, scale: float = 1.0, off: float = 0.0) -> GridLaw:
        """Of one input.

        Args:
            number: which.
            scale: of the kernel that goes in.
            off: how many of their errors rules that are not exact add.

        Raises:
            UnsupportedLayer: the theory has no such mask.
        """
        form, count = self.block.form, len(self.kernels[number])
        assert form is not None
        grids = {_positions(use, count, number) for use in self.block.attention} or {Listed(count)}
        if len(grids) > 1:
            found = "several attention layers of one block see different positions"
            raise UnsupportedLayer(f"the layer {self.block.text}", found, "use st.measure")
        values = self.block.numbers[self.which]
        numbers = {symbol: values[symbol.name] for symbol in form.parameters}
        return GridLaw(stretches(form, False), State(grids.pop(), self.kernels[number] * scale), numbers, off)

    @property
    def behind(self) -> list[np.ndarray]:
        """The kernels that come out."""
        return [law.next.kernel for law in self.laws]

    @property
    def is_normalised(self) -> bool:
        """Whether it ends with a norm."""
        return self.block.form is not None and isinstance(self.block.form.forward, Normaliser)

    @property
    def skip_weight(self) -> float:
        """With which the stream goes into the sum that the layer is, before a norm perhaps."""
        assert self.block.form is not None
        forward = self.block.form.forward
        terms = sp.Add.make_args(forward.args[0] if self.is_normalised else forward)
        return float(sum(number for number, bare in map(factored, terms) if bare == z))

    @property
    def off(self) -> tuple[float, float, float]:
        """How far kernel (relative), cosine (absolute) and chi (relative) may be off by weak or sampled scores."""
        law = self.laws[0]
        if law.is_exact:
            return 0.0, 0.0, 0.0
        other, identity = self.law(0, off=1.0), np.eye(len(self.kernels[0]))
        one, two = (
            (np.trace(each.next.kernel), cosines(each.next.kernel), np.trace(each.tangent(identity)))
            for each in (law, other)
        )
        return float(abs(two[0] / one[0] - 1)), float(abs(two[1] - one[1])), float(abs(two[2] / one[2] - 1))

    def finite_sizes(self, width: int) -> dict[str, float]:
        """Corrections to the kernel of attention at finite sizes, relative, by their names; for one input.

        With many tokens of n neurons, which overlap by ``n**-0.5``, kernels grow by ``sigma (q-p)^2/n`` q; with H heads
        the attention of a token to itself scatters; with heads of d neurons scores are not Gaussian.
        """
        sizes: dict[str, float] = {}
        for (rule, grams), use in zip(self.laws[0].attended, self.block.attention, strict=True):
            scores = rule.scores(grams)
            S, counts, keys = scores.variance, scores.seen.sum(axis=1), grams.grams[0]
            apart = float(
                keys.diagonal().mean() - (keys.mean() - keys.trace() / keys.size) / (1 - 1 / len(keys) + 1e-9)
            )
            total = float(rule.grid_kernel(replace(grams, off=0.0)).trace() / len(keys))
            alone = apart * np.exp(S) / counts / total
            parts = {
                MANY_TOKENS: float(S * apart / width / total),
                "heads": float((alone * np.minimum(1, S * np.sqrt(2 / counts))).mean()) / math.sqrt(use.heads),
                "width of heads": float(alone.mean()) * (S / (1 + S)) ** 2 / use.head_width,
            }
            sizes |= {name: max(value, sizes.get(name, 0.0)) for name, value in parts.items()}
        return sizes


def _positions(use: AttentionUse, count: int, number: int) -> Listed:
    """What an attention layer sees of one input.

    Raises:
        UnsupportedLayer: heads see different positions, or numbers are added to scores.
    """
    if use.mask is None:
        return Listed(count, mask="causal" if use.is_causal else None, rope=use.rope)
    masks = np.broadcast_to(use.mask, (*(1,) * (4 - use.mask.ndim), *use.mask.shape))
    of_input = masks[number if len(masks) > 1 else 0]
    seen = of_input > _UNSEEN
    if (seen != seen[0]).any() or (of_input[seen] != 0).any():
        found = "heads have different masks, or numbers are added to scores"
        raise UnsupportedLayer("attention with this mask", found, "use st.measure")
    return Listed(count, mask=seen[0], rope=use.rope)
