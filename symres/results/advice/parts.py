"""What advice on initialisation is made of: numbers, where they come from, how networks fared that were drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Path:
    """A kernel and a squared gradient along the depth.

    Args:
        kernels: ``K^0, ..., K^L``.
        jacobians: ``J^{0,0} = 1, ..., J^{0,L}``, averaged partial Jacobian norms.
    """

    kernels: tuple[float, ...]
    jacobians: tuple[float, ...]

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


def spread(values: tuple[float, ...] | np.ndarray) -> float:
    """The largest over the smallest; infinite where one of them is not positive and finite."""
    found = np.asarray(values, dtype=float)
    if not np.all(np.isfinite(found)) or found.min() <= 0:
        return float("inf")
    with np.errstate(over="ignore"):
        return float(found.max() / found.min())


@dataclass(frozen=True)
class Trial:
    """Networks that were drawn with some numbers, at the depth and width that they are for.

    Args:
        networks: how many.
        mean: kernel and Jacobian of each layer, averaged over the networks.
        ranges: of each network, the larger of the ranges of its kernel and of its squared gradient.
    """

    networks: int
    mean: Path
    ranges: tuple[float, ...]

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

    Args:
        name: as people call it.
        C_W: fan-in times the variance of a weight.
        C_b: variance of a bias.
        kernel_ratio: last kernel over the first, for inputs of mean square 1; nan where they leave double precision.
        gradient_ratio: ``J^{0,L}``; nan as well.
        others: numbers that these schemes have for gamma and xi, by name.
        fixed: (chi_parallel, chi_perp) at K = 1 where that kernel is kept; None where it is not.
    """

    name: str
    C_W: float
    C_b: float
    kernel_ratio: float
    gradient_ratio: float
    others: dict[str, float]
    fixed: tuple[float, float] | None = None


@dataclass(frozen=True)
class LearningRate:
    """How large a step of gradient descent may be.

    Args:
        tangent_kernel: Theta of an input with itself after all layers, in the NTK parametrisation.
        exponent: Theta grows like depth**exponent around this depth.
    """

    tangent_kernel: float
    exponent: float

    @property
    def largest(self) -> float:
        """Of gradient descent in the NTK parametrisation, from which on squared errors of one input grow: 2/Theta."""
        return 2 / self.tangent_kernel


@dataclass(frozen=True)
class Suggestion:
    """A layer near the one that was asked for, whose networks survive.

    Args:
        forward: its forward equation.
        C_W: fan-in times the variance of a weight.
        C_b: variance of a bias.
        parameters: gamma, xi, by name.
        kernel: of the first preactivations.
    """

    forward: str
    C_W: float
    C_b: float
    parameters: dict[str, float]
    kernel: float


@dataclass(frozen=True, repr=False)
class Choice:
    """The variances to draw and the scale of the inputs, tried in networks of this depth and width.

    Args:
        depth: number of layers.
        width: of the stream.
        holds: whether kernels and squared gradients of drawn networks stay within a factor of 5 over the depth: those
            averaged over the networks with a margin (a factor of 4), and those of half of the single networks.
        C_W: fan-in times the variance of a weight; None where nothing could be tried.
        C_b: variance of a bias.
        parameters: numbers chosen for the other free parameters of the layer: gamma, xi, by name.
        kernel: of the first preactivations, K^0.
        inputs_kernel: mean square of the inputs, for a read-in Dense with the same C_W and C_b: (K^0 - C_b)/C_W.
        origin: where the numbers come from.
        theory: kernels and Jacobians along the depth at infinite width.
        trial: how the networks fared that were drawn.
        fluctuation: relative standard deviation of the mean square of the last stream over networks,
            sqrt((V + 2 K^2)/n)/K, of the finite-width theory; None where that is not known.
        any_scale: whether networks treat inputs of all scales alike.
        optimal: whether gamma is the weight for which depth/width is the optimal aspect ratio.
        drift: relative change of the kernel in the last layer, at infinite width, where the first is 10 % larger.
        learning_rate: None for layers that average over a batch.
        usual: what customary schemes do, for comparison.
        nearest: where nothing holds, a layer near it for which something does.
        wanted: names of parameters that need numbers first.
        given_inputs: the mean square of the inputs that was asked for, if any.
        remark: why nothing was tried.
    """

    depth: int
    width: int
    holds: bool
    C_W: float | None = None
    C_b: float | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    kernel: float | None = None
    inputs_kernel: float | None = None
    origin: Origin | None = None
    theory: Path | None = None
    trial: Trial | None = None
    fluctuation: float | None = None
    any_scale: bool = False
    optimal: bool = False
    drift: float | None = None
    learning_rate: LearningRate | None = None
    usual: tuple[UsualScheme, ...] = ()
    nearest: Suggestion | None = None
    wanted: tuple[str, ...] = ()
    given_inputs: float | None = None
    remark: str = ""
