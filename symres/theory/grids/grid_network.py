"""Deep networks on grids of positions: kernels, gradients and waves over positions, layer by layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import cast

from ...core.errors import DeclarationError, UnsupportedLayer
from ...core.scalars import Number, number
from ...layers.grids import Lattice
from ...layers.layer import Layer
from ...numerics.deferred_numpy import Array, ArrayLike, np
from ...results.annotated_numbers import EstimatedNumber, Estimates
from ...results.arguments_of_quantities import Arguments
from .grid_law import GridLaw, State
from .stretches import stretches

_ROUNDED = 1e-12  # by which M may exceed the mean of a kernel


class GridNetwork:
    """A network of layers on a grid, in double precision.

    Args:
        layers: the forward equations.
        grid: of the positions that enter.
        kernel: an array of covariances, as the grid has them.
        apart: covariance of two inputs of a batch, at any positions, or an array of equal ones; None where there is no
            batch.
        values: of the parameters of each layer, by name.

    Raises:
        DeclarationError: what is no kernel of this grid; parameters without a value, or out of range.
        UnsupportedLayer: an average over a batch where positions are not alike, or whose mean image varies.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        grid: Lattice,
        kernel: ArrayLike,
        apart: ArrayLike | None,
        values: Sequence[Mapping[str, Number]],
    ) -> None:
        self._layers, self._grid = layers, grid
        batched = [layer for layer in layers if layer.program.has_batch]
        if not grid.is_homogeneous and (batched or apart is not None):
            found = "the variance over batch and pixels differs from channel to channel where M differs between pixels"
            raise UnsupportedLayer(f"a batch of inputs on {grid}", found, "pass positions=Torus(8, 8), and M=...")
        if batched and apart is None:
            found = "M, the covariance of two inputs of the batch, has no value"
            raise DeclarationError(f"the batch of {batched[0].name}", found, "pass it by name: M=0.1")
        covariances = grid.checked(kernel, "K")
        self._first = State(grid, covariances, None if apart is None else self._checked(apart, covariances))
        self._numbers = [
            {s: float(x) for s, x in Arguments(f"a layer on {grid}", layer.parameters, (), False).all_of(named).items()}
            for layer, named in zip(layers, values, strict=True)
        ]

    def _checked(self, apart: ArrayLike, covariances: Array) -> float:
        if np.ndim(apart):
            between = self._grid.checked(apart, "M")
            squares, scale = ((between - between.mean()) ** 2).mean(), covariances.flat[0] - between.mean()
            if squares > _ROUNDED**2 * scale**2:
                spread = f"relative variance {2 * squares / scale**2:.2g}"
                found = f"the variance over batch and pixels differs from channel to channel ({spread})"
                raise UnsupportedLayer(f"a batch with a mean image on {self._grid}", found, "pass one number M")
            apart = float(between.flat[0])
        value, largest = float(number(cast(Number, apart), "M")), float(covariances.mean())
        if not 0 <= value <= largest * (1 + _ROUNDED):
            found = f"inputs of a large batch have a covariance from 0 to the mean of K, {largest:.6g}"
            raise DeclarationError(f"kernels at M = {value:.6g}", found, "pass M in this range")
        return value

    @cached_property
    def _laws(self) -> list[GridLaw]:
        return self._made(0.0)

    @cached_property
    def _moved(self) -> list[GridLaw]:
        """The laws if rules that are not exact are off by their errors."""
        return self._laws if all(law.is_exact for law in self._laws) else self._made(1.0)

    def _made(self, off: float) -> list[GridLaw]:
        state, laws = self._first, list[GridLaw]()
        for layer, numbers in zip(self._layers, self._numbers, strict=True):
            laws.append(GridLaw(stretches(layer, self._grid.is_homogeneous), state, numbers, off))
            state = laws[-1].next
        return laws

    def _states(self, laws: Sequence[GridLaw]) -> list[State]:
        return [self._first, *(law.next for law in laws)]

    @property
    def kernels(self) -> Estimates[Array] | list[tuple[Array, float]]:
        """In front of every layer and behind the last, with errors; with M of a batch pairs (kernel, M)."""
        states = self._states(self._laws)
        pairs = [(state.kernel, state.apart) for state in states if state.apart is not None]
        return pairs or self._with_errors(lambda laws: [state.kernel for state in self._states(laws)])

    def _with_errors(self, of_laws: Callable[[list[GridLaw]], list[Array]]) -> Estimates[Array]:
        """Arrays from the laws, and how much they change if rules that are not exact are off by their errors.

        The mean over all entries stands for entries that two sets of samples leave alike by chance.
        """
        values = of_laws(self._laws)
        if self._moved is self._laws:
            return Estimates(values, [np.zeros(value.shape) for value in values])
        changes = [abs(off - value) for off, value in zip(of_laws(self._moved), values, strict=True)]
        return Estimates(values, [np.maximum(change, np.sqrt((change**2).mean())) for change in changes])

    def tangents(self, first: int, last: int, is_alike: bool) -> Estimates[Array]:
        """The covariances of changes of the stream behind each of some layers, with errors.

        Args:
            first: changes are of the stream behind so many layers.
            last: to the stream behind so many layers.
            is_alike: whether all positions are moved alike, instead of each by itself.
        """

        def of_laws(laws: list[GridLaw]) -> list[Array]:
            change = self._states(laws)[first].grid.identity
            changes = [change * 0 + 1 if is_alike else change]
            for law in laws[first:last]:
                changes.append(law.tangent(changes[-1]))
            return changes

        return self._with_errors(of_laws)

    def apjn(self, first: int, last: int, is_alike: bool) -> EstimatedNumber:
        """The squared derivatives of a neuron at one position, summed over all in front; its mean over positions."""
        changes, grid = self.tangents(first, last, is_alike), self._states(self._laws)[last].grid
        return EstimatedNumber(*(float(grid.alone(part[-1]).mean()) for part in (changes, changes.errors)))

    @property
    def perpendicular_waves(self) -> list[Array]:
        """Of each layer the gains of variances of changes that vary over positions like waves, of the grid's shape."""
        return [law.perpendicular_waves().reshape(self._grid.shape) for law in self._laws]

    @property
    def parallel_waves(self) -> list[Array]:
        """Of each layer the gains of small variations of the kernel K(0) over positions, of the grid's shape."""
        return [law.parallel_waves().reshape(self._grid.shape) for law in self._laws]
