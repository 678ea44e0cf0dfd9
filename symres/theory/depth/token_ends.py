"""Where deep stacks of one layer of tokens end: similarities, and the laws by which they, kernels and gradients go.

Of a similarity ``rho = 1 - x`` the kernel has a place of its own: a number K where it stays, or infinity. There

    x'/x - 1 = (D'/D - K'/K) K/K',    D = K - C

says where similarities go. It vanishes at the ends of a stack, and at x = 0 for equal tokens stay equal. Kernels that
grow by a number in each layer, ``K' = K + G + O(1/K)`` as behind a skip connection of weight 1 around normalised
branches, make everything a power of the depth l: with ``K = G l`` a factor ``1 + a/K`` is ``l**(a/G)`` in the product.
In all other stacks it is exponential.

All numbers come from the maps of the layer: limits of large kernels and of nearly equal tokens are their values there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import mpmath as mp
import sympy as sp

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm
from ...core.symbols import C, K, s, t
from ...numerics.brent import brent
from ...numerics.deferred_numpy import np
from ..observables.layer_theory import LayerTheory
from ..observables.token_maps import CompiledMaps
from ..quantities.build import derivative

Numbers: TypeAlias = dict[sp.Symbol, sp.Expr]

BITS = 640  # of balls and of what is computed from them, for large kernels and nearly equal tokens
_LARGE = 100  # the power of 2 that stands for an infinite kernel
_CLOSE = 130  # 1 - rho = 2**-130 stands for equal tokens
_BOUNDED = 60  # bits of a kernel that is not large
_SAME = 1e-13  # relative change of a kernel that stays
_HELD = 1e-9  # by which a kernel twice as large must shrink, relatively, where one stays
_NOTHING = 1e-12  # exponents and rates that are 0 but for rounding
_STEPS = 12  # of the secant method
_SMALL, _PLACES = 1e-5, 24  # the smallest 1 - rho where ends are looked for, and the places on either scale


@dataclass(frozen=True)
class StackRates(Shown):
    """How deep stacks of one layer of tokens go on, at the end where they are.

    Args:
        kind: "power law", in the depth l; or "exponential", in the number of layers.
        similarity: the end, of covariances over kernels.
        gradient: squared gradients go like ``l**gradient``, or ``exp(gradient*l)``.
        angle: so does the distance of similarities from their end, which is negative where that is stable.
        kernel: and so do kernels.
        collapse: so does 1 - rho for tokens that are nearly equal: positive where these come apart.

    Examples:
        What tokens share grows by the factor 3, squared 9, their differences by 2:

        >>> laws = sr.derive("2*z + Pool(z)", positions=sr.Tokens(4)).rates()
        >>> laws.kind, round(laws.kernel, 4), round(laws.angle, 4)  # log(9), log(4/9)
        ('exponential', 2.1972, -0.8109)
    """

    kind: str
    similarity: float
    gradient: float
    angle: float
    kernel: float
    collapse: float

    def _title(self) -> str:
        return f"{self.kind} of deep stacks, at similarity {self.similarity:.6g}"

    def _facts(self) -> list[Fact]:
        """Each exponent or rate."""
        names = "gradient", "angle", "kernel", "collapse"
        return [Fact("", f"{name} {getattr(self, name):.6g}") for name in names]


@dataclass(frozen=True)
class _Place:
    """A similarity 1 - x, with the kernel that a stack has there."""

    x: mp.mpf
    kernel: mp.mpf
    is_large: bool


class TokenStack:
    """A deep stack of one layer.

    Args:
        layer: its theory.
        values: numbers for all parameters.

    Methods work in the precision ``BITS`` of mpmath.

    Raises:
        DeclarationError: inputs have no positions, or any number of tokens.
        NoClosedForm: a map is not known, or not finite.
    """

    def __init__(self, layer: LayerTheory, values: Numbers) -> None:
        asked = f"ends of deep stacks of {layer.layer.name}"
        if not layer.has_positions or layer.walks.positions.size.free_symbols:
            found = "a number needs a number of tokens" if layer.has_positions else "inputs have no positions"
            raise DeclarationError(asked, found, "pass positions=sr.Tokens(16) to sr.derive")
        if not layer.token_maps.is_closed:
            raise NoClosedForm(
                asked, "a map of the layer is not known, or not finite", "ask for similarity(depth, ...)"
            )
        self._layer, self._values = layer, values
        one, two = layer.kernel_map.expr, layer.covariance_map.expr
        assert one is not None and two is not None
        self._kernels = CompiledMaps({"K": one, "gap": one - two}, is_quick=True)
        self._is_open = layer.token_maps.is_open

    @cached_property
    def _tangents(self) -> CompiledMaps:
        """Their matrix: they are linear in t and s."""
        names = {"t": "tangent_map", "s": "tangent_covariance_map"}
        rows = {a: sp.sympify(self._layer.quantity(name).expr) for a, name in names.items()}
        starts = {"t": {t: 1, s: 0}, "s": {t: 0, s: 1}}
        return CompiledMaps({a + b: rows[a].subs(start) for a in rows for b, start in starts.items()}, True)

    @cached_property
    def _slopes(self) -> CompiledMaps:
        maps = {"K": self._layer.kernel_map, "C": self._layer.covariance_map}
        return CompiledMaps({a + b.name: derivative(q, b).expr for a, q in maps.items() for b in (K, C)}, True)

    def _at(self, maps: CompiledMaps, x: mp.mpf, kernel: mp.mpf) -> dict[str, mp.mpf]:
        """The numbers of maps."""
        exact = _exact(kernel)
        numbers = {**self._values, K: exact, C: exact * (1 - _exact(x))}
        balls = maps(numbers, BITS)
        if not all(ball.is_finite() for ball in balls.values()):
            found = f"they have no numbers at K = {mp.nstr(kernel, 5)}, 1 - C/K = {mp.nstr(x, 5)}"
            raise NoClosedForm("the maps of the layer", found, "ask for similarity(depth, ...)")
        return {name: mp.mpf(ball.mid().str(190, radius=False)) for name, ball in balls.items()}

    def _place(self, x: mp.mpf) -> _Place:
        """Where kernels go at a similarity, by the secant method; infinity where they leave all numbers behind."""
        kernel = mp.mpf(1)
        after = self._image(x, kernel)
        for _ in range(_STEPS):
            if abs(after - kernel) <= _SAME * kernel:
                if self._image(x, 2 * after) < 2 * after * (1 - _HELD):
                    return _Place(x, after, False)
                break  # it grows so far out that it seems to stay
            image = self._image(x, after)
            slope = (image - after) / (after - kernel)
            kernel, after = after, image if slope >= 1 else after + (image - after) / (1 - slope)
            if not mp.mpf(2) ** -_BOUNDED < after < mp.mpf(2) ** _BOUNDED:
                break
        return _Place(x, mp.mpf(2) ** (-_LARGE if after < min(kernel, _SAME) else _LARGE), True)

    def _image(self, x: mp.mpf, kernel: mp.mpf) -> mp.mpf:
        """The kernel behind a layer."""
        return self._at(self._kernels, x, kernel)["K"]

    def _closing(self) -> tuple[_Place, mp.mpf, mp.mpf]:
        """Where kernels of equal tokens go, K' there, and by what the distance of nearly equal tokens is multiplied."""
        x = mp.mpf(0 if self._is_open else mp.mpf(2) ** -_CLOSE)
        place = self._place(x)
        numbers = self._at(self._kernels, x, place.kernel)
        if not self._is_open:
            return place, numbers["K"], numbers["gap"] / (x * place.kernel)
        slopes = self._at(self._slopes, x, place.kernel)
        return place, numbers["K"], slopes["CC"] - slopes["KC"]

    def drift(self, x: mp.mpf) -> mp.mpf:
        """``D'/D - K'/K`` at a similarity 1 - x, times K where that is large and grows by a number."""
        if x == 0:
            place, after, factor = self._closing()
        else:
            place = self._place(x)
            numbers = self._at(self._kernels, x, place.kernel)
            after, factor = numbers["K"], numbers["gap"] / (x * place.kernel)
        change = factor - after / place.kernel
        return change * place.kernel if self._is_power(place, after) else change

    @staticmethod
    def _is_power(place: _Place, after: mp.mpf) -> bool:
        return place.is_large and 0 < abs(after / place.kernel - 1) < mp.mpf(2) ** -_BOUNDED

    @cached_property
    def ends(self) -> list[tuple[mp.mpf, bool]]:
        """(1 - rho, whether stable) of all similarities that stay, the most alike first."""
        size = self._layer.walks.positions.size
        most = 1.0 if size is sp.oo else float(size / (size - 1)) if size > 1 else 0.0
        if most == 0:
            return [(mp.mpf(0), True)]
        small = np.geomspace(_SMALL, 0.05, _PLACES)[:-1]
        places = [mp.mpf(x) for x in (*small, *(0.05 + (most - 0.05) * np.arange(_PLACES) / _PLACES), most)]
        drifts = [self.drift(x) for x in (mp.mpf(0), *places)]
        ends = [(mp.mpf(0), _sign(drifts[0]) < 0 or (_sign(drifts[0]) == 0 and drifts[1] < 0))]
        for low, high, before, after in zip(places, places[1:], drifts[1:], drifts[2:], strict=False):
            if before * after < 0:
                root = brent(lambda x: float(self.drift(mp.mpf(x))), float(low), float(high), xtol=1e-15)
                ends.append((mp.mpf(root), before > 0))
        if _sign(drifts[-1]) == 0:  # uncorrelated tokens stay so
            ends.append((places[-1], drifts[-2] > 0))
        return ends

    def end_of(self, x: mp.mpf) -> mp.mpf:
        """The end to which a stack goes from a similarity 1 - x."""
        ends = [end for end, _ in self.ends]
        if any(abs(x - end) < 1e-12 for end in ends):
            return min(ends, key=lambda end: abs(x - end))
        is_rising = self.drift(x) > 0
        beyond = [end for end in ends if (end > x) == is_rising]
        if not beyond:
            raise NoClosedForm("the end of a stack", "similarities leave their range", "ask for similarity(depth, ...)")
        return min(beyond) if is_rising else max(beyond)

    def rates(self, x: mp.mpf) -> StackRates:
        """The laws at the end to which a stack goes from a similarity 1 - x."""
        end = self.end_of(x)
        alike, after, factor = self._closing()
        collapse = self._law(alike, after)(factor * alike.kernel / after)
        place = alike if end == 0 else self._place(end)
        numbers = self._at(self._kernels, place.x, place.kernel)
        law = self._law(place, numbers["K"])
        is_power = self._is_power(place, numbers["K"])
        return StackRates(
            kind="power law" if is_power else "exponential",
            similarity=float(1 - end),
            gradient=law(self._gradient(place)),
            angle=collapse if end == 0 else law(self._approach(place, numbers)),
            kernel=law(numbers["K"] / place.kernel) if place.is_large else 0.0,
            collapse=collapse,
        )

    def _law(self, place: _Place, after: mp.mpf) -> Callable[[mp.mpf], float]:
        """The exponent, or the rate, of the product of a factor over layers, for kernels K and K' of the stack."""
        if self._is_power(place, after):
            return lambda factor: _law_of((factor - 1) * place.kernel / (after - place.kernel))
        return lambda factor: _law_of(mp.log(abs(factor)))

    def _approach(self, place: _Place, numbers: dict[str, mp.mpf]) -> mp.mpf:
        """By what the distance from an end is multiplied: the larger eigenvalue of the slopes in K and C."""
        slopes = self._at(self._slopes, place.x, place.kernel)
        if not place.is_large:
            return _largest(slopes["KK"], slopes["KC"], slopes["CK"], slopes["CC"])
        after, covariance = numbers["K"], numbers["K"] - numbers["gap"]
        return place.kernel * (slopes["CC"] * after - covariance * slopes["KC"]) / after**2

    def _gradient(self, place: _Place) -> mp.mpf:
        """By what squared gradients are multiplied: the larger eigenvalue of the matrix of t and s."""
        rows = self._at(self._tangents, place.x, place.kernel)
        return _largest(rows["tt"], rows["ts"], rows["st"], rows["ss"])


def _law_of(exponent: mp.mpf) -> float:
    """An exponent or a rate; one that is 0 but for rounding is 0: a law of logarithms, or none."""
    return float(exponent) if abs(exponent) > _NOTHING else 0.0


def _exact(value: mp.mpf) -> sp.Rational:
    sign, mantissa, exponent, _ = value._mpf_
    return sp.Integer((-1) ** sign * int(mantissa)) * sp.Integer(2) ** exponent


def _sign(drift: mp.mpf) -> int:
    return 0 if abs(drift) < 1e-12 else int(mp.sign(drift))


def _largest(a: mp.mpf, b: mp.mpf, c: mp.mpf, d: mp.mpf) -> mp.mpf:
    """The largest eigenvalue of a matrix, in size; of a complex pair its size."""
    middle, root = (a + d) / 2, (a - d) ** 2 / 4 + b * c
    return middle + mp.sign(middle) * mp.sqrt(root) if root >= 0 else mp.sqrt(a * d - b * c)
