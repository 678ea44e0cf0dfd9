"""In which range of each parameter generated code is right: steps outwards from the usual value, against balls."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from itertools import takewhile

import numpy as np
import sympy as sp

from ...core.errors import SymresError
from ...core.work_budget import Stage, limited
from ..averages.average_code import averages
from ..planning.plan import INACCURATE, Component, ParameterRange
from ..planning.target import ArrayFunction, Target
from .measured_error import deviation, running, with_numbers
from .sample_points import PARAMETER, Point

STEPS = (3.0, 12.0, 40.0, 1e3, 1e6)  # sizes, as means that many deviations from 0, as slopes steep
INWARDS = (1 / 12, 1e-3, 1e-8)  # sizes of what has a sign
PAIRS: tuple[Point, ...] = ((0.7, 0.7, 0.35), (2.0, 3.0, -1.5))  # of one input, the second kernel


@lru_cache(maxsize=256)
def parameter_ranges(component: Component, target: Target) -> tuple[ParameterRange, ...]:
    """The range of each parameter in which the code of a component is right to six digits, the others as usual."""
    function = running(component, target)
    usual = float(PARAMETER)
    out = []
    for p in component.parameters:
        signs = [sign for sign, barred in ((1.0, p.is_nonpositive), (-1.0, p.is_nonnegative)) if not barred]
        ways = [[sign * size for size in STEPS] for sign in signs]
        ways += [[signs[0] * size for size in INWARDS]] if len(signs) == 1 else []
        is_right = partial(_is_right, component, function, p)
        # on each way, outwards from the usual value, the last one up to which code is right
        ends = [[math.copysign(usual, way[0]), *takewhile(is_right, way)][-1] for way in ways]
        whole = all(end == way[-1] for end, way in zip(ends, ways, strict=True))
        out.append(ParameterRange(p, min(ends), max(ends), whole))
    return tuple(out)


def _is_right(component: Component, function: ArrayFunction, p: sp.Symbol, value: float) -> bool:
    """Whether code is right to six digits at some kernels; not if it has no number, or no ball tells in time."""
    values = {q: PARAMETER if q != p else sp.Rational(value) for q in component.parameters}
    formula, extra = with_numbers(component, values)
    few = 1 if averages(component.formula) else None  # balls of averages take long
    for k1, k2, c in PAIRS[:few]:
        point = (k1, k2, c) if component.is_pair else (k2,)
        with np.errstate(all="ignore"):
            computed = float(np.ravel(function(*(np.array([x]) for x in point), *extra))[0])
        try:
            with limited(Stage.TRIAL):
                if math.isnan(computed) or not deviation(formula, point, computed) <= INACCURATE:
                    return False
        except SymresError:
            return False
    return True
