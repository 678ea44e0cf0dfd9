"""Critical lines: every point against one step of the recursion; published lines are in the derivations."""

import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of
from tests.oracles.recursion import step
from tests.shared import derived

R = sp.Rational
erf, gelu, relu = (sr.activation(name) for name in ("erf", "gelu", "relu"))
C_W, gamma = sr.C_W, sr.gamma


def same(one, other):
    """Equality of expressions in C_W and gamma, at points and to 30 digits."""
    points = [{C_W: R(17, 10), gamma: R(2, 5)}, {C_W: R(23, 7), gamma: R(-5, 7)}]
    return all(abs(sp.N((one - other).subs(point), 30)) < 1e-28 for point in points)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("layer", "slope"),
    [
        (lambda g: sr.pre_ln("sin", g), sp.exp(-2)),
        (lambda _: sr.ln_act("relu"), 1 / (sp.pi - 1)),  # (111)
        (lambda g: sr.Layer(sr.LayerNorm(g * sr.z + sr.Dense(gelu(sr.z)))), 1 / (6 * sp.sqrt(3) * sp.pi)),
    ],
    ids=["pre_ln sin", "ln_act relu", "post_ln gelu"],
)
@pytest.mark.parametrize("skip", [sp.Integer(0), R(1, 2), gamma])
def test_lines_of_normalised_layers_are_straight(layer, slope, skip):
    if layer(skip).name == "ln_act" and skip != 0:
        layer = lambda g: sr.ln_act("relu", g)  # noqa: E731
        slope = sp.pi / (sp.pi - 1) - 1  # K* = (C_W + C_b)/(1 - gamma**2): the skip drops out here as well
    found = derived(layer(skip)).critical_line_expr
    assert same(found, slope * C_W)
    assert not found.has(gamma)


POINTS = [
    ("residual", "erf", 0, "1.2"),
    ("residual", "erf", R(1, 2), "1.2"),
    ("residual", "tanh", 0, "1.5"),
    ("residual", "tanh", R(1, 2), "2.5"),
    ("residual", "sin", 0, "1.6"),
    ("residual", "gelu", 0, "1.99"),
    ("residual", "gelu", 0, "2.3"),
    ("residual", "silu", 0, "2.1"),
    ("residual", "selu", 0, "0.96"),
    ("pre_ln", "tanh", R(1, 2), "1.3"),
    ("pre_ln", "silu", 0, "1.3"),
    ("pre_ln", "elu", 0, "1.3"),
    ("ln_act", "erf", 0, "1.3"),
    ("ln_act", "gelu", R(1, 2), "1.3"),
    ("ln_act", "tanh", 0, "1.3"),
    ("ln_act", "softplus", 0, "1.3"),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("layer", "name", "skip", "weight"), POINTS)
def test_every_point_of_a_line_is_critical(layer, name, skip, weight):
    build = {"residual": sr.residual, "pre_ln": sr.pre_ln, "ln_act": sr.ln_act}[layer]
    phi = sr.activation("elu", alpha=1) if name == "elu" else sr.activation(name)
    points = derived(build(phi, gamma=skip)).critical_line(C_W=weight)
    assert points or name in ("silu", "elu", "selu")
    for bias in points:
        kernel, chi = step(layer, name, bias.K, float(weight), float(bias), float(skip))
        assert kernel == pytest.approx(bias.K, rel=1e-12)
        assert chi == pytest.approx(1, abs=1e-12)
        wider = [step(layer, name, bias.K * (1 + d), float(weight), float(bias), float(skip))[0] for d in (1e-4, -1e-4)]
        slope = (wider[0] - wider[1]) / (2e-4 * bias.K)
        assert slope == pytest.approx(bias.chi_parallel, abs=1e-6)
        assert bias.reachable == (slope <= 1)


def test_branches_from_which_the_kernel_flows_away_are_marked():
    """Two points at one C_W, beside the half-stable point of gelu."""
    assert ["unreachable" in repr(point) for point in derived("gelu").critical_line(C_W="1.99")] == [True, False]


def test_the_end_of_a_line_is_the_critical_point():
    assert derived("erf").critical_line(C_W=sp.pi / 4) == (0.0,)
    assert derived("tanh").critical_line(C_W=1) == (0.0,)
    assert derived("tanh").critical_line(C_W="0.99") == ()
    assert derived("relu").critical_line(C_W=2) == (0.0,)
    assert derived("relu").critical_line(C_W="2.1") == ()


def test_biases_inside_of_averages():
    """A block of two layers: C_b stands in the law of the inner neurons, so the line comes from two equations."""
    theory = derived(sr.two_layer_block("erf", gamma="1/2", xi="4/5"))
    (bias,) = theory.critical_line(C_W="1.3")
    values = {"C_W": "1.3", "C_b": float(bias), "K": bias.K}
    assert abs(theory.kernel_map.evalf(15, **values) / bias.K - 1) < 1e-13
    assert abs(theory.chi_perp.evalf(15, **values) - 1) < 1e-13
    inner = mp.mpf(bias) + mp.mpf("1.3") * mp.mpf(bias.K)
    chi = mp.mpf(1) / 4 + mp.mpf("0.64") * mp.mpf("1.69") * 4 / mp.pi / mp.sqrt(1 + 4 * inner)
    assert abs(chi - 1) < 1e-13


def test_jumps_have_no_line():
    theory = derived("sign")
    assert theory.critical_line(C_W=1) == ()
    assert theory.critical_line_expr is None


def test_no_point_is_missed_where_the_kernel_falls_with_the_biases():
    """<exp(-2 z^2)> falls with the variance; a scan of the plane of K and C_b finds one point at each weight."""
    bump = sr.Activation("bump", sp.exp(-(sr.z**2)))
    layer = derived(sr.two_layer_block(bump, gamma="1/2", xi=sp.sqrt(R(3, 4) / R(324, 10))))
    for weight, expected in ((R(985, 100), 0.12079), (R(99, 10), 0.16550), (10, 0.2542980219006833)):
        (found,) = layer.critical_line(C_W=weight)
        assert found == pytest.approx(expected, abs=1e-5)
        assert found.reachable
        values = {"K": found.K, "C_W": weight, "C_b": float(found)}
        assert float(layer.kernel_map.evalf(**values)) == pytest.approx(found.K, rel=1e-12)
        assert float(layer.chi_perp.evalf(**values)) == pytest.approx(1, rel=1e-12)


def _relu_gate(kernel, weight, bias):
    """K' of z/2 + Dense(relu(Dense z)*Dense z): half a product of two independent variances."""
    return kernel / 4 + bias + weight * (bias + weight * kernel) ** 2 / 2


def _bilinear(kernel, weight, bias):
    return kernel / 4 + bias + weight * (bias + weight * kernel) ** 2


def _dead_zone(kernel, weight, bias):
    """K' of z/2 + Dense(max(Dense z - 1, 0)), by quadrature."""
    square = float(average_of(lambda x: max(x - 1, 0) ** 2, bias + weight * kernel, (1,), digits=16))
    return kernel / 4 + bias + weight * square


DENSE = sr.Dense
AGREEING = {  # the branch, K', what runs along the line
    "relu gate": (sr.activation("relu")(DENSE(sr.z)) * DENSE(sr.z), _relu_gate, "C_W"),
    "bilinear": (DENSE(sr.z) * DENSE(sr.z), _bilinear, "C_W"),
    "dead zone": (sr.activation("max(z-1,0)")(DENSE(sr.z)), _dead_zone, "S_in"),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", AGREEING)
def test_where_susceptibilities_agree_all_of_the_line_is_critical(name):
    """The conditions by differences of a hand-written K'; then ten layers from below, against the law."""
    branch, following, runs = AGREEING[name]
    theory = derived(sr.Layer(sr.z / 2 + DENSE(branch)))
    (point,) = theory.critical_points
    assert (theory.universality_class, point.stability, point.side) == ("half-stable", "half-stable", "below")
    assert point.along.name == runs
    every = {"C_W": "C_W", "S_in": "variance S_in inside of the averages"}[runs].replace("C_W", "C_W > 0")
    assert theory.remarks[0] == f"a line of critical points: every {every}, each with a K* and a C_b of its own"
    exponents = theory.exponents
    assert (exponents.kernel, exponents.jacobian) == (1, 2)
    for value in (R(2, 5), 1, R(17, 10)):
        star, weight, bias, amplitude = (
            float(sp.N(e.subs(point.along, value), 17)) for e in (point.K, point.C_W, point.C_b, exponents.amplitude)
        )
        assert following(star, weight, bias) == pytest.approx(star, rel=1e-12)
        near, far = (
            (following(star + h, weight, bias) - following(star - h, weight, bias)) / (2 * h)
            for h in (1e-3 * star, 2e-3 * star)
        )
        assert (4 * near - far) / 3 == pytest.approx(1, abs=1e-8)
        nearest = min(theory.critical_line(C_W=weight), key=lambda found, star=star: abs(found.K - star))
        assert (float(nearest), nearest.K) == (pytest.approx(bias, rel=1e-9), pytest.approx(star, rel=1e-9))
        kernel = star * (1 - 1e-4)
        steps = [1 / (star - kernel)]
        for _ in range(10):
            kernel = following(kernel, weight, bias)
            steps.append(1 / (star - kernel))
        assert (steps[-1] - steps[0]) / 10 == pytest.approx(-1 / amplitude, rel=2e-3)


def test_a_skip_of_weight_1_leaves_no_line_of_points():
    """Both susceptibilities are C_W^2 <phi'^2>: with the skip of weight 1 no C_W makes them 1."""
    theory = derived(sr.two_layer_block("max(z-1,0)"))
    assert (theory.critical_points, theory.universality_class) == ((), "none")


def test_curves_have_no_rows_where_nothing_is_kept():
    """By hand: S = (3/4 - C_W)/C_W^2, so that C_W < 3/4; with skips above 1 chi_perp is above 1 already."""
    relu, z = sr.activation("relu"), sr.z
    theory = derived(sr.Layer(z / 2 + DENSE(relu(DENSE(z)) * DENSE(z)) + DENSE(z)))
    (weight, bias, flows), *others = theory.critical_curve([0.5, 0.8, 1, 2])
    assert (weight, flows) == (0.5, True)
    inner = (0.75 - weight) / weight**2
    kernel = (inner - bias) / weight
    assert kernel / 4 + (bias + weight * inner**2 / 2) + inner == pytest.approx(kernel, rel=1e-12)
    large = [sr.residual("relu", gamma="3/2"), sr.two_layer_block("tanh", gamma="3/2", xi=1)]
    large.append(sr.two_layer_block("tanh", xi=1))  # with the skip of weight 1
    others += [row for layer in large for row in derived(layer).critical_curve([0.5, 1, 2])]
    assert all(math.isnan(weight) and math.isnan(bias) for weight, bias, _ in others)


def _dead_between(kernel):
    """<phi^2> of where(z>2, z-2, where(z>1, 0, z-1))."""
    return float(average_of(lambda x: (max(x - 2, 0) + min(x - 1, 0)) ** 2, kernel, (1, 2), digits=16))


DEAD = sr.activation("where(z>2,z-2,where(z>1,0,z-1))")


@pytest.mark.parametrize(
    ("layer", "place", "beyond"), [(sr.mlp(DEAD), 100, 1), (sr.Layer(DENSE(DEAD(DENSE(sr.z)))), 400, R(1, 2))], ids=str
)
def test_the_stability_of_a_line_is_that_of_its_points(layer, place, beyond):
    """Where no C_b >= 0 keeps the kernel, the sign of the slope of chi_parallel is another one; K' by quadrature."""
    theory = derived(layer)
    (point,) = theory.critical_points
    assert (theory.universality_class, point.stability, point.side) == ("half-stable", "half-stable", "below")
    star, weight, bias = (float(sp.N(e.subs(point.along, place), 17)) for e in (point.K, point.C_W, point.C_b))
    assert bias > 0 > float(sp.N(point.C_b.subs(point.along, beyond), 17))
    of_stream = place == 100
    assert (theory.remarks[0] == "a line of critical points: every K* > 0, with C_b >= 0") == of_stream

    def drift(kernel):
        return weight * _dead_between(kernel if of_stream else bias + weight * kernel) + bias - kernel

    assert drift(star) == pytest.approx(0, abs=1e-9 * star)
    assert min(drift(0.95 * star), drift(1.05 * star)) > 1e-6 * star
    assert float(sp.N(theory.exponents.amplitude.subs(point.along, place), 17)) < 0


@pytest.mark.parametrize(("sign", "expected"), [("positive", "half-stable"), ("negative", "none")])
def test_lines_of_points_keep_the_sign_of_a_breakpoint(sign, expected):
    """max(z - c, 0): for c < 0 the mean is so large that no C_b >= 0 keeps a kernel at which gradients are kept."""
    c = sp.Symbol("c", **{sign: True})
    theory = derived(sr.mlp(sr.activation("max(z-c,0)", c=c)))
    number = derived("max(z-1/2,0)" if sign == "positive" else "max(z+1/2,0)")
    assert theory.universality_class == number.universality_class == expected
    assert len(theory.critical_points) == len(number.critical_points) == (sign == "positive")
    assert ("no C_b >= 0" in number.remarks[0]) == (sign == "negative")
    reason = theory.kernel_map.series(1).reason
    assert f"(at C_W = 1, C_b = 1, c = {'1' if sign == 'positive' else '-1'})" in reason


def test_a_line_need_not_pass_the_kernel_1():
    """A second branch of fixed weights: chi_perp = 1 leaves no C_W > 0 for large kernels."""
    dead = sr.activation("max(z-1,0)")
    theory = derived(sr.Layer(DENSE(dead(sr.z)) + DENSE(dead(sr.z), C_W=8, C_b=0)))
    (point,) = theory.critical_points
    weight, bias = (float(sp.N(e.subs(point.along, R(1, 2)), 17)) for e in (point.C_W, point.C_b))
    found = min(theory.critical_line(C_W=weight), key=lambda found: abs(found.K - 0.5))
    assert (float(found), found.K) == (pytest.approx(bias, rel=1e-9), pytest.approx(0.5, rel=1e-9))
    assert (weight, bias) == (pytest.approx(4.7146, rel=1e-4), pytest.approx(0.31948, rel=1e-4))


def test_explicit_lines_do_not_depend_on_the_sign_of_the_branch():
    z, xi = sr.z, sr.xi
    theory = derived(sr.Layer(gamma * z + xi * DENSE(DENSE(z) * DENSE(z) * DENSE(z))))
    for weight in ("1/3", "-1/3"):
        expected = theory.critical_line(C_W=1, gamma="1/2", xi=weight)
        values = {xi: R(weight), gamma: R(1, 2), sr.C_W: 1}
        assert float(theory.critical_line_expr.subs(values)) == pytest.approx(float(expected[0]), rel=1e-12)


def test_lines_explicit_in_the_weights_are_drawn():
    theory = derived(sr.Layer(sr.z / 2 + DENSE(DENSE(sr.z) * DENSE(sr.z))))
    rows = theory.critical_curve([0.5, 1.0, 2.0])
    for weight, bias, reachable in rows:
        (found,) = theory.critical_line(C_W=weight)
        assert (found, reachable) == (pytest.approx(bias, rel=1e-12), True)


@pytest.mark.exhaustive
def test_the_curve_of_a_block_runs_through_its_critical_point():
    """Along the inner variance; every place is on the line of numbers, and flows turn over at the critical point."""
    layer = derived(sr.two_layer_block("gelu", gamma="1/2", xi=1))
    rows = layer.critical_curve([1.0, 2.0, 3.5, 3.6, 8.0])
    assert [reachable for *_, reachable in rows] == [False, False, False, True, True]
    for weight, bias, reachable in rows:
        nearest = min(layer.critical_line(C_W=weight), key=lambda found: abs(found - bias))
        assert nearest == pytest.approx(bias, rel=1e-9)
        assert nearest.reachable == reachable


@pytest.mark.sample(1)
@pytest.mark.parametrize("layer", [sr.residual("gelu"), sr.ln_act("gelu", gamma), sr.mlp("tanh")], ids=str)
def test_the_line_in_averages_is_the_curve(layer):
    """What pages show where the line is not explicit."""
    theory = derived(layer)
    weight, bias = theory.critical_line_averages
    params = {"gamma": 0.5} if gamma in layer.parameters else {}
    ((first, second, _),) = theory.critical_curve([0.7], **params)
    here = {sr.K: R(7, 10), gamma: R(1, 2)}
    assert float(sp.N(weight.subs(here), 15)) == pytest.approx(first, rel=1e-13)
    assert float(sp.N(bias.subs(C_W, weight).subs(here), 15)) == pytest.approx(second, rel=1e-12)
    assert derived("erf").critical_line_averages is None and derived("relu").critical_line_averages is None


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (sr.mlp("erf"), ""),
        (sr.mlp("gelu"), "its part with -1 <= chi_parallel <= 1 separates ordered from chaotic networks"),
        (sr.mlp("max(z,0)-1/4"), "its part with C_b >= 0 separates ordered from chaotic networks"),
        (sr.mlp("max(z,0)**(3/2)"), "the kernel flows away from it"),
        (sr.mlp("sqrt(1+z**2)+1"), "at all kernels tried, from 1e-05 to 100000, C_b is negative on it"),
        (sr.pre_ln("abs(z)+1/2"), "it does not exist, as C_b would be negative"),
    ],
    ids=str,
)
def test_pages_say_where_a_line_separates_phases(layer, said):
    report = derived(layer).report()
    assert report.critical_line is not None or report.critical_curve is not None
    assert said in report.line_remark and bool(said) == bool(report.line_remark)


@pytest.mark.parametrize(
    ("layer", "ends"),
    [
        (sr.mlp("erf"), (sp.pi / 4, sp.oo)),
        (sr.residual("erf(2*z)"), (sp.pi * (1 - gamma**2) / 16, sp.oo)),
        (sr.mlp("where(z>0,z^2,-z/4)"), (0, 32)),
    ],
    ids=str,
)
def test_weights_between_which_a_line_lies(layer, ends):
    """Its formula has values outside too: no network has a fixed point there."""
    theory = derived(layer)
    assert theory.critical_line_weights == ends
    low, high = (min(float(end.subs(gamma, 0.5)), 1e3) for end in map(sp.sympify, ends))
    params = {"gamma": 0.5} if gamma in layer.parameters else {}
    assert theory.critical_line_expr.subs({C_W: low + 0.9 * (high - low), gamma: 0.5}).evalf() > 0
    for inside, weight in ((True, low + 0.9 * (high - low)), (False, 0.9 * low or 1.1 * high)):
        found = theory.critical_line(C_W=weight, **params)
        assert bool(found) == inside
        value = float(theory.critical_line_expr.subs({C_W: weight, gamma: 0.5}))
        assert found == (pytest.approx(value, rel=1e-12),) * inside


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("formula", "bias", "weights"),
    [
        ("z+z^2", (C_W - 1) ** 2 / (16 * C_W), (0, 1)),
        ("2*z+z^2", (4 * C_W - 1) ** 2 / (16 * C_W), (0, R(1, 4))),
        ("sinh(z)", C_W + sp.log(2 / C_W - 1) / 2 - 1, (0, 1)),
        ("sin", 1 - C_W - sp.log(2 / C_W - 1) / 2, (1, 2)),
        ("z+z^3/3", (20 * C_W - 36 + 4 * sp.sqrt(3 / C_W - 2) * (C_W + 3)) / 81, (0, 1)),
    ],
)
def test_explicit_lines_that_end(formula, bias, weights):
    """By hand from chi_perp = 1: C_W (1 + 4K), C_W (4 + 4K), C_W (exp(2K) + 1)/2, ..., C_W (1 + K)^2."""
    theory = derived(formula)
    assert theory.critical_line_weights == weights
    for share in (R(1, 9), R(1, 2), R(14, 15)):
        weight = weights[0] + share * (weights[1] - weights[0])
        expected = sp.N(bias.subs(C_W, weight), 15)
        assert sp.N(theory.critical_line_expr.subs(C_W, weight), 15) == pytest.approx(expected, rel=1e-12)
        assert theory.critical_line(C_W=weight)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("formula", ["z-z*abs(z)", "max(z,0)-max(z,0)^2/2", "2*z/5-z*abs(z)", "z/50-z*abs(z)/900"])
def test_two_lines_are_no_formula(formula):
    """chi_perp = C_W (1 - 4 sqrt(2K/pi) + 4K) = 1 has one solution for C_W < 1, and two above."""
    theory = derived(formula)
    assert theory.critical_line_expr is None
    weights = {"max": R(11, 5), "z-z": R(3, 2), "2*z": 10, "z/5": 3000}
    assert len(theory.critical_line(C_W=weights[formula[:3]])) == 2
    assert theory.critical_line_parametric is not None


@pytest.mark.sample(2)
@pytest.mark.parametrize("scale", [8, 500, R(1, 300)])
@pytest.mark.parametrize("name", ["erf", "sin"])
def test_explicit_lines_of_rescaled_activations(name, scale):
    """phi(z/s) at (C_W, C_b, K) is phi(z) at (C_W, C_b, K)/s^2."""
    line = derived(name).critical_line_expr
    rescaled = derived(f"{name}(z/({scale}))").critical_line_expr
    for weight in (R(11, 10), R(7, 4)):
        expected = sp.N(line.subs(C_W, weight) * scale**2, 20)
        assert float(rescaled.subs(C_W, weight * scale**2)) == pytest.approx(float(expected), rel=1e-12)


def test_the_line_of_a_parabola_with_a_root():
    """For z - z |z| at C_W = 1/2: sqrt(K) is the positive solution of 4 s^2 - 4 sqrt(2/pi) s + 1 = 2."""
    s = (sp.sqrt(2 / sp.pi) + sp.sqrt(2 / sp.pi + 1)) / 2
    bias = s**2 - (s**2 - 2 * sp.sqrt(2 / sp.pi) * 2 * s**3 + 3 * s**4) / 2  # <phi^2> = K - 2 <|z|^3> + 3 K^2
    assert derived("z-z*abs(z)").critical_line(C_W=R(1, 2)) == (pytest.approx(float(bias), rel=1e-12),)


def test_lines_for_all_weights_have_no_ends():
    assert derived(sr.pre_ln("erf")).critical_line_weights is None
    assert derived(sr.mlp("z**2")).critical_line_weights is None  # C_W = 1/(4*K)
    assert derived(sr.mlp("relu")).critical_line_weights is None


def test_a_line_at_one_weight_variance():
    """max(z, 0) - 1/4: chi_perp = C_W/2 for every kernel, so C_W = 2 with any biases."""
    weight, bias = derived("max(z,0)-1/4").critical_line_averages
    kernel = R(2454369, 10**6)  # of a deep network at C_b = 1/2
    assert float(sp.N(weight.subs(sr.K, kernel))) == pytest.approx(2)
    assert float(sp.N(bias.subs(C_W, weight).subs(sr.K, kernel))) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("formula", "skip", "said"),
    [
        ("tanh", 2, "from 1e-05 to 100000, no C_W > 0 keeps the kernel with chi_perp = 1"),
        ("tanh", gamma, "the weight of the skip connection has to be below 1, |gamma| < 1"),
        (
            "z^2*step(z)",
            gamma,
            "so that deep networks are not affected; the weight of the skip connection has to be below 1, |gamma| < 1",
        ),
    ],
)
def test_lines_need_skips_below_1(formula, skip, said):
    theory = derived(sr.residual(formula, gamma=skip))
    assert theory.report().line_remark.endswith(said)
    given = {} if skip == 2 else {"gamma": 2}
    assert theory.critical_line(C_W=1, **given) == ()


def test_lines_with_roots_of_skips():
    """Of z sqrt|z|: chi_perp = gamma^2 + (9/4) C_W sqrt(2K/pi) = 1, <phi^2> = sqrt(8 K^3/pi)."""
    line = derived(sr.residual("z*abs(z)^(1/2)")).critical_line_expr
    assert line == 8 * sp.pi * (1 - gamma**2) ** 3 / (729 * C_W**2)
    assert derived(sr.residual("z^2*step(z)")).critical_line_expr == (1 - gamma**2) ** 2 / (8 * C_W)


@pytest.mark.exhaustive
def test_pages_tell_how_to_search_for_a_line_without_a_formula():
    gate = sr.Layer(sr.z / 2 + DENSE(gelu(DENSE(sr.z)) * sr.activation("sigmoid")(DENSE(sr.z))))
    said = derived(gate).report().line_remark
    assert said == "critical lines have no formula here: in Python critical_line(C_W=...) searches for their C_b"
    for other in ("relu", "max(z-1,0)"):
        assert "searches" not in derived(other).report().line_remark
    assert not derived(sr.batch_norm("erf")).report().line_remark  # chi_perp = 1.2257... at each fixed point: no line


def test_the_line_of_an_exponential():
    """C_W exp(2K) = 1 and <phi^2> = exp(2K): C_b = K - 1, positive below C_W = exp(-2)."""
    theory = derived("exp(z)")
    assert same(theory.critical_line_expr, -sp.log(C_W) / 2 - 1)
    assert theory.critical_line_weights == (0, 1)
    assert theory.critical_line(C_W="1/20") == (pytest.approx(math.log(20) / 2 - 1, rel=1e-12),)
    rest = 1 - gamma**2
    skips = derived(sr.residual("exp(z)")).critical_line_expr
    assert same(skips.subs(C_W, C_W / 10), rest * sp.log(10 * rest / C_W) / 2 - rest)


def test_weights_of_lines_with_free_branches():
    """Of Dense(z) + gamma Dense(erf(z)): chi_perp = C_W (1 + 4 gamma^2/(pi sqrt(1 + 4K))) = 1, between K = 0 and oo."""
    theory = derived(sr.Layer(DENSE(sr.z) + gamma * DENSE(erf(sr.z))))
    least, most = theory.critical_line_weights
    assert same(least, 1 / (1 + 4 * gamma**2 / sp.pi)) and most == 1
    assert len(theory.critical_line(C_W=0.9, gamma=0.8)) == 1
    assert theory.critical_line(C_W=1 / (1 + 4 * 0.64 / math.pi) - 0.01, gamma=0.8) == ()


@pytest.mark.exhaustive
@pytest.mark.sample(2)
@pytest.mark.parametrize("sign", ["positive", "negative", "real"])
def test_a_formula_of_a_line_holds_for_both_signs_of_a_parameter(sign):
    """Of z + q z^3 chi_perp = C_W (1 + 6qK + 27 q^2 K^2) = 1 has one solution for q > 0, two where q < 0, C_W > 1."""
    q = sp.Symbol("q", **{sign: True})
    theory = derived(sr.mlp(sr.Activation("c", sr.z + q * sr.z**3, parameters=(q,))))
    assert (theory.critical_line_expr is not None) == (sign == "positive")
    size = R(1, 10)
    for value in [-size] * (sign != "positive") + [size] * (sign != "negative"):
        weight = R(5, 4) if value < 0 else R(3, 5)
        kernels = [
            k for k in sp.Poly(27 * value**2 * sr.K**2 + 6 * value * sr.K + 1 - 1 / weight).real_roots() if k > 0
        ]
        kept = [float(k - weight * (k + 6 * value * k**2 + 15 * value**2 * k**3)) for k in kernels]
        assert len(kept) == (2 if value < 0 else 1)
        assert theory.critical_line(C_W=weight, q=value) == pytest.approx(tuple(sorted(kept)), rel=1e-12)
        if sign == "positive":
            assert float(theory.critical_line_expr.subs({C_W: weight, q: value})) == pytest.approx(kept[0], rel=1e-12)


def activation_of(expr):
    return sr.Activation("own", expr, parameters=tuple(sorted(expr.free_symbols - {sr.z}, key=str)))


a, b, s = sp.symbols("a b s", real=True)
p = sp.Symbol("p", positive=True)
TWO_LINES = {  # at these numbers chi_perp = C_W (1 + 6qK + 27 q^2 K^2) + gamma^2 = 1 has two solutions
    "of a product": (activation_of(sr.z + a * s * sr.z**3), {"a": R(1, 2), "s": R(-1, 2)}),
    "above a size": (activation_of(sr.z + (1 - p) * sr.z**3), {"p": R(5, 4)}),
}
NARROW = {  # of a z + b z^2 + c z^3: chi_perp = C_W (a^2 + (4 b^2 + 6 a c) K + 27 c^2 K^2) = 1 has two solutions
    "below a size": (sr.z + p * sr.z**2 - sr.z**3 / 100, {"p": R(1, 20)}, (1, 0.05, -0.01), R(101, 100)),
    "where two differ": (
        p * sr.z + b * sr.z**2 - sr.z**3 / 10,
        {"p": R(16), "b": R(-2, 5)},
        (16, -0.4, -0.1),
        R(391, 100000),
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TWO_LINES)
def test_two_lines_at_some_parameters_are_no_formula(name):
    own, params = TWO_LINES[name]
    theory = derived(sr.residual(own))
    assert theory.critical_line_expr is None and theory.critical_line_weights is None
    assert len(theory.critical_line(C_W=R(4, 5), gamma=R(1, 2), **params)) == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NARROW)
def test_two_lines_far_from_simple_parameters_are_no_formula(name):
    expr, params, (one, two, three), weight = NARROW[name]
    theory = derived(activation_of(expr))
    assert theory.critical_line_expr is None
    kernels = np.roots([27 * three**2, 4 * two**2 + 6 * one * three, one**2 - 1 / float(weight)])
    squares = [one**2 * k + 3 * (two**2 + 2 * one * three) * k**2 + 15 * three**2 * k**3 for k in kernels]
    biases = [k - float(weight) * square for k, square in zip(kernels, squares, strict=True)]
    assert min(kernels) > 0 and min(biases) > 0
    assert sorted(theory.critical_line(C_W=weight, **params)) == pytest.approx(sorted(biases), rel=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("expr", "ends"),
    [
        (a * sp.erf(sr.z), (sp.pi / (4 * a**2), sp.oo)),
        (a * sp.erf(b * sr.z), (sp.pi / (4 * a**2 * b**2), sp.oo)),
        (a * sp.sin(sr.z), (a**-2, 2 * a**-2)),
        (a * sr.z + b * sr.z**2, (0, a**-2)),
    ],
    ids=str,
)
def test_weights_of_lines_with_parameters_that_may_vanish(expr, ends):
    """1/<phi'^2> at kernels 0 and oo, by hand: C_W of a critical line lies between."""
    theory = derived(activation_of(expr))
    assert theory.critical_line_weights == ends
    assert theory.critical_line_expr is not None
