"""The languages of generated code as tests call them: arrays in and out, both precisions, derivatives."""

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.activations.activation import Activation
from symres.codegen import targets
from symres.codegen.planning.plan import Component
from symres.core.symbols import K1, K2, C, x1, x2
from symres.gaussian.calculus.expectation import Expectation

ALL = tuple(targets.names())
SLOW = {"numba"}
# jax: ``Language.value`` compiles its functions
COMPILED = {"jax", *(name for name in ALL if targets.find(name).capabilities.code == "scalar")}
DIFFERENTIABLE = tuple(name for name in ALL if targets.find(name).capabilities.gradients)
IN_PLACE = tuple(name for name in ALL if targets.find(name).capabilities.in_place)
# kernels and covariances at the edge of what inputs can have
EDGE = [(k, k, c) for k, c in ((1.0, 1.0), (2.0, -2.0), (1e-8, 1e-8), (1e4, 1e4), (1.0, 1.0 + 1e-15), (0.0, 0.0))]
EDGE += [(0.3, 1.2, 0.6), (0.0, 1.0, 0.0)]
STRICT_C = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def lanes(*names: str, slow: Collection[str] = SLOW) -> list[Any]:
    """Targets as cases of a test; those that are slow in the exhaustive lane."""
    return [pytest.param(name, marks=pytest.mark.exhaustive) if name in slow else name for name in names]


def table(rows: Collection[str], names: Collection[str] = ALL, few: int = 2) -> list[Any]:
    """(row, target) as cases: languages that are compiled have the first rows in the fast lane, or none if slow."""
    fast = {name: 0 if name in SLOW else few if name in COMPILED else len(rows) for name in names}
    return [
        pytest.param(row, name, marks=[pytest.mark.exhaustive] if number >= fast[name] else [])
        for name in names
        for number, row in enumerate(rows)
    ]


class Language:
    """A target, with how its functions are given NumPy's arrays and differentiated."""

    def __init__(self, name: str) -> None:
        self.name, self.target = name, targets.find(name)

    def load(self, quantities: Any) -> Any:
        """The module of some quantities."""
        with self.target.in_double_precision():
            return sr.export(quantities, target=self.name).load()

    def array(self, values: Any, kind: type | None = np.float64) -> Any:
        """An array of this language; without a kind that of the values."""
        array = np.array(values, dtype=kind)
        return __import__("torch").as_tensor(array) if self.name == "torch" else array

    def value(self, function: Callable[..., Any], *arguments: Any, kind: type = np.float64, **numbers: Any) -> Any:
        """The value for arrays of a kind; numbers by name are passed as they are."""
        if self.name == "jax" and arguments:
            call = __import__("jax").jit(lambda *given: function(*given, **numbers))
        else:
            call = lambda *given: function(*given, **numbers)  # noqa: E731
        with self.target.in_double_precision():
            return np.asarray(call(*(self.array(a, kind) for a in arguments)))

    def slopes(self, function: Callable[..., Any], *arguments: Any, kind: type = np.float64) -> list[Any]:
        """The derivatives of the sum of a function's values in all of its arguments."""
        return self._derivatives(function, arguments, kind)[0]

    def bends(self, function: Callable[..., Any], *arguments: Any) -> list[list[Any]]:
        """The second derivatives, of functions of entries alone."""
        return self._derivatives(function, arguments, np.float64, twice=True)[1]

    def _derivatives(self, function: Any, arguments: Any, kind: type, twice: bool = False) -> tuple[Any, Any]:
        given = [self.array(a, kind) for a in arguments]
        if self.name == "torch":
            torch = __import__("torch")
            given = [a.requires_grad_() for a in given]
            first = torch.autograd.grad(function(*given).sum(), given, create_graph=twice)
            second = [
                torch.autograd.grad(s.sum(), given, retain_graph=True, allow_unused=True, materialize_grads=True)
                for s in (first if twice else ())
            ]
            return [np.asarray(s.detach()) for s in first], [[np.asarray(b) for b in row] for row in second]
        jax, places = __import__("jax"), tuple(range(len(given)))
        gradient = jax.grad(lambda *a: function(*a).sum(), places)
        with self.target.in_double_precision():
            first = jax.jit(gradient)(*given)
            slope = lambda i: jax.grad(lambda *a: gradient(*a)[i].sum(), places)  # noqa: E731
            second = [jax.jit(slope(i))(*given) for i in places] if twice else ()
        return [np.asarray(s) for s in first], [[np.asarray(b) for b in row] for row in second]

    def assert_gradients_of_moving_points(self, function: Callable[..., Any]) -> None:
        """Of a matrix, against differences: its diagonal, and entries of two equal points, have correlation one."""
        points, step = np.array([[0.6, -0.4], [0.6, -0.4], [1.2, 0.3], [-1.2, -0.3]]), 1e-6

        def total(x: Any) -> Any:
            norms = (x * x).sum(-1)
            return function(norms[:, None], norms[None, :], x @ x.T).sum()

        (found,) = self.slopes(total, points)
        for place in np.ndindex(*points.shape):
            moved = np.zeros_like(points)
            moved[place] = step
            difference = (self.value(total, points + moved) - self.value(total, points - moved)) / (2 * step)
            assert float(found[place]) == pytest.approx(float(difference), abs=2e-5)


language = cache(Language)


def unmeasured(target: str, quantity: sr.Quantity) -> Callable[..., Any]:
    """What is generated for an average that counts as one without a closed form, of NumPy's arrays."""
    return targets.find(target).run(Component("_average_1", quantity.symbols, quantity.body, None))


def open_average(formula: sp.Expr, symbols: tuple[sp.Symbol, ...] = (K1, K2, C)) -> Component:
    """A pair average of a function of z that counts as one without a closed form."""
    phi = Activation("phi", formula, symbols[3:])
    return Component("average", symbols, Expectation(phi(x1) * phi(x2), K1, C, K2), None)


def integrated(target: str, formula: sp.Expr, symbols: tuple[sp.Symbol, ...] = (K1, K2, C)) -> Callable[..., Any]:
    """Its code in a language, alone."""
    space: dict[str, Any] = {}
    exec(language(target).target.standalone(open_average(formula, symbols)), space)
    return space["average"]
