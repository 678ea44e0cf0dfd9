"""Numbers at critical points as functions of parameters: one branch for K* = 0, one for each of the points above it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import mpmath as mp
import sympy as sp

from ...core.errors import NoClosedForm
from ...core.symbols import K
from ...functions.balls import evaluate
from ...results.critical_point import CriticalPoint, Exponents
from ...theory.theory import Theory

VARIANCES = ("C_W", "C_b")
EXPONENTS = tuple(f"exponents.{name}" for name in ("kernel", "jacobian", "amplitude"))
MOST_BRANCHES = 4  # above K* = 0; no activation of the catalogue has more than two
_DIGITS = 18

Values = Mapping[str, sp.Expr]


@dataclass(frozen=True, eq=False)
class CriticalBranches:
    """The critical points of a theory, each followed through values of parameters.

    Args:
        theory: of a layer.
    """

    theory: Theory

    def kernel(self, values: Values, branch: int) -> mp.mpf:
        """The kernel of the critical point of a branch.

        Raises:
            NoClosedForm: there is no such point.
        """
        point = self._point(values, branch)
        return _number(sp.sympify(point.K), values)

    def exponent(self, name: str, values: Values, branch: int) -> mp.mpf:
        """An exponent, of ``EXPONENTS``, at the critical point of a branch.

        Raises:
            NoClosedForm: there is no such point, it repels kernels, or they do not follow a power law.
        """
        exponents = self._exponents(values, branch)
        value = getattr(exponents, name.removeprefix("exponents."))
        if value is None:
            raise NoClosedForm(name, exponents.remark, "take other parameters")
        return _number(value, values)

    def variances(self, values: Values) -> Values:
        """The values with C_W and C_b of the critical point that names the class, where they have none."""
        if all(v in values or v not in self.theory.parameter_names for v in VARIANCES):
            return values
        points = self.with_numbers(values).critical_points
        if not points:
            raise NoClosedForm("the variances at criticality", "there is no critical point", "give C_W and C_b")
        at = {s: values[s.name] for e in (points[0].C_W, points[0].C_b) for s in e.free_symbols}
        return {**values, "C_W": points[0].C_W.subs(at), "C_b": points[0].C_b.subs(at)}

    def with_numbers(self, values: Values) -> Theory:
        """The theory with numbers for all parameters but C_W and C_b."""
        names = [name for name in self.theory.parameter_names if name not in VARIANCES and name in values]
        return _substituted(self.theory, tuple((name, values[name]) for name in names))

    def _exponents(self, values: Values, branch: int) -> Exponents:
        theory = self.with_numbers(values)
        if branch == 0 and not any(point.K == 0 for point in theory.critical_points):
            return theory.exponents  # where all kernels are kept, or all grow
        point = self._point(values, branch)
        if point.stability == "unstable":
            raise NoClosedForm("exponents", f"K* = {sp.N(point.K, 6)} repels kernels", "take other parameters")
        return theory.exponents_of(point)

    def _point(self, values: Values, branch: int) -> CriticalPoint:
        points = self._symbolic_points(values) or self.with_numbers(values).critical_points
        positive = sorted((p for p in points if not _is_free(p) and p.K != 0), key=lambda p: _number(p.K, values))
        branches = [next((p for p in points if p.K == 0), None), *positive]
        if branch >= len(branches) or (point := branches[branch]) is None:
            raise NoClosedForm("the critical point", "it does not exist there", "take other parameters")
        return point

    def _symbolic_points(self, values: Values) -> tuple[CriticalPoint, ...]:
        """The points in the parameters; empty where some above 0 may be missing, for they are not searched for then."""
        points = self.theory.critical_points
        complete = all({s.name for s in sp.sympify(p.K).free_symbols} <= values.keys() for p in points)
        return points if complete and any(p.K != 0 for p in points) else ()


def _is_free(point: CriticalPoint) -> bool:
    """Whether all kernels of a line are critical."""
    return sp.sympify(point.K).has(K)


def _number(value: sp.Expr, values: Values) -> mp.mpf:
    return evaluate(value.subs({s: values[s.name] for s in value.free_symbols if s.name in values}), {}, _DIGITS)[0]


@lru_cache(maxsize=512)
def _substituted(theory: Theory, values: tuple[tuple[str, sp.Expr], ...]) -> Theory:
    return theory.subs(**dict(values)) if values else theory
