"""Identities that a closed form must satisfy besides agreeing with quadrature, each checked in numbers.

The derivation is repeated with rational numbers in place of symbols (it meets other branches: no signs are guessed);
the slope in every variance and covariance is an average again, by the theorems of Price and Stein; independent inputs
factorise; two equal inputs are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import sympy as sp
from flint import arb, ctx

from ...activations.piecewise import PiecewiseFunction
from ...core.symbols import K1, K2, C, z
from ...functions.balls import enclose, evaluate, value_and_radius
from ...results.quantity import Verification
from ..calculus.derivatives import covariance_rule
from ..calculus.expectation import Gaussian
from ..quadrature.average_ball import average_ball
from .engine import closed_form
from .verification import Enclosure, Values, verify

_NEARLY_EQUAL = sp.Rational(
    1, 2**160
)  # 1 - correlation of inputs that are taken for equal; the error is of the order of its root

Factors = tuple[PiecewiseFunction, ...]
Terms = list[tuple[sp.Expr, Factors]]  # sum of coefficient * average of a product of functions


@dataclass(frozen=True)
class Identity:
    """One equation that a closed form satisfies.

    Args:
        oracle: its name, for the reader.
        formula: one side of the identity, from the closed form.
        measure: the other side and its radius at given numbers, by quadrature or another derivation.
        kernels: the entries of the law that are free.
    """

    oracle: str
    formula: sp.Expr
    measure: Callable[[Values], Enclosure]
    kernels: tuple[sp.Symbol, ...]


def check_identities(
    asked: str, claim: sp.Expr, factors: Factors, law: tuple[sp.Symbol, ...], bits: int, tolerance: float
) -> tuple[Verification, ...]:
    """Check every identity that applies, each at a random point.

    Args:
        asked: what is verified, for messages.
        claim: the closed form.
        factors: one function of each variable.
        law: the upper triangle of the covariance matrix.
        bits: precision of quadrature.
        tolerance: largest relative deviation that passes.

    Raises:
        NoClosedForm: one of them fails.
    """
    parameters = sorted(set().union(*(f.free_symbols for f in factors)), key=str)
    return tuple(
        verify(
            f"{asked} ({identity.oracle})",
            identity.formula,
            identity.measure,
            [*parameters, *identity.kernels],
            oracle=identity.oracle,
            points=1,
            tolerance=tolerance,
            digits=int(bits / 3.33),
        )
        for identity in identities(claim, factors, law, bits)
    )


def identities(claim: sp.Expr, factors: Factors, law: tuple[sp.Symbol, ...], bits: int) -> Iterator[Identity]:
    """The identities of a closed form; arguments as for ``check_identities``."""
    yield Identity("the derivation repeated with numbers", claim, partial(_repeated, factors, law, bits), law)
    for symbol, terms, theorem in _slopes(factors, law):
        yield Identity(theorem, _derivative(claim, symbol, {}), partial(_measured, terms, law, bits), law)
    if len(law) == 3:
        # both are for numbers, which need no tidier form
        independent = claim.xreplace({C: sp.S.Zero})
        equal = claim.xreplace({K2: K1, C: K1 * (1 - _NEARLY_EQUAL)})
        product = partial(_independent_inputs, factors, (K1, K2), bits)
        yield Identity("independent inputs", independent, product, (K1, K2))
        yield Identity("equal inputs", equal, partial(_equal_inputs, factors, bits), (K1,))


def _derivative(formula: sp.Expr, symbol: sp.Symbol, known: dict[sp.Expr, sp.Expr]) -> sp.Expr:
    """The derivative by the chain rule, each part of the formula once: for numbers, which need no tidier form.

    Args:
        formula: a closed form, or a part of one.
        symbol: of the derivative.
        known: derivatives of parts, to which those of this formula are added.
    """
    if formula == symbol:
        return sp.S.One
    if not formula.has(symbol):
        return sp.S.Zero
    if formula not in known:
        slopes = [_derivative(part, symbol, known) for part in formula.args]
        if isinstance(formula, sp.Add):
            found = sp.Add(*slopes)
        elif isinstance(formula, sp.Mul):
            others = ((*formula.args[:i], *formula.args[i + 1 :]) for i in range(len(slopes)))
            found = sp.Add(*(sp.Mul(slope, *rest) for slope, rest in zip(slopes, others, strict=True) if slope))
        elif isinstance(formula, sp.Pow) and slopes[1] == 0:
            found = formula.exp * formula.base ** (formula.exp - 1) * slopes[0]
        elif isinstance(formula, sp.Function):
            found = sp.Add(*(formula.fdiff(i) * slope for i, slope in enumerate(slopes, 1) if slope))
        else:
            found = formula.diff(symbol)
        known[formula] = found
    return known[formula]


def _repeated(factors: Factors, law: tuple[sp.Symbol, ...], bits: int, values: Values) -> Enclosure:
    numbers = closed_form(tuple(f.subs(values) for f in factors), [values[s] for s in law])
    return evaluate(numbers.result, {}, int(bits / 3.33))


def _slopes(factors: Factors, law: tuple[sp.Symbol, ...]) -> Iterator[tuple[sp.Symbol, Terms, str]]:
    """The derivative in every entry of the law as averages; the two routes of one variance are the same identity."""
    variables = Gaussian(law)
    smooth = [f.is_continuous and f.has_finite_slopes for f in factors]
    for (i, j), symbol in zip(variables.entries, law, strict=True):
        rule = covariance_rule(smooth, variables.matrix, i, j)
        differentiated = [f.diff() if k in rule.slopes else f for k, f in enumerate(factors)]
        terms = [
            (c, tuple(f.map(lambda u, p=p: u * z**p) for f, p in zip(differentiated, powers, strict=True)))
            for c, powers in rule.weight
        ]
        yield symbol, terms, rule.theorem


def _measured(terms: Terms, law: tuple[sp.Symbol, ...], bits: int, values: Values) -> Enclosure:
    balls = tuple(enclose(values[s], {}, bits) for s in law)
    with ctx.workprec(bits):
        total = arb(0)
        for c, factors in terms:
            average = average_ball(tuple(f.subs(values) for f in factors), balls, bits)
            total += enclose(c.subs(values), {}, bits) * average
        return value_and_radius(total)


def _independent_inputs(factors: Factors, kernels: Sequence[sp.Symbol], bits: int, values: Values) -> Enclosure:
    """The product of averages over independent variables."""
    with ctx.workprec(bits):
        total = arb(1)
        for f, k in zip(factors, kernels, strict=True):
            total *= average_ball((f.subs(values),), (enclose(values[k], {}, bits),), bits)
        return value_and_radius(total)


def _equal_inputs(factors: Factors, bits: int, values: Values) -> Enclosure:
    """The average of the product of both functions at one input, their breakpoints in the order that numbers give."""
    one, other = (f.subs(values) for f in factors)
    return _independent_inputs((one.map(lambda u, v: u * v, other),), (K1,), bits, values)
