"""Equations for unknown parameters: what is wanted, where the unknowns may lie, and how far from it one is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mpmath as mp
import sympy as sp

from ...core.errors import DeclarationError, SymresError
from ...core.scalars import Number, number
from ...core.words import listed
from ...functions.balls import evaluate
from ...results.solutions import Solution
from ...theory.theory import Theory
from .boxes import Box, box_of
from .targets import DIGITS, Targets, require_name

MET = 1e-9  # how far from a target, relative, a value is that meets it
APART = 1e-6  # relative: solutions that are nearer are one
_GUARD = 5  # digits

Unknown = Sequence[str] | Mapping[str, tuple[Number, Number] | None]


@dataclass(frozen=True, eq=False)
class Problem:
    """Equations for unknown parameters.

    Args:
        targets: the numbers of a theory.
        wanted: what they shall be, by name.
        boxes: in which unknowns are looked for, by name.
        fixed: values of the other parameters.
    """

    targets: Targets
    wanted: dict[str, sp.Expr]
    boxes: dict[str, Box]
    fixed: dict[str, sp.Expr]

    @classmethod
    def of(cls, theory: Theory, target: Mapping[str, Number], unknown: Unknown, fixed: Mapping[str, Number]) -> Problem:
        """The problem of names and numbers.

        Raises:
            DeclarationError: a name that is not a target or a parameter; a parameter that is both fixed and unknown.
        """
        unknown = [unknown] if isinstance(unknown, str) else unknown
        for name in target:
            require_name(theory, name)
        choices = (*theory.parameter_names, "K", "n_L")
        for name in (*unknown, *fixed):
            if name not in choices:
                raise DeclarationError(
                    f"the parameter {name}", "the theory does not have it", f"choose of {', '.join(choices)}"
                )
        if twice := [name for name in unknown if name in fixed]:
            raise DeclarationError(f"the parameter {twice[0]}", "it is unknown and has a value", "leave one out")
        symbols = {s.name: s for s in theory.layer.parameters}
        ends = unknown if isinstance(unknown, Mapping) else {}
        boxes = {name: box_of(symbols.get(name), ends.get(name)) for name in unknown}
        wanted = {name: number(value, name) for name, value in target.items()}
        return cls(Targets(theory), wanted, boxes, {name: number(value, name) for name, value in fixed.items()})

    def with_fixed(self, name: str, value: float) -> Problem:
        """The problem for the other unknowns."""
        boxes = {other: box for other, box in self.boxes.items() if other != name}
        return replace(self, boxes=boxes, fixed={**self.fixed, name: number(value, name)})

    def branches(self) -> range:
        """The branches of critical points that the targets may be met on."""
        return max((self.targets.branches(name, {*self.fixed, *self.boxes}) for name in self.wanted), key=len)

    def excess(self, name: str, places: Sequence[float], digits: int = DIGITS, branch: int = 0) -> mp.mpf:
        """How far a quantity is above its target; nan where it does not exist."""
        if not all(map(mp.isfinite, places)):  # a search that leads nowhere
            return mp.nan
        try:
            with mp.workdps(digits + _GUARD):
                value = self.targets.value(name, self._values(places), digits, branch)
                return value - evaluate(self.wanted[name], {}, digits + _GUARD)[0]
        except SymresError:
            return mp.nan

    def admits(self, places: Sequence[float]) -> bool:
        """Whether places, in the order of the boxes, lie in them."""
        return all(low <= x <= high for x, (low, high) in zip(places, self.boxes.values(), strict=True))

    def size(self, name: str) -> float:
        """Of a target, or 1 where it is smaller: what differences are compared with."""
        return max(1.0, abs(float(self.wanted[name])))

    def why(self, name: str, places: Sequence[float], branch: int = 0) -> str:
        """Why a quantity has no value."""
        try:
            self.targets.value(name, self._values(places), branch=branch)
        except SymresError as error:
            return error.found
        return "it is not finite"

    def equation(self, name: str) -> str:
        """What is asked of the unknowns, as an equation."""
        formula = self.targets.formula(name, {*self.fixed, *self.boxes})
        if formula is None:
            return f"{name} = {self.wanted[name]} in {', '.join(self.boxes)}"
        at = {s: self.fixed[s.name] for s in formula.free_symbols if s.name in self.fixed}
        return f"{formula.subs(at)} = {self.wanted[name]}"

    def looked(self) -> str:
        """Where solutions are looked for, in words."""
        return listed([f"{name} from {low:g} to {high:g}" for name, (low, high) in self.boxes.items()])

    def solution(self, places: Sequence[float], certificate: str) -> Solution:
        """A solution, of values in the order of the boxes."""
        return Solution(dict(zip(self.boxes, places, strict=True)), certificate)

    def _values(self, places: Sequence[float]) -> dict[str, sp.Expr]:
        return {**self.fixed, **{name: number(x, name) for name, x in zip(self.boxes, places, strict=True)}}


def near(one: Solution, other: Solution, apart: float = APART) -> bool:
    """Whether two solutions are one, seen twice."""
    return all(mp.almosteq(one.values[name], other.values[name], rel_eps=apart) for name in one.values)
