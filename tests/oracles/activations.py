"""Every catalogue activation written by hand in NumPy, from the papers and not from symres.

``ACTIVATIONS[name](z, **parameters)`` takes and returns float64 arrays. At a jump the value is the mean of both sides.
``PARAMETERS[name]`` holds admissible values of its parameters.
"""

import numpy as np
from scipy import special

LAMBDA, ALPHA = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


def sigmoid(z):
    return special.expit(z)


def softplus(z):
    return np.logaddexp(0.0, z)


def relu6(z):
    return np.clip(z, 0.0, 6.0)


def elu(z, alpha):
    return np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0.0)))


def tanhshrink(z):
    """By the series around 0, where the difference cancels."""
    near = z**3 / 3 - 2 * z**5 / 15 + 17 * z**7 / 315
    return np.where(np.abs(z) < 2e-3, near, z - np.tanh(z))


ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0.0),
    "leaky_relu": lambda z, slope: np.where(z > 0, z, slope * z),
    "scale_invariant": lambda z, a_plus, a_minus: np.where(z > 0, a_plus * z, a_minus * z),
    "abs": np.abs,
    "linear": lambda z: z,
    "sign": np.sign,
    "step": lambda z: np.heaviside(z, 0.5),
    "erf": special.erf,
    "gelu": lambda z: 0.5 * z * special.erfc(-z / np.sqrt(2.0)),
    "gelu_tanh": lambda z: z * sigmoid(2.0 * np.sqrt(2.0 / np.pi) * (z + 0.044715 * z**3)),
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda z: z * sigmoid(z),
    "swish": lambda z, beta: z * sigmoid(beta * z),
    "softplus": softplus,
    "log_sigmoid": special.log_expit,
    "mish": lambda z: z * np.tanh(softplus(z)),
    "elu": elu,
    "selu": lambda z: LAMBDA * elu(z, ALPHA),
    "celu": lambda z, alpha: np.maximum(z, 0.0) + np.minimum(0.0, alpha * np.expm1(z / alpha)),
    "sin": np.sin,
    "cos": np.cos,
    "snake": lambda z: z + np.sin(z) ** 2,
    "gaussian_slope": lambda z: z * np.exp(-0.5 * z * z),
    "bell": lambda z: np.exp(-0.5 * z * z),
    "hard_tanh": lambda z: np.clip(z, -1.0, 1.0),
    "relu6": relu6,
    "hard_sigmoid": lambda z: relu6(z + 3.0) / 6.0,
    "hard_swish": lambda z: z * relu6(z + 3.0) / 6.0,
    "hardshrink": lambda z, threshold: np.where(np.abs(z) > threshold, z, 0.0),
    "softshrink": lambda z, threshold: np.sign(z) * np.maximum(np.abs(z) - threshold, 0.0),
    "tanhshrink": tanhshrink,
    "threshold": lambda z, level, value: np.where(z > level, z, value),
    "softsign": lambda z: z / (1.0 + np.abs(z)),
    "square": lambda z: z * z,
    "cube": lambda z: z * z * z,
}

PARAMETERS = {
    "leaky_relu": {"slope": 0.01},
    "scale_invariant": {"a_plus": 1.5, "a_minus": -0.25},
    "swish": {"beta": 1.5},
    "elu": {"alpha": 0.75},
    "celu": {"alpha": 2.5},
    "hardshrink": {"threshold": 0.6875},
    "softshrink": {"threshold": 0.6875},
    "threshold": {"level": -0.8125, "value": 0.3125},
}


def activation(name):
    """The function of z alone, at the parameters above."""
    return lambda z: ACTIVATIONS[name](np.asarray(z, dtype=float), **PARAMETERS.get(name, {}))
