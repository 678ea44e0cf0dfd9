"""Tokens of a model whose layers mix them: their Gram matrices, measured at a place, and what layers make of these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import sympy as sp
import torch
from torch import nn
from torch.autograd import forward_ad

from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...layers.grids import Listed, Wrapped
from ...layers.mixing import Conv
from ...layers.normalisation import Normaliser
from ...layers.program import AxisMean, Mean
from ...theory.grids.batch import Batch
from ...theory.grids.grid_law import GridLaw, State
from ...theory.grids.stretches import stretches
from ..equations.formula_values import AttentionUse, factored
from ..models.call_arguments import CallArguments
from ..models.choosing import ChosenModules
from ..models.keeping import kept, seeded
from ..models.observing import names_of, watching
from ..probing.network_passes import no_fused_encoders, plain_attention, signs
from .read_block import ReadBlock

_ENTRIES = 2**18  # of Gram matrices that the theory follows; those of two inputs at least
_BATCH = 2**10  # positions of a batch that the theory follows together; those of two inputs at least
MANY_TOKENS, BATCH = "many tokens", "batch"
_ALIKE = 1.5  # in units of what n neurons scatter by
_PROBES = 4  # directions of changes
_UNSEEN = -1e4  # what masks add to scores of keys that are not seen, at most


class TokenPlace(NamedTuple):
    """Where Gram matrices are measured.

    Args:
        axis: of the neurons, negative.
        is_apart: whether something that follows tells positions apart; if not, alike ones have a single covariance.
        is_batch: whether inputs are normalised together, so that all have one matrix.
    """

    axis: int
    is_apart: bool
    is_batch: bool


@dataclass
class TokenGrams:
    """What was measured of tokens at some places, of each input a matrix; of the first inputs where these are many.

    Args:
        kernels: Gram matrices by the names of places.
        changes: those of changes, which are independent where Jacobians start; none where PyTorch has no forward mode.
        inputs: how many a batch has, at places where all inputs have one matrix.
    """

    kernels: dict[str, list[np.ndarray]] = field(default_factory=dict)
    changes: dict[str, list[np.ndarray]] = field(default_factory=dict)
    inputs: dict[str, int] = field(default_factory=dict)


def token_grams(
    model: nn.Module,
    arguments: CallArguments,
    chosen: ChosenModules,
    places: Mapping[str, TokenPlace],
    start: str,
    seed: int,
    train: bool | None,
) -> TokenGrams:
    """Gram matrices over tokens at some places.

    Args:
        model: whose mode is ``train``.
        arguments: all inputs.
        chosen: the modules at which the places are.
        places: with their names, "input" among them perhaps.
        start: the place where changes begin.
        seed: of these, and of whatever draws random numbers.
        train: train mode, evaluation mode, or None: that of each module.
    """
    grams, rng = TokenGrams(), np.random.default_rng(seed)

    def note(name: str, tensor: torch.Tensor) -> torch.Tensor | None:
        primal, change = forward_ad.unpack_dual(tensor)
        is_batch = name in places and places[name].is_batch
        is_wide = primal.ndim > 2 and name in places and primal[0].numel() > primal.shape[places[name].axis]
        if is_wide or (is_batch and primal.ndim > 1):
            axis, products = places[name].axis, _batch_products if is_batch else _products
            kernels, width = products(primal, axis), primal.shape[axis]
            if is_batch:
                grams.inputs[name] = len(primal)
            grams.kernels[name] = kernels if places[name].is_apart else [as_tokens(K, width) for K in kernels]
            if change is not None:
                drawn = grams.changes.get(name, [np.zeros_like(K) for K in kernels])
                news = products(change, axis)
                grams.changes[name] = [D + new / _PROBES for D, new in zip(drawn, news, strict=True)]
        return forward_ad.make_dual(primal.clone(), signs(rng, primal)) if name == start else None

    def run() -> None:
        passed, first = arguments.map(torch.clone), arguments.differentiable
        if first is not None:
            moved = note("input", first)
            passed = passed if moved is None else passed.with_differentiable(moved)
        with watching(chosen, lambda site, tensor: note(names_of([site])[0], tensor)):
            model(*passed.args, **passed.kwargs)

    with seeded(seed), kept(model, train=train), torch.no_grad(), plain_attention(), no_fused_encoders():
        try:
            for _ in range(_PROBES):
                with forward_ad.dual_level():
                    run()
        except (NotImplementedError, RuntimeError):  # an operation that has no forward mode
            start = ""
            run()
            grams.changes.clear()
    return grams


def _products(tensor: torch.Tensor, axis: int) -> list[np.ndarray]:
    """The Gram matrix of tokens, divided by the number of neurons, of each input; of the first where these are many."""
    rows = tensor.movedim(axis, -1).flatten(1, -2)
    rows = rows.detach()[: max(_ENTRIES // rows.shape[1] ** 2, 2)].to("cpu", torch.float64)
    return list((rows @ rows.mT / rows.shape[2]).numpy())


def _batch_products(tensor: torch.Tensor, axis: int) -> list[np.ndarray]:
    """One Gram matrix, of all positions of the first inputs."""
    moved = tensor.movedim(axis, -1)
    positions = moved[0, ..., 0].numel()
    followed = moved[: max(_BATCH // positions, 2)]
    return _products(followed.reshape(1, -1, moved.shape[-1]), -1)


def as_tokens(gram: np.ndarray, width: int) -> np.ndarray:
    """Covariances of tokens that are alike but for the scatter of n neurons, as if any two were; others as they are."""
    is_same = np.eye(len(gram), dtype=bool)
    variances, shared = gram[is_same], gram[~is_same]
    if not len(shared) or max(variances.std(), shared.std()) > _ALIKE * math.sqrt(2 / width) * variances.mean():
        return gram
    return np.where(is_same, variances.mean(), shared.mean())


def mean_variance(kernels: Sequence[np.ndarray]) -> float:
    """That of a position, over all positions of all inputs."""
    return float(np.concatenate([kernel.diagonal() for kernel in kernels]).mean())


def cosines(kernel: np.ndarray, inputs: int = 1) -> float:
    """The mean cosine of two different tokens of one of so many inputs; 1 if there is one."""
    tokens = len(kernel) // inputs
    if tokens == 1:
        return 1.0
    lengths = np.sqrt(kernel.diagonal())
    is_pair = np.kron(np.eye(inputs), 1 - np.eye(tokens)) > 0
    return float((kernel / np.outer(lengths, lengths))[is_pair].mean())


@dataclass(frozen=True)
class TokenLayer:
    """One layer of a model on the tokens of some inputs.

    Args:
        block: that it is a place of.
        which: of its places.
        kernels: that go in, one matrix for each input, or one of several inputs of a batch.
        inputs: how many a batch has; 1 where each input has a matrix.
    """

    block: ReadBlock
    which: int
    kernels: Sequence[np.ndarray]
    inputs: int

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
        form, shape = self.block.of_positions, self.block.spans[self.which].positions
        followed = self.followed
        count = len(self.kernels[number]) // followed
        assert form is not None
        grids = {_positions(use, count, number) for use in self.block.attention}
        if form.forward.has(Conv) or not grids:
            is_closed = any(use is not None and use.padding == "circular" for use in self.block.windows)
            grids.add((Wrapped if is_closed else Listed)(*(shape if shape and math.prod(shape) == count else (count,))))
        mixed = [i for i in form.program.instructions if isinstance(i, AxisMean | Mean) and i.over == "position"]
        is_batch = followed > 1 or form.program.has_batch
        if len(grids) > 1 or (is_batch and (mixed or self.block.attention)):
            found = "several layers of one block see different positions"
            raise UnsupportedLayer(f"the layer {self.block.text}", found, "use st.measure")
        if is_batch:
            grids = {Batch(grids.pop(), followed, self.inputs)}
        values = self.block.numbers[self.which]
        numbers = {symbol: values[symbol.name] for symbol in form.parameters}
        return GridLaw(stretches(form, False), State(grids.pop(), self.kernels[number] * scale), numbers, off)

    @property
    def followed(self) -> int:
        """Of how many inputs a matrix has the positions."""
        positions = math.prod(self.block.spans[self.which].positions)
        return 1 if self.inputs == 1 else len(self.kernels[0]) // positions

    @property
    def has_several(self) -> bool:
        """Whether an input has several tokens behind it."""
        return len(self.laws[0].next.kernel) > self.followed

    def cosine(self, kernel: np.ndarray) -> float:
        """The mean cosine of two different tokens of an input, from covariances that come out."""
        return cosines(kernel, self.followed)

    @property
    def is_normalised(self) -> bool:
        """Whether it ends with a norm."""
        return self.block.form is not None and isinstance(self.block.form.forward, Normaliser)

    @cached_property
    def skip_weight(self) -> float:
        """With which the stream goes into the sum that the layer is, before a norm perhaps."""
        assert self.block.form is not None
        forward = self.block.form.forward
        terms = sp.Add.make_args(forward.args[0] if self.is_normalised else forward)
        return float(sum(number for number, bare in map(factored, terms) if bare == z))

    def change(self, other: GridLaw) -> tuple[float, float, float]:
        """By what kernel (relative), cosine (absolute) and chi (relative) differ of another law of the first input."""
        identity = np.eye(len(self.kernels[0]))
        (kernel, cosine, chi), (up, nearer, faster) = (
            (np.trace(law.next.kernel), self.cosine(law.next.kernel), np.trace(law.tangent(identity)))
            for law in (self.laws[0], other)
        )
        return abs(up / kernel - 1), abs(nearer - cosine), abs(faster / chi - 1)

    def finite_sizes(self, width: int) -> dict[str, float]:
        """Corrections to what attention and normalised inputs of a batch add, relative, by their names; for one input.

        Over a batch, variances differ from channel to channel; their relative variance is 2/N for N independent
        positions, whose inverse is the size. With many tokens of n neurons, which overlap by ``n**-0.5``, kernels grow
        by ``sigma (q-p)^2/n`` q; with H heads the attention of a token to itself scatters; with heads of d neurons
        scores are not Gaussian.
        """
        variances = self.laws[0].batch_variances.values()
        sizes = {BATCH: max(variances) / 2} if variances else {}
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
