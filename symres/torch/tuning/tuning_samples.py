"""Quadratic forms in the weights of a place, as measured; errors where inputs depend on each other.

Behind a place stands ``gamma z + xi R``. Its mean square, the squared norm of its Jacobian, and the mean square of a
perturbation from the first place are quadratic forms in gamma and xi, each known for all weights from one measurement.

Inputs depend on each other where batch normalisation works in train mode: they then share the statistics of their
batch, and their scatter does not show how far numbers are from those of another batch. What does show it is measuring
again without some of the inputs (jackknife), along the same random directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from ...results.annotated_numbers import EstimatedNumber
from ..measuring.place_signals import average, jackknife_error, units_of
from ..models.model_state import mixes_inputs
from ..probing.network_passes import mean_products, signs, squares
from .tuning_passes import Visit

_GROUPS = 8  # left out one after the other
_LEAST = 4  # inputs

Directions: TypeAlias = Sequence[Callable[[torch.Tensor], torch.Tensor]]  # each draws signs in the shape of a tensor


@dataclass(frozen=True)
class WeightForm:
    """``gamma^2 first + 2 gamma xi both + xi^2 second``.

    Args:
        first: of z, shape (inputs,), or (inputs, probes) where random directions have a part in it.
        both: the mean product of z and R, likewise.
        second: of R, likewise.
    """

    first: np.ndarray
    both: np.ndarray
    second: np.ndarray

    def average(self, gamma: float, xi: float) -> EstimatedNumber:
        """The average at two weights; its error over inputs and probes."""
        return average(self._samples(gamma, xi)[None])

    def ratio(self, gamma: float, xi: float) -> EstimatedNumber:
        """The average over that of ``first``; its error from the scatter of both over inputs."""
        return ratio_of_means(units_of(self._samples(gamma, xi)[None]), units_of(self.first[None]))

    def weight(self, wanted: float, *, gamma: float | None = None, xi: float | None = None) -> EstimatedNumber | None:
        """The weight, the other one being given, at which the average is a number; None if no positive one does it."""
        first, both, second = (float(values.mean()) for values in (self.first, self.both, self.second))
        if gamma is not None:
            a, b, c = second, gamma * both, gamma**2 * first - wanted
        else:
            assert xi is not None
            a, b, c = first, xi * both, xi**2 * second - wanted
        square = b * b - a * c
        root = (math.sqrt(square) - b) / a if a > 0 and square >= 0 else 0.0
        if not root > 0:
            return None
        average = self.average(root if gamma is None else gamma, root if xi is None else xi)
        slope = 2 * (a * root + b)
        return EstimatedNumber(root, average.error / slope if slope > 0 else math.nan)

    def _samples(self, gamma: float, xi: float) -> np.ndarray:
        return np.asarray(gamma**2 * self.first + 2 * gamma * xi * self.both + xi**2 * self.second)

    @classmethod
    def of_tensors(cls, z: torch.Tensor, R: torch.Tensor, size: int) -> WeightForm:
        """Mean squares and products of each of so many inputs."""
        return cls(mean_products(z, z, size), mean_products(R, z, size), mean_products(R, R, size))

    @classmethod
    def stacked(cls, forms: Sequence[WeightForm]) -> WeightForm:
        """Forms of several probes as one."""
        return cls(*(np.stack([getattr(form, name) for form in forms], 1) for name in ("first", "both", "second")))


_NAN = np.full(1, math.nan)
NOT_MEASURED = WeightForm(_NAN, _NAN, _NAN)


@dataclass(frozen=True)
class PlaceSample:
    """What is measured at a place, with R as it is.

    Args:
        kernel: mean squares and products G_zz, G_Rz, G_RR.
        chi: squared norm of the Jacobian, with J_R1 and J_RR; of a layer, from the place before.
        apjn: mean squares of perturbations that enter the first place with entries +-1.
        has_stream: whether z is the stream, whose kernel is compared with that behind the place.
    """

    kernel: WeightForm
    chi: WeightForm
    apjn: WeightForm
    has_stream: bool

    def numbers(self, gamma: float, xi: float) -> list[EstimatedNumber]:
        """The kernel behind the place (over that of the stream, if there is one), chi and APJN."""
        kernel = self.kernel.ratio if self.has_stream else self.kernel.average
        return [kernel(gamma, xi), self.chi.average(gamma, xi), self.apjn.average(gamma, xi)]


def numbers_with_batch_errors(
    samples: Sequence[PlaceSample], gamma: float, xi: float
) -> tuple[list[EstimatedNumber], list[float]]:
    """``PlaceSample.numbers`` of the first sample, with errors that are not below those that the batch makes.

    These are returned, too; nan where inputs are independent. They come from the other samples, which are without the
    inputs that ``left_out_in_turn`` leaves out.
    """
    whole, *without = (sample.numbers(gamma, xi) for sample in samples)
    errors = list(map(jackknife_error, np.array(without).T)) if without else [math.nan] * len(whole)
    return [at_least(number, error) for number, error in zip(whole, errors, strict=True)], errors


def at_least(number: EstimatedNumber, error: float) -> EstimatedNumber:
    """A number whose error is no less than another one."""
    return EstimatedNumber(float(number), float(np.fmax(number.error, error)))


def ratio_of_means(above: np.ndarray, below: np.ndarray) -> EstimatedNumber:
    """The ratio of two averages over the same inputs, with its standard error to first order; nan of one input."""
    value = float(above.mean() / below.mean())
    if len(above) < 2:
        return EstimatedNumber(value, math.nan)
    scatter = (above - value * below).std(ddof=1) / np.sqrt(len(above))
    return EstimatedNumber(value, float(scatter / abs(below.mean())))


def left_out_in_turn(model: nn.Module, size: int) -> list[np.ndarray]:
    """Which inputs are kept when a few are left out, one group after the other, shape (inputs,) each.

    Returns:
        Empty where inputs do not depend on each other.
    """
    if size < _LEAST or not mixes_inputs(model):
        return []
    groups = np.array_split(np.arange(size), min(_GROUPS, size))
    return [~np.isin(np.arange(size), group) for group in groups]


def drawn_signs(stream: tuple[int, ...], kept: np.ndarray | None, like: torch.Tensor) -> torch.Tensor:
    """Random signs in the shape of a tensor.

    Args:
        stream: numbers that seed them.
        kept: which inputs the tensor has; each has the signs that it has in a pass of all. None: it has all.
        like: the tensor, with one row, or several, for each of these inputs.
    """
    rng = np.random.default_rng(stream)
    if kept is None:
        return signs(rng, like)
    pieces = len(like) // int(kept.sum())
    every = signs(rng, like.new_empty((pieces * len(kept), *like.shape[1:])))
    return every.reshape(len(kept), -1)[torch.from_numpy(kept).to(like.device)].reshape(like.shape)


def jacobian_samples(
    source: torch.Tensor, result: torch.Tensor, size: int, directions: Directions
) -> tuple[np.ndarray, np.ndarray]:
    """Squared norm and, of equal shapes, trace of a Jacobian over the entries of one result; shape (inputs, probes)."""
    entries = result.numel() // size
    norms, traces = [], []
    for signs_like in directions:
        cotangent = signs_like(result)
        (gradient,) = torch.autograd.grad(result, source, cotangent, retain_graph=True, materialize_grads=True)
        norms.append(squares(gradient, size) / entries)
        if source.shape == result.shape:
            traces.append(mean_products(gradient, cotangent, size))
    return np.stack(norms, axis=1), np.stack(traces or norms, axis=1)


class Perturbations:
    """Tangents that enter at the first residual block and are carried through the tuned ones: APJN from there on.

    A tangent u with entries +-1 at the first block becomes ``u' = gamma u + xi (dR/dz) u`` behind a block. Its mean
    square, averaged over the signs, is the APJN from the first block, and obeys the equation of the kernel, PDLT
    (B.44), with tangents in the place of the stream. It counts what chi of single blocks leaves out: that Jacobians of
    blocks are correlated.

    Args:
        directions: of their signs, one for each tangent.
        size: the number of inputs.
    """

    def __init__(self, directions: Directions, size: int) -> None:
        self._directions, self._size = directions, size
        self._tangents: list[torch.Tensor] = []
        self._moved: list[torch.Tensor] = []

    def sample(self, visit: Visit, branch: torch.Tensor) -> WeightForm:
        """Carry the tangents to a block and through its branch.

        Args:
            visit: the block in a pass.
            branch: R(z), with a graph from ``visit.stream``.

        Raises:
            DeclarationError: no tangent arrives.
        """
        if visit.last is None:
            self._tangents = [signs_like(visit.stream) for signs_like in self._directions]
        elif not torch.equal(visit.last, visit.stream):  # modules that are not blocks lie between
            moved = _pushed(visit.last, visit.attached, self._tangents)
            if moved is None:
                raise visit.place.refused(
                    "its stream does not depend on that of the block before",
                    "use target='gradient', or tune each chain of blocks by itself",
                )
            self._tangents = moved
        self._moved = _pushed(visit.stream, branch, self._tangents) or [torch.zeros_like(u) for u in self._tangents]
        pairs = zip(self._tangents, self._moved, strict=True)
        return WeightForm.stacked([WeightForm.of_tensors(u, v, self._size) for u, v in pairs])

    def advance(self, gamma: float, xi: float) -> None:
        """Go on behind the block that was sampled last."""
        self._tangents = [gamma * u + xi * v for u, v in zip(self._tangents, self._moved, strict=True)]


def _pushed(source: torch.Tensor, result: torch.Tensor, tangents: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
    """The Jacobian of a result times each tangent, by differentiating a reverse pass, which is linear in its cotangent;
    None where the result does not depend on the source."""
    cotangent = torch.zeros_like(result, requires_grad=True)
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(result, source, cotangent, create_graph=True, allow_unused=True)
    if gradient is None:
        return None
    return [
        torch.autograd.grad(gradient, cotangent, tangent, retain_graph=True, materialize_grads=True)[0]
        for tangent in tangents
    ]
