"""Quotients, powers, logarithms and inverse functions of sums of exponentials, with bounds on wide balls.

Everything here is made of ``E = exp(u)`` alone: ``cosh(u)``, ``exp(u) + 1 + exp(-u)``, ``1 - tanh(u)**2``. Over a wide
ball the large exponentials of a quotient swallow its size and surround every branch point. In the small one of
``exp(u)`` and ``exp(-u)`` nothing is large: far out on either side a product of powers of sums is
``C*exp(m*u)*(1 + r1)**q1*(1 + r2)**q2...`` with polynomials r that vanish there, and its logarithm the sum of theirs.

Both forms are analytic continuations from the real line, where they agree, so they agree on the line Re u = 0 where
they meet: the value on a ball around this line is the union of the values on its two halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import sympy as sp
from flint import acb, arb, fmpq

from .elementary import BALL_FUNCTIONS, Ball, integer_power

Operation = tuple[Callable[[arb], arb], Callable[[bool, acb], acb]]
E = sp.Dummy("E", positive=True)  # exp(u)
_ONE, _MINUS_ONE = (fmpq(1),), (fmpq(-1),)
_MAX_DEGREE = 60  # the degree up to which polynomials in E are factored

_IN_EXPONENTIALS: dict[type[sp.Function], Callable[[sp.Expr], sp.Expr]] = {
    sp.exp: lambda e: e,
    sp.sinh: lambda e: (e - 1 / e) / 2,
    sp.cosh: lambda e: (e + 1 / e) / 2,
    sp.tanh: lambda e: (e**2 - 1) / (e**2 + 1),
    sp.coth: lambda e: (e**2 + 1) / (e**2 - 1),
    sp.sech: lambda e: 2 * e / (e**2 + 1),
    sp.csch: lambda e: 2 * e / (e**2 - 1),
}


class _NotExponentialProduct(Exception):
    """The formula is no product of powers of sums of exponentials of one argument."""


@dataclass(frozen=True)
class _HalfLineForm:
    """A product in powers of a small ``d = exp(v)``: ``constant * exp(slope*v) * prod((1 + tail(d))**power)``.

    The variable v is u or -u.
    """

    constant: sp.Expr
    slope: sp.Rational
    tails: tuple[tuple[tuple[fmpq, ...], sp.Rational], ...]  # coefficients of d, d**2, ..., and the power

    @cached_property
    def _scale(self) -> Callable[[], arb] | None:
        """The constant, in the current precision; None for 1."""
        if self.constant == 1:
            return None
        if self.constant.is_rational:
            ratio = _fmpq(self.constant)
            return lambda: arb(ratio)
        powers = [factor.as_base_exp() for factor in sp.Mul.make_args(self.constant)]
        factors = [(_fmpq(base), _power_operation(power)[0]) for base, power in powers]
        return lambda: reduce(lambda total, factor: total * factor[1](arb(factor[0])), factors, arb(1))

    @cached_property
    def _rate(self) -> fmpq:
        return _fmpq(self.slope)

    @cached_property
    def _has_unit_rate(self) -> bool:
        return self.slope == 1

    @cached_property
    def _bases(self) -> list[tuple[Callable[[Ball, Ball], Ball], Operation]]:
        """``1 + tail(d)`` as a function of v and d, and its power."""
        return [(_one_plus(tail), _power_operation(power)) for tail, power in self.tails]

    def value(self, analytic: bool, v: Ball) -> Ball:
        """The product."""
        complex_ = isinstance(v, acb)
        d = v.exp()
        result = d if self._has_unit_rate else (self._rate * v).exp() if self._rate else None
        for base, (real_power, complex_power) in self._bases:
            power = complex_power(analytic, base(v, d)) if complex_ else real_power(base(v, d))
            result = power if result is None else result * power
        if self._scale is not None:
            result = self._scale() if result is None else self._scale() * result
        return arb(1) if result is None else result

    def log(self, analytic: bool, v: Ball) -> Ball:
        """Its logarithm."""
        real, complex_ = BALL_FUNCTIONS["log1p"]
        result, d = self._rate * v, v.exp()
        if self._scale is not None:
            result += self._scale().log()
        for tail, power in self.tails:
            rest = _horner(tail, d)
            result += _fmpq(power) * (complex_(analytic, rest) if isinstance(v, acb) else real(rest))
        return result


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

    @cached_property
    def left(self) -> _HalfLineForm:
        """In powers of exp(u)."""
        constant, tails = self.constant, []
        for factor, q in self.factors:
            first, *rest = reversed(factor.all_coeffs())
            constant *= first**q
            tails.append((_ratios(rest, first), q))
        return _HalfLineForm(constant, self.power, tuple(tails))

    @cached_property
    def right(self) -> _HalfLineForm:
        """In powers of exp(-u)."""
        constant, slope, tails = self.constant, self.power, []
        for factor, q in self.factors:
            first, *rest = factor.all_coeffs()
            constant *= first**q
            slope += factor.degree() * q
            tails.append((_ratios(rest, first), q))
        return _HalfLineForm(constant, -slope, tuple(tails))


def exponential_operation(node: sp.Expr) -> tuple[sp.Expr, Operation] | None:
    """A formula in ``exp(u)`` as u and an operation on the ball of u; None if ordinary evaluation is good enough.

    Args:
        node: a quotient or root of sums of exponentials, or a logarithm or an inverse function of one.
    """
    if isinstance(node, sp.log | sp.atan | sp.asin | sp.acos | sp.atanh):
        return _operation(node) if _has_exponential_function(node) else None
    if isinstance(node, sp.Mul) or (isinstance(node, sp.Pow) and not _is_whole(node.exp)):
        return _operation(node) if _has_quotient(node) else None
    return None


@lru_cache(maxsize=512)
def _operation(node: sp.Expr) -> tuple[sp.Expr, Operation] | None:
    try:
        u, functions = _argument(node.args[0] if isinstance(node, sp.Function) else node)
        if not isinstance(node, sp.Function):
            return u, _pair(_product(node, functions), _HalfLineForm.value)
        inner = _product(node.args[0], functions)
        if isinstance(node, sp.log):
            return u, _pair(inner.positive(), _HalfLineForm.log)
        if not inner.is_rational or inner.has_poles:  # an arctangent jumps at a pole, its derivative does not
            return None
        R = inner.expr
        slope = _factored(E * R.diff(E))  # by u
        if isinstance(node, sp.atanh):
            real, complex_ = _pair(_factored((1 + R) / (1 - R)).positive(), _HalfLineForm.log)
            return u, (lambda x: real(x) / 2, lambda analytic, x: complex_(analytic, x) / 2)
        if isinstance(node, sp.atan):
            return u, _arctangent(inner, slope.times(_factored(1 / (1 + R**2))))
        secant = _factored(1 - R**2).to_the(sp.Rational(-1, 2))
        real, complex_ = _arctangent(inner.times(secant), slope.times(secant))
    except _NotExponentialProduct:
        return None
    if isinstance(node, sp.acos):
        return u, (lambda x: arb.pi() / 2 - real(x), lambda analytic, x: arb.pi() / 2 - complex_(analytic, x))
    return u, (real, complex_)


def group_exponentials(factors: Iterable[sp.Expr]) -> list[sp.Expr]:
    """The factors of a product; factors of the same exponentials are joined where ``exponential_operation`` helps."""
    groups: dict[object, list[sp.Expr]] = {}
    for factor in factors:
        rest = _primitive_of(factor)
        groups.setdefault(("alone", factor) if rest is None else rest, []).append(factor)
    result = []
    for group in groups.values():
        product = sp.Mul(*group, evaluate=False)
        result += [product] if len(group) > 1 and exponential_operation(product) is not None else group
    return result


def _pair(product: _Product, form: Callable[[_HalfLineForm, bool, Ball], Ball]) -> Operation:
    """A function of the product on real and on complex balls."""

    def on_side(analytic: bool, u: Ball, right: bool) -> Ball:
        return form(product.right, analytic, -u) if right else form(product.left, analytic, u)

    def real(u: arb) -> arb:
        if not u.contains(0):
            return on_side(False, u, u > 0)
        if u.is_exact():
            return on_side(False, u, True)
        return on_side(False, u.lower().union(0), False).union(on_side(False, u.upper().union(0), True))

    def complex_(analytic: bool, u: acb) -> acb:
        u = acb(u)
        x, y = u.real, u.imag
        if not x.contains(0) or x.is_exact():
            return acb(on_side(analytic, u, not x < 0))
        left = on_side(analytic, acb(x.lower().union(0), y), False)
        return acb(left).union(acb(on_side(analytic, acb(x.upper().union(0), y), True)))

    return real, complex_


def _arctangent(tangent: _Product, slope: _Product) -> Operation:
    """The arctangent of a product, given its derivative.

    Where the slope is analytic the function is. On a wide ball ``f(m) + (u - m)*f'(ball)`` has a bound although the
    tangent's ball surrounds the branch points.
    """
    real_tangent, complex_tangent = _pair(tangent, _HalfLineForm.value)
    _, complex_slope = _pair(slope, _HalfLineForm.value)
    _, complex_atan = BALL_FUNCTIONS["atan"]

    def real(u: arb) -> arb:
        return real_tangent(u).atan()

    def complex_(analytic: bool, u: acb) -> acb:
        u = acb(u)
        direct = complex_atan(analytic, complex_tangent(analytic, u))
        if direct.is_finite() or not u.is_finite():
            return direct
        middle = u.real.mid()
        return real(middle) + (u - middle) * complex_slope(True, u.union(acb(middle)))

    return real, complex_


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
        function: _IN_EXPONENTIALS[function.func](E ** (c / unit)) for function, (c, _) in found.items()
    }


def _multiple(argument: sp.Expr) -> tuple[sp.Rational, sp.Expr]:
    content, rest = argument.primitive()
    return (-content, -rest) if rest.could_extract_minus_sign() else (content, rest)


def _exponential_functions(node: sp.Expr) -> Iterator[sp.Expr]:
    if node.func in _IN_EXPONENTIALS and not node.has(sp.I):
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


def _has_exponential_function(node: sp.Basic) -> bool:
    return node.has(*_IN_EXPONENTIALS)


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


def _ratios(coefficients: Iterable[sp.Rational], first: sp.Rational) -> tuple[fmpq, ...]:
    return tuple(_fmpq(c / first) for c in coefficients)


def _one_plus(tail: tuple[fmpq, ...]) -> Callable[[Ball, Ball], Ball]:
    """``1 + tail(d)`` as a function of v and ``d = exp(v)``."""
    if tail == _MINUS_ONE:
        return lambda v, d: -v.expm1()
    return (lambda v, d: 1 + d) if tail == _ONE else lambda v, d: 1 + _horner(tail, d)


def _horner(tail: tuple[fmpq, ...], d: Ball) -> Ball:
    *lower, leading = tail
    result = d if leading == 1 else leading * d
    for coefficient in reversed(lower):
        result = (result + coefficient) * d if coefficient else result * d
    return result


def _power_operation(power: sp.Rational) -> Operation:
    """The power function; of a root, the branch that is positive on the positive line."""
    if power.is_Integer:
        return integer_power(int(power))
    exponent = _fmpq(power)
    return lambda x: x ** arb(exponent), lambda analytic, x: acb(x).pow(acb(exponent), analytic)


def _fmpq(number: sp.Rational) -> fmpq:
    return fmpq(int(number.p), int(number.q))
