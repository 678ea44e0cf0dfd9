"""Integrands: sums of products of functions of one Gaussian variable each."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction, product, split
from ...core.errors import NoClosedForm
from ...core.symbols import z

Term = tuple[sp.Expr, tuple[PiecewiseFunction, ...]]  # (coefficient, one factor per variable)
ONE = PiecewiseFunction((), (sp.Integer(1),))


def separate(integrand: sp.Expr, bound: Sequence[sp.Symbol]) -> tuple[Term, ...]:
    """An integrand as a sum of coefficients times products of functions, one of each variable; the same product once.

    Args:
        integrand: an expression in activations and the variables.
        bound: the variables; a product without one of them has the function 1 there.

    Raises:
        NoClosedForm: a factor depends on two variables at once.
    """
    collected: dict[tuple[PiecewiseFunction, ...], sp.Expr] = {}
    for summand in sp.Add.make_args(distributed(integrand)):
        coefficient = sp.Integer(1)
        factors = [ONE] * len(bound)
        for factor in sp.Mul.make_args(summand):
            depends = [k for k, x in enumerate(bound) if factor.has(x)]
            if not depends:
                coefficient *= factor
                continue
            if len(depends) > 1:
                raise NoClosedForm(
                    f"the average of {integrand}",
                    f"{factor} depends on {len(depends)} Gaussian variables at once",
                    "write the layer so that every activation has a Gaussian argument",
                )
            (k,) = depends
            piece = pieces_of(factor, bound[k])
            factors[k] = piece if factors[k] is ONE else factors[k].map(product, piece)
        key = tuple(factors)
        collected[key] = collected.get(key, sp.Integer(0)) + coefficient
    return tuple((c, key) for key, c in collected.items() if c != 0)


def pieces_of(function: sp.Expr, x: sp.Symbol) -> PiecewiseFunction:
    """A function of one bound variable between its breakpoints; activation atoms are expanded to their formulas."""
    if isinstance(function, Phi):
        inner = pieces_of(function.argument, x)
        if inner == PiecewiseFunction((), (z,)):
            return function.pieces
        return split(function.pieces.as_expr().subs(z, inner.as_expr()))
    if isinstance(function, sp.Pow) and function.exp.is_Integer:
        return pieces_of(function.base, x).map(lambda u: u**function.exp)
    if not function.has(Phi):
        return split(function.subs(x, z))
    first, *others = (pieces_of(argument, x) for argument in function.args)
    return first.map(function.func, *others)


def distributed(whole: sp.Expr) -> sp.Expr:
    """A product of sums as a sum of products; denominators, which sympy would multiply out as well, stay factors."""
    denominators = [p for p in whole.atoms(sp.Pow) if p.base.is_Add and p.exp.could_extract_minus_sign()]
    names = {p: sp.Dummy() for p in denominators}
    return sp.expand(whole.xreplace(names), deep=False).xreplace({name: p for p, name in names.items()})
