"""Averages of smooth functions of two inputs by sums over a grid of the plane, in long double."""

import numpy as np

REACH = 11.5


def average(f, g, k1, k2, rho, steps=32):
    """<f(z1) g(z2)> for kernels k1, k2 and correlation rho.

    Args:
        f: a function of arrays.
        g: another one.
        k1: variance of z1.
        k2: variance of z2.
        rho: the correlation, -1 to 1.
        steps: nodes for each standard deviation.
    """
    x = np.arange(-int(REACH * steps), int(REACH * steps) + 1).astype(np.longdouble) / steps
    weight = np.exp(-x * x / 2) / np.sqrt(2 * np.longdouble(np.pi)) / steps
    k1, k2, rho = map(np.longdouble, (k1, k2, rho))
    first = weight * f(np.sqrt(k1) * x)
    if abs(rho) == 1:
        return float((first * g(rho * np.sqrt(k2) * x)).sum())
    y = rho * x[:, None] + np.sqrt(1 - rho * rho) * x
    return float(first @ (g(np.sqrt(k2) * y) @ weight))


def silu(z):
    return z / (1 + np.exp(-z))


def softplus(z):
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def mish(z):
    return z * np.tanh(softplus(z))


def gelu_tanh(z):
    return 0.5 * z * (1.0 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


FUNCTIONS = {"tanh": np.tanh, "silu": silu, "softplus": softplus, "mish": mish, "gelu_tanh": gelu_tanh}
