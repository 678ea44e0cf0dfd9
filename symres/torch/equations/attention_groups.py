"""Attention among recorded calls: from where a softmax weighs positions, outwards to the dense layers around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
import torch

from ..tracing.run_record import RecordedCall, RunRecord, StreamValue
from .formula_values import DENSE, NotRead, WeightedCall, is_grouped, weighted
from .head_maps import HeadMap, angles, is_close, rerun
from .position_uses import AttentionUse

PRODUCTS_OF_STREAMS = frozenset({"matmul", "bmm", "einsum"})
KINDS_OF_ATTENTION = frozenset({"softmax", "scaled_dot_product_attention"})
MIXING = "attention: it mixes positions"
_UNSEEN = -1e4  # what is added to the score of a key that is not seen, at most
_LARGE = 100.0  # scores that functions such as tanh would bend
_SOME = "attention to some of the positions only, or to other inputs (the first axis counts inputs)"
_TIED = "queries and keys with the same weights: the score of a token with itself grows like the root of d_head"
_SHARED = "attention whose values have the weights of its queries or keys"
_NONE_BEHIND = "attention without a dense layer right behind its heads: the stream is not Gaussian there"


@dataclass(frozen=True, eq=False)
class AttentionGroup:
    """Calls that are one attention layer.

    Args:
        use: how it makes scores.
        draws: the weights of queries, keys and values, each with the neurons that are meant (None for all).
        behind: the dense layer behind the heads.
        inner: numbers of the calls between dense layers.
        order: the position of the query that each position of the result has, flat; None where it is the same.
    """

    use: AttentionUse
    draws: tuple[tuple[WeightedCall, tuple[int, ...] | None], ...]
    behind: WeightedCall
    inner: frozenset[int]
    order: tuple[int, ...] | None

    @property
    def calls(self) -> frozenset[int]:
        """The numbers of all calls."""
        return self.inner | {self.behind.call.number, *(made.call.number for made, _ in self.draws)}


@dataclass(eq=False)
class FoundAttention:
    """The attention layers of a run, and why others are none.

    Args:
        groups: those that were understood.
        reasons: why others were not, by the number of the call at their heart.
    """

    groups: list[AttentionGroup] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)


def find_attention(record: RunRecord, calls: Sequence[RecordedCall]) -> FoundAttention:
    """The attention layers among calls, which are in order."""
    layers, search = FoundAttention(), _Search(record, calls)
    for call in calls:
        if call.name in KINDS_OF_ATTENTION:
            try:
                with torch.no_grad():
                    layers.groups.append(search.group(call))
            except NotRead as problem:
                layers.reasons[call.number] = problem.reason
            except (RuntimeError, ValueError, IndexError):  # calls that do not take other numbers
                layers.reasons[call.number] = MIXING
    return layers


@dataclass(frozen=True, eq=False)
class _Product:
    """A product of two matrices that depend on the input, with axes in the order of ``matmul``."""

    call: RecordedCall

    def __post_init__(self) -> None:
        if len(self.call.sources) != 2:
            raise NotRead(self.call, MIXING)

    def oriented(self, which: int, tensor: torch.Tensor) -> torch.Tensor:
        """The left operand as (..., rows, summed), the right one as (..., columns, summed), the result."""
        if self.call.name != "einsum":
            return tensor.mT if which == 1 else tensor
        entering, _, result = str(self.call.args[0]).replace(" ", "").partition("->")
        left, _, right = entering.partition(",")
        batch = [c for c in result if c in left and c in right]
        rows, columns = ([c for c in result if c in one and c not in batch] for one in (left, right))
        summed = [c for c in left if c not in result]
        wanted = batch + (rows + summed, columns + summed, rows + columns)[which]
        operand = (left, right, result)[which]
        if sorted(wanted) != sorted(operand) or {len(rows), len(columns), len(summed)} != {1}:
            raise NotRead(self.call, MIXING)
        return tensor.permute([operand.index(c) for c in wanted])


_Place = tuple[int, Callable[[torch.Tensor], torch.Tensor]]  # a value, and what makes (..., positions, neurons) of it


@dataclass(frozen=True, eq=False)
class _Core:
    """From queries, keys and values to weighted values.

    Args:
        sides: the queries, keys and values.
        out: what comes out.
        inner: the calls between them.
        scale: of scores.
        mask: what is added to them, shape (..., queries, keys) or fewer axes; None for nothing.
    """

    sides: tuple[_Place, _Place, _Place]
    out: _Place
    inner: tuple[RecordedCall, ...]
    scale: float
    mask: torch.Tensor | None


class _Search:
    """The calls of a run by what they make and read."""

    def __init__(self, record: RunRecord, calls: Sequence[RecordedCall]) -> None:
        self._record = record
        self._makers = {number: call for call in calls for number in call.results}
        self._readers: dict[int, list[RecordedCall]] = {}
        for call in calls:
            for number in dict.fromkeys(call.sources):
                self._readers.setdefault(number, []).append(call)

    def group(self, call: RecordedCall) -> AttentionGroup:
        """The attention layer whose heart a call is.

        Raises:
            NotRead: it is none that the theory knows.
        """
        core = self._written_out(call) if call.name == "softmax" else self._with_kernel(call)
        made = [self._dense_before(call, number) for number, _ in core.sides]
        queries, keys, values = maps = [
            HeadMap(self._record, dense, calls, *side) for (dense, calls), side in zip(made, core.sides, strict=True)
        ]
        for one, other in combinations(maps, 2):
            if one.made.tensor is other.made.tensor and set(one.chosen) & set(other.chosen):
                raise NotRead(call, _TIED if (one, other) == (queries, keys) else _SHARED)
        turns = [side.turn for side in maps]
        is_alike = (turns[0] is None) == (turns[1] is None) and (
            turns[0] is None or turns[1] is None or is_close(turns[0], turns[1])
        )
        if not is_alike or turns[2] is not None or values.factor != 1:
            raise NotRead(call, "attention whose queries, keys or values are scaled or turned in an unknown way")
        self._check_places(call, maps)
        behind, between, order = self._behind(call, core.out, queries, values)
        inner = (*core.inner, *between, *(one for _, calls in made for one in calls))
        if not all(one.has_gradients for one in inner):
            raise NotRead(call, "attention that stops gradients")
        is_causal, mask = (False, None) if core.mask is None else self._arranged(core.mask, queries, keys)
        use = AttentionUse(
            heads=queries.neurons // queries.width,
            head_width=queries.width,
            key_heads=keys.neurons // keys.width,
            is_causal=is_causal,
            mask=mask,
            rope=None if turns[0] is None else angles(turns[0]),
            scale=core.scale * math.sqrt(queries.factor * keys.factor),
        )
        draws = tuple((side.made, side.part) for side in maps)
        return AttentionGroup(use, draws, behind, frozenset(one.number for one in inner), order)

    def _with_kernel(self, call: RecordedCall) -> _Core:
        """PyTorch's function of queries, keys and values."""
        arguments = call.by_name
        mask, width = arguments.get("attn_mask"), self._record.values[call.sources[0]].shape[-1]
        if arguments.get("dropout_p", 0.0) > 0:
            raise NotRead(call, "dropout is active")
        if isinstance(mask, StreamValue):
            raise NotRead(call, "attention with a mask that depends on the input")
        if len(call.sources) != 3:
            raise NotRead(call, "attention to values that do not depend on the first input")
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.zeros(mask.shape).masked_fill(~mask.cpu(), -math.inf)
        if arguments.get("is_causal", False):
            queries, keys = (self._record.values[number].shape[-2] for number in call.sources[:2])
            mask = torch.full((queries, keys), -math.inf).triu(1)
        sides = tuple((number, torch.Tensor.contiguous) for number in call.sources)
        scale = arguments.get("scale")
        inner, out = (call,), (call.results[0], torch.Tensor.contiguous)
        return _Core(sides, out, inner, width**-0.5 if scale is None else float(scale), mask)  # type: ignore[arg-type]

    def _written_out(self, call: RecordedCall) -> _Core:
        """Products of matrices around a softmax.

        What is done to scores before it must be a factor and a summand, and nothing happens to weights behind it.
        """
        before: list[RecordedCall] = []
        behind: list[RecordedCall] = []
        scores, weights = call.sources[0], call.results[0]
        while (maker := self._makers.get(scores)) is not None and maker.name not in PRODUCTS_OF_STREAMS:
            if len(maker.sources) != 1:
                raise NotRead(call, MIXING)
            before.insert(0, maker)
            scores = maker.sources[0]
        while (reader := self._only_reader(call, weights)).name not in PRODUCTS_OF_STREAMS:
            behind.append(reader)
            weights = reader.results[0]
        if maker is None or call.by_name.get("dim") not in (-1, self._record.values[call.sources[0]].ndim - 1):
            raise NotRead(call, MIXING)
        product, weighing = _Product(maker), _Product(reader)
        plain = self._record.values[scores].detach()
        shares = self._record.values[call.results[0]].detach()
        same = rerun(behind, {call.results[0]: shares})[weights]
        shape = self._record.values[call.sources[0]].shape
        if weighing.call.sources[0] != weights or not is_close(same.reshape(-1), shares.reshape(-1)):
            raise NotRead(call, "attention whose weights are changed behind the softmax")
        if product.oriented(2, plain).shape != plain.shape:
            raise NotRead(call, MIXING)

        def scored(entries: torch.Tensor) -> torch.Tensor:
            return rerun(before, {scores: entries})[call.sources[0]].double()

        mask = scored(torch.zeros_like(plain))
        seen = mask > _UNSEEN
        scale = float((scored(torch.ones_like(plain)) - mask)[seen].mean())
        draws = torch.randn(plain.shape, generator=torch.Generator().manual_seed(0)).to(plain) * (_LARGE / scale)
        if not is_close(scored(draws)[seen], (mask + scale * draws.double().reshape(shape))[seen]):
            raise NotRead(call, "attention whose scores are bent before the softmax")
        sides = [(product.call.sources[side], partial(product.oriented, side)) for side in (0, 1)]
        values = (weighing.call.sources[1], partial(weighing.oriented, 1))
        # values are (..., neurons, keys) as the right operand of a product: keys are summed
        turned = (values[0], lambda tensor: values[1](tensor).mT)
        out = (weighing.call.results[0], partial(weighing.oriented, 2))
        return _Core((*sides, turned), out, (maker, *before, call, *behind, reader), scale, mask)  # type: ignore[arg-type]

    def _only_reader(self, call: RecordedCall, number: int) -> RecordedCall:
        readers = self._readers.get(number, [])
        if len(readers) != 1 or len(readers[0].results) != 1:
            raise NotRead(call, _NONE_BEHIND)
        return readers[0]

    def _dense(self, call: RecordedCall) -> WeightedCall | None:
        """The dense layer that a call is; None if it is none."""
        try:
            return weighted(call) if call.name in DENSE and not is_grouped(call) else None
        except NotRead:
            return None

    def _dense_before(self, heart: RecordedCall, number: int) -> tuple[WeightedCall, list[RecordedCall]]:
        """The only dense layer that a value comes from, and the calls behind that."""
        pending, dense, between = [number], {}, {}
        while pending:
            maker = self._makers.get(pending.pop())
            if maker is None:
                raise NotRead(heart, "attention without dense layers for its queries, keys and values")
            made = self._dense(maker)
            if made is not None:
                dense[maker.number] = made
            elif maker.number not in between:
                between[maker.number] = maker
                pending += maker.sources
        if len(dense) != 1:
            raise NotRead(heart, "attention whose queries, keys or values come from several dense layers")
        return dense.popitem()[1], [between[key] for key in sorted(between)]

    def _check_places(self, heart: RecordedCall, maps: Sequence[HeadMap]) -> None:
        """Every position attends to those of its input, each once."""
        rows = [torch.unique(side.places.reshape(-1, side.places.shape[-1]), dim=0) for side in maps]
        inputs = len(self._record.values[0])
        is_whole = all(len(each) == inputs and len(each.unique()) == each.numel() for each in rows)
        if not is_whole or not all(torch.equal(rows[0], each) for each in rows):
            raise NotRead(heart, _SOME)

    def _arranged(self, mask: torch.Tensor, queries: HeadMap, keys: HeadMap) -> tuple[bool, np.ndarray | None]:
        """Whether a mask is the causal one, and what it is otherwise, with as few entries as say it."""
        *batch, tokens = queries.places.shape
        shape = tokens, keys.places.shape[-1]
        mask = mask.detach().cpu().double()
        mask = mask.masked_fill(mask <= _UNSEEN, -math.inf).expand(*batch, *shape)
        mask = mask.reshape(len(self._record.values[0]), -1, *shape)
        for axis in (0, 1):
            first = mask.narrow(axis, 0, 1)
            mask = first if torch.equal(mask, first.expand_as(mask)) else mask
        if not mask.any():
            return False, None
        if torch.equal(mask, torch.full((1, 1, *shape), -math.inf, dtype=mask.dtype).triu(1)):
            return True, None
        return False, (mask[0, 0] if mask.shape[:2] == (1, 1) else mask).numpy()

    def _behind(
        self, heart: RecordedCall, out: _Place, queries: HeadMap, values: HeadMap
    ) -> tuple[WeightedCall, list[RecordedCall], tuple[int, ...] | None]:
        """The dense layer behind the heads, the calls before it, and the order of its positions."""
        (number, oriented), between = out, []
        entries = torch.arange(self._record.values[number].numel()).reshape(self._record.values[number].shape)
        reader = self._only_reader(heart, number)
        while (behind := self._dense(reader)) is None:
            if len(set(reader.sources)) != 1:
                raise NotRead(heart, _NONE_BEHIND)
            between.append(reader)
            reader = self._only_reader(heart, reader.results[0])
        middle = entries.numel() // 2  # an activation bends numbers of one sign at least
        filled = (entries - middle).to(self._record.values[number])
        image = rerun(between, {number: filled})[behind.entering].movedim(behind.axis, -1)
        joined = image.round().long().cpu() + middle
        if not torch.equal(joined.flatten().sort().values, entries.flatten()):
            raise NotRead(heart, _NONE_BEHIND)
        places = oriented(entries)
        position = torch.empty(entries.numel(), dtype=torch.long)
        position[places.flatten()] = queries.places.cpu().unsqueeze(-1).expand(places.shape).flatten()
        ordered = position[joined].reshape(-1, joined.shape[-1])
        if not torch.equal(ordered, ordered[:, :1].expand_as(ordered)) or queries.neurons * values.width != (
            joined.shape[-1] * queries.width
        ):
            raise NotRead(heart, _NONE_BEHIND)
        order = ordered[:, 0]
        is_same = torch.equal(order, torch.arange(len(order)))
        return behind, between, None if is_same else tuple(order.tolist())
