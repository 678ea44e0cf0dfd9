"""Averages of continuous piecewise linear functions of two normal variables, by Price's theorem alone.

<f(z1) g(z2)> has the second derivative <f'' g''> in the covariance, a sum of bivariate normal densities at the kinks;
two integrations from covariance 0 give it back. Nothing here is shared with the generated code, which averages over
one variable after the other.
"""

from dataclasses import dataclass

import mpmath as mp
import sympy as sp

from symres.core.symbols import z

DIGITS = 30


@dataclass(frozen=True)
class Kinked:
    """start + slope*z + sum of height*max(z - place, 0) over the kinks (place, height)."""

    start: float
    slope: float
    kinks: tuple[tuple[float, float], ...]

    @property
    def formula(self) -> sp.Expr:
        """The function in z."""
        return self.start + self.slope * z + sum(h * sp.Max(z - b, 0) for b, h in self.kinks)

    def mean(self, k: mp.mpf) -> mp.mpf:
        """Its average."""
        s = mp.sqrt(k)
        return self.start + sum(h * (s * mp.npdf(b / s) - b * _tail(b / s)) for b, h in self.kinks)

    def steepness(self, k: mp.mpf) -> mp.mpf:
        """The average of its derivative."""
        return self.slope + sum(h * _tail(b / mp.sqrt(k)) for b, h in self.kinks)

    def pair(self, k1: float, k2: float, c: float, digits: int = DIGITS) -> mp.mpf:
        """<f(z1) f(z2)> of the binary numbers given; where it is tiny, only many digits resolve its integrand."""
        with mp.workdps(digits):
            k1, k2, c = mp.mpf(k1), mp.mpf(k2), mp.mpf(c)
            s = mp.sqrt(k1 * k2)
            end = mp.asin(max(min(c / s, mp.mpf(1)), mp.mpf(-1)))

            def density(t: mp.mpf) -> mp.mpf:
                total = mp.mpf(0)
                for b1, h1 in self.kinks:
                    for b2, h2 in self.kinks:
                        x, y = b1 / mp.sqrt(k1), b2 / mp.sqrt(k2)
                        distance = (x - y) ** 2 + 2 * x * y * (1 - mp.sin(t))
                        total += h1 * h2 * mp.exp(-distance / (2 * mp.cos(t) ** 2))
                return total * (c - s * mp.sin(t)) / (2 * mp.pi)

            places = [mp.mpf(0), *(end * (1 - mp.mpf(8) ** -j) for j in range(1, 14)), end]
            first = self.mean(k1) * self.mean(k2) + c * self.steepness(k1) * self.steepness(k2)
            return first + mp.quad(density, places)


def _tail(x: mp.mpf) -> mp.mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


HARD_TANH = Kinked(-1, 0, ((-1, 1), (1, -1)))
RELU6 = Kinked(0, 0, ((0, 1), (6, -1)))
SOFTSHRINK = Kinked(1, 1, ((-1, -1), (1, 1)))
