"""What stands between a dense layer and the heads of an attention layer, as a linear map that its numbers tell.

Splitting heads, repeating keys, moving axes, scaling and rotary embeddings keep the norms of single positions, up to a
factor. Only such maps leave scores with the law that the theory has, whatever neurons they mix in a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from ..tracing.run_record import RecordedCall, RunRecord, made_again
from .formula_values import NotRead, WeightedCall

_EQUAL = 1e-4  # relative, of numbers that some models round to 32 bits


def rerun(calls: Sequence[RecordedCall], values: Mapping[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    """All values of calls, which are in order, from other ones that go in."""
    made = dict(values)
    for call in calls:
        made |= made_again(call, made)
    return made


def is_close(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are equal but for rounding."""
    return bool((one - other).abs().max() <= _EQUAL * other.abs().max())


@dataclass(frozen=True, eq=False)
class HeadMap:
    """From a dense layer to queries, keys or values.

    Args:
        record: the run.
        made: the dense layer.
        calls: those behind it, in order.
        end: the number of the value at their end.
        oriented: makes the axes (..., positions, neurons of a head) of that.

    Raises:
        NotRead: they are no linear map of each position that keeps norms.
    """

    record: RunRecord
    made: WeightedCall
    calls: Sequence[RecordedCall]
    end: int
    oriented: Callable[[torch.Tensor], torch.Tensor]

    def __post_init__(self) -> None:
        one, other = self._random(0), self._random(1)
        images = [self._of(rows) for rows in (one, other)]
        for image, rows in ((images[0], one), (images[1], other)):
            inner = float((images[0] * image).sum()) * self._per_entry
            straight = float((one * rows)[:, self._chosen].sum()) * self.factor
            if abs(inner - straight) > _EQUAL * self.factor * float(one.norm() * rows.norm()):
                raise NotRead(self.made.call, "queries, keys or values are more than a dense layer, rotated perhaps")

    @property
    def _given(self) -> torch.Tensor:
        return self.record.values[self.made.call.results[0]].detach().movedim(self.made.axis, -1)

    @property
    def _count(self) -> int:
        """Of positions, all inputs together."""
        return self._given[..., 0].numel()

    def _random(self, seed: int, *, is_alike: bool = False) -> torch.Tensor:
        """Neurons at each position, or the same ones at all."""
        shape = 1 if is_alike else self._count, self._given.shape[-1]
        draws = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        return draws.expand(self._count, -1).to(self._given)

    def _of(self, rows: torch.Tensor) -> torch.Tensor:
        given = rows.reshape(self._given.shape).movedim(-1, self.made.axis).contiguous()
        return self.oriented(rerun(self.calls, {self.made.call.results[0]: given})[self.end])

    @cached_property
    def _chosen(self) -> torch.Tensor:
        """The neurons that matter."""
        with torch.enable_grad():
            rows = self._random(2).requires_grad_()
            image = self._of(1 * rows)
            (slope,) = torch.autograd.grad((image * torch.randn_like(image)).sum(), rows)
        return slope.ne(0).any(dim=0).nonzero()[:, 0]

    @property
    def part(self) -> tuple[int, ...] | None:
        """Which of the neurons of the dense layer matter; None for all."""
        return None if self.neurons == self._given.shape[-1] else self.chosen

    @property
    def chosen(self) -> tuple[int, ...]:
        """The same neurons, also where these are all."""
        return tuple(self._chosen.tolist())

    @property
    def neurons(self) -> int:
        """How many these are."""
        return len(self._chosen)

    @cached_property
    def _alike(self) -> torch.Tensor:
        """The image of the same neurons at all positions."""
        return self._of(self._random(3, is_alike=True))

    @property
    def width(self) -> int:
        """Of a head."""
        return self._alike.shape[-1]

    @property
    def _per_entry(self) -> float:
        """One over how often each neuron occurs."""
        return self._count * self.neurons / self._alike.numel()

    @cached_property
    def factor(self) -> float:
        """What it multiplies squares by."""
        rows = self._random(0)
        factor = float(self._of(rows).square().sum() / rows[:, self._chosen].square().sum()) * self._per_entry
        return 1.0 if abs(factor - 1) < _EQUAL else factor

    @cached_property
    def places(self) -> torch.Tensor:
        """Which position of the dense layer each one in a head is, shape (..., positions).

        Raises:
            NotRead: it mixes positions.
        """
        numbers = torch.arange(1, self._count + 1).to(self._given)[:, None]
        image = self._of(numbers * self._random(3, is_alike=True))
        strongest = self._alike.abs().argmax(-1, keepdim=True)
        ratios = (image.gather(-1, strongest) / self._alike.gather(-1, strongest)).round()
        if not is_close(image, ratios * self._alike):
            raise NotRead(self.made.call, "queries, keys or values of several positions are mixed")
        return ratios[..., 0].long() - 1

    def _first(self, image: torch.Tensor) -> torch.Tensor:
        """The first head of the first input, shape (positions, width)."""
        return image.reshape(-1, *image.shape[-2:])[0].double().cpu().clone()

    @cached_property
    def turn(self) -> torch.Tensor | None:
        """The orthogonal matrix by which a head turns from each position to the next; None if it does not.

        Raises:
            NotRead: positions differ in another way.
        """
        first = self._first(self._alike)
        if is_close(first, first[:1]):
            return None
        width = first.shape[-1]
        heads = torch.stack([self._first(self._of(self._random(4 + k, is_alike=True))) for k in range(width + 2)])
        before, after = heads[:, :-1].reshape(-1, width), heads[:, 1:].reshape(-1, width)
        turn = torch.linalg.lstsq(before, after).solution
        if not is_close(before @ turn, after) or not is_close(turn @ turn.mT, torch.eye(width, dtype=turn.dtype)):
            raise NotRead(self.made.call, "queries or keys depend on positions otherwise than by rotations")
        return turn


def angles(turn: torch.Tensor) -> np.ndarray:
    """Those of a rotation's pairs of neurons, the largest first."""
    every = torch.linalg.eigvals(turn).angle().abs().sort(descending=True).values
    return np.asarray(every[::2] * (every[::2] > math.sqrt(_EQUAL) * 1e-3))
