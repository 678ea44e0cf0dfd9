"""The quantities whose values are kept, and the hard places where they are evaluated.

A new quantity is one line of ``QUANTITIES``, a new network one of ``NETWORKS``. Files that exist keep the places that
they have.
"""

from collections.abc import Callable
from fractions import Fraction

import symres as sr
from tests.shared import derived

COUNT = 30  # places of a quantity: the first that have a value
GATED = "gamma*z + Dense(phi(Dense(z))*Dense(z))"
POLYNOMIAL = "where(z > 1, z^2, where(z > -1, (z + 1)/2, 0))"
JOINED = "where(z > 0, tanh(z), z/4)"

QUANTITIES: dict[str, Callable[[], sr.Quantity]] = {
    "relu_kernel_map": lambda: derived(sr.residual("relu")).kernel_map,
    "relu_covariance_map": lambda: derived(sr.mlp("relu")).covariance_map,
    "relu_covariance_slope": lambda: derived(sr.mlp("relu")).covariance_slope,
    "relu_tangent_kernel": lambda: derived(sr.residual("relu")).ntk_map,
    "erf_covariance_map": lambda: derived(sr.mlp("erf")).covariance_map,
    "erf_tangent_kernel": lambda: derived(sr.mlp("erf")).ntk_map,
    "erf_chi_parallel": lambda: derived(sr.mlp("erf")).chi_parallel,
    "gelu_covariance_map": lambda: derived(sr.residual("gelu")).covariance_map,
    "gelu_covariance_slope": lambda: derived(sr.residual("gelu")).covariance_slope,
    "gelu_pre_ln": lambda: derived(sr.pre_ln("gelu", gamma=sr.gamma)).covariance_map,
    "gelu_gated": lambda: derived(sr.layer(GATED, phi="gelu")).covariance_map,
    "gelu_chi_perp": lambda: derived(sr.mlp("gelu")).chi_perp,
    "gelu_h": lambda: derived(sr.mlp("gelu")).h,
    "gelu_growth_of_vertex": lambda: derived(sr.residual("gelu")).nu,
    "sin_covariance_map": lambda: derived(sr.mlp("sin")).covariance_map,
    "sin_tangent_kernel": lambda: derived(sr.pre_ln("sin")).ntk_map,
    "selu_covariance_map": lambda: derived(sr.mlp("selu")).covariance_map,
    "elu_kernel_map": lambda: derived(sr.residual("elu")).kernel_map,
    "celu_chi_perp": lambda: derived(sr.mlp("celu")).chi_perp,
    "hard_tanh_covariance_map": lambda: derived(sr.mlp("hard_tanh")).covariance_map,
    "relu6_covariance_slope": lambda: derived(sr.mlp("relu6")).covariance_slope,
    "hard_swish_kernel_map": lambda: derived(sr.mlp("hard_swish")).kernel_map,
    "tanh_covariance_map": lambda: derived(sr.mlp("tanh")).covariance_map,
    "tanh_covariance_slope": lambda: derived(sr.mlp("tanh")).covariance_slope,
    "tanh_chi_parallel": lambda: derived(sr.mlp("tanh")).chi_parallel,
    "tanh_pre_ln_tangent_kernel": lambda: derived(sr.pre_ln("tanh", gamma=sr.gamma)).ntk_map,
    "silu_chi_delta": lambda: derived(sr.residual("silu")).chi_delta,
    "silu_covariance_map": lambda: derived(sr.residual("silu")).covariance_map,
    "softplus_covariance_map": lambda: derived(sr.mlp("softplus")).covariance_map,
    "swish_covariance_map": lambda: derived(sr.mlp("swish")).covariance_map,
    "mish_chi_perp": lambda: derived(sr.residual("mish")).chi_perp,
    "softsign_covariance_map": lambda: derived(sr.mlp("softsign")).covariance_map,
    "exponential_covariance_map": lambda: derived(sr.mlp("exp(z/2)")).covariance_map,
    "decaying_covariance_map": lambda: derived(sr.mlp("exp(-abs(z))")).covariance_map,
    "polynomial_covariance_map": lambda: derived(sr.mlp(POLYNOMIAL)).covariance_map,
    "joined_kernel_map": lambda: derived(sr.mlp(JOINED)).kernel_map,
}
NETWORKS: dict[str, tuple[Callable[[], sr.Network], int]] = {  # and which result: 0 the kernel, 1 the tangent kernel
    "network_relu_kernel": (lambda: sr.network([sr.mlp("relu")] * 3), 0),
    "network_gelu_tangent": (lambda: sr.network([sr.residual("gelu")] * 3), 1),
    "network_erf_tangent": (lambda: sr.network([sr.mlp("erf")] * 4), 1),
    "network_tanh_kernel": (lambda: sr.network([sr.mlp("tanh")] * 2), 0),
    "network_silu_tangent": (lambda: sr.network([sr.mlp("silu")] * 2), 1),
}
NAMES = (*QUANTITIES, *NETWORKS)

_SCALARS = ({"C_W": 1.5, "C_b": 0.125, "gamma": 0.5}, {"C_W": 2.0, "C_b": 0.0, "gamma": 1.0},
            {"C_W": 0.6875, "C_b": 0.0625, "gamma": 0.9375})  # fmt: skip
_THETA = (0.75, 0.0, -0.40625, 30.0)
_OTHERS = {"alpha": 0.75, "beta": 0.75, "n_L": 1.0, "xi": 0.5}  # code is measured with parameters of 3/4
_PAIRS = [
    # equal inputs
    (1.0, 1.0, 1.0), (1e-8, 1e-8, 1e-8), (0.3, 0.3, 0.3), (7.5, 7.5, 7.5), (100.0, 100.0, 100.0), (1e6, 1e6, 1e6),
    # opposite and parallel ones
    (1.0, 1.0, -1.0), (0.5, 2.0, -1.0), (1e-8, 1e-8, -1e-8), (1e6, 1e6, -1e6), (0.5, 2.0, 1.0),
    # nearly parallel, nearly opposite
    (1.0, 1.0, 1 - 1e-4), (1.0, 1.0, 1 - 1e-8), (1.0, 1.0, 1 - 1e-12), (2.0, 3.0, 6**0.5 * (1 - 1e-8)),
    (1.0, 1.0, -(1 - 1e-8)), (20.0, 20.0, 20 * (1 - 1e-12)), (1e-4, 1e-4, 1e-4 * (1 - 1e-4)), (1e6, 1e6, 1e6 - 0.01),
    # independent inputs
    (1.0, 2.0, 0.0), (1e-8, 1e6, 0.0), (1e6, 1e6, 0.0),
    # unequal kernels, tiny and huge ones
    (1e-8, 1.0, 5e-5), (1.0, 1e4, 50.0), (1e6, 1e-2, -30.0), (0.02, 3.0, 0.2), (1e6, 1e6, 5e5), (1e-8, 1e-8, 3e-9),
    (1e-8, 1e-8, -1e-20),
    # next to 0
    (0.0, 1.0, 0.0), (1e-100, 1e-100, 5e-101), (0.0, 0.0, 0.0), (1e-30, 1.0, 1e-16),
    # in the place of those that have no value
    (0.7, 0.7, 0.35), (3.0, 0.2, -0.7), (5.0, 5.0, 4.0), (0.1, 0.1, 0.05), (12.0, 1.0, 3.0), (0.9, 1.1, 1e-3),
]  # fmt: skip
_SINGLE = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0,
    300.0, 1e3, 1e4, 1e6, 1e-12, 1e-30, 1e-100, 0.0, 1e5, 0.05, 0.9, 20.0, 50.0,
]  # fmt: skip
_WEIGHTS = [k / 32 for k in (*range(1, 31), 31.5, 31.9, -8, -16)]  # of the skip connection


def arguments(names: set[str]) -> list[dict[str, float]]:
    """Numbers for some names, at more places than are kept."""
    if "C" in names:
        kernels = [{"K1": a, "K2": b, "C": c} for a, b, c in _PAIRS]
    elif "K" in names:
        kernels = [{"K": k} for k in _SINGLE]
    else:
        kernels = [{"gamma": weight} for weight in _WEIGHTS]
    found = []
    for number, place in enumerate(kernels):
        scalars = _SCALARS[number % len(_SCALARS)]
        values = {**_OTHERS, **scalars, "Theta": _THETA[number % len(_THETA)], **place}
        found.append({name: value for name, value in values.items() if name in names})
    return found


def exactly(place: dict[str, float]) -> dict[str, Fraction]:
    """The numbers that floats are."""
    return {name: Fraction(value) for name, value in place.items()}
