"""Delta functions: the derivative of an activation that jumps is a function and a delta at every jump.

``phi' = (phi' between the jumps) + sum of jump * delta(z - b)``, so a factor phi' adds the density at b times the
average of all other factors given that z is there. A product of two deltas at one input has no average: its square
is infinite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import sympy as sp

from ...activations.atom import Phi
from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import variables, z
from .derivatives import Delta, mean_with_deltas
from .expectation import Gaussian
from .integrand import pieces_of


def averaged(integrand: sp.Expr, law: Gaussian) -> sp.Expr:
    """The unevaluated average of an integrand that may contain slopes of jumping activations.

    Args:
        integrand: in the bound variables.
        law: of the variables.

    Returns:
        A sum of averages of functions and of densities; infinite for the mean square of a delta function.

    Raises:
        NoClosedForm: the average does not exist.
    """
    bound = variables[: law.dimension]
    _require_finite_slopes(integrand)
    singular = {phi: sp.Dummy() for phi in _sorted(integrand.atoms(Phi)) if has_deltas(phi)}
    if not singular:
        return law.expectation(integrand)
    names = list(singular.values())
    owner = {name: next(k for k, x in enumerate(bound) if phi.argument.has(x)) for phi, name in singular.items()}
    atoms = {name: phi for phi, name in singular.items()}
    total = sp.Integer(0)
    for powers, factor in sp.Poly(integrand.xreplace(singular), *names).terms():
        used = [name for name, power in zip(names, powers, strict=True) for _ in range(power)]
        if len({owner[name] for name in used}) < len(used):
            total += _infinite(integrand, factor, powers)
            continue
        # every slope is its regular part (None) or one of its delta functions
        for choice in product(*([None, *_deltas(atoms[name], bound[owner[name]])] for name in used)):
            between = [atoms[name] for name, delta in zip(used, choice, strict=True) if delta is None]
            regular = [phi.pieces.as_expr().subs(z, phi.argument) for phi in between]
            deltas = {owner[name]: delta for name, delta in zip(used, choice, strict=True) if delta is not None}
            total += _average_with_deltas(integrand, sp.Mul(factor, *regular), law, deltas)
    return total


def _require_finite_slopes(integrand: sp.Expr) -> None:
    """Refuse derivatives of activations of which one of lower order is infinitely steep somewhere."""
    for phi in _sorted(integrand.atoms(Phi)):
        for lower in (_lower_order(phi, steps) for steps in range(1, phi.order + 1)):
            if not lower.pieces.has_finite_slopes:
                raise NoClosedForm(
                    f"the average of {integrand}",
                    f"{lower} has an infinite slope",
                    "take the derivative in C of the average of f(z1) f(z2) instead",
                )


def has_deltas(phi: Phi, fewer: int = 1) -> bool:
    """Whether a derivative of the activation jumps whose order is lower by at least ``fewer`` (0: this one too)."""
    return any(not _lower_order(phi, steps).is_continuous for steps in range(fewer, phi.order + 1))


def _lower_order(phi: Phi, steps: int) -> Phi:
    """The derivative of an order that is lower by so many steps."""
    return Phi(phi.formula, phi.argument, sp.Integer(phi.order - steps), *phi.args[3:])


def _deltas(phi: Phi, x: sp.Symbol) -> Iterator[Delta]:
    """The delta functions of a slope, in the bound variable.

    Raises:
        NoClosedForm: it contains derivatives of delta functions, or its argument is not affine.
    """
    if has_deltas(phi, fewer=2):
        raise NoClosedForm(
            f"the average of {phi}", "it contains derivatives of delta functions", "differentiate an average instead"
        )
    steepness = phi.argument.diff(x)
    if steepness.has(x):
        raise NoClosedForm(f"the average of {phi}", "its argument is not affine", "declare the function as a whole")
    below: PiecewiseFunction = _lower_order(phi, 1).pieces
    for b, jump in zip(below.breaks, below.jumps, strict=True):
        if jump != 0:
            # delta(a x + c - b) = delta(x - (b - c)/a)/|a|
            yield Delta(jump / abs(steepness), (b - phi.argument.subs(x, 0)) / steepness)


def _average_with_deltas(asked: sp.Expr, function: sp.Expr, law: Gaussian, deltas: dict[int, Delta]) -> sp.Expr:
    """The average of a function times delta functions of different variables, at whose places it is continuous."""
    for k, delta in deltas.items():
        _require_continuous(asked, function, variables[k], delta.place)
        function = _value_at(function, variables[k], delta.place)
    return mean_with_deltas(law, function, deltas)


def _require_continuous(asked: sp.Expr, function: sp.Expr, x: sp.Symbol, place: sp.Expr) -> None:
    """Refuse a product with a factor that jumps in a variable at a place."""
    for factor in sp.Mul.make_args(function):
        if not factor.has(x):
            continue
        pieces = pieces_of(factor, x)
        if any(
            jump != 0 for b, jump in zip(pieces.breaks, pieces.jumps, strict=True) if (b - place).is_zero is not False
        ):
            raise NoClosedForm(
                f"the average of {asked}",
                f"a delta function at {place} meets a factor that jumps there",
                "write the product as the derivative of one function",
            )


def _value_at(function: sp.Expr, x: sp.Symbol, place: sp.Expr) -> sp.Expr:
    """A continuous function of x at a place; activations are expanded to their formulas there."""
    values = {phi: phi.expanded.subs(x, place) for phi in function.atoms(Phi) if phi.argument.has(x)}
    return function.xreplace(values).subs(x, place)


def _infinite(asked: sp.Expr, factor: sp.Expr, powers: tuple[int, ...]) -> sp.Expr:
    """The mean of the square of a delta function: infinite if its coefficient is positive."""
    if factor.is_positive and all(power % 2 == 0 for power in powers):
        return sp.oo
    raise NoClosedForm(
        f"the average of {asked}", "it contains products of delta functions", "average the functions, not their slopes"
    )


def _sorted(atoms: Iterable[Phi]) -> list[Phi]:
    return sorted(atoms, key=str)
