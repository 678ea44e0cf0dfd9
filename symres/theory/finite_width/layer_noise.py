"""One layer in numbers at the inputs of one view: the response of its statistics, and the functions they average.

``H = sum_t T_t (F_t - <F_t>)`` is what neuron i itself adds to n times the next state: the integrand F_t of each
average t, times how the next state responds to that average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...functions.floats.float_averages import CompiledExpressions, FloatFunction, Values
from ...gaussian.calculus.integrand import ONE, separate
from ...numerics.deferred_numpy import Array, np
from ..walk.linear_forms import Averager, Form
from .layer_response import LayerResponse, total_slopes


@dataclass(frozen=True)
class Group:
    """A product of functions of one or two variables that depend on one another."""

    functions: tuple[FloatFunction, ...]  # one of each variable
    variables: tuple[int, ...]  # the numbers of their linear forms

    def bound(self, averages: Values) -> Group:
        """The group with numbers for the averages of the layer that stand inside of functions."""
        inside = (tuple((s, averages[s]) for s in f.parameters if s in averages) for f in self.functions)
        functions = (replace(f, bound=f.bound + bound) for f, bound in zip(self.functions, inside, strict=True))
        return Group(tuple(functions), self.variables)


@dataclass(frozen=True)
class Term:
    """A product of groups that are independent of one another."""

    factor: float  # in front: a number, or the place of its expression among those of the layer
    groups: tuple[Group, ...]  # none for a number


@dataclass(frozen=True)
class ViewNumbers:
    """A layer at the p inputs of a view, p = 1 or 2, with A averages, S sources and f linear forms in these.

    The state holds p means, then the kernels. Covariances of integrands are the noise of averages times their width.
    """

    kernel: Array  # of the next stream, shape (p, p)
    J: Array  # total derivatives of the next state in the state, shape (q, q)
    T: Array  # total derivatives of the next state in the noise of each average, shape (q, A)
    noise: Array  # n times the covariance of the averages' own noise, shape (A, A)
    integrands: list[list[Term]]  # of each average
    widths: Array  # of the populations that averages are over, in units of n, shape (A,)
    sources: Array  # covariances of each source at the inputs, shape (S, p, p)
    forms: Array  # the Gaussian variables of all groups, then the p streams before, then those after: shape (f, S, p)


class CompiledLayer:
    """A layer at the inputs of a view: its expressions compiled once, for any values of its parameters."""

    def __init__(self, response: LayerResponse) -> None:
        walk, order, sources = response.walk, list(response.averages), response.program.sources
        self.response, self._order, self._sources = response, order, len(sources)
        self._values = [CompiledExpressions([value]) for value in response.values.values()]
        self._stream = CompiledExpressions([walk.stream(a, b) for a, b in walk.kernel])
        rows = [*(response.slopes[name] for name in order), *response.slopes_after]
        self._slopes = [(k, s) for k, row in enumerate(rows) for s in row]  # of averages, then of the next state
        self._partial = CompiledExpressions([slope for row in rows for slope in row.values()])
        pairs = [(a, b) for k, a in enumerate(order) for b in order[k:]]
        self._noise = CompiledExpressions([response.covariance(a, b) for a, b in pairs])
        self._integrands, factors, forms = self._terms()
        before: list[Form] = [(((z, a), sp.Integer(1)),) for a in walk.labels]
        forms += [*before, *(walk.out(a) for a in walk.labels)]
        self._forms = len(forms)
        places = [
            (k, sources.index(s), walk.labels.index(a)) for k, form in enumerate(forms) for (s, a), _ in form
        ]  # the form, source and input of each coefficient
        self._places = tuple(map(list, zip(*places, strict=True)))
        widths = [average.width for average in response.averages.values()]
        covariances = [walk.covariance(s, a, b) for s in sources for a in walk.labels for b in walk.labels]
        self._law = CompiledExpressions([*factors, *widths, *covariances, *(c for form in forms for _, c in form)])
        self._ends = np.cumsum([len(factors), len(widths), len(covariances)])

    def _terms(self) -> tuple[list[list[Term]], list[sp.Expr], list[Form]]:
        """The terms of each average, whose factors are places in a list; this list, and the forms of the variables."""
        forms: dict[Form, int] = {}
        factors: list[sp.Expr] = []
        terms = []
        for average in self.response.averages.values():
            averager, integrand = self.response.walk.in_variables(*average.factors)
            of_average = []
            for factor, groups in _products(averager, integrand):
                numbered = [Group(f, tuple(forms.setdefault(h, len(forms)) for h in of)) for f, of in groups]
                of_average.append(Term(len(factors), tuple(numbered)))
                factors.append(average.weight * factor)
            terms.append(of_average)
        return terms, factors, list(forms)

    def at(self, kernel: Array, values: Values) -> ViewNumbers:
        """The layer at a kernel of the stream, shape (p, p)."""
        response, p = self.response, len(kernel)
        inputs = response.walk.labels
        places = [(inputs.index(a), inputs.index(b)) for a, b in response.kernel]
        numbers = dict(values)
        numbers |= {s: kernel[place] for s, place in zip(response.kernel.values(), places, strict=True)}
        for name, value in zip(self._order, self._values, strict=True):
            numbers[name] = float(value(numbers)[0])
        following = np.zeros_like(kernel)
        for (a, b), value in zip(places, self._stream(numbers), strict=True):
            following[a, b] = following[b, a] = value
        J, T = self._responses(numbers)
        factors, widths, sources, coefficients = np.split(self._law(numbers), self._ends)
        forms = np.zeros((self._forms, self._sources, p))
        forms[self._places] = coefficients
        averages = {name: numbers[name] for name in self._order}
        integrands = [
            [Term(float(factors[int(t.factor)]), tuple(g.bound(averages) for g in t.groups)) for t in row]
            for row in self._integrands
        ]
        count = len(self._order)
        noise, places_of_pairs = np.zeros((count, count)), np.triu_indices(count)
        noise[places_of_pairs] = noise.T[places_of_pairs] = self._noise(numbers)
        return ViewNumbers(following, J, T, noise, integrands, widths, sources.reshape(self._sources, p, p), forms)

    def _responses(self, numbers: Values) -> tuple[Array, Array]:
        """J and T, from numbers for the state, the averages and the parameters."""
        count, state = len(self._order), self.response.state
        rows: list[dict[sp.Symbol, float]] = [{} for _ in range(count + len(state))]
        for (k, s), value in zip(self._slopes, self._partial(numbers), strict=True):
            rows[k][s] = float(value)
        J, T = total_slopes(rows[count:], dict(zip(self._order, rows, strict=False)), state)
        return np.array(J, dtype=float), np.array(T, dtype=float)


def _products(
    averager: Averager, integrand: sp.Expr
) -> list[tuple[sp.Expr, list[tuple[tuple[FloatFunction, ...], tuple[Form, ...]]]]]:
    """An integrand as a sum of factors times groups of functions, each with the forms of its variables."""
    products = []
    for coefficient, functions in separate(integrand, averager.names):
        groups = []
        for members in averager.connected([k for k, f in enumerate(functions) if f != ONE]):
            if len(members) > 2:
                raise UnsupportedLayer(
                    f"the fluctuations of the average of {integrand}",
                    f"it needs {len(members)} correlated Gaussian variables at once",
                    "write the layer so that functions of at most two different arguments are multiplied",
                )
            groups.append(
                (tuple(FloatFunction(functions[k]) for k in members), tuple(averager.forms[k] for k in members))
            )
        products.append((coefficient, groups))
    return products
