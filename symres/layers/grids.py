"""Positions in rows and columns, whose covariances are arrays of numbers: pixels of a torus, or of an image with edges.

Between two draws every pair of positions goes by itself, so that a layer maps arrays entry by entry; what draws do to
arrays are rules of ``across``, in the words of a grid: windows, averages, masks.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, NoReturn, Self, TypeAlias, cast

import sympy as sp

from ..core.errors import DeclarationError, UnsupportedLayer
from ..core.scalars import Number, number, whole
from ..numerics.deferred_numpy import Array, ArrayLike, NDArray, np
from .layouts import MEAN, Axis

Mask: TypeAlias = str | tuple[tuple[bool, ...], ...]

_CAUSAL = "causal"
_HEAD = 128  # neurons of a head for which the base of rotary embeddings says frequencies
_UNEQUAL = 1e-12  # relative difference of two covariances that should be one
_NEGATIVE = 1e-9  # of an eigenvalue, in units of the largest, that may be rounding


@dataclass(frozen=True)
class Pairs:
    """One pair of positions of each class, for arrays of covariances.

    Args:
        first: number of the first place, for each.
        second: of the second.
        pick: their entries in a flat array of covariances.
        spread: for every entry of the array the number of its pair.
        is_apart: whether the places are those of two inputs.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    pick: NDArray[np.intp]
    spread: NDArray[np.intp]
    is_apart: bool = False

    def only(self, chosen: NDArray[np.bool_]) -> Pairs:
        """Some of them."""
        return replace(self, first=self.first[chosen], second=self.second[chosen], pick=self.pick[chosen])


@dataclass(frozen=True, init=False, repr=False)
class Lattice(Axis):
    """Positions with neighbours, so many along each axis.

    Args:
        shape: the number of positions along each axis.

    Attributes:
        holds_batch: whether arrays have the positions of all inputs of a batch.

    Raises:
        DeclarationError: there is none, or one is no whole number above 0.
    """

    shape: tuple[int, ...]

    pairs = ((1, 1), (1, 2))
    holds_batch: ClassVar[bool] = False

    def __init__(self, *shape: Number) -> None:
        if not shape:
            asked = f"positions {type(self).__name__}()"
            raise DeclarationError(asked, "it has no axis", "pass their number along each axis: Torus(8, 8)")
        object.__setattr__(self, "shape", tuple(whole(count, "a number of positions", 1) for count in shape))

    @property
    def size(self) -> sp.Expr:
        """The number of positions."""
        return sp.Integer(math.prod(self.shape))

    def shares(self, a: int, b: int) -> list[tuple[tuple[int, int], sp.Expr]]:
        """A position with itself, or with one of the others, of which the covariance is meant.

        Raises:
            UnsupportedLayer: one is the average over all.
        """
        if MEAN in (a, b):
            found = "it depends on the covariances of all pairs of positions"
            raise UnsupportedLayer(f"a formula for an average over {self}", found, "ask for kernels(depth, K)")
        return [((1, 1) if a == b else (1, 2), sp.S.One)]

    def like(self, a: int) -> int:
        """Any."""
        return 1

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self.shape))})"

    # ---- arrays ------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def is_homogeneous(self) -> bool:
        """Whether all positions are alike."""

    @property
    @abstractmethod
    def array_shape(self) -> tuple[int, ...]:
        """The shape of an array of covariances."""

    @cached_property
    @abstractmethod
    def table(self) -> Pairs:
        """One pair of each class."""

    @property
    @abstractmethod
    def diagonal(self) -> Pairs:
        """Each place that may differ with itself."""

    @abstractmethod
    def alone(self, covariances: Array) -> Array:
        """The variances, one for each place that may differ."""

    @abstractmethod
    def with_mean(self, covariances: Array) -> Array:
        """The covariances of each place with the average over all."""

    def pooled(self, gram: Array) -> Array:
        """The average over all pairs of positions, for each."""
        return np.full_like(gram, self.with_mean(gram).mean())

    @abstractmethod
    def everywhere(self, values: Array) -> Array:
        """The average over all positions, at each place."""

    @abstractmethod
    def window(self, gram: Array, weights: Array, stride: int) -> Array:
        """The averages of Gram numbers over windows around both positions of every pair that is kept.

        Args:
            gram: of all pairs.
            weights: shares of the positions of a window, as many axes as positions have.
            stride: the distance of positions that are kept.
        """

    @property
    @abstractmethod
    def identity(self) -> Array:
        """Covariances of what is independent at all positions, with variance 1."""

    @abstractmethod
    def strided(self, stride: int) -> Self:
        """The grid of each ``stride``-th position along every axis."""

    @abstractmethod
    def _differences(self, covariances: Array) -> tuple[Array, Array]:
        """How much what should be equal differs, and the eigenvalues of the covariances."""

    def checked(self, values: ArrayLike, name: str) -> Array:
        """Covariances as an array.

        Raises:
            DeclarationError: another shape; numbers that are not finite; what is no covariance of these positions.
        """
        try:
            covariances = np.array(values, dtype=float)
        except (TypeError, ValueError):
            covariances = np.array(np.nan)
        shape = " x ".join(map(str, self.array_shape))
        asked, remedy = f"{name} of {self}", f"pass an array of shape {shape}"
        if covariances.shape != self.array_shape:
            shown = " x ".join(map(str, covariances.shape)) or "a number"
            raise DeclarationError(asked, f"it is {shown}, and no array of shape {shape}", remedy)
        if not np.isfinite(covariances).all():
            raise DeclarationError(asked, "it has entries that are not finite", remedy)
        largest = np.abs(covariances).max()
        asymmetry, eigenvalues = self._differences(covariances)
        if np.abs(asymmetry).max() > _UNEQUAL * largest:
            raise DeclarationError(asked, "it is not symmetric", remedy)
        if eigenvalues.min() < -_NEGATIVE * np.abs(eigenvalues).max():
            raise DeclarationError(asked, "no neurons have these covariances: an eigenvalue is negative", remedy)
        return covariances - asymmetry / 2


class Torus(Lattice):
    """Positions on a circle, or on a torus of several axes: what circular convolutions see of an image.

    All positions are alike; the kernel is an array over displacements, of the shape of the torus.

    Args:
        shape: the number of positions along each axis.

    Examples:
        A circular convolution of three pixels is a dense layer at every displacement; a pool of all is their average:

        >>> layer = sr.layer("Pool(Conv(z, 1, 0))")
        >>> K = [1, 0.25, 0.25]  # at displacements 0, 1 and 2
        >>> [kernel.tolist() for kernel in layer.derive(positions=sr.Torus(3)).kernels(1, K)]
        [[1.0, 0.25, 0.25], [0.5, 0.5, 0.5]]
    """

    @property
    def is_homogeneous(self) -> bool:
        """Yes."""
        return True

    @property
    def array_shape(self) -> tuple[int, ...]:
        """That of the torus: a covariance for each displacement."""
        return self.shape

    @cached_property
    def table(self) -> Pairs:
        """A displacement and its reverse have one covariance."""
        numbers = np.arange(float(math.prod(self.shape))).reshape(self.shape)
        kept, spread = np.unique(np.minimum(numbers, self._reversed(numbers)), return_inverse=True)
        pick = kept.astype(np.intp)
        places = np.zeros_like(pick)
        return Pairs(places, places, pick, spread.reshape(self.shape))

    @property
    def diagonal(self) -> Pairs:
        """The displacement 0."""
        zero = np.zeros(1, dtype=np.intp)
        return Pairs(zero, zero, zero, zero)

    def alone(self, covariances: Array) -> Array:
        """The only variance."""
        return covariances.ravel()[:1]

    def with_mean(self, covariances: Array) -> Array:
        """The average over all displacements."""
        return np.full(1, covariances.mean())

    def everywhere(self, values: Array) -> Array:
        """What they are."""
        return values

    def window(self, gram: Array, weights: Array, stride: int) -> Array:
        """The Gram numbers of displacements that are kept: windows move both positions alike."""
        return gram[tuple(slice(None, None, stride) for _ in self.shape)]

    def gains(self, weights: Array) -> Array:
        """By how much a window keeps variances that vary over positions like ``exp(i k x)``, for all k; flat.

        Real where the window is symmetric.
        """
        shares = np.zeros(self.shape)
        for place in np.ndindex(weights.shape):
            offset = (
                (at - (size - 1) // 2) % count for at, size, count in zip(place, weights.shape, self.shape, strict=True)
            )
            shares[tuple(offset)] += weights[place]
        gains = np.fft.fftn(shares).conj().ravel()
        return np.asarray(gains.real if np.abs(gains.imag).max() < _UNEQUAL else gains)

    @property
    def identity(self) -> Array:
        """1 at displacement 0."""
        result = np.zeros(self.shape)
        result.flat[0] = 1.0
        return result

    def strided(self, stride: int) -> Torus:
        """A smaller torus.

        Raises:
            UnsupportedLayer: the number of positions is no multiple of the stride.
        """
        if any(count % stride for count in self.shape):
            found = f"positions at a distance of {stride} do not close the circle"
            raise UnsupportedLayer(f"a stride of {stride} on {self}", found, "take a multiple of the stride, or Listed")
        return Torus(*(count // stride for count in self.shape))

    def _differences(self, covariances: Array) -> tuple[Array, Array]:
        return covariances - self._reversed(covariances), np.fft.fftn(covariances).real

    def _reversed(self, values: Array) -> Array:
        """An array over displacements at the reverse ones."""
        return np.roll(np.flip(values), 1, axis=tuple(range(values.ndim)))


@dataclass(frozen=True, init=False, repr=False)
class Listed(Lattice):
    """Positions none of which are alike, in rows with edges: zero padding, masks.

    The kernel is a matrix over all positions; those of several axes are counted row by row, the last axis first.

    Args:
        shape: the number of positions along each axis.
        mask: None; "causal": attention of each position to those up to itself; or a square array of bool, True where a
            query (row) sees a key (column).
        rope: None; the base of rotary embeddings of queries and keys, for the 64 frequencies ``base**(-k/64)`` of heads
            of 128 neurons; or their frequencies, one for each pair of neurons, 0 where it is not turned.

    Raises:
        DeclarationError: another mask, one in which a position sees none, or frequencies that are not numbers; or
            either on several axes.

    Examples:
        Zero padding takes from the ends of three pixels a third of their window:

        >>> layer = sr.layer("Conv(z, 1, 0)")
        >>> K = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> kernel = layer.derive(positions=sr.Listed(3)).kernels(1, K)[-1]
        >>> [round(float(variance), 4) for variance in kernel.diagonal()]
        [0.6667, 1.0, 0.6667]
    """

    mask: Mask | None = None
    rope: float | tuple[float, ...] | None = None

    _beyond: ClassVar[Literal["constant", "wrap"]] = "constant"  # the edges, in the words of numpy.pad

    def __init__(
        self, *shape: Number, mask: str | ArrayLike | None = None, rope: Number | ArrayLike | None = None
    ) -> None:
        super().__init__(*shape)
        if (rope is not None or isinstance(mask, str)) and len(self.shape) > 1:
            self._refuse("an order of positions", "positions of several axes have no order")
        object.__setattr__(self, "mask", None if mask is None else self._rows(mask))
        object.__setattr__(self, "rope", None if rope is None else self._turns(rope))

    def _rows(self, mask: str | ArrayLike) -> Mask:
        """A mask by its name, or what each row of it shows."""
        if isinstance(mask, str):
            return mask if mask == _CAUSAL else self._refuse(f"the mask {mask}", "it is unknown")
        if np.shape(mask) != self.array_shape or not (seen := np.asarray(mask) == 1).any(axis=1).all():
            self._refuse("a mask", "it has another shape, or a position that sees none")
        if not (seen | (np.asarray(mask) == 0)).all():
            self._refuse("a mask", "it has other entries than True where a query sees a key, and False")
        is_causal = np.array_equal(seen, np.tril(np.ones_like(seen)))
        return _CAUSAL if is_causal else tuple(map(tuple, seen.tolist()))

    def _turns(self, rope: Number | ArrayLike) -> float | tuple[float, ...]:
        """The base of rotary embeddings, or their frequencies."""
        if np.ndim(cast(ArrayLike, rope)) == 0:
            base = float(number(cast(Number, rope), "the base of rotary embeddings"))
            return base if base > 0 else self._refuse(f"rotary embeddings of base {base:g}", "it is not positive")
        frequencies = np.asarray(cast(ArrayLike, rope), dtype=float).ravel()
        if not len(frequencies) or not np.isfinite(frequencies).all():
            self._refuse("rotary embeddings", "frequencies are not finite numbers")
        return tuple(frequencies.tolist())

    def _refuse(self, what: str, why: str) -> NoReturn:
        remedy = 'pass one axis, mask=None, "causal" or an array of bool, rope=None, a base or frequencies'
        raise DeclarationError(f"{what} on {Lattice.__repr__(self)}", why, remedy)

    def __repr__(self) -> str:
        rope = self.rope if self.rope is None or isinstance(self.rope, tuple) else f"{self.rope:g}"
        options = {"mask": self.mask if self.mask != _CAUSAL else f'"{_CAUSAL}"', "rope": rope}
        words = (f", {k}={'array' if isinstance(v, tuple) else v}" for k, v in options.items() if v is not None)
        return f"{super().__repr__()[:-1]}{''.join(words)})"

    @property
    def frequencies(self) -> tuple[float, ...]:
        """Those of rotary embeddings, one for each pair of neurons of a head; empty without."""
        if self.rope is None or isinstance(self.rope, tuple):
            return self.rope or ()
        return tuple(self.rope ** (-2 * k / _HEAD) for k in range(_HEAD // 2))

    @property
    def is_homogeneous(self) -> bool:
        """No."""
        return False

    @property
    def _count(self) -> int:
        return math.prod(self.shape)

    @property
    def array_shape(self) -> tuple[int, ...]:
        """A matrix."""
        return self._count, self._count

    @cached_property
    def table(self) -> Pairs:
        """Each pair once."""
        first, second = np.triu_indices(self._count)
        spread = np.zeros(self.array_shape, dtype=np.intp)
        spread[first, second] = spread[second, first] = np.arange(len(first))
        return Pairs(first, second, first * self._count + second, spread)

    @property
    def diagonal(self) -> Pairs:
        """The diagonal."""
        places = np.arange(self._count)
        return Pairs(places, places, places * (self._count + 1), places)

    @property
    def visible(self) -> Array:
        """1 where a query (row) sees a key (column), else 0."""
        every = np.ones(self.array_shape)
        if isinstance(self.mask, tuple):
            return every * np.array(self.mask)
        return every if self.mask is None else np.tril(every)

    @property
    def turned(self) -> Array:
        """By what rotary embeddings multiply products of queries (rows) and keys that have the same weights."""
        places = np.arange(self._count)
        turns = [np.cos(f * (places[:, np.newaxis] - places)) for f in self.frequencies]
        return np.asarray(np.mean(turns, axis=0) if turns else np.ones(self.array_shape))

    def alone(self, covariances: Array) -> Array:
        """The diagonal."""
        return covariances.diagonal()

    def with_mean(self, covariances: Array) -> Array:
        """The averages of the rows."""
        return np.asarray(covariances.mean(axis=0))

    def everywhere(self, values: Array) -> Array:
        """Their average."""
        return np.full_like(values, values.mean())

    def window(self, gram: Array, weights: Array, stride: int) -> Array:
        """Averages over shifted pairs."""
        pads = [((size - 1) // 2, size // 2) for size in weights.shape] * 2
        padded = np.pad(gram.reshape(self.shape * 2), pads, self._beyond)
        kept = self.strided(stride)
        total = np.zeros(kept.shape * 2)
        for place in map(tuple, np.argwhere(weights)):
            cut = [slice(at, at + count, stride) for at, count in zip(place, self.shape, strict=True)] * 2
            total += weights[place] * padded[tuple(cut)]
        return total.reshape(kept.array_shape)

    @property
    def identity(self) -> Array:
        """The identity matrix."""
        return np.eye(self._count)

    def strided(self, stride: int) -> Self:
        """Each ``stride``-th position from the first on."""
        mask: Mask | ArrayLike | None = self.mask
        kept = (-(-count // stride) for count in self.shape)
        if isinstance(mask, tuple):
            places = np.arange(self._count).reshape(self.shape)[(slice(None, None, stride),) * len(self.shape)].ravel()
            mask = np.array(mask)[np.ix_(places, places)]
        return type(self)(*kept, mask=mask, rope=self.rope)

    def _differences(self, covariances: Array) -> tuple[Array, Array]:
        return covariances - covariances.T, np.asarray(np.linalg.eigvalsh(covariances))


class Wrapped(Listed):
    """Positions none of which are alike, on a circle or a torus: an image as it is before circular windows."""

    _beyond = "wrap"


class Modes(Torus):
    """Changes on a torus that are independent at different positions, with variances that vary like ``exp(i k x)``.

    Arrays hold a number for each k, flat, in the order of Fourier transforms.
    """

    @property
    def diagonal(self) -> Pairs:
        """Every wave."""
        waves = np.arange(math.prod(self.shape))
        return Pairs(np.zeros_like(waves), np.zeros_like(waves), waves, waves)

    def window(self, gram: Array, weights: Array, stride: int) -> Array:
        """Each with its gain.

        Raises:
            UnsupportedLayer: positions are left out, whose waves other ones take.
        """
        if stride != 1:
            found = "waves that differ have one image on fewer positions"
            raise UnsupportedLayer("waves over positions behind a stride", found, "pass stride=1")
        return gram * self.gains(weights)

    def with_mean(self, covariances: Array) -> Array:
        """None.

        Raises:
            UnsupportedLayer: always.
        """
        found = "the average over all positions moves them together"
        raise UnsupportedLayer("waves over positions behind a pool", found, "ask for apjn")
