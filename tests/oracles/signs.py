"""Averages of signs in mpmath from their definitions: the law of one variable given the other, not Plackett."""

import mpmath as mp
import numpy as np
from scipy.special import erf


def S2(h, k, r):
    """<sgn(h + x) sgn(k + y)>: given x, the average over y is an error function."""
    spread = mp.sqrt(2 * (1 - r) * (1 + r))
    width = mp.sqrt((1 - r) * (1 + r)) / max(abs(r), mp.mpf(1) / 4)
    ends = _ends([-h, -k / r if r else mp.mpf(0)], width)
    return mp.quad(lambda x: mp.npdf(x) * mp.sign(h + x) * mp.erf((k + r * x) / spread), ends)


def Q2(h, k, r):
    """P(x > h, y > k), relative to its own size: split where the density falls, and where the other tail sets in."""
    spread = mp.sqrt(2 * (1 - r) * (1 + r))
    falls = 1 / (1 + abs(h) + abs(k) / spread)
    starts = [e for e in (h, max(h, k * r), max(h, k)) if e >= h]
    ends = sorted({e + m * falls for e in starts for m in (0, 1, 4, 12, 30, 80)} | {h + m for m in (1, 3, 6, 14)})

    def density(x):
        return mp.npdf(x) * mp.erfc((k - r * x) / spread) / 2

    size = max(map(density, ends))  # mpmath stops at an absolute error
    return size * mp.quad(lambda x: density(x) / size, [e for e in ends if e >= h])


def T4(r):
    """Four signs of sqrt(r)*x + sqrt(1 - r)*eps_i: given x they are independent. For 0 < r < 1."""
    slope = mp.sqrt(r / (2 * (1 - r)))
    return mp.quad(lambda x: mp.npdf(x) * mp.erf(slope * x) ** 4, _ends([mp.mpf(0)], 1 / slope))


def S4_of_pairs(a, b, c):
    """Correlations a and b in two pairs and c between them, in floats: each pair shares a factor, u or v.

    x1, x2 = u + noise and x3, x4 = v + noise with <u^2> = a, <v^2> = b, <u v> = c; independent given u and v.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x = np.concatenate([nodes / 2 + m + 0.5 for m in range(-9, 9)])
    mass = np.tile(weights / 2, 18) * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    u = np.sqrt(a) * x[:, None]
    v = c / a * u + np.sqrt(b - c * c / a) * x[None, :]
    return mass @ (erf(u / np.sqrt(2 * (1 - a))) ** 2 * erf(v / np.sqrt(2 * (1 - b))) ** 2) @ mass


def _ends(places, width, reach=14):
    """Where to split: around every place on the scale of the width, and far out."""
    found = {mp.mpf(s * reach) for s in (-1, 1)} | {mp.mpf(s * 4) for s in (-1, 1)}
    for place in places:
        found |= {place + s * m * min(width, 1) for s in (-1, 0, 1) for m in (1, 6)}
    return sorted(e for e in found if abs(e) <= reach)


MODULE = {"S2": S2, "Q2": Q2, "T4": T4}
