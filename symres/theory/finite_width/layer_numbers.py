"""One layer in numbers at any number of inputs, put together from its views.

The response of a statistic, and its noise as a function of one neuron, are those in any view that contains its inputs.
Only the covariance of the noise of two averages may take three or four inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from .float_quadrature import Array, Values
from .input_pairs import Inputs, of_view, state_places, views_of
from .joint_law import JointLaw
from .layer_noise import CompiledLayer, Group, Term, ViewNumbers

_ROUNDING = 1e-12  # of the coefficients of one form in different views


@dataclass(frozen=True)
class LayerNoise:
    """What a layer adds to the fluctuations, in Hermite coefficients up to a degree M.

    Args:
        covariance: n times the covariance of the next state's own noise, shape (q, q).
        half: the same from Hermite coefficients up to M/2.
        before: of each view its part of H given the stream before, Hermite coefficients in whitened neurons, shape
            (q of the view, M + 1, ...).
        after: of each view all of H given the view's stream after, shape (q, M + 1, ...).
    """

    covariance: Array
    half: Array
    before: list[Array]
    after: list[Array]


class LayerNumbers:
    """A layer at given numbers, at p inputs.

    Args:
        layer: compiled for one input, or for two if there are more.
        kernel: of the stream, shape (p, p).
        roots: its lower triangular roots in each view.
        values: of the parameters.

    Attributes:
        kernel: of the next stream, shape (p, p).
        roots: its lower triangular roots in each view.
        J: total derivatives of the next state in the state, shape (q, q); the state holds p means, then the kernels.
        R: of each view the covariance of the whitened streams before and after.
    """

    def __init__(self, layer: CompiledLayer, kernel: Array, roots: Sequence[Array], values: Values) -> None:
        p = len(kernel)
        views, state = views_of(p), state_places(p)
        found = [layer.at(kernel[np.ix_(view, view)], values) for view in views]
        self._values = values
        self._averages = averages = _Averages(layer, views, found)
        self.kernel, self.J = np.zeros((p, p)), np.zeros((len(state), len(state)))
        self._T = np.zeros((len(state), len(averages.integrands)))
        for view, own, numbers in zip(views, averages.of_views, found, strict=True):
            states = [state.index(place) for place in of_view(state_places(len(view)), view)]
            self.kernel[np.ix_(view, view)] = numbers.kernel
            self.J[np.ix_(states, states)] = numbers.J
            self._T[np.ix_(states, own)] = numbers.T
        self.roots = roots_of(self.kernel)
        self._T_of_views = [numbers.T for numbers in found]
        self._roots_before = roots
        law = JointLaw(averages.covariance, values, 0)
        self.R = [
            law.whitened(one, roots[k], other, self.roots[k]) for k, (one, other) in enumerate(averages.streams)
        ]

    def noise(self, degree: int) -> LayerNoise:
        """What the layer adds to the fluctuations, from Hermite polynomials up to a degree."""
        averages = self._averages
        law = JointLaw(averages.covariance, self._values, degree)
        before, after = [], []
        for k, (one, other) in enumerate(averages.streams):
            here = [law.integrand_given(averages.integrands[t], one, self._roots_before[k]) for t in averages.of_views[k]]
            there = [law.integrand_given(terms, other, self.roots[k]) for terms in averages.integrands]
            before.append(np.tensordot(self._T_of_views[k], here, 1))
            after.append(np.tensordot(self._T, there, 1))
        own, half = averages.noise(law)
        return LayerNoise(self._T @ own @ self._T.T, self._T @ half @ self._T.T, before, after)


def at_kernels(
    layers: Sequence[tuple[CompiledLayer, Values]], kernel: Array, roots: Sequence[Array]
) -> Iterator[LayerNumbers]:
    """Layers one after the other, from the kernel that enters the first."""
    for layer, values in layers:
        found = LayerNumbers(layer, kernel, roots, values)
        kernel, roots = found.kernel, found.roots
        yield found


class _Averages:
    """The averages of a layer at all inputs, each as it is in the first view that has it.

    Args:
        layer: as it was compiled.
        views: pairs of inputs.
        found: the layer in each of them.
    """

    def __init__(self, layer: CompiledLayer, views: Sequence[Inputs], found: Sequence[ViewNumbers]) -> None:
        p = 1 + max(view[-1] for view in views)
        self._known = [numbers.noise for numbers in found]
        self._variables, forms = _distinct(
            [_at_all_inputs(numbers, view, p) for numbers, view in zip(found, views, strict=True)]
        )
        sources = np.zeros((forms.shape[1], forms.shape[2], forms.shape[2]))
        for view, numbers in zip(views, found, strict=True):
            sources[np.ix_(range(len(sources)), view, view)] = numbers.sources
        self.covariance = np.einsum("isa,sab,jsb->ij", forms, sources, forms)
        self.streams = [
            (tuple(own[-2 * len(view) : -len(view)]), tuple(own[-len(view) :]))
            for own, view in zip(self._variables, views, strict=True)
        ]
        numbered: dict[tuple[sp.Symbol, Inputs], int] = {}
        self.of_views: list[list[int]] = []
        self.integrands: list[list[Term]] = []
        self._widths: list[float] = []
        for k, (view, numbers) in enumerate(zip(views, found, strict=True)):
            places = of_view([place for _, place in layer.averages], view)
            own = []
            for t, ((name, _), place) in enumerate(zip(layer.averages, places, strict=True)):
                key = (name, tuple(sorted(place)))
                if key not in numbered:
                    numbered[key] = len(numbered)
                    self.integrands.append([self._renumbered(term, k) for term in numbers.integrands[t]])
                    self._widths.append(float(numbers.widths[t]))
                own.append(numbered[key])
            self.of_views.append(own)

    def noise(self, law: JointLaw) -> tuple[Array, Array]:
        """n times the covariance of the averages' own noise, and the same from half of the Hermite coefficients."""
        count = len(self.integrands)
        noise = np.full((2, count, count), np.nan)
        for own, known in zip(self.of_views, self._known, strict=True):
            noise[np.ix_(range(2), own, own)] = known
        for s, t in np.argwhere(np.isnan(noise[0])):  # of averages that no view has both of
            if s < t:
                width = self._widths[s]
                alike = width == self._widths[t]  # populations of other widths are independent
                both = law.covariance(self.integrands[s], self.integrands[t]) / width if alike else 0.0
                noise[:, s, t] = noise[:, t, s] = both
        return noise[0], noise[1]

    def _renumbered(self, term: Term, k: int) -> Term:
        own = self._variables[k]
        return Term(term.factor, tuple(Group(g.functions, tuple(own[i] for i in g.variables)) for g in term.groups))


def _at_all_inputs(numbers: ViewNumbers, view: Inputs, p: int) -> Array:
    """The forms of a view as forms in the sources at all inputs."""
    forms = np.zeros((*numbers.forms.shape[:2], p))
    forms[..., list(view)] = numbers.forms
    return forms


def _distinct(forms: Sequence[Array]) -> tuple[list[list[int]], Array]:
    """The number of each form among those that differ, for each view; and these."""
    if len(forms) == 1:
        return [list(range(len(forms[0])))], forms[0]
    kept: list[Array] = []
    numbers = []
    for own in forms:
        row = []
        for form in own:
            same = [k for k, known in enumerate(kept) if np.allclose(form, known, rtol=_ROUNDING, atol=0.0)]
            row.append(same[0] if same else len(kept))
            if not same:
                kept.append(form)
        numbers.append(row)
    return numbers, np.array(kept)


def roots_of(kernel: Array) -> list[Array]:
    """The lower triangular roots of a kernel in each view.

    Raises:
        LinAlgError: an input vanishes, or is a multiple of another.
    """
    return [np.linalg.cholesky(kernel[np.ix_(view, view)]).astype(float) for view in views_of(len(kernel))]
