"""Batches, inputs of finite dimension and gradients: appendices B and D.2 to D.3."""

from __future__ import annotations

import mpmath as mp

import symres as sr

from ..claim import Claim
from . import finite
from .finite import COVARIANCE
from .plain import ACTIVATIONS, BIAS, FLOATS, KERNELS, SETTINGS, SKIP, WEIGHT, at, average, own, slope, squared, theory

POINTS = tuple((name, K) for name in ("erf", "gelu", "relu") for K in KERNELS)
SMOOTH = tuple((name, K) for name in ("erf", "gelu", "sin") for K in KERNELS)
INPUTS, SQUARE = mp.mpf(16), mp.mpf(24)  # dimension and squared norm of an input
READ = WEIGHT * SQUARE / INPUTS + BIAS  # kernel after the read-in
START, DEPTH = mp.mpf("2.5"), 20


def correction(name: str) -> mp.mpf:
    """chi_J + (2 C_W/N_0) chi_Delta |h^0|^2/N_0 at the first hidden layer, the factor of (33), with (35)."""
    _, first, second, third = ACTIVATIONS[name]
    delta = WEIGHT * average(lambda h: second(h) ** 2 + third(h) * first(h), READ)
    return slope(name, READ) + 2 * WEIGHT / INPUTS * delta * SQUARE / INPUTS


def _batch(quantity: str, name: str, K: mp.mpf) -> mp.mpf:
    chosen = getattr(theory("batch_norm", name, gamma=sr.gamma), quantity)
    return at(chosen, K=K, C=COVARIANCE, C_W=WEIGHT, C_b=0, gamma=SKIP)


def _from_input(name: str, layer: int) -> mp.mpf:
    deep = theory("mlp", name).network(layer - 1)
    return deep.input_jacobian(layer, READ, INPUTS, (WEIGHT, BIAS), C_W=WEIGHT, C_b=BIAS)


def _gradient(name: str, K: mp.mpf) -> mp.mpf:
    return theory("mlp", name).network(2).gradient_norms(K, C_W=WEIGHT, C_b=BIAS)[0]


def _order_of_excess(units: int) -> mp.mpf:
    """The power of l with which 1/(J^{l,l+1} - 1) grows along a path with mu = 1."""
    layers = theory("batch_norm", "relu", gamma=1, units=units)
    chis = layers.network(2 * DEPTH + 1).chi_perp(START, C=COVARIANCE, C_W=WEIGHT, C_b=BIAS)
    first, half, last = (1 / (chis[place] - 1) for place in (0, DEPTH, 2 * DEPTH))
    return mp.log((last - first) / (half - first), 2)


def claims() -> tuple[Claim, ...]:
    """Batches, then inputs and gradients."""
    return (*_batches(), *_inputs_and_gradients())


def _batches() -> tuple[Claim, ...]:
    one = mp.mpf(1)
    some = tuple((name, mp.mpf(2)) for name in ("erf", "sin"))
    return (
        Claim(
            "(24)",
            "kernel with BatchNorm, one input",
            lambda n, K: WEIGHT * squared(n, 0, one) + SKIP**2 * K,
            lambda n, K: _batch("kernel_map", n, K),
            POINTS,
        ),
        Claim(
            "(24) C",
            "covariance of two inputs with BatchNorm: independent after it",
            lambda n, K: WEIGHT * average(ACTIVATIONS[n][0], one) ** 2 + SKIP**2 * COVARIANCE,
            lambda n, K: _batch("covariance_map", n, K),
            POINTS,
        ),
        Claim(
            "(25)",
            "J^{l,l+1} with BatchNorm, from phi phi",
            lambda n, K: WEIGHT / (K - COVARIANCE) * squared(n, 0, one) + SKIP**2,
            lambda n, K: _batch("chi_perp", n, K),
            some,
            witness=finite.batch_jacobian,
        ),
        Claim(
            "(25)*",
            "J^{l,l+1} with BatchNorm, from phi' phi'",
            lambda n, K: WEIGHT / (K - COVARIANCE) * squared(n, 1, one) + SKIP**2,
            lambda n, K: _batch("chi_perp", n, K),
            POINTS,
        ),
        Claim(
            "(26)",
            "J^{l,l+1} at the fixed point, relu, residual blocks of two units",  # of one unit it has pi/(pi - 1)
            lambda weight, mu: mp.pi**2 * (1 - mu**2) / (mp.pi - 1) ** 2 + mu**2,
            lambda weight, mu: mp.mpf(
                theory("batch_norm", "relu", gamma=sr.gamma, units=2).phase(C_W=weight, C_b=0, gamma=mu).chi_perp
            ),
            ((WEIGHT, SKIP), (mp.mpf(1), mp.mpf("0.25"))),
            FLOATS,
        ),
        Claim(
            "(27)",
            "for mu = 1, J^{l,l+1} - 1 falls as 1/l",
            lambda units: one,
            _order_of_excess,
            ((1,), (2,)),
            FLOATS,
        ),
    )


def _inputs_and_gradients() -> tuple[Claim, ...]:
    hidden = mp.mpf(finite.WIDTH)
    some = (("erf",), ("gelu",), ("sin",))

    def by_definition(n: str) -> mp.mpf:
        """(3) for one hidden layer: |w|^2 given h, of Gaussian read-in weights w, averaged with phi'(h)^2."""
        variance = WEIGHT / INPUTS
        along = variance * mp.sqrt(SQUARE) / READ  # of the weights along the input, per h
        rest = INPUTS * variance - along**2 * READ
        return WEIGHT * average(lambda h: ACTIVATIONS[n][1](h) ** 2 * (rest + along**2 * h**2), READ)

    return (
        Claim(
            "(3)",
            "definition of J^{0,2} for inputs of finite dimension",
            by_definition,
            lambda n: _from_input(n, 2),
            some,
            FLOATS,
        ),
        Claim(
            "(33)",
            "J^{0,2} with chi_Delta",
            lambda n: WEIGHT * correction(n),
            lambda n: _from_input(n, 2),
            some,
            FLOATS,
        ),
        Claim(
            "(35)",
            "coefficient of finite input dimension",
            lambda n, K: (
                WEIGHT * average(lambda h: ACTIVATIONS[n][2](h) ** 2 + ACTIVATIONS[n][3](h) * ACTIVATIONS[n][1](h), K)
            ),
            lambda n, K: at(theory("mlp", n).chi_delta, K=K, **SETTINGS),
            SMOOTH,
        ),
        Claim(
            "(36)",
            "J^{0,3} for inputs of finite dimension",
            lambda n: WEIGHT * correction(n) * slope(n, own(n, READ)),
            lambda n: _from_input(n, 3),
            some,
            FLOATS,
        ),
        Claim(
            "(37)",
            "squared gradient in the parameters of a layer, with the Frobenius norm over all its neurons",
            # the rows of dh/dtheta are orthogonal with the squared length of one neuron: a factor N_l too many
            lambda n, K: slope(n, own(n, K)) * hidden * own(n, K),
            _gradient,
            POINTS,
            FLOATS,
            finite.gradient,
        ),
        Claim(
            "(37)*",
            "squared gradient in the parameters of a layer, with the norm of one neuron",
            lambda n, K: slope(n, own(n, K)) * own(n, K),
            _gradient,
            POINTS,
            FLOATS,
        ),
    )
