"""One way of computing something, in a process of its own: ``python worker.py TASK WAY SIZE``.

Prints "ready" when everything is imported, compiled and allocated; then runs once for every line that it reads, and
prints seconds of processor time and on the wall. Ways of symres need symres, others what they are called after.
"""

import importlib
import sys
import time
import warnings

import numpy as np

C_W, C_b, FEATURES, DEPTH = 1.7, 0.1, 100, 5


def features(size):
    """Inputs: rows of independent normal numbers."""
    return np.random.default_rng(0).standard_normal((size, FEATURES))


def covariances(size, similar=False):
    """Kernels and covariances of the inputs; with ``similar`` their correlations are all close to 1."""
    X = features(size)
    X = X[:1] + 0.1 * X if similar else X
    C = X @ X.T / FEATURES
    return np.diag(C).copy(), C


# ---- one covariance map ------------------------------------------------------------------------------------------
def copied(size):
    _, C = covariances(size)
    out = np.empty_like(C)
    return lambda: np.copyto(out, C)


def generated_map(target, activation, dtype=np.float64, similar=False):
    def build(size):
        import symres as sr

        K, C = (a.astype(dtype) for a in covariances(size, similar))
        function = sr.export(sr.derive(sr.mlp(activation)).covariance_map, target=target).load().covariance_map
        if target in ("torch", "jax"):
            array = importlib.import_module("torch").as_tensor if target == "torch" else _jax().numpy.asarray
            one, two, both = array(K[:, None]), array(K[None, :]), array(C)
            call = importlib.import_module("torch").compile(function) if target == "torch" else _jax().jit(function)
            return lambda: _waited(call(one, two, both, C_W, C_b))
        out = np.empty_like(C)
        return lambda: function(K[:, None], K[None, :], C, C_W, C_b, out=out)

    return build


def generated_entries(target, activation):
    """Entries with two kernels of their own each: nothing is shared by the entries of a row."""

    def build(size):
        import symres as sr

        K, C = covariances(size)
        first, second = (np.repeat(K, size), np.tile(K, size))
        C, out = C.ravel(), np.empty(C.size)
        function = sr.export(sr.derive(sr.mlp(activation)).covariance_map, target=target).load().covariance_map
        return lambda: function(first, second, C, C_W, C_b, out=out)

    return build


def formula(activation):
    import symres as sr

    quantity = sr.derive(sr.mlp(activation)).covariance_map
    return quantity.symbols, quantity.expr


def lambdified(activation, similar=False):
    def build(size):
        import sympy as sp

        K, C = covariances(size, similar)
        function = sp.lambdify(*formula(activation), "numpy", cse=True)
        return lambda: function(K[:, None], K[None, :], C, C_W, C_b)

    return build


def by_library(activation, name):
    """The formula as it stands, compiled by JAX or PyTorch."""

    def build(size):
        import sympy as sp

        library = importlib.import_module("torch") if name == "torch" else _jax().numpy
        array = library.as_tensor if name == "torch" else library.asarray
        names = {"sqrt": library.sqrt, "asin": library.arcsin, "pi": np.pi}
        source = sp.lambdify(*formula(activation), modules=[names], cse=False)
        compiled = library.compile(source) if name == "torch" else _jax().jit(source)
        K, C = covariances(size)
        one, two, both = array(K[:, None]), array(K[None, :]), array(C)
        return lambda: _waited(compiled(one, two, both, C_W, C_b))

    return build


def _jax():
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def _waited(result):
    return result.block_until_ready() if hasattr(result, "block_until_ready") else result


def by_numexpr(activation):
    def build(size):
        import numexpr
        import sympy as sp

        numexpr.set_num_threads(1)
        K, C = covariances(size)
        _, expr = formula(activation)
        text = str(expr.subs(sp.pi, sp.N(sp.pi, 17))).replace("asin(", "arcsin(")
        values = {"K1": K[:, None], "K2": K[None, :], "C": C, "C_W": C_W, "C_b": C_b}
        return lambda: numexpr.evaluate(text, local_dict=values)

    return build


def by_radial_basis(size):
    from sklearn.gaussian_process.kernels import RBF

    X, kernel = features(size), RBF(1.0)
    return lambda: kernel(X)


# ---- networks ----------------------------------------------------------------------------------------------------
def generated_network(target, activation, dtype=np.float64):
    def build(size):
        import symres as sr

        X = features(size).astype(dtype)
        function = sr.export(sr.network([sr.mlp(activation)] * DEPTH), target=target).load().dual_kernel_matrix
        return lambda: function(X, C_W=C_W, C_b=C_b)

    return build


def by_paper(size):
    """Kernel and tangent kernel of ReLU layers, a line for a line of Cho and Saul and of Jacot and others."""
    K, C = covariances(size)

    def run():
        K1, K2, covariance, Theta = K[:, None], K[None, :], C, np.zeros_like(C)
        for _ in range(DEPTH):
            scale = np.sqrt(K1 * K2)
            angle = np.arccos(np.clip(covariance / scale, -1.0, 1.0))
            slope = (np.pi - angle) / (2 * np.pi)
            covariance = C_b + C_W * scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
            Theta = covariance + C_W * slope * Theta
            K1, K2 = C_b + C_W * K1 / 2, C_b + C_W * K2 / 2

    return run


def by_neural_tangents(activation):
    def build(size):
        jax = _jax()
        from neural_tangents import stax

        act = {"relu": stax.Relu, "gelu": stax.Gelu, "erf": stax.Erf}[activation]()
        dense = stax.Dense(1, W_std=C_W**0.5, b_std=C_b**0.5)
        _, _, kernel = stax.serial(*[dense, act] * DEPTH, dense)
        function, X = jax.jit(lambda x: kernel(x, None, ("nngp", "ntk"))), features(size)

        def run():
            found = function(X)
            found.nngp.block_until_ready(), found.ntk.block_until_ready()

        return run

    return build


def images(size):
    """Two sets of 16 by 16 pixels of three channels, of which 2000 rows of a matrix stand for eight images."""
    X = np.random.default_rng(0).standard_normal((max(size // 250, 2), 16, 16, 3))
    return X, X[::2].copy()


def by_convolution(activation):
    """Kernel and tangent kernel of five convolutions and global average pooling."""

    def build(size):
        import symres as sr
        import symres.kernels

        layers = ["Conv(z)", *[f"Conv({activation}(z))"] * (DEPTH - 1), f"Dense(Pool({activation}(z)))"]
        network, pair = sr.network(layers, positions=sr.Listed(16, 16)), images(size)
        return lambda: symres.kernels.image_kernels(network, *pair, C_W=C_W, C_b=C_b)

    return build


def convolution_by_neural_tangents(activation):
    def build(size):
        jax = _jax()
        from neural_tangents import stax

        act, numbers = {"relu": stax.Relu, "erf": stax.Erf}[activation](), {"W_std": C_W**0.5, "b_std": C_b**0.5}
        convolution = stax.Conv(1, (3, 3), padding="SAME", **numbers)
        ends = stax.GlobalAvgPool(), stax.Dense(1, **numbers)
        _, _, kernel = stax.serial(*[convolution, act] * DEPTH, *ends)
        function, pair = jax.jit(lambda x, y: kernel(x, y, ("nngp", "ntk"))), images(size)

        def run():
            found = function(*pair)
            found.nngp.block_until_ready(), found.ntk.block_until_ready()

        return run

    return build


TARGETS, CLOSED = ("c", "numba", "numpy", "torch", "jax"), ("gelu", "relu", "erf")
WAYS = {"copy": copied, "rbf": by_radial_basis, "paper relu": by_paper}
for a in ("relu", "erf"):
    WAYS |= {f"images {a}": by_convolution(a), f"neural-tangents images {a}": convolution_by_neural_tangents(a)}
for a in CLOSED:
    WAYS |= {f"lambdify {a}": lambdified(a), f"similar lambdify {a}": lambdified(a, similar=True)}
    WAYS |= {
        f"similar numpy {a}": generated_map("numpy", a, similar=True),
        f"neural-tangents {a}": by_neural_tangents(a),
    }
    WAYS |= {
        f"jax {a}": by_library(a, "jax"),
        f"torch.compile {a}": by_library(a, "torch"),
        f"numexpr {a}": by_numexpr(a),
    }
    WAYS |= {f"entries {t} {a}": generated_entries(t, a) for t in ("c", "numba", "numpy")}
for t in TARGETS:
    WAYS |= {f"map {t} {a}": generated_map(t, a) for a in (*CLOSED, "sin", "silu", "tanh", "mish", "softplus")}
    WAYS |= {f"map32 {t} {a}": generated_map(t, a, np.float32) for a in CLOSED}
    WAYS |= {f"network {t} {a}": generated_network(t, a) for a in (*CLOSED, "tanh")}
    WAYS |= {f"network32 {t} {a}": generated_network(t, a, np.float32) for a in CLOSED}


def main(way, size):
    warnings.simplefilter("ignore")  # lambdify makes nan on the diagonal
    run = WAYS[way](size)
    with np.errstate(all="ignore"):
        run()
        print("ready", flush=True)
        for _ in sys.stdin:
            wall, processor = time.perf_counter(), time.process_time()
            run()
            print(time.process_time() - processor, time.perf_counter() - wall, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
