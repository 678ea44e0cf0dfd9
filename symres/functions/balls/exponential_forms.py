"""Quotients, powers, logarithms and inverse functions of sums of exponentials, with bounds on wide balls.

Everything here is made of ``E = exp(u)`` alone: ``cosh(u)``, ``exp(u) + 1 + exp(-u)``, ``1 - tanh(u)**2``. Over a wide
ball the large exponentials of a quotient swallow its size and surround every branch point. In the small one of
``exp(u)`` and ``exp(-u)`` nothing is large: far out on either side a product of powers of sums is
``C*exp(m*u)*(1 + r1)**q1*(1 + r2)**q2...`` with polynomials r that vanish there, and its logarithm the sum of theirs.

Both forms are analytic continuations from the real line, where they agree, so they agree on the line Re u = 0 where
they meet: the value on a ball around this line is the union of the values on its two halves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, reduce

import sympy as sp

from ..companions import Expm1
from ..function_record import RECORDS, record_of

HALF_LINE = V, D = sp.symbols("v d", cls=sp.Dummy, real=True)  # the one of u and -u that is below 0, and exp(v)
E = sp.Dummy("E", positive=True)  # exp(u)
_MAX_DEGREE = 60  # the degree up to which polynomials in E are factored


class _NotExponentialProduct(Exception):
    """The formula is no product of powers of sums of exponentials of one argument."""


@dataclass(frozen=True)
class TwoForms:
    """A function of u, a formula in ``HALF_LINE`` on either side of 0.

    Args:
        left: for u < 0, where v = u.
        right: for u > 0, where v = -u.
        slope: its derivative in u, analytic wherever the function is; None where wide balls do without.
    """

    left: sp.Expr
    right: sp.Expr
    slope: TwoForms | None = None


@dataclass(frozen=True)
class _Product:
    """``constant * E**power * prod(factor**exponent)``.

    Args:
        constant: a number.
        power: rational.
        factors: irreducible polynomials in E with integer coefficients, not E itself, with their exponents.
    """

    constant: sp.Expr
    power: sp.Rational
    factors: tuple[tuple[sp.Poly, sp.Rational], ...]

    @property
    def is_rational(self) -> bool:
        """Whether all powers are integers."""
        return self.power.is_Integer and all(q.is_Integer for _, q in self.factors)

    @property
    def expr(self) -> sp.Expr:
        """The product written out."""
        return sp.Mul(self.constant, E**self.power, *(f.as_expr() ** q for f, q in self.factors))

    def times(self, other: _Product) -> _Product:
        """The product of both."""
        exponents = dict(self.factors)
        for factor, q in other.factors:
            exponents[factor] = exponents.get(factor, sp.Integer(0)) + q
        kept = tuple((f, q) for f, q in exponents.items() if q)
        return _Product(self.constant * other.constant, self.power + other.power, kept)

    def to_the(self, exponent: sp.Rational) -> _Product:
        """A power; roots only of products that are positive for every real u.

        Raises:
            _NotExponentialProduct: a root of a product that is not positive.
        """
        product = self if exponent.is_Integer else self.positive()
        return _Product(
            product.constant**exponent, product.power * exponent, tuple((f, q * exponent) for f, q in product.factors)
        )

    @property
    def has_poles(self) -> bool:
        """Whether it is infinite at some real u."""
        return any(q < 0 and f.count_roots(0, None) for f, q in self.factors)

    def positive(self) -> _Product:
        """The same product, if it is positive for every real u.

        Raises:
            _Foreign: it vanishes somewhere, or is negative.
        """
        if not self.constant.is_positive or any(f.LC() < 0 or f.count_roots(0, None) for f, _ in self.factors):
            raise _NotExponentialProduct
        return self

    def forms(self) -> TwoForms:
        """The product, with ``constant*exp(slope*v)`` in front of powers of ``1 + tail(d)``."""
        return TwoForms(*(self._form(right) for right in (False, True)))

    def _form(self, right: bool) -> sp.Expr:
        constant, slope, tails = self._leading(right)
        bases = [(-Expm1(V) if tail == -D else 1 + tail, q) for tail, q in tails]
        front = D if slope == 1 else sp.exp(slope * V) if slope else sp.S.One
        return sp.Mul(constant, front, *(base**q for base, q in bases))

    def logarithm(self) -> TwoForms:
        """The logarithm, the sum of those of all factors."""
        return TwoForms(*(self._logarithm(right) for right in (False, True)))

    def _logarithm(self, right: bool) -> sp.Expr:
        constant, slope, tails = self._leading(right)
        return sp.Add(slope * V, sp.log(constant), *(q * sp.log(1 + tail) for tail, q in tails))

    def _leading(self, right: bool) -> tuple[sp.Expr, sp.Rational, list[tuple[sp.Expr, sp.Rational]]]:
        """What is left far out, a constant and a power of d, and polynomials in d with their powers."""
        constant, slope, tails = self.constant, self.power, []
        for factor, q in self.factors:
            first, *others = factor.all_coeffs() if right else reversed(factor.all_coeffs())
            constant *= first**q
            slope += factor.degree() * q if right else 0
            tails.append((sp.horner(sp.Poly([*(c / first for c in reversed(others)), 0], D)), q))
        return constant, -slope if right else slope, tails


def exponential_forms(node: sp.Expr) -> tuple[sp.Expr, TwoForms] | None:
    """A formula in ``exp(u)`` as u and two forms; None if ordinary evaluation is good enough.

    Args:
        node: a quotient or root of sums of exponentials, or a logarithm or an inverse function of one.
    """
    if isinstance(node, sp.log | sp.atan | sp.asin | sp.acos | sp.atanh):
        return _forms(node) if _has_exponential_function(node) else None
    if isinstance(node, sp.Mul) or (isinstance(node, sp.Pow) and not _is_whole(node.exp)):
        return _forms(node) if _has_quotient(node) else None
    return None


@lru_cache(maxsize=512)
def _forms(node: sp.Expr) -> tuple[sp.Expr, TwoForms] | None:
    try:
        u, functions = _argument(node.args[0] if isinstance(node, sp.Function) else node)
        if not isinstance(node, sp.Function):
            return u, _product(node, functions).forms()
        inner = _product(node.args[0], functions)
        if isinstance(node, sp.log):
            return u, inner.positive().logarithm()
        if not inner.is_rational or inner.has_poles:  # an arctangent jumps at a pole, its derivative does not
            return None
        R = inner.expr
        if isinstance(node, sp.atanh):
            twice = _factored((1 + R) / (1 - R)).positive().logarithm()
            return u, TwoForms(twice.left / 2, twice.right / 2)
        slope = _factored(E * R.diff(E))  # by u
        if isinstance(node, sp.atan):
            tangent, slope = inner.forms(), slope.times(_factored(1 / (1 + R**2)))
        else:
            secant = _factored(1 - R**2).to_the(sp.Rational(-1, 2))
            tangent, slope = inner.times(secant).forms(), slope.times(secant)
    except _NotExponentialProduct:
        return None
    left, right = sp.atan(tangent.left), sp.atan(tangent.right)
    if isinstance(node, sp.acos):
        falling = slope.times(_Product(sp.S.NegativeOne, sp.S.Zero, ()))
        return u, TwoForms(sp.pi / 2 - left, sp.pi / 2 - right, falling.forms())
    return u, TwoForms(left, right, slope.forms())


def group_exponentials(factors: Iterable[sp.Expr]) -> list[sp.Expr]:
    """The factors of a product; factors of the same exponentials are joined where ``exponential_forms`` helps."""
    groups: dict[object, list[sp.Expr]] = {}
    for factor in factors:
        rest = _primitive_of(factor)
        groups.setdefault(("alone", factor) if rest is None else rest, []).append(factor)
    result = []
    for group in groups.values():
        product = sp.Mul(*group, evaluate=False)
        result += [product] if len(group) > 1 and exponential_forms(product) is not None else group
    return result


def _argument(node: sp.Expr) -> tuple[sp.Expr, dict[sp.Expr, sp.Expr]]:
    """The common argument u of all exponentials, and each as a formula in ``E = exp(u)``."""
    found = {function: _multiple(function.args[0]) for function in _exponential_functions(node)}
    if len({rest for _, rest in found.values()}) != 1:
        raise _NotExponentialProduct
    (rest,) = {rest for _, rest in found.values()}
    unit = reduce(lambda a, b: a.gcd(b), (abs(c) for c, _ in found.values()))
    if any(abs(c / unit) > _MAX_DEGREE for c, _ in found.values()):
        raise _NotExponentialProduct
    return unit * rest, {
        function: _in_exponentials(function.func, E ** (c / unit)) for function, (c, _) in found.items()
    }


@lru_cache(maxsize=512)
def _in_exponentials(kind: type[sp.Function], power: sp.Expr) -> sp.Expr:
    """A function of u as one of a power of E."""
    definition = RECORDS[kind].definition
    return power if definition is None else definition(sp.log(power))


def _multiple(argument: sp.Expr) -> tuple[sp.Rational, sp.Expr]:
    content, rest = argument.primitive()
    return (-content, -rest) if rest.could_extract_minus_sign() else (content, rest)


def _exponential_functions(node: sp.Expr) -> Iterator[sp.Expr]:
    if _is_exponential(node) and not node.has(sp.I):
        yield node
    elif isinstance(node, sp.Add | sp.Mul) or (isinstance(node, sp.Pow) and node.exp.is_Rational):
        for argument in node.args:
            yield from _exponential_functions(argument)
    elif not node.is_Rational:
        raise _NotExponentialProduct


def _primitive_of(node: sp.Expr) -> sp.Expr | None:
    """The primitive part of u, None for what is made of anything but exponentials of one u."""
    try:
        rests = {_multiple(function.args[0])[1] for function in _exponential_functions(node)}
    except _NotExponentialProduct:
        return None
    return rests.pop() if len(rests) == 1 else None


def _is_exponential(node: sp.Basic) -> bool:
    record = record_of(node)
    return record is not None and record.is_exponential


def _has_exponential_function(node: sp.Basic) -> bool:
    return any(map(_is_exponential, node.atoms(sp.Function)))


@lru_cache(maxsize=4096)
def _has_quotient(node: sp.Basic) -> bool:
    """Whether it divides by, or takes a root of, a sum of exponentials."""
    if isinstance(node, sp.Pow) and not _is_whole(node.exp) and _has_exponential_function(node.base):
        return True
    return isinstance(node, sp.Add | sp.Mul | sp.Pow) and any(map(_has_quotient, node.args))


def _is_whole(exponent: sp.Expr) -> bool:
    return bool(exponent.is_Integer and exponent.is_positive)


def _product(node: sp.Expr, functions: dict[sp.Expr, sp.Expr]) -> _Product:
    if isinstance(node, sp.Mul):
        return reduce(_Product.times, (_product(factor, functions) for factor in node.args))
    if isinstance(node, sp.Pow):
        return _product(node.base, functions).to_the(node.exp)
    return _factored(node.xreplace(functions))


def _factored(expr: sp.Expr) -> _Product:
    """A rational function of E in its irreducible factors."""
    if any(not p.exp.is_Integer for p in expr.atoms(sp.Pow)):
        raise _NotExponentialProduct
    numerator, denominator = sp.fraction(sp.cancel(sp.together(expr)))
    if numerator == 0 or max(sp.degree(numerator, E), sp.degree(denominator, E)) > _MAX_DEGREE:
        raise _NotExponentialProduct
    (c, above), (d, below) = (sp.factor_list(sp.Poly(part, E, domain="QQ")) for part in (numerator, denominator))
    exponents = [*((f, sp.Integer(k)) for f, k in above), *((f, sp.Integer(-k)) for f, k in below)]
    power = sum((k for f, k in exponents if f.is_monomial), sp.Integer(0))
    return _Product(c / d, power, tuple((f, k) for f, k in exponents if not f.is_monomial))
