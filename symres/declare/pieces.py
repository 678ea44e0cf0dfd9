"""A function of one variable as smooth pieces between breakpoints.

This is the form in which formulas leave the declaration: the exact engine telescopes the pieces into sign
functions, quadrature splits its panels at the breakpoints, series take the two sides of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import sympy as sp

from ..errors import DeclarationError
from ..symbols import z


@dataclass(frozen=True)
class Pieces:
    """A real function of ``z``, smooth between increasing breakpoints.

    Args:
        breaks: the breakpoints, increasing; they may contain parameters whose order sympy can decide.
        parts: ``len(breaks) + 1`` formulas in ``z``, from left to right, free of Abs, sign, Heaviside, Max, Min
            and Piecewise.
    """

    breaks: tuple[sp.Expr, ...]
    parts: tuple[sp.Expr, ...]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters: every symbol but ``z``."""
        return set().union(*(e.free_symbols for e in (*self.breaks, *self.parts))) - {z}

    @property
    def jumps(self) -> tuple[sp.Expr, ...]:
        """Value on the right minus value on the left, at every breakpoint (exact; zero where continuous)."""
        return tuple(
            _tidy_constant(right.subs(z, b) - left.subs(z, b))
            for b, left, right in zip(self.breaks, self.parts, self.parts[1:], strict=False)
        )

    @property
    def is_continuous(self) -> bool:
        """True if no breakpoint is a jump."""
        return all(jump.is_zero for jump in self.jumps)

    def diff(self) -> Pieces:
        """The derivative away from the breakpoints; jumps (delta functions) are the caller's to account for."""
        return _merged(self.breaks, tuple(part.diff(z) for part in self.parts))

    def map(self, operation: Callable[..., sp.Expr], *others: Pieces) -> Pieces:
        """Apply a smooth operation to this and other functions, on the common refinement of their breakpoints."""
        functions = (self, *others)
        breaks = _union([f.breaks for f in functions])
        points = _samples(breaks)
        return _merged(breaks, tuple(operation(*(f.part_at(p) for f in functions)) for p in points))

    def part_at(self, point: sp.Expr) -> sp.Expr:
        """The formula that holds at a point that is no breakpoint."""
        for b, part in zip(self.breaks, self.parts, strict=False):
            if _sign(point - b) < 0:
                return part
        return self.parts[-1]

    def subs(self, values: dict[sp.Symbol, sp.Expr]) -> Pieces:
        """Put numbers or expressions in the place of parameters."""
        return Pieces(
            tuple(b.subs(values) for b in self.breaks), tuple(p.subs(values) for p in self.parts)
        )

    def as_expr(self) -> sp.Expr:
        """The function as one sympy expression (a Piecewise if there are breakpoints)."""
        branches = [(part, z < b) for part, b in zip(self.parts, self.breaks, strict=False)]
        return sp.Piecewise(*branches, (self.parts[-1], True))


def split(expr: sp.Expr) -> Pieces:
    """Find the breakpoints of a formula in ``z``, bottom-up, and the smooth formula on each interval.

    Raises:
        DeclarationError: a switching function whose zeros, or breakpoints whose order, sympy cannot decide.
    """
    if not expr.has(z) or expr == z:
        return Pieces((), (expr,))
    if isinstance(expr, sp.Abs):
        return _switch(split(expr.args[0]), split(expr.args[0]).map(lambda u: -u), split(expr.args[0]))
    if isinstance(expr, sp.sign):
        return _switch(split(expr.args[0]), _constant(-1), _constant(1))
    if isinstance(expr, sp.Heaviside):
        return _switch(split(expr.args[0]), _constant(0), _constant(1))
    if isinstance(expr, sp.Max):
        return reduce(lambda a, b: _switch(a.map(lambda u, v: u - v, b), b, a), map(split, expr.args))
    if isinstance(expr, sp.Min):
        return reduce(lambda a, b: _switch(a.map(lambda u, v: u - v, b), a, b), map(split, expr.args))
    if isinstance(expr, sp.Piecewise):
        return _split_piecewise(expr)
    first, *rest = (split(argument) for argument in expr.args)
    return first.map(expr.func, *rest)


def _split_piecewise(expr: sp.Piecewise) -> Pieces:
    result = split(expr.args[-1].expr)
    if expr.args[-1].cond != sp.true:
        raise DeclarationError(f"the pieces of {expr}", "the last branch has a condition", "end it with an else branch")
    for branch, condition in reversed(expr.args[:-1]):
        if not isinstance(condition, sp.StrictGreaterThan | sp.GreaterThan | sp.StrictLessThan | sp.LessThan):
            raise DeclarationError(
                f"the pieces of {expr}", f"the condition {condition} is no inequality", "use one inequality a branch"
            )
        result = _switch(split(condition.gts - condition.lts), result, split(branch))
    return result


def _switch(control: Pieces, negative: Pieces, positive: Pieces) -> Pieces:
    """``negative`` where ``control < 0``, ``positive`` where ``control > 0``."""
    zeros = []
    edges = (-sp.oo, *control.breaks, sp.oo)
    for part, left, right in zip(control.parts, edges, edges[1:], strict=False):
        zeros += [root for root in _zeros(part) if _sign(root - left) > 0 and _sign(right - root) > 0]
    breaks = _union([control.breaks, zeros, negative.breaks, positive.breaks])
    parts = []
    for point in _samples(breaks):
        chosen = negative if _sign(control.part_at(point).subs(z, point)) < 0 else positive
        parts.append(chosen.part_at(point))
    return _merged(breaks, tuple(parts))


def _zeros(part: sp.Expr) -> list[sp.Expr]:
    if not part.has(z):
        return []
    if part.is_polynomial(z):
        polynomial = sp.Poly(part, z)
        if polynomial.degree() <= 2:
            return [root for root in sp.roots(polynomial) if root.is_real]
        if not polynomial.free_symbols_in_domain:
            return list(dict.fromkeys(sp.real_roots(polynomial)))
    solutions = sp.solveset(part, z, sp.S.Reals)
    if isinstance(solutions, sp.FiniteSet):
        return list(solutions)
    if solutions is sp.S.EmptySet:
        return []
    raise DeclarationError(
        f"the breakpoints of a formula that switches where {part} = 0",
        "sympy cannot list these points",
        "write the formula with switches at zeros of linear or quadratic functions",
    )


def _constant(value: int) -> Pieces:
    return Pieces((), (sp.Integer(value),))


def _merged(breaks: Sequence[sp.Expr], parts: Sequence[sp.Expr]) -> Pieces:
    """Drop breakpoints with the same formula on both sides."""
    kept_breaks, kept_parts = [], [parts[0]]
    for b, part in zip(breaks, parts[1:], strict=True):
        if part != kept_parts[-1]:
            kept_breaks.append(b)
            kept_parts.append(part)
    return Pieces(tuple(kept_breaks), tuple(kept_parts))


def _union(groups: Sequence[Sequence[sp.Expr]]) -> tuple[sp.Expr, ...]:
    ordered: list[sp.Expr] = []
    for b in (b for group in groups for b in group):
        place = 0
        while place < len(ordered) and _sign(b - ordered[place]) > 0:
            place += 1
        if place == len(ordered) or _sign(b - ordered[place]) < 0:
            ordered.insert(place, b)
    return tuple(ordered)


def _samples(breaks: Sequence[sp.Expr]) -> list[sp.Expr]:
    """One point inside each interval."""
    if not breaks:
        return [sp.Integer(0)]
    middles = [(a + b) / 2 for a, b in zip(breaks, breaks[1:], strict=False)]
    return [breaks[0] - 1, *middles, breaks[-1] + 1]


def _tidy_constant(value: sp.Expr) -> sp.Expr:
    value = sp.expand(value)
    if value.is_zero is None and sp.simplify(value) == 0:
        return sp.Integer(0)
    return value


def _sign(value: sp.Expr) -> int:
    if value.is_zero:
        return 0
    if value.is_extended_positive:
        return 1
    if value.is_extended_negative:
        return -1
    reduced = sp.simplify(value)
    for test, answer in ((reduced.is_zero, 0), (reduced.is_extended_positive, 1), (reduced.is_extended_negative, -1)):
        if test:
            return answer
    raise DeclarationError(
        "the order of breakpoints",
        f"the sign of {value} is unknown",
        "declare the parameters with assumptions, for instance positive=True",
    )
