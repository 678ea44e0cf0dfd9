"""Functions without overflow and without cancellation, and fits."""

from __future__ import annotations

import numpy as xp
from scipy import special

from .array_types import Floats


def _certain(value: Floats, error: Floats) -> Floats:
    """A value; nan where rounding may have cost more than six digits of it, unless it is no normal float."""
    return xp.where(error <= 1e-6 * xp.abs(value) + 1e-290, value, xp.nan)


def _without_near_slopes(value: Floats, K1: Floats, K2: Floats, C: Floats, nearest: float) -> Floats:
    """A value whose derivatives are nan for nearly parallel inputs: those of its terms cancel there.

    ``nearest`` is the ratio of K1*K2 - C**2 to K1*K2 from which on they are right.
    """
    near = K1 * K2 - C * C <= nearest * K1 * K2
    moved: Floats = xp.sqrt(xp.where(near, 0.0 * (K1 + K2 + C), 1.0))  # 0 there, with the slope 0 times infinity
    return value + moved - xp.where(near, 0.0, 1.0)


def _positive(u: Floats) -> Floats:
    """Numbers u >= 0, but not so small that their squares or the inverses of these would be no floats."""
    return xp.clip(u, float(xp.finfo(u.dtype).tiny) ** 0.45, None)


def _erfcx(u: Floats) -> Floats:
    """exp(u*u)*erfc(u)."""
    value: Floats = special.erfcx(u)
    return value


def _scaled_tail(u: Floats, v: Floats, w: Floats) -> Floats:
    """exp(u)*erfc(w) from v = u - w*w too: the tail is scaled where it is small."""
    small = w > 0.0
    tail = xp.where(small, _erfcx(xp.where(small, w, 0.0)), special.erfc(xp.where(small, 0.0, w)))
    return xp.exp(xp.where(small, v, u)) * tail


def _erfcxm1(u: Floats) -> Floats:
    """exp(u*u)*erfc(u) - 1 for u >= 0, without cancellation at u = 0."""
    small = xp.clip(u, None, 1.0)
    near = xp.expm1(small * small) * special.erfc(small) - special.erf(small)
    return xp.where(u < 1.0, near, _erfcx(u) - 1.0)


def _expsinh(a: Floats, b: Floats) -> Floats:
    """exp(a)*sinh(b), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = xp.abs(b)
    return -xp.copysign(0.5, b) * xp.exp(a + size) * xp.expm1(-2.0 * size)


def _expcosh(a: Floats, b: Floats) -> Floats:
    """exp(a)*cosh(b), without overflow where a + abs(b) <= 0."""
    size = xp.abs(b)
    return 0.5 * xp.exp(a + size) * (1.0 + xp.exp(-2.0 * size))


def _expcoshm1(a: Floats, b: Floats) -> Floats:
    """exp(a)*(cosh(b) - 1), without overflow where a + abs(b) <= 0 and without cancellation at b = 0."""
    size = xp.abs(b)
    half = xp.expm1(-size)
    return 0.5 * xp.exp(a + size) * half * half


def _sigmoid(u: Floats) -> Floats:
    """1/(1 + exp(-u)), without overflow."""
    small = xp.exp(-xp.abs(u))
    return xp.where(u >= 0.0, 1.0, small) / (1.0 + small)


def _piecewise(u: Floats, edges: Floats, table: Floats) -> Floats:
    """The piecewise Chebyshev polynomial of u with the given inner and outer edges (Clenshaw's recursion)."""
    ends, rows = _as_table(edges, u), _as_table(table, u)
    u = xp.where(u > ends[-1], ends[-1], u)
    piece = xp.searchsorted(ends[1:-1], u.reshape(-1), side="right").reshape(u.shape)
    left, right = ends[piece], ends[piece + 1]
    t = (2.0 * u - (left + right)) / (right - left)
    high, low = xp.zeros_like(t), xp.zeros_like(t)
    for k in range(rows.shape[0] - 1, 0, -1):
        high, low = rows[k][piece] + 2.0 * t * high - low, high
    return rows[0][piece] + t * high - low


def _as_table(numbers: Floats, like: Floats) -> Floats:
    """Numbers as an array of the type of another one."""
    return xp.asarray(numbers, dtype=like.dtype)


# fmt: off

_ARCTAN_TAIL = (  # (1 - arctan(u)/u)/v with v = u**2 from 0 to 0.287, from the highest power on
    -0.006270403299079487, 0.019361576819845072, -0.03226762597754204, 0.04109238512453447,
    -0.04709357175408248, 0.052548571871658775, -0.05881416801493554, 0.06666592449557195,
    -0.07692303674719647, 0.0909090894941717, -0.1111111110811686, 0.14285714285681142, -0.19999999999999854,
    0.3333333333333333,
)

# fmt: on


def _angular_sum(total: Floats, apart: Floats, M: Floats, N: Floats, s: Floats) -> Floats:
    """A sum rest + M*N*theta, theta the angle of the point (-N, s), s >= 0, mended where it cancels.

    Where theta is small it is apart + M*s*(1 - theta/tan(theta)), with ``apart`` = rest - M*s.
    """
    near = s < -1.5 * N
    v = (s / xp.where(near, xp.sqrt(N * N + s * s) - N, xp.inf)) ** 2  # tan(theta/2)**2
    tail = 0.0 * v
    for coefficient in _ARCTAN_TAIL:
        tail = tail * v + coefficient
    return xp.where(near, apart + M * s * (v * (1.0 + (1.0 - v) * tail)), total)
