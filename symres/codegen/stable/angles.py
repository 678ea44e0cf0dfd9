"""Pair kernels as angles: F = sum_j (A_j*theta_j + R_j*s_j) + R_0 with rational A, R in K1, K2, C.

Here s = sqrt(D), D = Q - N**2, and theta is the angle asin(N/sqrt(Q)) = atan2(N, s). Every closed form from centred
orthants (ReLU family, erf, GELU and their products with polynomials) has this shape. It matters twice: D and the
rational functions can be written as sums of positive terms, so nothing cancels; and derivatives, whose 1/s parts
cancel in exact arithmetic but give inf - inf in floats, are again of this shape with the cancellation done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp
from sympy.polys.fields import FracField

from ...core.symbols import K1, K2
from .positive_terms import ROOTS, Triple, positive, simple_fractions, steadier
from .primitives import AngularSum, Atan2, RightHalfPlaneAngle, UpperAngle, UpperHalfPlaneAngle, determinant

_KERNELS = {K1: ROOTS[0], K2: ROOTS[2]}


@dataclass(frozen=True)
class Angle:
    """A*theta + R*s with theta = asin(N/sqrt(Q)) + shift*pi/2, shift = -1, 0 or 1, and s = sqrt(Q - N**2)."""

    N: sp.Expr
    Q: sp.Expr
    A: sp.Expr
    R: sp.Expr
    shift: int = 0

    @property
    def D(self) -> sp.Expr:
        """The radicand of s."""
        return sp.expand(self.Q - self.N**2)


@dataclass(frozen=True)
class AngleForm:
    """A kernel of two inputs with variances K1, K2 and covariance C, written with angles."""

    triple: Triple  # K1, C, K2
    angles: tuple[Angle, ...]
    rest: sp.Expr

    def stable(self) -> sp.Expr:
        """The expression to print, in K1, K2, C and their determinant."""
        code = self.written([None] * len(self.angles))
        return code if self.triple != ROOTS else code.xreplace({root: sp.sqrt(k) for k, root in _KERNELS.items()})

    def written(self, radii: Sequence[sp.Expr | None]) -> sp.Expr:
        """The expression in the variables of the form, angles by their halves where the distance of a point is known.

        Args:
            radii: for each angle the distance of its point from the origin, or None.
        """
        code = positive(self.rest, self.triple)
        for angle, radius in zip(self.angles, radii, strict=True):
            s = sp.sqrt(positive(angle.D, self.triple))
            root, theta = self.times_root(angle.R, angle, s), self._theta(angle, s, radius)
            angular_sum = self.angular_sum(angle)
            if angular_sum is None:
                code += positive(angle.A, self.triple) * theta + root
                continue
            difference, factor, towards = angular_sum
            apart = self.apart_times_root(difference, angle, s)
            if radius is None:
                code += AngularSum(root + factor * towards * angle.shift * theta, apart, factor, towards, s)
            else:
                code += AngularSum(root, apart, factor, towards, s, radius)
        return code

    def _theta(self, angle: Angle, s: sp.Expr, radius: sp.Expr | None) -> sp.Expr:
        """The angle itself, from the side that it is counted from."""
        towards = angle.shift * angle.N
        if angle.shift == 0:
            return Atan2(angle.N, s) if radius is None else RightHalfPlaneAngle(angle.N, s, radius)
        if radius is not None:
            return angle.shift * UpperHalfPlaneAngle(towards, s, radius)
        right = self._is_undefined(angle) and angle.A.subs(self.triple[1], 0) != 0
        return angle.shift * (UpperAngle if right else Atan2)(s, -towards)

    def counted_from(self, shifts: Sequence[int]) -> AngleForm:
        """The same with every angle counted from another side: the shifts are -1, 0 or 1."""
        angles = tuple(replace(a, shift=shift) for a, shift in zip(self.angles, shifts, strict=True))
        turned = sp.Add(*((a.shift - b.shift) * a.A for a, b in zip(self.angles, angles, strict=True)))
        return AngleForm(self.triple, angles, sp.cancel(self.rest + turned * sp.pi / 2))

    def angular_sum(self, angle: Angle) -> tuple[sp.Expr, sp.Expr, sp.Expr] | None:
        """An angle counted from one side as R*s + M*N*theta: R - M, M and N, theta the angle of the point (-N, s).

        None if M is no polynomial in the kernels.
        """
        if angle.shift == 0 or angle.A == 0:
            return None
        towards = angle.shift * angle.N
        factor = sp.cancel(angle.shift * angle.A / towards)
        if not factor.is_polynomial(*self.triple):
            return None
        return sp.cancel(angle.R - factor), positive(factor, self.triple), towards

    def times_root(self, R: sp.Expr, angle: Angle, s: sp.Expr) -> sp.Expr:
        """R*s, with a factor 1/D of R turned into 1/s**2."""
        over, under = map(sp.factor, sp.fraction(R))  # lowest terms, as they are made
        (scale, here), (unit, there) = ((c, dict(factors)) for c, factors in map(sp.factor_list, (under, angle.D)))
        poles = min(here.get(base, 0) // power for base, power in there.items() if base.has(*self.triple))
        left = {base: here.get(base, 0) - poles * there.get(base, 0) for base in {**here, **there}}
        under = sp.Mul(scale / unit**poles, *(base**power for base, power in left.items()))
        return positive(over, self.triple) / positive(under, self.triple) * s ** (1 - 2 * poles)

    def apart_times_root(self, R: sp.Expr, angle: Angle, s: sp.Expr) -> sp.Expr:
        """R*s in simple fractions where rounding costs less then, for inputs in nearly opposite directions."""
        plain, towards = self.times_root(R, angle, s), angle.shift * angle.N
        is_plain = self.triple == ROOTS or R.free_symbols - {*self.triple}
        fractions = None if is_plain else simple_fractions(R, self.triple)
        if fractions is None:
            return plain
        unit = fractions[0][0]
        parts = [c / unit * self.times_root(1 / factor, angle, s) for c, factor in fractions]
        points = [
            p for p in _opposite(self.triple) if towards.subs(p) < 0 and angle.Q.subs(p) < 2 * towards.subs(p) ** 2
        ]
        return steadier(plain, sp.Mul(unit, sp.Add(*parts), evaluate=False), points)

    def diff(self, v: sp.Symbol) -> AngleForm:
        """The derivative, its poles at D = 0 cancelled where they can be."""
        if self.triple == ROOTS and v in _KERNELS:
            root, form = _KERNELS[v], self.diff(_KERNELS[v])
            parts = (replace(a, A=sp.cancel(a.A / (2 * root)), R=sp.cancel(a.R / (2 * root))) for a in form.angles)
            return AngleForm(self.triple, tuple(parts), sp.cancel(form.rest / (2 * root)))
        angles = []
        for a in self.angles:
            slope = _cancelled(
                lambda A, R, N, Q, dR, dN, dD, D: dR + R * dD / (2 * D) + A * (dN - N * dD / (2 * D)) / Q,
                *(a.A, a.R, a.N, a.Q, a.R.diff(v), a.N.diff(v), a.D.diff(v), a.D),
            )
            angles.append(Angle(a.N, a.Q, sp.cancel(a.A.diff(v)), slope, a.shift))
        return AngleForm(self.triple, tuple(angles), sp.cancel(self.rest.diff(v)))

    @property
    def vanishing(self) -> bool:
        """True if some s vanishes at C**2 = K1*K2, so that float derivatives of the form itself are undefined."""
        return any(map(self._is_undefined, self.angles))

    def _is_undefined(self, angle: Angle) -> bool:
        """Whether both legs of an angle vanish where the kernels do."""
        return positive(angle.D, self.triple).as_coeff_Add()[0] == 0


def _opposite(triple: Triple) -> list[dict[sp.Symbol, float]]:
    """Kernels of all sizes, of inputs in opposite directions."""
    K1, C, K2 = triple
    sizes = [1e-4, 1e-2, 1.0, 2.0, 5.0, 10.0, 1e2, 1e4]
    return [{K1: k, K2: m, C: -math.sqrt(k * m), determinant: 0.0} for k in sizes for m in sizes if k <= m]


def _cancelled(formula: Callable[..., Any], *values: sp.Expr) -> sp.Expr:
    """A rational formula of rational functions in lowest terms.

    It is computed in their field, where nothing is multiplied out that cancels; roots and pi are further variables.
    """
    basis = {s for value in values for s in value.free_symbols}
    for power in {p for value in values for p in value.atoms(sp.Pow) if not p.exp.is_Integer}:
        basis.add(power.base ** sp.Rational(1, power.exp.q))
    basis |= {number for value in values for number in value.atoms(sp.NumberSymbol)}
    field = FracField(sorted(basis, key=sp.default_sort_key), sp.QQ)
    return formula(*map(field.from_expr, values)).as_expr()


def angle_form(expr: sp.Expr, triple: Triple) -> AngleForm | None:
    """Find the form, or None if the expression is not of this shape."""
    arcs = sorted({a for a in expr.atoms(sp.asin) if a.has(*triple)}, key=sp.default_sort_key)
    if not arcs or expr.has(sp.acos, sp.atan, sp.atan2):
        return None
    angles, roots, replaced = [], [], expr
    for arc in arcs:
        over, under = sp.fraction(sp.together(arc.args[0]))
        Q = sp.expand(under**2)
        if not (over.is_polynomial(*triple) and Q.is_polynomial(*triple)):
            return None
        theta, s = sp.Dummy("theta"), sp.Dummy("s", positive=True)
        angles.append((theta, s, over, Q))
        roots.append((sp.expand(Q - over**2), s))
        replaced = replaced.xreplace({arc: theta})
    if any(f.has(*triple) for f in replaced.atoms(sp.Function)):
        return None
    replaced = replaced.replace(
        lambda e: isinstance(e, sp.Pow) and e.exp.is_Rational and e.exp.q == 2 and e.has(*triple),
        lambda e: _root(e, roots, triple),
    )
    if any(isinstance(p, sp.Pow) and not p.exp.is_Integer and p.has(*triple) for p in sp.preorder_traversal(replaced)):
        return None
    return _collect(replaced, angles, triple)


def rooted_form(expr: sp.Expr) -> AngleForm | None:
    """The form in the roots of the kernels: behind normalisers angles depend on C/sqrt(K1*K2)."""
    return angle_form(expr.xreplace({kernel: root**2 for kernel, root in _KERNELS.items()}), ROOTS)


def _root(power: sp.Pow, roots: list[tuple[sp.Expr, sp.Symbol]], triple: Triple) -> sp.Expr:
    for radicand, s in roots:
        ratio = sp.cancel(radicand / power.base)  # 1, or what depends on parameters
        if not ratio.has(*triple):
            return s ** (2 * power.exp) / ratio**power.exp
    return power


def _collect(
    expr: sp.Expr, angles: list[tuple[sp.Symbol, sp.Symbol, sp.Expr, sp.Expr]], triple: Triple
) -> AngleForm | None:
    """The coefficients of all angles and roots, and what is left without them; None if it is not linear in them."""
    counted, remainder = [], expr
    dummies = {d for theta, s, _, _ in angles for d in (theta, s)}
    for theta, s, N, Q in angles:
        D = sp.expand(Q - N**2)
        A = _even(remainder.diff(theta), s, D)
        remainder = remainder.subs(theta, 0)
        odd = _even((remainder - remainder.subs(s, -s)) / (2 * s), s, D)
        remainder = _even((remainder + remainder.subs(s, -s)) / 2, s, D)
        if A is None or odd is None or remainder is None or not (A + odd).is_rational_function(*triple):
            return None
        if (A.free_symbols | odd.free_symbols) & dummies:
            return None
        counted.append(Angle(N, Q, A, odd))
    return AngleForm(triple, *_shift(counted, remainder)) if remainder.is_rational_function(*triple) else None


def _even(e: sp.Expr, s: sp.Symbol, D: sp.Expr) -> sp.Expr | None:
    """A rational function of s**2 with s**2 = D put in; None if odd powers of s remain."""
    parts = []
    for part in sp.fraction(sp.cancel(sp.together(e))):
        polynomial = sp.Poly(part, s)
        if any(degree % 2 for (degree,) in polynomial.monoms()):
            return None
        parts.append(sp.Add(*(c * D ** (degree // 2) for (degree,), c in polynomial.terms())))
    return sp.cancel(parts[0] / parts[1])


def _shift(angles: list[Angle], remainder: sp.Expr) -> tuple[tuple[Angle, ...], sp.Expr]:
    """Count theta from -pi/2 or pi/2 where that swallows a term: C/4 + C*asin(..)/(2*pi) is C*theta/(2*pi)."""
    out = []
    for a in angles:
        shift = next((k for k in (1, -1) if _contains(remainder, k * a.A * sp.pi / 2)), 0)
        remainder = sp.cancel(remainder - shift * a.A * sp.pi / 2)
        out.append(Angle(a.N, a.Q, a.A, a.R, shift))
    return tuple(out), remainder


def _contains(total: sp.Expr, step: sp.Expr) -> bool:
    """Whether each term of ``step`` stands in ``total`` with the same sign and at least the same size."""
    present, wanted = (sp.expand(e).as_coefficients_dict() for e in (total, step))
    ratios = [present[term] / c for term, c in wanted.items() if c != 0]
    return bool(ratios) and all(ratio.is_number and ratio >= 1 for ratio in ratios)


def half_angles(form: AngleForm) -> sp.Expr | None:
    """The expression with tangents of half angles: one root, one division and no choice between octants.

    The point (x, y) at the distance r has the angle 2*arctan(y/(r + x)) for x >= 0. Where r**2 = F(K1)*G(K2), as for
    all centred orthants, r is a product of what each input has of its own; None if it is not for some angle.

    R*s + M*N*theta with the angle theta of (-N, s) cancels as N -> -r: there s + N*theta = s*v*(1 + (1 - v)*Q(v)) with
    v = (s/(r + abs(N)))**2 and arctan(u) = u*(1 - v*Q(v)) at u**2 = v does not, and R - M is written without
    cancellation.
    """
    if form.triple == ROOTS:
        return None
    radii = [_radius(angle, form) for angle in form.angles]
    return None if None in radii else form.written(radii)


def _radius(angle: Angle, form: AngleForm) -> sp.Expr | None:
    """The root of Q as a product of functions of one kernel each."""
    K1, C, K2 = form.triple
    constant, factors = sp.factor_list(angle.Q)
    if not constant.is_positive:
        return None
    radius = sp.sqrt(constant)
    for factor, power in factors:
        if factor.has(C) or (factor.has(K1) and factor.has(K2)):
            return None
        radius *= sp.sqrt(factor) ** power
    return radius
