"""Networks in 50 digits, their recursions written by hand: nothing from symres but the declarations to compare with."""

import mpmath as mp
import numpy as np

import symres as sr
from tests.oracles import kernels
from tests.oracles.layers import BUILD

DIGITS = 50


def both(name):
    """A pair's average of an activation and that of its slopes."""
    value, slope = kernels.KERNELS[name]
    return lambda K1, K2, C: (value(K1, K2, C), slope(K1, K2, C))


arccos_pair, arcsine_pair, gelu_pair = map(both, ("relu", "erf", "gelu"))


def leaky_pair(K1, K2, C):
    """The same of relu(z) - s relu(-z), s = 0.01, from those of relu(z) with relu(z) and with relu(-z)."""
    s = mp.mpf(1) / 100
    (value, slopes), (across, opposite) = arccos_pair(K1, K2, C), arccos_pair(K1, K2, -C)
    return (1 + s**2) * value - 2 * s * across, (1 + s**2) * slopes + 2 * s * opposite


def sine_pair(K1, K2, C):
    """<sin sin> and <cos cos>: halves of <cos(x - y)> and <cos(x + y)>."""
    apart, together = mp.exp(C - (K1 + K2) / 2), mp.exp(-C - (K1 + K2) / 2)
    return (apart - together) / 2, (apart + together) / 2


PAIRS = {"relu": arccos_pair, "erf": arcsine_pair}
MORE = {"sin": sine_pair, "gelu": gelu_pair, "max(z, z/100)": leaky_pair}


def pair(name):
    """The averages of a product of two and of their slopes, of an activation."""
    return (PAIRS | MORE)[name]


MEANS = {"relu": lambda K: mp.sqrt(K / (2 * mp.pi)), "erf": lambda K: mp.mpf(0)}


# ---- one layer: (K1, K2, C, Theta) and the parameters to the next four ----------------------------------------------
def residual(name, K1, K2, C, Theta, g, w, b):
    both, slopes = pair(name)(K1, K2, C)
    first, second = (pair(name)(K, K, K)[0] for K in (K1, K2))
    return (
        *(g**2 * K + b + w * own for K, own in ((K1, first), (K2, second), (C, both))),
        g**2 * Theta + b + w * both + w * slopes * Theta,
    )


def post_ln(name, K1, K2, C, Theta, g, w, b):
    K1, K2, C, Theta = residual(name, K1, K2, C, Theta, g, w, b)
    size = mp.sqrt(K1 * K2)
    return mp.mpf(1), mp.mpf(1), C / size, Theta / size


def pre_ln(name, K1, K2, C, Theta, g, w, b):
    size, one = mp.sqrt(K1 * K2), mp.mpf(1)
    both, slopes = pair(name)(one, one, C / size)
    own = pair(name)(one, one, one)[0]
    return (
        *(g**2 * K + b + w * own for K in (K1, K2)),
        g**2 * C + b + w * both,
        g**2 * Theta + b + w * both + w * slopes * Theta / size,
    )


def ln_act(name, K1, K2, C, Theta, g, w, b, centred=True):
    both, slopes = pair(name)(K1, K2, C)
    means = [MEANS[name](K) if centred else mp.mpf(0) for K in (K1, K2)]
    size = mp.sqrt(mp.fprod(pair(name)(K, K, K)[0] - m**2 for K, m in zip((K1, K2), means, strict=True)))
    both = (both - means[0] * means[1]) / size
    return (
        *(g**2 * K + b + w for K in (K1, K2)),
        g**2 * C + b + w * both,
        g**2 * Theta + b + w * both + w * slopes * Theta / size,
    )


def rms_after(name, *rest):
    return ln_act(name, *rest, centred=False)


def glu(name, K1, K2, C, Theta, g, w, b):
    gates, inner = [w * v + b for v in (K1, K2, C)], w * C + b + w * Theta
    both, slopes = pair(name)(*gates)
    first, second = (pair(name)(k, k, k)[0] * k for k in gates[:2])
    c = gates[2]
    return (
        *(g**2 * K + b + w * own for K, own in ((K1, first), (K2, second), (C, both * c))),
        g**2 * Theta + b + w * both * c + w * (slopes * c + both) * inner,
    )


def two_layers(name, K1, K2, C, Theta, g, w, b):
    inner = [w * v + b for v in (K1, K2, C)]
    both, slopes = pair(name)(*inner)
    first, second = (pair(name)(k, k, k)[0] for k in inner[:2])
    return (
        *(g**2 * K + b + w * own for K, own in ((K1, first), (K2, second), (C, both))),
        g**2 * Theta + b + w * both + w * slopes * (inner[2] + w * Theta),
    )


STEPS = {f.__name__: f for f in (residual, post_ln, pre_ln, ln_act, rms_after, glu, two_layers)}


# ---- networks ------------------------------------------------------------------------------------------------------
def iterate(name, depth, K1, K2, C, gamma, C_W, C_b, layer="residual"):
    """C and Theta behind so many layers, or of one with each of some names, of numbers that are taken as they are."""
    with mp.workdps(DIGITS):
        K1, K2, C, *rest = (v if isinstance(v, mp.mpf) else mp.mpf(float(v)) for v in (K1, K2, C, gamma, C_W, C_b))
        theta = mp.mpf(0)
        for each in [name] * depth if isinstance(name, str) else name:
            K1, K2, C, theta = STEPS[layer](each, K1, K2, C, theta, *rest)
        return C, theta


def slopes_of_sums(rows, name, depth, gamma, C_W, C_b, layer):
    """The derivatives of the sums of the matrices C and Theta of rows in each of their entries, by differences."""

    def sums(x):
        with mp.workdps(DIGITS):
            gram = [[mp.fdot(a, b) / len(a) for b in x] for a in x]
            pairs = [(i, j) for i in range(len(x)) for j in range(len(x))]
            kernels = [(gram[i][i], gram[j][j], gram[i][j]) for i, j in pairs]
            found = [iterate(name, depth, *k, gamma, C_W, C_b, layer) for k in kernels]
            return [mp.fsum(values) for values in zip(*found, strict=True)]

    def moved(place, step):
        x = [[mp.mpf(float(v)) for v in row] for row in rows]
        x[place[0]][place[1]] += step
        return sums(x)

    out = np.zeros((2, *rows.shape))
    with mp.workdps(DIGITS):
        step = mp.mpf("1e-18")
        for place in np.ndindex(*rows.shape):
            both = zip(moved(place, step), moved(place, -step), strict=True)
            out[(slice(None), *place)] = [float((up - down) / (2 * step)) for up, down in both]
    return out


def declared(layer, name):
    """The same layer as symres knows it."""
    if layer == "two_layers":
        return sr.Layer(sr.gamma * sr.z + sr.Dense(sr.activation(name)(sr.Dense(sr.z))))
    return BUILD[layer](name)


def near(K1, K2, gap, sign=1):
    """A covariance so far from that of parallel inputs, never beyond it."""
    C = sign * np.sqrt(K1) * np.sqrt(K2) * (1 - gap)
    with mp.workdps(DIGITS):
        while mp.mpf(float(C)) ** 2 > mp.mpf(K1) * mp.mpf(K2):
            C = np.nextafter(C, 0.0)
    return C


def errors(found, expected, scale):
    """The largest difference of two numbers from those expected, relative to a scale for each."""
    return max(float(abs(mp.mpf(float(a)) - b) / abs(s)) for a, b, s in zip(found, expected, scale, strict=True))
