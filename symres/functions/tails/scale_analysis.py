"""How fast a formula grows for large ``|z|``: an upper bound that is proved, not sampled.

Every sub-formula gets a scale for z -> oo; scales are combined from the leaves up.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import sympy as sp
from flint import arb, ctx

from ...core.symbols import z
from ...core.work_budget import NODE, spend
from ...numerics.interval_arithmetic import Range, Undefined
from ..balls.far_form import error_arguments, far_form
from ..function_record import FunctionRecord, record_of
from ..ranges import BITS, RangeProgram, is_bounded, sign_of
from .tail_scale import (
    BOUNDED,
    UNKNOWN_TAIL,
    ZERO_TAIL,
    ByGrowth,
    Scale,
    add,
    constant,
    exact,
    exponential,
    multiply,
    raised,
    scaled,
)

_ONE = sp.Integer(1)
_LONGEST_LEAD = 40  # operations of a leading coefficient: sympy takes 1.5 times as long for each level of a nested one
_FAR_RANGE = Range(arb(1000), arb.pos_inf(), False, True)


def tail(part: sp.Expr) -> Scale:
    """The scale of a formula without parameters for z -> oo; for the left side pass the mirrored formula."""
    analysis = _ScaleAnalysis()
    scale, arguments = analysis(part), error_arguments(part)
    sides = tuple(sign_of(u.lead) or 0 if u.is_sharp and not u.is_bounded else 0 for u in map(analysis, arguments))
    if scale.is_sharp or not any(sides):
        return scale
    far = analysis(far_form(part, sides, 1))
    return far if far.is_sharp else min(far, scale, key=ByGrowth)  # both are bounds


class _ScaleAnalysis:
    """Scales of all sub-formulas of one formula."""

    def __init__(self) -> None:
        self._known: dict[sp.Basic, Scale] = {}

    def __call__(self, node: sp.Expr) -> Scale:
        if node not in self._known:
            spend(NODE)
            scale = self._find(node)
            if scale.lead is not None and scale.lead.count_ops() > _LONGEST_LEAD:
                scale = replace(scale, lead=None)
            self._known[node] = scale
        return self._known[node]

    def _find(self, node: sp.Expr) -> Scale:
        if not node.has(z):
            return constant(node)
        if node.is_polynomial(z):
            for (degree,), coefficient in sp.Poly(node, z).terms():
                if sign_of(coefficient) != 0:
                    return Scale(power=sp.Integer(degree), lead=coefficient)
            return ZERO_TAIL
        if isinstance(node, sp.Add):
            scale = reduce(add, map(self, _without_cancellation(node)))
            return self._over_one_denominator(node, scale) if scale.lead == 0 and node.has(sp.exp) else scale
        if isinstance(node, sp.Mul):
            return reduce(multiply, map(self, node.args))
        if isinstance(node, sp.exp):
            return exponential(self(node.exp))
        if isinstance(node, sp.Pow):
            if node.exp.has(z):
                return exponential(multiply(self(node.exp), self._logarithm(node.base)))
            return self._power(node.base, node.exp)
        if isinstance(node, sp.log):
            return self._logarithm(node.args[0])
        if isinstance(node, sp.tan):
            return self._tangent(node)
        record = record_of(node)
        return UNKNOWN_TAIL if record is None or len(node.args) > 1 else self._function(record, node.args[0])

    def _function(self, record: FunctionRecord, argument: sp.Expr) -> Scale:
        """By the rule of a function, else by its limit, its value at 0, its bounds or its definition."""
        u = self(argument)
        if u.limit:  # another one than 0: by continuity
            return Scale(lead=exact(record.kind(u.limit)))
        if record.tail is not None:
            scale: Scale = record.tail(u)
            return scale
        if u.vanishes and (value := record.value_at_0).is_finite:
            return constant(value) if value != 0 else scaled(u, record.slope_at_0)
        if record.limits is not None and u.is_sharp and not u.is_bounded and (sign := sign_of(u.lead)):
            limit = record.limits[sign > 0]
            if limit.is_finite and limit != 0:
                return Scale(lead=limit)
        if record.definition is not None:
            return self(record.definition(argument))
        return BOUNDED if is_bounded(record) else UNKNOWN_TAIL

    def _over_one_denominator(self, node: sp.Add, scale: Scale) -> Scale:
        """The scale of a sum whose leading terms cancel, as those of ``1 - 1/(1 + exp(-z))``."""
        above, below = (sp.expand(part) for part in sp.fraction(sp.together(node)))
        if not self(below).is_sharp or below == 1:
            return scale
        return multiply(reduce(add, map(self, sp.Add.make_args(above))), raised(self(below), -_ONE))

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Scale:
        scale = self(base)
        if sign_of(exponent) == 1:
            return raised(scale, exponent)
        if scale.is_sharp:
            return raised(scale, exponent)
        bounds = _far_range(base)
        return BOUNDED if bounds is not None and (bounds.lo > 0 or bounds.hi < 0) else UNKNOWN_TAIL

    def _logarithm(self, u: sp.Expr) -> Scale:
        scale = self(u)
        if isinstance(u, sp.Add) and sp.S.One in u.args and self(u - 1).vanishes:
            return self(u - 1)
        if isinstance(u, sp.Add) and scale.order == sp.oo:
            fast = [term for term in u.args if self(term).order == sp.oo and not self(term).vanishes]
            factor, exponential = fast[0].as_independent(z) if len(fast) == 1 else (_ONE, _ONE)
            if isinstance(exponential, sp.exp) and factor.is_positive:
                return self(exponential.exp)  # beside which every other term, and the factor, is nothing
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

    def _tangent(self, node: sp.Expr) -> Scale:
        scale = self(node.args[0])
        if scale.vanishes:
            return scale
        bounds = _far_range(node)
        finite = bounds is not None and bounds.lo.is_finite() and bounds.hi.is_finite()
        return BOUNDED if finite else UNKNOWN_TAIL


def _without_cancellation(node: sp.Add) -> tuple[sp.Expr, ...]:
    """The terms of a sum, ``c + c*erf(u)`` and its kin written without cancellation."""
    offset, moving = node.as_independent(z)
    for term in sp.Add.make_args(moving):
        factor, function = term.as_independent(z)
        record = record_of(function)
        if factor not in (offset, -offset) or record is None or record.complements is None:
            continue
        complement = record.complements(*function.args)[factor == offset]
        if complement is not None:
            return (offset * complement, *sp.Add.make_args(moving - term))
    return node.args


def _far_range(node: sp.Expr) -> Range | None:
    with ctx.workprec(BITS):
        try:
            return RangeProgram(node, {})(_FAR_RANGE)
        except Undefined:
            return None
