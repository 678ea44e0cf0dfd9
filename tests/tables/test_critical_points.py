"""Critical points against values that are known to many digits; nothing of this table stands in the package."""

from functools import partial

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from scipy import special

from symres.activations.activation import Activation
from symres.activations.catalogue import activation
from symres.core.symbols import C_b, K, gamma, xi, z
from symres.functions.balls import evaluate
from symres.functions.roots.root import Root
from symres.layers.architectures import mlp, residual
from symres.layers.layer import Layer
from symres.layers.nodes import Dense
from tests.oracles.average import average_of
from tests.oracles.recursion import averages
from tests.shared import derived

HALF_STABLE = {
    "gelu": ((3 + mp.sqrt(17)) / 2, "1.98305826", "0.17292239"),
    "silu": ("14.32017362", "1.98800468", "0.55514317"),
    "mish": ("1.67016913", "2.01352407", "0.09452179"),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", HALF_STABLE)
def test_half_stable_points(name):
    theory = derived(residual(name))
    point = theory.critical_points[0]
    for found, known in zip((point.K, point.C_W, point.C_b), HALF_STABLE[name], strict=True):
        value = sp.N(found.subs(gamma, 0), 20)
        assert abs(value - mp.mpf(known)) < 5.1e-9
    assert point.stability == "half-stable"
    assert theory.universality_class == "half-stable"
    assert_conditions(theory, point)
    assert_one_way(theory, point)


def assert_conditions(theory, point):
    """An independent test: evaluate the maps at the point."""
    at = {"gamma": mp.mpf("0.25")}
    at |= {name: sp.N(getattr(point, name).subs(gamma, sp.Rational(1, 4)), 30) for name in ("K", "C_W", "C_b")}
    for quantity, target in ((theory.kernel_map, at["K"]), (theory.chi_parallel, 1), (theory.chi_perp, 1)):
        value = quantity.evalf(20, **{s.name: at[s.name] for s in quantity.symbols})
        assert abs(value / target - 1) < 1e-15


def assert_one_way(theory, point):
    """Direct evaluation of the recursion around the point: K' - K has the same sign above and below."""
    settings = {"C_W": sp.N(point.C_W.subs(gamma, 0), 40), "C_b": sp.N(point.C_b.subs(gamma, 0), 40), "gamma": 0}
    drifts = []
    for factor in (sp.Rational(999, 1000), sp.Rational(1001, 1000)):
        k = sp.N(point.K, 40) * factor
        drifts.append(theory.kernel_map.evalf(30, K=k, **settings) - k)
    assert drifts[0] * drifts[1] > 0
    assert min(map(abs, drifts)) > 1e-15


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "parameter", "value", "power"),
    [
        ("z*(1 + erf(b*z))", "b", 5, -2),
        ("swish", "beta", 3, -2),
        ("z*(1 + erf(z/w))/w", "w", 7, 2),
        ("z*(1 + erf(b*sqrt(b)*z))", "b", 2, None),  # a unit b**-3 is not tried
        ("z*(1 + erf(b*z)) + z^2", "b", 2, None),
    ],
)
def test_a_parameter_that_sets_a_scale_is_the_unit_of_the_kernel(name, parameter, value, power):
    symbol = sp.Symbol(parameter, positive=True)
    phi = activation(name) if name == "swish" else activation(name, **{parameter: symbol})
    theory = derived(residual(phi))
    if power is None:
        assert not [p for p in theory.critical_points if p.K != 0]
        assert parameter in " ".join(theory.remarks)
        return
    symbolic, numeric = theory.critical_points[0], derived(residual(phi.subs(**{parameter: value}))).critical_points[0]
    assert symbolic.stability == numeric.stability == theory.universality_class == "half-stable"
    assert not (symbolic.K / symbol**power).free_symbols
    for name in ("K", "C_W", "C_b"):
        at = {symbol: value, gamma: sp.Rational(1, 3)}
        found, known = (sp.N(getattr(point, name).subs(at), 30) for point in (symbolic, numeric))
        assert abs(found - known) < 1e-25 * abs(known), name


OF_ZERO = {"tanh": 1, "sin": 1, "erf": sp.pi / 4}
OF_ALL = {"relu": 2, "abs": 1, "linear": 1, "leaky_relu(1/10)": sp.Rational(200, 101)}  # scale-invariant
NONE = ("sigmoid", "softplus", "step", "sign", "square", "cube")


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", [*OF_ZERO, *OF_ALL])
def test_the_only_critical_point_and_its_class(name):
    theory = derived(residual(name))
    point = theory.critical_points[0]
    kernel, stability, kind = (0, "stable", "K*=0") if name in OF_ZERO else (K, "neutral", "scale-invariant")
    assert (point.K, point.C_b, point.stability, theory.universality_class) == (kernel, 0, stability, kind)
    assert sp.expand(point.C_W - (1 - gamma**2) * (OF_ZERO | OF_ALL)[name]) == 0


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NONE)
def test_no_critical_point_is_invented(name):
    theory = derived(mlp(name))
    assert (theory.critical_points, theory.universality_class) == ((), "none")
    assert theory.remarks


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["snake", "gelu_tanh"])
def test_every_point_satisfies_the_conditions_it_was_found_from(name):
    theory = derived(residual(name))
    (point,) = (point for point in theory.critical_points if point.K != 0)
    assert_conditions(theory, point)


@pytest.mark.exhaustive
def test_a_parameter_that_sets_no_scale_of_the_biases_keeps_its_own_sign():
    """Gamma z + Dense(swish, C_b + 1): at beta = 1/4 a critical C_b > 0 exists, at beta = 1 it would be negative."""
    swish = activation("swish")
    layer = Layer(gamma * z + Dense(swish(z), C_b=C_b + 1))
    assert derived(layer).universality_class == "unknown"
    assert derived(layer.subs(beta="1/4")).universality_class == "half-stable"
    assert derived(layer.subs(beta=1)).universality_class == "none"


@pytest.mark.exhaustive
def test_a_unit_is_no_coincidence_at_a_few_values():
    beta = sp.Symbol("beta", positive=True)
    slope = beta * (1 + (beta - 1) * (beta - sp.Rational(5, 2)) * (beta - sp.Rational(3, 7)))
    bent = Activation("bent", z * (1 + sp.erf(slope * z)) / 2, parameters=(beta,))
    assert derived(mlp(bent)).universality_class == "unknown"


def test_susceptibilities_that_meet_at_every_quarter_of_pi():
    """For exp(z) sin(z): <phi phi''> = <exp(2z) sin(2z)> = sin(4K)."""
    theory = derived(mlp("exp(z)*sin(z)"))
    found = [point.K for point in theory.critical_points if point.K != 0]
    assert len(found) > 8
    for n, kernel in enumerate(found, 1):
        assert abs(sp.N(kernel, 20) - sp.N(n * sp.pi / 4, 20)) < 1e-15
    assert any("too many zeros" in remark for remark in theory.remarks)


def _double_factorial(n):
    return 1 if n <= 0 else n * _double_factorial(n - 2)


def _moments(polynomial):
    """<p^2>, <p'^2> and <z p p'>/K as polynomials in the kernel, from <z^2m> = (2m - 1)!! K^m."""
    k = sp.Symbol("k")

    def average(expr):
        return sum(c * _double_factorial(m - 1) * k ** (m // 2) for (m,), c in sp.Poly(expr, z).terms() if m % 2 == 0)

    slope = sp.diff(polynomial, z)
    return k, average(polynomial**2), average(slope**2), sp.expand(average(z * polynomial * slope) / k)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "text",
    [
        "z-z^3/6+z^5/120-z^7/5040",
        "z-z^3/3+2*z^5/15-17*z^7/315",
        "z*(1-z^2/3)^3",
        "z+z^3-z^5/10+z^7/1000",
        "z-z^3/6+z^5/1000",
    ],
)
def test_polynomials_of_any_degree(text):
    """The kernels where both susceptibilities agree are roots of polynomials, which need not have radicals."""
    k, square, perp, parallel = _moments(sp.sympify(text.replace("^", "**"), locals={"z": z}))
    roots = [r for r in sp.Poly((parallel - perp) / k, k).nroots(30) if r.is_real and r > 0]
    known = []
    for root in sorted(roots):
        weight = 1 / perp.subs(k, root)
        bias = root - weight * square.subs(k, root)
        if weight > 0 and bias >= 0:
            known.append((root, weight, bias))
    theory = derived(residual(text, gamma=sp.Rational(1, 2)))
    points = [p for p in theory.critical_points if p.K != 0]
    assert len(points) == len(known) > 0
    for point, (root, weight, bias) in zip(points, known, strict=True):
        scaled = root, weight * sp.Rational(3, 4), root * sp.Rational(3, 4) - (root - bias) * sp.Rational(3, 4)
        for found, value in zip((point.K, point.C_W, point.C_b), scaled, strict=True):
            assert abs(sp.N(found, 25) - value) < 1e-20 * max(1, abs(value))
        assert point.exact == (not point.K.has(Root))
        assert point.stability == "half-stable"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("text", "correction", "stability"),
    [
        ("tanh(z)", -2 * K**2, "stable"),
        ("z+z^7", 210 * K**4, "unstable"),
        ("z-z^7/1000", -sp.Rational(21, 100) * K**4, "stable"),
        ("z+(z^7/1000-z^9/100)*exp(-z^2)", sp.Rational(21, 100) * K**4, "unstable"),
        ("z*exp(-z^8/1000)", -sp.Rational(189, 100) * K**5, "stable"),
        ("tanh(z^7)+z", 210 * K**4, "unstable"),
        ("z-max(z,0)^6/100", -sp.Rational(24, 25) / sp.sqrt(2 * sp.pi) * K ** sp.Rational(7, 2), "stable"),
        ("hard_tanh", 0, "stable"),
        ("relu6", 0, "stable"),
        ("z+max(z-1,0)", 0, "unstable"),
        ("hard_tanh(z)+20*max(z-3/2,0)", 0, "stable"),  # at K = 1/2 the second breakpoint weighs more than the first
        ("hard_tanh(50*z)/50+3*max(z-1/10,0)", 0, "stable"),
        ("max(z-1/100,0)/50+max(z,0)-z/2+z/2-3*max(z-1/10,0)", 0, "unstable"),
    ],
)  # fmt: skip
def test_the_first_correction_around_kernel_zero(text, correction, stability):
    """The coefficient of <z f> from moments; flat ones move as the nearest breakpoint says."""
    theory = derived(mlp(text))
    (point,) = (p for p in theory.critical_points if p.K == 0)
    assert sp.expand(point.correction - correction) == 0
    assert point.stability == stability
    # an independent number: the drift at a small kernel, by quadrature between the breakpoints
    f = sp.lambdify(z, activation(text).expr, "mpmath")
    with mp.workdps(40):
        nearest = mp.mpf("0.01") if "/10" in text and not correction else mp.mpf(1)
        kernel = nearest**2 / 30 if correction == 0 else mp.mpf("1e-4")
        ends = [s * mp.mpf(b) for b in ("0.01", "0.02", "0.1", "1", "1.5", "3", "6") for s in (1, -1)]
        g = average_of(lambda x: f(x) ** 2, kernel, ends, digits=30)
        drift = mp.mpf(sp.N(point.C_W, 40)) * g - kernel
        assert mp.sign(drift) == {"stable": -1, "unstable": 1}[stability]
        if correction != 0:
            assert abs(drift / mp.mpf(sp.N(point.correction.subs(K, sp.Rational(1, 10**4)), 40)) - 1) < 0.05


# ---- biases inside of the averages: blocks of two Dense, gated units ------------------------------------------------

SKIP, BRANCH = 0.5, 0.7  # gamma and xi


def _block(name, kernel, weight, bias):
    """K' and chi_perp of a two-layer block."""
    _, square, slope = averages(name, bias + weight * kernel)
    return SKIP**2 * kernel + BRANCH**2 * (bias + weight * square), SKIP**2 + (BRANCH * weight) ** 2 * slope


def _glu(name, kernel, weight, bias):
    """The same with a branch phi(u)*v of two independent u, v of the inner variance."""
    inner = bias + weight * kernel
    _, square, slope = averages(name, inner)
    both = slope * inner + square
    return SKIP**2 * kernel + BRANCH**2 * (bias + weight * square * inner), SKIP**2 + (BRANCH * weight) ** 2 * both


def _erf_of_gelu(kernel, weight, bias):
    """K' and chi_perp of Dense(erf(Dense(gelu(z)))) in plain NumPy."""
    _, square, slope = averages("gelu", kernel)
    inner = bias + weight * square
    _, outer, steep = averages("erf", inner)
    return bias + weight * outer, weight**2 * slope * steep


def _gate(kernel, weight, bias):
    """The same of z/2 + Dense(z*erf(z + y)), y = Dense(z), by quadrature over z and y."""
    own = bias + weight * kernel
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    z, y = np.sqrt(kernel) * nodes[:, None], np.sqrt(own) * nodes[None, :]
    measure = np.outer(weights, weights) / (2 * np.pi)
    gate, steep = special.erf(z + y), 2 / np.sqrt(np.pi) * np.exp(-((z + y) ** 2))
    following = kernel / 4 + bias + weight * (measure * (z * gate) ** 2).sum()
    direct = (measure * (gate + z * steep) ** 2).sum()
    through = (measure * (z * steep) ** 2).sum() * weight
    return following, 1 / 4 + weight * (direct + through)


gelu_, silu_, erf_ = (activation(name) for name in ("gelu", "silu", "erf"))
RECURSIONS = {
    "block of gelu": (gamma * z + xi * Dense(gelu_(Dense(z))), partial(_block, "gelu")),
    "block of silu": (gamma * z + xi * Dense(silu_(Dense(z))), partial(_block, "silu")),
    "glu": (gamma * z + xi * Dense(gelu_(Dense(z)) * Dense(z)), partial(_glu, "gelu")),
    # layers whose conditions do not separate
    "erf of gelu": (Dense(erf_(Dense(gelu_(z)))), _erf_of_gelu),
    "gate": (z / 2 + Dense(z * erf_(z + Dense(z))), _gate),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RECURSIONS)
def test_points_of_layers_with_inner_biases(name):
    """The three conditions in plain NumPy; chi_parallel by differences of the kernel's recursion."""
    forward, recursion = RECURSIONS[name]
    theory = derived(Layer(forward))
    point = next(p for p in theory.critical_points if p.K != 0)
    numbers = {gamma: sp.Rational(1, 2), xi: sp.Rational(7, 10)}
    star, weight, bias = (float(evaluate(e.subs(numbers), {}, 17)[0]) for e in (point.K, point.C_W, point.C_b))
    assert point.stability == theory.universality_class == "half-stable"
    following, chi = recursion(star, weight, bias)
    assert abs(following / star - 1) < 1e-11
    assert abs(chi - 1) < 1e-10

    def drift(factor):
        return recursion(factor * star, weight, bias)[0] - factor * star

    near, far = ((drift(1 + h) - drift(1 - h)) / (2 * h * star) for h in (1e-3, 2e-3))
    assert abs((4 * near - far) / 3) < 1e-8
    assert [drift(factor) > 0 for factor in (0.99, 1.01)] == [point.side == "below"] * 2


def test_points_that_are_searched_in_numbers_are_printed_with_them():
    (point,) = [p for p in derived(Layer(RECURSIONS["erf of gelu"][0])).critical_points if p.K != 0]
    assert not point.exact
    for e in (point.K, point.C_W, point.C_b):
        assert float(str(e)) == pytest.approx(float(evaluate(e, {}, 17)[0]), rel=1e-14)


@pytest.mark.exhaustive
def test_the_stability_does_not_depend_on_the_name_of_the_skip():
    """Where C_W > 0 the sign of K' - K is the same for every weight of the skip; that of z + a z^3 is that of a."""
    weight = sp.Symbol("a", real=True)
    theory = derived(Layer(weight * z + Dense(activation("erf")(z))))
    assert (theory.critical_points[0].stability, theory.universality_class) == ("stable", "K*=0")
    cubic = derived(residual(Activation("cubic", z + weight * z**3, parameters=(weight,))))
    assert (cubic.critical_points[0].stability, cubic.universality_class) == ("marginal", "unknown")


@pytest.mark.exhaustive
def test_mirrored_activations_have_the_same_points():
    """-f(-z): powers of -z are joined in products as those of z are."""
    one, other = (derived(f) for f in ("where(z<0,z+(-z)^(3/2),z)", "where(z>0,z-z^(3/2),z)"))
    assert len(one.critical_points) == len(other.critical_points) == 2
    for found, mirrored in zip(one.critical_points, other.critical_points, strict=True):
        assert found.stability == mirrored.stability
        assert float(sp.N(found.K)) == pytest.approx(float(sp.N(mirrored.K)), rel=1e-12)
        assert float(sp.N(found.C_W)) == pytest.approx(float(sp.N(mirrored.C_W)), rel=1e-12)
    star, weight = (mp.mpf(sp.N(e, 17)) for e in (one.critical_points[1].K, one.critical_points[1].C_W))

    def susceptibility(left, right):
        """C_W <f> of f(-x) and f(x), x = sqrt(K) t^2, so that roots are smooth in t."""
        both = lambda x: left(x) + right(x)  # noqa: E731
        weighed = lambda t: 2 * t * mp.npdf(t**2) * both(mp.sqrt(star) * t**2)  # noqa: E731
        return weight * mp.quad(weighed, mp.linspace(0, 4, 9))

    # phi(-x) = -x + x^(3/2), phi(x) = x for x > 0; chi_parallel = C_W <z phi phi'>/K
    slope = lambda x: 1 - 3 * mp.sqrt(x) / 2  # noqa: E731
    assert susceptibility(lambda x: slope(x) ** 2, lambda x: 1) == pytest.approx(1, abs=1e-12)
    bent = susceptibility(lambda x: x * (x - x**1.5) * slope(x) / star, lambda x: x**2 / star)
    assert bent == pytest.approx(1, abs=1e-12)


def test_a_stability_that_parameters_decide_is_said_to_be_so():
    """max(z - q, 0): half-stable from above for q > 0, neutral at q = 0."""
    q = sp.Symbol("q", real=True)
    theory = derived(mlp(Activation("threshold", sp.Max(z - q, 0), parameters=(q,))))
    (point,) = theory.critical_points
    assert point.stability == "marginal"
    assert "the stability of these points depends on q" in theory.remarks


def test_whether_the_kernel_can_vanish_may_depend_on_a_parameter():
    """max(z, q) vanishes nowhere around 0 for q > 0; for q < 0 it is z there, and K* = 0 is critical at C_W = 1."""
    q = sp.Symbol("q", real=True)
    layer = mlp(Activation("floor", sp.Max(z, q), parameters=(q,)))
    assert not any("is not a fixed point" in text for text in derived(layer).remarks)
    assert [point.K for point in derived(layer.subs(q=-1)).critical_points] == [0]
    assert any("is not a fixed point" in text for text in derived(layer.subs(q=1)).remarks)


a, b, c = sp.Symbol("a", positive=True), sp.Symbol("b", real=True), sp.Symbol("c", real=True)
EITHER = {  # activations, with parameters where K* = 0 is stable, and where it is not, outside of the usual
    sp.tanh(z) - b * z**3 / 10: ({b: -3}, {b: -4}),
    sp.tanh(z) + a * z**3 / 100: ({a: 33}, {a: 34}),
    sp.tanh(z) + a * z**2 / 50: ({a: 40}, {a: 41}),
    a * sp.tanh(z) + z**3 / 100: ({a: sp.Rational(4, 100)}, {a: sp.Rational(2, 100)}),
    sp.sin(z) + (a - 2) * (a - 3) * z**3 / 3: ({a: sp.Rational(5, 2)}, {a: 5}),
    z + b * sp.Max(z, 0) + z * sp.Abs(z): ({b: -3}, {b: -1}),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("expr", EITHER, ids=str)
def test_the_stability_of_zero_holds_for_all_parameters_or_is_said_to_depend_on_them(expr):
    names = tuple(expr.free_symbols - {z})
    own = Activation("own", expr, parameters=names)
    layer = mlp(own)
    theory = derived(layer)
    zero = theory.critical_points[-1]
    assert (zero.K, zero.stability, theory.universality_class) == (0, "marginal", "unknown")
    assert f"the stability of K* = 0 depends on {names[0]}: K' - K has the sign of " in theory.remarks[-1]
    assert theory.exponents.kernel is None
    k, step = 1e-4, 1e-3
    x = np.arange(-12, 12, step)
    for numbers, stability in zip(EITHER[expr], ("stable", "unstable"), strict=True):
        found = [p for p in derived(layer.subs(**{str(s): v for s, v in numbers.items()})).critical_points if p.K == 0]
        assert [p.stability for p in found] == [stability]
        phi = sp.lambdify(z, expr.subs(numbers), "numpy")
        drift = float(zero.C_W.subs(numbers)) * np.sum(phi(np.sqrt(k) * x) ** 2 * np.exp(-(x**2) / 2)) * step
        assert (drift / np.sqrt(2 * np.pi) < k) == (stability == "stable")


def test_parameters_that_may_vanish_one_by_one():
    """Linear at c = 0, and neutral there; unstable otherwise."""
    theory = derived(mlp(Activation("own", b * z + c * z**2, parameters=(b, c))))
    assert [p.stability for p in theory.critical_points] == ["marginal"]
    assert theory.remarks[-1] == "the stability of K* = 0 depends on c: K' - K has the sign of c**2 near it"


@pytest.mark.exhaustive
def test_the_stability_of_a_nested_layer_depends_on_the_skip():
    """By hand, of tanh after z + z^3/6: <u^2> = K + K^2 + ..., <tanh^2> = K - 2 K^2 + ...; with C_W^2 = 1 - gamma^2

    K' - K = C_W^2 K^2 - 2 C_W^3 K^2 + ..., which is negative for C_W > 1/2.
    """
    swollen = Activation("swollen", z + z**3 / 6)
    build = lambda g: Layer(g * z + Dense(activation("tanh")(Dense(swollen(z)))))  # noqa: E731
    theory = derived(build(gamma))
    assert [p.stability for p in theory.critical_points] == ["marginal"]
    assert "depends on gamma: K' - K has the sign of 1 - 2*sqrt(1 - gamma**2)" in theory.remarks[-1]
    for skip, stability in ((sp.Rational(1, 2), "stable"), (sp.Rational(19, 20), "unstable")):
        assert [p.stability for p in derived(build(skip)).critical_points if p.K == 0] == [stability]
    flipped = derived(Layer(gamma * z + Dense(swollen(Dense(activation("tanh")(z))))))
    assert [p.stability for p in flipped.critical_points] == ["stable"]
