"""What is done to arguments and values where the code of a component has no number, before any language."""

from __future__ import annotations

import math
from dataclasses import dataclass

FLOOR = 1e-100  # beneath what is kept above 0
EXCESS = 64  # ulp that rounding may bring a covariance above sqrt(K1*K2): duplicates in float32 data exceed it by 4


@dataclass(frozen=True)
class Guards:
    """The ends of a component; each target spells them.

    Args:
        floor: what kernels are kept above, and the determinant above its square, so that exp(-1/x)/x is 0 and not
            0/0, or where a limit depends on parameters; None if they are taken as they are.
        start: kernels up to this one have the value ``limit``: 0, or more where floats underflow to 0/0.
        limit: the value at the kernel 0, where the code has none; None if it has one.
        largest: the kernel beyond which the value is nan; kernels, and covariances of either sign, are cut there, so
            that nothing overflows on the way to nan.
        sign: of the value, where rounding exceeds it: 1 if it is at least 0, -1 if at most, 0 if it may have any.
    """

    floor: float | None = None
    start: float = 0.0
    limit: float | None = None
    largest: float = math.inf
    sign: int = 0
