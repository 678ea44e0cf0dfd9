"""Functions of one or two inputs that exist in float arithmetic because their naive spelling loses digits or overflows.

They stand only in expressions on their way to code: rewrites.py makes them, the printers know them.
"""

from __future__ import annotations

import sympy as sp

from ...core.symbols import C, Theta
from ...functions import companions as co
from ...functions.companions import Companion


class GeneratedSymbol(sp.Symbol):
    """A symbol of the code: that of a user with the same name and assumptions is another one."""

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """In the order of terms it is a symbol like others."""
        return sp.Symbol.class_key()


determinant = GeneratedSymbol("determinant", nonnegative=True)  # K1*K2 - C**2, computed without rounding the difference
correlation = GeneratedSymbol("correlation", real=True)  # C/sqrt(K1*K2), and 0 where a kernel vanishes
complement = GeneratedSymbol("complement", nonnegative=True)  # sqrt(1 - correlation**2), from the determinant
PAIRED = frozenset({C, Theta, determinant, correlation, complement})  # what changes from pair to pair of inputs
unit = GeneratedSymbol("unit", positive=True)  # 1, as a tensor


class Distance(Companion, nargs=3):
    """K1 + K2 - 2*C, called as Distance(K1, K2, C), without rounding where the inputs are near: 2*C is not formed."""


class Separation(Companion, nargs=3):
    """sqrt(K1*K2) - C, called as Separation(K1, K2, C), without rounding where the inputs are nearly parallel."""


class CrossDifference(Companion, nargs=4):
    """x*y - u*v, called as CrossDifference(x, y, u, v), without rounding where the products are near."""


class NonzeroDivisor(Companion, nargs=1):
    """u, and 1 where that is 0: a divisor of what vanishes faster than it."""


class Possible(Companion, nargs=4):
    """A value, called as Possible(sqrt(K1), sqrt(K2), C, value); nan where C is no covariance of such kernels."""


class Clipped(Companion, nargs=5):
    """C, called as Clipped(K1, K2, sqrt(K1), sqrt(K2), C), cut off where rounding has brought it above sqrt(K1*K2)."""


class AtLeast(Companion, nargs=2):
    """The larger one of what code computes and a number; nan stays nan."""


class AtMost(Companion, nargs=2):
    """The smaller one, likewise."""


class Chosen(Companion, nargs=3):
    """Chosen(test, a, b): a where a test holds, b elsewhere."""


class AbsNode(Companion, nargs=1):
    """abs(u), as it stands: sympy's own looks for a simpler one."""


class Orientation(Companion, nargs=1):
    """1, and -1 where u is negative."""


class Positive(Companion, nargs=1):
    """u >= 0, but not so small that its square, or the inverse of that times numbers of order 1, would be no float."""


class Atan2(Companion, nargs=2):
    """The angle of the point (x, y), called as Atan2(y, x); sympy's own rewrites itself to atan(y/x)."""


class UpperAngle(Companion, nargs=2):
    """Atan2(y, x) for y >= 0, and a right angle at the origin: what vanishes is independent of all else."""


class TwoSigns(Companion, nargs=4):
    """S2(h, k, r), called as TwoSigns(h, k, x, y) with r = x/sqrt(x**2 + y**2) and y >= 0."""

    written = "S2(h, k, r)"


class TwoTails(Companion, nargs=4):
    """Q2(h, k, r), called likewise."""

    written = "Q2(h, k, r)"


class Certain(Companion, nargs=2):
    """A value, called as Certain(value, error): nan where an error costs more than six of its digits."""


class RightHalfPlaneAngle(Companion, nargs=3):
    """The angle of the point (s, N), called as RightHalfPlaneAngle(N, s, r) with s >= 0 and r**2 = s**2 + N**2."""


class UpperHalfPlaneAngle(Companion, nargs=3):
    """The angle of the point (-N, s), called as UpperHalfPlaneAngle(N, s, r) likewise; a right angle at the origin."""


class AngularSum(Companion, nargs=(5, 6)):
    """A sum rest + M*N*theta that cancels where the angle theta of the point (-N, s) is next to 0; apart = rest - M*s.

    It is called as AngularSum(sum, apart, M, N, s), or as AngularSum(rest, apart, M, N, s, r) with the distance r.
    """


EXPONENTIALS = (sp.exp, sp.sinh, sp.cosh, co.ExpSinh, co.ExpCosh, co.ExpCoshm1, co.Expm1, co.ScaledTail)


class Restored(Companion, nargs=4):
    """v * (1 + e), called as Restored(v, x, y, b), e what the floating sum (x + y) + abs(b) loses to rounding.

    An exponential v of that sum is off by as much relative to itself, which is much where large exponents cancel.
    """
