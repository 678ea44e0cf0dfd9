"""Fast paths: pair kernels without the error-free determinant, for entries whose inputs are not nearly parallel.

With x = N/sqrt(Q) the sine of an angle and q = 1 - x**2, the root s is sqrt(Q*q). Rounding of x costs digits of q only
where q is small: there, and where the numbers are no numbers, an entry takes the slow path. If Q = F(K1)*G(K2), as for
all centred orthants, x takes two multiplications, as much as the determinant, and its square root and its angle stay
within what the processor computes fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import sympy as sp

from ....core.symbols import K1, K2, C
from ...stable.angles import Angle, AngleForm
from ...stable.positive_terms import positive
from ...stable.primitives import complement, correlation, determinant
from .tiles import FastPath, Precondition

TRIPLE = (K1, C, K2)
MIN_DIFFERENCE = sp.Rational(1, 8)  # of q: its relative error is 8 times that of x
MOST_COSINE = sp.Rational(1, 2)  # of an angle that is counted from where root and angle cancel
FAR = f"{{0}} >= {float(MIN_DIFFERENCE)}"  # q, from 0
NOT_ONE = f"{{0}}*{{0}} <= {float(1 - MIN_DIFFERENCE)}"  # x, from 1
POSSIBLE = Precondition("{0} < {1}", (sp.Abs(C) / sp.sqrt(K2), sp.sqrt(K1)))  # C beyond is left to slow paths
_FIRST, _SECOND = sp.Dummy("F", positive=True), sp.Dummy("G", positive=True)


def fast_paths(form: AngleForm | None, code: sp.Expr) -> Iterator[FastPath]:
    """Ways of computing a pair kernel, fast and slow, each with its preconditions for being as good as ``code``."""
    parts = None if form is None else _separated(form)
    if form is None or parts is None:
        yield _plain(code)
        return
    by_sines = (False, True) if all(part.slope.is_nonzero for part in parts) else (False,)  # C is sine/slope
    for spelling in product(by_sines, by_sines, (False, True)):
        yield _angular(parts, form.rest, *spelling)


# ---- sums of angles ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Part:
    """An angle with Q = first(K1)*second(K2) and N = slope*C; ``sine`` is C*slope/sqrt(Q), with the sign of -shift.

    It cancels if the angle, where it is small, does with its root.
    """

    angle: Angle
    first: sp.Expr
    second: sp.Expr
    slope: sp.Expr
    sine: sp.Symbol
    rest: sp.Symbol
    cancels: bool

    @property
    def theta(self) -> sp.Expr:
        """The angle, counted from where its form counts it."""
        if self.angle.shift == 0:
            return sp.asin(self.sine)
        return self.angle.shift * sp.acos(self.sine, evaluate=False)

    @property
    def sign(self) -> int:
        """Of the sine: acos(-x) is asin(x) + pi/2."""
        return -1 if self.angle.shift == 1 else 1


def _separated(form: AngleForm) -> list[_Part] | None:
    """The angles with their radicands as products; None if one of them is no product."""
    parts = []
    for angle in form.angles:
        first, second = sp.Integer(1), sp.Integer(1)
        constant, factors = sp.factor_list(angle.Q)
        for base, exponent in factors:
            touched = base.free_symbols & set(TRIPLE)
            if len(touched) > 1 or C in touched:
                return None
            if K2 in touched:
                second *= base**exponent
            else:
                first *= base**exponent
        slope = sp.cancel(angle.N / C)
        if slope.has(*TRIPLE):
            return None
        names = sp.Dummy("sine"), sp.Dummy("q", positive=True)
        parts.append(_Part(angle, constant * first, second, slope, *names, form.angular_sum(angle) is not None))
    return parts


def _angular(parts: list[_Part], rest: sp.Expr, before_angles: bool, before_roots: bool, divided: bool) -> FastPath:
    """The sum of angles.

    Args:
        parts: the angles.
        rest: what stands beside them.
        before_angles: whether powers of C are written as powers of the sine where an angle follows.
        before_roots: the same where a root follows.
        divided: whether polynomials are divided by the radicand of the root.
    """
    total, steps, preconditions = positive(rest, TRIPLE), {}, []
    for part in parts:
        inner = [_spelled(part, part.angle.A, before_angles, divided, sp.Integer(1)) * part.theta]
        if part.angle.R != 0:
            root = sp.sqrt(_FIRST) * sp.sqrt(_SECOND) * sp.sqrt(part.rest)
            inner.append(_spelled(part, part.angle.R, before_roots, divided, root))
        total += _gathered(inner).xreplace({_FIRST: part.first, _SECOND: part.second})
        steps[part.sine] = part.sign * part.slope / sp.sqrt(part.first) / sp.sqrt(part.second) * C
        steps[part.rest] = 1 - part.sine**2
        preconditions.append(_precondition(part, part.angle.R != 0))
    return with_determinant(FastPath(total, steps, tuple(preconditions)))


def _spelled(part: _Part, expr: sp.Expr, in_sines: bool, divided: bool, root: sp.Expr) -> sp.Expr:
    """A rational function of the kernels and C times a root, in F, G and q instead of what they stand for."""
    over, under = sp.fraction(sp.factor(expr))
    radicand, power = part.angle.D, 0
    while True:
        quotient, remainder = sp.div(under, radicand, *TRIPLE)
        if remainder != 0:
            break
        under, power = sp.factor(quotient), power + 1
    if under.could_extract_minus_sign():
        over, under = -over, -under
    shown = _FIRST * _SECOND * part.rest
    top = _numerator(over, radicand, shown, divided)
    if in_sines:
        sine = part.sign * part.sine * sp.sqrt(_FIRST) * sp.sqrt(_SECOND) / part.slope
        top = sp.Add(*(t.subs(C, sine) for t in sp.Add.make_args(sp.expand(top))))
    bottom = _in_factors(positive(under, TRIPLE), part)
    return _gathered(list(sp.Add.make_args(top))) / (bottom * shown**power) * root


def _numerator(over: sp.Expr, radicand: sp.Expr, shown: sp.Expr, divided: bool) -> sp.Expr:
    """A polynomial as a sum of terms of one sign where there is such, by the radicand if asked for."""
    out = positive(over, TRIPLE)
    if not divided or not over.has(C):
        return out
    (quotient,), remainder = sp.reduced(over, [radicand], K1, K2, C, order="grevlex")
    found = positive(quotient, TRIPLE) * shown + positive(remainder, TRIPLE)
    negative = [e for e in sp.preorder_traversal(found) if e.is_Rational and e < 0]
    return out if negative else found


def _in_factors(expr: sp.Expr, part: _Part) -> sp.Expr:
    """Powers of the factors of the radicand as F and G."""
    replaced = {part.first: _FIRST, part.second: _SECOND}
    return sp.Mul(*(replaced.get(b, b) ** e for b, e in (f.as_base_exp() for f in sp.Mul.make_args(expr))))


def _gathered(terms: list[sp.Expr]) -> sp.Expr:
    """A sum with the powers of F and G in front that all terms have."""
    shared = sp.Integer(1)
    for s in (_FIRST, _SECOND):
        powers = [term.as_powers_dict().get(s, sp.Integer(0)) for term in terms]
        if min(powers) > 0 or max(powers) < 0:
            shared *= s ** min(powers, key=abs)
    return shared * sp.Add(*(term / shared for term in terms))


def _precondition(part: _Part, has_root: bool) -> Precondition:
    """Where q is not small, nor an angle that cancels; nowhere if no kernel of a tile is so large that they can be."""
    most = float(MOST_COSINE**2 if part.cancels else 1 - MIN_DIFFERENCE)
    test, operands = FAR if has_root else NOT_ONE, [part.rest if has_root else part.sine]
    if part.cancels:
        test, operands = f"({FAR}) & ({{1}} <= {float(MOST_COSINE)})", [part.rest, part.sine]
    largest = part.slope**2 * K1 * K2 / (part.first * part.second)
    grows = all(_grows_slower(f, k) for f, k in zip((part.first, part.second), (K1, K2), strict=True))
    if not grows or sp.cancel(largest).is_number:
        return Precondition(test, tuple(operands), bounds=sp.cancel(largest) == 1)
    return Precondition(test, tuple(operands), (largest, most))


def _grows_slower(factor: sp.Expr, kernel: sp.Symbol) -> bool:
    """Whether k/factor never falls: it is a + b*k with numbers a, b >= 0."""
    if not factor.free_symbols <= {kernel}:
        return False
    polynomial = sp.Poly(factor, kernel)
    return polynomial.degree() < 2 and all(c.is_nonnegative for c in polynomial.coeffs())


# ---- everything else ---------------------------------------------------------------------------------------------
def _plain(code: sp.Expr) -> FastPath:
    """Code as it is, the correlation and the determinant without care."""
    steps: dict[sp.Symbol, sp.Expr] = {}
    preconditions: tuple[Precondition, ...] = ()
    if code.has(correlation, complement):
        rest = sp.Dummy("q", positive=True)
        steps |= {correlation: C / sp.sqrt(K1) / sp.sqrt(K2), rest: 1 - correlation**2, complement: sp.sqrt(rest)}
        test, operand = (FAR, rest) if code.has(complement) else (NOT_ONE, correlation)
        preconditions = (Precondition(test, (operand,), bounds=True),)
    return with_determinant(FastPath(code, steps, preconditions))


def with_determinant(path: FastPath) -> FastPath:
    """A path on which the determinant is the difference that it is, where that is not small."""
    used = set().union(path.value.free_symbols, *(e.free_symbols for e in path.steps.values()))
    if determinant not in used:
        return path
    precondition = Precondition(f"{FAR}*{{1}}", (determinant, K1 * K2), bounds=True)
    return FastPath(path.value, {**path.steps, determinant: K1 * K2 - C**2}, (*path.preconditions, precondition))
