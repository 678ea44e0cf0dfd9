"""How much rounding can cost where a closed form is evaluated: a bound that is computed beside the value.

Standard running error analysis. What an operation adds is its result (in units of the rounding of floats), what it
inherits are the errors of its operands times its slopes; arguments are exact. Where terms cancel the bound is much
larger than the value, whatever the values of parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import sympy as sp

from ...functions import companions as co
from ...functions.function_record import RECORDS, record_of
from ...functions.records.softmax_family import SoftmaxOverlap
from ...numerics.interval_arithmetic import LINE
from . import primitives as pr

_ROUNDED = (pr.determinant, pr.correlation, pr.complement)  # computed by helpers, to a rounding
_TILT = 2 / sp.sqrt(sp.pi)

# Bounds of the slopes, in each argument, of functions whose derivatives are not such bounds themselves.
_SLOPES: dict[type, Callable[..., tuple[sp.Expr, ...]]] = {
    co.Erfcx: lambda u: (2 * pr.AbsNode(u) * co.Erfcx(u) + _TILT,),
    co.Erfcxm1: lambda u: (2 * pr.AbsNode(u) * co.Erfcx(u) + _TILT,),
    co.ScaledTail: lambda u, v, w: (*_by_side(co.ScaledTail(u, v, w), w), _TILT * sp.exp(v)),
    **dict.fromkeys((sp.Abs, pr.AbsNode, pr.NonzeroDivisor), lambda u: (sp.Integer(1),)),
    sp.sign: lambda u: (sp.Integer(0),),
    pr.Separation: lambda x, y, c: (sp.sqrt(y) / sp.sqrt(x) / 2, sp.sqrt(x) / sp.sqrt(y) / 2, sp.Integer(1)),
    pr.Restored: lambda v, x, y, b: (sp.Integer(1), *[sp.Integer(0)] * 3),
    pr.Atan2: lambda y, x: _turned(y, x),
    pr.UpperAngle: lambda y, x: _turned(y, x),
    pr.TwoSigns: lambda h, k, x, y: (sp.exp(-(h**2) / 2), sp.exp(-(k**2) / 2), *_turned(x, y)),
    pr.TwoTails: lambda h, k, x, y: _at_corner(h, k, x, y),
    SoftmaxOverlap: lambda *scores: _of_scores(SoftmaxOverlap(*scores)),
    pr.CrossDifference: lambda x, y, u, v: tuple(map(pr.AbsNode, (y, x, v, u))),
}
# Primitives that keep the digits of their arguments, those that do for positive ones, and those that are positive.
_WAVES = (sp.cosh, co.ExpSinh, co.ExpCoshm1)
_SOUND = (sp.Add, sp.Mul, sp.Pow, sp.Abs, *_WAVES, pr.Atan2, pr.UpperAngle, pr.NonzeroDivisor, pr.Restored)
_SOUND_ABOVE_0 = (co.ScaledTail, co.Erfcx, co.Softplus, co.Log1p)
_POSITIVE = (pr.UpperAngle, pr.AbsNode, pr.NonzeroDivisor, pr.Separation, pr.TwoTails)


def slopes_of(e: sp.Expr) -> tuple[sp.Expr, ...]:
    """Bounds of the derivatives of a function in each argument.

    Raises:
        KeyError: neither its record nor the table above knows.
    """
    if type(e) in _SLOPES:
        return _SLOPES[type(e)](*e.args)
    return tuple(_size(RECORDS[type(e)].kind(*e.args).fdiff(n)) for n in range(1, len(e.args) + 1))


def _of_scores(overlap: sp.Expr) -> tuple[sp.Expr, ...]:
    """The slopes of an overlap in the scores; the number of keys and the orders of derivatives are exact."""
    if not isinstance(overlap, SoftmaxOverlap):
        return (sp.S.Zero,) * 7
    return (*(_size(overlap.fdiff(n)) for n in (1, 2, 3)), *[sp.S.Zero] * (len(overlap.args) - 3))


def _turned(x: sp.Expr, y: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The slopes of the angle of a point."""
    return _size(y) / (x**2 + y**2), _size(x) / (x**2 + y**2)


def _by_side(tail: sp.Expr, w: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The slopes of a scaled tail in its two exponents: one of them is used, by the sign of w."""
    return tail * (1 - sp.sign(w)) / 2, tail * (1 + sp.sign(w)) / 2


def _at_corner(h: sp.Expr, k: sp.Expr, x: sp.Expr, y: sp.Expr) -> tuple[sp.Expr, ...]:
    """The slopes of an upper tail: what lies along each edge, the density at the corner; with 1/5 for 1/sqrt(8*pi)."""
    size = sp.sqrt(x**2 + y**2)
    first, second = (k * size - h * x) / y, (h * size - k * x) / y
    edges = (sp.exp(-(u**2) / 2) * sp.erfc(leg / sp.sqrt(2)) / 5 for u, leg in ((h, first), (k, second)))
    density = sp.exp(-(h**2 + first**2) / 2) / 5
    return *edges, *(density * slope for slope in _turned(x, y))


def doubt(code: sp.Expr) -> sp.Expr | None:
    """A bound of the rounding error of a formula, in units of the rounding of floats; None if a function is unknown."""
    bounds: dict[sp.Expr, sp.Expr] = {}

    def bound(e: sp.Expr) -> sp.Expr:
        if e not in bounds:
            bounds[e] = _bound(e, bound)
        return bounds[e]

    try:
        return bound(code)
    except KeyError:
        return None


def _bound(e: sp.Expr, bound: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    """The bound for a node from those of its arguments: what it inherits, and its own rounding."""
    if e.is_Symbol:
        return _size(e) if e in _ROUNDED else sp.Integer(0)
    if not e.free_symbols:
        return sp.Integer(0) if e.is_Rational and _is_power_of_2(sp.Integer(e.q)) else sp.Abs(e)
    if isinstance(e, sp.Add):
        rounding = _size(e) if len(e.args) == 2 else sp.Add(*map(_size, e.args))
        return sp.Add(*map(bound, e.args), rounding)
    if isinstance(e, sp.Mul):
        inherited = []
        for position, factor in enumerate(e.args):
            others = (_size(f) for k, f in enumerate(e.args) if k != position)
            inherited.append(bound(factor) * sp.Mul(*others))
        rounded = sum(1 for f in e.args if not _is_power_of_2(f)) - 1
        return sp.Add(*inherited, max(rounded, 0) * _size(e))
    if isinstance(e, sp.Pow) and e.base != sp.E:
        if e.exp.is_number and e.exp >= 1:
            slope = e.exp * _size(e.base ** (e.exp - 1))  # no quotient: the base may be 0
        else:
            slope = abs(e.exp) * _size(e) / _size(e.base) if e.exp.is_number else _size(e * e.exp / e.base)
        moved = sp.Integer(0) if e.exp.is_number else _size(e) * pr.AbsNode(sp.log(e.base)) * bound(e.exp)
        return bound(e.base) * slope + moved + _size(e)
    if isinstance(e, pr.AngularSum):
        return _angular_bound(e, bound)
    if isinstance(e, sp.Max | sp.Min):
        return sp.Add(*map(bound, e.args))
    return sp.Add(*(slope * bound(u) for slope, u in zip(slopes_of(e), e.args, strict=True)), _size(e))


def _angular_bound(e: pr.AngularSum, bound: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    """The bound of that one of two sums which is computed: the same choice is made with the bounds of both.

    Next to theta = 0, s + N*theta = s*(1 - theta/tan(theta)) is computed with seven roundings; it changes there with
    the third power of s and the second of 1/N.
    """
    total, apart, M, N, s = e.args
    moved = 3 * bound(s) / pr.NonzeroDivisor(s) + 2 * bound(N) / pr.NonzeroDivisor(_size(N))
    steep = (8 + moved) * _size(M) + bound(M)
    return pr.AngularSum(bound(total), bound(apart) + _size(apart), steep, N, s)


def _is_power_of_2(e: sp.Expr) -> bool:
    """Whether multiplication with a number is exact."""
    return bool(e.is_Rational) and math.frexp(abs(float(e)))[0] == 0.5


def _size(e: sp.Expr) -> sp.Expr:
    """The absolute value of what may be negative."""
    if isinstance(e, pr.AbsNode) or (e.is_nonnegative and (e.is_Symbol or e.is_Function)):
        return e
    if isinstance(e, sp.Mul):
        return sp.Mul(*map(_size, e.args))
    if isinstance(e, sp.Pow) and e.exp.is_Rational:
        return e if e.exp.is_even else _size(e.base) ** e.exp
    return sp.Abs(e) if e.is_number else pr.AbsNode(e)


def cancels(code: sp.Expr) -> bool:
    """Whether there may be values at which a formula loses digits, as far as signs tell."""
    if not code.args or not code.free_symbols:
        return False
    if isinstance(code, sp.Add) and not one_sign(code.args):  # a difference of two arguments is exact but for rounding
        return len(code.args) > 2 or any(doubt(u) != 0 for u in code.args)
    if isinstance(code, sp.Pow) and not code.exp.is_number and code.base != sp.E:
        return True
    if isinstance(code, _SOUND_ABOVE_0) and any(_sign(u) < 1 for u in code.args):
        return True
    if not isinstance(code, (*_SOUND, *_SOUND_ABOVE_0)):
        record = record_of(code)  # a function that vanishes at 0 only, or far out, keeps the digits of its argument
        if record is None or record.domain is not LINE or not (record.keeps_sign or record.is_positive):
            return True
    return any(map(cancels, code.args))


def one_sign(terms: Iterable[sp.Expr]) -> bool:
    """Whether all terms of a sum are known to have the same sign."""
    return {*map(_sign, terms)} in ({1}, {-1})


def _sign(e: sp.Expr) -> int:
    """1 for what is known to be positive or 0, -1 for what is known to be negative or 0, else 0."""
    if isinstance(e, sp.Mul):
        return math.prod(map(_sign, e.args))
    record = record_of(e)
    if isinstance(e, pr.Restored) or (record is not None and record.keeps_sign):
        return _sign(e.args[0])
    if isinstance(e, _POSITIVE) or e.is_nonnegative:
        return 1
    return -1 if e.is_nonpositive else 0
