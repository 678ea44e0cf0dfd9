"""The Gaussian error linear unit: K.1 to K.3 of appendix K."""

from __future__ import annotations

import mpmath as mp

import symres as sr

from ..claim import Claim
from .plain import BIAS, KERNELS, SETTINGS, SKIP, WEIGHT, at, number, rounded, squared, theory

ONE = tuple((K,) for K in KERNELS)
SKIPS = ((mp.mpf("0.25"),), (SKIP,))
LINE = tuple((K, mu) for K in KERNELS for (mu,) in SKIPS)
NEAR = mp.mpf(10) ** -6  # a distance from the half-stable point


# ---- what is printed ------------------------------------------------------------------------------------------------


def square(K: mp.mpf) -> mp.mpf:
    """(151): <phi^2>."""
    return K / 4 + K / (2 * mp.pi) * (mp.asin(K / (1 + K)) + 2 * K / ((1 + K) * mp.sqrt(1 + 2 * K)))


def kernel(K: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(152), with a skip (176)."""
    third = K**2 / (mp.pi * (1 + K) * mp.sqrt(1 + 2 * K))
    return (K / 4 + K / (2 * mp.pi) * mp.asin(K / (1 + K)) + third) * WEIGHT + BIAS + mu**2 * K


def chi_kernel(K: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(153), with a skip (177)."""
    last = (4 * K**3 + 11 * K**2 + 5 * K) / ((1 + K) ** 2 * (1 + 2 * K) ** mp.mpf("1.5"))
    return WEIGHT / 4 + WEIGHT / (2 * mp.pi) * (mp.asin(K / (1 + K)) + last) + mu**2


def slope(K: mp.mpf) -> mp.mpf:
    """(154) without sigma_w^2: <phi'^2>."""
    last = K * (3 + 5 * K) / ((1 + K) * (1 + 2 * K) ** mp.mpf("1.5"))
    return mp.mpf(1) / 4 + (mp.asin(K / (1 + K)) + last) / (2 * mp.pi)


def weight_on_line(K: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(157), with a skip (179): sigma_w."""
    first = 2 * K * (3 + 5 * K) / (mp.pi * (1 + K) * (1 + 2 * K) ** mp.mpf("1.5"))
    return 2 * mp.sqrt(1 - mu**2) / mp.sqrt(1 + first + 2 / mp.pi * mp.asin(K / (1 + K)))


def bias_on_line(K: mp.mpf, mu: int | mp.mpf = 0) -> mp.mpf:
    """(158), with a skip (180): sigma_b."""
    return K / (mp.sqrt(2 * mp.pi) * (1 + 2 * K) ** mp.mpf("0.75")) * weight_on_line(K, mu)


def gap(K: mp.mpf) -> mp.mpf:
    """(159), with a skip (181): chi_J - chi_K."""
    return WEIGHT * (K**3 - 3 * K**2 - 2 * K) / (2 * mp.pi * (1 + K) ** 2 * (1 + 2 * K) ** mp.mpf("1.5"))


# ---- the half-stable point by plain iteration -----------------------------------------------------------------------


def drift_and_excess() -> tuple[mp.mpf, mp.mpf]:
    """(K' - K)/dK^2 and (chi_J - 1)/dK beside the point, from (151) and (154) alone.

    The point is where K' = K and both susceptibilities are 1: C_W = 1/<phi'^2> and C_b = K - C_W <phi^2>.
    """
    star = (3 + mp.sqrt(17)) / 2
    weight, beside = 1 / slope(star), star + NEAR
    following = weight * square(beside) + star - weight * square(star)
    return (following - beside) / NEAR**2, (weight * slope(beside) - 1) / NEAR


# ---- what symres derives --------------------------------------------------------------------------------------------


def value(layer: str, quantity: str, K: mp.mpf, **options: object) -> mp.mpf:
    """A quantity of a layer at the parameters of all claims."""
    return at(getattr(theory(layer, "gelu", **options), quantity), K=K, **SETTINGS)


def on_line(place: int, K: mp.mpf, mu: int | mp.mpf) -> mp.mpf:
    """sigma_w or sigma_b on the critical line at one kernel."""
    line = theory("residual", "gelu").critical_line_parametric
    assert line is not None
    return mp.sqrt(number(line[place], K=K, gamma=mp.mpf(mu)))


def point(half_stable: bool) -> sr.CriticalPoint:
    """The critical point at K > 0, or that at K = 0, with a skip of any weight."""
    points = theory("residual", "gelu").critical_points
    (found,) = (p for p in points if (p.K != 0) == half_stable)
    return found


def sigma(place: str, half_stable: bool, mu: int | mp.mpf) -> mp.mpf:
    """The root of C_W or C_b at a critical point."""
    return mp.sqrt(number(getattr(point(half_stable), place), gamma=mp.mpf(mu)))


def _exponent(name: str) -> mp.mpf:
    return number(getattr(theory("mlp", "gelu").exponents, name))


# ---- the claims -----------------------------------------------------------------------------------------------------


def claims() -> tuple[Claim, ...]:
    """Perceptrons of gelu."""
    return (*_perceptron(), *_criticality(), *_origin(), *_half_stable())


def _perceptron() -> tuple[Claim, ...]:
    def bracket(K: mp.mpf, last: mp.mpf) -> mp.mpf:
        """The right side of (155)."""
        rest = WEIGHT / (2 * mp.pi) * (mp.asin(K / (1 + K)) + last * K / ((1 + K) * mp.sqrt(1 + 2 * K)))
        return WEIGHT / 4 * K + rest * K + BIAS

    return (
        Claim("(151)", "<phi^2>", square, lambda K: at(theory("mlp", "gelu").phi_squared, K=K), ONE),
        Claim("(152)", "kernel", kernel, lambda K: value("mlp", "kernel_map", K), ONE),
        Claim("(153)", "chi_K", chi_kernel, lambda K: value("mlp", "chi_parallel", K), ONE),
        Claim(
            "(154)",
            "chi_J, also (156)",
            lambda K: WEIGHT * slope(K),
            lambda K: value("mlp", "chi_perp", K),
            ONE,
        ),
        Claim(
            "(155)",
            "kernel at the fixed point, with sigma_w^2/pi in the bracket",  # (152) has 2 there
            lambda K: bracket(K, WEIGHT / mp.pi),
            lambda K: value("mlp", "kernel_map", K),
            ONE,
            witness=lambda K: WEIGHT * squared("gelu", 0, K) + BIAS,
        ),
        Claim(
            "(155)*",
            "kernel at the fixed point, with 2 in the bracket",
            lambda K: bracket(K, mp.mpf(2)),
            lambda K: value("mlp", "kernel_map", K),
            ONE,
        ),
    )


def _criticality() -> tuple[Claim, ...]:
    return (
        Claim("(157)", "sigma_w on the critical line", weight_on_line, lambda K: on_line(0, K, 0), ONE),
        Claim("(158)", "sigma_b on the critical line", bias_on_line, lambda K: on_line(1, K, 0), ONE),
        Claim(
            "(159)",
            "chi_J - chi_K",
            gap,
            lambda K: value("mlp", "chi_perp", K) - value("mlp", "chi_parallel", K),
            ONE,
        ),
        Claim(
            "(160)",
            "kernel of the critical point that is not at 0",
            lambda: (3 + mp.sqrt(17)) / 2,
            lambda: number(theory("mlp", "gelu").critical_points[0].K),
            ((),),
        ),
        Claim("(161)", "sigma_w of the point at K = 0", lambda: mp.mpf(2), lambda: sigma("C_W", False, 0), ((),)),
        Claim(
            "(162)",
            "sigma_w and sigma_b of the other point",
            lambda place, value: mp.mpf(value),
            lambda place, value: rounded(sigma(place, True, 0), 3),
            (("C_W", "1.408"), ("C_b", "0.416")),
        ),
    )


def _origin() -> tuple[Claim, ...]:
    def second_order() -> mp.mpf:
        (origin,) = (p for p in theory("mlp", "gelu").critical_points if p.K == 0)
        assert origin.correction is not None
        return number(origin.correction.coeff(sr.K, 2))

    return (
        Claim("(163)", "second order of the kernel at K = 0", lambda: 6 / mp.pi, second_order, ((),)),
        Claim(
            "(164)",
            "amplitude of the kernel at K = 0: negative, no kernel flows there",
            lambda: -mp.pi / 6,
            lambda: -1 / second_order(),
            ((),),
        ),
    )


def _half_stable() -> tuple[Claim, ...]:
    # The recursion, iterated as printed in (152), falls above the point and below it: the coefficient is negative, the
    # point attracts from above, as the text says, so dK > 0 on the way and chi_J > 1: the Jacobian grows.
    def coefficient() -> mp.mpf:
        return rounded(-1 / _exponent("amplitude"), 5)

    def amplitude() -> mp.mpf:
        return rounded(_exponent("amplitude"), 1)

    def power() -> mp.mpf:
        return rounded(_exponent("jacobian"), 3)

    def side() -> mp.mpf:
        return mp.mpf({"above": 1, "below": -1}[theory("mlp", "gelu").critical_points[0].side])

    return (
        Claim(
            "(165)",
            "second order of the kernel at the half-stable point",
            lambda: mp.mpf("0.00014"),
            coefficient,
            ((),),
            witness=lambda: drift_and_excess()[0],
        ),
        Claim(
            "(165)*",
            "second order of the kernel at the half-stable point, negative",
            lambda: mp.mpf("-0.00014"),
            coefficient,
            ((),),
        ),
        Claim(
            "(166)",
            "amplitude of the kernel at the half-stable point",
            lambda: mp.mpf("-7142.9"),
            amplitude,
            ((),),
            witness=lambda: -1 / drift_and_excess()[0],
        ),
        Claim(
            "(166)*",
            "amplitude of the kernel at the half-stable point, positive and from more digits of (165)",
            lambda: mp.mpf("6962.5"),
            amplitude,
            ((),),
        ),
        Claim("(166) side", "the half-stable point attracts from above, in words", lambda: mp.mpf(1), side, ((),)),
        Claim(
            "(169)",
            "exponent of the Jacobian at the half-stable point, also (167), (168)",
            lambda: mp.mpf("66.668"),
            power,
            ((),),
            witness=lambda: drift_and_excess()[1] / drift_and_excess()[0],
        ),
        Claim(
            "(169)*",
            "exponent of the Jacobian at the half-stable point: it grows",
            lambda: mp.mpf("-64.985"),
            power,
            ((),),
        ),
    )
