"""One layer in numbers: the response of its statistics, their noise, and the noise as a function of one neuron.

``H = sum_t T_t (F_t - <F_t>)`` is what neuron i itself adds to n times the next state. Of it are needed its average
given the stream of neuron i before the layer, its average given the stream after it, and its covariance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from ...activations.piecewise import PiecewiseFunction, product
from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...gaussian.calculus.integrand import distributed, pieces_of
from ..walk.linear_forms import Averager, Form
from .float_averages import CompiledExpressions, FunctionLibrary
from .float_quadrature import Array, FloatFunction, Values, coefficients, pair_coefficients
from .hermite_space import given, product_given
from .layer_response import LayerResponse, total_slopes

_ONE = PiecewiseFunction((), (sp.Integer(1),))


@dataclass(frozen=True)
class LayerNumbers:
    """A layer at given numbers.

    Args:
        kernel: of the next stream, shape (p, p).
        J: total derivatives of the next state in the state, shape (q, q); the state holds p means, then the kernels.
        noise: n times the covariance of the next state's own noise, shape (q, q).
        before: H given the stream before, Hermite coefficients in whitened neurons, shape (q, M + 1, ...).
        after: H given the stream after.
        R: covariance of the whitened streams before and after, shape (p, p).
        root: lower triangular root of the next kernel.
    """

    kernel: Array
    J: Array
    noise: Array
    before: Array
    after: Array
    R: Array
    root: Array


@dataclass(frozen=True)
class _Group:
    """Functions of variables that depend on one another: one or two."""

    functions: tuple[FloatFunction, ...]
    forms: tuple[Form, ...]


class CompiledLayer:
    """A layer for numbers: its expressions compiled once, for any values of its parameters.

    Args:
        response: the layer.
    """

    def __init__(self, response: LayerResponse) -> None:
        self.response = response
        self._order = list(response.averages)
        self._functions = FunctionLibrary()

    @cached_property
    def _values(self) -> list[CompiledExpressions]:
        return [CompiledExpressions([value], self._functions) for value in self.response.values.values()]

    @cached_property
    def _slopes(self) -> CompiledExpressions:
        """Partial slopes of the averages and of the next state, and covariances of the noise."""
        return CompiledExpressions([slope for _, _, slope in self._entries], self._functions)

    @cached_property
    def _entries(self) -> list[tuple[int, sp.Symbol, sp.Expr]]:
        rows = [*(self.response.slopes[name] for name in self._order), *self.response.slopes_after]
        return [(k, s, slope) for k, row in enumerate(rows) for s, slope in row.items()]

    @cached_property
    def _noise(self) -> CompiledExpressions:
        pairs = [(a, b) for k, a in enumerate(self._order) for b in self._order[k:]]
        return CompiledExpressions([self.response.covariance(a, b) for a, b in pairs], self._functions)

    @cached_property
    def _stream(self) -> CompiledExpressions:
        walk = self.response.walk
        return CompiledExpressions([walk.stream(a, b) for a, b in walk.kernel], self._functions)

    @cached_property
    def _terms(self) -> list[list[tuple[int, list[_Group]]]]:
        """Of each average: its terms, each the number of a compiled coefficient and its groups."""
        return self._expanded[0]

    @cached_property
    def _coefficients(self) -> CompiledExpressions:
        return CompiledExpressions(self._expanded[1] or [sp.Integer(0)], self._functions)

    @cached_property
    def _expanded(self) -> tuple[list[list[tuple[int, list[_Group]]]], list[sp.Expr]]:
        found: list[list[tuple[int, list[_Group]]]] = []
        factors: list[sp.Expr] = []
        for average in self.response.averages.values():
            own = []
            averager, integrand = self.response.walk.in_variables(*average.factors)
            for coefficient, groups in _terms(averager, integrand, self._functions):
                own.append((len(factors), groups))
                factors.append(average.weight * coefficient)
            found.append(own)
        return found, factors

    @cached_property
    def _laws(self) -> CompiledExpressions:
        """For each group the covariances of its forms, and those with the streams before and after."""
        return CompiledExpressions(self._covariances[1] or [sp.Integer(0)], self._functions)

    @cached_property
    def _covariances(self) -> tuple[dict[tuple[Form, Form], int], list[sp.Expr]]:
        walk = self.response.walk
        averager = walk.in_variables()[0]
        ends = [*self._streams[0], *self._streams[1]]
        groups = [g for terms in self._terms for _, groups in terms for g in groups]
        pairs = dict.fromkeys(
            [(f, h) for g in groups for f in g.forms for h in (*g.forms, *ends)]
            + [(f, h) for f in self._streams[0] for h in self._streams[1]]
        )
        return {pair: k for k, pair in enumerate(pairs)}, [averager.between(*pair) for pair in pairs]

    @cached_property
    def _streams(self) -> tuple[list[Form], list[Form]]:
        inputs = self.response.walk.inputs
        return [(((z, a), sp.Integer(1)),) for a in inputs], [self.response.walk.out(a) for a in inputs]

    def at(self, kernel: Array, root: Array, values: Values, degree: int) -> LayerNumbers:
        """The layer at a kernel.

        Args:
            kernel: of the stream, shape (p, p).
            root: its lower triangular root.
            values: of the parameters.
            degree: highest Hermite polynomial.
        """
        response = self.response
        inputs = response.walk.inputs
        places = [(inputs.index(a), inputs.index(b)) for a, b in response.kernel]
        known = dict(values)
        known |= {s: kernel[p] for s, p in zip(response.kernel.values(), places, strict=True)}
        for name, value in zip(self._order, self._values, strict=True):
            known[name] = float(value(known)[0])
        following = np.zeros_like(kernel)
        for (a, b), value in zip(places, self._stream(known), strict=True):
            following[a, b] = following[b, a] = value
        after_root: Array = np.linalg.cholesky(following).astype(float)
        J, T = self._responses(known)
        laws = self._laws(known)
        index = self._covariances[0]
        R = np.array([[laws[index[f, h]] for h in self._streams[1]] for f in self._streams[0]])
        R = np.linalg.solve(root, np.linalg.solve(after_root, R.T).T)
        before, after = self._given(laws, known, (root, after_root), degree)
        noise = self._covariance(known)
        return LayerNumbers(
            following,
            J,
            T @ noise @ T.T,
            np.tensordot(T, before, 1),
            np.tensordot(T, after, 1),
            R.astype(float),
            after_root,
        )

    def _responses(self, known: Values) -> tuple[Array, Array]:
        count, state = len(self._order), self.response.state
        numbers = self._slopes(known)
        rows: list[dict[sp.Symbol, float]] = [{} for _ in range(count + len(state))]
        for (k, s, _), value in zip(self._entries, numbers, strict=True):
            rows[k][s] = float(value)
        J, T = total_slopes(rows[count:], dict(zip(self._order, rows, strict=False)), state)
        return np.array(J, dtype=float), np.array(T, dtype=float)

    def _covariance(self, known: Values) -> Array:
        count = len(self._order)
        found = np.zeros((count, count))
        rows, columns = np.triu_indices(count)
        found[rows, columns] = found[columns, rows] = self._noise(known)
        return found

    def _given(self, laws: Array, known: Values, roots: tuple[Array, Array], degree: int) -> tuple[Array, Array]:
        """Each average's integrand given the stream before, and after, without its own average."""
        factors = self._coefficients(known)
        p = len(roots[0])
        found = np.zeros((2, len(self._order), *(degree + 1,) * p))
        computed: dict[_Group, tuple[Array, Array]] = {}
        for t, terms in enumerate(self._terms):
            for k, groups in terms:
                if not groups:  # a number, which is its own average
                    continue
                parts = [self._group_given(g, laws, known, roots, degree, computed) for g in groups]
                for side in range(2):
                    found[side, t] += factors[k] * product_given([part[side] for part in parts])
        found.reshape(2, len(self._order), -1)[:, :, 0] = 0.0
        return found[0], found[1]

    def _group_given(
        self,
        group: _Group,
        laws: Array,
        known: Values,
        roots: tuple[Array, Array],
        degree: int,
        computed: dict[_Group, tuple[Array, Array]],
    ) -> tuple[Array, Array]:
        if group not in computed:
            index = self._covariances[0]
            own = np.array([[laws[index[f, h]] for h in group.forms] for f in group.forms])
            if len(group.forms) == 1:
                own_root = np.sqrt(own)
                hermite = coefficients(group.functions[0], own[0, 0], degree, known)
            else:
                own_root = np.linalg.cholesky(own)
                hermite = pair_coefficients((group.functions[0], group.functions[1]), own_root, degree, known)
            sides = []
            for side in range(2):
                between = np.array([[laws[index[f, h]] for h in self._streams[side]] for f in group.forms])
                R = np.linalg.solve(own_root, np.linalg.solve(roots[side], between.T).T) if own.any() else 0 * between
                sides.append(given(hermite, R))
            computed[group] = sides[0], sides[1]
        return computed[group]


def _terms(averager: Averager, integrand: sp.Expr, functions: FunctionLibrary) -> list[tuple[sp.Expr, list[_Group]]]:
    """An integrand as a sum of products of groups of functions."""
    found = []
    for term in sp.Add.make_args(distributed(integrand)):
        coefficient = sp.Integer(1)
        by_variable: dict[int, PiecewiseFunction] = {}
        for factor in sp.Mul.make_args(term):
            used = averager.used(factor)
            if not used:
                coefficient *= factor
            elif len(used) == 1:
                piece = pieces_of(factor, averager.names[used[0]])
                before = by_variable.get(used[0], _ONE)
                by_variable[used[0]] = before.map(product, piece)
            else:
                raise UnsupportedLayer(
                    f"the fluctuations of {factor}", "it depends on several neurons", "put a Dense around its argument"
                )
        groups = []
        for members in averager.connected(sorted(by_variable)):
            if len(members) > 2:
                raise UnsupportedLayer(
                    f"the fluctuations of the average of {term}",
                    f"it needs {len(members)} correlated Gaussian variables at once",
                    "write the layer so that functions of at most two different arguments are multiplied",
                )
            groups.append(
                _Group(tuple(functions[by_variable[k]] for k in members), tuple(averager.forms[k] for k in members))
            )
        found.append((coefficient, groups))
    return found
