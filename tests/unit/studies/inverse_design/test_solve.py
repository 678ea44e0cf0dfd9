"""Parameters that meet targets, each checked by quadrature or by iteration from definitions."""

import math

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of

FROM_DEFINITIONS = 1e-11
_symbols = {name: sp.Symbol(name, real=True) for name in "abgd"}


def values(answer, name):
    return [solution.values[name] for solution in answer.solutions]


def mean(function, kernel=1):
    """An average of smooth functions, 20 digits."""
    return average_of(function, kernel)


def swish(beta):
    sigmoid = lambda z: 1 / (1 + mp.exp(-beta * z))  # noqa: E731
    return lambda z: z * sigmoid(z), lambda z: sigmoid(z) * (1 + beta * z * (1 - sigmoid(z)))


def test_the_swish_that_is_critical_where_neurons_have_variance_1():
    answer = sr.solve(sr.derive("swish"), {"K": 1}, unknown=("beta",))
    assert values(answer, "beta") == pytest.approx([-3.78420052560984, 3.78420052560984], rel=1e-12)
    for beta in values(answer, "beta"):
        phi, slope = swish(mp.mpf(beta))
        gap = lambda z, phi=phi, slope=slope: z * phi(z) * slope(z) - slope(z) ** 2  # noqa: E731
        assert abs(mean(gap)) < FROM_DEFINITIONS  # susceptibilities agree
    phi, slope = swish(mp.mpf(beta) * (1 + mp.mpf(10) ** -6))
    assert abs(mean(lambda z: z * phi(z) * slope(z) - slope(z) ** 2)) > 1e3 * FROM_DEFINITIONS


@pytest.mark.exhaustive
def test_tanh_networks_of_a_correlation_length():
    answer = sr.solve(sr.derive("tanh"), {"correlation_length": 50}, unknown=("C_W",), C_b="1/20")
    assert values(answer, "C_W") == pytest.approx([1.67084677231323, 1.85854485557559], rel=1e-12)
    lengths = []
    for C_W in values(answer, "C_W"):
        kernel = mp.mpf(1)
        for _ in range(600):  # towards the kernel that is kept
            step = C_W * mp.quad(lambda t, k=kernel: mp.tanh(mp.sqrt(k) * t) ** 2 * mp.npdf(t), [-9, 0, 9]) + 0.05
            if abs(step - kernel) < 1e-14:
                break
            kernel = step
        chi = C_W * mean(lambda z: mp.sech(z) ** 4, kernel)
        lengths.append(1 / mp.log(chi))
    assert lengths == pytest.approx([-50, 50], rel=1e-9)  # ordered, chaotic


def leaky_correlation(slope, depth=49):
    """What layers make of inputs at right angles, by the arc-cosine kernel."""
    c = 0.0
    for _ in range(depth):
        relu = (math.sqrt(1 - c * c) + c * (math.pi - math.acos(c))) / (2 * math.pi)
        c = 2 / (1 + slope**2) * (slope * c + (1 - slope) ** 2 * relu)
    return c


@pytest.mark.exhaustive
def test_tailored_leaky_relu():
    answer = sr.solve(sr.derive("leaky_relu"), {"correlation(0, 49)": "9/10"}, unknown=("slope",), C_b=0)
    assert values(answer, "slope") == pytest.approx([0.42590719468746786, 1 / 0.42590719468746786], rel=1e-12)
    assert [leaky_correlation(slope) for slope in values(answer, "slope")] == pytest.approx([0.9, 0.9], abs=1e-12)
    assert leaky_correlation(0.42590819) != pytest.approx(0.9, abs=1e-8)


def test_skip_connections_of_an_optimal_aspect_ratio():
    theory = sr.derive("relu", layer="residual")
    answer = sr.solve(theory, {"aspect_ratio": "3/100"}, unknown=("gamma",), n_L=1)
    assert values(answer, "gamma") == pytest.approx([0.165856856986388, 0.665349783962688], rel=1e-12)
    for gamma in values(answer, "gamma"):
        deep = theory.vertex(2000, K=1, gamma=gamma, C_W=2 * (1 - gamma**2), C_b=0)
        nu = deep[-1] - deep[-2]  # K = 1 in every layer
        assert float(nu) * 23 * 3 / 100 == pytest.approx(4, rel=1e-6)
    none = sr.solve(theory, {"aspect_ratio": "1/100"}, unknown=("gamma",), n_L=1)
    assert not none and none.solutions == () and none.curve is None
    assert none.reason.startswith("aspect_ratio stays between 0.0266293 and")


def mixture(layer):
    a = sp.Symbol("a", real=True)
    return sr.derive(layer(sr.activation("a*relu(z) + (1 - a)*tanh(z)", a=a)))


def moments(a):
    """<phi'^2> and <phi^2> of the mixture."""
    phi = lambda z: a * max(z, 0) + (1 - a) * mp.tanh(z)  # noqa: E731
    slope = lambda z: a * (z > 0) + (1 - a) * mp.sech(z) ** 2  # noqa: E731
    return mean(lambda z: slope(z) ** 2), mean(lambda z: phi(z) ** 2)


@pytest.mark.exhaustive
def test_a_mixture_whose_gradients_grow_like_a_power():
    """K ~ C_W <phi^2> l and J'/J = 1 + C_W <phi'^2>/K, so that J ~ l^(<phi'^2>/<phi^2>)."""
    theory = mixture(lambda phi: sr.pre_ln(phi, gamma=1).subs(C_b=0))
    answer = sr.solve(theory, {"exponents.jacobian": "-21/20"}, unknown={"a": (-3, 3)})
    assert values(answer, "a") == pytest.approx([0.48396962606517, 1.8701088885818], rel=1e-12)
    for a in values(answer, "a"):
        slope, size = moments(mp.mpf(a))
        assert abs(slope / size - mp.mpf(21) / 20) < FROM_DEFINITIONS
    inside = sr.solve(theory, {"exponents.jacobian": "-21/20"}, unknown={"a": (0, 1)})
    assert values(inside, "a") == pytest.approx([0.48396962606517], rel=1e-12)


@pytest.mark.exhaustive
def test_exponents_at_critical_points_above_0():
    theory = mixture(sr.mlp)
    none = sr.solve(theory, {"exponents.jacobian": "3/2"}, unknown={"a": (0, 1)})
    assert not none and none.reason == "exponents.jacobian is 1 for a from 0 to 1"
    answer = sr.solve(theory, {"exponents.jacobian": "3/2"}, unknown={"a": (-3, 3)})
    assert values(answer, "a") == pytest.approx([2.38406731], rel=1e-8)
    point = theory.subs(a=values(answer, "a")[0]).critical_points[1]
    assert float(point.K) == pytest.approx(0.30133246, rel=1e-7)
    # by iteration: (K - K*) l and log J/log l of a deep network, with the correction of relative order log(l)/l
    laws = theory.subs(a=values(answer, "a")[0]).exponents_of(point)
    assert float(laws.jacobian) == pytest.approx(1.5, rel=1e-10)


def shaped(a, b, g, d):
    """Mean, size, and the averages behind both susceptibilities of a shaped tanh."""
    phi = lambda z: g * (mp.tanh(a * z + b) + d)  # noqa: E731
    slope = lambda z: g * a * mp.sech(a * z + b) ** 2  # noqa: E731
    integrands = (phi, lambda z: phi(z) ** 2, lambda z: slope(z) ** 2, lambda z: z * phi(z) * slope(z))
    return [mean(integrand) for integrand in integrands]


SHAPED = (0.205618324096629, 0.602147384795604, 6.82920667423671, -0.523149495158049)


def test_the_oracle_of_shaped_kernels():
    assert shaped(*map(mp.mpf, SHAPED)) == pytest.approx([0, 1, 1.5 ** (1 / 20), 1], abs=1e-12)
    assert shaped(*map(mp.mpf, SHAPED[:3]), mp.mpf("-0.52315")) != pytest.approx([0, 1, 1.5 ** (1 / 20), 1], abs=1e-7)


@pytest.mark.exhaustive
def test_deep_kernel_shaping():
    """The mean vanishes where its square touches 0: Newton's steps would only halve the distance."""
    theory = sr.derive(sr.mlp(sr.activation("g*(tanh(a*z + b) + d)", **_symbols)))
    targets = {
        "kernel_map": 1,
        "chi_parallel": 1,
        "correlation(0, 1)": 0,
        "chi_perp": sp.Rational(3, 2) ** sp.Rational(1, 20),
    }
    boxes = {"a": (0.05, 3), "b": (-3, 3), "g": (0.1, 10), "d": (-3, 3)}
    answer = sr.solve(theory, targets, unknown=boxes, K=1, C_W=1, C_b=0)
    mirrored = (SHAPED[0], -SHAPED[1], SHAPED[2], -SHAPED[3])
    for solution, expected in zip(answer.solutions, (mirrored, SHAPED), strict=True):
        assert tuple(solution.values.values()) == pytest.approx(expected, rel=1e-12)


def test_curves():
    """ReLU networks with skip connections whose gradients keep their size: gamma^2 + C_W/2 = 1."""
    theory = sr.derive("relu", layer="residual")
    answer = sr.solve(theory, {"chi_perp": 1}, unknown={"gamma": (0, 1), "C_W": (0, 4)}, K=1, C_b=0)
    assert answer and answer.solutions == ()
    assert answer.curve.equation == "C_W/2 + gamma**2 = 1"
    assert len(answer.curve.points) == 9
    for point in answer.curve.points:
        gamma, C_W = point.values.values()
        assert C_W / 2 + gamma**2 == pytest.approx(1, rel=1e-12)


def test_what_is_refused():
    theory = sr.derive("relu")
    for target, unknown, fixed, said in (
        ({"chi": 1}, ("C_W",), {}, "the target chi"),
        ({"chi_perp": 1}, ("beta",), {}, "the parameter beta"),
        ({"chi_perp": 1}, ("C_W",), {"C_W": 1}, "it is unknown and has a value"),
        ({"chi_perp": 1, "K": 1}, ("C_W",), {}, "2 targets for 1 unknown"),
        ({"chi_perp": 1}, {"C_W": (2, 1)}, {}, "it is empty"),
        ({}, ("C_W",), {}, "0 targets"),
        ({"chi_perp": "much"}, ("C_W",), {"C_b": 0}, "chi_perp"),
    ):
        with pytest.raises(sr.DeclarationError, match=said):
            sr.solve(theory, target, unknown, **fixed)
