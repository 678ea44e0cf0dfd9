"""Which slopes a closed form of two inputs has, where those that a library finds are not right for parallel inputs.

Libraries that differentiate and the header of a module, which says where slopes are cut off or missing, ask here.
"""

from __future__ import annotations

from enum import Enum, auto

import sympy as sp

from ...functions.records.gaussian_signs import Q2, S2
from ..price.fixed_sum import FixedSum
from ..stable.angles import AngleForm, rooted_form
from ..stable.primitives import determinant
from ..stable.tail_slopes import has_tail_slopes
from .plan import Component

NEARLY_PARALLEL = 1e-6  # of D/(K1*K2): at 1e-8 the library's slopes of max(z-1, 0)*exp(-z) had four digits left


class SlopeRule(Enum):
    """How the slopes of a closed form are computed."""

    SUM = auto()  # averages by Price's theorem, fixed sums like the value
    ANGLE = auto()  # of root and angle together, whose infinite slopes cancel; 0 where nothing else is left
    TAIL = auto()  # by a formula without the poles that cancel
    FLOORED = auto()  # by a formula, arguments kept above a floor: exp(-1/x)/x is 0 at x = 0
    MISSING_NEARBY = auto()  # by the library; nan for nearly parallel inputs, where it loses the digits
    LIBRARY = auto()  # by the library, which is right everywhere


def slope_rule(component: Component) -> SlopeRule | None:
    """The rule for a component whose code is a closed form; None for another one."""
    code, guards = component.code, component.guards
    if not isinstance(code, sp.Expr):
        return None
    if code.has(FixedSum):
        return SlopeRule.SUM
    form = angle_form_of(component)
    if form is not None and form.vanishing:
        return SlopeRule.ANGLE
    floored = guards.floor is not None or divides_by_determinant(code)
    if component.is_pair and component.formula.has(Q2, S2, sp.erfc):
        if has_tail_slopes(component.formula, component.symbols):
            return SlopeRule.TAIL
        if not floored:
            return SlopeRule.MISSING_NEARBY
    return SlopeRule.FLOORED if floored else SlopeRule.LIBRARY


def angle_form_of(component: Component) -> AngleForm | None:
    """A closed form of root and angle, with which the component was planned or which it has none the less."""
    if component.form is not None or not component.is_pair:
        return component.form
    return rooted_form(component.formula)


def divides_by_determinant(code: sp.Expr) -> bool:
    """Whether a formula divides by the determinant or by its root."""
    return any(power.base == determinant and power.exp.is_negative for power in code.atoms(sp.Pow))
