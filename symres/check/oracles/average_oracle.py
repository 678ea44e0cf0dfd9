"""The oracle of a plain Gaussian average, ``sr.expect(f)`` or ``sr.expect2(f, g)``: quadrature of its definition.

One variable: mpmath at 30 digits, split at the switching points of the declared formulas. Two variables: the
adaptive panels of this room in double precision.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import sympy as sp

from ...activations.activation import Phi
from ...core import symbols
from ...core.atoms import AverageNode
from ...results.observable import OracleValue
from ...results.quantity import NamedStep
from ..formulas.numeric_formula import in_arrays, in_mpmath, switch_points
from ..formulas.rounding_noise import of_average
from ..nets.random_field import OracleLimit
from ..rules.adaptive_panels import rounding
from ..rules.nested_panels import plane
from ..sampling.random_points import Values

DIGITS = 30
_SPLITS = (0.125, 0.25, 0.5, 1, 2, 4, 7, 10, 14, 20, 30, 42)


def average_oracle(definition: sp.Expr, values: Values, steps: tuple[NamedStep, ...] = ()) -> OracleValue:
    """A definition in unevaluated averages, as a number.

    Nodes have an ``integrand`` in x1 (and x2) and a ``covariance``; named intermediate steps may occur in it. Values
    are exact numbers for its symbols.

    Raises:
        OracleLimit: an average over more than two variables.
    """
    numbers = dict(values)
    parts = []
    with mp.workdps(DIGITS + 10):
        for step in steps:
            parts.append(_evaluated(step.definition, numbers))
            numbers[step.symbol] = sp.Float(parts[-1].value, DIGITS + 5)
        parts.append(_evaluated(definition, numbers))
        return OracleValue(parts[-1].value, mp.fsum(p.error for p in parts), max(p.scale for p in parts))


def _evaluated(expr: sp.Expr, values: Values) -> OracleValue:
    averages: list[OracleValue] = []
    replacements: dict[sp.Basic, sp.Expr] = {}

    def replaced(node: sp.Basic) -> sp.Basic:
        if node in replacements or not node.args:
            return replacements.get(node, node)
        if isinstance(node, AverageNode):
            covariance = [sp.N(replaced(entry).subs(values), DIGITS + 5) for entry in node.covariance]
            averages.append(_averaged(node.integrand.subs(values), covariance))
            replacements[node] = sp.Float(averages[-1].value, DIGITS + 5)
        else:
            replacements[node] = node.func(*map(replaced, node.args))
        return replacements[node]

    number = sp.N(replaced(expr).subs(values), DIGITS + 5)
    if not number.is_real:
        raise OracleLimit(f"numbers of {expr}", "a symbol has no value", "give every parameter a number")
    error = mp.fsum(a.error for a in averages) or mp.mpf(10) ** -DIGITS * (abs(mp.mpf(number)) or 1)
    return OracleValue(mp.mpf(number), error, max((a.scale for a in averages), default=mp.mpf(0)))


def _averaged(integrand: sp.Expr, covariance: list[sp.Expr]) -> OracleValue:
    explicit = _explicit(integrand)
    if len(covariance) == 1:
        return _line(explicit, mp.sqrt(mp.mpf(covariance[0])))
    if len(covariance) == 3:
        variance1, mixed, variance2 = map(float, covariance)
        return _plane(explicit, np.array([[variance1, mixed], [mixed, variance2]]))
    raise OracleLimit("the quadrature of an average", f"{len(covariance)} covariances", "use one or two variables")


def _explicit(expr: sp.Expr) -> sp.Expr:
    """Write the declared formulas in the place of the activation atoms."""
    if isinstance(expr, Phi):
        formula = expr.formula
        written = formula.expr.subs(dict(zip(formula.parameters, expr.args[3:], strict=True)), simultaneous=True)
        if expr.order:
            written = written.diff(symbols.z, expr.order)
        return written.subs(symbols.z, _explicit(expr.argument))
    return expr.func(*map(_explicit, expr.args)) if expr.args else expr


def _line(integrand: sp.Expr, sigma: mp.mpf) -> OracleValue:
    function = in_mpmath(integrand, [symbols.x1])
    switches = [b / sigma for b in switch_points(integrand, symbols.x1) if abs(b) < _SPLITS[-1] * sigma]
    points = sorted({*switches, *map(mp.mpf, _SPLITS), *(-mp.mpf(s) for s in _SPLITS), mp.mpf(0)})
    # mp.quad works to an absolute tolerance: a small integrand must be brought to size 1 first
    with mp.workdps(15):
        scale = mp.quad(lambda t: abs(function(sigma * t)) * mp.npdf(t), points, maxdegree=3)
    if scale == 0:
        return OracleValue(mp.mpf(0), mp.mpf(10) ** -DIGITS, mp.mpf(0))
    value, error = mp.quad(lambda t: function(sigma * t) / scale * mp.npdf(t), points, error=True)
    return OracleValue(scale * value, scale * max(error, mp.mpf(10) ** -DIGITS), scale)


def _plane(integrand: sp.Expr, covariance: np.ndarray) -> OracleValue:
    evaluate = in_arrays(integrand, [symbols.x1, symbols.x2])

    def function(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(x, y) + 0.0 * (x + y))

    breaks = [[float(b) for b in switch_points(integrand, variable)] for variable in (symbols.x1, symbols.x2)]
    width = float(np.sqrt(np.linalg.det(covariance) / covariance[0, 0]))
    panels = plane(function, covariance, width, breaks, 10, 1e-14)
    (coarse, _), (fine, size) = (panels.average(points) for points in (10, 14))
    precise = in_mpmath(integrand, [symbols.x1, symbols.x2])
    sigma = np.sqrt(covariance[0, 0])
    lost = of_average(function, precise, np.array([[sigma, 0.0], [covariance[0, 1] / sigma, width]]))
    error = abs(fine - coarse) + rounding(size) + 2 * lost * size
    return OracleValue(mp.mpf(fine), mp.mpf(error), mp.mpf(size))
