"""Classes, exponents, amplitudes, phases and correlation lengths against direct iteration of the recursion."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.theory.criticality.kernel_flow import from_expansion
from tests.oracles.average import average_of
from tests.oracles.recursion import FUNCTIONS, averages, iterate
from tests.shared import derived

R = sp.Rational
BUILD = {"residual": sr.residual, "pre_ln": sr.pre_ln, "ln_act": sr.ln_act}
CLASSES = {  # of a layer without a skip, or with one of weight gamma < 1
    "scale-invariant": ["relu", "leaky_relu"],
    "K*=0": ["erf", "tanh", "sin", "elu", "selu"],
    "half-stable": ["gelu", "silu"],
    "none": ["softplus"],
}
NAMES = list(FUNCTIONS)


def activation(name):
    if name == "leaky_relu":
        return sr.activation("leaky_relu", slope="0.01")
    return sr.activation("elu", alpha=1) if name == "elu" else sr.activation(name)


def theory(layer, name, gamma):
    return derived(BUILD[layer](activation(name), gamma=gamma))


def number(expression, gamma=0, **values):
    named = {s: values[s.name] for s in expression.free_symbols if s.name in values}
    return float(expression.subs({sr.gamma: gamma, **named}).evalf(17))


def local_slopes(kernels, star, exponent):
    """Of |K - K*|**(-1/exponent) in the depth: constant for a power law."""
    return np.diff(np.abs(kernels - star) ** (-1 / exponent))


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("name", "gamma"), [(name, sp.Integer(0)) for name in NAMES] + [(n, R(3, 5)) for n in ("relu", "tanh", "gelu")]
)
def test_residual_layers_have_the_class_and_the_exponents_of_the_recursion(name, gamma):
    found = theory("residual", name, gamma)
    expected = next(kind for kind, names in CLASSES.items() if name in names)
    assert found.universality_class == expected
    exponents = found.exponents
    if expected == "none":
        assert exponents.remark
        return
    if expected == "scale-invariant":
        assert (exponents.kernel, exponents.jacobian) == (0, 0)
        weight = number(found.critical_points[0].C_W)
        kernels, chis = iterate("residual", name, 1.7, 200, weight, 0.0, float(gamma))
        assert np.allclose(kernels, 1.7, rtol=1e-12)
        assert np.allclose(chis, 1, rtol=1e-12)
        return
    point = found.critical_points[0]
    star, weight, bias = number(point.K), number(point.C_W), number(point.C_b)
    power, amplitude = float(exponents.kernel), number(exponents.amplitude)
    distance = {"K*=0": 1e-3, "half-stable": 2e-4 * star}[expected] * (1 if amplitude > 0 else -1)
    kernels, chis = iterate("residual", name, star + distance, 400, weight, bias, float(gamma))
    slopes = local_slopes(kernels, star, power)
    assert np.all(np.sign(kernels - star) == np.sign(amplitude))
    tolerance = 0.03  # the next order of the expansion, relative
    assert slopes[-1] == pytest.approx(abs(amplitude) ** (-1 / power), rel=tolerance)
    depth = np.abs(kernels[-2] - star) ** (-1 / power) / slopes[-1]  # what counts as l
    assert -math.log(chis[-1]) * depth == pytest.approx(number(exponents.jacobian), rel=tolerance)


GROWING = {  # layers with a skip of weight 1
    "pre_ln": dict.fromkeys(NAMES, "everywhere-critical"),
    "residual": {"erf": "subcritical", "tanh": "subcritical"},
    "ln_act": {n: "subcritical" if n in ("erf", "tanh") else "everywhere-critical" for n in NAMES if n != "sin"},
}


@pytest.mark.sample(12)
@pytest.mark.parametrize(("layer", "name"), [(layer, name) for layer, rows in GROWING.items() for name in rows])
def test_kernels_that_grow_follow_their_laws(layer, name):
    found = theory(layer, name, 1)
    assert found.universality_class == GROWING[layer][name]
    exponents = found.exponents
    values = {"C_W": R(13, 10), "C_b": R(1, 5)}
    assert exponents.kernel == -1
    rate = number(exponents.amplitude, **values)
    kernels, chis = iterate(layer, name, 1e6, 2, 1.3, 0.2, 1.0)
    assert kernels[2] - kernels[1] == pytest.approx(rate, rel=2e-3)
    depth = kernels[1] / rate  # what counts as l
    if exponents.stretch is None:
        assert -math.log(chis[1]) * depth == pytest.approx(number(exponents.jacobian, **values), rel=5e-3)
    else:
        power = float(exponents.stretch.power)
        slope = number(exponents.stretch.rate, **values) * power * depth ** (power - 1)
        assert math.log(chis[1]) == pytest.approx(slope, rel=5e-3)


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("layer", "gamma"),
    [("residual", 0), ("residual", R(1, 2)), ("pre_ln", 0), ("pre_ln", R(1, 2)), ("ln_act", 0), ("ln_act", R(1, 2))],
)
def test_phases_and_correlation_lengths_are_those_of_deep_networks(layer, gamma, name):
    weight, bias = (R(6, 5), R(1, 10)) if gamma == 0 else (R(9, 10), R(1, 10))
    found = theory(layer, name, gamma)
    phase = found.phase(C_W=weight, C_b=bias)
    kernels, chis = iterate(layer, name, 1.0, 600, float(weight), float(bias), float(gamma))
    assert phase.K == pytest.approx(kernels[-1], rel=1e-10)
    assert phase.chi_perp == pytest.approx(chis[-1], rel=1e-10)
    assert phase.correlation_length == pytest.approx(1 / abs(math.log(chis[-1])), rel=1e-8)
    assert phase.name == ("ordered" if chis[-1] < 1 else "chaotic")


@pytest.mark.exhaustive
def test_the_end_may_depend_on_the_input():
    found = derived("gelu")
    point = found.critical_points[0]
    above = found.phase(K=10, C_W=point.C_W, C_b=point.C_b)
    assert above.K == pytest.approx(float(point.K), rel=1e-9)
    with pytest.raises(sr.DeclarationError, match=r"may end at K = .* or "):
        derived("z^3/(1+z^2)").phase(C_W="1.3", C_b=0)


def test_flat_kernels_have_no_exponents():
    """hard_tanh is z on an interval: K' - K is smaller than every power of K, and the kernel falls like 1/log l."""
    theory = derived("hard_tanh")
    assert theory.phase(C_W=1, C_b=0).K == theory.phase(C_W=1, C_b=0, K=2).K == 0
    exponents = theory.exponents
    assert exponents.kernel is None
    assert "every power" in exponents.remark


def test_exponents_of_blocks_are_those_of_their_recursion():
    """K' - K and chi_perp - 1 around the critical point of a block of GELU, by differences in plain NumPy."""
    layer = derived(sr.two_layer_block("gelu", gamma=sr.gamma))
    values = {sr.gamma: R(1, 2), sr.xi: R(7, 10)}
    point, found = layer.critical_points[0], layer.exponents
    star, weight, bias = (float(sp.N(e.subs(values), 17)) for e in (point.K, point.C_W, point.C_b))

    def step(kernel):
        _, square, slope = averages("gelu", bias + weight * kernel)
        return kernel / 4 + 0.49 * (bias + weight * square), 1 / 4 + 0.49 * weight**2 * slope

    h = 0.02 * star
    curvature = sum(step(star + side * h)[0] - star - side * h for side in (1, -1)) / (2 * h**2)
    rise = (step(star + h)[1] - step(star - h)[1]) / (2 * h)
    assert found.kernel == 1
    assert float(sp.N(found.amplitude.subs(values))) == pytest.approx(-1 / curvature, rel=0.02)
    assert float(sp.N(found.jacobian)) == pytest.approx(rise / curvature, rel=0.02)


def test_a_line_of_critical_points_has_exponents_too():
    """Of where(z > 1, z - 1, 0) both susceptibilities are C_W erfc(1/sqrt(2K))/2: n = 2, and chi_perp has twice b."""
    layer = derived("where(z>1,z-1,0)")
    (point,) = layer.critical_points
    found = layer.exponents
    assert (point.stability, point.side, found.kernel, found.jacobian) == ("half-stable", "below", 1, 2)
    kernel = 1.7
    weight = 2 / math.erfc(1 / math.sqrt(2 * kernel))
    assert float(point.C_W.subs(sr.K, R(17, 10))) == pytest.approx(weight, rel=1e-12)
    slope = weight * math.exp(-1 / (2 * kernel)) / math.sqrt(2 * math.pi) * kernel**-1.5 / 2  # of chi, in K
    assert float(found.amplitude.subs(sr.K, R(17, 10))) == pytest.approx(-2 / slope, rel=1e-12)


SIGN = {
    "a hollow": sr.z - sr.z * sp.exp(-(sr.z**2)) / 5 + sp.erf(sr.z) / 50,
    "a negative weight": sr.z + sp.Symbol("m", negative=True) * sp.erf(sr.z),
    "a weight of either sign": sr.z + sp.Symbol("a", real=True) * sr.z * sp.exp(-(sr.z**2) / 2),
}


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SIGN)
def test_kernels_that_fall_somewhere_have_no_law_of_growth(name):
    """With C_W = 1: without biases K' < K at some kernels, or at some parameters."""
    parameters = tuple(SIGN[name].free_symbols - {sr.z})
    theory = derived(sr.mlp(sr.Activation("own", SIGN[name], parameters=parameters)).subs(C_W=1))
    assert theory.universality_class == "unknown"
    numbers = {str(s): -R(1, 2) for s in parameters}
    kernels = (R(1, 10), 1, 10)
    falls = [theory.kernel_map.evalf(15, K=k, C_b=0, **numbers) < k for k in kernels]
    assert any(falls)


@pytest.mark.exhaustive
def test_kernels_that_grow_everywhere_have_a_law():
    p = sp.Symbol("p", positive=True)
    layer = sr.mlp(sr.Activation("own", sr.z + p * sp.erf(sr.z), parameters=(p,))).subs(C_W=1)
    assert derived(layer).universality_class == "everywhere-critical"


ALGEBRAIC = {
    "atan(z)": (mp.atan, lambda z: 1 / (1 + z**2)),
    "softsign": (lambda z: z / (1 + abs(z)), lambda z: 1 / (1 + abs(z)) ** 2),
    "z/sqrt(1+z^2)": (lambda z: z / mp.sqrt(1 + z**2), lambda z: (1 + z**2) ** mp.mpf(-1.5)),
}


@pytest.mark.parametrize("name", ALGEBRAIC)
def test_algebraic_tails_follow_their_laws(name):
    """A skip of weight 1: one step of the recursion at K = 1e12, by quadrature; the next order is log(K)/sqrt(K)."""
    found = derived(sr.residual(name, gamma=1))
    assert found.universality_class == "subcritical"
    values, K = {"C_W": R(13, 10), "C_b": R(1, 5)}, mp.mpf(10) ** 12
    function, slope = (average_of(lambda z, f=f: f(z) ** 2, K) for f in ALGEBRAIC[name])
    rate, stretch = number(found.exponents.amplitude, **values), found.exponents.stretch
    assert float(mp.mpf("0.2") + mp.mpf("1.3") * function) == pytest.approx(rate, rel=1e-4)
    power, depth = float(stretch.power), float(K) / rate
    per_layer = number(stretch.rate, **values) * power * depth ** (power - 1)
    assert float(mp.mpf("1.3") * slope) == pytest.approx(per_layer, rel=1e-5)


EXPONENTIAL = {
    "exp(-abs(z))": (lambda z: mp.exp(-z), lambda z: mp.exp(-z)),
    "where(z>0,z*exp(-z),z*exp(z))": (lambda z: z * mp.exp(-z), lambda z: (1 - z) * mp.exp(-z)),
    "sin(z)*exp(-abs(z))": (lambda z: mp.sin(z) * mp.exp(-z), lambda z: (mp.cos(z) - mp.sin(z)) * mp.exp(-z)),
    "exp(-z^2)*cos(z)": (
        lambda z: mp.exp(-z * z) * mp.cos(z),
        lambda z: -mp.exp(-z * z) * (2 * z * mp.cos(z) + mp.sin(z)),
    ),
}


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_tails_that_decay_follow_their_laws(name):
    """With a skip of weight 1 K ~ C_b l, and chi_perp - 1 = C_W sqrt(2/(pi K)) times the integral of phi'^2 over z > 0.

    Without biases K^(3/2) grows by (3/2) C_W sqrt(2/pi) times the integral of phi^2 per layer.
    """
    function, slope = (mp.quad(lambda z, f=f: f(z) ** 2, [0, 1, 3, 9, 30]) for f in EXPONENTIAL[name])
    values = {"C_W": R(13, 10), "C_b": R(1, 5)}
    found = derived(sr.residual(name, gamma=1))
    assert found.universality_class == "subcritical"
    exponents = found.exponents
    assert exponents.kernel == -1 and number(exponents.amplitude, **values) == pytest.approx(0.2, rel=1e-12)
    assert exponents.stretch.power == R(1, 2)
    rate = 2 * 1.3 * mp.sqrt(2 / (mp.pi * mp.mpf("0.2"))) * slope
    assert number(exponents.stretch.rate, **values) == pytest.approx(float(rate), rel=1e-12)
    alone = derived(sr.residual(name, gamma=1).subs(C_b=0)).exponents
    speed = mp.mpf("1.5") * mp.mpf("1.3") * mp.sqrt(2 / mp.pi) * function
    assert alone.kernel == -R(2, 3)
    assert number(alone.amplitude, C_W=R(13, 10)) == pytest.approx(float(speed ** (mp.mpf(2) / 3)), rel=1e-12)


@pytest.mark.parametrize("formula", ["asinh(z)", "log(1+z^2)"])
def test_laws_that_are_not_known_are_called_unknown(formula):
    """With a skip of weight 1 chi_perp falls to 1 there as for tanh, but by no series in powers."""
    layer = derived(sr.residual(formula, gamma=1))
    assert layer.universality_class == "unknown"
    assert "falls to 1" in " ".join(layer.remarks)


def test_the_phase_of_an_input_that_vanishes():
    layer = derived(sr.residual("erf", gamma=R(1, 2)))
    assert layer.phase(K=0, C_W="3/2", C_b="1/10").K == pytest.approx(layer.phase(C_W="3/2", C_b="1/10").K)
    assert layer.phase(K=0, C_W="3/2", C_b=0).K == 0


def test_a_kernel_that_alternates_has_no_phase():
    z, dense = sr.z, sr.Dense
    bump = sr.Activation("bump", sp.exp(-(z**2)))
    product = bump(dense(z, C_b=0)) * bump(dense(z, C_b=0)) * bump(dense(z, C_b=0))
    layer = derived(sr.Layer(dense(product)))
    kernels = layer.kernels(60, 1, C_W=10, C_b=0)
    assert abs(kernels[-1] - kernels[-2]) > 9
    with pytest.raises(sr.NoClosedForm, match="alternates"):
        layer.phase(K=1, C_W=10, C_b=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("skip", [sp.Symbol("alpha_skip", positive=True), sp.Symbol("skip", real=True)])
def test_a_skip_may_have_any_name(skip):
    """Class, stability and exponents do not hang on what its weight is called."""
    given = sr.activation("gelu")
    theory, same = derived(sr.Layer(skip * sr.z + sr.Dense(given(sr.z)))), derived(sr.residual("gelu"))
    assert theory.universality_class == same.universality_class == "half-stable"
    points = [(p.stability, p.side, p.K) for p in theory.critical_points]
    assert points == [(p.stability, p.side, p.K) for p in same.critical_points]
    for name in ("amplitude", "jacobian"):
        mine, other = getattr(theory.exponents, name), getattr(same.exponents, name)
        assert number(mine, **{skip.name: R(9, 20)}) == pytest.approx(number(other, gamma=R(9, 20)), rel=1e-12)


def test_a_stretched_exponential_around_a_fixed_point_is_that_of_the_iteration():
    """D' = d - d^4/3 falls like l^(-1/3), so that chi_perp = 1 - d/5 makes log J a power 2/3 of l."""
    found = from_expansion(sp.Integer(4), -R(1, 3), sp.Integer(1), -R(1, 5))
    distance, log, depths = 0.5, 0.0, (10**5, 8 * 10**5)
    at = {}
    for layer in range(1, depths[1] + 1):
        log += math.log1p(-distance / 5)
        distance -= distance**4 / 3
        if layer in depths:
            at[layer] = log
    assert (found.stretch.power, found.kernel) == (R(2, 3), R(1, 3))
    rate = (at[depths[1]] - at[depths[0]]) / (depths[1] ** (2 / 3) - depths[0] ** (2 / 3))
    assert float(found.stretch.rate) == pytest.approx(rate, rel=2e-3)
    assert distance * depths[1] ** (1 / 3) == pytest.approx(float(found.amplitude), rel=2e-3)


# Powers of |z| that are no integers: the function and its derivative for z > 0, and the class and both exponents.
ROOTS = {
    "z/(1+sqrt(abs(z)))": (lambda x: x / (1 + x**0.5), lambda x: (1 + x**0.5 / 2) / (1 + x**0.5) ** 2, 4, 4),
    "z/(1+abs(z)**(1/10))": (lambda x: x / (1 + x**0.1), lambda x: (1 + 0.9 * x**0.1) / (1 + x**0.1) ** 2, 20, 20),
    "z-abs(z)**(4/3)*sign(z)/3": (lambda x: x - x ** (4 / 3) / 3, lambda x: 1 - x ** (1 / 3) * 4 / 9, 6, None),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ROOTS)
def test_fractional_powers_at_zero_have_exact_exponents(formula):
    found = derived(sr.mlp(formula))
    value, slope, kernel, jacobian = ROOTS[formula]
    assert found.universality_class == "K*=0"
    assert found.exponents.kernel == kernel
    assert jacobian in (None, found.exponents.jacobian)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    u = (nodes + 1) / 2  # x = 10 u**30 makes the roots polynomials
    x, measure = 10 * u**30, weights * 300 * u**29  # of both sides
    measure = measure * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    K = 10.0 ** (-4 * kernel)
    after = float(measure @ value(math.sqrt(K) * x) ** 2)
    chi = float(measure @ slope(math.sqrt(K) * x) ** 2)
    rise = after ** (-1 / kernel) - K ** (-1 / kernel)  # of |K|**(-1/exponent), per layer
    assert rise == pytest.approx(number(found.exponents.amplitude) ** (-1 / kernel), rel=1e-3)
    depth = K ** (-1 / kernel) / rise
    assert -math.log(chi) * depth == pytest.approx(number(found.exponents.jacobian), rel=1e-3)


@pytest.mark.parametrize(("n", "p"), [(2, 2), (3, 4), (R(5, 2), 2)])
def test_corrections_that_can_be_summed_leave_the_jacobian_constant(n, p):
    """The sum of l^-(p/(n - 1)) converges: doubling the depth hardly changes the product of 1 - d^p/5."""
    found = from_expansion(sp.sympify(n), -R(1, 3), sp.Integer(p), -R(1, 5))
    assert (found.kernel, found.jacobian, found.stretch) == (1 / (sp.sympify(n) - 1), 0, None)
    distance, logarithms = 0.3, [0.0]
    for _ in range(8000):
        logarithms.append(logarithms[-1] + np.log1p(-(distance**p) / 5))
        distance -= distance ** float(n) / 3
    assert abs(logarithms[8000] - logarithms[4000]) < 0.1 * abs(logarithms[4000] - logarithms[0])


def test_amplitudes_of_odd_roots_have_the_side_of_the_kernel():
    """Of d' = d + d^4/3, which attracts from below: d ~ -l^(-1/3); exact for b = 1/3."""
    found = from_expansion(sp.Integer(4), R(1, 3), sp.Integer(3), R(1))
    assert (found.kernel, found.amplitude, found.jacobian) == (R(1, 3), -1, 1)
    distance = -0.5
    for _ in range(20000):
        distance += distance**4 / 3
    assert distance * 20000 ** (1 / 3) == pytest.approx(float(found.amplitude), rel=2e-3)


def test_amplitudes_of_an_unknown_sign_keep_it():
    b = sp.Symbol("b", real=True)
    amplitude = from_expansion(sp.Integer(4), b, sp.Integer(3), sp.Integer(1)).amplitude
    for value in (R(1, 24), -R(1, 24)):
        assert amplitude.subs(b, value) == -2 * sp.sign(value)
