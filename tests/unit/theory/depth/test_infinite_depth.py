"""Many layers with small branches: the limit of infinite depth, the displacement of the stream, regimes of training."""

import math

import numpy as np
import pytest
import sympy as sp
from scipy.special import erf

import symres as sr
from symres import C_b, K, L, M, tau, xi, z

RELU = sr.two_layer_block("relu")
VALUES = {"C_W": 1.3, "C_b": 0.1}
INNER, OUTER = sp.symbols("C_u C_v", positive=True)


def block(phi):
    """A two-layer block in raw weights: C_u = d Var(u), C_v = M Var(v)."""
    return sr.Layer(z + xi * sr.Dense(sr.activation(phi)(sr.Dense(z, C_W=INNER, C_b=0)), C_W=OUTER, C_b=0))


def test_the_kernel_of_biased_blocks_solves_its_equation():
    limit = sr.derive(RELU).depth_limit()
    found = limit.kernel_expr
    assert sp.simplify(found.diff(tau) - limit.kernel_rate.expr.subs(K, found)) == 0
    assert sp.simplify(found.subs(tau, 0) - K) == 0


def test_without_growth_of_its_own_the_kernel_is_linear():
    limit = sr.derive(sr.Layer(z + xi * sr.Dense(sr.LayerNorm(z)))).depth_limit()
    assert sp.expand(limit.kernel_expr - K - (sr.C_W + C_b) * tau) == 0


@pytest.mark.parametrize("phi", ["relu", "erf", "tanh"])
def test_deep_networks_approach_the_limit(phi):
    """The difference falls like 1/depth; without its first order, like 1/depth^2."""
    theory = sr.derive(sr.two_layer_block(phi))
    flow = theory.depth_limit().kernel(1, 2, **VALUES)
    short, long = (float(theory.kernels(depth, 2, xi=depth**-0.5, **VALUES)[-1]) for depth in (25, 50))
    assert abs(long - flow) < 3 / 50
    assert 2 * long - short == pytest.approx(flow, abs=2e-3)


def test_jacobian_and_tangent_kernel_approach_the_limit():
    """Of ReLU the rates do not depend on the kernel: dTheta/dtau = R Theta + T at equal inputs."""
    theory, depth = sr.derive(block("relu")), 100
    limit = theory.depth_limit()
    values = {"C_u": 0.9, "C_v": 1.1}
    rate = float(limit.gradient_rate.evalf(K=1, **values))
    jacobian = float(theory.jacobian(0, depth, 1, xi=depth**-0.5, **values))
    assert math.log(jacobian) == pytest.approx(rate, rel=0.5 / depth)
    theta = theory.dual_kernels(depth, 1, 1, 1, xi=depth**-0.5, **values)[-1].Theta
    fresh = float(limit.tangent_rate.evalf(K1=1, K2=1, C=1, Theta=0, **values))
    assert float(theta) == pytest.approx(fresh * math.exp(rate), rel=2 / depth)  # K grows like the Jacobian


def test_a_shallow_network_of_all_units_where_branches_are_small():
    """The tangent kernel is the sum of what the layers add at the input (Chizat, 3.3)."""
    theory, depth, weight = sr.derive(block("erf")), 10, 1e-4
    pair = {"K1": 0.8, "K2": 1.5, "C": 0.4}
    values = {"C_u": 0.9, "C_v": 1.1}
    theta = theory.dual_kernels(depth, *pair.values(), xi=weight, **values)[-1].Theta
    fresh = theory.depth_limit().tangent_rate.evalf(Theta=0, **pair, **values)
    assert float(theta / depth / weight**2) == pytest.approx(float(fresh), rel=1e-6)


def test_branches_of_another_power():
    """Weights of products: the square of xi^2 is added to the kernel."""
    layer = sr.Layer(z + xi**2 * sr.Dense(sr.activation("tanh")(z)))
    limit = sr.derive(layer).depth_limit()
    assert limit.power == 4
    assert limit.scale_at(16, 1) == sp.Rational(1, 2)


# ---- displacement ---------------------------------------------------------------------------------------------------


def test_displacement_of_small_networks():
    """For ReLU the formula holds at every width and depth (Chizat, Proposition 2.1): 4 inputs, 6 units, 3 blocks."""
    d, units, depth, alpha, size = 4, 6, 3, 0.4, 200_000
    draw = np.random.default_rng(1)
    x = np.array([1.0, -0.5, 0.2, 0.7])
    h = np.broadcast_to(x, (size, d))
    for _ in range(depth):
        first = draw.normal(0, 0.5, (size, units, d))
        last = draw.normal(0, 0.7, (size, d, units))
        h = h + alpha * np.einsum("ndm,nm->nd", last, np.maximum(np.einsum("nmd,nd->nm", first, h), 0))
    squared = ((h - x) ** 2).sum(axis=1)
    told = sr.derive(block("relu")).displacement(depth, (x**2).sum() / d, xi=alpha, C_u=d * 0.25, C_v=units * 0.49)
    error = squared.std() / math.sqrt(size)
    assert error < 0.01 * squared.mean()
    assert abs(squared.mean() - d * float(told[-1])) < 4 * error


@pytest.mark.parametrize(
    ("layer", "values"),
    [
        (sr.residual("tanh"), {"gamma": 0.6, "C_W": 1.7, "C_b": 0.2}),
        (sr.Layer(sr.LayerNorm(z + xi * sr.Dense(sr.activation("erf")(z)))), {"xi": 0.8, "C_W": 1.7, "C_b": 0.2}),
    ],
)
def test_displacement_of_wide_networks(layer, values):
    """With a skip below 1, and behind a normaliser, the stream forgets the input as well."""
    told = sr.derive(layer).displacement(3, 1.4, **values)
    phi, skip, branch = (np.tanh, 0.6, 1.0) if "gamma" in values else (erf, 1.0, 0.8)
    width, size = 400, 40
    draw, moved = np.random.default_rng(2), []
    for _ in range(size):
        start = draw.normal(0, math.sqrt(1.4), width)
        h = start * math.sqrt(1.4 / (start**2).mean())
        start = h
        for _ in range(3):
            weights = draw.normal(0, math.sqrt(1.7 / width), (width, width))
            h = skip * h + branch * (weights @ phi(h) + draw.normal(0, math.sqrt(0.2), width))
            h = h if "gamma" in values else (h - h.mean()) / h.std()
        moved.append(((h - start) ** 2).mean())
    error = np.std(moved) / math.sqrt(size)
    assert abs(np.mean(moved) - float(told[-1])) < 4 * error + 3 * float(told[-1]) / width


@pytest.mark.parametrize(("skip", "mixed", "normalised"), [(0.6, 0.0, True), (0.5, 0.7, False)], ids=["post", "beside"])
def test_displacement_of_streams_that_are_normalised_over_a_batch(skip, mixed, normalised):
    """The mean of a batch holds a part of every input's neuron, whose covariance with the start is C."""
    branch = sr.Dense(sr.activation("relu")(z))
    forward = sr.BatchNorm(skip * z + branch) if normalised else skip * z + mixed * sr.BatchNorm(z) + branch
    values = {"C_W": 1.3, "C_b": 0.2}
    told = sr.derive(sr.Layer(forward)).displacement(2, 1.2, C=0.4, **values)
    width, inputs, size = 300, 200, 60
    draw, moved = np.random.default_rng(3), []
    for _ in range(size):
        start = math.sqrt(0.4) * draw.normal(0, 1, width) + math.sqrt(0.8) * draw.normal(0, 1, (inputs, width))
        h, passed = start, []
        for _ in range(2):
            weights = draw.normal(0, math.sqrt(1.3 / width), (width, width))
            added = np.maximum(h, 0) @ weights + draw.normal(0, math.sqrt(0.2), width)
            h = _over_batch(skip * h + added) if normalised else skip * h + mixed * _over_batch(h) + added
            passed.append(((h - start) ** 2).mean())
        moved.append(passed)
    for place in (0, 1):
        seen = np.array(moved)[:, place]
        expected, error = float(told[1 + place]), seen.std() / math.sqrt(size)
        assert error < 0.02 * expected
        assert abs(seen.mean() - expected) < 4 * error + 3 * expected / inputs


def _over_batch(h):
    return (h - h.mean(axis=0)) / h.std(axis=0)


def test_displacement_behind_a_batch_normalisation_by_hand():
    """One layer BatchNorm(z/2 + y): E (z' - z)^2 = 1 + K - (K - C)/s, s^2 the variance over the batch."""
    K, C, C_W = 1.5, 0.5, 2
    told = sr.derive(sr.Layer(sr.BatchNorm(z / 2 + sr.Dense(z)))).displacement(1, K, C=C, C_W=C_W, C_b=1)
    spread = math.sqrt((K - C) / 4 + C_W * (K - C))
    assert float(told[1]) == pytest.approx(1 + K - (K - C) / spread, rel=1e-14)


# ---- regimes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "name"),
    [
        (1, "exploding"),
        (1 / sp.sqrt(M * L), "lazy"),
        (1 / (sp.sqrt(M) * L), "lazy ODE"),
        (5 / (M * L), "local feature learning"),
        (1 / (M * L) ** 2, "unstable"),
    ],
)
def test_regimes(scale, name):
    assert sr.derive(block("relu")).depth_limit().regime(scale).name == name


@pytest.mark.parametrize(
    ("scale", "shape", "name"),
    [
        ("1e-4", {"L": 12, "M": 384}, "local feature learning"),  # LayerScale of vision transformers
        (1e-6, {"L": 12, "M": 384}, "unstable"),
        (1, {"L": 12, "M": 384}, "exploding"),
        (1 / sp.sqrt(M * L), {"L": 100, "M": 1000}, "lazy"),
        (1 / sp.sqrt(M * L), {"L": 2, "M": 4}, "lazy, local feature learning"),  # too small to be told apart
        ("1e-3", {"L": 50, "M": 1000}, "lazy ODE"),
    ],
)
def test_the_regime_of_a_network(scale, shape, name):
    """The sizes by hand: the output moves by scale^2 M L, a unit by 1/(scale M L) of its size."""
    regime = sr.derive(block("relu")).depth_limit().regime(scale, **shape)
    alpha = float(sp.sympify(scale).subs({M: shape["M"], L: shape["L"]}))
    many = shape["M"] * shape["L"]
    assert float(regime.displacement) == pytest.approx(alpha**2 * many)
    assert float(regime.features) == pytest.approx(1 / (alpha * many))
    assert regime.name == name


@pytest.mark.parametrize("scale", [1 / sp.sqrt(M * L), 1 / (M * L)])
def test_the_first_step_of_gradient_descent_follows_the_regime(scale):
    """Real blocks of tanh units: one step with the stated rate moves the output by order 1, units as stated."""
    regime = sr.derive(block("tanh")).depth_limit().regime(scale)
    seen = []
    for units, depth in ((20, 10), (80, 40)):
        numbers = {M: units, L: depth}
        alpha, rate = (float(sp.sympify(e).subs(numbers)) for e in (scale, regime.learning_rate))
        output, features, displacement = _first_step(units, depth, alpha, rate)
        told = [float(sp.sympify(e).subs(numbers)) for e in (regime.features, regime.displacement)]
        seen.append([output, features / told[0], displacement / told[1]])
    small, large = np.array(seen)
    assert np.all(abs(np.log(large / small)) < 0.4)  # 16 times as many units: a wrong power of M L would be 4 or more
    assert np.all((large > 0.02) & (large < 50))


def _first_step(units, depth, alpha, rate):
    """Mean changes of the output and of a unit by its own weights, and the first output's squared displacement."""
    d, draw, rows = 6, np.random.default_rng(3), []
    for _ in range(40):
        x, target = np.ones(d), draw.normal(size=d)
        first, last = draw.normal(0, d**-0.5, (depth, units, d)), draw.normal(size=(depth, units, d))
        streams = _forward(first, last, x, alpha)
        back, du, dv = streams[-1] - target, np.zeros_like(first), np.zeros_like(last)
        for place in reversed(range(depth)):
            h, u, v = streams[place], first[place], last[place]
            slope = 1 - np.tanh(u @ h) ** 2
            dv[place] = -rate * alpha * np.outer(np.tanh(u @ h), back)
            du[place] = -rate * alpha * (slope * (v @ back))[:, None] * h
            back = back + alpha * u.T @ (slope * (v @ back))
        step = 1e-4  # of the rate: the change of first order in it
        moved = (_forward(first + step * du, last + step * dv, x, alpha)[-1] - streams[-1]) / step
        unit = (last + step * dv) * np.tanh((first + step * du) @ x)[..., None] - last * np.tanh(first @ x)[..., None]
        rows.append(
            [np.linalg.norm(moved), np.linalg.norm(unit / step, axis=-1).mean(), ((streams[-1] - x) ** 2).sum()]
        )
    return np.mean(rows, axis=0)


def _forward(first, last, x, alpha):
    streams = [x]
    for u, v in zip(first, last, strict=True):
        streams.append(streams[-1] + alpha * np.tanh(u @ streams[-1]) @ v)
    return streams


def test_a_kernel_that_explodes_is_not_continued():
    """dK/dtau = K^2 from K = 1 is 1/(1 - tau)."""
    limit = sr.derive(sr.Layer(z + xi * sr.Dense(sr.Dense(z) * sr.Dense(z), C_b=0))).depth_limit()
    assert limit.kernel("1/2", 1, C_W=1, C_b=0) == pytest.approx(2, rel=1e-11)
    with pytest.raises(sr.NoClosedForm, match="before tau = 1"):
        limit.kernel(5, 1, C_W=1, C_b=0)


def test_a_vanishing_input_is_moved_by_the_biases():
    limit = sr.derive(RELU).depth_limit()
    told = limit.kernel_expr.subs({K: 0, tau: 1, sr.C_W: 1, C_b: sp.Rational(1, 10)})
    assert limit.kernel(1, 0, C_W=1, C_b="1/10") == pytest.approx(float(told), rel=1e-10)


def test_a_limit_says_what_it_is_and_how_the_kernel_grows():
    limit = sr.derive(sr.two_layer_block("relu")).depth_limit()
    assert str(limit).splitlines()[1:] == [
        "  tau = L*xi**2 stays finite for depth L",
        "  dK/dtau = C_W*<relu(z)**2>_{C_W*K + C_b} + C_b",
    ]
