"""What the theory knows at a place of a model, and what a layer makes of that; with errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .read_block import ReadBlock, layer_value
from .token_streams import BATCH, TokenLayer, mean_variance
from .weight_checks import KERNEL_SCATTER

_PER_WIDTH = 5.0  # relative correction of order 1/n in each layer that is allowed, times n
_OF_NORM = 0.4  # in units of 5/n: a norm takes two directions of n


@dataclass(frozen=True)
class Front:
    """What the theory knows at a place: kernels at positions, and the Jacobian norm from the start; relative errors."""

    kernels: np.ndarray  # at several positions, equally many for each
    kernel_error: float = 0.0
    jacobian: float = math.nan  # squared norm of that from the start; nan where it is not known
    jacobian_error: float = 0.0
    rank: float = 1.0  # effective one of the Jacobian from the start, (tr J J^T)^2/tr (J J^T)^2, 1 at least
    chi: float = 1.0  # squared Jacobian norm of the last layer
    made: float = 1.0  # share of the branch in that; 1 without a skip connection
    chi_error: float = 0.0  # without the scatter of weights
    moved: float = 0.0  # by what chi changes if the kernel is off by its error
    shift: float = 0.0  # the sum of that over layers: a kernel that is off stays so
    tokens: Sequence[np.ndarray] = ()  # kernels of all pairs of tokens, of each input, where layers mix them
    inputs: int = 1  # of a batch
    changes: Sequence[np.ndarray] = ()  # covariances of changes of tokens, from independent ones where the run begins
    cosine_error: float = 0.0  # of two tokens, absolute
    layer: TokenLayer | None = None  # the last one

    @property
    def token_cosine(self) -> float | None:
        """The mean cosine of two different tokens; None where there are no two."""
        if self.layer is None or not self.layer.has_several:
            return None
        return float(np.mean(list(map(self.layer.cosine, self.tokens))))


@dataclass(frozen=True)
class Passage:
    """One layer on what the theory knows before it."""

    after: np.ndarray  # kernels at positions
    chi: float  # squared Jacobian norm
    made: float  # share of the branch in the kernel
    turned: float  # and in chi
    carried: float  # relative error of the next kernel by that of the last
    moved: float  # and of chi
    uneven: float = 0.0  # relative standard deviation of chi over positions
    more: float = 0.0  # further relative errors of the next kernel
    corrected: float = 1.0  # share of the kernel that corrections of order 1/n concern
    scatter: float = 0.0  # relative one of the next kernel by draws of the layer
    alike: float = 1.0  # part of the scatter of slopes at one position that their average keeps
    of_tokens: Mapping[str, Any] = field(default_factory=dict)  # what a front knows of them


def behind(front: Front, block: ReadBlock, which: int) -> Front:
    """What is behind one layer.

    Errors add up: corrections of order 1/n; how much Jacobian norms of different positions differ; and what one
    network differs from the average of all by. Weights make a share m of the kernel of n neurons scatter by
    ``m*sqrt(2/n)``, and of a squared Jacobian norm from r directions by ``m*sqrt(2/(n*r))``. The n neurons over which
    a layer averages make the kernel of one input scatter by ``m*sqrt((<phi^4>/<phi^2>^2 - 1)/n)``, with 2 under the
    root for a linear layer and 5 for relu; Jacobian norms likewise by the slope's moments, and by how much chi_perp
    depends on the kernel. Kernels of several inputs scatter less on the average, but not if one of them is much larger
    than all others.

    Raises:
        SymresError: the next kernel or chi is not known.
    """
    span, width = block.spans[which], block.spans[which].width
    is_listed = len(front.tokens) > 0 and block.of_positions is not None
    step = _of_tokens(front, block, which) if is_listed else _of_kernels(front, block, which)
    correction = _PER_WIDTH / width * step.corrected
    of_layer = math.hypot(correction, step.turned * step.alike / math.sqrt(width), step.uneven)
    return replace(
        front,
        kernels=step.after,
        kernel_error=math.hypot(step.carried, correction, step.scatter, step.more),
        jacobian=front.jacobian * step.chi,
        jacobian_error=math.hypot(front.jacobian_error, of_layer, scatter(step.turned, span.outputs * front.rank)),
        rank=rank_behind(front.rank, step.turned, span.outputs),
        chi=step.chi,
        made=step.turned,
        chi_error=of_layer,
        moved=step.moved,
        shift=front.shift + step.moved,
        **{"tokens": (), "changes": (), "layer": None, **step.of_tokens},
    )


def _of_kernels(front: Front, block: ReadBlock, which: int) -> Passage:
    """A layer that knows positions one by one."""
    assert block.form is not None
    form, numbers = block.form, block.numbers[which]

    def values(kernel: float) -> tuple[float, float]:
        return layer_value(form, "kernel_map", kernel, numbers), layer_value(form, "chi_perp", kernel, numbers)

    rows = np.array([values(float(K)) for K in front.kernels])
    before, after, chi = float(front.kernels.mean()), float(rows[:, 0].mean()), float(rows[:, 1].mean())
    of_skip = before / after, 1 / chi if chi > 0 else 1.0  # in kernel and chi, for a skip connection of weight 1
    made, turned = (max(1 - block.skip_weight**2 * share, 0.0) for share in of_skip)
    (up, faster), (at, slope) = values(before * (1 + front.kernel_error)), values(before)
    moved = abs(faster - slope) / slope if slope > 0 else 0.0  # by what the kernel is off
    uneven = float(rows[:, 1].std()) / chi if chi > 0 else 0.0
    span = block.spans[which]
    of_draws = math.hypot(made * math.sqrt(KERNEL_SCATTER / span.width), scatter(made, span.outputs))
    return Passage(rows[:, 0], chi, made, turned, abs(up - at) / at, moved, uneven, scatter=of_draws)


def _of_tokens(front: Front, block: ReadBlock, which: int) -> Passage:
    """A layer on all tokens; errors are those of the first input.

    Tokens that differ scatter less on the average: draws that make the covariances B of what is added to Z give the
    mean kernel q the variance ``(2 mean(B^2) + 4 mean(B Z))/(n q^2)``, over all pairs of tokens.
    """
    layer, span = TokenLayer(block, which, front.tokens, front.inputs), block.spans[which]
    law, tokens, skip = layer.laws[0], [each.next.kernel for each in layer.laws], layer.skip_weight**2
    changes = [each.tangent(change) for each, change in zip(layer.laws, front.changes, strict=True)]
    chi = mean_variance(changes) / mean_variance(front.changes)
    added, kept = law.added, skip * front.tokens[0] if skip else 0.0 * tokens[0]
    inner, after = (added + kept).diagonal().mean(), tokens[0].diagonal().mean()
    moved = law.tangent(np.eye(len(front.tokens[0]))).diagonal()  # tokens one by one
    made, turned = added.diagonal().mean() / inner, max(1 - skip * after / inner / moved.mean(), 0.0)
    neurons = math.sqrt(KERNEL_SCATTER / span.width * (added**2).mean()) / inner
    weights = math.sqrt((2 * added**2 + 4 * added * kept).mean().clip(0) / span.outputs) / inner
    finite = layer.finite_sizes(span.inputs)
    sizes = made * math.hypot(*finite.values())
    corrected = max(made, _OF_NORM) if layer.is_normalised else made
    rho, before = layer.cosine(tokens[0]), (1 - made) * layer.cosine(front.tokens[0])
    drawn = max(rho - before, made * rho)  # parts of the cosine
    of_cosine = drawn**2 * KERNEL_SCATTER / span.width + (2 * drawn**2 + 4 * drawn * abs(before)) / span.outputs
    of_layer = (1 - rho) * math.hypot(math.sqrt(of_cosine), sizes, _PER_WIDTH * corrected / span.width)
    carried, nearer, faster = layer.change(layer.law(0, 1 + front.kernel_error, off=1.0))
    return Passage(
        np.concatenate([each.diagonal() for each in tokens]),
        chi,
        made,
        turned,
        carried,
        faster,
        turned * (2 * finite.get(BATCH, 0.0)) ** 2,
        more=sizes,
        corrected=corrected,
        scatter=math.hypot(neurons, weights),
        alike=_alike(added, moved) if made else 0.0,
        of_tokens={
            "tokens": tokens,
            "changes": changes,
            "layer": layer,
            "cosine_error": math.hypot(front.cosine_error, nearer, of_layer),
        },
    )


def _alike(added: np.ndarray, shares: np.ndarray) -> float:
    """What part of the scatter of a token is left in a mean over all, by shares, where draws have these covariances."""
    lengths = np.sqrt(added.diagonal())
    squares = np.divide(added, np.outer(lengths, lengths), out=np.eye(len(added)), where=np.outer(lengths, lengths) > 0)
    return float(np.sqrt(shares @ squares**2 @ shares) / shares.sum())


def scatter(made: float, count: float) -> float:
    """Relative standard deviation of a mean square of which Gaussian weights make a share, the rest being given."""
    return math.sqrt((2 * made**2 + 4 * made * (1 - made)) / count)


def rank_behind(rank: float, made: float, neurons: int) -> float:
    """The effective rank behind Gaussian weights: tr (J J^T)^2 = (1/r + 1/n)(tr J J^T)^2 for W J with n rows."""
    return 1 / (1 / rank + (made**2 + 2 * made * (1 - made)) / neurons)
