"""Numbers from a declared formula: NumPy and mpmath evaluation, and the places where it switches.

The oracles must not share an evaluator with what they check, so neither the exported code nor the ball arithmetic nor
the declaration's own table of pieces is used here: SymPy writes the code, and a function that it does not have is its
definition.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any, TypeAlias, overload

import mpmath as mp
import numpy as np
import sympy as sp
from numpy.typing import ArrayLike
from sympy.codegen.numpy_nodes import logaddexp
from sympy.codegen.rewriting import ReplaceOptim, expm1_opt
from sympy.printing.numpy import SciPyPrinter
from sympy.printing.pycode import AbstractPythonCodePrinter, MpmathPrinter

from ...activations.atom import Phi
from ...core.errors import UnsupportedLayer
from ...core.symbols import z
from ...functions.function_record import written_out

_FAR = mp.mpf(10) ** 12  # exponentials of it are infinite or 0 to every double
_DIGITS = 40  # of switching points
_STEEP_DIGITS = 360  # more than the farthest distance has decades: differences over it keep digits
_STEP = 15  # decades between the distances from a switching point: 10^-300, 10^-315 and 10^-330
_DISTANCES = tuple(-300 - _STEP * k for k in range(3))
_LOST_DIGITS = 15  # digits that a formula may lose
_ROOT = 0.5  # phi ~ |u|^a has an infinite average of phi'^2 up to this a
_EXACT = 1e-9  # error of a

Operation: TypeAlias = Callable[..., Any]


class _Refusing(AbstractPythonCodePrinter):
    """Functions that a library does not have are errors, not comments in the code."""

    _library: str  # that has erfi, which sympy does not know

    def _print_erfi(self, expr: sp.erfi) -> str:
        return f"{self._module_format(f'{self._library}.erfi')}({self._print(expr.args[0])})"

    def _print_not_supported(self, expr: sp.Basic) -> str:
        found = f"the check has no rule for {expr.func.__name__}"
        raise UnsupportedLayer(f"numbers of {expr}", found, "write the formula with elementary functions")


_PRODUCTS = {1: "{0}", 2: "{0}**2", 3: "{0}**2*{0}", 4: "({0}**2)**2"}  # other powers of NumPy's are 20 times slower


class _ArrayPrinter(_Refusing, SciPyPrinter):
    """NumPy's functions of arrays, and of what takes part in them by ``__array_ufunc__``."""

    _library = "scipy.special"

    def _print_And(self, expr: sp.And) -> str:
        return " & ".join(f"({self._print(argument)})" for argument in expr.args)

    def _print_Or(self, expr: sp.Or) -> str:
        return " | ".join(f"({self._print(argument)})" for argument in expr.args)

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:
        product = _PRODUCTS.get(abs(expr.exp))
        if product is None:
            return super()._print_Pow(expr, rational)
        written = product.format(f"({self._print(expr.base)})")
        return f"({written})" if expr.exp > 0 else f"(1/({written}))"

    def _print_Rational(self, expr: sp.Rational) -> str:
        return repr(float(sp.Float(expr)))  # infinite beyond doubles, where Python's integers are errors

    _print_Integer = _print_Rational


class _MpmathPrinter(_Refusing, MpmathPrinter):
    """Powers by one function, for ``1/mpf(0)`` is an error."""

    _library = "mpmath"

    def _print_Pow(self, expr: sp.Pow, rational: bool = False) -> str:
        return f"power({self._print(expr.base)}, {self._print(expr.exp)})"

    def _print_Mul(self, expr: sp.Mul) -> str:
        return "*".join(f"({self._print(factor)})" for factor in expr.args)


def _saturating(function: Operation) -> Operation:
    """Of mpmath, which needs as many bits as the argument is large: tanh(exp(1e15)) would fill the memory."""
    return lambda x: function(x if abs(x) < _FAR else mp.sign(x) * mp.inf)


_MPMATH: dict[str, Operation] = {
    "power": lambda base, exponent: mp.inf if base == 0 and exponent < 0 else mp.power(base, exponent),
    **{name: _saturating(getattr(mp, name)) for name in ("exp", "sinh", "cosh", "tanh")},
}


def _stable_log(logarithm: sp.log) -> sp.Expr:
    """``log(exp(u) + exp(v) + ...)``, positive constants among the exponentials, without overflow."""
    terms = sp.Add.make_args(logarithm.args[0])
    exponents = [sp.expand_log(sp.log(term), force=True) for term in terms]
    logarithms = set().union(*(exponent.atoms(sp.log) for exponent in exponents))
    if not all(term.is_positive for term in terms) or any(inner.free_symbols for inner in logarithms):
        return logarithm
    return reduce(logaddexp, exponents)


_STABLE = (expm1_opt, ReplaceOptim(lambda e: isinstance(e, sp.log), _stable_log))  # in the place of what loses digits


def in_arrays(expr: sp.Expr, variables: Sequence[sp.Symbol]) -> Operation:
    """A formula as a function of arrays, one for each variable, in their precision.

    Raises:
        UnsupportedLayer: it has other symbols, or functions that SciPy does not have.
    """
    stable = reduce(lambda e, rule: e.replace(rule.query, rule.value), _STABLE, _sound(expr))
    return _compiled(stable, variables, _ArrayPrinter)


def in_mpmath(expr: sp.Expr, variables: Sequence[sp.Symbol]) -> Operation:
    """A formula as a function of numbers of mpmath, in its current precision.

    Raises:
        UnsupportedLayer: it has other symbols, or functions that mpmath does not have.
    """
    function = _compiled(_sound(expr), variables, _MpmathPrinter, _MPMATH)
    return lambda *values: mp.mpmathify(function(*values))


def _sound(expr: sp.Expr) -> sp.Expr:
    """The formula in SymPy's functions, without delta functions."""
    if expr.has(sp.I, sp.zoo):
        raise UnsupportedLayer(f"numbers of {expr}", "it is not a real number", "give every parameter a number")
    return written_out(expr).replace(sp.DiracDelta, lambda *_: sp.S.Zero)


def _compiled(
    expr: sp.Expr,
    variables: Sequence[sp.Symbol],
    printer: type[AbstractPythonCodePrinter],
    replacements: Mapping[str, Operation] = MappingProxyType({}),
) -> Operation:
    """A function in code of a printer. Names that the replacements lack are imported, none but the ones in use."""
    if unknown := expr.free_symbols - set(variables):
        names = ", ".join(sorted(map(str, unknown)))
        raise UnsupportedLayer(f"numbers of {expr}", f"{names} has no value", "give every parameter a number")
    settings = {"fully_qualified_modules": False, "inline": True}
    return sp.lambdify(variables, expr, dict(replacements), printer(settings), dummify=True, cse=True)


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
        self.in_arrays = in_arrays(expr, [variable])

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
        if (lost := ~np.isfinite(result)).any():  # exp(z)/(1 + exp(z)) at z = 1000 and the like
            result = result.copy()
            result[lost] = self._rounded(u[lost].astype(np.longdouble))  # the largest is 1e4932 on most machines
        if (lost := ~np.isfinite(result)).any():  # by mpmath, which has no largest number, point by point
            with mp.workdps(30):
                values = [self.precise(mp.mpf(point)) if np.isfinite(point) else mp.nan for point in u[lost]]
            result[lost] = [float(value) if isinstance(value, mp.mpf) else np.nan for value in values]
        return result

    @cached_property
    def slope(self) -> NumericFunction:
        """The derivative away from switching points: delta functions are dropped."""
        return NumericFunction(self.expr.diff(self.variable), self.variable)

    @cached_property
    def precise(self) -> Callable[[mp.mpf], mp.mpf]:
        """The function at mpmath's current precision."""
        return in_mpmath(self.expr, [self.variable])

    @cached_property
    def breaks(self) -> tuple[mp.mpf, ...]:
        """Where the formula switches from one smooth piece to another, increasing."""
        return switch_points(self.expr, self.variable)

    def _rounded(self, u: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            try:
                values = np.asarray(self.in_arrays(np.atleast_1d(u)), dtype=float)  # numpy.select takes no numbers
            except TypeError:  # SciPy takes no long doubles
                return np.full_like(u, np.nan)
        return values.reshape(u.shape) if values.size == u.size else np.broadcast_to(values, u.shape)


def activation_function(atom: Phi, values: dict[sp.Symbol, sp.Expr]) -> NumericFunction:
    """The function ``phi^(k)`` of an atom ``Phi(formula, u, k, *parameters)``, from the declared formula.

    Derivatives are taken away from switching points: delta functions are dropped.
    """
    numbers = {
        parameter: sp.sympify(value).subs(values)
        for parameter, value in zip(atom.formula.parameters, atom.args[3:], strict=True)
    }
    expr = atom.formula.expr.subs(numbers, simultaneous=True)
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
    zeros: list[mp.mpf] = []
    with mp.workdps(digits):
        for control in controls:
            if control.free_symbols == {variable}:
                zeros.extend(_zeros(control, variable, digits))
        unique: list[mp.mpf] = []
        for point in sorted(zeros):
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
    value = in_mpmath(control, [variable])
    grid = [mp.sinh(mp.mpf(k) / 50) for k in range(-700, 701)]
    signs = [mp.sign(value(point)) for point in grid]
    zeros = [point for point, sign in zip(grid, signs, strict=True) if sign == 0]
    for left, right, a, b in zip(grid, grid[1:], signs, signs[1:], strict=False):
        if a * b < 0:
            for _ in range(mp.mp.prec + 10):  # bisection: the control may itself have kinks
                middle = (left + right) / 2
                left, right = (middle, right) if mp.sign(value(middle)) == a else (left, middle)
            zeros.append((left + right) / 2)
    return zeros


def _unrounded(value: sp.Expr, digits: int) -> mp.mpf:
    """A sympy number as mpf with all its digits, whatever mpmath's current precision is."""
    return mp.make_mpf(sp.Float(value, digits)._mpf_)


# ---- where chi_perp is infinite ------------------------------------------------------------------------------------


def infinitely_steep(forward: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> bool | None:
    """Whether an activation of a forward equation jumps or rises like a root, which makes chi_perp infinite.

    It is read off its values, not its derivatives: a jump of 10^-14 makes the average of phi'(z)^2 infinite as a jump
    of 1 does, but no difference of neighbours in double precision sees it. The formula itself is asked at its switching
    points, at distances and with digits below any number that can be written in it. Near a place where phi ~ |u|^a the
    average of phi'^2 is that of u^(2a - 2), which is finite for a > 1/2 only.

    Returns:
        None if it cannot be told: a formula that has no real value beside one of its switching points.
    """
    answers = set()
    for atom in forward.atoms(Phi):
        function = activation_function(atom, dict(values))
        with mp.workdps(_STEEP_DIGITS):
            switches = switch_points(function.expr, function.variable, _STEEP_DIGITS)
            answers |= {_steep_at(function.precise, switch) for switch in switches}
    if True in answers:
        return True
    return None if None in answers else False


def _steep_at(value: Callable[[mp.mpf], mp.mpf], place: mp.mpf) -> bool | None:
    """Whether a function jumps or rises like a root at a switching point; None if it has no real value beside it."""
    distances = [(1 + abs(place)) * mp.mpf(10) ** power for power in _DISTANCES]
    left, right = ([value(place + side * distance) for distance in distances] for side in (-1, 1))
    if not all(isinstance(number, mp.mpf | int) for number in (*left, *right)):
        return None
    noise = max(map(abs, (*left, *right))) * mp.mpf(10) ** (_LOST_DIGITS - _STEEP_DIGITS)
    # what is still between the two sides, where neither has changed as much on the way there, stays
    if abs(left[2] - right[2]) > noise + sum(abs(side[1] - side[2]) for side in (left, right)):
        return True
    for side in (left, right):  # whether its values approach their limit with at most the root of the distance
        outer, inner = abs(side[0] - side[1]), abs(side[1] - side[2])
        if inner > noise and mp.log10(outer / inner) <= (_ROOT + _EXACT) * _STEP:
            return True
    return False
