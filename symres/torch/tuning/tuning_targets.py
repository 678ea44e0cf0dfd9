"""What tuning can keep, and which weight it solves for."""

from enum import Enum

TUNING_PROBES = 4  # times as many as of a measurement: a tuned number should scatter less than what checks it


class TuningTarget(Enum):
    """What a block keeps."""

    SIZE = "size"
    GRADIENT = "gradient"
    APJN = "apjn"
    BOTH = "both"


class TunedWeight(Enum):
    """Which weight is solved for, the other one being given."""

    XI = "xi"
    GAMMA = "gamma"
