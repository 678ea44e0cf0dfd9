"""What tuning can keep, and which weight it solves for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from .batch_errors import InputSubset, SignSource

TUNING_PROBES = 4  # times as many as of a measurement: a tuned number should scatter less than what checks it


class TuningTarget(Enum):
    """What a block keeps."""

    SIZE = "size"
    GRADIENT = "gradient"
    APJN = "apjn"
    BOTH = "both"


class TuningPhase(Enum):
    """Which pass it is, each with random signs of its own."""

    BEFORE = "before"
    TUNING = "tuning"
    AFTER = "after"


class TunedWeight(Enum):
    """Which weight is solved for, the other one being given."""

    XI = "xi"
    GAMMA = "gamma"


@dataclass(frozen=True, kw_only=True)
class TuningPlan:
    """What is done with every block or layer.

    Args:
        target: what is kept.
        growth: by which the kernel, or the gradient, may grow over all of them together.
        probes: random directions.
        seed: of their signs.
        steps: called after every one of them in every pass.
    """

    target: TuningTarget
    growth: float
    probes: int
    seed: int
    steps: Callable[[str], None]

    def sources(self, phase: TuningPhase, position: int, subset: InputSubset | None) -> list[SignSource]:
        """Of the signs of a block or layer in a pass, one for each random direction."""
        probes = range(self.probes * (TUNING_PROBES if phase is TuningPhase.TUNING else 1))
        stream = list(TuningPhase).index(phase)
        return [SignSource((self.seed, stream, position, probe), subset) for probe in probes]
