"""Pair kernels of piecewise polynomials, with exponentials too: accuracy near correlation one, speed, gradients.

Jumps, other activations, breakpoints that move, and how one average is closed.
"""

import itertools
import re

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.core.symbols import z
from tests.oracles.average import average_of_pair
from tests.oracles.kinks import HARD_TANH, RELU6, SOFTSHRINK, Kinked
from tests.shared import Lazily

FUNCTIONS = {"relu6": RELU6, "hard_tanh": HARD_TANH, "softshrink": SOFTSHRINK}
RHO = (0.9, 0.99, 0.9999, 1 - 1e-8, 1 - 1e-12)


@pytest.fixture(scope="module")
def kernels():
    return Lazily(lambda name: sr.export(sr.expect2(*[FUNCTIONS[name].formula] * 2)).load().expect2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("variances", [(1.0, 1.0), (0.02, 0.03), (2.0, 2.0002), (0.5, 40.0), (1e4, 9e3)], ids=str)
def test_kernels_near_correlation_one_agree_with_price(kernels, name, variances):
    k1, k2 = variances
    function = FUNCTIONS[name]
    scale = mp.sqrt(function.pair(k1, k1, k1) * function.pair(k2, k2, k2))
    for rho in (*RHO, *(-rho for rho in RHO)):
        c = rho * k1**0.5 * k2**0.5
        exact = function.pair(k1, k2, c)
        for copies in (1, 90):  # alone, and where a matrix would make the series pay
            (found,) = set(kernels[name](np.full(copies, k1), k2, np.full(copies, c)).tolist())
            assert abs(found - exact) < 3e-15 * scale


@pytest.mark.exhaustive
@pytest.mark.parametrize(("k", "digits"), [pytest.param(2e-3, 140, marks=pytest.mark.exhaustive), (1e-2, 60)])
def test_kernels_of_a_dead_zone_keep_their_digits_where_they_are_tiny(kernels, k, digits):
    for c in (k, 0.9999 * k):
        exact = float(SOFTSHRINK.pair(k, k, c, digits))
        assert 0 < exact < 1e-20
        assert kernels["softshrink"](k, k, c) == pytest.approx(exact, rel=2e-13, abs=0)


# ---- what cancels beside wide and narrow laws --------------------------------------------------------------------
BUMPS = {  # bounded, narrow beside a law of variance 1e4: the inner piece, where it holds, the outer values
    "where(abs(z)<1,z^5-2*z^3+z,0)": (lambda x: x**5 - 2 * x**3 + x, -1, 1, (0, 0)),
    "relu(1-z^2)^2": (lambda x: (1 - x * x) ** 2, -1, 1, (0, 0)),
    "relu(1/100-z^2)": (lambda x: (0.1 - x) * (0.1 + x), -0.1, 0.1, (0, 0)),
    "where(abs(z)<1,z*(3-z^2)/2,sign(z))": (lambda x: x * (3 - x * x) / 2, -1, 1, (-1, 1)),
    "min(max(z-1/2,0),1)^4": (lambda x: (x - 0.5) ** 4, 0.5, 1.5, (0, 1)),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", BUMPS)
def test_bounded_polynomials_do_not_cancel_beside_a_wide_law(formula):
    f = sr.export(sr.expect2(formula, formula)).load().expect2
    for k1, k2, c in ((1.0, 1e4, 50.0), (1e4, 1.0, 50.0), (1e4, 1.0, -50.0)):
        inner, left, right, (below, above) = BUMPS[formula]
        bump = lambda x: np.where(x < left, below, np.where(x < right, inner(x), above))  # noqa: B023, E731
        exact = average_of_pair(bump, bump, min(k1, k2), max(k1, k2), c, [left, right])
        assert f(k1, k2, c) == pytest.approx(exact, rel=1e-13, abs=0)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def panel(left, right):
    return (left + right) / 2 + (right - left) / 2 * NODES, (right - left) / 2 * WEIGHTS


def power(a, b, k, rho):
    """<(z1 - b)^a (z2 - b)^a> over z1, z2 > b, from the corner on along the sum and the difference of both."""
    c, d, t = ((1 + rho) / 2) ** 0.5, ((1 - rho) / 2) ** 0.5, b / k**0.5
    total = 0.0
    for edges in itertools.pairwise(np.linspace(0, 11, 45)):
        v, mass = panel(*edges)
        start = ((t + d * v) / c)[:, None]
        for ends in itertools.pairwise(np.linspace(0, 100, 26)):
            x, weight = panel(*ends)
            x, weight = x / start, weight / start
            product = c * x * (c * x + 2 * (d * v)[:, None])
            total += (
                (product**a * np.exp(-0.5 * (start + x) ** 2) * weight).sum(-1) * np.exp(-0.5 * v * v) * mass
            ).sum()
    return 2 * k**a * total / (2 * np.pi)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("formula", "a", "b", "k", "rho"),
    [
        ("relu(z-1)^4", 4, 1, 0.005, 1 - 1e-6),
        ("relu(z-1)^6", 6, 1, 0.005, 1 - 1e-6),
        ("relu(z-1)^4", 4, 1, 0.05, 0.99),
        ("relu(z-3)^3", 3, 3, 0.01, 1 - 1e-8),
        ("relu(z-3)^3", 3, 3, 0.013, 0.9),
    ],
)
def test_powers_behind_a_dead_zone_have_their_digits(formula, a, b, k, rho):
    c = rho * k
    exact = power(a, b, k, c / k)
    assert exact > 0
    rounding = 1.5e-16 * b * b / k  # of an exponent of this size
    value = sr.export(sr.expect2(formula, formula)).load().expect2(k, k, c)
    assert value == pytest.approx(exact, rel=max(1e-13, rounding), abs=0)


@pytest.mark.exhaustive
def test_high_powers_with_two_breakpoints_have_a_module():
    module = sr.export(sr.expect2("relu(z-1/2)^9-relu(-z-1/4)^7", "relu(z-1/2)^9-relu(-z-1/4)^7"))
    k = 1e-4  # the left side alone counts, 25 deviations out
    with mp.workdps(30):
        tail = mp.quad(lambda y: y**14 * mp.exp(-25 * y - y * y / 2), [0, 0.2, 0.5, 1, 2, 4]) * mp.npdf(25)
        exact = float(tail * mp.mpf(k) ** 7)
    assert module.load().expect2(k, k, k) == pytest.approx(exact, rel=2e-13, abs=0)
    assert not module.warnings


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "formula", ["tanh(50*(z-2))", "softplus(z-30)", "tanh(z)*exp(-(z-6)^2)", "tanh(z-4)", "tanh(100*z)"]
)
def test_smooth_functions_that_change_away_from_0_or_are_steep_have_pair_kernels(formula):
    module = sr.export(sr.expect2(formula, formula))
    assert not module.warnings
    for k1, k2, c in ((0.7, 1.3, 0.9), (60.0, 30.0, -20.0), (100.0, 100.0, 99.9)):
        exact = float(sr.expect2(formula, formula).evalf(15, K1=k1, K2=k2, C=c))
        assert module.load().expect2(k1, k2, c) == pytest.approx(exact, rel=1e-12)


JUMP, BENT = "where(z>1,z/3,z/7)", "where(z>1/2,z+exp(1-2*z),exp(3*z-3/2)+exp(z-1/2))"
PAIRS = [  # functions, language, (K1, K2, correlation), and what is allowed
    # the height of a jump was once rounded to float32 in PyTorch
    *((JUMP, JUMP, target, [(1.3, 0.8, 0.97)], {"rel": 1e-14}) for target in ("numpy", "torch")),
    # in either order the average is over the polynomial side
    ("tanh", "hard_tanh", "numpy", [(1.0, 1.0, 0.9999), (0.3, 20.0, -0.99), (1e-3, 5.0, 1 - 1e-9)], {"rel": 4e-15}),
    ("hard_tanh", "tanh", "numpy", [(1.0, 1.0, 0.9999), (20.0, 0.3, -0.99), (5.0, 1e-3, 1 - 1e-9)], {"rel": 4e-15}),
    # both signs, of functions of order one
    (BENT, "hard_tanh", "numpy", [(1e-4, 1e-4, 0.9999), (1.0, 2.0, -0.99), (20.0, 1.0, 1 - 1e-9)],
     {"rel": 1e-13, "abs": 5e-14}),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("f", "g", "target", "points", "allowed"), PAIRS)
def test_pairs_of_jumps_smooth_functions_and_exponentials(f, g, target, points, allowed):
    quantity = sr.expect2(f, g)
    average = sr.export(quantity, target).load().expect2
    for k1, k2, rho in points:
        c = rho * (k1 * k2) ** 0.5
        exact = quantity.evalf(17, K1=sp.Rational(k1), K2=sp.Rational(k2), C=sp.Rational(c))
        assert float(average(k1, k2, c)) == pytest.approx(float(exact), **allowed)


@pytest.mark.exhaustive
def test_parameters_of_the_pieces_differ_from_entry_to_entry():
    leak = sp.Symbol("leak", positive=True)
    phi = sr.Activation("bent", sp.Piecewise((z, sp.Abs(z) < 1), (sp.sign(z) + leak * (z - sp.sign(z)), True)), (leak,))
    f = sr.export(sr.expect2(phi, phi)).load().expect2
    leaks = np.array([0.25, 2.0])
    found = f(1.0, 1.2, 1.09, leaks)
    exact = [float(Kinked(a - 1, a, ((-1, 1 - a), (1, a - 1))).pair(1.0, 1.2, 1.09)) for a in leaks]
    np.testing.assert_allclose(found, exact, rtol=2e-15)


@pytest.mark.exhaustive
def test_gradients_in_torch_are_the_slopes_of_the_oracle():
    f = sr.export(sr.expect2(HARD_TANH.formula, HARD_TANH.formula), "torch").load().expect2
    point = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (1.3, 0.8, 1.0)]
    f(*point).backward()
    for i, p in enumerate(point):
        with mp.workdps(25):
            at = [float(q.detach()) for q in point]
            ends = [HARD_TANH.pair(*(v + side * 1e-4 * (i == j) for j, v in enumerate(at))) for side in (1, -1)]
        assert float(p.grad) == pytest.approx(float((ends[0] - ends[1]) / 2e-4), rel=1e-7)


@pytest.mark.exhaustive
def test_squares_of_exponentials_less_1_keep_their_digits_at_the_smallest_kernels():
    """(exp(z) - 1)^2, averaged term by term, would lose 1e-13 of <elu^2 elu^2> at kernels of 1e-7."""
    square = sr.activation("elu(1)")(z) ** 2
    quantity = sr.expect2(square, square)
    module = sr.export(quantity)
    (stated,) = re.findall(r"Error \(_average_1\): at most (\S+) of sqrt", " ".join(module.text.split()))
    for kernel, correlation in ((1.3e-7, 0.999), (1.3e-7, 1 - 1e-9), (1e-6, -1 + 1e-9), (6e-8, 1 - 1e-12)):
        c = kernel * correlation
        exact, size = (
            float(quantity.evalf(18, K1=sp.Rational(kernel), K2=sp.Rational(kernel), C=sp.Rational(at)))
            for at in (c, kernel)
        )
        assert abs(module.load().expect2(kernel, kernel, c) - exact) < 1e-14 * size
    assert float(stated) < 1e-14


SHIFT, MEAN = sp.Symbol("b", real=True), sp.Symbol("c", real=True)
SHIFTED = {
    "means": lambda: sr.expect2(*[sr.activation("elu", alpha=1)] * 2, means=(SHIFT, MEAN)),
    "cusp": lambda: sr.expect2(sr.activation("exp(-abs(z-b))", b=SHIFT), "relu"),
    "beside a steep one": lambda: sr.expect2(
        sr.activation("exp(-abs(z-b))", b=SHIFT), sr.activation("tanh(c*z)", c=MEAN)
    ),
    "layer": lambda: sr.derive(sr.mlp(sr.activation("elu(z-b,1)", b=SHIFT))).covariance_map,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", SHIFTED)
def test_breakpoints_may_move(name, target):
    """A shift stands inside of the exponential, but changes its height alone."""
    quantity = SHIFTED[name]()
    function = getattr(sr.export(quantity, target).load(), quantity.name)
    rest = {n: v for n, v in {"b": 0.3, "c": -0.7, "C_W": 1.5, "C_b": 0.1}.items() if n in map(str, quantity.symbols)}
    for k1, k2, c in ((1.3, 0.6, 0.4), (100.0, 30.0, -50.0), (5.0, 5.0, 5.0 * (1 - 1e-9)), (2.0, 8.0, 4.0)):
        point = {"K1": k1, "K2": k2, "C": c, **rest}
        assert float(function(**point)) == pytest.approx(float(quantity.evalf(17, **point)), rel=1e-14)
