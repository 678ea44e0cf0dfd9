"""The recursions of kernel and partial Jacobian: main text, appendices D, E and F."""

from __future__ import annotations

import mpmath as mp

import symres as sr

from ..claim import Claim
from . import finite
from .plain import (
    ACTIVATIONS,
    BIAS,
    FLOATS,
    KERNELS,
    SETTINGS,
    SKIP,
    WEIGHT,
    at,
    average,
    number,
    own,
    slope,
    squared,
    theory,
)

NAMES = ("erf", "gelu", "relu")
POINTS = tuple((name, K) for name in NAMES for K in KERNELS)
START, DEPTH = mp.mpf("2.5"), 20  # of a network away from its fixed point


# ---- what is printed ------------------------------------------------------------------------------------------------


def ratio(name: str) -> mp.mpf:
    """A/B of Theorem 1.3."""
    return slope(name, mp.mpf(1)) / own(name, mp.mpf(1))


# ---- what symres derives --------------------------------------------------------------------------------------------


def _kernel(layer: str, name: str, K: mp.mpf, **options: object) -> mp.mpf:
    return at(theory(layer, name, **options).kernel_map, K=K, **SETTINGS)


def _perp(layer: str, name: str, K: mp.mpf, **options: object) -> mp.mpf:
    return at(theory(layer, name, **options).chi_perp, K=K, **SETTINGS)


def _fixed_point(name: str, gamma: mp.mpf) -> mp.mpf:
    (point,) = theory("pre_ln", name, gamma=sr.gamma).fixed_points(C_W=WEIGHT, C_b=BIAS, gamma=gamma)
    return mp.mpf(point.K)


def _critical_bias(name: str) -> mp.mpf:
    """C_b on the critical line with LayerNorm, at the C_W of all claims."""
    return number(theory("pre_ln", name).critical_line_expr, C_W=WEIGHT)


def _growth_on_the_line(name: str) -> mp.mpf:
    """J^{0,2l}/J^{0,l} on the critical line of a network with LayerNorm and a skip below 1."""
    layers, bias = theory("pre_ln", name, gamma=sr.gamma), _critical_bias(name)
    long, short = (layers.jacobian(0, depth, START, C_W=WEIGHT, C_b=bias, gamma=SKIP) for depth in (2 * DEPTH, DEPTH))
    return long / short


def _power_on_the_line(name: str) -> mp.mpf:
    """The exponent zeta on the critical line, for a skip of weight 1."""
    exponents = theory("pre_ln", name, gamma=1).exponents
    return number(exponents.jacobian, C_W=WEIGHT, C_b=_critical_bias(name))


# ---- witnesses by plain iteration -----------------------------------------------------------------------------------


def iterated(name: str, layers: int, gamma: mp.mpf, bias: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """Kernel and Jacobian after so many layers with LayerNorm, by plain iteration of (22)."""
    step, rise = own(name, mp.mpf(1)) - BIAS + bias, slope(name, mp.mpf(1))
    kernel, jacobian = START, mp.mpf(1)
    for _ in range(layers):
        jacobian *= rise / kernel + gamma**2
        kernel = step + gamma**2 * kernel
    return kernel, jacobian


def _iterated_growth(name: str) -> mp.mpf:
    bias = slope(name, mp.mpf(1)) - own(name, mp.mpf(1)) + BIAS
    long, short = (iterated(name, depth, SKIP, bias)[1] for depth in (2 * DEPTH, DEPTH))
    return long / short


# ---- the claims -----------------------------------------------------------------------------------------------------


def claims() -> tuple[Claim, ...]:
    """The recursions."""
    return (*_plain(), *_normalised(), *_residual(), *_everywhere_critical())


def _plain() -> tuple[Claim, ...]:
    return (
        Claim("(9)", "kernel of a perceptron", own, lambda n, K: _kernel("mlp", n, K), POINTS),
        Claim(
            "(11)",
            "chi_J of a perceptron, with sigma_w^4",  # (30) and (31) have one sigma_w^2, as the definition (3) has
            lambda n, K: WEIGHT * slope(n, K),
            lambda n, K: _perp("mlp", n, K),
            POINTS,
            witness=finite.jacobian,
        ),
        Claim("(11)*", "chi_J with sigma_w^2, as in (31)", slope, lambda n, K: _perp("mlp", n, K), POINTS),
    )


def _normalised() -> tuple[Claim, ...]:
    one, joined = mp.mpf(1), WEIGHT + BIAS  # kernel of the normalised stream; K of (52)
    return (
        Claim(
            "(20) K", "kernel with LayerNorm", lambda n, K: own(n, one), lambda n, K: _kernel("pre_ln", n, K), POINTS
        ),
        Claim(
            "(20) chi",
            "chi_J with LayerNorm on preactivations",
            lambda n, K: slope(n, one) / K,
            lambda n, K: _perp("pre_ln", n, K),
            POINTS,
        ),
        Claim(
            "(52)",
            "kernel, LayerNorm on activations",
            lambda n, K: joined,
            lambda n, K: _kernel("ln_act", n, K),
            POINTS,
        ),
        Claim(
            "(54)",
            "chi_J with LayerNorm on activations",
            lambda n, K: slope(n, K) / (squared(n, 0, K) - average(ACTIVATIONS[n][0], K) ** 2),
            lambda n, K: _perp("ln_act", n, K),
            POINTS,
        ),
    )


def _residual() -> tuple[Claim, ...]:
    one, rest = mp.mpf(1), 1 - SKIP**2
    every = tuple((name,) for name in NAMES)
    skip = {"gamma": sr.gamma}
    at_skip = {"C_W": WEIGHT, "C_b": BIAS, "gamma": SKIP}
    return (
        Claim(
            "(21) K",
            "kernel with a skip, also (57)",
            lambda n, K: own(n, K) + SKIP**2 * K,
            lambda n, K: _kernel("residual", n, K),
            POINTS,
        ),
        Claim(
            "(21) chi",
            "chi_J with a skip, also (59)",
            lambda n, K: slope(n, K) + SKIP**2,
            lambda n, K: _perp("residual", n, K),
            POINTS,
        ),
        Claim(
            "(22) K",
            "kernel with LayerNorm and a skip, also (62)",
            lambda n, K: own(n, one) + SKIP**2 * K,
            lambda n, K: _kernel("pre_ln", n, K, **skip),
            POINTS,
        ),
        Claim(
            "(22) chi",
            "chi_J with LayerNorm and a skip, also (67)",
            lambda n, K: slope(n, one) / K + SKIP**2,
            lambda n, K: _perp("pre_ln", n, K, **skip),
            POINTS,
        ),
        Claim(
            "(5)",
            "correlation length with LayerNorm and a skip, also (70)",
            lambda n: 1 / abs(mp.log(rest * ratio(n) + SKIP**2)),
            lambda n: mp.mpf(theory("pre_ln", n, **skip).correlation_length(**at_skip)),
            every,
            FLOATS,
        ),
        Claim(
            "(64)",
            "fixed point of the kernel, mu < 1",
            lambda n: (own(n, one) - BIAS) / rest + BIAS / rest,
            lambda n: _fixed_point(n, SKIP),
            every,
            FLOATS,
        ),
        Claim(
            "(69)",
            "chi_J at the fixed point, with A as defined after it, without sigma_w^2",
            lambda n: rest * squared(n, 1, one) / own(n, one) + SKIP**2,
            lambda n: mp.mpf(theory("pre_ln", n, **skip).phase(**at_skip).chi_perp),
            every,
            FLOATS,
            lambda n: iterated(n, 101, SKIP, BIAS)[1] / iterated(n, 100, SKIP, BIAS)[1],
        ),
        Claim(
            "(69)*",
            "chi_J at the fixed point, with A of Theorem 1.3",
            lambda n: rest * ratio(n) + SKIP**2,
            lambda n: mp.mpf(theory("pre_ln", n, **skip).phase(**at_skip).chi_perp),
            every,
            FLOATS,
        ),
        Claim(
            "Rem. 5.1 K",
            "a skip scales the fixed point of the kernel by 1 - mu^2",  # by the inverse, says (64)
            lambda n: rest * own(n, one),
            lambda n: _fixed_point(n, SKIP),
            every,
            FLOATS,
            lambda n: iterated(n, 200, SKIP, BIAS)[0],
        ),
        Claim(
            "Rem. 5.1 K*",
            "a skip scales the fixed point of the kernel by 1/(1 - mu^2)",
            lambda n: own(n, one) / rest,
            lambda n: _fixed_point(n, SKIP),
            every,
            FLOATS,
        ),
        Claim(
            "Rem. 5.1 J",
            "J^{0,2l}/J^{0,l} = 2 on the critical line, mu < 1",  # linear growth needs mu = 1: chi_J - 1 falls as mu^2l
            lambda n: mp.mpf(2),
            _growth_on_the_line,
            (("erf",), ("gelu",)),
            1e-2,
            _iterated_growth,
        ),
        Claim(
            "Rem. 5.1 J*",
            "Jacobians grow linearly on the critical line for mu = 1",
            lambda n: mp.mpf(-1),
            _power_on_the_line,
            (("erf",), ("gelu",)),
        ),
    )


def _everywhere_critical() -> tuple[Claim, ...]:
    one = mp.mpf(1)
    every = tuple((name,) for name in NAMES)
    here = {"C_W": WEIGHT, "C_b": BIAS}

    def product(n: str) -> mp.mpf:
        return mp.fprod(1 + slope(n, one) / (START + layer * own(n, one)) for layer in range(2, DEPTH))

    return (
        Claim(
            "(65)",
            "kernel with LayerNorm, mu = 1",
            lambda n: START + DEPTH * own(n, one),
            lambda n: theory("pre_ln", n, gamma=1).kernels(DEPTH, START, **here)[-1],
            every,
            FLOATS,
        ),
        Claim(
            "(71)",
            "chi_J along the path, mu = 1: its product from layer 2 on",
            product,
            lambda n: theory("pre_ln", n, gamma=1).jacobian(2, DEPTH, START, **here),
            every,
            FLOATS,
        ),
        Claim(
            "(71) J",
            "the product in closed form, of any depth",
            product,
            lambda n: number(theory("pre_ln", n, gamma=1).jacobian_expr, l0=2, l=DEPTH, K=START, **here),
            every,
        ),
        Claim(
            "(71) zeta",
            "the exponent that (71) implies is -A/B: it depends on activation, sigma_w and sigma_b (Remark 5.3)",
            lambda n: -ratio(n),
            lambda n: number(theory("pre_ln", n, gamma=1).exponents.jacobian, **here),
            every,
        ),
        Claim(
            "Rem. 5.2",
            "with LayerNorm or BatchNorm (Remark 5.4) and mu = 1, chi_J = 1 at every sigma_w and sigma_b",
            lambda layer, n, bias: one,
            lambda layer, n, bias: mp.mpf(theory(layer, n, gamma=1).phase(C_W=WEIGHT, C_b=bias).chi_perp),
            tuple((layer, n, bias) for layer in ("pre_ln", "batch_norm") for n in NAMES for bias in (0, BIAS)),
        ),
    )
