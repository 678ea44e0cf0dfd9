"""Direct iteration of a layer's recursion in plain NumPy: averages by Gauss-Legendre panels, nothing from symres."""

import math

import numpy as np
from scipy import special


def erf_slope(z):
    return 2 / math.sqrt(math.pi) * np.exp(-z * z)


def sigmoid(z):
    return special.expit(z)


# function and slope; breakpoints at 0 only (and at +-1 for hard_tanh)
FUNCTIONS = {
    "relu": (lambda z: np.maximum(z, 0), lambda z: (z > 0) * 1.0),
    "leaky_relu": (lambda z: np.where(z > 0, z, 0.01 * z), lambda z: np.where(z > 0, 1.0, 0.01)),
    "erf": (special.erf, erf_slope),
    "gelu": (
        lambda z: z * special.ndtr(z),
        lambda z: special.ndtr(z) + z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi),
    ),
    "tanh": (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    "sin": (np.sin, np.cos),
    "silu": (lambda z: z * sigmoid(z), lambda z: sigmoid(z) * (1 + z * (1 - sigmoid(z)))),
    "softplus": (lambda z: np.logaddexp(0, z), sigmoid),
    "elu": (lambda z: np.where(z > 0, z, np.expm1(np.minimum(z, 0))), lambda z: np.exp(np.minimum(z, 0))),
    "selu": (
        lambda z: 1.0507009873554805 * np.where(z > 0, z, 1.6732632423543772 * np.expm1(np.minimum(z, 0))),
        lambda z: 1.0507009873554805 * np.where(z > 0, 1.0, 1.6732632423543772 * np.exp(np.minimum(z, 0))),
    ),
}

_LEGENDRE = np.polynomial.legendre.leggauss(40)


def gaussian(reach=12.0, panels=40, least=1e-5):
    """Nodes and weights of a standard Gaussian; panels shrink towards 0, where functions of wide variables change."""
    side = np.geomspace(least, reach, panels)
    edges = np.concatenate([-side[::-1], [0.0], side])
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half + half * _LEGENDRE[0]).ravel()
    weights = (half * _LEGENDRE[1]).ravel() * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    return nodes, weights


_Z, _W = gaussian()


def averages(name, K):
    """<phi>, <phi^2>, <phi'^2> at a kernel."""
    phi, slope = FUNCTIONS[name]
    z = math.sqrt(K) * _Z
    value = phi(z)
    return float(_W @ value), float(_W @ value**2), float(_W @ slope(z) ** 2)


def step(layer, name, K, weight, bias, gamma=0.0):
    """(K', chi_perp) of one layer."""
    if layer == "pre_ln":
        _, square, slope = averages(name, 1.0)
        return gamma**2 * K + bias + weight * square, gamma**2 + weight * slope / K
    mean, square, slope = averages(name, K)
    if layer == "ln_act":
        return gamma**2 * K + bias + weight, gamma**2 + weight * slope / (square - mean**2)
    return gamma**2 * K + bias + weight * square, gamma**2 + weight * slope


def iterate(layer, name, K, depth, weight, bias, gamma=0.0):
    """Kernels K^0 .. K^depth and the chi_perp of every layer."""
    kernels, chis = [K], []
    for _ in range(depth):
        K, chi = step(layer, name, K, weight, bias, gamma)
        kernels.append(K)
        chis.append(chi)
    return np.array(kernels), np.array(chis)
