"""Gaussian variables of a layer as linear forms in its sources, and averages of products of functions of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import sympy as sp

from ...activations.atom import Phi
from ...core.errors import UnsupportedLayer
from ...core.symbols import variables
from ...functions.records.softmax_family import SoftmaxOverlap
from ...gaussian.calculus.distributions import averaged, has_deltas
from ...gaussian.calculus.expectation import Expectation, Gaussian
from ...layers.layouts import Label

T = TypeVar("T")
Place = tuple[sp.Symbol, Label]  # a source at a place of the network
Form = tuple[tuple[Place, sp.Expr], ...]  # coefficients, sorted
Covariance = Callable[[Place, Place], sp.Expr]

_MOST = 2  # variables inside activations at once: the engine knows averages over one and two


def form(coefficients: Iterable[tuple[Place, sp.Expr]]) -> Form:
    """The linear form with these coefficients; equal places are added."""
    total: dict[Place, sp.Expr] = {}
    for place, c in coefficients:
        total[place] = total.get(place, sp.Integer(0)) + c
    kept = ((place, c) for place, c in total.items() if c != 0)
    return tuple(sorted(kept, key=lambda item: (item[0][0].name, item[0][1].is_tangent, item[0][1])))


def lowest_terms(expression: sp.Expr) -> sp.Expr:
    """A sum whose terms over one denominator are one quotient in lowest terms: (g*K + S)/(g*K + S) = 1."""
    if not any(p.exp.could_extract_minus_sign() for p in expression.atoms(sp.Pow)):
        return expression
    averages = expression.atoms(Expectation, SoftmaxOverlap)
    names = {average: sp.Dummy(real=True) for average in sorted(averages, key=str)}
    back = {name: average for average, name in names.items()}
    numerators: dict[sp.Expr, list[sp.Expr]] = {}
    for term in sp.Add.make_args(sp.expand_mul(expression.xreplace(names))):
        above, below = _fraction(term)
        numerators.setdefault(below, []).append(above)
    total = sp.Add(*(_reduced_quotient(sp.Add(*above), below) for below, above in numerators.items()))
    divided = [term for term in sp.Add.make_args(total) if sp.fraction(term)[1].has(sp.Add)]
    if len(divided) > 1:  # S/(1 + S) + X/((1 + S)*X) = 1, of a norm after a sum
        whole = sp.cancel(sp.together(total))
        total = total if sp.fraction(whole)[1].has(sp.Add) else whole
    return total.xreplace(back)


def _fraction(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Numerator and denominator; sums in this have coprime integer coefficients, so that proportional ones are one."""
    number, rest = term.as_coeff_Mul()
    above, below = sp.fraction(rest)
    factors = []
    for factor in sp.Mul.make_args(below):
        base, exponent = factor.as_base_exp()
        content, primitive = base.primitive() if base.is_Add else (sp.Integer(1), base)
        above /= content**exponent
        factors.append(primitive**exponent)
    return number * above, sp.Mul(*factors)


def _reduced_quotient(above: sp.Expr, below: sp.Expr) -> sp.Expr:
    quotient = sp.factor_terms(above) / below
    if not (above.is_Add and below.has(sp.Add)):
        return quotient
    cancelled = sp.cancel(quotient)
    return quotient if sp.fraction(cancelled)[1].has(sp.Add) else cancelled


def components(members: Iterable[T], tied: Callable[[T, T], bool]) -> list[list[T]]:
    """Members in groups, so that no two of different groups are tied."""
    groups: list[list[T]] = []
    for one in members:
        near = [group for group in groups if any(tied(one, other) for other in group)]
        merged = [*(other for group in reversed(near) for other in group), one]
        groups = [*(group for group in groups if group not in near), merged]
    return groups


class Averager:
    """One average: its Gaussian variables are the distinct forms that occur in the integrand.

    Args:
        covariance: of two sources at inputs.
        jumps: whether the integrand contains slopes of functions that jump.

    Attributes:
        forms: of the variables.
        names: the symbols of the variables.
    """

    def __init__(self, covariance: Covariance, jumps: bool = False) -> None:
        self._of_places = covariance
        self.forms: list[Form] = []
        self.names: list[sp.Dummy] = []
        self._jumps = jumps

    def variable(self, linear: Form) -> sp.Expr:
        """The variable of a form; one that is a multiple of another is that multiple, for their law is singular."""
        for known, name in zip(self.forms, self.names, strict=True):
            ratio = _ratio(linear, known)
            if ratio is not None:
                return ratio * name
        self.forms.append(linear)
        self.names.append(sp.Dummy("w", real=True))
        return self.names[-1]

    def used(self, expression: sp.Expr) -> list[int]:
        """The numbers of the variables that occur."""
        return [k for k, w in enumerate(self.names) if expression.has(w)]

    def connected(self, used: Sequence[int]) -> list[list[int]]:
        """Variables in groups that are independent of one another."""
        return [sorted(group) for group in components(used, lambda j, k: self.covariance(j, k) != 0)]

    def average(self, integrand: sp.Expr) -> sp.Expr:
        """The average of a polynomial in variables and in functions of them, in unevaluated averages.

        Raises:
            UnsupportedLayer: one product has more than two variables inside its functions.
        """
        return sp.Add(*(self._product(sp.Mul.make_args(term)) for term in self._terms(integrand)))

    def _terms(self, integrand: sp.Expr) -> Sequence[sp.Expr]:
        """The products of a sum; functions of the variables, and what stands outside of them, are left as they are."""
        outer = [e for e in integrand.atoms(Phi, sp.Pow, Expectation) if not _is_power(e) or not e.has(*self.names)]
        masks = {e: sp.Dummy() for e in sorted(outer, key=str)}
        back = {mask: e for e, mask in masks.items()}
        expanded = sp.expand(integrand.xreplace(masks), power_base=False, power_exp=False, log=False, basic=False)
        return [term.xreplace(back) for term in sp.Add.make_args(expanded)]

    def _product(self, factors: Sequence[sp.Expr]) -> sp.Expr:
        """The average of one product: factors of independent variables separate."""
        used = {factor: self.used(factor) for factor in factors}
        outside = sp.Mul(*(f for f in factors if not used[f]))
        groups = components(
            [f for f in factors if used[f]],
            # a variable of variance 0 is tied to itself: the mean of a product of jumps is none of means
            lambda f, g: any(i == j or self.covariance(i, j) != 0 for i in used[f] for j in used[g]),
        )
        return outside * sp.Mul(*map(self._connected, groups))

    def _connected(self, factors: list[sp.Expr]) -> sp.Expr:
        """The average of powers of some variables times functions of others."""
        powers: dict[int, int] = {}
        functions: list[sp.Expr] = []
        for factor in factors:
            base, exponent = factor.as_base_exp()
            if base in self.names and exponent.is_Integer and exponent > 0:
                powers[self.names.index(base)] = powers.get(self.names.index(base), 0) + int(exponent)
            else:
                functions.append(factor)
        inside = [k for k, w in enumerate(self.names) if any(f.has(w) for f in functions)]
        here = sp.Mul(*functions, *(self.names[k] ** power for k, power in powers.items() if k in inside))
        outer = [k for k, power in powers.items() if k not in inside for _ in range(power)]
        return self._reduced(outer, here, inside)

    def _reduced(self, outer: list[int], here: sp.Expr, inside: list[int]) -> sp.Expr:
        """Variables outside of all functions are averaged over, given those inside, or by Stein's lemma."""
        if len(inside) > _MOST:
            raise UnsupportedLayer(
                f"the average of {here}",
                f"it needs {len(inside)} correlated Gaussian variables at once",
                f"write the layer so that the activations of a product have at most {_MOST} different arguments",
            )
        if not outer:
            return self._expectation(inside, here)
        first, *rest = outer
        if not inside:  # Isserlis
            pairs = ((self.covariance(first, k), rest[:n] + rest[n + 1 :]) for n, k in enumerate(rest))
            return sp.Add(*(c * self._reduced(others, here, inside) for c, others in pairs if c != 0))
        if len(inside) == 1 or any(has_deltas(phi, fewer=0) for phi in here.atoms(Phi)):
            return self._given_inside(outer, here, inside)
        return self._by_stein(outer, here, inside)

    def _given_inside(self, outer: list[int], here: sp.Expr, inside: list[int]) -> sp.Expr:
        """The first outer variable is its mean, given those inside, and a rest that is independent of them."""
        first, *rest = outer
        matrix = sp.Matrix(len(inside), len(inside), lambda i, j: self.covariance(inside[i], inside[j]))
        row = sp.Matrix([[self.covariance(first, k) for k in inside]])
        shares = [lowest_terms(share) for share in row * matrix.adjugate() / matrix.det()]
        total = sp.Integer(0)
        for k, share in zip(inside, shares, strict=True):
            if share != 0:
                total += share * self._reduced(rest, here * self.names[k], inside)
        for n, other in enumerate(rest):
            known = (share * self.covariance(k, other) for k, share in zip(inside, shares, strict=True))
            apart = self.covariance(first, other) - sp.Add(*known)
            if sp.expand(apart) != 0:
                total += lowest_terms(apart) * self._reduced(rest[:n] + rest[n + 1 :], here, inside)
        return total

    def _by_stein(self, outer: list[int], here: sp.Expr, inside: list[int]) -> sp.Expr:
        """``<w F> = sum_k <w w_k> <d_k F>``: it holds for parallel inputs, whose covariance has no inverse, too."""
        first, *rest = outer
        self._jumps = True  # slopes may be those of jumps
        total = sp.Integer(0)
        for n, other in enumerate(rest):
            if (c := self.covariance(first, other)) != 0:
                total += c * self._reduced(rest[:n] + rest[n + 1 :], here, inside)
        for k in inside:
            if (c := self.covariance(first, k)) != 0:
                slope = here.diff(self.names[k])
                total += c * sp.Add(*(self._connected_after(rest, term) for term in sp.Add.make_args(slope)))
        return total

    def _connected_after(self, outer: list[int], term: sp.Expr) -> sp.Expr:
        """A term of a slope: a function may have become a number, or a power a lower one."""
        rest = sp.Mul(term, *(self.names[k] for k in outer))
        return self.average(rest)

    def _expectation(self, used: list[int], integrand: sp.Expr) -> sp.Expr:
        names = {self.names[k]: x for k, x in zip(used, variables, strict=False)}
        law = tuple(self.covariance(i, j) for p, i in enumerate(used) for j in used[p:])
        inner = integrand.xreplace(names)
        _require_separate(inner, len(used))
        return averaged(inner, Gaussian(law)) if self._jumps else Expectation(inner, *law)

    def covariance(self, i: int, j: int) -> sp.Expr:
        """Of the variables with these numbers."""
        return self.between(self.forms[i], self.forms[j])

    def between(self, one: Form, other: Form) -> sp.Expr:
        """The covariance of two forms."""
        return lowest_terms(sp.Add(*(c * d * self._of_places(p, q) for p, c in one for q, d in other)))


def _require_separate(integrand: sp.Expr, dimension: int) -> None:
    """Refuse activations of a nonlinear function of two variables.

    Raises:
        UnsupportedLayer: the first one.
    """
    for phi in sorted(integrand.atoms(Phi), key=str):
        if sum(phi.argument.has(x) for x in variables[:dimension]) > 1:
            raise UnsupportedLayer(
                f"the average of {phi}",
                "its argument is not a linear combination of Gaussian neurons, but depends on two of them",
                "put a Dense around the argument",
            )


def _is_power(e: sp.Expr) -> bool:
    """Whether it is a whole power, which can be multiplied out."""
    return bool(e.is_Pow and e.exp.is_Integer and e.exp > 0)


def _ratio(one: Form, other: Form) -> sp.Expr | None:
    """The number or parameter by which one form is another's multiple, if there is one."""
    if [place for place, _ in one] != [place for place, _ in other]:
        return None
    ratios = {sp.cancel(c / d) for (_, c), (_, d) in zip(one, other, strict=True)}
    return ratios.pop() if len(ratios) == 1 else None
