"""One layer in numbers at the inputs of one view: the response of its statistics, and the functions they average.

``H = sum_t T_t (F_t - <F_t>)`` is what neuron i itself adds to n times the next state: the integrand F_t of each
average t, times how the next state responds to that average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import sympy as sp

from ...activations.piecewise import PiecewiseFunction, product
from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...functions.floats.float_averages import CompiledExpressions, FloatFunction, Values
from ...gaussian.calculus.integrand import distributed, pieces_of
from ...numerics.deferred_numpy import Array, np
from ..walk.linear_forms import Averager, Form
from .layer_response import LayerResponse, total_slopes

_ONE = PiecewiseFunction((), (sp.Integer(1),))


@dataclass(frozen=True)
class Group:
    """A product of functions of one or two variables that depend on one another.

    Args:
        functions: one of each variable.
        variables: the numbers of their linear forms.
    """

    functions: tuple[FloatFunction, ...]
    variables: tuple[int, ...]

    def bound(self, averages: Values) -> Group:
        """The group with numbers for the averages of the layer that stand inside of functions."""
        inside = (tuple((s, averages[s]) for s in f.parameters if s in averages) for f in self.functions)
        functions = (replace(f, bound=f.bound + bound) for f, bound in zip(self.functions, inside, strict=True))
        return Group(tuple(functions), self.variables)


@dataclass(frozen=True)
class Term:
    """A product of groups that are independent of one another.

    Args:
        factor: in front: a number, or the place of its expression among those of the layer.
        groups: none for a number.
    """

    factor: float
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class ViewNumbers:
    """A layer at the p inputs of a view, p = 1 or 2, with A averages, S sources and f linear forms in these.

    Args:
        kernel: of the next stream, shape (p, p).
        J: total derivatives of the next state in the state, shape (q, q); the state holds p means, then the kernels.
        T: total derivatives of the next state in the noise of each average, shape (q, A).
        noise: n times the covariance of the averages' own noise, shape (A, A).
        integrands: of each average, whose covariance with one another is their noise times the width.
        widths: of the populations that averages are over, in units of n, shape (A,).
        sources: covariances of each source at the inputs, shape (S, p, p).
        forms: the Gaussian variables of all groups, then the p streams before, then those after: shape (f, S, p).
    """

    kernel: Array
    J: Array
    T: Array
    noise: Array
    integrands: list[list[Term]]
    widths: Array
    sources: Array
    forms: Array


class CompiledLayer:
    """A layer at the inputs of a view: its expressions compiled once, for any values of its parameters.

    Args:
        response: the layer.
    """

    def __init__(self, response: LayerResponse) -> None:
        self.response = response
        self._order = list(response.averages)

    @cached_property
    def _values(self) -> list[CompiledExpressions]:
        return [CompiledExpressions([value]) for value in self.response.values.values()]

    @cached_property
    def _slopes(self) -> CompiledExpressions:
        """Partial slopes of the averages and of the next state, and covariances of the noise."""
        return CompiledExpressions([slope for _, _, slope in self._entries])

    @cached_property
    def _entries(self) -> list[tuple[int, sp.Symbol, sp.Expr]]:
        rows = [*(self.response.slopes[name] for name in self._order), *self.response.slopes_after]
        return [(k, s, slope) for k, row in enumerate(rows) for s, slope in row.items()]

    @cached_property
    def _noise(self) -> CompiledExpressions:
        pairs = [(a, b) for k, a in enumerate(self._order) for b in self._order[k:]]
        return CompiledExpressions([self.response.covariance(a, b) for a, b in pairs])

    @cached_property
    def _stream(self) -> CompiledExpressions:
        walk = self.response.walk
        return CompiledExpressions([walk.stream(a, b) for a, b in walk.kernel])

    @cached_property
    def _law(self) -> CompiledExpressions:
        """The factors of all terms, the widths, the covariances of the sources and the coefficients of the forms."""
        walk = self.response.walk
        widths = [average.width for average in self.response.averages.values()]
        sources = [walk.covariance(s, a, b) for s in self._sources for a in walk.inputs for b in walk.inputs]
        coefficients = [c for form in self._forms for _, c in form]
        return CompiledExpressions([*self._integrands[1], *widths, *sources, *coefficients])

    @cached_property
    def _integrands(self) -> tuple[list[list[Term]], list[sp.Expr], list[Form]]:
        """The terms of each average, whose factors are places in a list; this list, and the forms of the variables."""
        forms: dict[Form, int] = {}
        factors: list[sp.Expr] = []
        found = []
        for average in self.response.averages.values():
            averager, integrand = self.response.walk.in_variables(*average.factors)
            own = []
            for factor, groups in _products(averager, integrand):
                numbered = [Group(f, tuple(forms.setdefault(h, len(forms)) for h in of)) for f, of in groups]
                own.append(Term(len(factors), tuple(numbered)))
                factors.append(average.weight * factor)
            found.append(own)
        return found, factors, list(forms)

    @property
    def _sources(self) -> tuple[sp.Symbol, ...]:
        return self.response.program.sources

    @cached_property
    def _forms(self) -> list[Form]:
        """Of the variables, of the streams before, and of those after."""
        inputs = self.response.walk.inputs
        before: list[Form] = [(((z, a), sp.Integer(1)),) for a in inputs]
        return [*self._integrands[2], *before, *(self.response.walk.out(a) for a in inputs)]

    @cached_property
    def _form_places(self) -> tuple[list[int], list[int], list[int]]:
        """The form, source and input of each of the forms' coefficients."""
        inputs = self.response.walk.inputs
        places = [
            (k, self._sources.index(s), inputs.index(a)) for k, form in enumerate(self._forms) for (s, a), _ in form
        ]
        forms, sources, at = zip(*places, strict=True)
        return list(forms), list(sources), list(at)

    def at(self, kernel: Array, values: Values) -> ViewNumbers:
        """The layer at a kernel.

        Args:
            kernel: of the stream, shape (p, p).
            values: of the parameters.
        """
        response, p = self.response, len(kernel)
        inputs = response.walk.inputs
        places = [(inputs.index(a), inputs.index(b)) for a, b in response.kernel]
        known = dict(values)
        known |= {s: kernel[place] for s, place in zip(response.kernel.values(), places, strict=True)}
        for name, value in zip(self._order, self._values, strict=True):
            known[name] = float(value(known)[0])
        following = np.zeros_like(kernel)
        for (a, b), value in zip(places, self._stream(known), strict=True):
            following[a, b] = following[b, a] = value
        J, T = self._responses(known)
        terms, factors, _ = self._integrands
        numbers = self._law(known)
        ends = np.cumsum([len(factors), len(self._order), len(self._sources) * p * p])
        own, widths, sources, coefficients = np.split(numbers, ends)
        forms = np.zeros((len(self._forms), len(self._sources), p))
        forms[self._form_places] = coefficients
        averages = {name: known[name] for name in self._order}
        integrands = [
            [Term(float(own[int(t.factor)]), tuple(g.bound(averages) for g in t.groups)) for t in row] for row in terms
        ]
        noise = self._covariance(known)
        return ViewNumbers(following, J, T, noise, integrands, widths, sources.reshape(len(self._sources), p, p), forms)

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


def _products(
    averager: Averager, integrand: sp.Expr
) -> list[tuple[sp.Expr, list[tuple[tuple[FloatFunction, ...], tuple[Form, ...]]]]]:
    """An integrand as a sum of factors times groups of functions, each with the forms of its variables."""
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
                (tuple(FloatFunction(by_variable[k]) for k in members), tuple(averager.forms[k] for k in members))
            )
        found.append((coefficient, groups))
    return found
