"""Functions that exist in float arithmetic because their naive spelling loses digits or overflows.

They stand only in expressions on their way to code: rewrites.py makes them, the printers know them.
"""

from __future__ import annotations

import re

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


class Primitive(sp.Function):
    """Base of the functions below."""

    def __init_subclass__(cls, nargs: int | tuple[int, ...]) -> None:
        """Let the number of arguments pass: SymPy's metaclass takes it."""

    @classmethod
    def template(cls) -> str:
        """A call by the name of the class, with all arguments: ``two_tails({0}, {1}, {2}, {3})``."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        return f"{name}({', '.join(f'{{{k}}}' for k in range(max(cls.nargs)))})"


class Distance(Primitive, nargs=3):
    """K1 + K2 - 2*C, called as Distance(K1, K2, C), without rounding where the inputs are near: 2*C is not formed."""


class Separation(Primitive, nargs=3):
    """sqrt(K1*K2) - C, called as Separation(K1, K2, C), without rounding where the inputs are nearly parallel."""


class CrossDifference(Primitive, nargs=4):
    """x*y - u*v, called as CrossDifference(x, y, u, v), without rounding where the products are near."""


class NonzeroDivisor(Primitive, nargs=1):
    """u, and 1 where that is 0: a divisor of what vanishes faster than it."""


class Possible(Primitive, nargs=4):
    """A value, called as Possible(sqrt(K1), sqrt(K2), C, value); nan where C is no covariance of such kernels."""


class Clipped(Primitive, nargs=5):
    """C, called as Clipped(K1, K2, sqrt(K1), sqrt(K2), C), cut off where rounding has brought it above sqrt(K1*K2)."""


class AbsNode(Primitive, nargs=1):
    """abs(u), as it stands: sympy's own looks for a simpler one."""


class Expm1(Primitive, nargs=1):
    """exp(u) - 1."""


class Log1p(Primitive, nargs=1):
    """log(1 + u)."""


class Erfc(Primitive, nargs=1):
    """1 - erf(u) for u with a minus sign: sympy's own becomes a difference."""


class Erfcx(Primitive, nargs=1):
    """exp(u**2) * erfc(u)."""


class ScaledTail(Primitive, nargs=3):
    """exp(u) * erfc(w), called as ScaledTail(u, u - w**2, w), the difference in symbols: it may cancel."""


class Dawson(Primitive, nargs=1):
    """exp(-u**2) times the integral of exp(t**2) from 0 to u."""


class ExpSinh(Primitive, nargs=2):
    """exp(a) * sinh(b), finite wherever a + abs(b) is moderate."""


class ExpCosh(Primitive, nargs=2):
    """exp(a) * cosh(b)."""


class ExpCoshm1(Primitive, nargs=2):
    """exp(a) * (cosh(b) - 1)."""


class Atan2(Primitive, nargs=2):
    """The angle of the point (x, y), called as Atan2(y, x); sympy's own rewrites itself to atan(y/x)."""


class UpperAngle(Primitive, nargs=2):
    """Atan2(y, x) for y >= 0, and a right angle at the origin: what vanishes is independent of all else."""


class Sigmoid(Primitive, nargs=1):
    """1 / (1 + exp(-u))."""


class Softplus(Primitive, nargs=1):
    """log(1 + exp(u))."""


class TwoSigns(Primitive, nargs=4):
    """S2(h, k, r), called as TwoSigns(h, k, x, y) with r = x/sqrt(x**2 + y**2) and y >= 0."""


class TwoTails(Primitive, nargs=4):
    """Q2(h, k, r), called likewise."""


class Certain(Primitive, nargs=2):
    """A value, called as Certain(value, error): nan where an error costs more than six of its digits."""


class RightHalfPlaneAngle(Primitive, nargs=3):
    """The angle of the point (s, N), called as RightHalfPlaneAngle(N, s, r) with s >= 0 and r**2 = s**2 + N**2."""


class UpperHalfPlaneAngle(Primitive, nargs=3):
    """The angle of the point (-N, s), called as UpperHalfPlaneAngle(N, s, r) likewise; a right angle at the origin."""


class AngularSum(Primitive, nargs=(5, 6)):
    """A sum rest + M*N*theta that cancels where the angle theta of the point (-N, s) is next to 0; apart = rest - M*s.

    It is called as AngularSum(sum, apart, M, N, s), or as AngularSum(rest, apart, M, N, s, r) with the distance r.
    """


EXPONENTIALS = (sp.exp, sp.sinh, sp.cosh, ExpSinh, ExpCosh, ExpCoshm1, Expm1, ScaledTail)


class Restored(Primitive, nargs=4):
    """v * (1 + e), called as Restored(v, x, y, b), e what the floating sum (x + y) + abs(b) loses to rounding.

    An exponential v of that sum is off by as much relative to itself, which is much where large exponents cancel.
    """
