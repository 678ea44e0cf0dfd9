"""What a theory can be asked to meet: numbers of a theory at values for its parameters, by name."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import mpmath as mp
import numpy as np
import sympy as sp

from ...core.errors import DeclarationError, SymresError
from ...core.scalars import number
from ...functions.balls import evaluate
from ...functions.floats.float_compiler import CompiledFormula
from ...results.quantity import Quantity, Status
from ...theory.theory import Theory
from .critical_branches import EXPONENTS, MOST_BRANCHES, VARIANCES, CriticalBranches, Values

_AT_FIXED_POINTS = ("K", "chi_perp", "chi_parallel", "correlation_length")
_AT_CRITICALITY = ("nu", "aspect_ratio")
_CORRELATION = re.compile(r"correlation\(\s*([^,()]+?)\s*,\s*(\d+)\s*\)")  # of two inputs, after so many layers
DIGITS = 18
FEW_DIGITS = 9  # that doubles have


def require_name(theory: Theory, name: str) -> None:
    """Refuse what is not the name of a target.

    Raises:
        DeclarationError: it is not.
    """
    if _CORRELATION.fullmatch(name):
        return
    every = (*_AT_FIXED_POINTS, *_AT_CRITICALITY, *EXPONENTS, *theory.observables)
    if name not in every:
        raise DeclarationError(
            f"the target {name}",
            "it is not one",
            f"choose one of {', '.join(dict.fromkeys(every))}, correlation(c, depth)",
        )


@dataclass(frozen=True, eq=False)
class Targets:
    """The numbers of a theory.

    Args:
        theory: of a layer.
    """

    theory: Theory

    def branches(self, name: str, values: Collection[str]) -> range:
        """Of a number at critical points, of which there may be several; one of any other."""
        if name in EXPONENTS:
            return range(MOST_BRANCHES + 1)
        at_critical_points = name == "K" and self._at_values(name, values) is None
        return range(1, MOST_BRANCHES + 1) if at_critical_points else range(1)

    def value(self, name: str, values: Values, digits: int = DIGITS, branch: int = 0) -> mp.mpf:
        """A number at values for parameters.

        ``K`` and the susceptibilities are those at the fixed point where both variances have values, else those of the
        critical point; at a kernel where K has a value.

        Raises:
            SymresError: it does not exist there.
        """
        if (named := _CORRELATION.fullmatch(name)) is not None:
            return self._correlation(number(named[1], "c"), int(named[2]), values, digits)
        if name in EXPONENTS:
            return self._critical.exponent(name, values, branch)
        if (quantity := self._at_values(name, values)) is None:
            if name != "K":
                raise DeclarationError(f"the target {name}", "it is 1 at criticality", "give values for C_W and C_b")
            return self._critical.kernel(values, branch)
        if quantity.status is Status.UNKNOWN:  # of an activation whose parameters are symbols
            quantity = getattr(self._critical.with_numbers(values), name)
        return self._number(quantity, values, digits)

    def formula(self, name: str, values: Collection[str]) -> sp.Expr | None:
        """The formula of a target; None where it is only known as a number.

        Args:
            name: of a target.
            values: names of the parameters that will have values.
        """
        if name in EXPONENTS or _CORRELATION.fullmatch(name):
            return None
        quantity = self._at_values(name, values)
        return None if quantity is None else quantity.expr

    def _at_values(self, name: str, values: Collection[str]) -> Quantity | None:
        """The quantity whose values are asked for; None for the kernel of the critical point."""
        if "K" in values or name not in _AT_FIXED_POINTS:
            return getattr(self.theory, name)
        if all(v in values or v not in self.theory.parameter_names for v in VARIANCES):
            return self._at_end[name]
        return None

    def _correlation(self, c: sp.Expr, depth: int, values: Values, digits: int) -> mp.mpf:
        """What layers make of a correlation of two inputs of equal kernels: K, else the one that is kept, else 1."""
        values = dict(self._critical.variances(values))
        kernel = values.pop("K", sp.Integer(1))
        both = c * kernel
        names = {s.name for q in (self.theory.kernel_map, self.theory.covariance_map) for s in (*q.symbols, *q.unused)}
        kept = {name: value for name, value in values.items() if name in names}
        for _ in range(depth):
            pair = {"K1": kernel, "K2": kernel, "C": both, **kept}
            both = number(self._number(self.theory.covariance_map, pair, digits), "C")
            kernel = number(self._number(self.theory.kernel_map, {"K": kernel, **kept}, digits), "K")
        return evaluate(both / kernel, {}, digits)[0]

    def _number(self, quantity: Quantity, values: Values, digits: int) -> mp.mpf:
        """A quantity at numbers: in double precision where few digits are asked for and it has them."""
        if digits <= FEW_DIGITS:
            if id(quantity) not in self._compiled:
                self._compiled[id(quantity)] = _compiled(quantity)
            function = self._compiled[id(quantity)]
            if function is not None:
                rough = function(*(float(values[s.name]) for s in quantity.symbols))
                if np.isrealobj(rough) and np.isfinite(rough):
                    return mp.mpf(float(rough))
        names = {s.name for s in (*quantity.symbols, *quantity.unused)}
        return quantity.evalf(digits, **{name: value for name, value in values.items() if name in names})

    @cached_property
    def _critical(self) -> CriticalBranches:
        return CriticalBranches(self.theory)

    @cached_property
    def _compiled(self) -> dict[int, CompiledFormula | None]:
        """Functions in double precision, by the quantities that they are of."""
        return {}

    @cached_property
    def _at_end(self) -> dict[str, Quantity]:
        star = self.theory.at_fixed_point()
        return {name: getattr(star, name) for name in _AT_FIXED_POINTS}


def _compiled(quantity: Quantity) -> CompiledFormula | None:
    """A quantity in double precision; None where it has no such form."""
    if quantity.expr is None:
        return None
    try:
        return CompiledFormula(list(quantity.symbols), quantity.expr)
    except SymresError:
        return None
