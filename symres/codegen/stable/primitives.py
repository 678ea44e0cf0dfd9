"""Functions that exist in float arithmetic because their naive spelling loses digits or overflows.

They stand only in expressions on their way to code: rewrites.py makes them, the printers know them.
"""

from __future__ import annotations

import sympy as sp

from ...core.symbols import C, Theta


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


class Distance(sp.Function):
    """K1 + K2 - 2*C, called as Distance(K1, K2, C), without rounding where the inputs are near: 2*C is not formed."""

    nargs = 3


class Separation(sp.Function):
    """sqrt(K1*K2) - C, called as Separation(K1, K2, C), without rounding where the inputs are nearly parallel."""

    nargs = 3


class CrossDifference(sp.Function):
    """x*y - u*v, called as CrossDifference(x, y, u, v), without rounding where the products are near."""

    nargs = 4


class NonzeroDivisor(sp.Function):
    """u, and 1 where that is 0: a divisor of what vanishes faster than it."""

    nargs = 1


class Possible(sp.Function):
    """A value, called as Possible(sqrt(K1), sqrt(K2), C, value); nan where C is no covariance of such kernels."""

    nargs = 4


class Clipped(sp.Function):
    """C, called as Clipped(K1, K2, sqrt(K1), sqrt(K2), C), cut off where rounding has brought it above sqrt(K1*K2)."""

    nargs = 5


class AbsNode(sp.Function):
    """abs(u), as it stands: sympy's own looks for a simpler one."""

    nargs = 1


class Expm1(sp.Function):
    """exp(u) - 1."""

    nargs = 1


class Log1p(sp.Function):
    """log(1 + u)."""

    nargs = 1


class Erfc(sp.Function):
    """1 - erf(u) for u with a minus sign: sympy's own becomes a difference."""

    nargs = 1


class Erfcx(sp.Function):
    """exp(u**2) * erfc(u)."""

    nargs = 1


class ScaledTail(sp.Function):
    """exp(u) * erfc(w), called as ScaledTail(u, u - w**2, w), the difference in symbols: it may cancel."""

    nargs = 3


class Dawson(sp.Function):
    """exp(-u**2) times the integral of exp(t**2) from 0 to u."""

    nargs = 1


class ExpSinh(sp.Function):
    """exp(a) * sinh(b), finite wherever a + abs(b) is moderate."""

    nargs = 2


class ExpCosh(sp.Function):
    """exp(a) * cosh(b)."""

    nargs = 2


class ExpCoshm1(sp.Function):
    """exp(a) * (cosh(b) - 1)."""

    nargs = 2


class Atan2(sp.Function):
    """The angle of the point (x, y), called as Atan2(y, x); sympy's own rewrites itself to atan(y/x)."""

    nargs = 2


class UpperAngle(sp.Function):
    """Atan2(y, x) for y >= 0, and a right angle at the origin: what vanishes is independent of all else."""

    nargs = 2


class Sigmoid(sp.Function):
    """1 / (1 + exp(-u))."""

    nargs = 1


class Softplus(sp.Function):
    """log(1 + exp(u))."""

    nargs = 1


class TwoSigns(sp.Function):
    """S2(h, k, r), called as TwoSigns(h, k, x, y) with r = x/sqrt(x**2 + y**2) and y >= 0."""

    nargs = 4


class TwoTails(sp.Function):
    """Q2(h, k, r), called likewise."""

    nargs = 4


class Certain(sp.Function):
    """A value, called as Certain(value, error): nan where an error costs more than six of its digits."""

    nargs = 2


class RightHalfPlaneAngle(sp.Function):
    """The angle of the point (s, N), called as RightHalfPlaneAngle(N, s, r) with s >= 0 and r**2 = s**2 + N**2."""

    nargs = 3


class UpperHalfPlaneAngle(sp.Function):
    """The angle of the point (-N, s), called as UpperHalfPlaneAngle(N, s, r) likewise; a right angle at the origin."""

    nargs = 3


class AngularSum(sp.Function):
    """A sum rest + M*N*theta that cancels where the angle theta of the point (-N, s) is next to 0; apart = rest - M*s.

    It is called as AngularSum(sum, apart, M, N, s), or as AngularSum(rest, apart, M, N, s, r) with the distance r.
    """

    nargs = (5, 6)


EXPONENTIALS = (sp.exp, sp.sinh, sp.cosh, ExpSinh, ExpCosh, ExpCoshm1, Expm1, ScaledTail)


class Restored(sp.Function):
    """v * (1 + e), called as Restored(v, x, y, b), e what the floating sum (x + y) + abs(b) loses to rounding.

    An exponential v of that sum is off by as much relative to itself, which is much where large exponents cancel.
    """

    nargs = 4
