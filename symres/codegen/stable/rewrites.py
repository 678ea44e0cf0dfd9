"""Stabilising rewrites: the same function, spelled so that float arithmetic keeps its digits.

Every rule is an identity over the reals; tests/unit/codegen/stable/test_rewrites.py holds a hard point for each.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from sympy.utilities.iterables import sift

from ...core.symbols import z
from ...functions import companions as co
from ...functions.companions import logistic
from ...functions.function_record import RECORDS, record_of
from ...functions.records.gaussian_signs import Q2, S2
from ...functions.removable import quotient_beside_zero
from . import primitives as pr
from .shifted_signs import crossed, squared, tailed

_BESIDE_ZERO = sp.Float(1e-30)  # lost beside any other number of a rule; its square is a float in double precision
_ROOM = 500  # below, exponents stay as they are: their exponentials are floats, and so are products with powers


def stabilise(expr: sp.Expr) -> sp.Expr:
    """Apply every rule, bottom-up, in the order that lets each see what the one before leaves.

    A formula that is 0/0 at 0 as it is written, ``sin(z)/z``, is taken next to 0 there.
    """
    if quotient_beside_zero(expr, z) is not None:
        return _stabilised(expr).xreplace({z: z + _BESIDE_ZERO})
    return _stabilised(expr)


def _stabilised(expr: sp.Expr) -> sp.Expr:
    if expr.has(S2):
        expr = bottom_up(tailed(bottom_up(expr, squared)), crossed)
    for rule in (
        _arcus_tangent,
        _two_variables,
        logistic,
        _log_sum,
        _saturated,
        _tail_quotients,
        _log_tail,
        _scaled_erfc,
        _scaled_erfi,
        _scaled_hyperbolic,
        _offset_waves,
        _differences,
        _small_differences,
        _root_differences,
        _softplus_differences,
        _log1p,
        _log_cosh,
    ):
        expr = bottom_up(expr, rule)
    return expr


def bottom_up(expr: sp.Expr, rule: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    """Rewrite the arguments first, then the node (sympy's own walker re-evaluates unevaluated nodes likewise).

    Constants stay as they are: they become floats, and only sympy's own functions have numbers for that.
    """
    rewritten: dict[sp.Basic, sp.Basic] = {}

    def walk(e: sp.Basic) -> sp.Basic:
        if e not in rewritten and not e.free_symbols:
            rewritten[e] = e
        if e not in rewritten:
            arguments = [walk(a) for a in e.args]
            changed = any(a is not b for a, b in zip(arguments, e.args, strict=True))
            rewritten[e] = rule(e.func(*arguments) if changed else e)
        return rewritten[e]

    return walk(expr)


def _arcus_tangent(e: sp.Expr) -> sp.Expr:
    """asin(p/q) -> the angle of (sqrt(q**2 - p**2), p): asin loses half of the digits where p is close to q."""
    if isinstance(e, sp.acos):
        return sp.pi / 2 - _arcus_tangent(sp.asin(e.args[0]))
    if not isinstance(e, sp.asin) or not e.free_symbols:
        return e
    over, under = sp.fraction(sp.together(e.args[0]))
    radicand = sp.expand(under**2 - over**2)
    return pr.Atan2(over, sp.sqrt(sp.factor_terms(radicand)))


def _two_variables(e: sp.Expr) -> sp.Expr:
    """S2(h, k, p/q) and Q2 by the legs p and sqrt(q**2 - p**2) of an angle, as the arcsine."""
    if not isinstance(e, S2 | Q2):
        return e
    h, k, r = e.args
    over, under = sp.fraction(sp.together(r))
    square = sp.factor_terms(sp.expand(under**2 - over**2))
    return (pr.TwoSigns if isinstance(e, S2) else pr.TwoTails)(h, k, over, sp.sqrt(square))


def _log_sum(e: sp.Expr) -> sp.Expr:
    """log(r + a*exp(u) + b*exp(v)): what would overflow is taken out.

    For numbers r, a, b > 0 it is log(r) + log(1 + exp(w)), which keeps its digits where exp(u) and exp(v) are small.
    Otherwise it stays as it is, digits next to log(1) included, as long as exponents are below the room.
    """
    if not (isinstance(e, sp.log) and isinstance(e.args[0], sp.Add)):
        return e
    terms = [factor_and_exponent(term) for term in e.args[0].args]
    if not any(u.has(z) for _, u in terms):
        return e
    multiplied = sp.expand_mul(e.args[0].rewrite((sp.cosh, sp.sinh), sp.exp))
    positive = [factor_and_exponent(term) for term in sp.Add.make_args(multiplied)]
    if all(c.is_positive and not c.has(z) for c, _ in positive):
        growing, constants = _growing(positive)
        top = sp.Max(*(u + sp.log(c / (constants or 1)) for c, u in growing))
        beside = sp.Add(*(c / (constants or 1) * sp.exp(u - top) for c, u in growing)) if len(growing) > 1 else sp.S.One
        total = top + sp.log(beside)
        return co.Softplus(total) + sp.log(constants) if constants else total
    growing, constants = _growing(terms)
    top = sp.Max(0, *(u - _ROOM for _, u in growing)) if constants else sp.Max(*(u for _, u in growing))
    if top == 0:
        return e
    number, others = constants.as_coeff_Add()
    total = sp.Add(others * sp.exp(-top), *(c * sp.exp(u - top) for c, u in growing))
    return top + (co.Log1p(co.Expm1(-top) + total) if number == 1 else sp.log(number * sp.exp(-top) + total))


def _growing(terms: list[tuple[sp.Expr, sp.Expr]]) -> tuple[list[tuple[sp.Expr, sp.Expr]], sp.Expr]:
    """The terms (c, u) for c*exp(u) whose exponent varies, and the sum of the others."""
    return [(c, u) for c, u in terms if u.has(z)], sp.Add(*(c * sp.exp(u) for c, u in terms if not u.has(z)))


def factor_and_exponent(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """(c, u) for c*exp(u); u is 0 where there is no exponential."""
    exponentials, factors = sift(sp.Mul.make_args(term), lambda f: isinstance(f, sp.exp), binary=True)
    return sp.Mul(*factors), sp.Add(*(f.args[0] for f in exponentials))


def _saturated(e: sp.Expr) -> sp.Expr:
    """Write q + q*erf(u) as q*erfc(-u), and so on for others and for squares: digits where erf(u) is -1 in floats."""
    for term in e.args if isinstance(e, sp.Add) else ():
        for factor in sp.Mul.make_args(term):
            base, n = factor.as_base_exp()
            complements = record.complements if (record := record_of(base)) is not None else None
            if complements is None or not base.free_symbols or not (n.is_Integer and n > 0):
                continue
            (less, more), q = complements(*base.args), term / base
            if less is None or more is None:
                continue
            for held, meant in ((q, q * more), (-q, -q * less), (-q / base, -q / base * less * more)):
                if held in e.args and (held != -q / base or n > 1):
                    return _saturated(e - held - term + meant)
    return e


def _scaled_erfc(e: sp.Expr) -> sp.Expr:
    """exp(u)*erfc(w) -> exp(u - w**2)*erfcx(w) for w > 0: no infinity times zero. An average has one tail a term.

    Where the sign of w depends on parameters, it is chosen when they are known.
    """
    if not isinstance(e, sp.Mul):
        return e
    factor, inside = factor_and_exponent(e)
    tails = [f for f in e.args if isinstance(f, sp.erfc | co.Erfc) and not f.args[0].is_nonpositive]
    if len(tails) != 1 or inside == 0:
        return e
    (w,) = tails[0].args
    if w.has(pr.CrossDifference):  # beside a density: where the tail is no float the product is none
        return e
    beyond = sp.expand(inside - w**2)
    scaled = sp.exp(beyond) * co.Erfcx(w) if w.is_nonnegative else co.ScaledTail(inside, beyond, w)
    return factor / tails[0] * scaled


def _tail_quotients(e: sp.Expr) -> sp.Expr:
    """erfc(w)**n beside exponentials and other tails, n < 0 in one of them: no zero over zero where w is large.

    With w**2 = min(w, 0)**2 + max(w, 0)**2 squares in the exponents cancel as symbols.
    """
    powers = [factor.as_base_exp() for factor in e.args] if isinstance(e, sp.Mul) else []
    tails = [(f.args[0], n) for f, n in powers if isinstance(f, sp.erfc | co.Erfc) and f.has(z)]
    _, exponent = factor_and_exponent(e)
    if not any(n.is_negative for _, n in tails) or len(tails) + (exponent != 0) < 2:
        return e
    w, moved = tails[0][0], sp.Dummy()
    ratios = [sp.cancel(other / w) for other, _ in tails]
    if not w.is_polynomial(z) or sp.degree(w, z) != 1 or any(r.has(z) for r in ratios):
        return e
    slope, offset = sp.Poly(w, z).all_coeffs()
    inside = sp.expand(exponent.subs(z, (moved - offset) / slope))
    square, low, high = inside.coeff(moved, 2), sp.Min(w, 0), sp.Max(w, 0)
    left = square - sum(n * r**2 for (_, n), r in zip(tails, ratios, strict=True) if r.is_negative)
    right = square - sum(n * r**2 for (_, n), r in zip(tails, ratios, strict=True) if r.is_positive)
    exponent = (inside - square * moved**2).subs(moved, w) + left * low**2 + right * high**2
    kept = [f**n for f, n in powers if not isinstance(f, sp.erfc | co.Erfc) and not isinstance(f**n, sp.exp)]
    return sp.Mul(*kept, sp.exp(exponent), *(_without_decay(u) ** n for u, n in tails))


def _log_tail(e: sp.Expr) -> sp.Expr:
    """log(q*erfc(w)) -> log(q*erfcx(w)) - w**2 for w > 0: erfc(w) is 0 in floats from w = 27 on."""
    if not isinstance(e, sp.log):
        return e
    tails = [f for f in sp.Mul.make_args(e.args[0]) if isinstance(f, sp.erfc | co.Erfc) and f.has(z)]
    if len(tails) != 1:
        return e
    (w,) = tails[0].args
    return sp.log(e.args[0] / tails[0] * _without_decay(w)) - sp.Max(w, 0) ** 2


def _without_decay(w: sp.Expr) -> sp.Expr:
    """erfc(w) without the factor ``exp(-max(w, 0)**2)``."""
    return co.Erfc(sp.Min(w, 0)) * co.Erfcx(sp.Max(w, 0))


def _scaled_erfi(e: sp.Expr) -> sp.Expr:
    """erfi(w) -> exp(w**2)*dawson(w)*2/sqrt(pi), exponents joined: nothing overflows where a product does not."""
    if isinstance(e, sp.erfi):
        return 2 / sp.sqrt(sp.pi) * sp.exp(e.args[0] ** 2) * co.Dawson(e.args[0])
    factor, exponent = factor_and_exponent(e)
    return factor * sp.exp(sp.expand(exponent)) if isinstance(e, sp.Mul) and factor.has(co.Dawson) else e


def _scaled_hyperbolic(e: sp.Expr) -> sp.Expr:
    """exp(a)*sinh(b), exp(a)*cosh(b): one function each, so that the growth of one cancels that of the other."""
    factor, exponent = factor_and_exponent(e)
    waves = [f for f in sp.Mul.make_args(factor) if isinstance(f, sp.sinh | sp.cosh)]
    if len(waves) != 1 or exponent == 0:
        return e
    scaled = co.ExpSinh if isinstance(waves[0], sp.sinh) else co.ExpCosh
    return factor / waves[0] * scaled(exponent, waves[0].args[0])


def _offset_waves(e: sp.Expr) -> sp.Expr:
    """1 - exp(a) - exp(b) + exp(a + b)*cosh(c) -> expm1(a)*expm1(b) + exp(a + b)*(cosh(c) - 1), times a number."""
    if not isinstance(e, sp.Add) or not e.has(co.ExpCosh):
        return e
    flat, others = sp.Integer(0), sp.Integer(0)
    for term in e.args:
        k, function = term.as_coeff_Mul()
        if isinstance(function, co.ExpCosh):
            flat += k * sp.exp(function.args[0])
            others += k * co.ExpCoshm1(*function.args)
        elif function == 1 or isinstance(function, sp.exp):
            flat += term
        else:
            others += term
    flat = sp.expand(flat, power_exp=True)
    names = {a: sp.Dummy() for a in sorted(flat.atoms(sp.exp), key=sp.default_sort_key)}
    factors = sp.factor_list(flat.xreplace(names))
    if len(factors[1]) < 2 or any(f + 1 not in names.values() and 1 - f not in names.values() for f, _ in factors[1]):
        return e
    product = factors[0]
    for f, power in factors[1]:
        sign = 1 if f + 1 in names.values() else -1
        argument = next(a.args[0] for a, d in names.items() if d == sign * f + 1)
        product *= (sign * co.Expm1(argument)) ** power
    return product + others


def _differences(e: sp.Expr) -> sp.Expr:
    """q*exp(u) - q*exp(v) as a product, and so on for sin and cos: digits where u is next to v.

    Exponents that are sums of squares stay: in means of them the squares, infinite for parallel inputs, would cancel.
    """
    seen: dict[tuple[sp.Expr, type[sp.Function]], sp.Expr] = {}  # (q, f) -> u
    products = {kind: record.product for kind, record in RECORDS.items() if record.product is not None}
    for term in sorted(e.args, key=sp.default_sort_key) if isinstance(e, sp.Add) else ():
        factors = sp.Mul.make_args(term)
        functions: list[sp.Expr] = [f for f in factors if f.free_symbols and type(f) in products]
        if len(functions) != 1 or len(term.atoms(*products)) != 1 or functions[0].has(pr.CrossDifference):
            continue
        (head, (v,)), q = (functions[0].func, functions[0].args), sp.Mul(*(f for f in factors if f is not functions[0]))
        if (-q, head) not in seen:
            seen[q, head] = v
            continue
        u = seen[-q, head]
        return e - term + q * head(u) - q * products[head](sp.factor_terms(u + v) / 2, sp.factor_terms(u - v) / 2)
    return e


def _small_differences(e: sp.Expr) -> sp.Expr:
    """C*exp(u) - c -> c*expm1(u), c - c*erf(w) -> c*erfc(w), c - c*cos(u) -> 2*c*sin(u/2)**2.

    Also where several such terms share a constant: all are written so if that makes the constant smaller.
    """
    for head, record in RECORDS.items():
        if not isinstance(e, sp.Add) or record.complements is None:
            continue
        constant, terms = e.as_coeff_Add()
        numbered = [term.as_coeff_Mul() for term in sp.Add.make_args(terms)]
        moving = [(k, f) for k, f in numbered if f.func is head and f.free_symbols]
        left = constant + sum(k for k, _ in moving)
        if abs(left) < abs(constant):
            staying = [k * f for k, f in numbered if (k, f) not in moving]
            e = sp.Add(left, *staying, *(-k * record.complements(f.args[0])[0] for k, f in moving))
    return e


def _log1p(e: sp.Expr) -> sp.Expr:
    """log(1 + u) -> log1p(u)."""
    if isinstance(e, sp.log) and isinstance(e.args[0], sp.Add) and sp.S.One in e.args[0].args:
        return co.Log1p(e.args[0] - 1)
    return e


def _root_differences(e: sp.Expr) -> sp.Expr:
    """Write k*sqrt(q + u) - k*sqrt(q) as k*u/(sqrt(q + u) + sqrt(q)) for a number q."""
    numbers = sp.Add(*(term for term in e.args if term.is_number)) if isinstance(e, sp.Add) else sp.Integer(0)
    for term in e.args if numbers else ():
        k, root = term.as_independent(*term.free_symbols, as_Add=False)
        if isinstance(root, sp.Pow) and root.exp == sp.S.Half:
            q, u = root.base.as_coeff_Add()
            if q.is_positive and numbers == -k * sp.sqrt(q):
                return e - term - numbers + k * u / (root + sp.sqrt(q))
    return e


def _softplus_differences(e: sp.Expr) -> sp.Expr:
    """k*softplus(u) - k*log(1 + exp(v)) -> k*(m + log1p(expm1(-m)/q) + log1p((1 - 1/q)*expm1(d - m))) for a number v.

    Here d = u - v, m = max(d, 0) and q = 1 + exp(v): digits where u is next to v, and no overflow. For v = 0 both
    logarithms are one.
    """
    for term in e.args if isinstance(e, sp.Add) else ():
        for function in (f for f in sp.Mul.make_args(term) if isinstance(f, co.Softplus)):
            (u,), k = function.args, term / function
            for offset in (t for t in e.args if (t / k).is_number):
                q = sp.exp(-offset / k)
                v = sp.log(q - 1)
                if v.is_Rational:
                    return e - term - offset + k * _softplus_beside(u - v, q)
    return e


def _softplus_beside(d: sp.Expr, q: sp.Expr) -> sp.Expr:
    """softplus(v + d) - log(q) for the number v with q = 1 + exp(v)."""
    if q == 2:
        return sp.Max(d, 0) + co.Log1p(co.Expm1(-sp.Abs(d)) / 2)
    return sp.Max(d, 0) + co.Log1p(co.Expm1(-sp.Max(d, 0)) / q) + co.Log1p((1 - 1 / q) * co.Expm1(sp.Min(d, 0)))


def _log_cosh(e: sp.Expr) -> sp.Expr:
    """log(q*cosh(u)) -> log1p(2*sinh(u/2)**2) + log(q) for abs(u) < 1, and what is more from there on.

    That is m + log((1 + exp(-2*m - 2))/(1 + exp(-2))), m = abs(u) - 1; next to 0 it is 0 to all digits.
    """
    if not isinstance(e, sp.log):
        return e
    q, wave = e.args[0].as_independent(sp.cosh, as_Add=False)
    if not isinstance(wave, sp.cosh) or not q.is_positive:
        return e
    size = sp.Abs(wave.args[0])
    excess = sp.Max(size - 1, 0)
    near = co.Log1p(2 * sp.sinh(sp.Min(size, 1) / 2) ** 2)
    return near + excess + co.Log1p(co.Expm1(-2 * excess) / (1 + sp.exp(2))) + sp.log(q)
