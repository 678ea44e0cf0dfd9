"""The fluctuations of a deep network at order 1/n: a recursion for the covariance of its statistics, with its error.

The state of a layer is ``D = n Cov`` of the stream's mean and kernel, and the influence ``G(z_i)``: n times the average
of the statistics' deviation, given the stream of one neuron i. A stream with a skip connection remembers, so G is a
function; without one it vanishes, and D is the recursion of PDLT for the four-point vertex.

    D' = J D J^T + J <G H^T> + <H G^T> J^T + <H H^T>          G'(z') = < J G(z) + H | z' >

with the response J and the noise H of the layer. G is kept in Hermite coefficients, which the average given z'
multiplies degree by degree, so a layer costs one expansion.

Of several inputs, G is kept given the stream at each pair of them, a view. That is enough for any number of inputs:
H_ab is a function of the neuron at a and b, so ``<G H_ab>`` needs no more than G given z_a and z_b; and z'_a and z'_b
are these and fresh neurons, which know nothing of the past, so G' given z'_a and z'_b needs no more than that either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from ...core.display import Fact, Shown
from ...core.errors import DeclarationError, NoClosedForm
from ...core.words import counted
from ...functions.floats.float_averages import Values
from ...numerics.deferred_numpy import Array, np
from ...results.annotated_numbers import Estimates
from .hermite_space import given, inner
from .layer_noise import CompiledLayer
from .layer_numbers import LayerNumbers, at_kernels, roots_of
from .layer_response import of_view, state_places, views_of

_DEGREES = {1: (64, 256, 1024, 4096), 2: (24, 48, 96, 160)}  # of Hermite polynomials of one and of two variables
_WANTED = {1: 1e-13, 2: 1e-13, 3: 1e-9}  # relative to the largest fluctuation; by the number of inputs, 3 or more
_ROUNDING = 4e-16  # relative, of each layer


@dataclass(frozen=True)
class Fluctuations:
    """The fluctuations of the stream after some layers.

    Args:
        kernel: at infinite width, shape (p, p) for p inputs.
        roots: its lower triangular root in each view: pair of inputs, or single input.
        D: n times the covariance of the state, p means and then the kernels of pairs a <= b, shape (q, q).
        half: the same from Hermite coefficients of half the degree.
        G: of each view Hermite coefficients of the influence of one neuron, shape (q, M + 1, ...) with an axis for
            each of its inputs.
    """

    kernel: Array
    roots: list[Array]
    D: Array
    half: Array
    G: list[Array]

    @property
    def inputs(self) -> int:
        """The number of inputs."""
        return len(self.kernel)

    @cached_property
    def pairs(self) -> list[tuple[int, ...]]:
        """The pairs of inputs, in the order of the state."""
        return state_places(self.inputs)[self.inputs :]

    @cached_property
    def P(self) -> Array:
        """``n Cov(K_ab, K_cd)`` of the conditional kernel, shape (p, p, p, p)."""
        return self._spread(self.D[self.inputs :, self.inputs :])

    @cached_property
    def V(self) -> Array:
        """The four-point vertex ``n Cov(z_ia z_ib, z_jc z_jd)`` of two neurons i and j, shape (p, p, p, p)."""
        p = self.inputs
        memory = np.zeros((len(self.pairs), len(self.D)))
        for view, root, G in zip(views_of(p), self.roots, self.G, strict=True):
            for place in state_places(len(view))[len(view) :]:
                a, b = (view[k] for k in place)
                memory[self.pairs.index((a, b))] = _of_product(G, root, *place)
        return self._spread(self.D[p:, p:] + memory[:, p:] + memory[:, p:].T)

    @cached_property
    def truncation(self) -> float:
        """How much D changes if half of the Hermite coefficients are left out."""
        return float(np.max(np.abs(self.D - self.half)))

    def covariance(self, f: Array, g: Array) -> float:
        """``n Cov(f(z_i), g(z_j))`` of two neurons, for one input.

        Args:
            f: Hermite coefficients of ``f(sqrt(K) x)``, shape (M + 1,).
            g: of the other function.
        """
        scale, G = self.roots[0][0, 0], self.G[0]
        slopes = [np.array([h[1] / scale, h[2] / (np.sqrt(2) * scale**2)]) for h in (f, g)]
        influence = [G[:, 1:] @ h[1:] for h in (f, g)]
        return float(slopes[0] @ self.D @ slopes[1] + influence[0] @ slopes[1] + influence[1] @ slopes[0])

    def _spread(self, matrix: Array) -> Array:
        p = self.inputs
        number = np.zeros((p, p), dtype=int)
        for i, (a, b) in enumerate(self.pairs):
            number[a, b] = number[b, a] = i
        return matrix[number[:, :, None, None], number]


def _of_product(G: Array, root: Array, a: int, b: int) -> Array:
    """``Cov(z_a z_b, G)`` for functions G of ``z = root x``, shape (q,)."""
    if G.ndim == 2:
        return np.asarray(root[0, 0] ** 2 * np.sqrt(2) * G[:, 2])
    cross = root[a, 0] * root[b, 1] + root[a, 1] * root[b, 0]
    squares = root[a, 0] * root[b, 0] * G[:, 2, 0] + root[a, 1] * root[b, 1] * G[:, 0, 2]
    return np.asarray(np.sqrt(2) * squares + cross * G[:, 1, 1])


def after(state: Fluctuations, layer: LayerNumbers) -> Fluctuations:
    """The fluctuations after one more layer."""
    degree = state.G[0].shape[-1] - 1
    J, noise, places = layer.J, layer.noise(degree), state_places(state.inputs)
    cross, half = np.zeros((2, *J.shape))
    influence = []
    for k, view in enumerate(views_of(state.inputs)):
        of_view_state = [places.index(place) for place in of_view(state_places(len(view)), view)]
        G = state.G[k]
        if G.any():
            cross[:, of_view_state] = inner(G, noise.before[k], degree)
            half[:, of_view_state] = inner(G, noise.before[k], degree // 2)
        influence.append(given(np.tensordot(J, G, 1), layer.R[k]) + noise.after[k])
    own_noise, half_noise = noise.covariance
    D, half_D = _next(state.D, J, cross, own_noise), _next(state.half, J, half, half_noise)
    return Fluctuations(layer.kernel, layer.roots, D, half_D, influence)


def _next(D: Array, J: Array, cross: Array, noise: Array) -> Array:
    """``J D J^T + J <G H^T> + <H G^T> J^T + <H H^T>``."""
    return J @ D @ J.T + J @ cross + (J @ cross).T + noise


def through(kernel: Array, layers: Sequence[LayerNumbers], degree: int) -> Iterator[Fluctuations]:
    """The fluctuations of independent inputs, whose kernel does not fluctuate, and after each layer."""
    p = len(kernel)
    D = np.zeros((len(state_places(p)),) * 2)
    G = [np.zeros((len(D), *(degree + 1,) * len(view))) for view in views_of(p)]
    return accumulate(layers, after, initial=Fluctuations(kernel, roots_of(kernel), D, D, G))


@dataclass(frozen=True, repr=False)
class DeepFluctuations(Shown):
    """The fluctuations of the stream before the first layer of a network, and after each.

    Args:
        states: depth + 1 of them.
        error: relative error of the averages that they are made of.
    """

    states: tuple[Fluctuations, ...]
    error: float

    def _title(self) -> str:
        last = self.states[-1]
        return f"fluctuations at order 1/n of {counted(last.inputs, 'input')}, {counted(len(self.states) - 1, 'layer')}"

    def _facts(self) -> list[Fact]:
        """V and P after the last layer: of several inputs the largest entries."""
        last, layers = self.states[-1], counted(len(self.states) - 1, "layer")
        of = "" if last.inputs == 1 else "largest entry of "
        sizes = [("V", last.V), ("P", last.P)]
        facts = [
            Fact(f"after {layers}", f"{of}{name} = {float(array.flat[np.abs(array).argmax()]):.10g}")
            for name, array in sizes
        ]
        return [*facts, Fact("error", f"{self.errors[-1]:.1g}")]

    @cached_property
    def errors(self) -> list[float]:
        """How far an entry of D, P or V of each state may be from the truth, by coefficients left out and rounding."""
        relative = [self.error + _ROUNDING * (depth + 10) for depth in range(len(self.states))]
        return [s.truncation + float(np.max(np.abs(s.D))) * r for s, r in zip(self.states, relative, strict=True)]

    def estimates(self, values: Sequence[float]) -> Estimates:
        """Numbers made of the states, each with its error."""
        return Estimates(values, self.errors)


def states_of(
    kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]], wanted: float | None = None
) -> tuple[Fluctuations, ...]:
    """The fluctuations before the first layer and after each, from as many Hermite coefficients as they need.

    Args:
        kernel: of the inputs, shape (p, p), which neither vanish nor are parallel.
        layers: each with the values of its parameters.
        wanted: accuracy relative to the largest fluctuation; that of results if None.

    Raises:
        DeclarationError: after some layer an input vanishes, or two are parallel.
        NoClosedForm: floating-point numbers overflow.
    """
    try:
        return _converged(kernel, layers, wanted or _WANTED[min(len(kernel), 3)])
    except np.linalg.LinAlgError:
        one = len(kernel) == 1
        found = "the kernel is 0" if one else "the kernel of an input is 0, or two inputs are parallel"
        raise DeclarationError(
            f"the fluctuations at K = {float(kernel[0, 0]) if one else kernel.tolist()}",
            f"after a layer {found}",
            "take a layer whose kernels stay positive, or fewer layers",
        ) from None


def _converged(
    kernel: Array, layers: Sequence[tuple[CompiledLayer, Values]], wanted: float
) -> tuple[Fluctuations, ...]:
    """The states from Hermite coefficients of rising degree, until half of them tell as much, or the last degree."""
    p = len(kernel)
    numbers = list(at_kernels(layers, kernel, roots_of(kernel)))

    def shortened(state: Fluctuations) -> Fluctuations:
        """With no more of the influence of pairs than V takes: its Hermite coefficients up to degree 2."""
        return state if p == 1 else replace(state, G=[G[:, :3, :3].copy() for G in state.G])

    for degree in _DEGREES[min(p, 2)]:
        states = tuple(map(shortened, through(kernel, numbers, degree)))
        largest = max(float(np.max(np.abs(s.D))) for s in states)
        if not np.isfinite(largest):
            raise NoClosedForm("the fluctuations", "they exceed double precision", "take fewer layers")
        if max(s.truncation for s in states) <= wanted * largest:
            break
    return states
