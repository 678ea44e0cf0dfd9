"""nu along the weight of the skip connection in double precision, and the inverse of ``r*(gamma)`` on all branches.

From Hermite coefficients at a kernel that the layer preserves: the influence of one neuron settles at
``G_k = (1 - rho^k J)^-1 A_k`` in each degree k, with the noise A given the stream after the layer, and V grows by
``Cov(H, H) + 2 <J G H>``. The inverse says which skip weight makes a given aspect ratio the optimal one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise

import sympy as sp

from ...core.atoms import Opaque
from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm, SymresError
from ...core.scalars import Number, number
from ...core.symbols import C_W, C_b, K, gamma, n_L
from ...functions.floats.float_averages import Values
from ...layers.layer import Layer
from ...notation.facts import equation
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ...results.annotated_numbers import Branches, GrowthRow
from ...results.critical_point import CriticalPoint
from ...results.observable import Procedure
from ...results.quantity import Quantity, Status
from ..finite_width.layer_noise import CompiledLayer
from ..finite_width.layer_numbers import LayerNumbers
from ..finite_width.layer_response import LayerResponse
from .vertex_growth import FLOW_TO_ZERO, at_small_kernels

_DEGREE = 512
_DIGITS = 15  # those of floats, which the numbers become: 53 bits
GAMMAS = (0.0, *(k / 40 for k in range(1, 39)), 0.96, 0.97, 0.98, 0.99)
_GRID = tuple(k / 16 for k in range(16))  # where r* is looked at for turning points
_FIRST, _DEEPEST = 4, 14  # a large ratio is looked for at 1 - gamma = 2**-4, ..., 2**-14
_STEPS, _STEP = 5, 1e-3  # steps towards a solution; where the slope is measured, as a part of the way to an end
_CLOSE = 4e-15  # of r*, relative, to what is asked for
_HEIGHTS = (1.02, 1.5, 20.0)  # ratios at which errors are measured, in units of the least one


@dataclass(frozen=True)
class GrowthNumbers:
    """Nu at a critical point for any weight of the skip connection."""

    layer: CompiledLayer  # compiled
    place: Mapping[str, sp.Expr]  # of "K", "C_W" and "C_b" where the layer is critical: functions of gamma alone
    factor: float  # in front of the growth of a vertex where kernels respond by 1
    skips: bool  # whether anything depends on gamma

    def row(self, skip: float | None) -> GrowthRow:
        """Nu at a weight; None where nothing depends on it.

        Raises:
            SymresError: floating-point numbers overflow.
        """
        values = {gamma: sp.Rational(repr(skip or 0.0))}
        point = {name: float(sp.N(e.subs(values), 20)) for name, e in self.place.items()}
        numbers = {C_W: point["C_W"], C_b: point["C_b"], gamma: skip or 0.0}
        nu, second = _growth(self.layer, point["K"], numbers)
        return GrowthRow(skip, self.factor * nu, self.factor * second)


def growth_numbers(layer: Layer, point: CriticalPoint) -> GrowthNumbers | None:
    """Nu at a critical point as numbers; None where parameters have no numbers, or the layer has no such growth."""
    free = {s for e in (point.K, point.C_W, point.C_b) for s in sp.sympify(e).free_symbols}
    others = {*layer.parameters, *free} - {C_W, C_b, gamma, K}
    if others or point.along is not None:
        return None
    program, factor = layer.program, 1.0
    kernel: sp.Expr = point.K
    try:
        if point.K == 0:
            program, factor, kernel = at_small_kernels(program), float(FLOW_TO_ZERO), sp.Integer(1)
        elif point.K == K:
            kernel = sp.Integer(1)
        compiled = CompiledLayer(LayerResponse(program))
        place = {name: _numbers_in(e) for name, e in (("K", kernel), ("C_W", point.C_W), ("C_b", point.C_b))}
    except SymresError:
        return None
    return GrowthNumbers(compiled, place, factor, gamma in {*layer.parameters, *free})


def growth_rows(numbers: GrowthNumbers) -> list[GrowthRow]:
    """Nu for many weights of the skip connection; empty where floating-point numbers overflow."""
    places: Sequence[float | None] = GAMMAS if numbers.skips else (None,)
    try:
        return [numbers.row(place) for place in places]
    except SymresError:
        return []


def _numbers_in(expression: sp.Expr) -> sp.Expr:
    """An expression with decimals for all that gamma does not move."""
    if not expression.has(gamma):
        return expression if expression.is_Rational else sp.N(expression, _DIGITS)
    if isinstance(expression, Opaque | sp.Symbol):
        return expression
    terms = expression.args
    if expression.is_Add or expression.is_Mul:
        fixed, moved = expression.as_independent(gamma)
        terms = (fixed, *expression.func.make_args(moved))
    return expression.func(*map(_numbers_in, terms))


def _growth(layer: CompiledLayer, kernel: float, values: Mapping[sp.Symbol, float]) -> tuple[float, float]:
    """The growth of V/K^2, and that of the second Hermite component alone."""
    parameters: Values = dict(values)
    matrix = np.array([[kernel]])
    numbers = LayerNumbers(layer, matrix, [np.sqrt(matrix)], parameters)
    rho, J, noise_of_layer = numbers.R[0][0, 0], numbers.J, numbers.noise(_DEGREE)
    before, after = noise_of_layer.before[0], noise_of_layer.after[0]
    degrees = np.arange(1, _DEGREE + 1)
    inverse = np.linalg.inv(np.eye(2)[None] - rho ** degrees[:, None, None] * J[None])
    influence = np.einsum("kab,bk->ak", inverse, after[:, 1:])
    parts = 2 * (J @ influence)[1] * before[1, 1:]
    noise = noise_of_layer.covariance[0][1, 1]
    return float(noise + parts.sum()) / kernel**2, float(noise + parts[1]) / kernel**2


@dataclass(frozen=True, repr=False)
class AspectRatioCurve(Shown):
    """``r*(gamma)`` for 0 <= gamma < 1, at a given output width.

    Args:
        ratio: the quantity.
        outputs: n_L.
        parameters: of the activation, by name.
        numbers: nu in double precision, at which solutions are searched; those of ``ratio`` decide.
    """

    ratio: Quantity
    outputs: Number
    parameters: tuple[tuple[str, Number], ...] = ()
    numbers: GrowthNumbers | None = None

    def __post_init__(self) -> None:
        if self.ratio.status is Status.UNKNOWN:
            raise NoClosedForm("the optimal gamma", self.ratio.reason, "ask for a layer that can be critical")
        if self.ratio.expr is None or not self.ratio.expr.has(gamma):
            raise NoClosedForm(
                "the optimal gamma", "its gamma is missing or a number", "pass a layer with a free gamma"
            )
        if number(self.outputs, "n_L") <= 0:
            raise DeclarationError(f"n_L = {self.outputs}", "a number of outputs is positive", "pass n_L >= 1")

    def _title(self) -> str:
        return f"optimal depth/width along gamma, n_L = {self.outputs}"

    def _facts(self) -> list[Fact]:
        """The formula, and the numbers of the activation."""
        assert self.ratio.expr is not None
        facts = [equation("r*", "r^*", self.ratio.expr.subs(n_L, number(self.outputs, "n_L")))]
        return facts + [Fact("", f"{name} = {value}") for name, value in self.parameters]

    @cached_property
    def _value(self) -> Callable[[float], float]:
        @cache
        def value(place: float) -> float:
            named = {gamma.name: place, n_L.name: self.outputs, **dict(self.parameters)}
            return float(self.ratio.evalf(15, **named))

        return value

    @cached_property
    def _near(self) -> Callable[[float], float]:
        """Nearly the same in milliseconds: the ratio is inverse to nu."""
        numbers = self.numbers
        if numbers is None:
            return self._value
        scale = self._value(0.0) * numbers.row(0.0).nu

        @cache
        def near(place: float) -> float:
            return scale / numbers.row(place).nu

        return near

    @cached_property
    def turns(self) -> tuple[float, ...]:
        """The gamma at which r* turns, in increasing order."""
        from scipy.optimize import minimize_scalar  # here, because it takes longer to import than the rest of symres

        values = [self._near(float(g)) for g in _GRID]
        turns = []
        for k in range(1, len(_GRID) - 1):
            for sign in (1.0, -1.0):
                if sign * values[k] < sign * values[k - 1] and sign * values[k] <= sign * values[k + 1]:
                    bracket = (_GRID[k - 1], _GRID[k + 1])
                    signed = partial(lambda s, g: s * self._near(float(g)), sign)
                    best = minimize_scalar(signed, bounds=bracket, method="bounded", options={"xatol": 1e-9})
                    turns.append(float(best.x))
        return tuple(sorted(turns))

    @cached_property
    def least(self) -> tuple[float, float]:
        """(gamma, r*) where r* is smallest; no gamma makes a smaller aspect ratio optimal."""
        return min(((g, self._value(g)) for g in (0.0, *self.turns)), key=lambda pair: pair[1])

    @property
    def inverse(self) -> Procedure:
        """``optimal_gamma(r, n_L)`` as a search on the branches of the curve, for ``export``.

        They end at the same gamma for all n_L, which stands in a factor of its own.
        """
        ratio = self.ratio.at(**dict(self.parameters))
        heights = [self.least[1] * height for height in _HEIGHTS]
        return Procedure(
            "optimal_gamma",
            "weight of the skip connection for which an aspect ratio is the optimal one",
            "theory.aspect_ratio_curve(n_L).inverse",
            (ratio,),
            (n_L,),
            (gamma,),
            source=ratio.source,
            constants={
                "turns": (0.0, *self.turns),
                "first": _FIRST,
                "last": _DEEPEST + 1,
                "nearest": f"2**-{_DEEPEST}",
            },
            exact={"optimal_gamma": lambda r, n_L: replace(self, outputs=n_L).solve(r)},
            samples=tuple({"r": f"{height:.3g}", "n_L": self.outputs} for height in heights),
        )

    def solve(self, r: Number) -> Branches:
        """All gamma with r*(gamma) = r.

        Raises:
            DeclarationError: r is no positive number, below the least r*, or so large that 1 - gamma is below 2**-14.
        """
        target = float(number(r, "r"))
        if target <= 0:
            raise DeclarationError(f"a gamma for r = {target:.6g}", "an aspect ratio is positive", "pass r > 0")
        place, least = self.least
        if target < least:
            raise DeclarationError(
                f"a gamma for the aspect ratio r = {target:.6g}",
                f"it is below the smallest optimal ratio, {least:.6g} at gamma = {place:.6g}",
                f"take gamma = {place:.6g}, or a deeper or narrower network",
            )
        last = next((e for k in range(_FIRST, _DEEPEST + 1) if self._near(e := 1 - 2.0**-k) >= target), None)
        if last is None:
            raise DeclarationError(f"a gamma for r = {target:.6g}", "it is too close to 1", "pass a smaller r")
        edges = sorted({0.0, *self.turns, last})
        solutions = []
        for low, high in pairwise(edges):
            if (self._at_edge(low) - target) * (self._at_edge(high) - target) <= 0:
                solutions.append(self._root(target, low, high))
        return Branches(sorted(set(solutions)))

    def _at_edge(self, place: float) -> float:
        """The ratio at the end of a branch: at a turn it decides which values the branch takes."""
        return self._value(place) if place in (0.0, *self.turns) else self._near(place)

    def _root(self, target: float, low: float, high: float) -> float:
        """The only solution on a branch: by steps from where the numbers have it, else by a search in the ratio.

        The steps end where they no longer change gamma: near 1 a ratio differs by more than its digits from one
        floating-point gamma to the next.
        """
        if (self._near(low) - target) * (self._near(high) - target) < 0:
            place = brent(lambda g: self._near(g) - target, low, high, xtol=1e-13, rtol=1e-13)
            step = _STEP * min(place - low, high - place)
            rise = self._near(place + step) - self._near(place - step)
            for _ in range(_STEPS if rise else 0):  # at an end of the branch it may be 0
                missing = self._value(place) - target
                following = min(max(place - missing * 2 * step / rise, low), high)
                if following == place or abs(missing) <= _CLOSE * target:
                    return place
                place = following
        missing_low, missing_high = (self._value(end) - target for end in (low, high))
        if missing_low * missing_high > 0:  # the end has the ratio, but for the error of the numbers
            return low if abs(missing_low) < abs(missing_high) else high
        return brent(lambda g: self._value(g) - target, low, high, xtol=1e-15, rtol=1e-14)
