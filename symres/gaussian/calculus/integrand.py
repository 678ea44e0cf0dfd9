"""Integrands: sums of products of functions of one Gaussian variable each."""

from __future__ import annotations

import sympy as sp

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction, product, split
from ...core.errors import NoClosedForm
from ...core.symbols import variables, z

Term = tuple[sp.Expr, tuple[PiecewiseFunction, ...]]  # (coefficient, one factor per variable)


def separate(integrand: sp.Expr, dimension: int) -> tuple[Term, ...]:
    """Write an integrand as a sum of coefficient times a product of functions of one variable each."""
    bound = variables[:dimension]
    collected: dict[tuple[PiecewiseFunction, ...], sp.Expr] = {}
    for summand in sp.Add.make_args(distributed(integrand)):
        coefficient = sp.Integer(1)
        factors: list[PiecewiseFunction | None] = [None] * dimension
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
            known = factors[k]
            factors[k] = piece if known is None else known.map(product, piece)
        key = tuple(PiecewiseFunction((), (sp.Integer(1),)) if f is None else f for f in factors)
        collected[key] = collected.get(key, sp.Integer(0)) + coefficient
    return tuple((c, key) for key, c in collected.items() if c != 0)


def pieces_of(function: sp.Expr, x: sp.Symbol) -> PiecewiseFunction:
    """A function of one bound variable between its breakpoints; activation atoms are expanded to their formulas."""
    if isinstance(function, Phi):
        inner = pieces_of(function.argument, x)
        if inner == PiecewiseFunction((), (z,)):
            return function.pieces
        return _compose(function.pieces, inner)
    if isinstance(function, sp.Pow) and function.exp.is_Integer:
        return pieces_of(function.base, x).map(lambda u: u**function.exp)
    if not function.has(Phi):
        return split(function.subs(x, z))
    first, *rest = (pieces_of(argument, x) for argument in function.args)
    return first.map(function.func, *rest)


def _compose(outer: PiecewiseFunction, inner: PiecewiseFunction) -> PiecewiseFunction:
    return split(outer.as_expr().subs(z, inner.as_expr()))


def distributed(whole: sp.Expr) -> sp.Expr:
    """A product of sums as a sum of products; denominators, which sympy would multiply out as well, stay factors."""
    denominators = [p for p in whole.atoms(sp.Pow) if p.base.is_Add and p.exp.could_extract_minus_sign()]
    names = {p: sp.Dummy() for p in denominators}
    return sp.expand(whole.xreplace(names), deep=False).xreplace({name: p for p, name in names.items()})
