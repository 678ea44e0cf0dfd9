"""The error function: Theorem 4.3, section 2.1, appendix J."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import sympy as sp

import symres as sr

from ..claim import Claim
from .plain import ACTIVATIONS, BIAS, FLOATS, KERNELS, SETTINGS, SKIP, WEIGHT, at, average, number, rounded, theory

FULL = {"gamma": sr.gamma}
AT = {"C_W": WEIGHT, "C_b": BIAS}
JOINED = WEIGHT + BIAS  # kernel with LayerNorm on activations
ONE = tuple((K,) for K in KERNELS)
WEIGHTS = ((mp.mpf("1.25"),), (mp.mpf(2),))
LINE = tuple((weight, mu) for (weight,) in WEIGHTS for mu in (mp.mpf("0.25"), SKIP))
SCALES = ((mp.mpf("0.75"), mp.mpf("1.25"), mp.mpf(2)), (mp.mpf(1), mp.mpf(1), mp.mpf("0.5")))  # lambda_1, lambda_2, K
DEPTH = 50


# ---- what is printed ------------------------------------------------------------------------------------------------


def kernel(K: mp.mpf, weight: mp.mpf = WEIGHT, bias: mp.mpf = BIAS, mu: int | mp.mpf = 0) -> mp.mpf:
    """(121), with a skip (139)."""
    return 2 * weight / mp.pi * mp.asin(2 * K / (1 + 2 * K)) + bias + mu**2 * K


def chi_kernel(K: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(122), with a skip (140)."""
    return 4 * WEIGHT / mp.pi / ((1 + 2 * K) * mp.sqrt(1 + 4 * K)) + mu**2


def chi_jacobian(K: mp.mpf, weight: mp.mpf = WEIGHT, mu: int | mp.mpf = 0) -> mp.mpf:
    """(123), with a skip (141)."""
    return 4 * weight / mp.pi / mp.sqrt(1 + 4 * K) + mu**2


def line(weight: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(142), for mu = 0 (126): sigma_b on the critical line."""
    left, right = 16 * weight**2, mp.pi**2 * (1 - mu**2) ** 2
    angle = mp.asin((left - right) / (left + right))
    return mp.sqrt((left - right) / (4 * mp.pi**2 * (1 - mu**2)) - 2 * weight / mp.pi * angle)


def jacobian(first: int, last: int, start: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(14), the product of chi_J along the path of the kernel."""
    K, found = start, mp.mpf(1)
    for layer in range(last):
        found *= chi_jacobian(K, mu=mu) if layer >= first else 1
        K = kernel(K, mu=mu)
    return found


def chi_at_the_end(mu: int | mp.mpf) -> mp.mpf:
    """chi_J* of (125) or (141) at the fixed point (124) or (139)."""
    return chi_jacobian(mp.findroot(lambda K: kernel(K, mu=mu) - K, (1, 3), solver="anderson", tol=1e-60), mu=mu)


def scale() -> mp.mpf:
    """The constant c of Theorem 4.3."""
    return 2 * WEIGHT / (mp.pi * mp.sqrt(WEIGHT + BIAS))


def normalised(mu: int | mp.mpf) -> mp.mpf:
    """(148), for mu = 0 (134)."""
    below = mp.sqrt(5) * (2 * WEIGHT * mp.asin(mp.mpf(2) / 3) + mp.pi * BIAS)
    return 4 * WEIGHT * (1 - mu**2) / below + mu**2


# ---- what symres derives --------------------------------------------------------------------------------------------


def _value(layer: str, quantity: str, K: mp.mpf, **options: object) -> mp.mpf:
    return at(getattr(theory(layer, "erf", **options), quantity), K=K, **SETTINGS)


def _product(first: mp.mpf, second: mp.mpf, K: mp.mpf) -> mp.mpf:
    """<phi(lambda_1 h) phi(lambda_2 h)>: two inputs that are multiples of each other."""
    return sr.expect2("erf", "erf").evalf(40, K1=first**2 * K, K2=second**2 * K, C=first * second * K)


def _product_slope(first: mp.mpf, second: mp.mpf, K: mp.mpf) -> mp.mpf:
    """<h^2 phi'(lambda_1 h) phi'(lambda_2 h)>, its derivative in both."""
    decay = sp.Rational(sp.Float(first**2 + second**2, 30))
    return sr.expect(4 * sr.z**2 * sp.exp(-decay * sr.z**2) / sp.pi).evalf(40, K=K)


def _end(mu: mp.mpf) -> Any:
    return theory("residual", "erf", **FULL).phase(**AT, gamma=mu)


def _ratio_on_line(**options: object) -> mp.mpf:
    line = theory("pre_ln", "erf", **options).critical_line_expr
    return mp.sqrt(number(line, C_W=WEIGHT) / WEIGHT)


def _growth(name: str) -> mp.mpf:
    """The ratio of log J^{0,2l} to log J^{0,l} for a skip of weight 1."""
    layers = theory("residual", name, gamma=1)
    long, short = (mp.log(layers.jacobian(0, depth, 1, **AT)) for depth in (2 * DEPTH, DEPTH))
    return long / short


def _iterated_growth(name: str) -> mp.mpf:
    return mp.log(jacobian(0, 2 * DEPTH, mp.mpf(1), 1)) / mp.log(jacobian(0, DEPTH, mp.mpf(1), 1))


def _chi_slope() -> mp.mpf:
    """The coefficient of K in chi_J at the critical weights."""
    layers = theory("mlp", "erf")
    series = layers.chi_perp.series(1).expr
    assert series is not None
    return number(sp.expand(series).coeff(sr.K, 1).subs(sr.C_W, layers.critical_points[0].C_W))


# ---- the claims -----------------------------------------------------------------------------------------------------


def claims() -> tuple[Claim, ...]:
    """Results for erf."""
    return (*_perceptron(), *_criticality(), *_normalised(), *_residual(), *_subcritical())


def _perceptron() -> tuple[Claim, ...]:
    return (
        Claim(
            "(14)",
            "J^{l0,l} is a product",
            jacobian,
            lambda first, last, K: theory("mlp", "erf").jacobian(first, last, K, **AT),
            ((0, 7, mp.mpf(1)), (3, 20, mp.mpf("0.25"))),
            FLOATS,
        ),
        Claim(
            "(16)",
            "J^{L-2,L-1} of a deep network",
            lambda: chi_at_the_end(0),
            lambda: theory("mlp", "erf").jacobian(118, 119, 1, **AT),
            ((),),
            FLOATS,
        ),
        Claim(
            "(17)",
            "correlation length",
            lambda mu: 1 / abs(mp.log(chi_at_the_end(mu))),
            lambda mu: mp.mpf(_end(mu).correlation_length),
            ((mp.mpf(0),), (mp.mpf("0.25"),)),
            FLOATS,
        ),
        Claim(
            "(120)",
            "<phi(lambda_1 h) phi(lambda_2 h)>",
            lambda a, b, K: 2 / mp.pi * mp.asin(2 * K * a * b / (1 + 2 * K * (a**2 + b**2))),
            _product,
            SCALES,
            witness=lambda a, b, K: average(lambda h: mp.erf(a * h) * mp.erf(b * h), K),
        ),
        Claim(
            "(120)*",
            "<phi(lambda_1 h) phi(lambda_2 h)>, with a root of a product below",
            lambda a, b, K: 2 / mp.pi * mp.asin(2 * K * a * b / mp.sqrt((1 + 2 * K * a**2) * (1 + 2 * K * b**2))),
            _product,
            SCALES,
        ),
        Claim(
            "(120) int",
            "the integrand over lambda_1 and lambda_2",
            lambda a, b, K: 4 * K / (mp.pi * (1 + 2 * K * (a**2 + b**2))),
            _product_slope,
            SCALES,
            witness=lambda a, b, K: average(
                lambda h: h**2 * ACTIVATIONS["erf"][1](a * h) * ACTIVATIONS["erf"][1](b * h), K
            ),
        ),
        Claim(
            "(120) int*",
            "the integrand over lambda_1 and lambda_2, with the power 3/2",
            lambda a, b, K: 4 * K / (mp.pi * (1 + 2 * K * (a**2 + b**2)) ** mp.mpf("1.5")),
            _product_slope,
            SCALES,
        ),
        Claim("(121)", "kernel", kernel, lambda K: _value("mlp", "kernel_map", K), ONE),
        Claim("(122)", "chi_K", chi_kernel, lambda K: _value("mlp", "chi_parallel", K), ONE),
        Claim("(123)", "chi_J", chi_jacobian, lambda K: _value("mlp", "chi_perp", K), ONE),
    )


def _criticality() -> tuple[Claim, ...]:
    def weight() -> mp.mpf:
        (point,) = theory("mlp", "erf").critical_points
        return mp.sqrt(number(point.C_W)) + mp.sqrt(number(point.C_b))

    def second_order() -> mp.mpf:
        (point,) = theory("mlp", "erf").critical_points
        assert point.correction is not None
        return number(point.correction.coeff(sr.K, 2))

    return (
        Claim(
            "(126)",
            "critical line",
            line,
            lambda w: mp.sqrt(number(theory("mlp", "erf").critical_line_expr, C_W=w)),
            WEIGHTS,
        ),
        Claim("(127)", "the only critical point: sigma_w + sigma_b", lambda: mp.sqrt(mp.pi / 4), weight, ((),)),
        Claim("(128)", "second order of the kernel at the critical point", lambda: mp.mpf(-2), second_order, ((),)),
        Claim(
            "(129)",
            "amplitude of the kernel",
            lambda: mp.mpf(1) / 2,
            lambda: number(theory("mlp", "erf").exponents.amplitude),
            ((),),
        ),
        Claim("(130)", "first order of chi_J at the critical point", lambda: mp.mpf(-2), _chi_slope, ((),)),
        Claim(
            "(133)",
            "exponent of the Jacobian, equal to that of the kernel",
            lambda: mp.mpf(1),
            lambda: number(theory("mlp", "erf").exponents.jacobian) * number(theory("mlp", "erf").exponents.kernel),
            ((),),
        ),
    )


def _normalised() -> tuple[Claim, ...]:
    def chi(mu: mp.mpf) -> mp.mpf:
        return mp.mpf(theory("pre_ln", "erf", **FULL).phase(**AT, gamma=mu).chi_perp)

    return (
        Claim("(134)", "chi_J, LayerNorm on preactivations", normalised, chi, ((mp.mpf(0),),), FLOATS),
        Claim(
            "(135)",
            "slope of the critical line, LayerNorm on preactivations; with a skip (149)",
            lambda full: mp.sqrt(2 / mp.pi * (2 / mp.sqrt(5) - mp.asin(mp.mpf(2) / 3))),
            lambda full: _ratio_on_line(**(FULL if full else {})),
            ((False,), (True,)),
        ),
        Claim(
            "(135) no.", "the same as a number", lambda: mp.mpf("0.324"), lambda: rounded(_ratio_on_line(), 3), ((),)
        ),
        Claim(
            "(136)",
            "<phi'^2>, LayerNorm on activations",
            lambda: 4 / mp.pi / mp.sqrt(1 + 4 * JOINED),
            lambda: at(sr.expect(sr.activation("erf")(sr.z).diff(sr.z) ** 2), K=JOINED),
            ((),),
        ),
        Claim(
            "(137)",
            "<phi^2>, LayerNorm on activations",
            lambda: 2 / mp.pi * mp.asin(2 * JOINED / (1 + 2 * JOINED)),
            lambda: at(theory("ln_act", "erf").phi_squared, K=JOINED),
            ((),),
        ),
        Claim(
            "(138)",
            "chi_J, LayerNorm on activations",
            lambda: 2 * WEIGHT / mp.sqrt(1 + 4 * JOINED) / mp.asin(2 * JOINED / (1 + 2 * JOINED)),
            lambda: _value("ln_act", "chi_perp", JOINED),
            ((),),
        ),
        Claim("(148)", "chi_J with LayerNorm and a skip", normalised, chi, ((mp.mpf("0.25"),), (SKIP,)), FLOATS),
    )


def _residual() -> tuple[Claim, ...]:
    def critical_weight(mu: mp.mpf) -> mp.mpf:
        (point,) = theory("residual", "erf").critical_points
        return mp.sqrt(number(point.C_W, gamma=mu))

    return (
        Claim(
            "(139)",
            "kernel with a skip",
            lambda K: kernel(K, mu=SKIP),
            lambda K: _value("residual", "kernel_map", K),
            ONE,
        ),
        Claim(
            "(140)",
            "chi_K with a skip",
            lambda K: chi_kernel(K, SKIP),
            lambda K: _value("residual", "chi_parallel", K),
            ONE,
        ),
        Claim(
            "(141)",
            "chi_J with a skip",
            lambda K: chi_jacobian(K, mu=SKIP),
            lambda K: _value("residual", "chi_perp", K),
            ONE,
        ),
        Claim(
            "(142)",
            "critical line with a skip",
            line,
            lambda w, mu: mp.sqrt(number(theory("residual", "erf").critical_line_expr, C_W=w, gamma=mu)),
            LINE,
        ),
        Claim(
            "(143)",
            "critical sigma_w with a skip",
            lambda mu: mp.sqrt(mp.pi * (1 - mu**2) / 4),
            critical_weight,
            ((mp.mpf("0.25"),), (SKIP,)),
        ),
    )


def _subcritical() -> tuple[Claim, ...]:
    def stretch(name: str) -> mp.mpf:
        return number(getattr(theory("residual", "erf", gamma=1).exponents.stretch, name), **AT)

    return (
        Claim(
            "(144)",
            "for mu = 1 the kernel grows by sigma_w^2 + sigma_b^2 per layer",
            lambda: WEIGHT + BIAS,
            lambda: number(theory("residual", "erf", gamma=1).exponents.amplitude, **AT),
            ((),),
        ),
        Claim("(146)", "log J = 2 c sqrt(l): the constant", lambda: 2 * scale(), lambda: stretch("rate"), ((),)),
        Claim("(147)", "log J = 2 c sqrt(l): the power", lambda: mp.mpf(1) / 2, lambda: stretch("power"), ((),)),
        Claim(
            "Thm 4.3",
            "J = O(exp(sqrt(l/lambda))): the length lambda",
            lambda: 1 / (4 * scale() ** 2),
            lambda: stretch("scale"),
            ((),),
        ),
        Claim(
            "Rem. 4.2",
            "for mu = 1 every J grows exponentially: log J doubles with the depth",  # not if phi' vanishes far out
            lambda n: mp.mpf(2),
            _growth,
            (("erf",),),
            0.05,
            _iterated_growth,
        ),
        Claim(
            "Rem. 4.2*",
            "for mu = 1 and relu J grows exponentially: log J doubles with the depth",
            lambda n: mp.mpf(2),
            _growth,
            (("relu",),),
            FLOATS,
        ),
    )
