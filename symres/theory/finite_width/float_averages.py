"""Expressions in Gaussian averages, compiled for numbers in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...gaussian.calculus.expectation import Expectation
from .float_quadrature import Array, CompiledFormula, FloatFunction, Function, Values, coefficients, pair_coefficients


class FunctionLibrary:
    """The functions of one layer, each compiled once."""

    def __init__(self) -> None:
        self._known: dict[PiecewiseFunction, FloatFunction] = {}

    def __getitem__(self, pieces: PiecewiseFunction) -> FloatFunction:
        return self._known.setdefault(pieces, FloatFunction(pieces))


class CompiledExpressions:
    """Several expressions as one function of the numbers of their symbols.

    Args:
        expressions: in averages and symbols.
        functions: of the layer.
    """

    def __init__(self, expressions: Sequence[sp.Expr], functions: FunctionLibrary) -> None:
        averages = sorted(set().union(*(e.atoms(Expectation) for e in expressions)), key=_nesting)
        names: dict[sp.Expr, sp.Symbol] = {}
        self._averages: list[tuple[sp.Symbol, _CompiledAverage]] = []
        for average in averages:  # those that stand in the law of another come first
            name = sp.Dummy("average", real=True)
            self._averages.append((name, _CompiledAverage(average, names, functions)))
            names[average] = name
        bare = [e.xreplace(names) for e in expressions]
        self._symbols = sorted(set().union(*(e.free_symbols for e in bare)), key=sp.default_sort_key)
        self._function = CompiledFormula(self._symbols, bare)

    def __call__(self, values: Values) -> Array:
        """The numbers, shape (number of expressions,).

        Raises:
            NoClosedForm: floating-point numbers overflow.
        """
        known = dict(values)
        with np.errstate(all="ignore"):
            for name, average in self._averages:
                known[name] = average(known)
            try:
                found = np.array(self._function(*(known[s] for s in self._symbols)))
            except OverflowError:  # of an integer that a given number has made, gamma = 1e300 for instance
                found = np.array(np.inf)
        if np.iscomplexobj(found) or not np.isfinite(found).all():  # Python's powers of negative numbers are complex
            shown = ", ".join(f"{s} = {float(known[s]):.3g}" for s in self._symbols if s in values)
            lost = "they overflow, or rounding makes the argument of a root negative"
            raise NoClosedForm(f"the numbers of a layer at {shown}", lost, "take smaller kernels, or fewer layers")
        return found.astype(float, copy=False)


class _CompiledAverage:
    """``<F>`` for an integrand that is a sum of products of functions of one variable each."""

    def __init__(self, average: Expectation, names: Mapping[sp.Expr, sp.Symbol], functions: FunctionLibrary) -> None:
        self._terms = [tuple(functions[f] for f in factors) for _, factors in average.terms]
        size = len(average.covariance)
        arguments = [e.xreplace(names) for e in (*average.covariance, *(c for c, _ in average.terms))]
        self._symbols = sorted(set().union(*(e.free_symbols for e in arguments)), key=sp.default_sort_key)
        self._function = CompiledFormula(self._symbols, arguments)
        self._size = size

    def __call__(self, values: Values) -> float:
        found = self._function(*(values[s] for s in self._symbols))
        law, factors = found[: self._size], found[self._size :]
        return sum(c * average(term, law, values) for c, term in zip(factors, self._terms, strict=True))


def _nesting(average: Expectation) -> tuple[int, str]:
    """How many averages an average contains; then by its text."""
    return len(average.atoms(Expectation)), str(average)


def average(functions: tuple[Function, ...], covariance: Sequence[float], values: Values) -> float:
    """``<f(w)>`` or ``<f(w1) g(w2)>``; the covariance matrix as its upper triangle, row by row."""
    if len(functions) == 1:
        if isinstance(functions[0], FloatFunction):
            return functions[0].mean(float(covariance[0]), values)
        return float(coefficients(functions[0], float(covariance[0]), 0, values)[0])
    one, both, other = map(float, covariance)
    rest = other - both**2 / one if one else other
    if one == 0 or rest <= 1e-14 * other:
        raise NoClosedForm(
            "an average of two variables in double precision", "both are the same variable", "pass inputs that differ"
        )
    root = np.array([[np.sqrt(one), 0.0], [both / np.sqrt(one), np.sqrt(rest)]])
    return float(pair_coefficients((functions[0], functions[1]), root, 0, values)[0, 0])
