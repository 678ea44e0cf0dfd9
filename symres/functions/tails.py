"""How formulas behave for large ``|z|``: scales, their arithmetic, and the scale of a formula, a proved upper bound.

A scale is either a power ``t**power * log(t)**logs`` or an exponential of which only the logarithm is kept,
``log|f| ~ rate * t**order``. Where terms may cancel or oscillate it is an upper bound, and says so. Every sub-formula
gets a scale for z -> oo; scales are combined from the leaves up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cmp_to_key, reduce
from typing import Any, NamedTuple

import sympy as sp
from flint import arb, ctx

from ..core.symbols import z
from ..core.work_budget import NODE, spend
from ..numerics.interval_arithmetic import Range, Undefined
from .balls.far_form import error_arguments, far_form
from .function_record import FunctionRecord, cancelling, record_of
from .ranges import BITS, RangeProgram, is_bounded, sign_of

_ZERO, _ONE, _FAST = sp.Integer(0), sp.Integer(1), sp.oo
_LONGEST_LEAD = 40  # operations of a leading coefficient: sympy takes 1.5 times as long for each level of a nested one
_FAR_RANGE = Range(arb(1000), arb.pos_inf(), False, True)


@dataclass(frozen=True)
class Scale:
    """The scale of a formula for ``t = |z| -> oo`` on one side.

    Args:
        order: 0 for a power; else ``log|f| <= rate * t**order * (1 + o(1))``; oo: faster than any ``exp(t**p)``.
        rate: see order; oo if only the order is known.
        power, logs: for order 0, the scale ``t**power * log(t)**logs``.
        lead: for order 0, the number c of ``f ~ c * scale``; for others the sign of f. 0: f is of smaller order than
            its scale; None: the scale is an upper bound.
    """

    order: sp.Expr = _ZERO
    rate: sp.Expr = _ZERO
    power: sp.Expr = _ZERO
    logs: int = 0
    lead: Any = None  # an expression or None

    @property
    def is_sharp(self) -> bool:
        """The formula is asymptotic to its scale, not only bounded by it."""
        return self.lead is not None and self.lead != 0

    @property
    def vanishes(self) -> bool:
        """The formula tends to 0."""
        if self.order != 0:
            return bool(self.rate < 0)
        size = (self.power, self.logs)
        return size < (0, 0) or (size == (0, 0) and self.lead == 0)

    @property
    def is_bounded(self) -> bool:
        """The formula stays bounded."""
        return self.vanishes or (self.order == 0 and (self.power, self.logs) <= (0, 0))

    @property
    def limit(self) -> sp.Expr | None:
        """What the formula tends to, if that is known and finite."""
        if self.vanishes:
            return _ZERO
        return self.lead if self.order == 0 and (self.power, self.logs) == (0, 0) else None

    @property
    def side(self) -> int | None:
        """The sign with which the formula grows beyond all numbers; None if it does not, or both may be."""
        return sign_of(self.lead) if self.is_sharp and not self.is_bounded else None

    @property
    def has_average(self) -> bool:
        """``log|f| / t**2`` does not stay above 0, so f has an average under every Gaussian."""
        return bool(self.order < 2 or self.rate < 0) or (self.order == 2 and self.rate == 0)

    def __str__(self) -> str:
        if self == ZERO_TAIL:
            return "zero"
        if self.vanishes:
            return "decaying"
        if self.is_bounded:
            return "bounded"
        if self.order == 0:
            powers = {0: "logarithmic", 1: "linear", 2: "quadratic", 3: "cubic"}
            growth = powers.get(self.power, f"of degree {self.power}")
            growth += " times a logarithm" if self.power != 0 and self.logs != 0 else ""
        else:
            orders = {sp.oo: "faster than any exponential", 1: "exponential"}
            growth = orders.get(self.order, f"like the exponential of |z|^{self.order}")
        return growth if self.is_sharp else f"at most {growth}"


ZERO_TAIL = Scale(order=sp.oo, rate=-sp.oo, lead=_ZERO)
UNKNOWN_TAIL = Scale(order=sp.oo, rate=sp.oo)
BOUNDED = Scale()


class TailGrowth(NamedTuple):
    """How an activation behaves far out, for z -> -oo and for z -> oo; as one phrase: ``str(growth)``."""

    left: Scale
    right: Scale

    def __str__(self) -> str:
        left, right = str(self.left), str(self.right)
        return left if left == right else f"{left} on the left, {right} on the right"


def wider(a: Scale, b: Scale) -> Scale:
    """A scale that bounds both: for a formula with several values of its parameters."""
    return a if a == b else replace(max(a, b, key=_by_growth), lead=None)


def _growth(scale: Scale) -> tuple[sp.Expr | int, ...]:
    """What scales are compared by, one after the other."""
    if scale.order == 0:
        return 0, scale.power, sp.Integer(scale.logs)
    return (-1, -scale.order, scale.rate) if scale.rate < 0 else (1, scale.order, scale.rate)


def _compared(a: Scale, b: Scale) -> int:
    """1 where the first grows faster, -1 where it grows more slowly, 0 where both grow alike."""
    for mine, yours in zip(_growth(a), _growth(b), strict=True):
        if mine != yours:
            infinite = mine in (sp.oo, -sp.oo) or yours in (sp.oo, -sp.oo)
            sign = (1 if mine > yours else -1) if infinite else sign_of(sp.sympify(mine - yours))
            if sign is None:
                sign = 1 if sp.N(mine) > sp.N(yours) else -1
            if sign:
                return sign
    return 0


_by_growth = cmp_to_key(_compared)


def exact(number: sp.Expr) -> sp.Expr:
    """A leading coefficient; 0 if it vanishes."""
    sign = sign_of(number)
    return _ZERO if sign == 0 else number


def constant(number: sp.Expr) -> Scale:
    """The scale of a number."""
    return ZERO_TAIL if sign_of(number) == 0 else Scale(lead=number)


def add(a: Scale, b: Scale) -> Scale:
    """The scale of a sum."""
    order = _compared(a, b)
    if order < 0:
        a, b = b, a
    if order != 0:
        return a
    if a.order != 0:
        same = a.is_sharp and b.is_sharp and a.lead == b.lead
        return a if same else replace(a, lead=None)
    if a.is_sharp and b.is_sharp:
        return replace(a, lead=exact(a.lead + b.lead))
    if a.lead == 0 or b.lead == 0:  # smaller order plus anything
        return b if a.lead == 0 else a
    return replace(a, lead=None)


def multiply(a: Scale, b: Scale) -> Scale:
    """The scale of a product."""
    if ZERO_TAIL in (a, b):
        return ZERO_TAIL
    if a.order == 0 and b.order == 0:
        lead = None if a.lead is None or b.lead is None else exact(a.lead * b.lead)
        lead = _ZERO if _ZERO in (a.lead, b.lead) else lead
        return Scale(power=a.power + b.power, logs=a.logs + b.logs, lead=lead)
    if a.order < b.order:
        a, b = b, a
    sign = sp.sign(a.lead) * sp.sign(b.lead) if a.is_sharp and b.is_sharp else None
    if a.order != b.order:
        return replace(a, lead=sign) if a.rate != 0 else replace(a, lead=None)
    if a.order == sp.oo:
        return replace(a, lead=sign) if a.rate == b.rate == -1 else UNKNOWN_TAIL
    rate = sp.oo if sp.oo in (a.rate, b.rate) else exact(a.rate + b.rate)
    return Scale(order=a.order, rate=rate, lead=sign if rate != 0 else None)


def raised(scale: Scale, exponent: sp.Expr) -> Scale:
    """A fixed power; a negative one only of a sharp scale."""
    if scale == ZERO_TAIL:
        return ZERO_TAIL
    if scale.order != 0:
        rate = scale.rate * exponent
        sign = scale.lead if exponent.is_odd or scale.lead is None else sp.Abs(scale.lead)
        return replace(scale, rate=rate if scale.order != sp.oo else sp.sign(rate) * min(1, abs(scale.rate)), lead=sign)
    lead = scale.lead**exponent if scale.is_sharp else scale.lead
    logs = scale.logs * exponent
    return Scale(power=scale.power * exponent, logs=int(sp.ceiling(logs)), lead=lead if logs.is_Integer else None)


def exponential(u: Scale) -> Scale:
    """The scale of ``exp(u)``."""
    if u.vanishes:
        return Scale(lead=_ONE)
    if u.order != 0:
        return Scale(order=_FAST, rate=sp.sign(u.lead), lead=_ONE) if u.is_sharp and u.rate > 0 else UNKNOWN_TAIL
    if u.is_bounded:
        return Scale(lead=sp.exp(u.lead)) if u.is_sharp else BOUNDED
    if u.power == 0:  # a logarithm: a power of t, with a margin for what is smaller than the logarithm
        if u.is_sharp and u.logs == 1:
            return Scale(power=u.lead + 1)
        if u.is_sharp and u.logs > 1 and sign_of(u.lead) == -1:
            return Scale(power=-_ONE, lead=_ZERO)  # it falls faster than any power
        return Scale(order=sp.Rational(1, 100), rate=sp.oo)
    if not u.is_sharp:
        slower = u.lead == 0 and u.logs <= 0
        return Scale(order=u.power if u.logs <= 0 else _order_covering_log(u.power), rate=_ZERO if slower else sp.oo)
    if u.logs == 0:
        return Scale(order=u.power, rate=u.lead, lead=_ONE)
    if u.logs < 0:
        return Scale(order=u.power, rate=_ZERO)
    if sign_of(u.lead) == -1:
        return Scale(order=u.power, rate=-_ONE)
    return Scale(order=_order_covering_log(u.power), rate=sp.oo)


def _order_covering_log(power: sp.Expr) -> sp.Expr:
    """An order that also covers a factor log(t); below 2 if the power is."""
    return (power + 2) / 2 if power < 2 else power + 1


def scaled(u: Scale, factor: sp.Expr) -> Scale:
    """The scale of u times a number."""
    return replace(u, lead=u.lead * factor) if u.order == 0 and u.lead is not None else u


def tail(part: sp.Expr) -> Scale:
    """The scale of a formula without parameters for z -> oo; for the left side pass the mirrored formula."""
    scales = _Scales()
    scale = scales[part]
    sides = tuple(scales[u].side or 0 for u in error_arguments(part))
    if scale.is_sharp or not any(sides):
        return scale
    far = scales[far_form(part, sides, 1)]
    return far if far.is_sharp else min(far, scale, key=_by_growth)  # both are bounds


class _Scales(dict[sp.Basic, Scale]):
    """Scales of all sub-formulas of one formula, each found where it is asked for."""

    def __missing__(self, node: sp.Expr) -> Scale:
        spend(NODE)
        scale = self._find(node)
        if scale.lead is not None and scale.lead.count_ops() > _LONGEST_LEAD:
            scale = replace(scale, lead=None)
        self[node] = scale
        return scale

    def _find(self, node: sp.Expr) -> Scale:
        """By the kind of the node: a polynomial by its terms, sums, products and powers by their parts."""
        if not node.has(z):
            return constant(node)
        if node.is_polynomial(z):
            for (degree,), coefficient in sp.Poly(node, z).terms():
                if sign_of(coefficient) != 0:
                    return Scale(power=sp.Integer(degree), lead=coefficient)
            return ZERO_TAIL
        if isinstance(node, sp.Add):
            scale = reduce(add, map(self.__getitem__, _without_cancellation(node)))
            return self._over_one_denominator(node, scale) if scale.lead == 0 and node.has(sp.exp) else scale
        if isinstance(node, sp.Mul):
            return reduce(multiply, map(self.__getitem__, node.args))
        if isinstance(node, sp.exp):
            return exponential(self[node.exp])
        if isinstance(node, sp.Pow):
            if node.exp.has(z):
                return exponential(multiply(self[node.exp], self._logarithm(node.base)))
            scale = self[node.base]
            if scale.is_sharp or sign_of(node.exp) == 1:
                return raised(scale, node.exp)
            bounds = _far_range(node.base)
            return BOUNDED if bounds is not None and (bounds.lo > 0 or bounds.hi < 0) else UNKNOWN_TAIL
        if isinstance(node, sp.log):
            return self._logarithm(node.args[0])
        if isinstance(node, sp.tan) and not self[node.args[0]].vanishes:
            bounds = _far_range(node)
            return BOUNDED if bounds is not None and bounds.is_finite else UNKNOWN_TAIL
        record = record_of(node)
        return UNKNOWN_TAIL if record is None or len(node.args) > 1 else self._function(record, node.args[0])

    def _function(self, record: FunctionRecord, argument: sp.Expr) -> Scale:
        """By the rule of a function, else by its limit, its value at 0, its bounds or its definition."""
        u = self[argument]
        if u.limit:  # another one than 0: by continuity
            return Scale(lead=exact(record.kind(u.limit)))
        if record.tail is not None:
            scale: Scale = record.tail(u)
            return scale
        if u.vanishes and (value := record.value_at_0).is_finite:
            return constant(value) if value != 0 else scaled(u, record.slope_at_0)
        if record.limits is not None and (side := u.side):
            limit = record.limits[side > 0]
            if limit.is_finite and limit != 0:
                return Scale(lead=limit)
        if record.definition is not None:
            return self[record.definition(argument)]
        return BOUNDED if is_bounded(record) else UNKNOWN_TAIL

    def _over_one_denominator(self, node: sp.Add, scale: Scale) -> Scale:
        """The scale of a sum whose leading terms cancel, as those of ``1 - 1/(1 + exp(-z))``."""
        above, below = (sp.expand(part) for part in sp.fraction(sp.together(node)))
        if not self[below].is_sharp or below == 1:
            return scale
        return multiply(reduce(add, map(self.__getitem__, sp.Add.make_args(above))), raised(self[below], -_ONE))

    def _logarithm(self, u: sp.Expr) -> Scale:
        """The scale of ``log(u)``: of a sum with one fast term the exponent of that; else from the scale of u."""
        scale = self[u]
        if isinstance(u, sp.Add) and sp.S.One in u.args and self[u - 1].vanishes:
            return self[u - 1]
        if isinstance(u, sp.Add) and scale.order == sp.oo:
            fast = [term for term in u.args if self[term].order == sp.oo and not self[term].vanishes]
            factor, exponential = fast[0].as_independent(z) if len(fast) == 1 else (_ONE, _ONE)
            if isinstance(exponential, sp.exp) and factor.is_positive:
                return self[exponential.exp]  # beside which every other term, and the factor, is nothing
        if scale.is_sharp and scale.order == 0:
            if (scale.power, scale.logs) != (0, 0):
                return Scale(logs=1, lead=scale.power if scale.power != 0 else None)
            return Scale(lead=exact(sp.log(scale.lead)))
        if scale.is_sharp and scale.order != sp.oo:
            return Scale(power=scale.order, lead=scale.rate)
        bounds = _far_range(u)
        if bounds is None or not bounds.lo > 0:  # a formula that may approach 0: its logarithm has no bound
            return UNKNOWN_TAIL
        if scale.order == 0:
            return BOUNDED if scale.is_bounded else Scale(logs=1)
        return UNKNOWN_TAIL if scale.order == sp.oo else Scale(power=scale.order)


def _without_cancellation(node: sp.Add) -> tuple[sp.Expr, ...]:
    """The terms of a sum, ``c + c*erf(u)`` and its kin written without cancellation."""
    offset, moving = node.as_independent(z)
    for term in sp.Add.make_args(moving):
        for partner, coefficient, complement in cancelling(term):
            if partner == offset:
                return (coefficient * complement, *sp.Add.make_args(moving - term))
    return node.args


def _far_range(node: sp.Expr) -> Range | None:
    """The values of a formula for all z above 1000; None where it is not shown to be defined there."""
    with ctx.workprec(BITS):
        try:
            return RangeProgram(node, {})(_FAR_RANGE)
        except Undefined:
            return None
