"""Sums of a root and an angle that cancel, mended where they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....arrays.runtime.array_types import Floats
from ....arrays.runtime.stable_functions import _ARCTAN_TAIL


def _angular_sum(total: Floats, apart: Callable[[], Floats], M: Floats, N: Floats, s: Floats) -> Floats:
    """A sum rest + M*N*theta, theta the angle of the point (-N, s), s >= 0, mended where it cancels.

    Where theta is small it is apart + M*s*(1 - theta/tan(theta)), with ``apart()`` = rest - M*s.
    """
    near = s < -1.5 * N
    if not near.any():
        return total
    total = np.array(total)
    near = np.broadcast_to(near, total.shape)  # parameters may have axes of their own
    own, turned, root, factor = [np.broadcast_to(a, near.shape)[near] for a in (apart(), N, s, M)]
    v = (root / (np.hypot(turned, root) - turned)) ** 2
    tail = 0.0 * v
    for coefficient in _ARCTAN_TAIL:
        tail = tail * v + coefficient
    total[near] = own + factor * root * (v * (1.0 + (1.0 - v) * tail))
    return total
