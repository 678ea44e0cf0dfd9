"""Angle forms by the tangent of the half angle: one root, one division and no choice between octants.

The point (x, y) at the distance r has the angle 2*arctan(y/(r + x)) for x >= 0. Where r**2 = F(K1)*G(K2), as for all
centred orthants, r is a product of what each input has of its own.

R*s + M*N*theta with the angle theta of (-N, s) cancels as N -> -r: there s + N*theta = s*v*(1 + (1 - v)*Q(v)) with
v = (s/(r + abs(N)))**2 and arctan(u) = u*(1 - v*Q(v)) at u**2 = v does not, and R - M is written without cancellation.
"""

from __future__ import annotations

import sympy as sp

from .angles import ROOTS, Angle, AngleForm, positive
from .primitives import AngularSum, RightHalfPlaneAngle, UpperHalfPlaneAngle


def half_angles(form: AngleForm) -> sp.Expr | None:
    """The expression to print; None if a radius is no product of what each input has of its own."""
    if form.triple == ROOTS:
        return None
    total = positive(form.rest, form.triple)
    for angle in form.angles:
        radius = _radius(angle, form)
        if radius is None:
            return None
        total += _printed(angle, form, radius)
    return total


def _printed(angle: Angle, form: AngleForm, radius: sp.Expr) -> sp.Expr:
    triple = form.triple
    s = sp.sqrt(positive(angle.D, triple))
    if angle.shift == 0:
        return positive(angle.A, triple) * RightHalfPlaneAngle(angle.N, s, radius) + form.times_root(angle.R, angle, s)
    parts = form.angular_sum(angle)
    if parts is None:
        turn = angle.shift * UpperHalfPlaneAngle(angle.shift * angle.N, s, radius)  # theta, and its negative
        return positive(angle.A, triple) * turn + form.times_root(angle.R, angle, s)
    rest, apart, factor, towards = parts
    return AngularSum(
        form.times_root(rest, angle, s), form.apart_times_root(apart, angle, s), factor, towards, s, radius
    )


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
