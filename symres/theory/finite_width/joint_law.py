"""The joint Gaussian law of the variables of a layer at all inputs, and averages of functions of several of them.

Functions of one and of two variables have Hermite coefficients by quadrature. An average of a product of functions of
three or four variables is that of the functions of two of them times the average of the others' given these two: of
all ways to choose the two, the one where they are least correlated with the rest, for the coefficients of degree k
contribute ``r^k``, where r is the largest canonical correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ...core.errors import UnsupportedLayer
from ...functions.floats.float_averages import average, coefficients, pair_coefficients
from ...functions.floats.float_function import BoundFunction, FloatFunction, FloatProduct, Function, Values
from ...numerics.deferred_numpy import Array, np
from ..walk.linear_forms import components
from .hermite_space import given, inner, product_given
from .layer_noise import Group, Term
from .layer_response import block

_Product = tuple[tuple[Function, ...], tuple[int, ...]]  # functions, and the variable of each

_WEAK = 0.7  # a correlation whose powers converge well before the highest degrees
_ONE_VARIABLE = 1e-13  # 1 - r^2 of variables that are one but for rounding


class JointLaw:
    """Gaussian variables of mean 0, functions of which are known.

    Args:
        covariance: of all variables.
        values: of the parameters of functions.
        degree: highest Hermite polynomial.
    """

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
        found = np.zeros((self._degree + 1,) * len(variables))
        for term in integrand:
            if any(self.between(g.variables, variables).any() for g in term.groups):  # or else it is its own average
                found += term.factor * product_given([self._group_given(g, variables, root) for g in term.groups])
        found.flat[0] = 0.0
        return found

    def covariance(self, one: Sequence[Term], other: Sequence[Term]) -> Array:
        """The covariance of two integrands, from all Hermite coefficients and from those of half the degree."""
        both = sum(self._mean(s, t) for s in one for t in other)
        return np.asarray(both - sum(self._mean(s) for s in one) * sum(self._mean(t) for t in other))

    def _group_given(self, group: Group, variables: tuple[int, ...], root: Array) -> Array:
        known = self._given.get((group, variables))
        if known is None:
            own, hermite = self._expansion(group.functions, group.variables)
            known = given(hermite, self.whitened(group.variables, own, variables, root))
            self._given[group, variables] = known
        return known

    def _expansion(self, functions: tuple[Function, ...], variables: tuple[int, ...]) -> tuple[Array, Array]:
        """The root of the variables' covariance, and the Hermite coefficients of the product of the functions."""
        found = self._expansions.get((functions, variables))
        if found is None:
            own = self.between(variables, variables)
            if len(variables) == 1:
                found = np.sqrt(own), coefficients(functions[0], float(own[0, 0]), self._degree, self._values)
            else:
                root = np.linalg.cholesky(own).astype(float)
                found = root, pair_coefficients((functions[0], functions[1]), root, self._degree, self._values)
            self._expansions[functions, variables] = found
        return found

    def _mean(self, *terms: Term) -> Array:
        """The average of a product of terms."""
        found = np.full(2, np.prod([term.factor for term in terms]))
        factors = [pair for t in terms for g in t.groups for pair in zip(g.functions, g.variables, strict=True)]
        merged = self._merged(factors)
        for component in components(sorted(merged), lambda j, k: bool(self._covariance[j, k])):
            variables = tuple(sorted(component))
            functions = tuple(merged[k] for k in variables)
            if (functions, variables) not in self._means:
                self._means[functions, variables] = self._mean_of(functions, variables)
            found = found * self._means[functions, variables]
        return found

    def _merged(self, factors: Sequence[tuple[FloatFunction | BoundFunction, int]]) -> dict[int, Function]:
        """Functions by variable, those of multiples of one variable as one function."""
        parts: dict[int, list[tuple[FloatFunction | BoundFunction, float]]] = {}
        for f, k in factors:
            for j in parts:
                own, both = self._covariance[j, j], self._covariance[j, k]
                if own * self._covariance[k, k] - both**2 <= _ONE_VARIABLE * both**2:
                    parts[j].append((f, 1.0 if j == k else float(both / own)))
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
            own = self.between(variables, variables)[np.triu_indices(count)]
            return np.full(2, average(functions, list(own), self._values))
        split, R = self._split(functions, variables)
        one, other = (self._expansion(*part)[1] for part in split)
        seen = given(one, R)[None]
        return np.array([inner(seen, other[None], d).item() for d in (self._degree, self._degree // 2)])

    def _split(self, functions: tuple[Function, ...], variables: tuple[int, ...]) -> tuple[list[_Product], Array]:
        """Two of three or four functions and the rest, with the covariance R of the two sides' whitened variables.

        Of all ways the one of the least norm of R. Where all are small, one with a pair of functions that averages have
        an expansion of anyway.
        """
        found = []
        for pair in combinations(range(len(variables)), 2):
            rest = tuple(k for k in range(len(variables)) if k not in pair)
            split = [(tuple(functions[k] for k in part), tuple(variables[k] for k in part)) for part in (pair, rest)]
            roots = [np.linalg.cholesky(self.between(own, own)).astype(float) for _, own in split]
            R = self.whitened(split[0][1], roots[0], split[1][1], roots[1])
            products = sum(isinstance(f, FloatProduct) for f in split[0][0])
            found.append(((max(float(np.linalg.norm(R, 2)), _WEAK), products), split, R))
        _, split, R = min(found, key=lambda way: way[0])
        return split, R
