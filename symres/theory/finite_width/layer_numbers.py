"""One layer in numbers at any number of inputs, put together from its views.

The response of a statistic, and its noise as a function of one neuron, are those in any view that contains its inputs.
Only the covariance of the noise of two averages may take three or four inputs, whose variables have a joint law.

Functions of one and of two variables have Hermite coefficients by quadrature. An average of a product of functions of
three or four variables is that of the functions of two of them times the average of the others' given these two: of
all ways to choose the two, the one where they are least correlated with the rest, for the coefficients of degree k
contribute ``r^k``, where r is the largest canonical correlation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

import sympy as sp

from ...core.errors import UnsupportedLayer
from ...functions.floats.float_averages import (
    FloatFunction,
    FloatProduct,
    Function,
    Values,
    average,
    coefficients,
    pair_coefficients,
)
from ...numerics.deferred_numpy import Array, np
from ..walk.linear_forms import components
from .hermite_space import given, inner, product_given
from .layer_noise import CompiledLayer, Group, Term, ViewNumbers
from .layer_response import Inputs, block, of_view, state_places, views_of

_Product = tuple[tuple[Function, ...], tuple[int, ...]]  # functions, and the variable of each

_WEAK = 0.7  # a correlation whose powers converge well before the highest degrees
_ONE_VARIABLE = 1e-13  # 1 - r^2 of variables that are one but for rounding
_ROUNDING = 1e-12  # of the coefficients of one form in different views


class JointLaw:
    """Gaussian variables of mean 0, functions of which are expanded up to a degree of Hermite polynomials."""

    def __init__(self, covariance: Array, values: Values, degree: int) -> None:
        self._covariance = covariance
        self._values = values
        self._degree = degree
        self._expansions: dict[_Product, tuple[Array, Array]] = {}
        self._given: dict[tuple[Group, tuple[int, ...]], Array] = {}
        self._means: dict[_Product, Array] = {}

    def between(self, some: Sequence[int], others: Sequence[int]) -> Array:
        """The covariances of some variables with others."""
        return self._covariance[block(some, others)]

    def whitened(self, some: Sequence[int], root: Array, others: Sequence[int], other_root: Array) -> Array:
        """The covariances of some variables with others, each divided by the root of their own covariance."""
        between = self.between(some, others)
        if not between.any():  # also of variables that vanish
            return between
        if root.size == other_root.size == 1:
            return between / (root * other_root)
        return np.asarray(np.linalg.solve(root, np.linalg.solve(other_root, between.T).T))

    def integrand_given(self, integrand: Sequence[Term], variables: tuple[int, ...], root: Array) -> Array:
        """The average of an integrand given one or two variables, without its own average.

        Args:
            integrand: the terms.
            variables: what is given.
            root: lower triangular root of their covariance.

        Returns:
            Hermite coefficients in the whitened variables, an axis of length M + 1 for each.
        """
        total = np.zeros((self._degree + 1,) * len(variables))
        for term in integrand:
            if any(self.between(g.variables, variables).any() for g in term.groups):  # or else it is its own average
                total += term.factor * product_given([self._group_given(g, variables, root) for g in term.groups])
        total.flat[0] = 0.0
        return total

    def covariance(self, one: Sequence[Term], other: Sequence[Term]) -> Array:
        """The covariance of two integrands, from all Hermite coefficients and from those of half the degree."""
        both = sum(self._mean(s, t) for s in one for t in other)
        return np.asarray(both - sum(self._mean(s) for s in one) * sum(self._mean(t) for t in other))

    def _group_given(self, group: Group, variables: tuple[int, ...], root: Array) -> Array:
        averaged = self._given.get((group, variables))
        if averaged is None:
            group_root, hermite = self._expansion(group.functions, group.variables)
            averaged = given(hermite, self.whitened(group.variables, group_root, variables, root))
            self._given[group, variables] = averaged
        return averaged

    def _expansion(self, functions: tuple[Function, ...], variables: tuple[int, ...]) -> tuple[Array, Array]:
        """The root of the variables' covariance, and the Hermite coefficients of the product of the functions."""
        expansion = self._expansions.get((functions, variables))
        if expansion is None:
            covariance = self.between(variables, variables)
            if len(variables) == 1:
                root = np.sqrt(covariance)
                hermite = coefficients(functions[0], float(covariance[0, 0]), self._degree, self._values)
            else:
                root = np.linalg.cholesky(covariance).astype(float)
                hermite = pair_coefficients((functions[0], functions[1]), root, self._degree, self._values)
            expansion = self._expansions[functions, variables] = root, hermite
        return expansion

    def _mean(self, *terms: Term) -> Array:
        """The average of a product of terms."""
        means = np.full(2, np.prod([term.factor for term in terms]))
        factors = [pair for t in terms for g in t.groups for pair in zip(g.functions, g.variables, strict=True)]
        merged = self._merged(factors)
        for component in components(sorted(merged), lambda j, k: bool(self._covariance[j, k])):
            variables = tuple(sorted(component))
            functions = tuple(merged[k] for k in variables)
            if (functions, variables) not in self._means:
                self._means[functions, variables] = self._mean_of(functions, variables)
            means = means * self._means[functions, variables]
        return means

    def _merged(self, factors: Sequence[tuple[FloatFunction, int]]) -> dict[int, Function]:
        """Functions by variable, those of multiples of one variable as one function."""
        parts: dict[int, list[tuple[FloatFunction, float]]] = {}
        for f, k in factors:
            for j in parts:
                variance, both = self._covariance[j, j], self._covariance[j, k]
                if variance * self._covariance[k, k] - both**2 <= _ONE_VARIABLE * both**2:
                    parts[j].append((f, 1.0 if j == k else float(both / variance)))
                    break
            else:
                parts[k] = [(f, 1.0)]
        return {k: fs[0][0] if len(fs) == 1 else FloatProduct(tuple(fs)) for k, fs in parts.items()}

    def _mean_of(self, functions: tuple[Function, ...], variables: tuple[int, ...]) -> Array:
        """``<f(w1) g(w2) ...>`` of up to four variables that depend on one another."""
        count = len(variables)
        if count > 4:
            raise UnsupportedLayer(
                "the noise of two averages at different inputs",
                f"it needs {count} correlated Gaussian variables at once",
                "ask for pairs of inputs, which give all components with at most two different inputs",
            )
        if count <= 2:
            covariances = self.between(variables, variables)[np.triu_indices(count)]
            return np.full(2, average(functions, list(covariances), self._values))
        split, R = self._split(functions, variables)
        one, other = (self._expansion(*part)[1] for part in split)
        seen = given(one, R)[None]
        return np.array([inner(seen, other[None], d).item() for d in (self._degree, self._degree // 2)])

    def _split(self, functions: tuple[Function, ...], variables: tuple[int, ...]) -> tuple[list[_Product], Array]:
        """Two of three or four functions and the rest, with the covariance R of the two sides' whitened variables.

        Of all ways the one of the least norm of R. Where all are small, one with a pair of functions that averages have
        an expansion of anyway.
        """
        ways = []
        for pair in combinations(range(len(variables)), 2):
            others = tuple(k for k in range(len(variables)) if k not in pair)
            split = [(tuple(functions[k] for k in part), tuple(variables[k] for k in part)) for part in (pair, others)]
            roots = [np.linalg.cholesky(self.between(numbers, numbers)).astype(float) for _, numbers in split]
            R = self.whitened(split[0][1], roots[0], split[1][1], roots[1])
            products = sum(isinstance(f, FloatProduct) for f in split[0][0])
            ways.append(((max(float(np.linalg.norm(R, 2)), _WEAK), products), split, R))
        _, split, R = min(ways, key=lambda way: way[0])
        return split, R


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
        T: total derivatives of the next state in the noise of each average, shape (q, A).
        T_of_views: those of the state of each view in the averages of the view.
        R: of each view the covariance of the whitened streams before and after.
    """

    def __init__(self, layer: CompiledLayer, kernel: Array, roots: Sequence[Array], values: Values) -> None:
        p = len(kernel)
        views, state = views_of(p), state_places(p)
        of_views = [layer.at(kernel[block(view, view)], values) for view in views]
        self.values = values
        self.averages = averages = _Averages(layer, views, of_views)
        self.kernel, self.J = np.zeros((p, p)), np.zeros((len(state), len(state)))
        self.T = np.zeros((len(state), len(averages.integrands)))
        for view, averages_here, numbers in zip(views, averages.of_views, of_views, strict=True):
            states = [state.index(place) for place in of_view(state_places(len(view)), view)]
            self.kernel[block(view, view)] = numbers.kernel
            self.J[block(states, states)] = numbers.J
            self.T[block(states, averages_here)] = numbers.T
        self.roots = roots_of(self.kernel)
        self.T_of_views = [numbers.T for numbers in of_views]
        self.roots_before = roots
        law = JointLaw(averages.covariance, values, 0)
        self.R = [law.whitened(one, roots[k], other, self.roots[k]) for k, (one, other) in enumerate(averages.streams)]

    def noise(self, degree: int) -> LayerNoise:
        """What the layer adds to the fluctuations, from Hermite polynomials up to a degree."""
        return LayerNoise(self, JointLaw(self.averages.covariance, self.values, degree))


class LayerNoise:
    """What a layer at given numbers adds to the fluctuations, from Hermite coefficients up to a degree M."""

    def __init__(self, layer: LayerNumbers, law: JointLaw) -> None:
        self._layer = layer
        self._averages = layer.averages
        self._law = law

    @cached_property
    def covariance(self) -> tuple[Array, Array]:
        """That of the next state's own noise, times n, shape (q, q); and the same from coefficients up to M/2."""
        T = self._layer.T
        noise, half = self._averages.noise(self._law)
        return T @ noise @ T.T, T @ half @ T.T

    @cached_property
    def before(self) -> list[Array]:
        """Of each view its own part of H given the stream before, shape (q of the view, M + 1, ...)."""
        functions = []
        for k, (stream, _) in enumerate(self._averages.streams):
            integrands = [self._averages.integrands[t] for t in self._averages.of_views[k]]
            root = self._layer.roots_before[k]
            here = [self._law.integrand_given(terms, stream, root) for terms in integrands]
            functions.append(np.tensordot(self._layer.T_of_views[k], here, 1))
        return functions

    @cached_property
    def after(self) -> list[Array]:
        """Of each view all of H given the view's stream after, shape (q, M + 1, ...)."""
        functions = []
        for (_, stream), root in zip(self._averages.streams, self._layer.roots, strict=True):
            there = [self._law.integrand_given(terms, stream, root) for terms in self._averages.integrands]
            functions.append(np.tensordot(self._layer.T, there, 1))
        return functions


def at_kernels(
    layers: Sequence[tuple[CompiledLayer, Values]], kernel: Array, roots: Sequence[Array]
) -> Iterator[LayerNumbers]:
    """Layers one after the other, from the kernel that enters the first."""
    for layer, values in layers:
        numbers = LayerNumbers(layer, kernel, roots, values)
        kernel, roots = numbers.kernel, numbers.roots
        yield numbers


class _Averages:
    """The averages of a layer at all inputs, each as it is in the first view, or pair of inputs, that has it."""

    def __init__(self, layer: CompiledLayer, views: Sequence[Inputs], of_inputs: Sequence[ViewNumbers]) -> None:
        p = 1 + max(view[-1] for view in views)
        self._noise_of_views = [numbers.noise for numbers in of_inputs]
        # the forms of each view, in sources at all inputs
        spread = [np.zeros((*numbers.forms.shape[:2], p)) for numbers in of_inputs]
        for forms_at_all, numbers, view in zip(spread, of_inputs, views, strict=True):
            forms_at_all[..., list(view)] = numbers.forms
        self._variables, forms = _distinct(spread)
        sources = np.zeros((forms.shape[1], forms.shape[2], forms.shape[2]))
        for view, numbers in zip(views, of_inputs, strict=True):
            sources[:, *block(view, view)] = numbers.sources
        self.covariance = np.einsum("isa,sab,jsb->ij", forms, sources, forms)
        self.streams = [
            (tuple(own[-2 * len(view) : -len(view)]), tuple(own[-len(view) :]))
            for own, view in zip(self._variables, views, strict=True)
        ]
        numbered: dict[tuple[sp.Symbol, Inputs], int] = {}
        self.of_views: list[list[int]] = []
        self.integrands: list[list[Term]] = []
        self._widths: list[float] = []
        for k, (view, numbers) in enumerate(zip(views, of_inputs, strict=True)):
            averages = layer.response.places
            places = of_view([place for _, place in averages], view)
            own = []
            for t, ((name, _), place) in enumerate(zip(averages, places, strict=True)):
                key = (name, tuple(sorted(place)))
                if key not in numbered:
                    numbered[key] = len(numbered)
                    self.integrands.append([self._renumbered(term, k) for term in numbers.integrands[t]])
                    self._widths.append(float(numbers.widths[t]))
                own.append(numbered[key])
            self.of_views.append(own)

    def noise(self, law: JointLaw) -> tuple[Array, Array]:
        """The covariance of the averages' own noise, times n; and the same from half of the Hermite coefficients."""
        count = len(self.integrands)
        noise, open_ = np.zeros((2, count, count)), np.triu(np.ones((count, count), dtype=bool))
        for averages, noise_of_view in zip(self.of_views, self._noise_of_views, strict=True):
            noise[:, *block(averages, averages)] = noise_of_view
            open_[block(averages, averages)] = False
        for s, t in np.argwhere(open_):  # no view has both
            if self._widths[s] == self._widths[t]:  # neurons of populations of other widths are others
                both = law.covariance(self.integrands[s], self.integrands[t]) / self._widths[s]
                noise[:, s, t] = noise[:, t, s] = both
        return noise[0], noise[1]

    def _renumbered(self, term: Term, k: int) -> Term:
        """A term of a view with the numbers that its variables have among those of all views."""
        numbers = self._variables[k]
        groups = []
        for group in term.groups:  # in the order of the numbers: the same functions are then expanded once
            order = sorted(range(len(group.variables)), key=lambda i: numbers[group.variables[i]])
            variables = tuple(numbers[group.variables[i]] for i in order)
            groups.append(Group(tuple(group.functions[i] for i in order), variables))
        return Term(term.factor, tuple(groups))


def _distinct(forms: Sequence[Array]) -> tuple[list[list[int]], Array]:
    """The number of each form among those that differ, for each view; and these."""
    if len(forms) == 1:
        return [list(range(len(forms[0])))], forms[0]
    kept: list[Array] = []
    numbers = []
    for forms_of_view in forms:
        row = []
        for form in forms_of_view:
            same = [k for k, other in enumerate(kept) if np.allclose(form, other, rtol=_ROUNDING, atol=0.0)]
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
    return [np.linalg.cholesky(kernel[block(view, view)]).astype(float) for view in views_of(len(kernel))]
