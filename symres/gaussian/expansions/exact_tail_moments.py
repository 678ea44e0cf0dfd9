"""Exact moments ``integral_0^oo z**n r(z) dz`` of functions that decay, where a closed form is known.

Three kinds of functions that decay exponentially have one:

* polynomials on bounded intervals;
* on the half-line, sums of ``z**j q**l/(1 + q)**a`` and ``z**j log(1 + q)`` with ``q = exp(-c z)``. A power series
  ``G(q) = sum_l g_l q**l``, with ``g_l = (-1)**l`` times a polynomial in l, has the Mellin transform
  ``integral z**(s-1) G(exp(-c z)) dz = Gamma(s) c**-s sum_l g_l l**-s``. The sum is one of values of Dirichlet's eta
  function, by analytic continuation in s: the function is regular at z = 0, so the integral converges for all s > 0;
* on the half-line, polynomials in z, erf(b z) and Gaussians: integration by parts gives every term a Gaussian factor,
  and a term with a Gaussian factor is an average at a finite variance.

softsign, atan and z/sqrt(1 + z**2) approach a polynomial like a power of 1/z. With f = p + r and r ~ c z**-j on the
right, the moments of r exist up to that of z**(j - 2): so far the large-variance expansion is that of
``variance_series.py``. The next term, of order K**(-j/2), may have a logarithm.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import mpmath as mp
import sympy as sp

from ...activations.piecewise import PiecewiseFunction
from ...core.errors import NoClosedForm
from ...core.symbols import K, z
from ...functions.function_record import written_out
from ...functions.ranges import sign_of
from ..closed_form.engine import closed_form
from .puiseux import puiseux_series

_Q = sp.Dummy("q", positive=True)
_LOG = sp.Dummy("log(1+q)", positive=True)
_W = sp.Dummy("1+q", positive=True)
_L = sp.Dummy("l", positive=True, integer=True)
_ERF = sp.Dummy("erf(b z)", positive=True)

Power = tuple[int, bool, int, sp.Expr]  # (j, log, e, c): c z**j (1 + q)**e, or c z**j log(1 + q)
_SERIES_ORDER = 12  # powers of 1/z among which the first of the remainder is sought
_TOLERANCE = mp.mpf(10) ** -20  # relative deviation of a moment from its value in numbers


def exact_moment(remainder: PiecewiseFunction, n: int) -> sp.Expr | None:
    """The exact integral of ``z**n`` times a function on the right of 0, None if it is not known to close.

    It may contain zeta(3), zeta(5), ..., which often cancel against those of another moment.
    """
    remainder = remainder.map(written_out)
    total, ends = sp.Integer(0), (sp.Integer(0), *remainder.breaks)
    for (low, high), part in zip(pairwise(ends), remainder.parts, strict=False):
        if not part.is_polynomial(z):
            return None
        primitive = sp.integrate(sp.expand(z**n * part), z)
        total += primitive.subs(z, high) - primitive.subs(z, low)
    formula = remainder.parts[-1]
    if formula == 0:
        return sp.expand(total)
    if len(ends) > 1:
        return None
    in_exponentials = _in_exponentials(formula)
    if in_exponentials is None:
        return _moment_of_erfs(formula, n)
    powers, rate = in_exponentials
    total = sp.Integer(0)  # by Mellin transforms
    for j, log, e, value in powers:
        s = n + j + 1
        front = value * sp.factorial(s - 1) / rate**s
        total += front * (_eta(s + 1) if log else _power_sum(e, s))
    return sp.expand(total)


# ---------------------------------------------------------------------------------------------------- exponentials
@lru_cache(maxsize=256)
def _in_exponentials(formula: sp.Expr) -> tuple[tuple[Power, ...], sp.Expr] | None:
    """A decaying formula as a sum of ``c z**j (1 + q)**e`` and ``c z**j log(1 + q)``, and the rate of ``q``."""
    in_q = _in_q(formula)
    if in_q is None:
        return None
    expr, rate = in_q
    numerator, denominator = sp.fraction(sp.cancel(sp.together(expr)))
    if denominator.has(z, _LOG):
        return None
    order, scale = 0, sp.Poly(denominator, _Q)
    while scale.degree() > 0 and scale.eval(-1) == 0:
        scale, order = scale.quo(sp.Poly(_Q + 1, _Q)), order + 1
    if scale.degree() > 0:
        return None
    powers: list[Power] = []
    constants: dict[int, sp.Expr] = {}
    for (j, logs), coefficient in sp.Poly(numerator, z, _LOG).terms():
        in_w = sp.Poly(sp.expand((coefficient / scale.as_expr()).subs(_Q, _W - 1)), _W)
        for (degree,), value in in_w.terms():
            if logs > 1 or (logs == 1 and degree != order):  # of log(1 + q)**2 and log(1 + q)/(1 + q), no rule here
                return None
            powers.append((j, logs == 1, degree - order, value))
            if not logs:
                constants[j] = constants.get(j, sp.Integer(0)) + value
    if any(sp.expand(value) != 0 for value in constants.values()):  # the sum would not decay
        return None
    return tuple(powers), rate


def _in_q(formula: sp.Expr) -> tuple[sp.Expr, sp.Expr] | None:
    """A formula in z, q = exp(-rate*z) and log(1 + q), and the rate."""
    exponential = formula.replace(sp.tanh, lambda u: 1 - 2 / (sp.exp(2 * u) + 1))
    exponential = exponential.rewrite((sp.sinh, sp.cosh, sp.sech), sp.exp)
    slopes = [sp.cancel(e.args[0] / z) for e in exponential.atoms(sp.exp) if e.has(z)]
    if not slopes or any(slope.has(z) for slope in slopes) or not sign_of(slopes[0]):
        return None
    ratios = [sp.cancel(slope / slopes[0]) for slope in slopes]
    if not all(ratio.is_Rational for ratio in ratios):
        return None
    rate = sp.gcd_list(ratios) * slopes[0] * sign_of(slopes[0])
    expr = exponential.replace(
        lambda e: isinstance(e, sp.exp) and e.has(z), lambda e: _Q ** -sp.cancel(e.args[0] / (z * rate))
    )
    expr = expr.xreplace({sp.log(1 + _Q): _LOG, sp.log(1 + 1 / _Q): rate * z + _LOG})
    if not expr.is_rational_function(z, _Q, _LOG) or not all(map(_known_poles, expr.atoms(sp.Pow))):
        return None
    return expr, rate


def _known_poles(power: sp.Pow) -> bool:
    """Whether a denominator vanishes at q = 0 and -1 only: asked early, for long quotients take seconds to sort."""
    if not power.exp.is_negative or not power.base.has(_Q):
        return True
    numerator = sp.numer(sp.together(power.base))
    if numerator.has(z, _LOG):
        return False
    roots = (sp.Poly(factor, _Q) for factor, _ in sp.Poly(numerator, _Q).factor_list()[1])
    return all(factor.degree() == 1 and factor.eval(0) * factor.eval(-1) == 0 for factor in roots)


def _power_sum(power: int, s: int) -> sp.Expr:
    """``sum_(l >= 1) g_l l**-s`` for ``(1 + q)**power = sum g_l q**l``."""
    if power >= 0:
        return sp.Add(*(sp.binomial(power, k) * sp.Integer(k) ** -s for k in range(1, power + 1)))
    counts = sp.Poly(sp.prod([_L + i for i in range(1, -power)]) / sp.factorial(-power - 1), _L)
    return -sp.Add(*(value * _eta(s - degree) for (degree,), value in counts.terms()))


def _eta(s: int) -> sp.Expr:
    """``sum_(l >= 1) (-1)**(l-1) l**-s``, continued."""
    return sp.log(2) if s == 1 else (1 - sp.Integer(2) ** (1 - s)) * sp.zeta(s)


# -------------------------------------------------------------------------------------------------- error functions
def _moment_of_erfs(formula: sp.Expr, n: int) -> sp.Expr | None:
    """The moment of a polynomial in z, one erf(b z) and Gaussians, from 0 on."""
    formula = formula.replace(sp.erfc, lambda u: 1 - sp.erf(u))
    inner = {node.args[0] for node in formula.atoms(sp.erf)}
    if len(inner) > 1:
        return None
    slope = sp.cancel(inner.pop() / z) if inner else sp.Integer(1)
    if slope.has(z) or sign_of(slope) != 1:
        return None
    expr = sp.expand(formula.xreplace({node: _ERF for node in formula.atoms(sp.erf)}))
    gaussians = {e for e in expr.atoms(sp.exp) if e.has(z)}
    if any(sp.cancel(e.args[0] / z**2).has(z) or sign_of(e.args[0] / z**2) != -1 for e in gaussians):
        return None
    names = {e: sp.Dummy() for e in gaussians}
    expr = expr.xreplace(names)
    if not expr.is_polynomial(z, _ERF, *names.values()):
        return None
    total = sp.Integer(0)
    for powers, value in sp.Poly(expr, z, _ERF, *names.values()).terms():
        j, i, *counts = powers
        decay = -sp.Add(*(count * sp.cancel(e.args[0] / z**2) for e, count in zip(names, counts, strict=True)))
        if decay == 0:  # by parts; the constants of the terms cancel, for their sum decays
            j, i, value, decay = j + 1, i - 1, -value * i / (n + j + 1) * 2 * slope / sp.sqrt(sp.pi), slope**2
        if i < 0:
            continue
        moment = _gaussian_moment(n + j, i, slope, decay)
        if moment is None:
            return None
        total += value * moment
    return sp.expand(total)


@lru_cache(maxsize=1024)
def _gaussian_moment(power: int, erfs: int, slope: sp.Expr, decay: sp.Expr) -> sp.Expr | None:
    """``integral_0^oo z**power erf(slope z)**erfs exp(-decay z**2) dz``."""
    function = z**power * sp.erf(slope * z) ** erfs
    # an even function needs no step at 0, and has more closed forms for it
    even = (power + erfs) % 2 == 0
    pieces = (
        PiecewiseFunction((), (function / 2,))
        if even
        else PiecewiseFunction((sp.Integer(0),), (sp.Integer(0), function))
    )
    try:
        average = closed_form((pieces,), (K,)).result
    except NoClosedForm:
        return None
    return sp.sqrt(sp.pi / decay) * average.subs(K, 1 / (2 * decay))


@lru_cache(maxsize=256)
def algebraic_right(part: sp.Expr) -> tuple[sp.Expr, sp.Expr, int] | None:
    """The polynomial that a formula approaches for z -> oo, the remainder, and the power of 1/z with which it falls.

    None for formulas other than numbers, roots, quotients and arcs of z, and for those that approach no polynomial.
    """
    if part.free_symbols != {z} or not part.replace(sp.atan, lambda u: u).is_algebraic_expr(z):
        return None
    try:
        terms = puiseux_series(part.xreplace({z: 1 / z}), _SERIES_ORDER).without_zeros.terms
    except NoClosedForm:
        return None
    first = min((exponent for exponent in terms if exponent > 0), default=sp.oo)
    if first is sp.oo or not all(exponent.is_Integer for exponent in terms):
        return None
    polynomial = sp.Add(*(value * z**-exponent for exponent, value in terms.items() if exponent <= 0))
    return polynomial, part - polynomial, int(first)


def algebraic_moment(remainder: PiecewiseFunction, n: int) -> sp.Expr | None:
    """``integral_0^oo z**n r(z) dz`` in closed form, compared with its value in numbers; None if there is none."""
    ends = (sp.Integer(0), *remainder.breaks, sp.oo)
    pieces = [
        (sp.factor(sp.cancel(z**n * part)), low, high)
        for (low, high), part in zip(pairwise(ends), remainder.parts, strict=True)
    ]
    if any(_has_unwritten_poles(integrand) for integrand, *_ in pieces):
        return None
    total = sp.Add(*(sp.integrate(integrand, (z, low, high)) for integrand, low, high in pieces))
    if total.has(sp.Integral) or not (total.is_number and total.is_finite):
        return None
    with mp.workdps(30):
        measured = mp.mpf(0)
        for integrand, low, high in pieces:
            start = _number(low)
            inside = [start + 1, start + 10] if high is sp.oo else []  # where quadrature divides its range
            measured += mp.quad(sp.lambdify(z, integrand, "mpmath"), [start, *inside, _number(high)])
        close = abs(measured - _number(total)) <= _TOLERANCE * abs(measured)
    return total if close else None


def _has_unwritten_poles(integrand: sp.Expr) -> bool:
    """Whether a quotient of polynomials has poles that are no roots of quadratics: sympy takes minutes to give up."""
    denominator = sp.denom(integrand)
    if not denominator.is_polynomial(z) or not denominator.has(z):
        return False
    return any(factor.degree() > 2 for factor, _ in sp.Poly(denominator, z).factor_list()[1])


def _number(value: sp.Expr) -> mp.mpf:
    return mp.inf if value is sp.oo else mp.mpmathify(sp.N(value, 30))
