"""What the analysis of criticality returns: critical points, and how kernel and Jacobian go with the depth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import DeclarationError
from ..core.symbols import C_b, K
from ..functions.balls import evaluate
from ..notation import latex
from ..notation.decimals import rounded, rounded_law
from ..notation.facts import equation
from ..notation.shortest import tidy_factors

_DEPTH = sp.Symbol("l", positive=True)
_DIGITS = 17
_ALONG = tuple(map(sp.Rational, (1, 2, "1/2", 4, "1/4", 10, "1/10", 100, "1/100")))  # on a line of critical points
# sign of d(chi_parallel)/dK where chi_parallel = 1: d' = d + b*d**2 pulls from below for b > 0
STABILITY = {1: ("half-stable", "below"), -1: ("half-stable", "above"), 0: ("marginal", "")}


@dataclass(frozen=True)
class Stretch:
    """A stretched exponential ``log J ~ rate*l**power``.

    Args:
        power: between 0 and 1.
        rate: positive where the Jacobian grows.
    """

    power: sp.Expr
    rate: sp.Expr

    @property
    def scale(self) -> sp.Expr:
        """The depth lambda in ``J ~ exp((l/lambda)**power)``, up to the sign of the exponent."""
        return sp.Abs(self.rate) ** (-1 / self.power)


@dataclass(frozen=True)
class NextOrder:
    """The relative correction to a law of the depth, ``coefficient*l**-power``, or ``coefficient*log(l)/l``.

    Args:
        coefficient: of the largest correction.
        power: of the depth, above 0.
        logarithmic: whether the logarithm of the depth is a factor.
    """

    coefficient: sp.Expr
    power: sp.Expr
    logarithmic: bool = False

    @property
    def correction(self) -> sp.Expr:
        """In the depth l, long numbers as decimals."""
        factor = _DEPTH**-self.power * (sp.log(_DEPTH) if self.logarithmic else 1)
        if self.coefficient.is_number:
            return rounded_law(self.coefficient * factor)
        return sp.Add(*map(rounded_law, sp.Add.make_args(self.coefficient))) * factor

    def onset(self, start: float = 0.0, share: float = 0.1) -> int | None:
        """The layer from which the law alone is right within a share; None where the coefficient is not a number.

        Args:
            start: times 1/l, what the first kernel corrects.
            share: of the kernel.
        """
        if not self.coefficient.is_number:
            return None
        size, power = abs(float(sp.N(self.coefficient))), float(self.power)

        def excess(layer: float) -> float:
            return size * layer**-power * (math.log(layer) if self.logarithmic else 1) + start / layer - share

        low = high = math.exp(1 / power)  # beyond, the correction falls
        while excess(high) > 0:
            low, high = high, 2 * high
        while high - low > 1 / 2:
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return math.ceil(high)


@dataclass(frozen=True)
class Exponents(Shown):
    """``K - K* ~ amplitude*l**-kernel`` and ``J ~ l**-jacobian`` after many layers l.

    Args:
        kernel: negative for kernels that grow (K* is 0 then); None if no power law describes the kernel.
        jacobian: None if the Jacobian is no power of the depth.
        amplitude: of the kernel; its sign is the side of K* from which it comes.
        stretch: of a Jacobian that is a stretched exponential.
        remark: why there is no power law.
        next_order: of the law of the kernel, as far as it does not depend on the first kernel; None if not known.
    """

    kernel: sp.Expr | None
    jacobian: sp.Expr | None
    amplitude: sp.Expr | None
    stretch: Stretch | None = None
    remark: str = ""
    next_order: NextOrder | None = None

    def _title(self) -> str:
        return "kernel K and Jacobian J after many layers l"

    def _facts(self) -> list[Fact]:
        """Laws of the depth, as far as there are any."""
        laws = []
        if self.kernel is not None and self.amplitude is not None and self.amplitude != 0:
            sides = ("K", "K") if self.kernel.is_negative else ("K - K*", "K - K^*")
            laws.append((*sides, self.amplitude * _DEPTH**-self.kernel))
        if self.jacobian is not None:
            laws.append(("J", "J", _DEPTH ** -rounded(self.jacobian)))
        if self.stretch is not None:
            laws.append(("log J", r"\log J", self.stretch.rate * _DEPTH**self.stretch.power))
        shown = ((name, left, rounded_law(law)) for name, left, law in laws)
        facts = [Fact("", f"{name} ~ {law}", rf"{left} \sim {latex(law)}") for name, left, law in shown]
        if self.next_order is not None:
            relative = self.next_order.correction
            facts.insert(1, Fact("relative correction", str(relative), latex(relative)))
        return [*facts, Fact("remark", self.remark)] if self.remark else facts


@dataclass(frozen=True)
class KernelGrowth:
    """``K' - K ~ rate*K**power``, power < 1, and ``chi_perp - 1 ~ excess*K**-decay`` for large kernels.

    The excess is 0 if it vanishes faster than every power that was looked at. ``next_order`` is that of the kernel.
    """

    rate: sp.Expr
    power: sp.Expr
    excess: sp.Expr
    decay: sp.Expr
    next_order: NextOrder | None = None

    @property
    def universality_class(self) -> str:
        """ "everywhere-critical" for power laws, "subcritical" for stretched exponentials."""
        return "subcritical" if self.excess != 0 and self._order < 1 else "everywhere-critical"

    @property
    def _order(self) -> sp.Expr:
        """chi_perp - 1 falls with the depth like its minus this power."""
        return self.decay / (1 - self.power)

    @property
    def needs_biases(self) -> bool:
        """Whether the law is another one without biases: their variance is what the kernel grows by."""
        return bool(self.rate.has(C_b) and self.rate.subs(C_b, 0) == 0)

    @property
    def exponents(self) -> Exponents:
        """Of kernel and Jacobian."""
        speed = sp.factor_terms((1 - self.power) * self.rate)  # K**(1 - power) = speed*l
        kernel, amplitude = -1 / (1 - self.power), speed ** (1 / (1 - self.power))
        if self.excess == 0 or self._order > 1:
            return Exponents(kernel, sp.Integer(0), amplitude, next_order=self.next_order)
        front = tidy_factors(sp.factor_terms(self.excess * speed**-self._order))
        if self._order == 1:
            return Exponents(kernel, -front, amplitude, next_order=self.next_order)
        stretch = Stretch(1 - self._order, front / (1 - self._order))
        return Exponents(kernel, None, amplitude, stretch, next_order=self.next_order)


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
    """The outcome of the analysis, with what a reader should know about it."""

    points: tuple[CriticalPoint, ...]  # the critical points
    universality_class: str  # its name
    remarks: tuple[str, ...] = ()  # for readers
    growth: KernelGrowth | None = None  # of kernels without a fixed point, where that is what the class describes


@dataclass(frozen=True)
class SearchResult:
    """Some critical points, what a reader should know about the search, and whether it went through to the end."""

    points: tuple[CriticalPoint, ...] = ()
    remarks: tuple[str, ...] = ()
    complete: bool = True
