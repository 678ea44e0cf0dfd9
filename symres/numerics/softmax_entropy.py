"""The entropy of a softmax vector with Gaussian scores, in double precision.

``H(S; T) = -E sum_b A_b log(A_b)`` with ``A = softmax(t)`` over T keys, scores t_b independent, centred, of variance S.

Since ``log(A_b) = t_b - log(Z)`` with ``Z = sum_b exp(t_b)``, and sums over keys are T times the term of one,

    H = E log(Z) - T E[A t],    log(Z) = int (exp(-exp(x)) - exp(-exp(x)*Z)) dx,    1/Z = int exp(x) exp(-exp(x)*Z) dx,

and for a given x keys are independent: with ``P(x) = E exp(-exp(x + t))``

    H = int [exp(-exp(x)) - P**T - T P**(T-1) E(t exp(x + t) exp(-exp(x + t)))] dx.

By integration over the Gaussian law (Stein) ``T E[A t] = S (1 - B)`` and ``d/dS E log(Z) = (1 - B)/2`` with the overlap
``B(s) = E sum_b A_b**2``, so that also ``H = log(T) + int_0^S (1 - B)/2 ds - S (1 - B(S))``: two more ways to it.

Both integrals are trapezoid sums of functions that are analytic within ``pi/2`` of the real axis, as those of
``softmax_overlap`` are.
"""

from __future__ import annotations

import math
from functools import lru_cache

from ..core.errors import NoClosedForm
from .deferred_numpy import np

_STEP = 0.2  # of x and of scores: sums miss exp(-pi**2/0.2), 4e-22
_REACH = 8.7  # standard deviations of scores
_SMALL = 38.0  # exp(-38) is nothing in double precision
_MOST = 4000  # nodes of x: beyond, sums take minutes


@lru_cache(maxsize=4096)
def softmax_entropy(variance: float, keys: int) -> float:
    """The entropy in nats, from 0 to log(T).

    Args:
        variance: of a score.
        keys: T.

    Raises:
        NoClosedForm: the scores are too large for sums.
    """
    if variance == 0 or keys == 1:
        return math.log(keys)
    deviation = math.sqrt(variance)
    spread = _REACH * deviation + math.sqrt(2 * math.log(keys)) * deviation
    first = -math.log(keys) - _SMALL - min(variance / 2, spread)
    count = math.ceil((math.log(_SMALL) + spread - first) / _STEP)
    if count > _MOST:
        found = f"it needs {count} nodes along an axis, where {_MOST} can be done"
        remedy = "take weaker queries and keys (C_Q, C_K), or put a normaliser in front of the attention"
        raise NoClosedForm(f"the softmax entropy for scores of variance {variance:.4g}", found, remedy)
    x = first + _STEP * np.arange(count)
    step = min(_STEP / deviation, _STEP)
    half = math.ceil(spread / deviation / step)
    nodes = step * np.arange(-half, half + 1.0)
    masses = np.exp(-nodes * nodes / 2)
    masses /= masses.sum()
    size = np.exp(np.minimum(x[:, None] + deviation * nodes, math.log(1000)))  # exp(-1000) is 0
    less = np.minimum(-np.expm1(-size) @ masses, 1.0)  # 1 - P
    along = (size * np.exp(-size)) @ (deviation * nodes * masses)
    with np.errstate(divide="ignore"):
        others = (keys - 1) * np.log1p(-less)  # of P**(T-1)
    alone = np.exp(-np.exp(np.minimum(x, math.log(1000))))
    terms = alone - np.exp(others) * (1 - less + keys * along)
    return float(min(max(terms.sum() * _STEP, 0.0), math.log(keys)))
