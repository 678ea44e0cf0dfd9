"""Numbers for networks of one depth and one width, and how they fared."""

from __future__ import annotations

from dataclasses import dataclass, field

from .parts import LearningRate, Origin, Path, Suggestion, Trial, UsualScheme


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
