"""From the normal form back to an expression that looks as in a textbook.

Terms are grouped by powers of pi; inside a group the common factor stands in front; coefficients are factored;
exp(+d) and exp(-d) join to cosh and sinh where d changes sign with a covariance and that makes fewer terms.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from fractions import Fraction

import sympy as sp
from flint import fmpz_mpoly

from ...core.words import text_of
from .complementary import Row, Table, with_complements, written_atoms
from .radical_forms import Atoms, Form, Monomial
from .rational_functions import Frac, RationalField, accumulate, factored, monomials


def write(form: Form) -> sp.Expr:
    """The expression of a form."""
    divisors, form = _divided(form)
    if divisors != 1:
        return divisors * write(form)
    field = form.field
    groups: dict[Fraction, dict[Row, Frac]] = {}
    for (front, atoms), coefficient in _real_functions(form).items():
        for (_, radicals, _), c in coefficient.terms.items():
            for power, rest, value in _split_pi(field, radicals, c):
                accumulate(groups.setdefault(power, {}), (front, atoms, rest), value)
    return sp.Add(
        *(_write_group(field, sp.pi ** sp.Rational(p), with_complements(field, groups[p])) for p in sorted(groups))
    )


def write_collected(form: Form, symbols: tuple[sp.Symbol, ...]) -> sp.Expr:
    """The expression of a form, collected by powers of symbols in which it is a polynomial."""
    divisors, form = _divided(form)
    if divisors != 1:
        return divisors * write_collected(form, symbols)
    field = form.field
    places = [i for i, g in enumerate(field.generators) if g in symbols and _is_polynomial_in(form, i)]
    if not places:
        return write(form)
    parts: dict[tuple[int, ...], dict[Monomial, Frac]] = {}
    for mono, coefficient in form.terms.items():
        for exponents, poly in _split_generators(field, coefficient.num, places).items():
            parts.setdefault(exponents, {})[mono] = Frac(field, poly, coefficient.den)
    total = []
    for exponents, part in sorted(parts.items()):
        scale = (field.generators[i] ** e for i, e in zip(places, exponents, strict=True))
        total.append(sp.Mul(*scale, write(Form(field, part))))
    return sp.Add(*total)


def oriented(form: Form) -> tuple[int, sp.Expr]:
    """(sign, expression) with form = sign*expression; the opposite form gets the same expression."""
    choices = ((1, write(form)), (-1, write(-form)))
    return min(choices, key=lambda choice: (bool(choice[1].could_extract_minus_sign()), text_of(choice[1])))


def write_terms(form: Form) -> sp.Expr:
    """The expression of a form as it stands, term by term."""
    return sp.Add(
        *(
            sp.Mul(
                *_coefficient(form.field, radicals, c),
                1 if exponent is None else sp.exp(write_terms(exponent)),
                written_atoms(form.field, atoms),
            )
            for (exponent, radicals, atoms), c in form.terms.items()
        )
    )


def _divided(form: Form) -> tuple[sp.Expr, Form]:
    """The divisors that all terms share (sums that the algebra cannot divide by), and the form without them."""
    shared: dict[int, int] | None = None
    for _, _, atoms in form.terms:
        negative = {atom: power for atom, power in atoms if power < 0}
        before = negative if shared is None else shared
        shared = {a: max(p, negative[a]) for a, p in before.items() if a in negative}
        if not shared:
            return sp.Integer(1), form
    if not shared or len(form.terms) < 2:
        return sp.Integer(1), form
    terms = {}
    for (exponent, radicals, atoms), c in form.terms.items():
        powers = {atom: power - shared.get(atom, 0) for atom, power in atoms}
        terms[exponent, radicals, tuple((a, p) for a, p in powers.items() if p)] = c
    return written_atoms(form.field, tuple(shared.items())), Form(form.field, terms)


# -- functions ----------------------------------------------------------------------------------------------------


def _real_functions(form: Form) -> dict[tuple[sp.Expr, Atoms], Form]:
    """{(factor in front of erf atoms, atoms): coefficient without exponentials}, real where the form is real."""
    field = form.field
    by_exponent: dict[Form | None, dict[Atoms, Form]] = {}
    for (exponent, radicals, atoms), c in form.terms.items():
        accumulate(by_exponent.setdefault(exponent, {}), atoms, Form(field, {(None, radicals, ()): c}))
    result: dict[tuple[sp.Expr, Atoms], Form] = {}
    done: set[Form | None] = set()
    for exponent, row in by_exponent.items():
        if exponent in done:
            continue
        if exponent is None:
            for atoms, value in row.items():
                accumulate(result, (sp.Integer(1), atoms), value)
            continue
        partner, even, odd, functions = _partner(exponent, by_exponent)
        done |= {exponent, partner}
        other = by_exponent.get(partner, {})
        if functions is None or (functions[0] is sp.cosh and not _hyperbolic_is_shorter(row, other)):
            for single in dict.fromkeys((exponent, partner)):
                for atoms, value in by_exponent[single].items():
                    accumulate(result, (sp.exp(write(single)) if single else sp.Integer(1), atoms), value)
            continue
        front = sp.exp(write(even)) if even else sp.Integer(1)
        zero = Form(field, {})
        turn = Form.imaginary(field) if functions[0] is sp.cos else Form.integer(field, 1)
        sign, angle = oriented(odd)
        if sign < 0:
            row, other = other, row
        for atoms in dict.fromkeys([*row, *other]):
            plus, minus = row.get(atoms, zero), other.get(atoms, zero)
            accumulate(result, (front * functions[0](angle), atoms), plus + minus)
            accumulate(result, (front * functions[1](angle), atoms), (plus - minus) * turn)
    return result


def _hyperbolic_is_shorter(plus: dict[Atoms, Form], minus: dict[Atoms, Form]) -> bool:
    """Whether cosh and sinh make fewer terms than the exponentials: where they multiply the same functions alike."""
    both = plus.keys() & minus.keys()
    joined = sum(bool(plus[a] + minus[a]) + bool(plus[a] - minus[a]) for a in both)
    alone = len(plus.keys() ^ minus.keys())  # each would become two terms
    return joined + alone < 2 * len(both)


def _partner(
    exponent: Form, present: Container[Form | None]
) -> tuple[Form | None, Form, Form, tuple[Callable[..., sp.Expr], Callable[..., sp.Expr]] | None]:
    """The exponent q - d that goes with q + d, with q, d and the two functions of d."""
    imaginary = exponent.imaginary_part()
    if imaginary:
        real = exponent - imaginary * Form.imaginary(exponent.field)
        conjugate = real - imaginary * Form.imaginary(exponent.field)
        return conjugate or None, real, imaginary, (sp.cos, sp.sin)
    flipped = _flip(exponent)
    if flipped != exponent and flipped in present:
        half = exponent.field.ratio(1, 2)
        return flipped, (exponent + flipped) * half, (exponent - flipped) * half, (sp.cosh, sp.sinh)
    return exponent, exponent, Form(exponent.field, {}), None


def _flip(form: Form) -> Form:
    """The form with the sign of every covariance (symbol of unknown sign) changed."""
    field = form.field
    places = [i for i, unsigned in enumerate(field.unsigned) if unsigned]

    def poly(p: fmpz_mpoly) -> fmpz_mpoly:
        return field.from_dict({e: (-1) ** sum(e[i] for i in places) * c for e, c in monomials(p).items()})

    return Form(field, {mono: Frac(field, poly(c.num), poly(c.den)) for mono, c in form.terms.items()})


# -- groups by powers of pi ---------------------------------------------------------------------------------------


def _split_pi(
    field: RationalField, radicals: tuple[int, ...], coefficient: Frac
) -> list[tuple[Fraction, tuple[int, ...], Frac]]:
    place = len(field.generators) - 1
    pi = field.generator(sp.pi)
    root_pi = field.intern_poly(pi.num)
    shift = Fraction(0)
    if root_pi in radicals:
        radicals, shift = tuple(r for r in radicals if r != root_pi), Fraction(1, 2)
    powers = {e[place] for e in monomials(coefficient.den)}
    lowest = min(powers)
    den = coefficient.den / (pi**lowest).num if lowest else coefficient.den
    if len(powers) > 1:  # pi inside a denominator that is no power of pi: leave it there
        return [(shift - lowest, radicals, Frac(field, coefficient.num, den))]
    return [
        (shift - lowest + exponents[0], radicals, Frac(field, poly, den))
        for exponents, poly in _split_generators(field, coefficient.num, [place]).items()
    ]


def _write_group(field: RationalField, power_of_pi: sp.Expr, table: Table) -> sp.Expr:
    """power_of_pi * sum of the table, with the common factor in front."""
    entries = [(function, radicals, c) for (function, radicals), c in table.items() if c]
    if len(entries) <= 1:
        return sp.Add(*(sp.Mul(power_of_pi, *_coefficient(field, radicals, c), f) for f, radicals, c in entries))
    common_radicals = set(entries[0][1]).intersection(*(radicals for _, radicals, _ in entries))
    num, den = entries[0][2].num, entries[0][2].den
    integers = int(entries[0][2].den.content())
    for _, _, c in entries[1:]:
        num, den = num.gcd(c.num), den.gcd(c.den)
        integers = sp.ilcm(integers, int(c.den.content()))
    content = den.content()
    common = Frac(field, num, den / field.constant_poly(int(content)) * field.constant_poly(int(integers)))
    if common.is_constant and power_of_pi == 1 and not common_radicals:
        common = field.one  # sympy would multiply a number in again
    if all(field.sign_of(c) < 0 for _, _, c in entries):
        common = -common
    inner = sp.Add(
        *(
            sp.Mul(*_coefficient(field, tuple(r for r in radicals if r not in common_radicals), c / common), function)
            for function, radicals, c in entries
        )
    )
    return sp.Mul(power_of_pi, *_coefficient(field, tuple(sorted(common_radicals)), common), inner)


# -- coefficients -------------------------------------------------------------------------------------------------


def _coefficient(field: RationalField, radicals: tuple[int, ...], value: Frac) -> list[sp.Expr]:
    """sqrt(radicals)*value as powers of irreducible factors, to be multiplied in one product.

    In one product, because sympy multiplies a number into a sum when the two meet alone.
    """
    powers: dict[int, sp.Rational] = {}
    number = sp.Integer(1)
    for poly, direction in ((value.num, 1), (value.den, -1)):
        content, factors = factored(poly)
        number *= sp.Integer(int(content)) ** direction
        for p, multiplicity in factors:
            if field.sign(p) < 0:
                p, number = -p, number * (-1) ** int(multiplicity)
            index = field.intern_poly(p)
            powers[index] = powers.get(index, sp.Integer(0)) + direction * int(multiplicity)
    for index in radicals:
        powers[index] = powers.get(index, sp.Integer(0)) + sp.Rational(1, 2)
    factors = []
    for index, exponent in powers.items():
        poly = field.interned(index)
        if number < 0 and exponent == 1 and _is_difference(field, poly):
            poly, number = -poly, -number  # -(a - b) = b - a
        factors.append(write_poly(field, poly) ** exponent)
    return [number, *factors]


def _is_difference(field: RationalField, poly: fmpz_mpoly) -> bool:
    """Whether it is a - b, of either sign."""
    return not field.sign(poly) and sorted(c > 0 for c in monomials(poly).values()) == [False, True]


def write_poly(field: RationalField, poly: fmpz_mpoly) -> sp.Expr:
    """A polynomial; with a covariance in it, collected by powers of the covariance: (1 + K1)*(1 + K2) - C**2."""
    degrees = poly.degrees()
    places = [i for i, unsigned in enumerate(field.unsigned) if unsigned and degrees[i]]
    others = [i for i, unsigned in enumerate(field.unsigned) if not unsigned and degrees[i]]
    if not places or len(others) < 2:
        return _expanded(field, poly)
    total = []
    for exponents, part in _split_generators(field, poly, places).items():
        content, factors = factored(part)
        number = sp.Integer(int(content))
        bases = []
        for p, multiplicity in factors:
            if number < 0 and multiplicity == 1 and _is_difference(field, p):
                p, number = -p, -number  # -(a - b) = b - a
            bases.append(_expanded(field, p) ** int(multiplicity))
        powers = (field.generators[i] ** e for i, e in zip(places, exponents, strict=True))
        total.append(sp.Mul(number, *powers, *bases))
    return sp.Add(*total)


def _expanded(field: RationalField, poly: fmpz_mpoly) -> sp.Expr:
    return sp.Add(
        *(
            sp.Mul(sp.Integer(int(c)), *(g**e for g, e in zip(field.generators, exponents, strict=True) if e))
            for exponents, c in monomials(poly).items()
        )
    )


def _split_generators(field: RationalField, poly: fmpz_mpoly, places: list[int]) -> dict[tuple[int, ...], fmpz_mpoly]:
    """{powers of the chosen generators: polynomial in the others}."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
    for exponents, c in monomials(poly).items():
        key = tuple(exponents[i] for i in places)
        rest = tuple(0 if i in places else e for i, e in enumerate(exponents))
        parts.setdefault(key, {})[rest] = c
    return {key: field.from_dict(parts[key]) for key in sorted(parts)}


def _is_polynomial_in(form: Form, place: int) -> bool:
    """Whether a generator occurs in numerators only."""
    field = form.field
    symbol = field.generators[place]
    for (exponent, radicals, atoms), c in form.terms.items():
        if c.den.degrees()[place] or (exponent is not None and _occurs(exponent, place)):
            return False
        if any(field.interned(r).degrees()[place] for r in radicals):
            return False
        if any(field.interned(atom).has(symbol) for atom, _ in atoms):
            return False
    return True


def _occurs(form: Form, place: int) -> bool:
    return not _is_polynomial_in(form, place) or any(c.num.degrees()[place] for c in form.terms.values())
