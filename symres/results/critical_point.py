"""What the analysis of criticality returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import DeclarationError
from ..core.symbols import K
from ..functions.balls import evaluate
from ..notation.decimals import rounded_law
from ..notation.facts import equation
from .exponents import KernelGrowth

_DIGITS = 17
_ALONG = tuple(map(sp.Rational, (1, 2, "1/2", 4, "1/4", 10, "1/10", 100, "1/100")))  # on a line of critical points

# sign of d(chi_parallel)/dK where chi_parallel = 1: d' = d + b*d**2 pulls from below for b > 0
STABILITY = {1: ("half-stable", "below"), -1: ("half-stable", "above"), 0: ("marginal", "")}


@dataclass(frozen=True, repr=False)
class CriticalPoint(Shown):
    """A fixed point with both susceptibilities equal to 1 (PDLT (B.19)).

    Args:
        K: the kernel; ``sr.K`` itself if every kernel is one (scale-invariant layers). ``kernel`` is it as a float.
        C_W: the critical weight variance, an expression in the remaining parameters (gamma...).
        C_b: the critical bias variance.
        stability: "stable" or "unstable" (K flows to the point or away from it), "half-stable" (to it from one
            side only), "neutral" (K is preserved everywhere), "marginal" (undecided).
        exact: whether K is a closed form; otherwise it is a root that evaluates to any number of digits.
        correction: at K* = 0, K' - K to the first power of K that does not vanish, ``-2*K**2``; 0 if all of them
            vanish; None at other points.
        side: of a half-stable point, "below" or "above": where the kernels are that flow to it; "" if not known.
        along: what runs along a line of critical points, each of its values being one: ``sr.K``, ``sr.C_W``, or the
            variance ``S_in`` inside of the averages; None for a single point.
        inside: the variance inside of the averages, where it is known apart from the kernel of the stream.

    Examples:
        The half-stable kernel of GELU, in closed form:

        >>> point = sr.derive("gelu").critical_points[0]
        >>> point.K, point.stability, point.side
        (3/2 + sqrt(17)/2, 'half-stable', 'above')
    """

    K: sp.Expr
    C_W: sp.Expr
    C_b: sp.Expr
    stability: str
    exact: bool = True
    correction: sp.Expr | None = None
    side: str = ""
    along: sp.Symbol | None = None
    inside: sp.Expr | None = None

    def _title(self) -> str:
        side = f", it attracts kernels from {self.side}" if self.side else ""
        line = "" if self.along is None else f", one for every {self.along}"
        return f"critical point, {self.stability}{side}{line}"

    def _facts(self) -> list[Fact]:
        sides = (("K*", "K^*", self.K), ("C_W", "C_W", self.C_W), ("C_b", "C_b", self.C_b))
        facts = [equation(label, left, rounded_law(sp.sympify(side))) for label, left, side in sides]
        return facts if self.K != K else [Fact("", "K* may be any kernel"), *facts[1:]]

    def at(self, numbers: Mapping[sp.Symbol, sp.Expr]) -> CriticalPoint:
        """The point with numbers in the place of symbols.

        Examples:
            >>> line = sr.derive("where(z > 0, z, z/2)").critical_points[0]  # every kernel is critical
            >>> line.at({sr.K: 3}).K
            3
        """
        sides = {name: sp.sympify(getattr(self, name)).subs(numbers) for name in ("K", "C_W", "C_b")}
        return replace(self, **sides, along=None if self.along in numbers else self.along)

    def single(self) -> Iterator[CriticalPoint]:
        """Some points of a line of critical points, that at 1 first; a single point is the only one.

        Examples:
            >>> point = sr.derive("where(z > 0, z, z/2)").critical_points[0]  # C_W is one number, K* any
            >>> [point.C_W for point in point.single()]
            [8/5]
        """
        yield from [self] if self.along is None else (self.at({self.along: number}) for number in _ALONG)

    @property
    def kernel(self) -> float:
        """K as a float; nan where every kernel is critical, and K is the symbol ``sr.K`` itself.

        Raises:
            DeclarationError: K depends on parameters, or on what runs along a line of critical points.

        Examples:
            >>> sr.derive("gelu").critical_points[0].kernel
            3.5615528128088303
        """
        if self.K == K:
            return math.nan
        if self.K.free_symbols:
            names = ", ".join(sorted(s.name for s in self.K.free_symbols))
            raise DeclarationError("the kernel of a critical point", f"it depends on {names}", "put numbers into K")
        return float(evaluate(self.K, {}, _DIGITS)[0])


@dataclass(frozen=True)
class Criticality:
    """The outcome of the analysis, with what a reader should know about it.

    Args:
        points: the critical points.
        universality_class: its name.
        remarks: for readers.
        growth: of kernels without a fixed point, where that is what the class describes.
    """

    points: tuple[CriticalPoint, ...]
    universality_class: str
    remarks: tuple[str, ...] = ()
    growth: KernelGrowth | None = None


@dataclass(frozen=True)
class SearchResult:
    """Some critical points, what a reader should know about the search, and whether it went through to the end."""

    points: tuple[CriticalPoint, ...] = ()
    remarks: tuple[str, ...] = ()
    complete: bool = True
