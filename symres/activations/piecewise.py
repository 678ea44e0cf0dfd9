"""A function of one variable as smooth pieces between breakpoints.

This is the form in which formulas leave the declaration: the exact engine telescopes the pieces into sign
functions, quadrature splits its panels at the breakpoints, series take the two sides of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise

import sympy as sp
from flint import arb, ctx

from ..core.errors import DeclarationError
from ..core.symbols import z
from ..core.words import abbreviated
from ..functions.ranges import BITS, RangeProgram, sign_of, vanishes
from ..functions.removable import value_at_zero
from ..numerics.interval_arithmetic import Undefined
from .domain_proof import require_finite
from .zeros import zeros

_STEP = sp.Dummy("step", positive=True)  # distance from a breakpoint
SWITCHES = (sp.Abs, sp.sign, sp.Heaviside, sp.Max, sp.Min, sp.Piecewise)


@dataclass(frozen=True)
class PiecewiseFunction:
    """A real function of ``z``, smooth between increasing breakpoints.

    Args:
        breaks: the breakpoints, increasing; they may contain parameters whose order can be decided.
        parts: ``len(breaks) + 1`` formulas in ``z``, from left to right; Abs, sign, Heaviside, Max, Min and
            Piecewise do not occur in them, unless of parameters alone.
    """

    breaks: tuple[sp.Expr, ...]
    parts: tuple[sp.Expr, ...]

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The parameters: every symbol but ``z``."""
        return set().union(*(e.free_symbols for e in (*self.breaks, *self.parts))) - {z}

    @cached_property
    def jumps(self) -> tuple[sp.Expr, ...]:
        """Value on the right minus value on the left, at every breakpoint (exact; zero where continuous)."""
        sides = zip(self.breaks, self.parts, self.parts[1:], strict=False)
        heights = (sp.expand(value_at(right, b) - value_at(left, b)) for b, left, right in sides)
        return tuple(sp.Integer(0) if vanishes(height) else height for height in heights)

    @property
    def is_continuous(self) -> bool:
        """True if no breakpoint is a jump."""
        return all(jump == 0 for jump in self.jumps)

    @cached_property
    def has_finite_slopes(self) -> bool:
        """True if both derivatives at every breakpoint are finite numbers as they are written."""
        slopes = [derivative(part) for part in self.parts]
        return all(
            _is_finite_at(side, b) for b, *sides in zip(self.breaks, slopes, slopes[1:], strict=False) for side in sides
        )

    @cached_property
    def steepness(self) -> tuple[sp.Expr, ...]:
        """Exponents p of ``|f'| ~ |z - b|**p``, the lower of both sides, at every breakpoint b; 0 for a bounded slope.

        Raises:
            DeclarationError: a slope that is not bounded and no power near b.
        """
        slopes = [derivative(part) for part in self.parts]
        return tuple(
            min(_leading_power(side, b, step) for side, step in ((left, -_STEP), (right, _STEP)))
            for b, left, right in zip(self.breaks, slopes, slopes[1:], strict=False)
        )

    def diff(self) -> PiecewiseFunction:
        """The derivative away from the breakpoints; jumps (delta functions) are the caller's to account for."""
        return _merged(self.breaks, tuple(map(derivative, self.parts)))

    def map(self, operation: Callable[..., sp.Expr], *others: PiecewiseFunction) -> PiecewiseFunction:
        """Apply a smooth operation to this and other functions, on the common refinement of their breakpoints."""
        functions = (self, *others)
        breaks = _union([f.breaks for f in functions])
        return _merged(breaks, [operation(*(f.part_at(point) for f in functions)) for point in _samples(breaks)])

    def part_at(self, point: sp.Expr) -> sp.Expr:
        """The formula that holds at a point that is no breakpoint."""
        for b, part in zip(self.breaks, self.parts, strict=False):
            if _sign(point - b) < 0:
                return part
        return self.parts[-1]

    def subs(self, values: Mapping[sp.Symbol, sp.Expr]) -> PiecewiseFunction:
        """Put numbers or expressions in the place of parameters.

        Raises:
            DeclarationError: the breakpoints would no longer increase.
        """
        values = dict(values)
        if not self.free_symbols & values.keys():
            return self
        breaks = tuple(b.subs(values, simultaneous=True) for b in self.breaks)
        parts = tuple(p.subs(values, simultaneous=True) for p in self.parts)
        for left, right in pairwise(breaks):
            if _sign(right - left) <= 0:
                found = f"its breakpoints {left} and {right} are not in increasing order"
                remedy = "choose values that satisfy the parameters' assumptions"
                raise DeclarationError("numbers for the parameters of a piecewise formula", found, remedy)
        return _merged(breaks, parts)

    @cached_property
    def sides_of_zero(self) -> tuple[sp.Expr, sp.Expr]:
        """The formulas that hold just left and just right of 0.

        Raises:
            DeclarationError: on which side of a breakpoint 0 is, depends on parameters.
        """
        for (left, right), b in zip(pairwise(self.parts), self.breaks, strict=True):
            if b.is_zero:
                return left, right
        part = self.part_at(sp.Integer(0))
        return part, part

    @cached_property
    def at_zero(self) -> sp.Expr:
        """The mean of the limits from both sides of 0, as the formulas are written there: nan or infinite at a pole.

        Raises:
            DeclarationError: on which side of a breakpoint 0 is, depends on parameters.
        """
        return sp.Add(*(value_at_zero(side, z) for side in self.sides_of_zero)) / 2

    def mirrored(self) -> PiecewiseFunction:
        """The function of ``-z``."""
        return PiecewiseFunction(
            tuple(-b for b in reversed(self.breaks)), tuple(p.xreplace({z: -z}) for p in reversed(self.parts))
        )

    def as_expr(self) -> sp.Expr:
        """The function as one sympy expression (a Piecewise if there are breakpoints)."""
        branches = [(part, z < b) for part, b in zip(self.parts, self.breaks, strict=False)]
        return sp.Piecewise(*branches, (self.parts[-1], True))


@lru_cache(maxsize=2048)
def split(expr: sp.Expr) -> PiecewiseFunction:
    """Find the breakpoints of a formula in ``z``, bottom-up, and the smooth formula on each interval.

    Raises:
        DeclarationError: a switching function whose zeros, or breakpoints whose order, cannot be decided.
    """
    if not expr.has(z) or expr == z:
        return _smooth(expr if expr.free_symbols else expr.doit())  # sympy may leave Min(-1, 1) as it is
    if isinstance(expr, sp.Abs | sp.sign):
        coefficient, factors = expr.args[0].as_independent(z, as_Add=False)
        if coefficient != 1:  # its sign need not be known
            return split(expr.func(factors)).map(lambda u: expr.func(coefficient) * u)
    if isinstance(expr, sp.Abs):
        inner = split(expr.args[0])
        return _switch(inner, inner.map(lambda u: -u), inner)
    if isinstance(expr, sp.sign):
        return _switch(split(expr.args[0]), *map(_smooth, (sp.Integer(-1), sp.Integer(1), sp.Integer(0))))
    if isinstance(expr, sp.Heaviside):
        return _switch(split(expr.args[0]), *map(_smooth, (sp.Integer(0), sp.Integer(1), expr.args[1])))
    if isinstance(expr, sp.Max):
        return reduce(lambda a, b: _switch(a.map(lambda u, v: u - v, b), b, a), map(split, expr.args))
    if isinstance(expr, sp.Min):
        return reduce(lambda a, b: _switch(a.map(lambda u, v: u - v, b), a, b), map(split, expr.args))
    if isinstance(expr, sp.Piecewise):
        return _split_piecewise(expr)
    if _has_switches(expr):
        first, *others = (split(argument) for argument in expr.args)
        return _resplit(first.map(expr.func, *others))
    return _resplit(_smooth(expr))


def derivative(part: sp.Expr) -> sp.Expr:
    """The derivative of a smooth formula, finite as it is written wherever a power's base may vanish.

    A power of a product, sympy differentiates to ``p*u**p * u'/u`` and cancels no more: ``(-z)**(5/2)/z`` is not a
    number at 0, ``(-z)**(3/2)`` is; nor is ``z*(1 + z**(-1/3))``, ``z + z**(2/3)`` is.
    """
    return _finite(_slope(part))


def _finite(formula: sp.Expr) -> sp.Expr:
    """Cancel common powers between the factors of products: on balls around 0 they would give 0*oo."""
    return _with_combined_powers(formula.replace(lambda e: e.is_Mul, _distributed))


def _distributed(product: sp.Mul) -> sp.Expr:
    """Multiply out a sum with roots in denominators with the powers of the same bases beside it."""
    for total in (f for f in product.args if f.is_Add):
        roots = (u for term in total.args for u in sp.Mul.make_args(term) if _is_root(u) and u.exp.is_negative)
        bases = {sign * u.base for u in roots for sign in (1, -1)}
        powers = [f for f in product.args if f.as_base_exp()[0] in bases]
        if powers:
            others = [f for f in product.args if f is not total and f not in powers]
            return sp.Mul(*others, sp.Add(*(sp.Mul(*powers, term) for term in total.args)))
    return product


def _slope(part: sp.Expr) -> sp.Expr:
    """The derivative, roots of products differentiated as powers of their bases."""
    powers = {node: sp.Dummy() for node in part.atoms(sp.Pow) if node.base.is_Mul and _is_root(node)}
    if not powers:
        return part.diff(z)
    named = part.xreplace(powers)  # the outermost ones
    slopes = (named.diff(name) * u.exp * u.base ** (u.exp - 1) * _slope(u.base) for u, name in powers.items())
    return sp.Add(named.diff(z), *slopes).xreplace({name: u for u, name in powers.items()})


def _is_finite_at(formula: sp.Expr, point: sp.Expr) -> bool:
    """Whether a formula has a value at a point; bases that vanish there are found also where parameters hide it."""
    value = formula.subs(z, point)
    if value.is_finite is False or value.has(sp.nan):
        return False
    inverse = (node.base for node in formula.atoms(sp.Pow) if node.exp.is_negative and node.base.has(z))
    return not any(vanishes(base.subs(z, point)) for base in inverse)


def _is_root(node: sp.Pow) -> bool:
    return node.is_Pow and node.exp.is_Rational and not node.exp.is_Integer and node.base.has(z)


def value_at(part: sp.Expr, point: sp.Expr) -> sp.Expr:
    """The exact value of a formula at a point.

    Raises:
        DeclarationError: writing the value down would take a number of astronomical size, such as 2**(10**30).
    """
    for node in part.atoms(sp.Pow, sp.exp):
        if node.free_symbols != {z} or not node.exp.has(z) or point.free_symbols:
            continue
        if isinstance(node, sp.exp) and not node.exp.has(sp.log):  # of exp(z*log(2)) sympy makes a power of 2
            continue
        try:
            with ctx.workprec(BITS):
                size = RangeProgram(node, {})(RangeProgram(point, {})())
        except Undefined:
            size = None
        if size is None or not arb(2) ** -20000 < size.lo <= size.hi < arb(2) ** 20000:
            found = f"{node} is too large, too small or undefined at this z"
            remedy = "use breakpoints and powers of ordinary size"
            raise DeclarationError(f"the value of {part} at z = {point}", found, remedy)
    return part.subs(z, point) if point != 0 else value_at_zero(part, z)


def _split_piecewise(expr: sp.Piecewise) -> PiecewiseFunction:
    """Conditions become indicator functions: a branch holds where its own is 1 and all earlier ones are 0."""
    indicators = [_indicator(condition, expr) for _, condition in expr.args]
    covered = indicators[0].map(_LOGIC[sp.Or], *indicators[1:])
    if covered.parts != (sp.Integer(1),):
        found = "its conditions leave out a part of the real line"
        raise DeclarationError(f"the pieces of {expr}", found, "add a branch for all other z")
    result = split(expr.args[-1].expr)
    for (branch, _), indicator in zip(reversed(expr.args[:-1]), reversed(indicators[:-1]), strict=True):
        result = indicator.map(lambda holds, then, otherwise: then if holds == 1 else otherwise, split(branch), result)
    return result


def _indicator(condition: sp.Basic, expr: sp.Expr) -> PiecewiseFunction:
    """1 where the condition holds, 0 elsewhere; single points do not matter."""
    if condition in (sp.true, sp.false):
        return _smooth(sp.Integer(condition == sp.true))
    if type(condition) in _LOGIC:
        first, *others = (_indicator(c, expr) for c in condition.args)
        return first.map(_LOGIC[type(condition)], *others)
    if isinstance(condition, sp.Eq | sp.Ne):
        return _smooth(sp.Integer(isinstance(condition, sp.Ne)))
    if isinstance(condition, sp.core.relational.Relational):
        no, yes = _smooth(sp.Integer(0)), _smooth(sp.Integer(1))
        return _switch(split(condition.gts - condition.lts), no, yes, no if condition.rel_op in ("<", ">") else yes)
    found = f"the condition {condition} is not an inequality"
    raise DeclarationError(f"the pieces of {expr}", found, "use inequalities")


_LOGIC: Mapping[type, Callable[..., sp.Expr]] = {
    sp.Not: lambda u: 1 - u,
    sp.And: sp.Mul,
    sp.Or: lambda *values: 1 - sp.Mul(*(1 - u for u in values)),
    sp.ITE: lambda u, v, w: u * v + (1 - u) * w,
}  # of numbers 0 and 1


def _switch(
    control: PiecewiseFunction,
    negative: PiecewiseFunction,
    positive: PiecewiseFunction,
    zero: PiecewiseFunction | None = None,
) -> PiecewiseFunction:
    """``negative`` where ``control < 0``, ``positive`` where ``control > 0``, ``zero`` on intervals of zeros."""
    zero = positive if zero is None else zero
    crossings = []
    for i, part in enumerate(control.parts):
        # at a pole the sign of the control changes without a zero
        left, right = (None, *control.breaks, None)[i : i + 2]
        require_finite(f"the switch at {abbreviated(part, 60)} = 0", part, left, right)
        for root in zeros(part, (left, right)):
            after_left = i == 0 or _sign(root - control.breaks[i - 1]) > 0
            before_right = i == len(control.breaks) or _sign(control.breaks[i] - root) > 0
            if after_left and before_right:
                crossings.append(root)
    breaks = _union([control.breaks, crossings, negative.breaks, positive.breaks, zero.breaks])
    by_sign = (zero, positive, negative)  # the last one for -1
    parts = [by_sign[_sign_at(control.part_at(point), point)].part_at(point) for point in _samples(breaks)]
    return _merged(breaks, parts)


def _leading_power(side: sp.Expr, b: sp.Expr, step: sp.Expr) -> sp.Expr:
    """The exponent of a slope in the small step from a breakpoint, at most 0."""
    slope, names = side.subs(z, b + step), " and ".join(sorted(s.name for s in side.free_symbols - {z}))
    if slope.subs(_STEP, 0).is_finite:
        return sp.Integer(0)
    try:
        coefficient, power = sp.powdenest(slope, force=True).as_leading_term(_STEP).as_coeff_exponent(_STEP)
    except (NotImplementedError, ValueError):
        coefficient, power = slope, sp.nan
    if coefficient.has(_STEP) or not power.is_Rational:
        found = f"whether it is finite depends on {names}" if names else "it is infinite, but not like a power of z"
        remedy = f"give {names} a number" if names else "smooth the formula"
        raise DeclarationError(f"the slope {abbreviated(side, 60)} at z = {b}", found, remedy)
    return min(power, sp.Integer(0))


def _resplit(pieces: PiecewiseFunction) -> PiecewiseFunction:
    """Putting pieces together can make new switches: sqrt(u**2) is |u|, and so is the root of a polynomial square."""
    parts = tuple(_with_combined_powers(_with_squares_extracted(part)) for part in pieces.parts)
    if not any(map(_has_switches, parts)):
        return PiecewiseFunction(pieces.breaks, parts)
    numbers = PiecewiseFunction(pieces.breaks, tuple(map(sp.Integer, range(len(parts)))))
    return numbers.map(lambda number, *formulas: formulas[int(number)], *map(split, parts))


def _has_switches(expr: sp.Expr) -> bool:
    return any(node.has(z) for node in expr.atoms(*SWITCHES))


def _with_squares_extracted(part: sp.Expr) -> sp.Expr:
    """Write the root of a polynomial with repeated factors, ``sqrt(z**4 + z**2)``, as ``|z|*sqrt(z**2 + 1)``.

    So is the root in an inverse cosine that touches an end of its domain, ``acos(1/(1 + z**2))``.
    """
    part = part.replace(sp.asin, lambda u: sp.pi / 2 - sp.acos(u) if _touched_ends(u) else sp.asin(u))
    part = part.replace(sp.acos, _inverse_cosine)
    roots = {}
    for node in part.atoms(sp.Pow):
        if _is_root(node) and node.base.is_polynomial(z):
            constant, factors = sp.sqf_list(node.base, z)
            if any(multiplicity > 1 for _, multiplicity in factors):
                squares, odd = sp.Integer(1), constant
                for factor, multiplicity in factors:
                    squares *= sp.Abs(factor) ** ((multiplicity - multiplicity % 2) * node.exp)
                    odd *= factor ** (multiplicity % 2)
                roots[node] = squares * odd**node.exp
    return part.xreplace(roots) if roots else part


def _touched_ends(u: sp.Expr) -> set[int]:
    """The ends of [-1, 1] that a rational function reaches without crossing them."""
    if not u.is_rational_function(z) or u.free_symbols != {z}:
        return set()
    gaps = {end: sp.fraction(sp.cancel(1 - end * u))[0] for end in (1, -1)}
    return {
        end
        for end, gap in gaps.items()
        if any(k % 2 == 0 and sp.Poly(f, z).count_roots() for f, k in sp.sqf_list(gap, z)[1])
    }


def _inverse_cosine(u: sp.Expr) -> sp.Expr:
    """``acos(u)``; by half of the angle where u touches 1 or -1: the kinks are those of absolute values."""
    touched = _touched_ends(u)
    if not touched:
        return sp.acos(u)
    angles = {}
    for end in (1, -1):
        above, below = map(sp.factor, sp.fraction(sp.cancel((1 - end * u) / (1 + end * u))))
        angles[end] = 2 * sp.atan(sp.sqrt(above) / sp.sqrt(below))
    from_one, from_minus_one = angles[1], sp.pi - angles[-1]
    if len(touched) == 2:  # the angle from an end has a pole at the other one
        return sp.Piecewise((from_one, u > 0), (from_minus_one, True))
    return from_one if 1 in touched else from_minus_one


def _with_combined_powers(part: sp.Expr) -> sp.Expr:
    """Write ``z * sqrt(-z)`` as ``-(-z)**(3/2)``: one power of one base, which every law about powers knows."""
    return part.replace(lambda e: e.is_Mul and any(map(_is_root, e.args)), _combined)


def product(one: sp.Expr, other: sp.Expr) -> sp.Expr:
    """The product of two smooth formulas, finite as it is written where a root of one vanishes with the other."""
    return _finite(one * other)


def _combined(product: sp.Mul) -> sp.Expr:
    """A product with one power for each base, and for its negative."""
    powers: dict[sp.Expr, sp.Expr] = {}
    for factor in product.args:
        base, exponent = factor.as_base_exp()
        powers[base] = powers.get(base, sp.Integer(0)) + exponent
    for base in [node.base for node in product.args if _is_root(node)]:
        if powers.get(-base, sp.Integer(0)).is_Integer and -base in powers:
            exponent = powers.pop(-base)
            powers[base] += exponent
            powers[sp.Integer(-1)] = powers.get(sp.Integer(-1), sp.Integer(0)) + exponent
    return sp.Mul(*(base**exponent for base, exponent in powers.items()))


def _smooth(expr: sp.Expr) -> PiecewiseFunction:
    return PiecewiseFunction((), (expr,))


def _merged(breaks: Sequence[sp.Expr], parts: Sequence[sp.Expr]) -> PiecewiseFunction:
    """Drop breakpoints with the same formula on both sides."""
    kept_breaks: list[sp.Expr] = []
    kept_parts = [parts[0]]
    for b, part in zip(breaks, parts[1:], strict=True):
        if part != kept_parts[-1]:
            kept_breaks.append(b)
            kept_parts.append(part)
    return PiecewiseFunction(tuple(kept_breaks), tuple(kept_parts))


def _union(groups: Iterable[Sequence[sp.Expr]]) -> tuple[sp.Expr, ...]:
    """All breakpoints, increasing, each once."""
    ordered: list[sp.Expr] = []
    for b in (b for group in groups for b in group):
        place = len(ordered)  # from the right: where the order of neighbours is known that of others need not be
        while place > 0 and (order := _sign(b - ordered[place - 1])) <= 0:
            place -= 1
            if order == 0:
                break
        else:
            ordered.insert(place, b)
    return tuple(ordered)


def _samples(breaks: Sequence[sp.Expr]) -> list[sp.Expr]:
    """One point inside each interval."""
    if not breaks:
        return [sp.Integer(0)]
    middles = [(a + b) / 2 for a, b in pairwise(breaks)]
    return [breaks[0] - 1, *middles, breaks[-1] + 1]


def _sign_at(part: sp.Expr, point: sp.Expr) -> int:
    """The sign of a formula at a point; its value is not written down if it is a number, which may be huge."""
    fixed = not point.free_symbols and not part.free_symbols - {z}
    sign = sign_of(part, point) if fixed else None
    return _sign(value_at(part, point)) if sign is None else sign


def _sign(value: sp.Expr) -> int:
    """The sign of a number or of a formula in parameters.

    Raises:
        DeclarationError: it is unknown.
    """
    sign = sign_of(value)
    if sign is None:
        sign = sign_of(sp.factor(value))
    if sign is None and vanishes(value):
        sign = 0
    if sign is None:
        remedy = "declare what decides it (b as a + c with Symbol('c', positive=True)), or give the parameters values"
        raise DeclarationError("the order of the breakpoints of a formula", f"the sign of {value} is unknown", remedy)
    return sign
