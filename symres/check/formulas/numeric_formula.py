"""Numbers from a declared formula: NumPy and mpmath evaluation, and the places where it switches.

Written for this room alone. The oracles must not share an evaluator with what they check, so neither the
exported code nor the ball arithmetic nor the declaration's own table of pieces is used here.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar, overload

import mpmath as mp
import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from ...activations.atom import Phi
from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...functions.function_record import definition_of

_FAR = mp.mpf(10) ** 12  # exponentials of it are infinite or 0 to every double

V = TypeVar("V")  # arrays, numbers of mpmath, or tensors
Operation: TypeAlias = Callable[..., Any]  # of numbers and truth values of one backend
Backend: TypeAlias = dict[type[sp.Basic], Callable[..., V]]


def _of_scipy(name: str) -> Operation:
    """A special function; only formulas that have one wait until SciPy is loaded."""
    return lambda x: getattr(import_module("scipy.special"), name)(x)


def _saturating(function: Operation) -> Operation:
    """Of mpmath, which needs as many bits as the argument is large: tanh(exp(1e15)) would fill the memory."""
    return lambda x: function(x if abs(x) < _FAR else mp.sign(x) * mp.inf)


# functions that have the names of sympy in NumPy, mpmath and PyTorch
NAMED = ("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "sign")
COMPARISONS: Backend[Any] = {
    sp.StrictLessThan: operator.lt,
    sp.LessThan: operator.le,
    sp.StrictGreaterThan: operator.gt,
    sp.GreaterThan: operator.ge,
}


def named(library: Any) -> Backend[Any]:
    """The functions of a library that have the names of sympy, and comparisons."""
    return {**{getattr(sp, name): getattr(library, name) for name in NAMED}, **COMPARISONS}


NUMPY: Backend[np.ndarray] = {
    **named(np),
    **{getattr(sp, name): _of_scipy(name) for name in ("erf", "erfc", "erfi")},
    sp.sinc: lambda x: np.sinc(x / np.pi),
    sp.Abs: np.abs,
    sp.DiracDelta: lambda x, *_: 0.0 * x,
    sp.Heaviside: lambda x, at_zero=0.5: np.heaviside(x, at_zero),
    sp.Max: lambda *xs: reduce(np.maximum, xs),
    sp.Min: lambda *xs: reduce(np.minimum, xs),
    sp.Pow: lambda base, exponent: _power(base, exponent),
    sp.And: lambda *xs: reduce(np.logical_and, xs),
    sp.Or: lambda *xs: reduce(np.logical_or, xs),
    sp.Piecewise: lambda *xs: np.select(xs[1::2], xs[::2], np.nan),
}

MPMATH: Backend[mp.mpf] = {
    **named(mp.mp),
    **{getattr(sp, name): _saturating(getattr(mp, name)) for name in ("exp", "sinh", "cosh", "tanh")},
    **{getattr(sp, name): getattr(mp, name) for name in ("erf", "erfc", "erfi", "sinc")},
    sp.Abs: abs,
    sp.DiracDelta: lambda x, *_: mp.mpf(0),
    sp.Heaviside: lambda x, at_zero=0.5: mp.mpf(at_zero) if x == 0 else mp.mpf(x > 0),
    sp.Max: max,
    sp.Min: min,
    sp.Pow: lambda base, exponent: mp.inf if base == 0 and exponent < 0 else mp.power(base, exponent),
    sp.And: lambda *xs: all(xs),
    sp.Or: lambda *xs: any(xs),
    sp.Piecewise: lambda *xs: next((value for value, holds in zip(xs[::2], xs[1::2], strict=True) if holds), mp.nan),
}

_DIGITS = 40  # of the constants handed to mpmath, and of switching points


class Tape(Generic[V]):
    """A sympy expression of several variables as a straight line of calls; equal subexpressions are one call.

    Args:
        expr: the expression.
        variables: its symbols.
        backend: functions for its nodes.
        digits: of the constants, if the backend takes them.
    """

    def __init__(
        self, expr: sp.Expr, variables: Sequence[sp.Symbol], backend: Backend[V], digits: int = _DIGITS
    ) -> None:
        self._backend = backend
        self._digits = digits
        self._slots: dict[sp.Basic, int] = {v: i for i, v in enumerate(variables)}
        self._calls: list[tuple[Operation, tuple[int, ...]]] = []
        self._variables = len(variables)
        self._result = self._slot(expr)

    def __call__(self, *values: V) -> V:
        """The result for given values of the variables."""
        held = list(values)
        for function, slots in self._calls:
            held.append(function(*[held[s] for s in slots]))
        return held[self._result]

    def _slot(self, expr: sp.Basic) -> int:
        if expr not in self._slots:
            call = self._call(expr)
            self._slots[expr] = self._variables + len(self._calls)
            self._calls.append(call)
        return self._slots[expr]

    def _call(self, expr: sp.Basic) -> tuple[Operation, tuple[int, ...]]:
        if expr in (sp.true, sp.false):
            truth = bool(expr)
            return lambda: truth, ()
        if not expr.free_symbols:
            number = self._constant(expr)
            return lambda: number, ()
        if self._backend is NUMPY and (stable := self._stable(expr)) is not None:
            return stable
        if isinstance(expr, sp.Add | sp.Mul):
            combine: Operation = operator.add if isinstance(expr, sp.Add) else operator.mul
            return combine if len(expr.args) == 2 else lambda *xs: reduce(combine, xs), self._all(expr.args)
        if isinstance(expr, sp.Piecewise):
            flat = [part for branch in expr.args for part in branch.args]
            return self._backend[sp.Piecewise], self._all(flat)
        if expr.func not in self._backend and (definition := definition_of(expr)) is not None:
            return self._call(definition)
        if expr.func not in self._backend:
            raise UnsupportedLayer(
                f"numbers of {expr}",
                f"the check has no rule for {expr.func.__name__}",
                "write the formula with elementary functions",
            )
        return self._backend[expr.func], self._all(expr.args)

    def _stable(self, expr: sp.Basic) -> tuple[Operation, tuple[int, ...]] | None:
        """log(c + exp(u) + ...) without overflow and c*exp(u) - c without cancellation."""
        if isinstance(expr, sp.log) and isinstance(expr.args[0], sp.Add):
            exponents = [_exponent(term) for term in expr.args[0].args]
            if all(e is not None for e in exponents):
                return lambda *xs: reduce(np.logaddexp, xs), self._all(exponents)
        if isinstance(expr, sp.Add):
            constant, rest = expr.as_coeff_Add()
            for term in rest.as_ordered_terms() if constant else ():
                factor, function = term.as_independent(*term.free_symbols, as_Add=False)
                if isinstance(function, sp.exp) and factor == -constant:
                    slots = self._all([function.args[0], factor, rest - term])
                    return lambda u, scale, other: scale * np.expm1(u) + other, slots
        return None

    def _all(self, expressions: Sequence[sp.Basic]) -> tuple[int, ...]:
        return tuple(self._slot(e) for e in expressions)

    def _constant(self, expr: sp.Basic) -> float | mp.mpf:
        value = sp.N(expr, self._digits)
        if not value.is_real:
            raise UnsupportedLayer(f"numbers of {expr}", "it is not a real number", "give every parameter a number")
        if self._backend is MPMATH:
            return _unrounded(value, self._digits)
        return int(value) if expr.is_Integer and abs(value) < 2**53 else float(value)


class Elementwise:
    """Neurons that know how to take a function of one variable: fields, tensors, and arrays with derivatives."""

    @abstractmethod
    def apply(self, function: NumericFunction) -> Elementwise:
        """The function of every neuron."""


class NumericFunction:
    """A function of one variable, from its formula.

    Args:
        expr: a formula whose only symbol is ``variable``.
        variable: the argument.
    """

    def __init__(self, expr: sp.Expr, variable: sp.Symbol) -> None:
        self.expr = expr
        self.variable = variable
        self._numpy = Tape(expr, [variable], NUMPY)

    @overload
    def __call__(self, u: Elementwise) -> Elementwise: ...

    @overload
    def __call__(self, u: ArrayLike) -> np.ndarray: ...

    def __call__(self, u: Elementwise | ArrayLike) -> Elementwise | np.ndarray:
        """The function of every element."""
        if isinstance(u, Elementwise):
            return u.apply(self)
        u = np.asarray(u, dtype=float)
        result = self._rounded(u)
        for rescued in (self._longer, self._unlimited):
            lost = ~np.isfinite(result)
            if lost.any():  # exp(z)/(1 + exp(z)) at z = 1000 and the like
                result = result.copy()
                result[lost] = rescued(u[lost])
        return result

    @cached_property
    def slope(self) -> NumericFunction:
        """The derivative away from switching points: delta functions are dropped."""
        return NumericFunction(self.expr.diff(self.variable), self.variable)

    @cached_property
    def precise(self) -> Callable[[mp.mpf], mp.mpf]:
        """The function at mpmath's current precision (up to 40 digits)."""
        return Tape(self.expr, [self.variable], MPMATH)

    @cached_property
    def breaks(self) -> tuple[mp.mpf, ...]:
        """Where the formula switches from one smooth piece to another, increasing."""
        return switch_points(self.expr, self.variable)

    def _rounded(self, u: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = np.asarray(self._numpy(u), dtype=float)
        return values if values.shape == u.shape else np.broadcast_to(values, u.shape)

    def _longer(self, u: np.ndarray) -> np.ndarray:
        """In long doubles, whose largest number is 1e4932 on most machines."""
        try:
            return self._rounded(u.astype(np.longdouble))
        except TypeError:  # scipy's functions take none
            return np.full_like(u, np.nan)

    def _unlimited(self, u: np.ndarray) -> list[float]:
        """By mpmath, which has no largest number, point by point."""
        with mp.workdps(30):
            values = [self.precise(mp.mpf(point)) if np.isfinite(point) else mp.nan for point in u]
        return [float(value) if isinstance(value, mp.mpf) else np.nan for value in values]


def activation_function(atom: Phi, values: dict[sp.Symbol, sp.Expr]) -> NumericFunction:
    """The function ``phi^(k)`` of an atom ``Phi(formula, u, k, *parameters)``, from the declared formula.

    Derivatives are taken away from switching points: delta functions are dropped.
    """
    numbers = {
        parameter: sp.sympify(value).subs(values)
        for parameter, value in zip(atom.formula.parameters, atom.args[3:], strict=True)
    }
    expr = atom.formula.expr.subs(numbers, simultaneous=True)
    if expr.free_symbols - {z}:
        unknown = ", ".join(sorted(map(str, expr.free_symbols - {z})))
        raise UnsupportedLayer(f"numbers of {atom}", f"{unknown} has no value", "give every parameter a number")
    return NumericFunction(expr.diff(z, atom.order) if atom.order else expr, z)


def switch_points(expr: sp.Expr, variable: sp.Symbol, digits: int = _DIGITS) -> tuple[mp.mpf, ...]:
    """Zeros of the arguments of Abs, sign, Heaviside, Max, Min and of the conditions of Piecewise, to so many digits.

    Arguments and conditions with other variables are left out.
    """
    controls: set[sp.Expr] = set()
    for node in sp.preorder_traversal(expr):
        if isinstance(node, sp.Abs | sp.sign | sp.Heaviside):
            controls.add(node.args[0])
        elif isinstance(node, sp.Max | sp.Min):
            controls.update(a - b for i, a in enumerate(node.args) for b in node.args[:i])
        elif isinstance(node, sp.core.relational.Relational):
            controls.add(node.lhs - node.rhs)
    found: list[mp.mpf] = []
    with mp.workdps(digits):
        for control in controls:
            if control.free_symbols == {variable}:
                found.extend(_zeros(control, variable, digits))
        unique: list[mp.mpf] = []
        for point in sorted(found):
            if not unique or point - unique[-1] > mp.mpf(10) ** (10 - digits) * (1 + abs(point)):
                unique.append(point)
    return tuple(unique)


def _zeros(control: sp.Expr, variable: sp.Symbol, digits: int) -> list[mp.mpf]:
    if control.is_polynomial(variable):
        polynomial = sp.Poly(sp.N(control, digits) if control.has(sp.Float) else control, variable)
        if polynomial.domain.is_Exact:
            polynomial = polynomial.sqf_part()  # multiple roots are found with half the digits, or not at all
        if polynomial.degree() == 1:  # exactly: the iteration for several roots starts near 1, and has few steps
            slope, constant = polynomial.all_coeffs()
            return [_unrounded(sp.N(-constant / slope, digits), digits)]
        return [_unrounded(root, digits) for root in polynomial.nroots(n=digits, maxsteps=1000) if root.is_real]
    # Scan for sign changes; what is missed here only costs accuracy, which the two resolutions then show.
    tape = Tape(control, [variable], MPMATH, digits)
    grid = [mp.sinh(mp.mpf(k) / 50) for k in range(-700, 701)]
    signs = [mp.sign(tape(point)) for point in grid]
    zeros = [point for point, sign in zip(grid, signs, strict=True) if sign == 0]
    for left, right, a, b in zip(grid, grid[1:], signs, signs[1:], strict=False):
        if a * b < 0:
            for _ in range(mp.mp.prec + 10):  # bisection: the control may itself have kinks
                middle = (left + right) / 2
                left, right = (middle, right) if mp.sign(tape(middle)) == a else (left, middle)
            zeros.append((left + right) / 2)
    return zeros


def _unrounded(value: sp.Expr, digits: int) -> mp.mpf:
    """A sympy number as mpf with all its digits, whatever mpmath's current precision is."""
    return mp.make_mpf(sp.Float(value, digits)._mpf_)


def _exponent(term: sp.Expr) -> sp.Expr | None:
    """The sum u + log(c) for a term c*exp(u) or c with c > 0."""
    factor, function = term.as_independent(*term.free_symbols, as_Add=False) if term.free_symbols else (term, sp.S.One)
    if not factor.is_positive or not (function == 1 or isinstance(function, sp.exp)):
        return None
    return sp.log(factor) + (0 if function == 1 else function.args[0])


def _power(base: np.ndarray, exponent: float | np.ndarray) -> np.ndarray:
    if isinstance(exponent, int) and 0 < exponent <= 4:  # NumPy's general power is 20 times slower
        return reduce(lambda a, b: a * b, [base] * exponent)
    if isinstance(exponent, int) and -4 <= exponent < 0:
        return 1.0 / _power(base, -exponent)
    if isinstance(exponent, float) and exponent == 0.5:
        return np.sqrt(base)
    return np.power(base, exponent)
