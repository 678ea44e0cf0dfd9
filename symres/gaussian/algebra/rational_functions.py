"""Rational functions with integer coefficients, exact and fast (flint), and the signs of polynomials.

Everything rational in a Gaussian average (variances, covariances, slopes) lives here, so that "is this variance
zero" has an exact answer; roots and transcendental functions are added by ``radical_forms``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import sympy as sp
from flint import Ordering, fmpz, fmpz_mpoly, fmpz_mpoly_ctx

_CANDIDATES = 200  # random points that are tried when a sign cannot be read off
_MAX_BITS = 1000  # of a coefficient as a floating-point number, which holds 1024
_MAX_POINTS = 40  # points inside the domain after which the search stops


class Frac:
    """A quotient of two polynomials without common factor; the denominator's leading coefficient is positive."""

    __slots__ = ("_hash", "den", "field", "num")

    def __init__(self, field: RationalField, num: fmpz_mpoly, den: fmpz_mpoly) -> None:
        common = num.gcd(den)
        if not common.is_one():
            num, den = num / common, den / common
        if den.leading_coefficient() < 0:
            num, den = -num, -den
        self.field, self.num, self.den = field, num, den
        self._hash: int | None = None

    def __bool__(self) -> bool:
        return not self.num.is_zero()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frac) and self.num == other.num and self.den == other.den

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((frozenset(self.num.to_dict().items()), frozenset(self.den.to_dict().items())))
        return self._hash

    def __add__(self, other: Frac) -> Frac:
        if self.den == other.den:
            return Frac(self.field, self.num + other.num, self.den)
        return Frac(self.field, self.num * other.den + other.num * self.den, self.den * other.den)

    def __sub__(self, other: Frac) -> Frac:
        return self + -other

    def __neg__(self) -> Frac:
        return Frac(self.field, -self.num, self.den)

    def __mul__(self, other: Frac) -> Frac:
        return Frac(self.field, self.num * other.num, self.den * other.den)

    def __truediv__(self, other: Frac) -> Frac:
        if not other:
            raise ZeroDivisionError("division by the zero rational function")
        return Frac(self.field, self.num * other.den, self.den * other.num)

    def __pow__(self, exponent: int) -> Frac:
        if exponent < 0:
            return self.field.one / self**-exponent
        return Frac(self.field, self.num**exponent, self.den**exponent)

    def __repr__(self) -> str:
        return f"({self.num})/({self.den})"

    @property
    def is_constant(self) -> bool:
        """Whether no generator occurs."""
        return self.num.is_constant() and self.den.is_constant()


class RationalField:
    """The field of rational functions in the given symbols and pi, with a domain for the symbols.

    Args:
        symbols: generators; their assumptions bound the domain.

    Attributes:
        generators: the symbols and pi, in an order that depends on names only.
        points: points of the domain, used to read off signs that no rule decides.
    """

    def __init__(self, symbols: Iterable[sp.Symbol]) -> None:
        ordered = sorted(set(symbols), key=lambda s: (s.name, str(sorted(s.assumptions0.items()))))
        self.generators: tuple[sp.Expr, ...] = (*ordered, sp.pi)
        self._context = fmpz_mpoly_ctx.get(tuple(f"g{i}" for i in range(len(self.generators))), Ordering.lex)
        self._one_poly = self._context.constant(1)
        self.zero, self.one = self.integer(0), self.integer(1)
        self._index = {g: i for i, g in enumerate(self.generators)}
        self.positive = tuple(bool(g.is_positive or g.is_nonnegative) for g in self.generators)
        self.unsigned = tuple(not (g.is_nonnegative or g.is_nonpositive) for g in self.generators)
        self.points: list[tuple[float, ...]] = self._candidates()  # restrict() shortens the list
        self._interned: dict[Hashable, int] = {}
        self._values: list[fmpz_mpoly | sp.Expr] = []
        self._signs: dict[int, int] = {}

    # -- making elements
    def integer(self, value: int) -> Frac:
        """An integer."""
        return self.ratio(value, 1)

    def ratio(self, p: int, q: int) -> Frac:
        """A rational number."""
        return Frac(self, self._context.constant(int(p)), self._context.constant(int(q)))

    def generator(self, symbol: sp.Expr) -> Frac:
        """A symbol, or pi."""
        return Frac(self, self._context.gen(self._index[symbol]), self._one_poly)

    def polynomial(self, poly: fmpz_mpoly) -> Frac:
        """A flint polynomial as an element."""
        return Frac(self, poly, self._one_poly)

    def constant_poly(self, value: int) -> fmpz_mpoly:
        """An integer as a flint polynomial."""
        return self._context.constant(int(value))

    def from_dict(self, terms: Mapping[tuple[int, ...], int | fmpz]) -> fmpz_mpoly:
        """A flint polynomial from exponents and coefficients."""
        return self._context.from_dict(terms)

    # -- names for polynomials and other objects, in order of first use
    def intern(self, key: Hashable, value: fmpz_mpoly | sp.Expr) -> int:
        """A number that stands for an object; equal keys get equal numbers."""
        if key not in self._interned:
            self._interned[key] = len(self._values)
            self._values.append(value)
        return self._interned[key]

    def intern_poly(self, poly: fmpz_mpoly) -> int:
        """The number of a polynomial."""
        return self.intern(frozenset(poly.to_dict().items()), poly)

    def interned(self, number: int) -> fmpz_mpoly | sp.Expr:
        """The object with this number."""
        return self._values[number]

    # -- signs
    def restrict(self, conditions: Sequence[Frac]) -> None:
        """Keep only points of the domain where every condition is positive."""
        kept = []
        fractions = [(_in_floats(c.num), _in_floats(c.den)) for c in conditions if not c.is_constant]
        for point in self.points:
            if all(_sign_at(num, point) * _sign_at(den, point) > 0 for num, den in fractions):
                kept.append(point)
            if len(kept) == _MAX_POINTS:
                break
        self.points = kept
        self._signs.clear()

    def sign(self, poly: fmpz_mpoly) -> int:
        """Sign of a polynomial on the whole domain; 0 if it changes or is unknown."""
        number = self.intern_poly(poly)
        if number not in self._signs:
            self._signs[number] = self._find_sign(poly)
        return self._signs[number]

    def sign_of(self, value: Frac) -> int:
        """Sign of a rational function on the domain; 0 if it is zero, changes or is unknown."""
        return self.sign(value.num) * self.sign(value.den)

    def _find_sign(self, poly: fmpz_mpoly) -> int:
        terms = monomials(poly)
        coefficients = {1 if c > 0 else -1 for c in terms.values()}
        if len(coefficients) == 1 and all(
            self.positive[i] or e % 2 == 0 for exponents in terms for i, e in enumerate(exponents)
        ):
            return coefficients.pop()
        floats = _in_floats(poly)
        signs = {_sign_at(floats, point) for point in self.points}
        return signs.pop() if len(signs) == 1 else 0

    def _candidates(self) -> list[tuple[float, ...]]:
        # A fixed seed: the same question finds the same points in every process.
        generator = random.Random(20240)
        found = []
        for i in range(_CANDIDATES):
            spread = 3 if i % 2 else 1
            point = []
            for g in self.generators:
                size = 10 ** generator.uniform(-spread, spread)
                negative = generator.random() < 0.5
                turned = g.is_nonpositive or (negative and not g.is_nonnegative)
                point.append(math.pi if g is sp.pi else -size if turned else size)
            found.append(tuple(point))
        return found


def accumulate(table: dict[Any, Any], key: Hashable, value: Any) -> None:
    """Add to an entry of a table, which may not have it yet."""
    table[key] = table[key] + value if key in table else value


def monomials(poly: fmpz_mpoly) -> dict[tuple[int, ...], int]:
    """{exponents: coefficient} of a flint polynomial, in plain integers."""
    return {tuple(map(int, exponents)): int(c) for exponents, c in poly.to_dict().items()}


def factored(poly: fmpz_mpoly) -> tuple[int, list[tuple[fmpz_mpoly, int]]]:
    """The integer content and the irreducible factors of a flint polynomial, with their multiplicities."""
    try:
        content, factors = poly.factor()
    except OverflowError:  # flint sorts factors by machine integers, and coefficients may be larger
        context = poly.context()
        names = sp.symbols(f"g:{context.nvars()}")
        content, found = sp.Poly.from_dict(monomials(poly), *names, domain="ZZ").factor_list()
        factors = [(context.from_dict({e: int(c) for e, c in factor.terms()}), power) for factor, power in found]
    return int(content), [(factor, int(power)) for factor, power in factors]


def _in_floats(poly: fmpz_mpoly) -> list[tuple[tuple[int, ...], float]]:
    """The exponents and coefficients of a polynomial; up to a power of 2, where floats cannot hold them."""
    terms = monomials(poly)
    excess = max([c.bit_length() for c in terms.values()], default=0) - _MAX_BITS
    scale = 1 << max(excess, 0)
    return [(exponents, coefficient / scale) for exponents, coefficient in terms.items()]


def _sign_at(terms: Sequence[tuple[tuple[int, ...], float]], point: Sequence[float]) -> int:
    """Sign of a polynomial at a point, from its exponents and coefficients; 0 if rounding could decide it."""
    total = size = 0.0
    for exponents, coefficient in terms:
        term = reduce(lambda product, pair: product * pair[0] ** pair[1], zip(point, exponents, strict=True), 1.0)
        total += coefficient * term
        size += abs(coefficient * term)
    if abs(total) <= 1e-9 * size:
        return 0
    return 1 if total > 0 else -1
