"""Scale-invariant activations: appendix I."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

import symres as sr

from ..claim import Claim
from .plain import BIAS, KERNELS, SETTINGS, SKIP, WEIGHT, at, average, number, rounded, theory

# a_+ and a_- of (94)
SLOPES = {
    "relu": (mp.mpf(1), mp.mpf(0)),
    "abs": (mp.mpf(1), mp.mpf(-1)),
    "linear": (mp.mpf(1), mp.mpf(1)),
    "leaky_relu(1/8)": (mp.mpf(1), mp.mpf("0.125")),
}
BENT = ("relu", "abs", "leaky_relu(1/8)")
POINTS = tuple((name, K) for name in SLOPES for K in KERNELS)
JOINED = WEIGHT + BIAS  # kernel with LayerNorm on activations
FULL = {"gamma": sr.gamma}


def squares(name: str) -> mp.mpf:
    """a_+^2 + a_-^2."""
    plus, minus = SLOPES[name]
    return plus**2 + minus**2


def gap(name: str) -> mp.mpf:
    """a_+ - a_-."""
    plus, minus = SLOPES[name]
    return plus - minus


def _typed(name: str, order: int) -> Callable[[mp.mpf], mp.mpf]:
    """(94), or its slope."""
    plus, minus = SLOPES[name]
    return lambda h: (plus if h > 0 else minus) * h ** (1 - order)


def _value(layer: str, quantity: str, name: str, K: mp.mpf, **options: object) -> mp.mpf:
    return at(getattr(theory(layer, name, **options), quantity), K=K, **SETTINGS)


def _weight(layer: str, name: str, **options: object) -> mp.mpf:
    """sigma_w of the critical point."""
    (point,) = theory(layer, name, **options).critical_points
    if point.C_b != 0:
        raise sr.CheckRefuted(f"critical point of {name}", f"C_b = {point.C_b}", "(102) prints sigma_b = 0")
    return mp.sqrt(number(point.C_W, gamma=SKIP))


def _ratio_on_line(layer: str, name: str) -> mp.mpf:
    """sigma_b/sigma_w on the critical line."""
    return mp.sqrt(number(theory(layer, name).critical_line_expr, C_W=WEIGHT) / WEIGHT)


def _chi_normalised(name: str) -> mp.mpf:
    (point,) = theory("pre_ln", name).fixed_points(C_W=WEIGHT, C_b=BIAS)
    return mp.mpf(point.chi_perp)


def _chi_pre_ln(name: str, mu: mp.mpf) -> mp.mpf:
    return mp.mpf(theory("pre_ln", name, **FULL).phase(C_W=WEIGHT, C_b=BIAS, gamma=mu).chi_perp)


def claims() -> tuple[Claim, ...]:
    """Appendix I."""
    return (*_perceptron(), *_normalised(), *_residual())


def _perceptron() -> tuple[Claim, ...]:
    every = tuple((name,) for name in SLOPES)
    return (
        Claim(
            "(95)",
            "<phi^2>",
            lambda n, K: squares(n) / 2 * K,
            lambda n, K: at(theory("mlp", n).phi_squared, K=K),
            POINTS,
        ),
        Claim(
            "(95) int",
            "the integral of the first line, over all h as printed",  # over h > 0 it is right
            lambda n, K: average(lambda h: squares(n) * h**2, K),
            lambda n, K: at(theory("mlp", n).phi_squared, K=K),
            POINTS,
            witness=lambda n, K: average(lambda h: _typed(n, 0)(h) ** 2, K),
        ),
        Claim(
            "(96)",
            "kernel",
            lambda n, K: WEIGHT * squares(n) / 2 * K + BIAS,
            lambda n, K: _value("mlp", "kernel_map", n, K),
            POINTS,
        ),
        Claim(
            "(97)",
            "chi_K",
            lambda n, K: WEIGHT * squares(n) / 2,
            lambda n, K: _value("mlp", "chi_parallel", n, K),
            POINTS,
        ),
        Claim(
            "(99)",
            "chi_J",
            lambda n, K: WEIGHT * squares(n) / 2,
            lambda n, K: _value("mlp", "chi_perp", n, K),
            POINTS,
        ),
        Claim(
            "(99) int",
            "the integral of the second line, with both steps at h > 0",  # the second step function is that of -h
            lambda n, K: WEIGHT * average(lambda h: gap(n) ** 2 * (h > 0), K),
            lambda n, K: _value("mlp", "chi_perp", n, K),
            POINTS,
            witness=lambda n, K: WEIGHT * average(lambda h: _typed(n, 1)(h) ** 2, K),
        ),
        Claim("(100)", "critical sigma_w", lambda n: mp.sqrt(2 / squares(n)), lambda n: _weight("mlp", n), every),
        Claim("(102)", "critical sigma_w of relu", lambda n: mp.sqrt(2), lambda n: _weight("mlp", n), (("relu",),)),
        Claim(
            "(103)",
            "both exponents are 0: shifted by 1, so that a deviation is relative to something",
            lambda n: mp.mpf(1),
            lambda n: 1 + number(theory("mlp", n).exponents.kernel) + number(theory("mlp", n).exponents.jacobian),
            every,
        ),
    )


def _normalised() -> tuple[Claim, ...]:
    every, bent = tuple((name,) for name in SLOPES), tuple((name,) for name in BENT)
    return (
        Claim(
            "(104)",
            "chi_J, LayerNorm on preactivations",
            lambda n: WEIGHT * squares(n) / (WEIGHT * squares(n) + 2 * BIAS),
            _chi_normalised,
            every,
            1e-13,
        ),
        Claim(
            "(105)",
            "chi_J = 1 for sigma_b = 0, with a skip or without, also (118)",
            lambda n, mu: mp.mpf(1),
            lambda n, mu: mp.mpf(theory("pre_ln", n, **FULL).phase(C_W=WEIGHT, C_b=0, gamma=mu).chi_perp),
            tuple((n, mu) for n in SLOPES for mu in (0, SKIP)),
            1e-13,
        ),
        Claim(
            "(108)",
            "<phi>, LayerNorm on activations",
            lambda n: gap(n) * mp.sqrt(JOINED / (2 * mp.pi)),
            lambda n: at(sr.expect(n), K=JOINED),
            bent,
        ),
        Claim(
            "(109)",
            "chi_J, LayerNorm on activations",
            lambda n: WEIGHT / JOINED * mp.pi * squares(n) / (mp.pi * squares(n) - gap(n) ** 2),
            lambda n: _value("ln_act", "chi_perp", n, JOINED),
            every,
        ),
        Claim(
            "(110)",
            "slope of the critical line, LayerNorm on activations",
            lambda n: mp.sqrt(gap(n) ** 2 / (mp.pi * squares(n) - gap(n) ** 2)),
            lambda n: _ratio_on_line("ln_act", n),
            bent,
        ),
        Claim(
            "(111)",
            "slope of the critical line of relu, LayerNorm on activations",
            lambda n: mp.mpf("0.683"),
            lambda n: rounded(_ratio_on_line("ln_act", n), 3),
            (("relu",),),
        ),
    )


def _residual() -> tuple[Claim, ...]:
    every = tuple((name,) for name in SLOPES)
    skips = tuple((name, mu) for name in SLOPES for mu in (mp.mpf("0.25"), SKIP))
    return (
        Claim(
            "(112)",
            "kernel with a skip",
            lambda n, K: WEIGHT * squares(n) / 2 * K + BIAS + SKIP**2 * K,
            lambda n, K: _value("residual", "kernel_map", n, K),
            POINTS,
        ),
        Claim(
            "(113)",
            "chi_K with a skip",
            lambda n, K: WEIGHT * squares(n) / 2 + SKIP**2,
            lambda n, K: _value("residual", "chi_parallel", n, K),
            POINTS,
        ),
        Claim(
            "(115)",
            "chi_J with a skip",
            lambda n, K: WEIGHT * squares(n) / 2 + SKIP**2,
            lambda n, K: _value("residual", "chi_perp", n, K),
            POINTS,
        ),
        Claim(
            "(116)",
            "critical sigma_w with a skip",
            lambda n: mp.sqrt(2 * (1 - SKIP**2) / squares(n)),
            lambda n: _weight("residual", n),
            every,
        ),
        Claim(
            "(117)",
            "chi_J with LayerNorm and a skip",
            lambda n, mu: WEIGHT * squares(n) * (1 - mu**2) / (WEIGHT * squares(n) + 2 * BIAS) + mu**2,
            _chi_pre_ln,
            skips,
            1e-13,
        ),
        Claim(
            "(117) b",
            "chi_J with LayerNorm and a skip, as its distance from 1",
            lambda n, mu: 1 - 2 * BIAS * (1 - mu**2) / (WEIGHT * squares(n) + 2 * BIAS),
            _chi_pre_ln,
            skips,
            1e-13,
        ),
    )
