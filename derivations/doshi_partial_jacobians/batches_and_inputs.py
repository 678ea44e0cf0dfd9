"""Batches, inputs of finite dimension and gradients: appendices B and D.2 to D.3."""

from __future__ import annotations

from collections.abc import Callable

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
_PAIRS: dict[str, Callable[..., mp.mpf]] = {  # <phi phi> of two inputs
    "erf": lambda a, c, b: 2 / mp.pi * mp.asin(2 * c / mp.sqrt((1 + 2 * a) * (1 + 2 * b))),
    "sin": lambda a, c, b: mp.exp(-(a + b) / 2) * mp.sinh(c),
}
START, DEPTH = mp.mpf("2.5"), 20


def correction(name: str) -> mp.mpf:
    """chi_J + (2 C_W/N_0) chi_Delta |h^0|^2/N_0 at the first hidden layer, the factor of (33), with (35)."""
    _, first, second, third = ACTIVATIONS[name]
    delta = WEIGHT * average(lambda h: second(h) ** 2 + third(h) * first(h), READ)
    return slope(name, READ) + 2 * WEIGHT / INPUTS * delta * SQUARE / INPUTS


def _corrected(name: str) -> mp.mpf:
    """J' = chi_J J + 2 chi_Delta S and S' = (dK'/dK)^2 S, from J = C_W and S = (dK/dx)^2/4, through two layers."""
    _, first, second, third = ACTIVATIONS[name]
    norm, along, K = WEIGHT, WEIGHT**2 * SQUARE / INPUTS**2, READ
    for _ in range(2):
        curved = average(lambda h: second(h) * ACTIVATIONS[name][0](h), K)
        delta = WEIGHT * average(lambda h: second(h) ** 2 + third(h) * first(h), K)
        chi = slope(name, K)
        norm, along, K = chi * norm + 2 * delta * along, (chi + WEIGHT * curved) ** 2 * along, own(name, K)
    return norm


def _batch(quantity: str, name: str, K: mp.mpf) -> mp.mpf:
    chosen = getattr(theory("batch_norm", name, gamma=sr.gamma), quantity)
    return at(chosen, K=K, C=COVARIANCE, C_W=WEIGHT, C_b=0, gamma=SKIP)


def _from_input(name: str, layer: int) -> mp.mpf:
    deep = theory("mlp", name).network(layer - 1)
    return deep.input_jacobian(layer, READ, INPUTS, (WEIGHT, BIAS), C_W=WEIGHT, C_b=BIAS)


def _by_differences(name: str) -> mp.mpf:
    """(3) at infinite width: sum_j d^2 C/dx_j dx'_j of the covariance behind two layers, at equal inputs."""
    h, length = mp.mpf(10) ** -12, mp.sqrt(SQUARE)

    def covariance(x: tuple[mp.mpf, mp.mpf], y: tuple[mp.mpf, mp.mpf]) -> mp.mpf:
        """Of two inputs in a plane: along the input, and across it."""
        laws = [WEIGHT * (u[0] * v[0] + u[1] * v[1]) / INPUTS + BIAS for u, v in ((x, x), (x, y), (y, y))]
        for _ in range(2):
            first, both, second = laws
            pairs = ((first, first, first), (first, both, second), (second, second, second))
            laws = [BIAS + WEIGHT * _PAIRS[name](*law) for law in pairs]
        return laws[1]

    def mixed(one: tuple[int, int]) -> mp.mpf:
        """The second difference along a direction."""
        ends = [(length + sign * h * one[0], sign * h * one[1]) for sign in (1, -1)]
        values = [covariance(x, y) for x in ends for y in ends]
        return (values[0] - values[1] - values[2] + values[3]) / (4 * h**2)

    return mixed((1, 0)) + (INPUTS - 1) * mixed((0, 1))


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
            "J^{0,3} for inputs of finite dimension: the correction of the first layer alone",
            # neurons are correlated with their gradients in every layer: each adds a term of the same order in 1/N_0
            lambda n: WEIGHT * correction(n) * slope(n, own(n, READ)),
            lambda n: _from_input(n, 3),
            (("erf",), ("sin",)),
            FLOATS,
            _by_differences,
        ),
        Claim(
            "(36)*",
            "J^{0,3} for inputs of finite dimension: the corrections of all layers",
            _corrected,
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
