"""Expansions of the fixed point beside a critical point, in powers of the distance of one parameter from it.

With ``x = K - K0`` and ``d = p - p0`` the fixed point solves ``F(x, d) = K' - K = 0``, a double series. The Newton
polygon of F gives the leading power ``x ~ c*d**(a/q)``, and each further coefficient then solves a linear equation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations, product

import mpmath as mp
import sympy as sp

from ...core.display import Fact, Shown
from ...core.errors import NoClosedForm
from ...core.proof import Proof
from ...core.scalars import number
from ...core.symbols import C_W, C_b, K, place
from ...functions.balls import enclose, evaluate
from ...functions.roots.root import ImplicitNumber, Value
from ...gaussian.algebra.canonical import canonical
from ...gaussian.calculus.expectation import Expectation
from ...notation.shortest import symbols as length_of
from ...notation.shortest import tidy_factors
from ...results.critical_point import CriticalPoint
from ...results.quantity import Quantity, Status, Verification
from ..quantities.expansion import terms_of
from .critical_conditions import Maps, expression_of
from .parameter_effects import at_generic, generic_sign

_ASKED = "the fixed point beside a critical point"
_BITS, _ZERO = 200, 1e-40  # of a coefficient that vanishes
_FIRST = 4  # order of the double series in which the leading power is looked for
_LONGEST = 12  # symbols of a number that is written out
_NEARBY = (Fraction(1, 10**12), Fraction(1, 10**16))  # distances at which an expansion is compared
_LARGEST = 1e4  # of a coefficient over the first, where the one behind the last is 0
_DIGITS, _FEW = 80, 15  # of that comparison, where terms of all orders cancel, and of sizes

DoubleSeries = Mapping[tuple[int, int], sp.Expr]  # coefficients by the powers of x and d


@dataclass(frozen=True, repr=False)
class NearCriticality(Shown):
    """The fixed point beside a critical point, in powers of the distance of one parameter.

    Args:
        K: the kernel in which networks end.
        chi_perp: the susceptibility there.
        exists: the side of the critical point on which it is.

    Examples:
        >>> beside = sr.derive("sin").near_criticality("C_W", order=2)
        >>> beside.K.expr, beside.exists
        (C_W - (C_W - 1)**2/3 - 1, C_W > 1)
    """

    K: Quantity
    chi_perp: Quantity
    exists: sp.Basic

    def _title(self) -> str:
        return "fixed point beside a critical point"

    def _facts(self) -> Iterator[Fact]:
        for quantity in (self.K, self.chi_perp):
            yield quantity._facts()[0]
        yield Fact("where", str(self.exists))


def near_criticality(maps: Maps, point: CriticalPoint, parameter: sp.Symbol, order: int) -> NearCriticality:
    """Expand the fixed point in the distance of a parameter from its critical value.

    Args:
        maps: of the layer.
        point: the critical point.
        parameter: C_W or C_b.
        order: number of terms of the kernel.

    Raises:
        NoClosedForm: the maps have no expansion in integer powers there; no fixed point begins there.
    """
    flow, _, perp = maps
    at = _Place(point, parameter)
    branch = _branch(at, at.double_series(flow, _FIRST, K))
    most = (branch.weight + order + 1) // min(branch.power, branch.root) + 1
    longer = branch.expanded(at.double_series(flow, most, K), order + 1)
    branch = replace(longer, terms=longer.terms[:-1])
    chi = branch.inserted(at.double_series(perp, order + 1, sp.Integer(0)), branch.power + order - 1)
    kernels = [at.kernel, *[sp.Integer(0)] * (branch.power - 1), *branch.terms]
    kernel = _series("K_star", "K^*", "kernel in which a network ends", at, branch, kernels)
    verified = replace(kernel, verifications=(_verification(kernel, flow, at, longer),))
    susceptibility = _series("chi_perp_star", r"\chi_\perp^*", "chi_perp there", at, branch, [*map(_written, chi)])
    side = sp.Gt if branch.side > 0 else sp.Lt
    return NearCriticality(verified, susceptibility, side(parameter, _written(at.values[parameter])))


@dataclass(frozen=True)
class _Place:
    """A critical point, and the parameter that is moved from it."""

    point: CriticalPoint
    parameter: sp.Symbol

    @property
    def kernel(self) -> sp.Expr:
        """K0."""
        return self.point.K

    @property
    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """C_W and C_b at the point."""
        return {C_W: self.point.C_W, C_b: self.point.C_b}

    def double_series(self, quantity: Quantity, most: int, subtracted: sp.Expr) -> DoubleSeries:
        """The coefficients, up to a power of each variable, of a map from which K or 0 is subtracted.

        Raises:
            NoClosedForm: the map has powers of K that are not integers.
        """
        rows: dict[int, sp.Expr]
        if self.kernel == 0:
            terms = terms_of(quantity, most, large=False)
            if not all(power.is_Integer for power in terms):
                raise NoClosedForm(
                    _ASKED, f"{quantity.name} has other powers of K than integers", "use evalf beside it"
                )
            rows = {int(power): value for power, value in terms.items()}
        else:
            formula = expression_of(quantity)
            rows = {i: formula.diff(K, i).subs(K, self.kernel) / sp.factorial(i) for i in range(most + 1)}
        if subtracted == K:
            rows[0], rows[1] = rows.get(0, 0) - self.kernel, rows.get(1, 0) - 1
        cells = {}
        for i, value in rows.items():
            for j in range(most + 1):
                slope = sp.sympify(value).diff(self.parameter, j).subs(self.values) / sp.factorial(j)
                if not _vanishes(slope):
                    cells[i, j] = slope
        return cells


@dataclass(frozen=True)
class _Branch:
    """A solution ``x = sum of terms[k] * e**(power + k)`` with ``e = (side*d)**(1/root)``.

    Args:
        power, root: of the leading term.
        side: the sign of d.
        weight: the power of e in which F vanishes first.
        slope: the leading coefficient of dF/dx, with ``e**(weight - power)``.
        terms: the coefficients.
    """

    power: int
    root: int
    side: int
    weight: int
    slope: sp.Expr
    terms: tuple[sp.Expr, ...]

    def expanded(self, cells: DoubleSeries, order: int) -> _Branch:
        """The solution with so many terms: each solves a linear equation."""
        branch = self
        while len(branch.terms) < order:
            degree = self.weight + len(branch.terms)
            missing = branch.inserted(cells, degree)[degree]
            branch = replace(branch, terms=(*branch.terms, _written(-missing / self.slope)))
        return branch

    def inserted(self, cells: DoubleSeries, degree: int) -> list[sp.Expr]:
        """A double series along the solution: its coefficients by powers of e, up to a degree."""
        series = [*[sp.Integer(0)] * self.power, *self.terms]
        powers, total = [[sp.Integer(1)]], [sp.Integer(0)] * (degree + 1)
        for _ in range(max((i for i, _ in cells), default=0)):
            powers.append(_product(powers[-1], series, degree))
        for (i, j), value in cells.items():
            for k, factor in enumerate(powers[i]):
                if (place := k + self.root * j) <= degree:
                    total[place] += value * self.side**j * factor
        return total


def _branch(at: _Place, cells: DoubleSeries) -> _Branch:
    """The solution that attracts, by the Newton polygon of F.

    Raises:
        NoClosedForm: there is none.
    """
    for (above, below), side in product(permutations(cells, 2), (1, -1)):
        (i, j), (k, m) = above, below
        if i <= k or m <= j or (k == 0 and m == 0):
            continue
        ratio = sp.Rational(m - j, i - k)
        power, root = int(ratio.p), int(ratio.q)
        weight = power * i + root * j
        weights = [power * a + root * b for a, b in cells]
        if min(weights) < weight or weights.count(weight) > 2:
            continue
        value = -cells[below] / cells[above] * side ** (m - j)
        sign, degree = generic_sign(value), i - k
        if sign == 0 or (sign < 0 and degree % 2 == 0):
            continue
        size = _written((sign * value) ** sp.Rational(1, degree))
        for leading in (sign * size, -size) if degree % 2 == 0 else (sign * size,):
            slope = sum(a * c * leading ** (a - 1) * side**b for (a, b), c in cells.items() if (a, b) in (above, below))
            if (at.kernel != 0 or generic_sign(leading) > 0) and generic_sign(slope) < 0:
                return _Branch(power, root, side, weight, slope, (leading,))
    raise NoClosedForm(_ASKED, f"no other fixed point begins there when {at.parameter} moves", "move another parameter")


def _product(left: list[sp.Expr], right: list[sp.Expr], degree: int) -> list[sp.Expr]:
    """The product of two power series up to a degree."""
    total = [sp.Integer(0)] * (min(degree, len(left) + len(right) - 2) + 1)
    for (i, a), (j, b) in product(enumerate(left), enumerate(right)):
        if i + j < len(total):
            total[i + j] += a * b
    return total


def _vanishes(value: sp.Expr) -> bool:
    """Whether a coefficient is 0: as a formula, or to 40 digits."""
    if value.free_symbols:
        return bool(canonical(value) == 0)
    return value == 0 or bool(abs(enclose(value, {}, _BITS)) < _ZERO)


def _written(value: sp.Expr) -> sp.Expr:
    """A coefficient as one reads it: in canonical form, or a number that is known to any number of digits."""
    value = sp.sympify(value)
    if value.free_symbols:
        return tidy_factors(sp.factor(canonical(value)))
    if _vanishes(value):
        return sp.Integer(0)
    if not value.has(Expectation, ImplicitNumber) and length_of(form := canonical(value)) <= _LONGEST:
        return form
    sign = 1 if enclose(value, {}, _BITS) > 0 else -1
    return sign * Value(sign * value)


def _series(name: str, notation: str, meaning: str, at: _Place, branch: _Branch, terms: Sequence[sp.Expr]) -> Quantity:
    """A quantity that is a sum of powers of the distance."""
    distance = branch.side * (at.parameter - _written(at.values[at.parameter]))
    body = sp.Add(*(c * distance ** sp.Rational(k, branch.root) for k, c in enumerate(terms)))
    last = sp.Rational(len(terms) - 1, branch.root)
    return Quantity(
        name=f"{name}_series",
        symbols=tuple(sorted(body.free_symbols, key=place)),
        definition=body,
        body=body,
        status=Status.SERIES,
        notation=notation,
        meaning=f"expansion beside a critical point of: {meaning}",
        proof=Proof(body),
        reason=f"terms up to the power {last} of the distance of {at.parameter} from its critical value",
    )


def _verification(kernel: Quantity, flow: Quantity, at: _Place, longer: _Branch) -> Verification:
    """How far the series is from a fixed point, by quadrature: as far as the next term, which it does not have.

    Raises:
        NoClosedForm: it is farther.
    """
    worst = mp.mpf(0)
    with mp.workdps(_DIGITS):
        for distance in _NEARBY:
            moved = {**at.values, at.parameter: at.values[at.parameter] + longer.side * sp.Rational(distance)}
            here = evaluate(at_generic(kernel.body.subs(moved)), {}, _DIGITS)[0]
            there = {s: number(evaluate(at_generic(e), {}, _DIGITS)[0], s.name) for s, e in moved.items()}
            next_kernel = at_generic(flow.defined.subs({**there, K: number(here, "K")}))
            following = evaluate(next_kernel, {}, _DIGITS)[0]
            step = mp.mpf(distance.numerator) / distance.denominator
            size = step ** (mp.mpf(1) / longer.root)
            slope = evaluate(at_generic(longer.slope), {}, _DIGITS)[0] * size ** (longer.weight - longer.power)
            off = abs((following - here) / slope)
            sizes = [abs(evaluate(at_generic(c), {}, _FEW)[0]) for c in longer.terms]
            left = (sizes[-1] or sizes[0] * _LARGEST) * size ** (longer.power + len(sizes) - 1)
            if off > 2 * left:
                raise NoClosedForm(_ASKED, f"the series is off by {mp.nstr(off, 2)}, a defect of symres", "report it")
            worst = max(worst, off)
    return Verification("the next kernel, by quadrature", len(_NEARBY), float(worst))
