"""Kernels of infinitely wide convolutional networks between images.

A layer is the formulas of one pair of pixels, between which only draws mix positions (``theory/grids``). Here one pixel
is of the first image, the other of the second: covariances are arrays over pairs of images and of pixels, windows are
sums of shifted arrays. Without a pool only pixels at one place meet, and no others are computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.symbols import z
from ..layers.across import HERE, Pooled, Window
from ..layers.grids import Lattice, Torus
from ..layers.layer import Layer
from ..layers.layouts import MEAN
from ..layers.mixing import Pool
from ..results.arguments_of_quantities import Arguments
from ..theory.depth.fluctuating_network import Parameter, by_layer
from ..theory.depth.network import Network
from ..theory.grids.stretches import Compiled, DrawStep, MeanStep, PairFormula, Role, Stretches, stretches

Array = NDArray[np.float64]
_ENTRIES = 1 << 17  # pairs of pixels that pass all layers at a time
_BELOW, _EQUAL = 1 - 4e-16, 4e-16  # the largest correlation of pixels that are not equal; how equal those are
_STRIDES = "take equal strides"
_SMALLEST = 1e-290  # in the place of variances that are 0


def image_kernels(
    network: Network, X1: ArrayLike, X2: ArrayLike | None = None, **parameters: Parameter
) -> tuple[Array, Array]:
    """Kernel and tangent kernel of a convolutional network between images, in the NTK parametrisation.

    Args:
        network: of layers with ``positions=sr.Torus(H, W)``, whose windows close circles, or ``sr.Listed(H, W)``, with
            zeros beyond the edges. The first layer sees kernels of pixels ``x.x'/channels``.
        X1: images, of shape (N, H, W, channels); on a line of pixels (N, H, channels).
        X2: others, of shape (M, H, W, channels); None stands for X1, and makes the matrices exactly symmetric.
        parameters: numbers for all parameters, by name; a list has one for each layer.

    Returns:
        (C, Theta): arrays of shape (N, M) of a network that ends behind a pool, else (N, M, H, W), between pixels at
        one place, where strides leave as many. In double precision; about 1e-8 of the tangent kernel of nearly equal
        pixels may be lost where slopes jump.

    Raises:
        DeclarationError: images of other shapes, parameters without a value or out of range.
        UnsupportedLayer: the network has no grid of positions, attention or a batch.

    Examples:
        Images of one pixel and two channels, and a linear network that averages over both of its positions:

        >>> net = sr.network(["Conv(z)", "Dense(Pool(z))"], positions=sr.Torus(2))
        >>> X = np.array([[[1.0, 1.0], [1.0, -1.0]]])
        >>> C, Theta = symres.kernels.image_kernels(net, X, C_W=1, C_b=0)
        >>> C.round(6).tolist(), Theta.round(6).tolist()
        ([[0.5]], [[1.0]])
    """
    grid = next((layer.positions for layer in network.layers if isinstance(layer.positions, Lattice)), None)
    if grid is None:
        remedy = "pass positions=sr.Torus(8, 8), or Listed(8, 8), to sr.network"
        raise UnsupportedLayer("kernels of images", "inputs of the network have no grid of pixels", remedy)
    first = _checked(X1, grid, "X1")
    second = first if X2 is None else _checked(X2, grid, "X2")
    if first.shape[-1] != second.shape[-1]:
        found = f"they have {first.shape[-1]} and {second.shape[-1]} channels"
        raise DeclarationError("kernels of images", found, "pass images of one kind")
    numbers = [
        {s: float(x) for s, x in Arguments("images", theory.layer.parameters, (), False).all_of(named).items()}
        for theory, named in zip(network.layers, by_layer(network.layers, parameters), strict=True)
    ]
    images = _Images([theory.layer for theory in network.layers], numbers, grid)
    rows = []
    for n, image in enumerate(first):
        start = n if X2 is None else 0
        step = max(_ENTRIES // images.pairs_of_pixels, 1)
        cuts = [second[m : m + step] for m in range(start, len(second), step)]
        parts = [images.between(image[None], others) for others in cuts]
        rows.append([np.concatenate(column, axis=1)[0] for column in zip(*parts, strict=True)])
    shape = (len(first), len(second), *rows[0][0].shape[1:])
    results = np.empty((2, *shape))
    for n, row in enumerate(rows):
        for result, values in zip(results, row, strict=True):
            result[n, len(second) - len(values) :] = values
            if X2 is None:
                result[n:, n] = values
    return results[0], results[1]


def _checked(X: ArrayLike, grid: Lattice, name: str) -> Array:
    images = np.asarray(X, dtype=float)
    if images.ndim != len(grid.shape) + 2 or images.shape[1:-1] != tuple(grid.shape) or images.size == 0:
        found = f"{name} has shape {images.shape}"
        raise DeclarationError(f"images of {grid}", found, f"pass (N, {', '.join(map(str, grid.shape))}, channels)")
    if not np.isfinite(images).all():
        raise DeclarationError(f"images of {grid}", f"{name} is not finite", "pass numbers")
    return images


@dataclass
class _Covariances:
    """Of one source: the variances in both images, and what is between them.

    Args:
        own: of the first and of the second images, of shapes (1, *grid) and (M, *grid).
        both: of pairs, of shape (1, M, *grid, *grid), or (1, M, *grid) at one place.
    """

    own: tuple[Array, Array]
    both: Array


class _Images:
    """A network on images.

    Args:
        layers: the formulas of each layer.
        numbers: of the parameters of each.
        grid: of the pixels that enter.
    """

    def __init__(self, layers: list[Layer], numbers: list[dict[sp.Symbol, float]], grid: Lattice) -> None:
        self._layers = [stretches(layer, False) for layer in layers]
        self._numbers, self._grid = numbers, grid
        rules = {draw.across for layer in layers for draw in layer.program.draws} - {HERE}
        if refused := [rule for rule in rules if not isinstance(rule, Window | Pooled)]:
            found = f"the rule {refused[0]} is none of images"
            raise UnsupportedLayer("kernels of images", found, "take Conv, Dense and Pool")
        self._ends = 2 if any(layer.forward.has(Pool) for layer in layers) else 1  # pixels of a pair

    @property
    def pairs_of_pixels(self) -> int:
        """That are kept of two images."""
        return int(np.prod(self._grid.shape)) ** self._ends

    def between(self, one: Array, others: Array) -> tuple[Array, Array]:
        """Kernel and tangent kernel of an image and others behind all layers."""
        channels = one.shape[-1]
        axes = "xy"[: one.ndim - 2]
        ends = axes.upper() if self._ends == 2 else axes
        both = np.einsum(f"n{axes}c,m{ends}c->nm{axes}{ends if self._ends == 2 else ''}", one, others) / channels
        own = tuple((image * image).sum(-1) / channels for image in (one, others))
        law, tangent = _Covariances((own[0], own[1]), both), np.zeros_like(both)
        for formulas, numbers in zip(self._layers, self._numbers, strict=True):
            law, tangent = _Layer(formulas, numbers, law, tangent, self._grid, self._ends).behind()
        return tuple(_at_one_place(a, len(self._grid.shape), self._ends) for a in (law.both, tangent))  # type: ignore


class _Layer:
    """A layer on pairs of images."""

    def __init__(
        self,
        formulas: Stretches,
        numbers: Mapping[sp.Symbol, float],
        law: _Covariances,
        tangent: Array,
        grid: Lattice,
        ends: int,
    ) -> None:
        self._formulas, self._numbers, self._grid, self._ends = formulas, numbers, grid, ends
        self._laws, self._changes = {z: law}, {z: tangent}
        self._prepared: dict[sp.Symbol, tuple[Array, NDArray[np.bool_] | None]] = {}
        self._statistics: dict[sp.Symbol, tuple[Array, Array]] = {}

    def behind(self) -> tuple[_Covariances, Array]:
        """The next stream."""
        for step in self._formulas.law.steps:
            if isinstance(step, MeanStep):
                values = [self._alone(step.value, side) for side in (0, 1)]
                if step.mean.over == "position":
                    values = [np.full_like(v, v.mean(axis=self._pixels(1), keepdims=True)) for v in values]
                self._statistics[step.mean.name] = (values[0], values[1])
            else:
                self._draw(step)
        formula = self._formulas.next
        both, change = self._between(formula), self._between(self._formulas.next_change)
        return _Covariances((self._alone(formula.alone, 0), self._alone(formula.alone, 1)), both), change

    def _draw(self, step: DrawStep) -> None:
        draw, (gram,) = step.draw, step.grams
        C_W, C_b = (float(e.xreplace(dict(self._numbers))) for e in (draw.C_W, draw.C_b))
        both, change = self._between(gram), self._between(self._formulas.changes[draw.name][0])
        own = [self._alone(gram.alone, side) for side in (0, 1)]
        if isinstance(draw.across, Pooled):
            pixels = self._pixels(self._ends)
            both, change = (np.mean(a, axis=pixels, keepdims=True) for a in (both, change))
            own = [_lost(a) for a in own]
        if isinstance(draw.across, Window):
            both, change = (self._windowed(draw.across, a, self._ends) for a in (both, change))
            own = [self._windowed(draw.across, a, 1) for a in own]
        variances = [C_b + C_W * a for a in own]
        self._laws[draw.name] = _Covariances((variances[0], variances[1]), C_b + C_W * both)
        self._changes[draw.name] = C_W * change + self._laws[draw.name].both

    # ---- formulas on arrays ------------------------------------------------------------------------------------

    def _alone(self, compiled: Compiled, side: int) -> Array:
        """The values at every pixel of the images of one side."""

        def number(symbol: sp.Symbol) -> Any:
            role = compiled.roles.get(symbol)
            if role is None:
                return self._numbers[symbol]
            if role.other is None:
                return self._statistics[role.name][side]
            own = self._laws[role.name].own[side]
            return _lost(own) if _is_mean(role) else own

        shape = self._laws[z].own[side].shape
        values = compiled(number)  # behind a pool fewer pixels than the stream has
        return np.array(values if compiled.roles else np.broadcast_to(values, shape))

    def _between(self, formula: PairFormula) -> Array:
        """The values for pairs of pixels; where both are equal, the formula of one."""
        values = self._at(formula.pair, None)
        if any(role.other is not None and _is_mean(role) for role in formula.pair.roles.values()):
            return values
        one = self._are_one(formula)
        if one is not None and one.any():
            one = np.broadcast_to(one, values.shape)
            values[one] = self._at(formula.alone, one)
        return values

    def _at(self, compiled: Compiled, chosen: NDArray[np.bool_] | None) -> Array:
        """The values for pairs of pixels, or for chosen ones.

        Raises:
            UnsupportedLayer: terms with different strides are added.
        """
        values = {symbol: self._of_role(role) for symbol, role in compiled.roles.items()}
        try:
            shape = np.broadcast_shapes(*(a.shape for a in values.values())) if values else self._laws[z].both.shape
        except ValueError:
            raise UnsupportedLayer("a layer with a stride", "it adds neurons of several grids", _STRIDES) from None

        def number(symbol: sp.Symbol) -> Any:
            if symbol not in values:
                return self._numbers[symbol]
            return values[symbol] if chosen is None else np.broadcast_to(values[symbol], chosen.shape)[chosen]

        result = compiled(number)
        return np.asarray(result) if chosen is not None else np.array(np.broadcast_to(result, shape))

    def _are_one(self, formula: PairFormula) -> NDArray[np.bool_] | None:
        """Where all that stands in a formula has the same value at both pixels; None if it has nowhere."""
        result: NDArray[np.bool_] | None = None
        for name in sorted({role.name for role in formula.pair.roles.values()}, key=sp.default_sort_key):
            if name in self._statistics:
                one, other = self._sides(self._statistics[name])
                equal: NDArray[np.bool_] | None = one == other
            else:
                equal = self._clipped(name)[1]
            if equal is None:
                return None
            result = equal if result is None else result & equal
        return result

    def _clipped(self, name: sp.Symbol) -> tuple[Array, NDArray[np.bool_] | None]:
        """The covariances of a source, less than parallel, and where pixels are equal."""
        if name not in self._prepared:
            law = self._laws[name]
            if np.isnan(law.own[0]).all():  # behind a pool
                self._prepared[name] = law.both, None
                return self._prepared[name]
            one, other = (np.maximum(a, _SMALLEST) for a in self._sides(law.own))
            largest = np.sqrt(one * _BELOW) * np.sqrt(other * _BELOW)
            near = law.both >= largest
            clipped, equal = np.maximum(np.minimum(law.both, largest), -largest), None
            if near.any():
                equal = near & (np.abs(one - other) <= _EQUAL * one)
            self._prepared[name] = clipped, equal
        return self._prepared[name]

    def _of_role(self, role: Role) -> Array:
        """The values of a symbol for pairs of pixels."""
        if role.other is None:
            return self._sides(self._statistics[role.name])[role.one.input - 1]
        if _is_mean(role):
            values = self._changes[role.name] if role.one.is_tangent else self._laws[role.name].both
            return np.asarray(np.mean(values, axis=self._pixels(self._ends), keepdims=True))
        if role.one.is_tangent:
            return self._changes[role.name]
        if role.one.input != role.other.input:
            return self._clipped(role.name)[0]
        own = self._laws[role.name].own
        if np.isnan(own[0]).all():
            raise UnsupportedLayer("kernels of images", "neurons behind a pool are read", "put the pool last")
        return np.maximum(self._sides(own)[role.one.input - 1], _SMALLEST)

    def _sides(self, own: tuple[Array, Array]) -> tuple[Array, Array]:
        """What each image has of its own, with the axes of pairs."""
        first, second = own[0][:, None], own[1][None]
        pixels = first.ndim - 2
        if self._ends == 2:
            first = first.reshape(*first.shape, *[1] * pixels)
            second = second.reshape(1, second.shape[1], *[1] * pixels, *second.shape[2:])
        return first, second

    def _pixels(self, ends: int) -> tuple[int, ...]:
        """The axes of pixels of an array, counted from the last one."""
        return tuple(range(-ends * len(self._grid.shape), 0))

    def _windowed(self, window: Window, array: Array, ends: int) -> Array:
        """The averages over windows that move all pixels of a pair alike, where a stride keeps them."""
        weights, axes = window.weights(self._grid), len(self._grid.shape)
        sums = [weights.sum(axis=tuple(j for j in range(axes) if j != i)) for i in range(axes)]
        product = sums[0] if axes == 1 else np.multiply.outer(*sums)
        is_circular = isinstance(self._grid, Torus)
        if not np.allclose(product, weights, rtol=1e-14, atol=0):
            found = "the shares of its window are not products of those along each axis"
            raise UnsupportedLayer("kernels of images", found, "pass one list of shares")
        for axis, shares in enumerate(sums):
            places = [axis + array.ndim - (end + 1) * axes for end in range(ends)]
            count = array.shape[places[0]]
            if is_circular and count % window.stride:
                found = f"positions at a distance of {window.stride} do not close the circle"
                raise UnsupportedLayer(f"a stride on {self._grid}", found, "take a divisor of its length")
            array = _averaged(array, shares, places, is_circular)
            array = array[
                tuple(slice(None, None, window.stride) if n in places else slice(None) for n in range(array.ndim))
            ]
        return array


def _averaged(array: Array, shares: Array, places: list[int], is_circular: bool) -> Array:
    """The sum over a window along an axis of each pixel of a pair, which are moved alike."""
    count, total, is_even = array.shape[places[0]], np.zeros_like(array), np.ptp(shares) == 0
    for at, share in enumerate(shares):
        shift, part = at - (len(shares) - 1) // 2, array if is_even else share * array
        if is_circular:
            total += np.roll(part, [-shift] * len(places), places)
            continue
        to, of = (slice(max(-n, 0), max(count - n, 0)) for n in (shift, -shift))
        cuts = [tuple(cut if n in places else slice(None) for n in range(array.ndim)) for cut in (to, of)]
        total[cuts[0]] += part[cuts[1]]
    if is_even:
        total *= shares[0]
    return total


def _lost(own: Array) -> Array:
    """No variances behind a pool: they take all pairs of pixels of an image with itself."""
    return np.full((len(own), *[1] * (own.ndim - 1)), np.nan)


def _is_mean(role: Role) -> bool:
    """Whether a symbol is the covariance of averages over all pixels of two images.

    Raises:
        UnsupportedLayer: of one, or over a batch.
    """
    assert role.other is not None
    means = [MEAN in label[:2] for label in (role.one, role.other)]
    if any(means) and (not all(means) or MEAN in (role.one.input, role.other.input)):
        found = "the stream is averaged over pixels, and goes on"
        raise UnsupportedLayer("kernels of images", found, "put Dense(Pool(phi(z))) last")
    return all(means)


def _at_one_place(array: Array, axes: int, ends: int) -> Array:
    """The values at equal places; without places where a pool has left one."""
    if ends == 1:
        return array
    if array.shape[-1] == 1 and array.size == array.shape[0] * array.shape[1]:
        return array.reshape(array.shape[:2])
    for _ in range(axes):
        array = np.moveaxis(np.diagonal(array, axis1=2, axis2=2 + axes), -1, -1)
        axes -= 1
    return array
