"""Sums of products of roots, exponentials and atoms with rational coefficients: the normal form of the exact engine.

A ``Form`` is a dictionary {(exponent, radicals, atoms): coefficient} that stands for

    sum coefficient * exp(exponent) * prod sqrt(radical) * prod atom**power

Radicals are polynomials that are positive on the domain, prime numbers, or -1 (the imaginary unit); atoms are sympy
expressions that nothing here looks into. Products of equal roots are multiplied out, so two equal forms are equal
dictionaries as long as their atoms are independent.
"""

from __future__ import annotations

from contextlib import suppress

import sympy as sp
from flint import fmpz
from sympy.ntheory.factor_ import factor_cache

from .rational_functions import Frac, RationalField, accumulate, factored

_LARGEST_FACTORED = 10**40  # of larger integers only small factors are found: all could take for ever
_SMALL_BITS = 15  # of these, as many as sympy's

_remember = factor_cache.add


def _remember_primes(n: int, factors: list[int]) -> None:
    """Sympy 1.14 hands its cache factors that it has not tested, and fails where one is not prime."""
    with suppress(ValueError):
        _remember(n, factors)


factor_cache.add = _remember_primes

Radicals = tuple[int, ...]
Atoms = tuple[tuple[int, int], ...]
Monomial = tuple["Form | None", Radicals, Atoms]  # exponent, radicals and atoms of one term


class Form:
    """An element of the algebra; see the module."""

    __slots__ = ("_hash", "field", "terms")

    def __init__(self, field: RationalField, terms: dict[Monomial, Frac]) -> None:
        self.field = field
        self.terms = {mono: coefficient for mono, coefficient in terms.items() if coefficient}
        self._hash: int | None = None

    # -- makers
    @classmethod
    def of(cls, value: Frac) -> Form:
        """A rational function."""
        return cls(value.field, {(None, (), ()): value})

    @classmethod
    def integer(cls, field: RationalField, value: int) -> Form:
        """An integer."""
        return cls.of(field.integer(value))

    @classmethod
    def atom(cls, field: RationalField, expr: sp.Expr, power: int = 1) -> Form:
        """A power of an expression that the algebra treats as unknown."""
        return cls(field, {(None, (), ((field.intern(expr, expr), power),)): field.one})

    @classmethod
    def imaginary(cls, field: RationalField) -> Form:
        """The imaginary unit."""
        return cls(field, {(None, (field.intern_poly(field.constant_poly(-1)),), ()): field.one})

    # -- comparison
    def __bool__(self) -> bool:
        return bool(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    # -- arithmetic
    def __add__(self, other: Form) -> Form:
        terms = dict(self.terms)
        for mono, coefficient in other.terms.items():
            accumulate(terms, mono, coefficient)
        return Form(self.field, terms)

    def __neg__(self) -> Form:
        return Form(self.field, {mono: -c for mono, c in self.terms.items()})

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def __mul__(self, other: Form | Frac) -> Form:
        if isinstance(other, Frac):
            return Form(self.field, {mono: c * other for mono, c in self.terms.items()})
        terms: dict[Monomial, Frac] = {}
        for left, c in self.terms.items():
            for right, d in other.terms.items():
                mono, factor = _product(self.field, left, right)
                accumulate(terms, mono, c * d if factor is None else c * d * factor)
        return Form(self.field, terms)

    def __pow__(self, exponent: int) -> Form:
        if exponent < 0:
            return self.inverse() ** -exponent
        result, square = Form.integer(self.field, 1), self
        while exponent:
            if exponent & 1:
                result = result * square
            exponent >>= 1
            if exponent:
                square = square * square
        return result

    @property
    def rational(self) -> Frac | None:
        """The form as a rational function, or None."""
        if not self.terms:
            return self.field.zero
        if len(self.terms) == 1 and (None, (), ()) in self.terms:
            return self.terms[None, (), ()]
        return None

    def imaginary_part(self) -> Form:
        """The coefficient of the imaginary unit, y in x + i y; exponents are left as they are."""
        unit = self.field.intern_poly(self.field.constant_poly(-1))
        return Form(
            self.field,
            {
                (e, tuple(r for r in radicals if r != unit), atoms): c
                for (e, radicals, atoms), c in self.terms.items()
                if unit in radicals
            },
        )

    def conditional_sign(self) -> int:
        """Sign of a form that is one rational function times positive roots; 0 if unknown."""
        if len(self.terms) != 1:
            return 0
        ((exponent, _, atoms), coefficient) = next(iter(self.terms.items()))
        complex_ = self.imaginary_part() or (exponent is not None and exponent.imaginary_part())
        return 0 if atoms or complex_ else self.field.sign_of(coefficient)

    def inverse(self) -> Form:
        """1/self.

        Raises:
            NotInvertible: the form has several terms that no multiplication with conjugates joins.
        """
        if not self.terms:
            raise ZeroDivisionError("division by zero")
        if len(self.terms) == 1:
            ((exponent, radicals, atoms), c) = next(iter(self.terms.items()))
            for number in radicals:
                c = c * self.field.polynomial(self.field.interned(number))
            negated = tuple((a, -power) for a, power in atoms)
            return Form(self.field, {(None if exponent is None else -exponent, radicals, negated): self.field.one / c})
        radical = next((r for (_, radicals, _) in self.terms for r in radicals), None)
        if radical is None or any(exponent is not None or atoms for exponent, _, atoms in self.terms):
            raise NotInvertible
        conjugate = Form(self.field, {m: -c if radical in m[1] else c for m, c in self.terms.items()})
        return conjugate * (self * conjugate).inverse()


class NotInvertible(ArithmeticError):
    """A sum whose reciprocal the algebra cannot write; the reader keeps it as an atom."""


class UndecidedSign(ArithmeticError):
    """A root that cannot be split, because the signs of the factors below it are unknown."""


def exponential(exponent: Form) -> Form:
    """exp(form)."""
    if not exponent:
        return Form.integer(exponent.field, 1)
    return Form(exponent.field, {(exponent, (), ()): exponent.field.one})


def root(value: Frac) -> Form:
    """The square root of a rational function, split over its irreducible factors.

    Splitting sqrt(p*q) is only right where both factors are positive: factors that are negative on the domain
    change their sign first, and factors of unknown sign stay together under one root.

    Raises:
        UndecidedSign: numerator and denominator have factors of unknown sign.
    """
    field = value.field
    if not value:
        return Form.integer(field, 0)
    outside, radicals, unit = field.one, [], field.one
    unknown, known_sign = field.one, 1
    for poly, direction in ((value.num, 1), (value.den, -1)):
        content, factors = factored(poly)
        unit = unit * field.integer(int(content)) ** direction
        for p, multiplicity in factors:
            sign = field.sign(p)
            if not sign:
                unknown = unknown * field.polynomial(p) ** (direction * int(multiplicity))
                continue
            if sign < 0:
                p = -p
                known_sign *= (-1) ** int(multiplicity)
            half, rest = divmod(direction * int(multiplicity), 2)
            outside = outside * field.polynomial(p) ** half
            radicals += [field.intern_poly(p)] * rest
    if known_sign < 0:
        unit = -unit
    numerator, denominator = int(unit.num.leading_coefficient()), int(unit.den.leading_coefficient())
    if not unknown.is_constant:
        if numerator < 0:
            unknown, numerator = -unknown, -numerator
        # sqrt(n/d) = sqrt(n d)/|d| = sqrt(n d) |n|/(n d)
        if not (unknown.num.is_constant() or unknown.den.is_constant()):
            raise UndecidedSign
        orientation = field.integer(field.sign(unknown.num) if unknown.num.is_constant() else 1)
        radicals.append(field.intern_poly(unknown.num * unknown.den))
        outside = outside * orientation / field.polynomial(unknown.den)
    if numerator < 0:
        radicals.append(field.intern_poly(field.constant_poly(-1)))
    # sqrt(n/d) = sqrt(n d)/d, and the primes of n d with odd power stay under the root
    for prime, multiplicity in _factors(abs(numerator) * denominator):
        outside = outside * field.integer(prime) ** (multiplicity // 2)
        if multiplicity % 2:
            radicals.append(field.intern_poly(field.constant_poly(prime)))
    outside = outside / field.integer(denominator)
    return Form(field, {(None, tuple(sorted(radicals)), ()): outside})


def _factors(number: int) -> list[tuple[int, int]]:
    """Prime factors; of a large number the small ones, and those of which it has powers."""
    integer = fmpz(number)
    factors = integer.factor() if number < _LARGEST_FACTORED else integer.factor_smooth(_SMALL_BITS)
    return [(int(factor), int(multiplicity)) for factor, multiplicity in factors]


def _product(field: RationalField, left: Monomial, right: Monomial) -> tuple[Monomial, Frac | None]:
    (e, radicals, atoms), (f, more_radicals, more_atoms) = left, right
    exponent = f if e is None else e if f is None else (e + f) or None
    factor = None
    if radicals and more_radicals:
        shared = set(radicals) & set(more_radicals)
        for number in sorted(shared):
            poly = field.polynomial(field.interned(number))
            factor = poly if factor is None else factor * poly
        merged = tuple(sorted(set(radicals) ^ set(more_radicals)))
    else:
        merged = radicals or more_radicals
    if atoms and more_atoms:
        powers = dict(atoms)
        for atom, power in more_atoms:
            powers[atom] = powers.get(atom, 0) + power
        atoms = tuple(sorted((a, p) for a, p in powers.items() if p))
    else:
        atoms = atoms or more_atoms
    return (exponent, merged, atoms), factor
