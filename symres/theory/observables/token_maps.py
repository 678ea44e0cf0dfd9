"""The maps of a layer of tokens as programs of balls, compiled once for stacks of many layers.

Where tokens become alike ``K - C`` is small, and the maps cancel to as many digits. So kernels and covariances are
carried with all the digits that their difference needs, and programs run in that precision. Only the overlaps of
attention are sums in double precision: they multiply ``K - C``, whose relative accuracy they keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import mpmath as mp
import sympy as sp
from flint import arb, ctx

from ...core.atoms import AverageNode
from ...core.errors import DeclarationError
from ...core.scalars import Number
from ...core.symbols import C, K
from ...functions.balls import compile_ball, to_ball, value_and_radius
from ...functions.records.softmax_family import SoftmaxOverlap
from ...numerics.softmax_overlap import overlap_ball
from ...results.arguments_of_quantities import Arguments
from ...results.quantity import Quantity
from ..quantities.build import has_softmax

Numbers: TypeAlias = Mapping[sp.Symbol, sp.Expr]
_OF_SUMS, _DIGITS = 12, 18  # of overlaps, which are sums in double precision; of everything else
_FLOAT_BITS = 53
_GUARD = 24  # bits beyond the digits asked for
_TRIALS = 3  # precisions, each twice the last
_ALIKE = 2**14  # bits of K/(K - C) from which on tokens count as equal


class CompiledMaps:
    """Several expressions as programs of balls, which share the overlaps of attention in them.

    It is pickled by its expressions, and compiled again where it is loaded.

    Args:
        expressions: by name.
        is_quick: whether averages without closed form are numbers in double precision, too.
    """

    def __init__(self, expressions: Mapping[str, sp.Expr], is_quick: bool = False) -> None:
        self._formulas = expressions, is_quick
        kinds = (SoftmaxOverlap, AverageNode) if is_quick else (SoftmaxOverlap,)
        nodes = set().union(*(e.atoms(*kinds) for e in expressions.values()))
        inner_first = sorted(nodes, key=lambda e: (sum(e.count(kind) for kind in kinds), sp.default_sort_key(e)))
        names = {node: sp.Dummy("B", real=True) for node in inner_first}
        bare = {name: e.xreplace(names) for name, e in expressions.items()}
        parts = [[argument.xreplace(names) for argument in _arguments(node)] for node in inner_first]
        free = set().union(*(e.free_symbols for e in (*bare.values(), *(a for part in parts for a in part))))
        self.symbols = sorted(free - {*names.values()}, key=sp.default_sort_key)
        arguments = [*self.symbols]
        self._nodes = []
        for node, part in zip(inner_first, parts, strict=True):
            reads = {place for place, a in enumerate(arguments) if any(e.has(a) for e in part)}
            self._nodes.append((node, [compile_ball(argument, tuple(arguments)) for argument in part], reads))
            arguments.append(names[node])
        self._programs = {name: compile_ball(e, tuple(arguments)) for name, e in bare.items()}

    def __reduce__(self) -> tuple[type[CompiledMaps], tuple[Mapping[str, sp.Expr], bool]]:
        return CompiledMaps, self._formulas

    def __call__(self, numbers: Numbers, bits: int) -> dict[str, arb]:
        """The balls of all expressions in so many bits; errors of overlaps, which have 53, count to first order.

        They are the same wherever an overlap stands: terms that cancel cancel in them as well, which balls cannot know.
        """
        with ctx.workprec(bits):
            given = [to_ball(numbers[symbol], bits) for symbol in self.symbols]
            balls, radii = list(given), []
            for node, programs, _ in self._nodes:
                ball = _in_double_precision(node, [program(balls) for program in programs])
                balls.append(ball.mid())
                radii.append(ball.rad())
            values = self._run(balls)
            for place, radius in enumerate(radii, len(given)):
                moved = self._run(self._moved(balls, place, radius))
                for name, value in values.items():
                    values[name] += arb(0, 1) * abs(moved[name] - value.mid()).upper()
            return values

    def _moved(self, balls: list[arb], place: int, radius: arb) -> list[arb]:
        """All numbers where one node is larger, and those that read it are what they are then."""
        moved, places = list(balls), {place}
        moved[place] += radius
        for later, (node, programs, reads) in enumerate(self._nodes, len(self.symbols)):
            if reads & places:
                places.add(later)
                before = moved[:later]
                moved[later] = _in_double_precision(node, [program(before) for program in programs]).mid()
        return moved

    def _run(self, balls: list[arb]) -> dict[str, arb]:
        return {name: program(balls) for name, program in self._programs.items()}


def _arguments(node: sp.Expr) -> tuple[sp.Expr, ...]:
    return node.float_arguments if isinstance(node, AverageNode) else node.args[:3]


def _in_double_precision(node: sp.Expr, arguments: list[arb]) -> arb:
    if isinstance(node, AverageNode):
        value = float(node.float_value(*(float(argument.mid()) for argument in arguments)))
        return arb(value, abs(value) * 2.0**-_FLOAT_BITS)
    with ctx.workprec(_FLOAT_BITS):
        return overlap_ball(arguments[0], arguments[1], arguments[2], int(node.args[3]), node.orders)


class TokenMaps:
    """What a layer does to the kernel and covariance of tokens, and to those of their changes, in numbers.

    Args:
        kernels: the maps of K and C.
        tangents: the maps of t and s.
    """

    def __init__(self, kernels: Sequence[Quantity], tangents: Sequence[Quantity]) -> None:
        self._kernels, self._tangents = kernels, tangents

    @cached_property
    def is_closed(self) -> bool:
        """Whether all maps are known, for a number of tokens, and finite."""
        maps = [q.expr for q in (*self._kernels, *self._tangents) if q.expr is not None]
        if len(maps) < len(self._kernels) + len(self._tangents) or any(e.has(sp.oo, sp.nan) for e in maps):
            return False
        return not any(overlap.args[3].free_symbols for e in maps for overlap in e.atoms(SoftmaxOverlap))

    @property
    def is_open(self) -> bool:
        """Whether averages without a closed form stand in the maps of K and C: their numbers have few digits."""
        return any(sp.sympify(q.expr).atoms(AverageNode) for q in self._kernels)

    @cached_property
    def _of_kernels(self) -> CompiledMaps:
        one, two = (sp.sympify(q.expr) for q in self._kernels)
        return CompiledMaps({"K": one, "gap": one - two})

    @cached_property
    def _of_tangents(self) -> CompiledMaps:
        return CompiledMaps(dict(zip("ts", (q.expr for q in self._tangents), strict=True)))

    def kernels(self, values: Mapping[str, Number]) -> dict[str, mp.mpf] | None:
        """K' and C', whose difference has as many digits as they; None where these are not reached.

        Args:
            values: K, C and the parameters, by name; others are ignored.

        Raises:
            DeclarationError: a value is missing, or outside of its domain.
        """
        numbers = self._numbers(self._kernels, values)
        if numbers is None:
            return None
        balls = self._precise(self._of_kernels, self._kernels, numbers, together=False)
        if balls is None:
            return None
        with mp.workprec(int(_DIGITS * 3.33) + _GUARD):
            kernel, gap = (+value_and_radius(balls[name])[0] for name in ("K", "gap"))
        if self._kernels[1].expr == 0:
            return {"K": kernel, "C": mp.mpf(0)}
        is_equal = gap <= 0 or mp.log(kernel / gap, 2) > _ALIKE
        return {"K": kernel, "C": kernel if is_equal else mp.fsub(kernel, gap, exact=True)}

    def tangents(self, values: Mapping[str, Number]) -> dict[str, mp.mpf] | None:
        """T' and s'; None where their digits are not reached.

        Args:
            values: K, C, t, s and the parameters, by name; others are ignored.
        """
        numbers = self._numbers(self._tangents, values)
        balls = numbers and self._precise(self._of_tangents, self._tangents, numbers, together=True)
        return {name: value_and_radius(ball)[0] for name, ball in balls.items()} if balls else None

    def _numbers(self, quantities: Sequence[Quantity], values: Mapping[str, Number]) -> dict[sp.Symbol, sp.Expr] | None:
        """Exact numbers for the symbols of some quantities; None for maps that are not closed."""
        if not self.is_closed:
            return None
        numbers: dict[sp.Symbol, sp.Expr] = {}
        for q in quantities:
            symbols = (*q.symbols, *q.unused)
            passed = {symbol.name: values[symbol.name] for symbol in symbols if symbol.name in values}
            numbers |= Arguments(q.name, q.symbols, q.unused, q.directed, q.within, q.members, q.absent).all_of(passed)
        return numbers

    def _precise(
        self, maps: CompiledMaps, quantities: Sequence[Quantity], numbers: Numbers, together: bool
    ) -> dict[str, arb] | None:
        """The balls of maps with the digits that they have, relative to each or to the largest of them together."""
        digits = _OF_SUMS if any(has_softmax(q.body, q.steps) for q in quantities) else _DIGITS
        is_equal, more = _alike(numbers)
        bits = int(digits * 3.33) + _GUARD + 2 * more
        for trial in range(_TRIALS):
            try:
                balls = maps(numbers, bits << trial)
            except DeclarationError:  # a parameter inside of an average, which must be a number there
                return None
            if is_equal and not together and balls["gap"].contains(0):
                balls["gap"] = arb(0)  # equal tokens stay equal
            if all(ball.is_finite() for ball in balls.values()):
                sizes = [abs(ball).lower() for ball in balls.values()]
                allowed = [max(sizes)] * len(sizes) if together else sizes
                radii = (ball.rad() for ball in balls.values())
                if all(radius <= size * arb(10) ** -digits for radius, size in zip(radii, allowed, strict=True)):
                    return balls
        return None


def _alike(numbers: Numbers) -> tuple[bool, int]:
    """Whether tokens are equal, and the bits that the difference of their kernel and covariance loses."""
    kernel, covariance = numbers.get(K), numbers.get(C)
    if kernel is None or covariance is None or kernel == covariance:
        return kernel is not None and kernel == covariance, 0
    ratio = sp.Rational(kernel / (kernel - covariance)) if (kernel - covariance).is_Rational else sp.S.One
    return False, max(int(abs(ratio.p) // abs(ratio.q)).bit_length(), 1)
