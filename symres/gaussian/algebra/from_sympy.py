"""From sympy expressions to the normal form of ``radical_forms``."""

from __future__ import annotations

from contextlib import suppress
from functools import reduce
from itertools import permutations, product
from math import prod

import sympy as sp

from ...core.words import text_of
from ...core.work_budget import NODE, spend
from ...functions.companions import Sigmoid
from ...functions.function_record import RECORDS, record_of
from ...functions.records.gaussian_signs import S2, S4, T4
from ...numerics.plackett import PAIRS
from .radical_forms import Form, Monomial, NotInvertible, UndecidedSign, exponential, root
from .rational_functions import Frac, RationalField
from .to_sympy import oriented, write


class Reader:
    """Reads expressions into forms over one field; remembers what it has read.

    Args:
        field: the generators and their domain.
    """

    def __init__(self, field: RationalField) -> None:
        self.field = field
        self._known: dict[sp.Expr, Form] = {}

    def read(self, expr: sp.Expr) -> Form:
        """The form of an expression; what the algebra does not know becomes an atom."""
        if expr not in self._known:
            spend(NODE)
            self._known[expr] = self._read(expr)
        return self._known[expr]

    def written(self, form: Form) -> sp.Expr:
        """The expression of a form (for signs by assumptions, and for text)."""
        return write(form)

    def function(self, func: type[sp.Function], argument: Form) -> Form:
        """A function of a form, with the sign of odd functions in front."""
        turned = argument * -Form.imaginary(self.field)
        imaginary = argument.imaginary_part() and not turned.imaginary_part()
        if func is sp.erf and imaginary and write(argument).has(sp.I):  # erf(i y) = i erfi(y); sines are real
            return Form.imaginary(self.field) * self.function(sp.erfi, turned)
        if func is Sigmoid:  # sigmoid(-u) is written 1 - sigmoid(u)
            turn, written = oriented(argument)
            value = Form.atom(self.field, Sigmoid(written))
            return value if turn == 1 else Form.integer(self.field, 1) - value
        is_odd = func in RECORDS and RECORDS[func].is_odd
        sign, written = oriented(argument) if is_odd else (1, write(argument))
        value = func(written)
        if isinstance(value, func) and value.args == (written,):
            form = Form.atom(self.field, value)
        elif isinstance(-value, func):
            form = -Form.atom(self.field, -value)
        else:
            form = self.read(value)
        return form * self.field.integer(sign)

    def two_signs(self, h: Form, k: Form, r: Form) -> Form:
        """S2 of forms: the function is odd in both shifts, and in the correlation where one of them is 0."""
        sign = 1
        shifts = []
        for shift in (h, k):
            turn, written = oriented(shift)
            sign *= turn
            shifts.append(written)
        correlation = r * self.field.integer(sign)
        turn, written = (1, write(correlation)) if h and k else oriented(correlation)
        return self._atom(S2(*shifts, written)) * self.field.integer(sign * turn)

    def four_signs(self, *r: Form) -> Form:
        """S4 of forms: the variables have no order, and the sign of each may be changed."""
        texts = {
            (place, turn): write(form * self.field.integer(turn)) for place, form in enumerate(r) for turn in (1, -1)
        }

        def choice(order: tuple[int, ...], turns: tuple[int, ...]) -> list[sp.Expr]:
            chosen = []
            for i, j in PAIRS:
                a, b = sorted((order[i], order[j]))
                chosen.append(texts[PAIRS.index((a, b)), turns[a] * turns[b]])
            return chosen

        choices = [
            (choice(order, (1, *turns)), prod(turns))
            for order in permutations(range(4))
            for turns in product((1, -1), repeat=3)
        ]

        def rank(item: tuple[list[sp.Expr], int]) -> tuple[int, int, list[int], list[str]]:
            entries, _ = item
            negative = sum(e.could_extract_minus_sign() for e in entries)
            return len(set(entries)), negative, [entries.count(e) for e in entries], list(map(text_of, entries))

        entries, sign = min(choices, key=rank)
        return self._atom(S4(*entries)) * self.field.integer(sign)

    def _atom(self, value: sp.Expr) -> Form:
        """The form of a function's value; sympy may have put a number in front, or known it."""
        if isinstance(value, S2 | S4 | T4):
            return Form.atom(self.field, value)
        return self.read(value)

    def _read(self, expr: sp.Expr) -> Form:
        field = self.field
        if isinstance(expr, sp.Rational):
            return Form.of(field.ratio(expr.p, expr.q))
        if isinstance(expr, sp.Float):
            return self.read(sp.Rational(expr))
        if expr is sp.I:
            return Form.imaginary(field)
        if expr is sp.E:
            return exponential(Form.integer(field, 1))
        if expr in field.generators:
            return Form.of(field.generator(expr))
        if isinstance(expr, sp.Add):
            return reduce(Form.__add__, map(self.read, expr.args))
        if isinstance(expr, sp.Mul):
            return reduce(Form.__mul__, map(self.read, expr.args))
        if isinstance(expr, sp.exp):
            return exponential(self.read(expr.args[0]))
        if isinstance(expr, sp.Pow):
            return self._read_power(expr)
        if isinstance(expr, sp.Function) and all(isinstance(a, sp.Expr) for a in expr.args):
            return self._read_function(expr)
        return Form.atom(field, expr)

    def _read_power(self, expr: sp.Pow) -> Form:
        base, exponent = expr.args
        if base is sp.E:
            return exponential(self.read(exponent))
        if exponent.is_Integer:
            value = self.read(base)
            return value ** int(exponent) if exponent > 0 else self._reciprocal(value) ** -int(exponent)
        value = self.read(base)
        rational = value.rational
        if exponent.is_Rational and exponent.q == 2 and rational is not None:
            with suppress(UndecidedSign):
                return root(rational ** (1 if exponent.p > 0 else -1)) ** abs(int(exponent.p))
        if exponent.is_Rational:  # one atom for all powers of a root
            return Form.atom(self.field, write(value) ** sp.Rational(1, exponent.q), int(exponent.p))
        return Form.atom(self.field, write(value) ** write(self.read(exponent)))

    def _reciprocal(self, value: Form) -> Form:
        try:
            return value.inverse()
        except NotInvertible:
            # the factor of the first term in written order goes outside, so that proportional sums share an atom
            first = min(value.terms, key=lambda mono: str(write(Form(self.field, {mono: self.field.one}))))
            number, shared = value.terms[first], _shared_denominator(value, first)
            front = Form(self.field, {first: number}).inverse() * shared
            under = write(value * front)
            if under.has(sp.I) and not write(value).has(sp.I):  # sines and cosines of a real value: their number only
                front = Form.of(number).inverse() * shared
                under = write(value * front)
            return front * Form.atom(self.field, under, -1)

    def _read_function(self, expr: sp.Function) -> Form:
        field, func = self.field, expr.func
        half = field.ratio(1, 2)
        if func is S2:
            return self.two_signs(*map(self.read, expr.args))
        if func is S4:
            return self.four_signs(*map(self.read, expr.args))
        record = record_of(expr)
        if record is not None and record.definition is not None and record.is_polynomial:
            return self.read(record.definition(*expr.args))
        if len(expr.args) != 1:
            return Form.atom(field, func(*(write(self.read(a)) for a in expr.args)))
        argument = self.read(expr.args[0])
        if func in (sp.cos, sp.sin):
            turned = argument * Form.imaginary(field)
            if func is sp.cos:
                return (exponential(turned) + exponential(-turned)) * half
            return (exponential(-turned) - exponential(turned)) * half * Form.imaginary(field)
        if func is sp.Abs:
            sign = argument.conditional_sign()
            return argument * field.integer(sign) if sign else Form.atom(field, sp.Abs(write(argument)))
        return self.function(func, argument)


def _shared_denominator(value: Form, first: Monomial) -> Frac:
    """The common denominator of all other terms, apart from numbers, if the first term is 1."""
    field = value.field
    scaled = [c / value.terms[first] for mono, c in value.terms.items() if mono != first]
    shared = reduce(lambda one, other: one.gcd(other), (c.den for c in scaled))
    return field.polynomial(shared / field.constant_poly(int(shared.content())))


def domain_conditions(expr: sp.Expr, reader: Reader) -> list[Frac]:
    """Rational functions that must be positive for the expression to be real: radicands, 1 - asin argument**2."""
    conditions = []
    symbols = tuple(expr.free_symbols)
    for node in sorted(expr.atoms(sp.Pow, sp.asin), key=sp.default_sort_key):
        if isinstance(node, sp.asin):
            radicand = 1 - node.args[0] ** 2
        elif node.exp.is_Rational and node.exp.q == 2:
            radicand = node.base
        else:
            continue
        if radicand.free_symbols and radicand.is_rational_function(*symbols):
            rational = reader.read(radicand).rational
            if rational is not None:
                conditions.append(rational)
    return conditions
