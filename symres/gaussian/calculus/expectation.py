"""The unevaluated Gaussian average, and the law of its variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import sympy as sp
from flint import arb
from sympy.printing.printer import Printer

from ...core.atoms import AverageNode
from ...core.errors import DeclarationError
from ...core.symbols import variables
from ...functions.balls import as_float
from ...functions.floats.averages_at import average_at
from ...functions.floats.float_averages import FloatFunction, average
from ..quadrature.average_ball import average_ball
from .derivatives import covariance_derivative, in_variable, parameter_derivative
from .integrand import Term, separate


@dataclass(frozen=True)
class Gaussian:
    """The law of jointly Gaussian variables x1, x2, ...

    Args:
        covariance: upper triangle of the covariance matrix, row by row: (K,) or (K1, C, K2).
        mean: of each variable; empty if all are 0.
    """

    covariance: tuple[sp.Expr, ...]
    mean: tuple[sp.Expr, ...] = ()

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return int((sp.sqrt(8 * len(self.covariance) + 1) - 1) / 2)

    def shifted(self, integrand: sp.Expr) -> sp.Expr:
        """The integrand over centred variables: a mean is added to its variable."""
        shifts = {x: x + m for x, m in zip(variables, self.mean, strict=False) if m != 0}
        return sp.sympify(integrand).subs(shifts, simultaneous=True)

    def expectation(self, integrand: sp.Expr) -> sp.Expr:
        """The unevaluated average."""
        return Expectation(self.shifted(integrand), *self.covariance)

    @property
    def entries(self) -> tuple[tuple[int, int], ...]:
        """The index pairs of ``covariance``."""
        return tuple(combinations_with_replacement(range(self.dimension), 2))

    @property
    def matrix(self) -> sp.Matrix:
        """The covariance matrix."""
        result = sp.zeros(self.dimension)
        for (i, j), value in zip(self.entries, self.covariance, strict=True):
            result[i, j] = result[j, i] = value
        return result

    def conditional(self, k: int, place: sp.Expr) -> tuple[sp.Expr, Gaussian]:
        """The density of variable k at a place, and the law of the others given that it is there."""
        matrix, mean = self.matrix, self.mean or (sp.Integer(0),) * self.dimension
        variance, distance = matrix[k, k], place - mean[k]
        others = [m for m in range(self.dimension) if m != k]
        covariance = (
            matrix[a, b] - matrix[a, k] * matrix[b, k] / variance for n, a in enumerate(others) for b in others[n:]
        )
        means = (mean[m] + matrix[m, k] / variance * distance for m in others)
        density = sp.exp(-(distance**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
        return density, Gaussian(tuple(covariance), tuple(means))


class Expectation(AverageNode, sp.Expr):
    """``<f(x1, ..., xd)>`` over centred jointly Gaussian variables.

    Args:
        integrand: expression in the bound variables ``x1..xd`` with activation atoms, a sum of products of
            functions of one variable.
        covariance: the upper triangle of the covariance matrix, row by row: (K,) or (K1, C, K2).
    """

    is_commutative = True
    is_extended_real = True
    is_real = True

    def __new__(cls, integrand: sp.Expr, *covariance: sp.Expr) -> sp.Expr:
        """The average, with constant factors in front; where numbers tell that two variables are one, over that one.

        Of a variable whose variance is 0 it is the value there, at a jump the mean of both sides.
        """
        integrand, covariance = sp.sympify(integrand), tuple(map(sp.sympify, covariance))
        if len(covariance) == 3:
            one, both, other = covariance
            if both == 0 and 0 in (one, other):  # independent: also at a jump the one that vanishes is on both sides
                return sp.Add(
                    *(
                        c * cls(in_variable(f, variables[0]), one) * cls(in_variable(g, variables[0]), other)
                        for c, (f, g) in separate(integrand, variables[:2])
                    )
                )
            if all(c.is_number for c in covariance) and sp.expand(one * other - both**2) == 0:
                integrand, covariance = integrand.subs(variables[1], both / one * variables[0]), (one,)
        constant, function = integrand.as_independent(*variables, as_Add=False)
        if function == 1:
            return constant
        if covariance == (0,) and (value := _at_zero(function)) is not None:
            return constant * value
        number, function = function.primitive() if function.is_Add else (sp.S.One, function)
        return number * constant * super().__new__(cls, function, *covariance)

    @property
    def integrand(self) -> sp.Expr:
        """What is averaged, in the bound variables."""
        return self.args[0]

    @property
    def covariance(self) -> tuple[sp.Expr, ...]:
        """The upper triangle of the covariance matrix, row by row."""
        return self.args[1:]

    @property
    def law(self) -> Gaussian:
        """The law, centred: means stand in the integrand."""
        return Gaussian(self.covariance)

    @property
    def dimension(self) -> int:
        """The number of Gaussian variables."""
        return self.law.dimension

    @property
    def free_symbols(self) -> set[sp.Symbol]:
        """The symbols that need a value: all but the bound variables."""
        return set().union(*(a.free_symbols for a in self.args)) - set(variables)

    @property
    def is_number(self) -> bool:
        """Whether it has a value: nothing is left to substitute."""
        return not self.free_symbols

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The integrand as (coefficient, one factor per variable), the same factors only once.

        Raises:
            NoClosedForm: a factor depends on two variables at once.
        """
        return separate(self.integrand, variables[: self.dimension])

    # ---- evaluation --------------------------------------------------------------------------------------------

    @property
    def _ball_arguments(self) -> tuple[sp.Expr, ...]:
        """Enclosed before ``_ball`` is called with the results: the covariances, then the coefficients of the terms."""
        return (*self.covariance, *(coefficient for coefficient, _ in self.terms))

    def _ball(self, arguments: list[arb], bits: int) -> arb:
        size = len(self.covariance)
        covariance, coefficients = tuple(arguments[:size]), arguments[size:]
        for symbol in self._parameters:
            raise DeclarationError(
                f"a number for {self}", f"the parameter {symbol} has no value", f"pass {symbol}=... as a number"
            )
        averages = (average_ball(factors, covariance, bits) for _, factors in self.terms)
        return sum((c * average for c, average in zip(coefficients, averages, strict=True)), arb(0))

    @cached_property
    def _parameters(self) -> list[sp.Symbol]:
        return sorted(set().union(*(f.free_symbols for _, fs in self.terms for f in fs)), key=str)

    @property
    def float_arguments(self) -> tuple[sp.Expr, ...]:
        """The covariances, the coefficients of the terms, and the parameters of the functions."""
        return (*self._ball_arguments, *self._parameters)

    def float_value(self, *arguments: Any) -> Any:
        """The sum over the terms.

        Raises:
            NoClosedForm: for numbers, where floating-point numbers overflow or a function oscillates.
        """
        size, count = len(self.covariance), len(self.terms)
        covariance, coefficients = arguments[:size], arguments[size : size + count]
        values = dict(zip(self._parameters, arguments[size + count :], strict=True))
        of_numbers = all(isinstance(a, int | float) for a in (*covariance, *values.values()))
        return sum(
            c * (average if of_numbers else average_at)(tuple(map(FloatFunction, factors)), covariance, values)
            for c, (_, factors) in zip(coefficients, self.terms, strict=True)
        )

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        return as_float(self, prec)

    # ---- calculus ----------------------------------------------------------------------------------------------

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        if s in variables:
            return sp.Integer(0)
        result = sp.Integer(0)
        for (i, j), value in zip(self.law.entries, self.covariance, strict=True):
            slope = value.diff(s)
            if slope != 0:
                result += slope * covariance_derivative(self, self.law, i, j)
        if self.integrand.has(s):
            result += parameter_derivative(self, self.law, s)
        return result

    # ---- printing ----------------------------------------------------------------------------------------------

    def _printed_parts(self, printer: Printer) -> tuple[str, str]:
        """The integrand and the law."""
        return printer._print(self.printed_integrand), ", ".join(map(printer._print, self.covariance))

    def _sympystr(self, printer: Printer) -> str:
        integrand, law = self._printed_parts(printer)
        return f"<{integrand}>_{{{law}}}"

    def _latex(self, printer: Printer) -> str:
        integrand, law = self._printed_parts(printer)
        return rf"\left\langle {integrand} \right\rangle_{{{law}}}"


def _at_zero(integrand: sp.Expr) -> sp.Expr | None:
    """The average of a function of the first variable where that is 0; None where it is infinite or undecided."""
    try:
        value = sp.Add(*(c * f.at_zero for c, (f,) in separate(integrand, variables[:1])))
    except DeclarationError:  # a parameter decides on which side of a breakpoint 0 is
        return None
    return None if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo) else value
