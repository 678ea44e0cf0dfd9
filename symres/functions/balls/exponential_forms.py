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
from functools import lru_cache, reduce
from typing import TypeAlias

import sympy as sp

from ..companions import Expm1
from ..function_record import RECORDS, record_of

HALF_LINE = V, D = sp.symbols("v d", cls=sp.Dummy, real=True)  # the one of u and -u that is below 0, and exp(v)
E = sp.Dummy("E", positive=True)  # exp(u)
_MAX_DEGREE = 60  # the degree up to which polynomials in E are factored
_Powers: TypeAlias = dict[sp.Expr, sp.Rational]  # a product: numbers, E and irreducible polynomials in E, exponents


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


@lru_cache(maxsize=4096)
def exponential_forms(node: sp.Expr) -> tuple[sp.Expr, TwoForms] | None:
    """A formula in ``exp(u)`` as u and two forms; None if ordinary evaluation is good enough.

    Args:
        node: a quotient or root of sums of exponentials, or a logarithm or an inverse function of one.
    """
    if isinstance(node, sp.log | sp.atan | sp.asin | sp.acos | sp.atanh):
        helps = _has_exponential_function(node)
    else:
        helps = isinstance(node, sp.Mul | sp.Pow) and not _is_whole(node) and _has_quotient(node)
    if not helps:
        return None
    try:
        inner = node.args[0] if isinstance(node, sp.Function) else node
        direction, multiples = _multiples(inner)
        unit = reduce(lambda a, b: a.gcd(b), map(abs, multiples.values()))
        if any(abs(multiple / unit) > _MAX_DEGREE for multiple in multiples.values()):
            return None
        in_E = {f: _in_powers(f.func, E ** (multiple / unit)) for f, multiple in multiples.items()}
        forms = _forms_of(type(node), _powers(inner, in_E))
    except _NotExponentialProduct:
        return None
    return None if forms is None else (unit * direction, forms)


def group_exponentials(factors: Iterable[sp.Expr]) -> list[sp.Expr]:
    """The factors of a product; factors of the same exponentials are joined where ``exponential_forms`` helps."""
    groups: dict[object, list[sp.Expr]] = {}
    for factor in factors:
        try:
            key: object = _multiples(factor)[0]
        except _NotExponentialProduct:
            key = "alone", factor
        groups.setdefault(key, []).append(factor)
    result = []
    for group in groups.values():
        product = sp.Mul(*group, evaluate=False)
        result += [product] if len(group) > 1 and exponential_forms(product) is not None else group
    return result


def _forms_of(kind: type[sp.Basic], inner: _Powers) -> TwoForms | None:
    """The forms of a logarithm or an inverse function of a product, or of the product itself."""
    if kind is sp.log:
        return _on_both_sides(_positive(inner), _logarithm)
    if not issubclass(kind, sp.Function):
        return _on_both_sides(inner, _product)
    if any(not q.is_Integer or (q < 0 and _vanishes(base)) for base, q in inner.items()):
        return None  # at a pole an arctangent jumps, its derivative does not
    R = sp.Mul(*(base**q for base, q in inner.items()))
    if kind is sp.atanh:
        twice = _on_both_sides(_positive(_factored((1 + R) / (1 - R))), _logarithm)
        return TwoForms(twice.left / 2, twice.right / 2)
    if kind is sp.atan:
        tangent, rate = inner, _factored(1 / (1 + R**2))
    else:
        rate = _raised(_factored(1 - R**2), sp.Rational(-1, 2))
        tangent = _multiplied(inner, rate)
    angle = _on_both_sides(tangent, _product)
    start, sign = (sp.pi / 2, sp.Integer(-1)) if kind is sp.acos else (sp.Integer(0), sp.Integer(1))
    slope = _multiplied({sign: sp.Integer(1)}, _factored(E * R.diff(E)), rate)  # by u
    left, right = (start + sign * sp.atan(side) for side in (angle.left, angle.right))
    return TwoForms(left, right, _on_both_sides(slope, _product))


def _on_both_sides(powers: _Powers, write: Callable[..., sp.Expr]) -> TwoForms:
    """A product as it is written with ``constant*exp(slope*v)`` in front of powers of ``1 + tail(d)``."""
    return TwoForms(*(write(*_leading(powers, right)) for right in (False, True)))


def _product(constant: sp.Expr, slope: sp.Rational, sums: list[tuple[sp.Expr, sp.Rational]]) -> sp.Expr:
    front = D if slope == 1 else sp.exp(slope * V) if slope else sp.S.One
    return sp.Mul(constant, front, *(total**q for total, q in sums))


def _logarithm(constant: sp.Expr, slope: sp.Rational, sums: list[tuple[sp.Expr, sp.Rational]]) -> sp.Expr:
    return sp.Add(slope * V, sp.log(constant), *(q * sp.log(total) for total, q in sums))


def _leading(powers: _Powers, right: bool) -> tuple[sp.Expr, sp.Rational, list[tuple[sp.Expr, sp.Rational]]]:
    """What is left far out, a constant and a power of d, and sums ``1 + tail(d)`` with their powers."""
    constant, slope, sums = sp.Integer(1), powers.get(E, sp.Integer(0)), []
    for base, q in powers.items():
        if base == E:
            continue
        first, *others = sp.Poly(base, E).all_coeffs()[:: 1 if right else -1]
        constant *= first**q
        slope += len(others) * q if right else 0
        if others:
            tail = sp.horner(sp.Poly([*(c / first for c in reversed(others)), 0], D))
            sums.append((-Expm1(V) if tail == -D else 1 + tail, q))
    return constant, -slope if right else slope, sums


def _powers(node: sp.Expr, functions: dict[sp.Expr, sp.Expr]) -> _Powers:
    """A product as the powers of its irreducible factors, every exponential function a power of E."""
    if isinstance(node, sp.Mul):
        return _multiplied(*(_powers(factor, functions) for factor in node.args))
    if isinstance(node, sp.Pow):
        return _raised(_powers(node.base, functions), node.exp)
    return _factored(node.xreplace(functions))


def _multiplied(*products: _Powers) -> _Powers:
    """The powers of a product of products; factors that cancel are gone."""
    total: _Powers = {}
    for powers in products:
        for base, q in powers.items():
            total[base] = total.get(base, sp.Integer(0)) + q
    return {base: q for base, q in total.items() if q}


def _raised(powers: _Powers, exponent: sp.Rational) -> _Powers:
    """A power; roots only of products that are positive for every real u."""
    return {b: q * exponent for b, q in (powers if exponent.is_Integer else _positive(powers)).items()}


def _positive(powers: _Powers) -> _Powers:
    """The same product, its numbers in one, if it is positive for every real u.

    Raises:
        _NotExponentialProduct: it vanishes somewhere, or is negative.
    """
    number = sp.Mul(*(base**q for base, q in powers.items() if base.is_number))
    sums = {base: q for base, q in powers.items() if not base.is_number}
    if not number.is_positive or any(map(_vanishes, sums)):
        raise _NotExponentialProduct
    return {number: sp.Integer(1), **sums}


def _vanishes(base: sp.Expr) -> bool:
    """Whether a factor is 0 for some real u; its highest coefficient is positive."""
    return not base.is_number and base != E and bool(sp.Poly(base, E).count_roots(0, None))


def _factored(expr: sp.Expr) -> _Powers:
    """A rational function of E in its irreducible factors, with integer coefficients, the highest positive."""
    if any(not p.exp.is_Integer for p in expr.atoms(sp.Pow)):
        raise _NotExponentialProduct
    parts = sp.fraction(sp.cancel(sp.together(expr)))
    if parts[0] == 0 or max(sp.degree(part, E) for part in parts) > _MAX_DEGREE:
        raise _NotExponentialProduct
    powers: list[_Powers] = []
    for part, side in zip(parts, (1, -1), strict=True):
        number, factors = sp.factor_list(sp.Poly(part, E, domain="QQ"))
        powers.append({number: sp.Integer(side), **{f.as_expr(): sp.Integer(side * k) for f, k in factors}})
    return _multiplied(*powers)


def _multiples(node: sp.Expr) -> tuple[sp.Expr, dict[sp.Expr, sp.Rational]]:
    """What the arguments of all exponential functions are multiples of, and the multiple of each.

    Raises:
        _NotExponentialProduct: they are multiples of different ones, or there is something else.
    """
    multiples, directions = {}, set()
    for function in _exponential_functions(node):
        content, direction = function.args[0].primitive()
        sign = -1 if direction.could_extract_minus_sign() else 1
        multiples[function] = sign * content
        directions.add(sign * direction)
    if len(directions) != 1:
        raise _NotExponentialProduct
    return directions.pop(), multiples


@lru_cache(maxsize=512)
def _in_powers(kind: type[sp.Function], power: sp.Expr) -> sp.Expr:
    """A function of u as one of a power of E."""
    definition = RECORDS[kind].definition
    return power if definition is None else definition(sp.log(power))


def _exponential_functions(node: sp.Expr) -> Iterator[sp.Expr]:
    """The exponential functions that a node is made of.

    Raises:
        _NotExponentialProduct: there is something else in it.
    """
    if _is_exponential(node) and not node.has(sp.I):
        yield node
    elif isinstance(node, sp.Add | sp.Mul) or (isinstance(node, sp.Pow) and node.exp.is_Rational):
        for argument in node.args:
            yield from _exponential_functions(argument)
    elif not node.is_Rational:
        raise _NotExponentialProduct


def _is_exponential(node: sp.Basic) -> bool:
    record = record_of(node)
    return record is not None and record.is_exponential


def _has_exponential_function(node: sp.Basic) -> bool:
    return any(map(_is_exponential, node.atoms(sp.Function)))


@lru_cache(maxsize=4096)
def _has_quotient(node: sp.Basic) -> bool:
    """Whether it divides by, or takes a root of, a sum of exponentials."""
    if isinstance(node, sp.Pow) and not _is_whole(node) and _has_exponential_function(node.base):
        return True
    return isinstance(node, sp.Add | sp.Mul | sp.Pow) and any(map(_has_quotient, node.args))


def _is_whole(node: sp.Expr) -> bool:
    """Whether it is a power with a positive integer exponent."""
    return bool(isinstance(node, sp.Pow) and node.exp.is_Integer and node.exp.is_positive)
