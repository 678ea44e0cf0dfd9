"""What advice on initialisation is made of: numbers, where they come from, how networks fared that were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...numerics.deferred_numpy import np

FACTOR = 5.0  # over the depth, by which a kernel or a gradient may change
MARGIN = 4.0  # the same of averages over networks: FACTOR with a margin
DIGITS = 9  # of numbers that are typed, or repeated from the table of critical points
OFF = 1.1  # a first kernel that is not quite the one that is advised, over that


class Origin(StrEnum):
    """Where variances come from."""

    POINT = "critical point"
    LINE = "critical line"
    BRANCH = "small branches"
    SEARCH = "search"
    GIVEN = "given numbers"


class Topic(StrEnum):
    """What a sentence of advice is about."""

    OPEN = "what is missing"
    DRAW = "what to draw, or that nothing holds"
    SOURCE = "where the numbers come from"
    ASPECT_RATIO = "the optimal depth/width"
    INPUTS = "which inputs may stay as they are"
    SCALING = "how to scale the inputs"
    TRIAL = "how drawn networks fared"
    DRIFT = "a first kernel that is a little off"
    SCATTER = "the scatter of last kernels"
    LEARNING_RATE = "the tangent kernel"
    NEAREST = "the nearest layer that holds"
    SCHEMES = "customary schemes"
    TOKENS = "what becomes of tokens"


@dataclass(frozen=True)
class Path:
    """A kernel and a squared gradient along the depth."""

    kernels: tuple[float, ...]  # ``K^0, ..., K^L``
    jacobians: tuple[float, ...]  # ``J^{0,0} = 1, ..., J^{0,L}``, averaged partial Jacobian norms

    @property
    def kernel_range(self) -> float:
        """The largest kernel over the smallest; infinite where they overflow or vanish."""
        return spread(self.kernels)

    @property
    def gradient_range(self) -> float:
        """The largest squared gradient of a stream over the smallest."""
        return spread(self.jacobians)

    @property
    def range(self) -> float:
        """The larger of both."""
        return max(self.kernel_range, self.gradient_range)


def spread(values: Sequence[float] | np.ndarray) -> float:
    """The largest over the smallest, 1 of none; infinite where one of them is not positive and finite."""
    numbers = np.asarray(values if len(values) else [1.0], dtype=float)
    if not np.all(np.isfinite(numbers)) or numbers.min() <= 0:
        return float("inf")
    with np.errstate(over="ignore"):
        return float(numbers.max() / numbers.min())


@dataclass(frozen=True)
class Trial:
    """Networks that were drawn with some numbers, at the depth and width that they are for."""

    networks: int  # how many
    mean: Path  # kernel and Jacobian of each layer, averaged over the networks
    ranges: tuple[float, ...]  # of each network, the larger of the ranges of its kernel and of its squared gradient

    @property
    def typical(self) -> float:
        """The median of the factors by which single networks change."""
        return float(np.quantile(self.ranges, 0.5, method="nearest"))

    @property
    def leaving(self) -> int:
        """How many networks change by more than a factor of 5."""
        return sum(found > FACTOR for found in self.ranges)

    @property
    def score(self) -> float:
        """The factor by which these networks are judged: of averages, and of half of the single networks."""
        return max(self.mean.range, self.typical * MARGIN / FACTOR)

    @property
    def holds_on_average(self) -> bool:
        """Whether averages over networks stay within a factor of 4, however much single networks scatter."""
        return self.mean.range <= MARGIN

    @property
    def holds(self) -> bool:
        """Whether signals and gradients survive: all of ``score`` within a factor of 4, that is 5 with a margin."""
        return self.score <= MARGIN


@dataclass(frozen=True)
class UsualScheme:
    """What a customary initialisation does to networks of the same depth, at infinite width.

    Ratios are of the last layer to the first, nan where they leave double precision.
    """

    name: str  # as people call it
    C_W: float  # fan-in times the variance of a weight
    C_b: float  # variance of a bias
    kernel_ratio: float  # for inputs of mean square 1
    gradient_ratio: float  # ``J^{0,L}``
    others: dict[str, float]  # numbers that these schemes have for gamma and xi, by name
    fixed: tuple[float, float] | None = None  # (chi_parallel, chi_perp) at K = 1 where that kernel is kept


@dataclass(frozen=True)
class TokenEnd:
    """What variances make of tokens behind all layers, at infinite width.

    The first stream has kernel 1, and its tokens have nothing in common.
    """

    scheme: str  # as people call it; empty for what is advised
    tokens: int  # in each input
    kernel: float  # of the last stream
    similarity: float  # the cosine of two of its tokens
    gradient: float  # ``J^{0,L}`` of all tokens moved alike
    crowding: float = 0.0  # relative correction of attention, to first order, where tokens are many for this width


@dataclass(frozen=True)
class LearningRate:
    """How large a step of gradient descent may be."""

    tangent_kernel: float  # Theta of an input with itself after all layers, in the NTK parametrisation
    exponent: float  # Theta grows like depth**exponent around this depth

    @property
    def largest(self) -> float:
        """Of gradient descent in the NTK parametrisation, from which on squared errors of one input grow: 2/Theta."""
        return 2 / self.tangent_kernel


@dataclass(frozen=True)
class Suggestion:
    """A layer near the one that was asked for, whose networks survive."""

    forward: str  # its forward equation
    C_W: float  # fan-in times the variance of a weight
    C_b: float  # variance of a bias
    parameters: dict[str, float]  # gamma, xi, by name
    kernel: float  # of the first preactivations
