"""What is measured at a place, as quadratic forms in its weights, and the weights that solve a condition on one.

Behind a place stands ``gamma z + xi R``. Its mean square, the squared norm of its Jacobian, and the mean square of a
perturbation from the first place are quadratic forms in gamma and xi, each known for all weights from one measurement.
With ``q`` the factor by which a block may grow,

    gamma^2 + 2 gamma xi b + xi^2 a = q:    a = G_RR/G_zz, b = G_Rz/G_zz keep the kernel (PDLT (B.45)),
                                            a = J_RR,      b = J_R1      keep gradients of the block (chi = q),
                                            a = T_RR/T_zz, b = T_Rz/T_zz keep the APJN from the first block.

The first two agree where both pairs do: for branches that are homogeneous of degree 1 and random. The last two agree
where the Jacobians of the blocks are independent of each other.

With weights times xi the output of a layer is ``xi W a + b``: its kernel is such a form too, and its squared Jacobian
norm from the output of the layer before is ``xi^2 chi``. Nothing has to be iterated.

Inputs depend on each other where batch normalisation works in train mode: they then share the statistics of their
batch, and their scatter does not show how far numbers are from those of another batch. What does show it is measuring
again without some of the inputs (jackknife), along the same random directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from ...core.errors import DeclarationError
from ...core.progress import Steps
from ...results.annotated_numbers import EstimatedNumber
from ...studies.tune_block import tune_block
from ..measuring.place_signals import UNKNOWN, average, jackknife_error, units_of
from ..models.model_state import mixes_inputs
from ..probing.network_passes import mean_products, signs, squares
from .tuned_places import TunedPlace
from .tuning_passes import Visit

_GROUPS = 8  # left out one after the other
_LEAST = 4  # inputs
_ERRORS = 3.0  # a difference counts from so many standard errors on
_SAME = 1e-9  # relative difference of weights that differ by rounding

Directions: TypeAlias = Sequence[Callable[[torch.Tensor], torch.Tensor]]  # each draws signs in the shape of a tensor


class TuningTarget(Enum):
    """What a block or layer keeps."""

    SIZE = "size"
    GRADIENT = "gradient"
    APJN = "apjn"


class TunedWeight(Enum):
    """Which weight is solved for, the other one being given."""

    XI = "xi"
    GAMMA = "gamma"


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """What is done with every place: the arguments of ``tune_``, checked; ``steps`` counts places in passes."""

    target: TuningTarget
    unknown: TunedWeight
    gamma: float | None
    xi: float | None
    growth: float
    kernel: float | None
    branch_weight: str | None
    skip_weight: str | None
    wrap: bool
    probes: int
    seed: int
    steps: Steps


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

    def at(self, gamma: float, xi: float) -> np.ndarray:
        """The form at two weights, in the shape of its coefficients."""
        return np.asarray(gamma**2 * self.first + 2 * gamma * xi * self.both + xi**2 * self.second)

    def average(self, gamma: float, xi: float) -> EstimatedNumber:
        """The average at two weights; its error over inputs and probes."""
        return average(self.at(gamma, xi)[None])

    def ratio(self, gamma: float, xi: float) -> EstimatedNumber:
        """The average over that of ``first``, with its standard error to first order, over inputs; nan of one input."""
        above, below = units_of(self.at(gamma, xi)[None]), units_of(self.first[None])
        value = float(above.mean() / below.mean())
        if len(above) < 2:
            return EstimatedNumber(value, math.nan)
        scatter = (above - value * below).std(ddof=1) / np.sqrt(len(above))
        return EstimatedNumber(value, float(scatter / abs(below.mean())))

    @classmethod
    def of_tensors(cls, z: torch.Tensor, R: torch.Tensor, size: int) -> WeightForm:
        """Mean squares and products of each of so many inputs."""
        return cls(mean_products(z, z, size), mean_products(R, z, size), mean_products(R, R, size))


Numbers: TypeAlias = dict[TuningTarget, EstimatedNumber]  # of what each target keeps


@dataclass(frozen=True)
class PlaceSample:
    """What is measured at a place, with R as it is.

    Args:
        forms: for "size" the mean squares and products G_zz, G_Rz, G_RR; for "gradient" the squared norm of the
            Jacobian, with J_R1 and J_RR (of a layer: from the layer before, so that the first layer has none); for
            "apjn", if it is the target, the mean squares of perturbations that enter the first place with entries +-1.
        has_stream: whether z is the stream, whose kernel is compared with that behind the place.
    """

    forms: Mapping[TuningTarget, WeightForm]
    has_stream: bool

    def numbers(self, gamma: float, xi: float) -> Numbers:
        """The kernel behind the place (over that of the stream, if there is one), chi and APJN; nan where unknown."""
        numbers = dict.fromkeys(TuningTarget, UNKNOWN)
        numbers |= {target: form.average(gamma, xi) for target, form in self.forms.items()}
        if self.has_stream:
            numbers[TuningTarget.SIZE] = self.forms[TuningTarget.SIZE].ratio(gamma, xi)
        return numbers


def numbers_with_batch_errors(
    samples: Sequence[PlaceSample], gamma: float, xi: float
) -> tuple[Numbers, dict[TuningTarget, float]]:
    """``PlaceSample.numbers`` of the first sample, with errors that are not below those that the batch makes.

    These are returned, too; nan where inputs are independent. They come from the other samples, which are without the
    inputs that ``left_out_in_turn`` leaves out.
    """
    whole, *without = (sample.numbers(gamma, xi) for sample in samples)
    errors = dict.fromkeys(whole, math.nan)
    if without:
        errors = {target: jackknife_error(np.array([each[target] for each in without])) for target in whole}
    return {target: at_least(number, errors[target]) for target, number in whole.items()}, errors


def at_least(number: EstimatedNumber, error: float) -> EstimatedNumber:
    """A number whose error is no less than another one."""
    return EstimatedNumber(float(number), float(np.fmax(number.error, error)))


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
                raise DeclarationError(
                    visit.place.asked,
                    "its stream does not depend on that of the block before",
                    "use target='gradient', or tune each chain of blocks by itself",
                )
            self._tangents = moved
        self._moved = _pushed(visit.stream, branch, self._tangents) or [torch.zeros_like(u) for u in self._tangents]
        pairs = zip(self._tangents, self._moved, strict=True)
        forms = [WeightForm.of_tensors(u, v, self._size) for u, v in pairs]
        return WeightForm(*np.stack([(form.first, form.both, form.second) for form in forms], axis=-1))

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


def block_weights(
    place: TunedPlace, sample: PlaceSample, plan: TuningPlan, gamma: float, factor: float
) -> tuple[EstimatedNumber, EstimatedNumber]:
    """Gamma and xi of a residual block that may grow by the factor q; gamma is given where xi is solved for.

    Returns:
        The given weight has the error 0, the other one that of what was measured.

    Raises:
        DeclarationError: no weight does it, or only a branch of weight 0.
    """
    if not sample.forms[TuningTarget.SIZE].second.mean() > 0:
        raise DeclarationError(place.asked, "its branch gives 0", "begin with weights of the branch that are not 0")
    form = sample.forms[plan.target]
    branch, stream, both = float(form.second.mean()), float(form.first.mean()), average(form.both[None])
    if not branch > 0:
        raise DeclarationError(place.asked, "its branch does not depend on the stream", "use target='size'")
    root, is_xi = math.sqrt(factor), plan.unknown is TunedWeight.XI
    if is_xi and abs(gamma - root) <= _SAME * root and not (float(both) + _ERRORS * both.error < 0):
        raise DeclarationError(
            f"{place.asked} at gamma = {gamma:g}",
            f"only a branch of weight 0 keeps the {plan.target.value} of the whole stream",
            "pass growth=2 (over all blocks), or gamma=0.9 with skip_weight= or wrap=True",
        )
    xi = 1.0 if plan.xi is None else plan.xi
    try:
        if is_xi:
            xi = root * tune_block(branch, stream, float(both), gamma=gamma / root)
        else:
            gamma = root * tune_block(branch, stream, float(both), xi=xi / root)
    except DeclarationError as error:
        raise DeclarationError(f"{place.asked}: {error.asked}", error.found, error.remedy) from error
    a, b = branch / stream, float(both) / stream
    slope = 2 * (gamma * b + xi * a) if is_xi else 2 * (gamma + xi * b)
    value = form.average(gamma, xi) if plan.target is TuningTarget.GRADIENT else form.ratio(gamma, xi)
    scatter = value.error / abs(slope) if slope else math.nan
    return EstimatedNumber(gamma, 0.0 if is_xi else scatter), EstimatedNumber(xi, scatter if is_xi else 0.0)


def layer_factor(
    place: TunedPlace, sample: PlaceSample, target: TuningTarget, kernel: float | None, factor: float
) -> EstimatedNumber:
    """The factor of a layer's weights that gives it the kernel ("size"), or its chi the factor q ("gradient").

    The first layer has no chi: its kernel is what is asked for, and stays as it is where nothing is.

    Raises:
        DeclarationError: no factor does it.
    """
    form = sample.forms[TuningTarget.SIZE]
    bias, both, weighted = (float(part.mean()) for part in (form.first, form.both, form.second))
    if not weighted > 0:
        raise DeclarationError(place.asked, "its weights give 0", "begin with weights that are not 0")
    if target is TuningTarget.GRADIENT and target in sample.forms:
        chi = sample.forms[target].average(1, 1)
        xi = math.sqrt(factor / float(chi))
        return EstimatedNumber(xi, xi * chi.error / (2 * float(chi)))
    if kernel is None:
        return EstimatedNumber(1.0, 0.0)
    square = both**2 - weighted * (bias - kernel)  # of the root of weighted xi^2 + 2 both xi + bias = kernel
    xi = (math.sqrt(square) - both) / weighted if square >= 0 else 0.0
    if not xi > 0:
        reason = f"its biases alone have the mean square {bias:.4g}"
        raise DeclarationError(f"kernel = {kernel:.4g} at {place.name}", reason, "choose a larger kernel")
    return EstimatedNumber(xi, form.average(1, xi).error / (2 * (weighted * xi + both)))
