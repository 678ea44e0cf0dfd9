"""The Gaussian error linear unit with LayerNorm and residual connections: K.4 to K.7 of appendix K."""

from __future__ import annotations

import mpmath as mp

import symres as sr

from ..claim import Claim
from .gelu import (
    LINE,
    ONE,
    SKIPS,
    bias_on_line,
    chi_kernel,
    gap,
    kernel,
    on_line,
    point,
    sigma,
    slope,
    square,
    value,
    weight_on_line,
)
from .plain import BIAS, FLOATS, SKIP, WEIGHT, at, number, rounded, squared, theory

FULL = {"gamma": sr.gamma}
JOINED = WEIGHT + BIAS  # kernel with LayerNorm on activations


def normalised(mu: int | mp.mpf) -> mp.mpf:
    """(170), with a skip the second line of (185)."""
    top, bottom = 6 * mp.pi + 4 * mp.sqrt(3), 6 * mp.pi + 3 * mp.sqrt(3)
    return WEIGHT * top * (1 - mu**2) / (WEIGHT * bottom + 18 * mp.pi * BIAS) + mu**2


def distance(mu: mp.mpf) -> mp.mpf:
    """What the last line of (185) subtracts from 1."""
    root = mp.sqrt(3)
    below = WEIGHT * (6 * mp.pi + 3 * root) + 18 * mp.pi * BIAS
    return (root * WEIGHT - 18 * mp.pi * BIAS) * (1 - mu**2) / below


def joined_chi(S: mp.mpf) -> mp.mpf:
    """(175), with S = sigma_w^2 + sigma_b^2."""
    angle = mp.asin(S / (1 + S))
    above = mp.pi + 2 * angle + 2 * S * (3 + 5 * S) / ((1 + S) * (1 + 2 * S) ** mp.mpf("1.5"))
    root = 4 * S**2 / mp.sqrt(1 + 2 * S)
    return WEIGHT * (1 + S) * above / (mp.pi * S * (1 + S) - 2 * S**2 + root + 2 * S * (1 + S) * angle)


def _ratio_on_line(**options: object) -> mp.mpf:
    line = theory("pre_ln", "gelu", **options).critical_line_expr
    return mp.sqrt(number(line, C_W=WEIGHT) / WEIGHT)


def _chi_normalised(mu: mp.mpf) -> mp.mpf:
    return mp.mpf(theory("pre_ln", "gelu", **FULL).phase(C_W=WEIGHT, C_b=BIAS, gamma=mu).chi_perp)


def claims() -> tuple[Claim, ...]:
    """LayerNorm, then residual connections."""
    return (*_normalised(), *_residual())


def _normalised() -> tuple[Claim, ...]:
    return (
        Claim("(170)", "chi_J, LayerNorm on preactivations", normalised, _chi_normalised, ((mp.mpf(0),),), FLOATS),
        Claim(
            "(171)",
            "slope of the critical line, LayerNorm on preactivations; with a skip (186)",
            lambda full: 1 / mp.sqrt(6 * mp.sqrt(3) * mp.pi),
            lambda full: _ratio_on_line(**(FULL if full else {})),
            ((False,), (True,)),
        ),
        Claim(
            "(171) no.", "the same as a number", lambda: mp.mpf("0.175"), lambda: rounded(_ratio_on_line(), 3), ((),)
        ),
        Claim(
            "(172)",
            "<phi>, LayerNorm on activations",
            lambda S: S / mp.sqrt(2 * mp.pi * (1 + S)),
            lambda S: at(sr.expect("gelu"), K=S),
            ((JOINED,),),
        ),
        Claim(
            "(173)",
            "<phi'^2>, LayerNorm on activations",
            slope,
            lambda S: at(sr.expect(sr.activation("gelu")(sr.z).diff(sr.z) ** 2), K=S),
            ((JOINED,),),
        ),
        Claim(
            "(174)",
            "<phi^2>, LayerNorm on activations",
            square,
            lambda S: at(theory("ln_act", "gelu").phi_squared, K=S),
            ((JOINED,),),
        ),
        Claim(
            "(175)",
            "chi_J, LayerNorm on activations",
            joined_chi,
            lambda S: value("ln_act", "chi_perp", S),
            ((JOINED,),),
        ),
    )


def _residual() -> tuple[Claim, ...]:
    def plain_chi(mu: mp.mpf) -> mp.mpf:
        """(22) at its fixed point, by quadrature."""
        one = mp.mpf(1)
        own = WEIGHT * squared("gelu", 0, one) + BIAS
        return WEIGHT * squared("gelu", 1, one) * (1 - mu**2) / own + mu**2

    return (
        Claim(
            "(176)",
            "kernel with a skip",
            lambda K: kernel(K, SKIP),
            lambda K: value("residual", "kernel_map", K),
            ONE,
        ),
        Claim(
            "(177)",
            "chi_K with a skip",
            lambda K: chi_kernel(K, SKIP),
            lambda K: value("residual", "chi_parallel", K),
            ONE,
        ),
        Claim(
            "(178)",
            "chi_J with a skip",
            lambda K: WEIGHT * slope(K) + SKIP**2,
            lambda K: value("residual", "chi_perp", K),
            ONE,
        ),
        Claim(
            "(179)",
            "sigma_w on the critical line, with a skip",
            weight_on_line,
            lambda K, mu: on_line(0, K, mu),
            LINE,
        ),
        Claim(
            "(180)",
            "sigma_b on the critical line, with a skip",
            bias_on_line,
            lambda K, mu: on_line(1, K, mu),
            LINE,
        ),
        Claim(
            "(181)",
            "chi_J - chi_K with a skip",
            gap,
            lambda K: value("residual", "chi_perp", K) - value("residual", "chi_parallel", K),
            ONE,
        ),
        Claim(
            "(182)",
            "kernel of the critical point that is not at 0, with a skip",
            lambda: (3 + mp.sqrt(17)) / 2,
            lambda: number(point(True).K),
            ((),),
        ),
        Claim(
            "(183)",
            "sigma_w of the point at K = 0, with a skip",
            lambda mu: 2 * mp.sqrt(1 - mu**2),
            lambda mu: sigma("C_W", False, mu),
            SKIPS,
        ),
        Claim(
            "(184)",
            "sigma_w and sigma_b of the other point, over sqrt(1 - mu^2)",
            lambda place, value, mu: mp.mpf(value),
            lambda place, value, mu: rounded(sigma(place, True, mu) / mp.sqrt(1 - mu**2), 3),
            tuple((place, value, mu) for place, value in (("C_W", "1.408"), ("C_b", "0.416")) for (mu,) in SKIPS),
        ),
        Claim("(185)", "chi_J with LayerNorm and a skip, second line", normalised, _chi_normalised, SKIPS, FLOATS),
        Claim(
            "(185) b",
            "chi_J with LayerNorm and a skip, last line: 1 minus a distance",
            lambda mu: 1 - distance(mu),
            _chi_normalised,
            SKIPS,
            FLOATS,
            plain_chi,
        ),
        Claim(
            "(185) b*",
            "chi_J with LayerNorm and a skip, last line: 1 plus a distance",
            lambda mu: 1 + distance(mu),
            _chi_normalised,
            SKIPS,
            FLOATS,
        ),
    )
