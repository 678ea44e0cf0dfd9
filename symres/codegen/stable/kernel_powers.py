"""Powers of kernels in formulas: how soon they leave the range of a floating type, and formulas that do not.

With K1 = k1*r1**2, K2 = k2*r2**2 and C = c*r1*r2, r1 and r2 powers of 2, every sum has a power of r1 and r2 in front
that leaves numbers of order 1: it is put before the whole formula, where what does not cancel is the size of the value.
Nothing is rounded by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from ...core.symbols import K1, K2, C, K
from . import primitives as pr

REDUCED = {K: pr.GeneratedSymbol("k1", positive=True), K1: pr.GeneratedSymbol("k1", positive=True),
           K2: pr.GeneratedSymbol("k2", positive=True), C: pr.GeneratedSymbol("c", real=True)}  # fmt: skip
INVERSES = (pr.GeneratedSymbol("q1", positive=True), pr.GeneratedSymbol("q2", positive=True))  # of r1 and r2
_POWERS = {
    K: (2, 0),
    K1: (2, 0),
    K2: (0, 2),
    C: (1, 1),
    pr.determinant: (2, 2),
    pr.correlation: (0, 0),
    pr.complement: (0, 0),
}
_ALIKE = (sp.Max, sp.Min, sp.atan2, pr.Atan2, pr.UpperAngle)  # of arguments with one power
_OF_ONE = (sp.Abs, pr.AbsNode, sp.sign, pr.NonzeroDivisor)
_BARE = (sp.sign, sp.atan2, pr.Atan2, pr.UpperAngle)  # that depend on no power of their arguments

Powers = tuple[sp.Expr, sp.Expr]  # of r1 and r2


@dataclass(frozen=True)
class Reduced:
    """A formula as a number of order 1 times powers of r1 and r2.

    Args:
        value: in the reduced kernels and in the inverses of r1 and r2.
        powers: of r1 and r2 in front of it.
        steepest: the largest power of kernels in products and quotients of the formula as it stood.
    """

    value: sp.Expr
    powers: Powers = (sp.S.Zero, sp.S.Zero)
    steepest: sp.Expr = sp.S.Zero

    def raised(self, powers: Powers) -> sp.Expr:
        """The value with other powers in front of it."""
        moved = (q ** (p - front) for q, p, front in zip(INVERSES, powers, self.powers, strict=True))
        return self.value * sp.Mul(*moved)

    @property
    def whole(self) -> sp.Expr:
        """The formula itself."""
        return self.raised((sp.S.Zero, sp.S.Zero))

    @property
    def leaves_range(self) -> bool:
        """Whether the formula as it stood has numbers far beyond kernels and value, as squares of kernels are."""
        is_linear = self.steepest <= 1 and self.value.is_polynomial(*REDUCED.values())
        return self.value.has(*REDUCED.values()) and not is_linear

    @property
    def is_homogeneous(self) -> bool:
        """Whether no sum has terms of several powers: kernels may be as small as they like, too."""
        return not self.value.has(*INVERSES)


@lru_cache(maxsize=4096)
def reduced(e: sp.Expr) -> Reduced:
    """A formula in kernels, their covariance and determinant, and in parameters."""
    if e in _POWERS:
        first, second = map(sp.Integer, _POWERS[e])
        return Reduced(REDUCED.get(e, e), (first, second), (first + second) / 2)
    if not e.free_symbols & set(_POWERS):
        return Reduced(e)
    parts = [reduced(a) for a in e.args]
    steepest = max(f.steepest for f in parts)
    if isinstance(e, sp.Mul):
        powers = (sum(f.powers[0] for f in parts), sum(f.powers[1] for f in parts))
        product = max(_size(parts, 1), _size(parts, -1))
        return Reduced(sp.Mul(*(f.value for f in parts)), powers, max(steepest, product))
    if isinstance(e, sp.Pow) and e.exp.is_number:
        base, p = parts[0], e.exp
        return Reduced(base.value**p, (base.powers[0] * p, base.powers[1] * p), max(steepest, abs(_total(base) * p)))
    if isinstance(e, (sp.Add, *_ALIKE)):
        powers = _largest(parts)  # one for all terms, which the function has then as well
        value = e.func(*(f.raised(powers) for f in parts))
        return Reduced(value, (sp.S.Zero, sp.S.Zero) if isinstance(e, _BARE) else powers, steepest)
    if isinstance(e, _OF_ONE):
        powers = (sp.S.Zero, sp.S.Zero) if isinstance(e, _BARE) else parts[0].powers
        return Reduced(e.func(parts[0].value), powers, steepest)
    if isinstance(e, pr.Separation):
        return Reduced(pr.Separation(*(f.value for f in parts)), parts[-1].powers, sp.Integer(2))
    if isinstance(e, pr.AngularSum):
        return _angular_sum(parts, steepest)
    arguments = (a if f.steepest <= 1 else f.whole for a, f in zip(e.args, parts, strict=True))
    return Reduced(e.func(*arguments), steepest=steepest)


def _total(f: Reduced) -> sp.Expr:
    """The power of a kernel, if both are alike; of one where the other is small."""
    first, second = f.powers
    return max(abs(first), abs(second), abs(first + second)) / 2


def _size(factors: Sequence[Reduced], sign: int) -> sp.Expr:
    """The power of kernels in a numerator or in a denominator."""
    return sum((_total(f) for f in factors if sign * sum(f.powers) > 0), sp.S.Zero)


def _largest(terms: Sequence[Reduced]) -> Powers:
    return max(f.powers[0] for f in terms), max(f.powers[1] for f in terms)


def _angular_sum(arguments: Sequence[Reduced], steepest: sp.Expr) -> Reduced:
    """A sum and a root with powers of their own: the factor between them has their quotient."""
    total, apart, M, N, s = arguments
    outer, inner = _largest([total, apart]), _largest([N, s])
    between = (outer[0] - inner[0], outer[1] - inner[1])
    arguments = (total.raised(outer), apart.raised(outer), M.raised(between), N.raised(inner), s.raised(inner))
    return Reduced(pr.AngularSum(*arguments), outer, steepest)
