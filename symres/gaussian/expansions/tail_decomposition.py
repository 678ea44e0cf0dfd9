"""Formulas far out on the right: a polynomial plus a remainder that decays exponentially, both exact.

Every sub-formula is written as ``exp(rate)*(main + rest)``, an identity for all z: rate and main are polynomials, rest
is below a negative power of ``exp(z**p)``. The rest is written without cancellation, so that it can be evaluated where
it is tiny: 1 - tanh(z) becomes 2 exp(-2z)/(1 + exp(-2z)).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import sympy as sp
from sympy.utilities.iterables import sift

from ...core.errors import NoClosedForm
from ...core.symbols import z
from ...core.words import abbreviated
from ...functions.function_record import FunctionRecord, record_of, written_out
from ...functions.ranges import sign_of

_ZERO, _ONE = sp.Integer(0), sp.Integer(1)


@dataclass(frozen=True)
class TailParts:
    """``exp(rate)*(main + rest)``."""

    rate: sp.Expr  # a polynomial in z without constant term
    main: sp.Expr  # a polynomial in z
    rest: sp.Expr  # a function that decays exponentially
    # main + rest in the original spelling, where there is one: it keeps products of long formulas short
    body: sp.Expr | None = None

    @property
    def sum(self) -> sp.Expr:
        """The polynomial and the rest together."""
        return self.main + self.rest if self.body is None else self.body

    @property
    def whole(self) -> sp.Expr:
        """The formula itself."""
        return sp.exp(self.rate) * self.sum


def split_right_tail(part: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """The polynomial that a formula approaches for z -> oo, and the remainder that decays exponentially.

    Raises:
        NoClosedForm: it approaches no polynomial, or only like a power of z.
    """
    parts = _TailSplitter()(part)
    sign = _growth_sign(parts.rate)
    if sign > 0:
        raise _refusal(part, "grows exponentially" if parts.main != 0 else "may grow exponentially")
    return (parts.main, parts.rest) if sign == 0 else (_ZERO, parts.whole)


class _TailSplitter:
    """The sub-formulas of one formula."""

    def __init__(self) -> None:
        self._known: dict[sp.Expr, TailParts] = {}

    def __call__(self, node: sp.Expr) -> TailParts:
        if node not in self._known:
            parts = self._find(node)
            self._known[node] = replace(parts, body=node) if parts.rate == 0 else parts
        return self._known[node]

    def _find(self, node: sp.Expr) -> TailParts:
        """The parts of a sub-formula from those of its own parts.

        Raises:
            NoClosedForm: it oscillates, grows too fast, or has an algebraic tail.
        """
        if node.is_polynomial(z):
            return TailParts(_ZERO, sp.expand(node), _ZERO)
        if isinstance(node, sp.Add):
            return reduce(_sum, map(self, node.args))
        if isinstance(node, sp.Mul):
            waves, others = sift(node.args, _oscillates, binary=True)
            if waves and others and _growth_sign(reduce(_product, map(self, others)).rate) < 0:
                return TailParts(_ZERO, _ZERO, node)
            return reduce(_product, map(self, node.args))
        if isinstance(node, sp.exp):
            return self._exp(node)
        if isinstance(node, sp.Pow) and not node.exp.has(z):
            return self._power(node)
        if isinstance(node, sp.Pow):
            return self(sp.exp(node.exp * sp.log(node.base)))
        if isinstance(node, sp.log):
            return self._log(node)
        if node.has(sp.sin, sp.cos, sp.tan):
            raise _refusal(node, "oscillates")
        record = record_of(node)
        if record is not None and record.complements is not None and record.is_odd:
            return self._saturating(node, record)
        if record is None or record.definition is None:
            raise _algebraic(node)
        return self(record.definition(*node.args))

    def _exp(self, node: sp.Expr) -> TailParts:
        """``exp(main + rest) = exp(main) (1 + (exp(rest) - 1))``; the constant of the polynomial becomes a factor."""
        u = self(node.args[0])
        growth = _growth_sign(u.rate)
        if growth < 0:
            u = TailParts(_ZERO, _ZERO, u.whole)
        elif growth > 0:
            if sign_of(_leading(u.main)) == -1:  # exp(-exp(z))
                return TailParts(_ZERO, _ZERO, node)
            raise _refusal(node, "grows faster than any exponential of a power")
        constant = u.main.subs(z, 0)
        front = sp.exp(constant)
        return TailParts(sp.expand(u.main - constant), front, front * (sp.exp(u.rest) - 1) if u.rest != 0 else _ZERO)

    def _power(self, node: sp.Expr) -> TailParts:
        """A constant power: of any polynomial for a whole exponent, of a positive number for others."""
        base, exponent = self(node.base), node.exp
        if exponent.is_Integer:
            if exponent < 0:
                base = _inverse(base, node)
            power = abs(int(exponent))
            # (p + r)**n - p**n = r*sum_k p**(n-1-k) (p + r)**k
            rest = base.rest * sp.Add(*(base.main ** (power - 1 - k) * base.sum**k for k in range(power)))
            return TailParts(sp.expand(power * base.rate), sp.expand(base.main**power), rest)
        front = _constant(base, node)
        if sign_of(front) != 1:
            raise _algebraic(node)
        rest = front**exponent * (sp.exp(exponent * _log_of_one_plus(base.rest / front)) - 1)
        return TailParts(sp.expand(exponent * base.rate), front**exponent, rest if base.rest != 0 else _ZERO)

    def _log(self, node: sp.Expr) -> TailParts:
        """``log(exp(rate) (c + rest)) = rate + log(c) + log(1 + rest/c)``."""
        u = self(node.args[0])
        front = _constant(u, node)
        if sign_of(front) != 1:
            raise _algebraic(node)
        rest = _log_of_one_plus(u.rest / front) if u.rest != 0 else _ZERO
        return TailParts(_ZERO, sp.expand(u.rate + sp.log(front)), rest)

    def _saturating(self, node: sp.Expr, record: FunctionRecord) -> TailParts:
        """An odd function that approaches 1."""
        (inner,) = node.args
        u = self(inner)
        if (sign := _sign_of_limit(u, node)) and record.complements is not None:
            return TailParts(_ZERO, sp.Integer(sign), -sign * written_out(record.complements(sign * inner)[0]))
        growth = _growth_sign(u.rate)
        if growth < 0 or u.main == 0:
            return TailParts(_ZERO, _ZERO, record.kind(u.rest if growth == 0 else u.whole))
        if record.definition is None:
            raise _refusal(node, "approaches a number in a way that symres does not know")
        return self(record.definition(inner))


def _oscillates(node: sp.Expr) -> bool:
    """Whether a factor stays bounded as it oscillates."""
    if isinstance(node, sp.Pow) and node.exp.is_Integer and node.exp > 0:
        node = node.base
    return isinstance(node, sp.sin | sp.cos)


def _sign_of_limit(u: TailParts, node: sp.Expr) -> int:
    """The sign of the infinity that a formula tends to; 0 if it tends to a number."""
    growth = _growth_sign(u.rate)
    if growth < 0 or (growth == 0 and not u.main.has(z)):
        return 0
    sign = sign_of(_leading(u.main))
    if not sign:
        raise _refusal(node, "has an argument of unknown sign")
    return sign


def _sum(a: TailParts, b: TailParts) -> TailParts:
    """The sum, with the rate of the part that decays more slowly."""
    if _growth_sign(a.rate - b.rate) < 0:
        a, b = b, a
    if a.rate == b.rate:
        return TailParts(a.rate, sp.expand(a.main + b.main), a.rest + b.rest)
    return TailParts(a.rate, a.main, a.rest + sp.exp(b.rate - a.rate) * b.sum)


def _product(a: TailParts, b: TailParts) -> TailParts:
    """The product: polynomials multiply, everything else decays."""
    rest = a.main * b.rest + a.rest * b.sum
    return TailParts(sp.expand(a.rate + b.rate), sp.expand(a.main * b.main), rest)


def _inverse(u: TailParts, node: sp.Expr) -> TailParts:
    """One over a sub-formula of ``node``, whose polynomial is a number unless it grows exponentially."""
    if u.main.has(z) and _growth_sign(u.rate) > 0:
        return TailParts(_ZERO, _ZERO, 1 / u.whole)
    front = _constant(u, node)
    return TailParts(-u.rate, 1 / front, -u.rest / (front * u.sum))


def _constant(u: TailParts, node: sp.Expr) -> sp.Expr:
    """The polynomial of a sub-formula that must be a number other than 0."""
    if u.main.has(z):
        raise _algebraic(node)
    if not sign_of(u.main):
        raise _refusal(node, f"has an argument that may vanish far out ({u.main} but for what decays)")
    return u.main


def _log_of_one_plus(rest: sp.Expr) -> sp.Expr:
    """log(1 + rest), with all digits where rest is tiny."""
    return sp.log(1 + rest) if isinstance(rest, sp.exp) else 2 * sp.atanh(rest / (2 + rest))


def _leading(polynomial: sp.Expr) -> sp.Expr:
    return sp.Poly(polynomial, z).LC()


def _growth_sign(rate: sp.Expr) -> int:
    """Whether ``exp(rate)`` grows (1), decays (-1) or is 1 (0)."""
    rate = sp.expand(rate)
    if rate == 0:
        return 0
    sign = sign_of(_leading(rate))
    if not sign:
        raise _refusal(sp.exp(rate), "grows or decays: the sign of its exponent is unknown")
    return sign


def _refusal(node: sp.Expr, found: str) -> NoClosedForm:
    reason = f"{abbreviated(node, 60)} {found} for |z| -> oo"
    return NoClosedForm("a large-variance expansion", reason, "use evalf instead")


def _algebraic(node: sp.Expr) -> NoClosedForm:
    return _refusal(node, "is not a polynomial up to exponentially small terms: it has algebraic or unknown tails,")
