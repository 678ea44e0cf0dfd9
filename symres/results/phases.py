"""Where deep networks at given parameters end: kernels that a layer preserves, phases, and the line between phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import sympy as sp

from ..core.display import Fact, Shown
from ..core.errors import NoClosedForm
from .annotated_numbers import AnnotatedNumber

CRITICAL = 1e-10  # how close chi_perp is to 1 at what is called critical
_ROUNDED = 1e-12  # of chi_parallel at the end of a line, where it is 1


class _KeptKernel(Shown):
    """A kernel that layers keep, with both susceptibilities there."""

    K: float | sp.Symbol
    chi_parallel: float
    chi_perp: float
    _sign = ("K*", "K^*")  # of the kernel, as text and in LaTeX

    @property
    def kernel(self) -> float:
        """K as a float; nan where every kernel is kept, and K is the symbol ``sr.K``.

        Examples:
            >>> (point,) = sr.derive("abs").fixed_points(C_W=1, C_b=0)
            >>> point.K, point.kernel
            (K, nan)
        """
        return math.nan if isinstance(self.K, sp.Symbol) else self.K

    def _facts(self) -> list[Fact]:
        return _facts_of(
            (*self._sign, self.K),
            ("chi_parallel", r"\chi_\parallel", self.chi_parallel),
            ("chi_perp", r"\chi_\perp", self.chi_perp),
        )


@dataclass(frozen=True)
class FixedPoint(_KeptKernel):
    """A kernel that a layer preserves, at given parameters.

    Args:
        K: the kernel; the symbol ``sr.K`` if every kernel is preserved.
        chi_parallel: parallel susceptibility there; the fixed point attracts if it is below 1.
        chi_perp: perpendicular susceptibility there.
        phase: "ordered" (chi_perp < 1), "chaotic" (chi_perp > 1) or "critical"; "unknown" if chi_perp is.

    Examples:
        ReLU at half of the critical weight variance keeps ``K = C_b/(1 - 1/2)``:

        >>> (point,) = sr.derive("relu").fixed_points(C_W=1, C_b="1/10")
        >>> point.K, point.chi_parallel, point.chi_perp, point.phase
        (0.2, 0.5, 0.5, 'ordered')
    """

    K: float | sp.Symbol
    chi_parallel: float
    chi_perp: float
    phase: str

    def _title(self) -> str:
        return f"fixed point, {self.phase}"


def _facts_of(*sides: tuple[str, str, float | sp.Symbol]) -> list[Fact]:
    """Equations from names as text and in LaTeX; no LaTeX where a side is not a finite number."""
    facts = []
    for name, left, side in sides:
        has_value = isinstance(side, sp.Symbol) or math.isfinite(side)
        facts.append(Fact("", f"{name} = {side}", f"{left} = {side}" if has_value else ""))
    return facts


@dataclass(frozen=True)
class Phase(_KeptKernel):
    """The limit of infinite depth.

    Args:
        name: "ordered" (gradients vanish), "chaotic" (they explode), "critical", or "diverging" (the kernel grows
            without bound; chi_perp is its limit).
        K: the kernel in which the network ends, of a batch the variance over its inputs; infinite if it diverges, the
            symbol ``sr.K`` if every kernel is kept.
        chi_parallel: parallel susceptibility there; nan if the kernel diverges.
        chi_perp: perpendicular susceptibility there; nan if the kernel diverges and the limit is not known.

    Examples:
        >>> end = sr.derive("relu").phase(K=1, C_W=3, C_b=0)
        >>> end.name, end.K, end.chi_perp
        ('diverging', inf, 1.5)
    """

    name: str
    K: float | sp.Symbol
    chi_parallel: float
    chi_perp: float
    _sign = ("K", "K")

    def _title(self) -> str:
        return f"limit of infinite depth, {self.name}"

    @property
    def correlation_length(self) -> float:
        """The depth over which squared Jacobians grow or fall by a factor e, ``1/|log chi_perp|`` (Doshi et al. (17)).

        Raises:
            NoClosedForm: the kernel diverges, and the limit of chi_perp is not known.
        """
        if math.isnan(self.chi_perp):
            found = "the kernel diverges, and the limit of chi_perp is not known"
            raise NoClosedForm("the correlation length", found, "compare jacobian() at several depths")
        if abs(self.chi_perp - 1) < CRITICAL:
            return math.inf
        return 0.0 if self.chi_perp in (0, math.inf) else 1 / abs(math.log(self.chi_perp))


@dataclass(frozen=True)
class DepthScales(Shown):
    """How deep signals travel: depths over which kernels and correlations of inputs approach their ends.

    Args:
        c: the correlation in which every pair of inputs ends, 1 in the ordered phase.
        xi_q: depth over which the distance of a kernel from K* falls by a factor e, ``-1/log|chi_parallel|``.
        xi_c: the same of correlations, ``-1/log f'(c)`` with the map f of correlations; infinite where they approach c
            more slowly than any exponential (Schoenholz et al., arXiv:1611.01232, (9)).

    Examples:
        >>> scales = sr.derive("relu").depth_scales(C_W=1, C_b="1/10")
        >>> scales.c, scales.xi_q  # 1/log(2)
        (1.0, 1.4426950408889634)
    """

    c: float
    xi_q: float
    xi_c: float

    def _title(self) -> str:
        return "depth scales"

    def _facts(self) -> list[Fact]:
        return _facts_of(("c*", "c^*", self.c), ("xi_q", r"\xi_q", self.xi_q), ("xi_c", r"\xi_c", self.xi_c))


class LinePoint(AnnotatedNumber):
    """A bias variance C_b on the critical line, with the fixed point that is critical there.

    Attributes:
        K: the kernel.
        chi_parallel: parallel susceptibility there.
        reachable: whether the kernel flows to the fixed point (abs(chi_parallel) <= 1); if not, the line is no phase
            boundary there, for a deep network does not see it.

    Examples:
        >>> (point,) = sr.derive("erf").critical_line(C_W=1)  # K = (16/pi^2 - 1)/4
        >>> round(point.K, 9), round(point.chi_parallel, 9), point.reachable  # chi_parallel = 1/(1 + 2K)
        (0.155284735, 0.763027084, True)
    """

    K: float
    chi_parallel: float

    @property
    def reachable(self) -> bool:
        """Whether the kernel flows to the fixed point."""
        return attracts(self.chi_parallel)

    def __repr__(self) -> str:
        marked = "" if self.reachable else " (unreachable: the kernel flows away)"
        return f"{float(self)!r}{marked}"


def attracts(chi_parallel: float) -> bool:
    """Whether kernels flow to a fixed point, or keep their distance from it, up to rounding."""
    return abs(chi_parallel) <= 1 + _ROUNDED


def phase_name(chi_perp: float) -> str:
    """What Jacobians do at a fixed point: "ordered", "chaotic", "critical", or "unknown" for nan."""
    if math.isnan(chi_perp):
        return "unknown"
    return "critical" if abs(chi_perp - 1) < CRITICAL else "ordered" if chi_perp < 1 else "chaotic"
