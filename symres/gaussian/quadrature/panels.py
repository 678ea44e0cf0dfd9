"""Gauss-Legendre panels in ball arithmetic, with the error bounded by the size of the integrand in the complex plane.

For f analytic with ``|f| <= M`` in the ellipse with foci at the ends of a panel of half-width h and sum of half-axes
``h*rho``, the n-point rule is off by at most ``h*(64/15)*M*rho**(-2n)/(1 - rho**-2)``: Chebyshev coefficients of f are
below ``2*M*rho**-k``, and the rule errs by at most 32/15 on each ``T_k``, k even and >= 2n. M comes from one ball
evaluation on a rectangle around the ellipse.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from itertools import accumulate
from typing import TypeVar

from flint import acb, arb, ctx

from ...core.errors import SymresError
from ...core.work_budget import MOST_PANELS
from ...functions.balls import Ball, CompiledExpression
from ...numerics.gauss_rules import gauss_legendre

Function = Callable[[list[Ball], bool], Ball]
Result = TypeVar("Result")

LOW_BITS = 32  # bits: enough for bounds
LOG2_E = 1.4426950408889634
_NEGLIGIBLE = 4  # bits below what a rule misses
_NODE_COUNTS = tuple(sorted({2 * round(2 ** (k / 4)) for k in range(4, 45)}))  # 4, 6, ... 4096: steps of a fifth
_MOST_BITS = 256  # beyond, panels have hundreds of nodes, whose values take megabytes to keep
_MAX_HALVINGS = 900  # halvings: widths remain floats


def memoised(most: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Keep the last results, so many, of a computation with a function and numbers, at the same precision.

    A scan for critical points asks for hundreds of averages of the same functions, and the panels have round ends. Only
    where the function is a compiled expression (other callables are made anew for each average), every ball among the
    numbers is exact, and the precision is not high.
    """

    def decorate(compute: Callable[..., Result]) -> Callable[..., Result]:
        @lru_cache(maxsize=most)
        def kept(function: CompiledExpression, precision: int, *numbers: tuple | float) -> Result:
            return compute(function, *(arb(n) if isinstance(n, tuple) else n for n in numbers))

        @wraps(compute)
        def memoised_call(function: Callable, *numbers: arb | float) -> Result:
            if type(function) is not CompiledExpression or ctx.prec > _MOST_BITS:
                return compute(function, *numbers)
            key: list[tuple | float] = []
            for n in numbers:  # a loop, because this is called a million times
                if not isinstance(n, arb):
                    key.append(n)
                elif n.is_exact() and n.is_finite():
                    key.append(n.man_exp())
                else:
                    return compute(function, *numbers)
            return kept(function, ctx.prec, *key)

        return memoised_call

    return decorate


class BoundedFunction:
    """A function that knows a bound of its own, better than its balls on wide intervals."""

    @abstractmethod
    def __call__(self, values: list[Ball], analytic: bool) -> Ball:
        """Its value."""

    @abstractmethod
    def log2_sup(self, left: arb, right: arb, height: float | arb) -> float:
        """As the function of that name below."""


@dataclass(frozen=True)
class Weight:
    """A weight in the coordinate x = z/scale with ``|weight(x + iy)| <= exp(-x**2/2v + y**2/2u)``.

    The Gaussian ``exp(-x**2/2v)`` is one, with u = v; a wide ball of v stands for all Gaussians in it.
    """

    variance: arb  # ball of v, of order one by the choice of scale
    scale: arb  # a power of two
    across: arb | None = None  # ball of u; None for v

    @cached_property
    def largest_variance(self) -> float:
        """A float above v."""
        return math.nextafter(float(self.variance.upper()), math.inf)

    @cached_property
    def smallest_across(self) -> float:
        """A float below u."""
        across = self.variance if self.across is None else self.across
        return math.nextafter(float(across.lower()), 0.0)

    def log2_sup(self, left: float, right: float, height: float) -> float:
        """Upper bound of log2 |weight| on the rectangle left..right, -height..height."""
        nearest = 0.0 if left <= 0 <= right else min(abs(left), abs(right))
        falling, rising = self.largest_variance, self.smallest_across
        if self.across is None and nearest > height:  # (height**2 - nearest**2)/2v is the largest at one end of v
            rising = falling
        elif self.across is None:
            falling = rising
        fall = nearest**2 / (2 * falling) * LOG2_E
        rise = height**2 / (2 * rising) * LOG2_E
        return rise - fall + 1e-14 * (rise + fall) + 1e-9  # 1e-14: the rounding of floats, with room


def log2_upper(value: Ball) -> float:
    """An upper bound of log2 |value|, less than two bits above it where it is within 1e300."""
    if not value.is_finite():
        return math.inf
    mantissa, exponent = value.abs_upper().man_exp()
    if not mantissa:
        return -math.inf
    size = int(mantissa).bit_length() + int(exponent)
    return max(size, -1e300) if size < 1e300 else math.inf  # of exp(-exp(z)) it may be no float


def log2_sum(terms: Iterable[float]) -> float:
    """An upper bound of log2 of a sum of powers of two, given by their exponents."""
    exponents = [*terms, -math.inf]
    top = max(exponents)
    return top if math.isinf(top) else top + math.log2(sum(2.0 ** (t - top) for t in exponents)) + 1e-6


@memoised(2**15)
def log2_sup(function: Function, left: arb, right: arb, height: float | arb = 0.0) -> float:
    """Upper bound of log2 |function| on a real interval, or on the rectangle of that height on both sides of it.

    On a rectangle the bound is infinite unless the function is analytic there. A function may bring its own bound.
    """
    if isinstance(function, BoundedFunction):
        return function.log2_sup(left, right, height)
    precision = ctx.prec
    narrowness = left.union(right).rel_accuracy_bits()  # in few bits every interval is wide
    ctx.prec = LOW_BITS
    try:
        if narrowness > LOW_BITS // 2:  # a short interval far from 0, next to a breakpoint
            ctx.prec = min(narrowness, precision) + LOW_BITS
        interval = left.union(right)
        reach = log2_upper(interval)
        if -1e6 < reach < -LOW_BITS // 2:  # near 0, acb.erf gives nan for some balls of few bits: 1e-14 +/- 5e-15 at 32
            ctx.prec = max(ctx.prec, LOW_BITS - int(reach))
        if not height:
            return log2_upper(function([interval], False))
        return log2_upper(function([acb(interval, arb(0, height))], True))
    finally:
        ctx.prec = precision


@memoised(2**12)
def log2_at(function: Function, place: arb | float) -> float:
    """Upper bound of log2 |function| at one place, tight in the current precision."""
    return log2_upper(function([arb(place)], False))


def sup_refined(
    function: Function, left: arb, right: arb, max_pieces: int = 20000, enough: float = math.inf, max_halvings: int = 64
) -> float:
    """Upper bound of log2 |function| on an interval that is halved where the ball evaluation overflows.

    Where the bound is above ``enough``, a few more halvings are tried: the ball of exp(z) on a wide interval has lost
    its lower end, and with it that exp(z)*sech(exp(z)) is small.
    """
    worst, stack, used = -math.inf, [(left, right)], 0
    while stack:
        a, b = stack.pop()
        bound = log2_sup(function, a, b)
        used += 1
        if bound <= max(enough, worst) and bound < math.inf:
            worst = max(worst, bound)
            continue
        if used + len(stack) >= (max_halvings if bound < math.inf else max_pieces):
            worst = max(worst, bound)
            if worst == math.inf:
                return worst
            continue
        middle = ((a + b) / 2).mid()
        stack += [(a, middle), (middle, b)]
    return worst


@dataclass(frozen=True)
class Panel:
    """One interval with its rule."""

    function: Function  # smooth function of z = scale*x on the interval
    left: arb  # where it starts, in x
    right: arb  # where it ends
    nodes: int  # number of nodes; 0 if the whole interval goes into the error
    log2_error: float  # log2 of a bound on what the rule misses
    log2_size: float = math.inf  # log2 of a bound on |function| around the interval, if there are nodes


def plan_panels(
    function: Function,
    weight: Weight,
    left: arb,
    right: arb,
    log2_tolerance: float,
    most_nodes: int,
    shortest: float = 0.0,
) -> list[Panel]:
    """Cut an interval into panels whose bounded errors stay below a tolerance each, from left to right.

    Args:
        function: smooth function of z = scale*x on the interval.
        weight: the weight of the integral.
        left: where the interval starts, in x.
        right: where it ends.
        log2_tolerance: log2 of the error allowed per panel, for the integral over x without the constant.
        most_nodes: panels that need more are halved.
        shortest: panels of this width are not halved; they come back without nodes and with too large an error.

    Raises:
        SymresError: more panels than can be evaluated in reasonable time.
    """
    panels: list[Panel] = []
    stack, most_panels = [(left, right, 0)], MOST_PANELS.get()
    while stack:
        a, b, depth = stack.pop()
        panel = _rule(function, weight, a, b, log2_tolerance, most_nodes)
        endless = len(panels) + len(stack) > most_panels
        # halving gains nothing where the ends are not known any better, or the caller wants no shorter panels
        is_narrow = (b - a).rel_accuracy_bits() < 2 or (shortest and not b - a > shortest)
        if panel is None and (depth > _MAX_HALVINGS or is_narrow):
            panel = Panel(function, a, b, 0, _log2_mass(function, weight, a, b))
            # if the bound is infinite, the function has no finite value there, and the caller reports it
            endless |= depth > _MAX_HALVINGS and panel.log2_error < math.inf
        if endless:
            found = "the function varies too fast within the width of the Gaussian"
            raise SymresError("a Gaussian average", found, "use a smaller variance")
        if panel is not None:
            panels.append(panel)
        else:
            # the number with the fewest binary digits in the middle half: equal panels recur everywhere
            step = arb(2) ** (int(log2_upper((b - a).mid())) - 2)
            middle = ((a + b).mid() / (2 * step) + 0.5).floor().mid() * step
            stack += [(middle, b, depth + 1), (a, middle, depth + 1)]
    return panels


def _extent(a: arb, b: arb) -> tuple[float, float, float]:
    """Floats outside the ends of a panel, and above its half-width."""
    half = math.nextafter(float((b - a).upper()), math.inf) / 2
    return math.nextafter(float(a.lower()), -math.inf), math.nextafter(float(b.upper()), math.inf), half


def _log2_mass(function: Function, weight: Weight, a: arb, b: arb) -> float:
    """log2 of a bound on the integral of the absolute value over a panel."""
    left, right, half = _extent(a, b)
    size = log2_sup(function, weight.scale * a, weight.scale * b)
    return size + weight.log2_sup(left, right, 0.0) + math.log2(2 * half) + 1e-3


def _rule(function: Function, weight: Weight, a: arb, b: arb, log2_tolerance: float, most_nodes: int) -> Panel | None:
    """The cheapest rule that meets the tolerance, None if the interval must be halved."""
    left, right, half = _extent(a, b)
    if not half > 0:
        return Panel(function, a, b, 0, -math.inf)
    z_left, z_right = weight.scale * a, weight.scale * b

    def attempt(rho: float) -> Panel | None:
        beyond_ends, above_axis = _ellipse(rho)
        size = _log2_sup_around(function, z_left, z_right, rho)
        x_margin, height = half * beyond_ends * (1 + 1e-9), half * above_axis * (1 + 1e-9)
        bound = size + weight.log2_sup(left - x_margin, right + x_margin, height) + math.log2(half)
        if bound + 1.1 <= log2_tolerance:
            return Panel(function, a, b, 0, bound + 1.1)
        error = bound + 2.1 - math.log2(1 - rho**-2)
        needed = (error - log2_tolerance) / (2 * math.log2(rho))
        n = next((size for size in _NODE_COUNTS if size >= needed), math.inf)
        return Panel(function, a, b, int(n), error - 2 * n * math.log2(rho), size) if n <= most_nodes else None

    best: Panel | None = None
    for rho in (4.0, 8.0, 16.0):
        panel = attempt(rho)
        if panel is None or (best is not None and panel.nodes >= best.nodes):
            break
        best = panel
        if not panel.nodes:
            break
    best = best or attempt(2.2)  # below 2.2, halving is cheaper
    if best is None and (mass := _log2_mass(function, weight, a, b)) <= log2_tolerance:
        return Panel(function, a, b, 0, mass)  # the end of an interval where the function is not analytic
    return best


@lru_cache(maxsize=16)
def _ellipse(rho: float) -> tuple[float, float]:
    """The extent of an ellipse beyond the ends and above the axis, rounded up: round panels have round rectangles."""
    beyond_ends, above_axis = (rho + 1 / rho) / 2 - 1, (rho - 1 / rho) / 2
    return math.ceil(beyond_ends * 1024) / 1024, math.ceil(above_axis * 1024) / 1024


@memoised(2**14)
def _log2_sup_around(function: Function, left: arb, right: arb, rho: float) -> float:
    """Upper bound of log2 |function| on a rectangle around the ellipse of a panel."""
    beyond_ends, above_axis = _ellipse(rho)
    half = ((right - left) / 2).upper()
    return log2_sup(function, left - half * beyond_ends, right + half * beyond_ends, half * above_axis)


@dataclass(frozen=True)
class PlannedRule:
    """The integral of a function of x times ``exp(-x**2/2v)``, for every v that its panels were planned for.

    Args:
        masses: a place squared, and the function there times the mass of the node, from the centre outwards; places
            that differ in their sign are one.
        missed: a ball around 0 of what the rule misses.
    """

    masses: tuple[tuple[arb, arb], ...]
    missed: arb

    @cached_property
    def _outwards(self) -> tuple[list[float], list[float]]:
        """For each place a float below its square, and one above log2 of all masses together from there outwards."""
        squares = [math.nextafter(float(square.lower()), 0.0) for square, _ in self.masses]
        largest = accumulate((log2_upper(mass) for _, mass in reversed(self.masses)), max)
        return squares, [top + math.log2(count) + 1e-9 for count, top in enumerate(largest, 1)][::-1]

    @classmethod
    def of(cls, panels: Iterable[Panel], scale: arb, bits: int) -> PlannedRule:
        """The rule of planned panels, in the current ``flint.ctx`` precision.

        Panels are of functions of z = scale*x, the scale is a power of two, nodes are kept with so many bits.
        """
        masses: dict[tuple[int, int], tuple[arb, arb]] = {}
        missed, stored = arb(0), stored_bits(bits)
        for panel in panels:
            if panel.log2_error == math.inf:
                return cls((), arb(0, math.inf))
            missed += arb(0, power_of_two(panel.log2_error))
            if not panel.nodes:
                continue
            half, centre = (panel.right - panel.left) / 2, (panel.right + panel.left) / 2
            values = _values(panel.function, scale * centre, scale * half, panel.nodes, stored)
            for (node, share), sides in zip(gauss_legendre(panel.nodes, stored), values, strict=True):
                step, mass = half * node, half * share
                for x, value in zip((centre + step, centre - step), sides, strict=True):
                    square, moved = x * x, mass * value
                    key = square.mid().man_exp()
                    if key in masses:
                        square, moved = square.union(masses[key][0]), moved + masses[key][1]
                    masses[key] = square, moved
        return cls(tuple(sorted(masses.values(), key=lambda node: float(node[0]))), missed)

    def __call__(self, variance: arb) -> arb:
        """The integral for a variance."""
        total, decay = self.missed, -1 / (2 * variance)
        squares, beyond = self._outwards
        fall = math.nextafter(float(-decay.upper()), 0.0) * LOG2_E * (1 - 1e-14)
        negligible = log2_upper(self.missed) - _NEGLIGIBLE
        used = bisect_left(range(len(beyond)), True, key=lambda k: beyond[k] - fall * squares[k] <= negligible)
        if used < len(beyond):
            total += arb(0, power_of_two(beyond[used] - fall * squares[used] + 1e-6))
        for square, mass in self.masses[:used]:
            total += mass * (decay * square).exp()
        return total


@memoised(2**11)
def _values(function: Function, centre: arb, half: arb, nodes: int, stored: int) -> tuple[tuple[arb, arb], ...]:
    """The values of a function of z at the nodes of a panel, right and left of its centre."""
    steps = [half * node for node, _ in gauss_legendre(nodes, stored)]
    return tuple((function([centre + step], False), function([centre - step], False)) for step in steps)


def stored_bits(bits: int) -> int:
    """The precision in which nodes are kept: few different ones."""
    return (bits // 64 + 1) * 64


def power_of_two(exponent: float) -> arb:
    """An upper bound of 2**exponent, for exponents beyond the range of floats; 0 for -inf."""
    return arb(0) if exponent == -math.inf else arb(2) ** math.ceil(exponent)
