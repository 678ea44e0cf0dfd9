"""The public face of a theory: fixed points, iteration, limits, series, digits, and what is refused."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.numerics.roots.root import Root
from tests.shared import derived

PHI = {  # written by hand, for mpmath
    "tanh": mp.tanh,
    "gelu": lambda z: z * (1 + mp.erf(z / mp.sqrt(2))) / 2,
    "silu": lambda z: z / (1 + mp.exp(-z)),
    "softplus": lambda z: mp.log(1 + mp.exp(z)),
    "mish": lambda z: z * mp.tanh(mp.log(1 + mp.exp(z))),
}


def oracle(name, integrand, kernel):
    """<integrand(phi(z), z)>_K by mpmath's own quadrature of a hand-written activation."""
    phi, deviation = PHI[name], mp.sqrt(kernel)
    edges = [-12 * deviation, -deviation, 0, deviation, 12 * deviation]
    weight = lambda z: mp.exp(-(z**2) / (2 * kernel)) / mp.sqrt(2 * mp.pi * kernel)  # noqa: E731
    return mp.quad(lambda z: integrand(phi(z), z) * weight(z), edges)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "weight", "bias"), [("tanh", 2, "0.1"), ("gelu", "1.5", 0.25), ("relu", 1, Fraction(1, 3))]
)
def test_an_attractive_fixed_point_is_where_iteration_ends(name, weight, bias):
    theory = derived(sr.mlp(name))
    stable = [p for p in theory.fixed_points(C_W=weight, C_b=bias) if p.chi_parallel < 1]
    assert len(stable) == 1
    settled = theory.kernels(80, 1, C_W=weight, C_b=bias)[-1]
    assert abs(settled / stable[0].K - 1) < 1e-9
    assert stable[0].phase == ("chaotic" if stable[0].chi_perp > 1 else "ordered")


def test_every_fixed_point_is_found():
    """Tanh in the chaotic phase without biases: K = 0 repels, one K > 0 attracts."""
    zero, positive = derived(sr.mlp("tanh")).fixed_points(C_W=2, C_b=0)
    assert (zero.K, zero.chi_parallel, zero.chi_perp) == (0.0, 2.0, 2.0)
    assert abs(2 * oracle("tanh", lambda f, z: f**2, mp.mpf(positive.K)) / positive.K - 1) < 1e-12
    assert positive.chi_parallel < 1 < positive.chi_perp


def test_where_every_kernel_is_preserved():
    (point,) = derived(sr.mlp("relu")).fixed_points(C_W=2, C_b=0)
    assert point.K == sr.K
    assert point.phase == "critical"


def test_iteration_is_the_recursion():
    kernels = derived(sr.residual("erf")).kernels(3, "1/2", C_W=1, C_b="0.2", gamma=Fraction(1, 2))
    k = mp.mpf(1) / 2
    assert len(kernels) == 4
    for found in kernels:
        assert abs(found / k - 1) < 1e-14
        k = k / 4 + mp.mpf("0.2") + 2 / mp.pi * mp.asin(2 * k / (1 + 2 * k))


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ["gelu", "tanh", "silu", "softplus", "mish"])
@pytest.mark.parametrize("kernel", ["1e-4", "0.7", "40"])
def test_maps_agree_with_a_hand_written_activation(name, kernel):
    theory, k = derived(sr.mlp(name)), mp.mpf(kernel)
    with mp.workdps(25):
        squares = oracle(name, lambda f, z: f**2, mp.mpf(kernel))
        curved = oracle(name, lambda f, z: f**2 * (z**2 - k), mp.mpf(kernel)) / (2 * mp.mpf(kernel) ** 2)
    assert abs(theory.kernel_map.evalf(K=kernel, C_W=1, C_b=0) / squares - 1) < 1e-13
    assert abs(theory.chi_parallel.evalf(K=kernel, C_W=1) / curved - 1) < 1e-10


@pytest.mark.parametrize("one_half", [0.5, "0.5", "1/2", Fraction(1, 2), sp.Rational(1, 2), mp.mpf("0.5")])
def test_numbers_of_every_kind(one_half):
    value = derived(sr.residual("erf", gamma=one_half)).chi_perp.evalf(30, K=one_half, C_W=one_half)
    with mp.workdps(40):
        assert abs(value - (mp.mpf(1) / 4 + 2 / (mp.pi * mp.sqrt(3)))) < mp.mpf(10) ** -30


def test_thirty_digits_of_a_smooth_activation_are_thirty_digits():
    value = sr.expect("tanh(z)^2").evalf(30, K=1)
    with mp.workdps(45):
        assert abs(value / oracle("tanh", lambda f, z: f**2, mp.mpf(1)) - 1) < mp.mpf(10) ** -30


def test_series_and_the_limit_at_zero():
    theory = derived(sr.mlp("tanh"))
    series = theory.kernel_map.series(3)
    assert series.status is sr.Status.SERIES
    assert sp.expand(series.expr - (sr.C_b + sr.C_W * (sr.K - 2 * sr.K**2 + sp.Rational(17, 3) * sr.K**3))) == 0
    assert theory.chi_perp.evalf(K=0, C_W=3) == 3
    kinked = sr.expect("elu(alpha=1)").series(2).expr
    with mp.workdps(30):
        exact = sr.expect("elu(alpha=1)").evalf(25, K=sp.Rational(1, 10**6))
        assert abs(sp.N(kinked.subs(sr.K, sp.Rational(1, 10**6)), 25) - exact) < 1e-14


def test_a_nested_series_follows_its_variances():
    erf, tanh = sr.activation("erf"), sr.activation("tanh")
    layer = sr.Layer(sr.Dense(tanh(sr.Dense(erf(sr.z), C_b=0)), C_b=0))
    theory = derived(layer)
    k = sp.Rational(1, 10**5)
    exact = theory.kernel_map.evalf(20, K=k, C_W=1)
    approximate = sp.N(theory.kernel_map.series(3).expr.subs({sr.K: k, sr.C_W: 1}), 20)
    assert abs(approximate / exact - 1) < 1e-12


def test_a_root_is_known_to_any_number_of_digits():
    point = derived(sr.mlp("silu")).critical_points[0]
    assert isinstance(point.K, Root)
    k = sp.N(point.K, 60)
    theory = derived(sr.mlp("silu"))
    with mp.workdps(60):
        difference = theory.chi_parallel.evalf(40, K=k, C_W=1) - theory.chi_perp.evalf(40, K=k, C_W=1)
    assert abs(difference) < mp.mpf(10) ** -38
    assert str(point.K).startswith("14.3201736180")


def test_names_that_a_map_ignores_are_accepted_and_typing_errors_are_not():
    chi = derived(sr.mlp("erf")).chi_perp
    assert chi.evalf(K=1, C_W=1, C_b=7) == chi.evalf(K=1, C_W=1)
    with pytest.raises(sr.DeclarationError, match="C_c"):
        chi.evalf(K=1, C_W=1, C_c=7)
    with pytest.raises(sr.DeclarationError, match="no value for C_W"):
        chi.evalf(K=1)


@pytest.mark.parametrize(
    ("values", "needle"),
    [
        ({"K1": 1, "K2": 1, "C": 2}, "no covariance"),
        ({"K1": -1, "K2": 1, "C": 0}, "negative"),
        ({"K1": "two", "K2": 1, "C": 0}, "two"),
    ],
)
def test_impossible_kernels_are_refused(values, needle):
    with pytest.raises(sr.DeclarationError, match=needle):
        sr.expect2("erf", "erf").evalf(**values)


def test_a_jump_has_no_critical_point_and_says_why():
    theory = derived(sr.mlp("sign"))
    assert theory.chi_perp.evalf(K=1) == mp.inf
    assert theory.h.status is sr.Status.UNKNOWN
    with pytest.raises(sr.NoClosedForm, match="infinite"):
        theory.h.evalf(K=1)
    assert theory.critical_points == ()
    assert "infinite" in theory.remarks[0]


def test_fixed_variances_leave_nothing_to_tune():
    erf = sr.activation("erf")
    theory = derived(sr.Layer(sr.Dense(erf(sr.z), C_W=1, C_b=0)))
    assert theory.critical_points == ()
    assert theory.universality_class == "unknown"
    assert "no free parameter" in theory.remarks[0]


def test_two_ways_to_the_same_quantity():
    phi = sr.activation("gelu")
    assert sr.expect(phi(sr.z) ** 2).expr == sr.expect("gelu(z)^2").expr


def test_repr_says_what_it_is():
    assert repr(sr.expect("relu(z)^2")) == "<expect(K) = K/2 [EXACT]>"


@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_a_half_stable_point_is_among_the_fixed_points_at_its_own_values(name):
    theory = derived(sr.mlp(name))
    point = theory.critical_points[0]
    found = theory.fixed_points(C_W=point.C_W, C_b=point.C_b)
    assert min(abs(p.K - float(point.K)) for p in found) < 1e-6
    assert "critical" in {p.phase for p in found}
    assert abs(theory.chi_perp.evalf(K=point.K, C_W=point.C_W) - 1) < 1e-14


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "formula", ["tanh(z)+erf(z)", "erf(z)/(1+sqrt(2))", "(sqrt(2)+sqrt(3))*tanh(z)", "selu(z)+erf(z)"]
)
def test_stability_does_not_depend_on_how_the_slope_is_written(formula):
    theory = derived(formula)
    assert theory.universality_class == "K*=0"
    assert theory.critical_points[0].stability == "stable"


@pytest.mark.parametrize("gamma", [1, 2])
def test_no_negative_variance_is_called_critical(gamma):
    for name in ("relu", "tanh", "gelu"):
        assert derived(sr.residual(name, gamma=gamma)).critical_points == ()


def test_the_limit_at_zero_of_a_nested_layer_with_biases():
    erf, tanh = sr.activation("erf"), sr.activation("tanh")
    theory = derived(sr.Layer(sr.gamma * sr.z + sr.Dense(tanh(sr.Dense(erf(sr.z))))))
    settings = {"C_W": 2, "C_b": "0.1", "gamma": 1}
    near = theory.kernel_map.evalf(K="1e-30", **settings)
    assert abs(theory.kernel_map.evalf(K=0, **settings) - near) < 1e-14
    assert derived("elu(alpha=1)").h.evalf(K=0, C_W=1) == -mp.inf


@pytest.mark.parametrize("name", ["relu", "hard_tanh", "relu6", "gelu", "tanh"])
def test_h_is_half_the_slope_of_chi_perp_also_at_kinks(name):
    """Phi' jumps at a kink: two derivatives move onto the Gaussian weight."""
    theory, step = derived(name), sp.Rational(1, 10**8)
    slope = [theory.chi_perp.evalf(30, K=sp.Rational(3, 2) + s * step, C_W=2) for s in (1, -1)]
    with mp.workdps(30):
        expected = (slope[0] - slope[1]) / (4 * mp.mpf(10) ** -8)
    assert abs(theory.h.evalf(20, K="3/2", C_W=2) - expected) < 1e-13


def test_chi_parallel_of_a_jump():
    """<phi^2> of a shifted step is a Gaussian tail; its slope by hand."""
    theory = derived("where(z>1/2, 2, 0)")
    k = mp.mpf(2)
    expected = 3 * 4 * mp.exp(-1 / (8 * k)) / (4 * mp.sqrt(2 * mp.pi) * k ** mp.mpf("1.5"))
    assert abs(theory.chi_parallel.evalf(K=2, C_W=3) / expected - 1) < 1e-14


def test_a_spoilt_closed_form_is_not_returned():
    from dataclasses import replace

    from symres.core.proof import Proof
    from symres.theory.quantities.build import _verified

    right = derived("gelu").chi_perp
    wrong = replace(right, body=right.body * sp.Rational(101, 100), proof=Proof(right.body * sp.Rational(101, 100)))
    assert _verified(right).status is sr.Status.EXACT
    judged = _verified(wrong)
    assert judged.status is sr.Status.NUMERIC
    assert "defect" in judged.reason
    assert judged.body == right.definition


def test_the_stated_error_bound():
    assert sr.expect("gelu").error_bound == 0
    numeric = sr.expect("tanh(z)^2")
    assert numeric.error_bound == 1e-15
    with mp.workdps(30):
        assert abs(numeric.evalf(K=3) / numeric.evalf(28, K=3) - 1) <= numeric.error_bound


@pytest.mark.parametrize("expression", [1 / sr.z, sp.log(sr.z), sp.Symbol("z") ** 2, sp.I * sr.z, sp.DiracDelta(sr.z)])
def test_averages_of_expressions_are_validated(expression):
    with pytest.raises(sr.SymresError):
        sr.expect(expression)


@pytest.mark.parametrize("formula", ["abs(z)^0.5", "sign(z)*sqrt(abs(z))", "sqrt(abs(z^2-1))", "max(z,0)^0.5 + z"])
def test_a_vertical_tangent_has_an_infinite_mean_square_slope(formula):
    theory = derived(formula)
    assert theory.chi_perp.expr == sp.oo
    assert theory.h.status is sr.Status.UNKNOWN
    assert theory.universality_class == "none"
    # chi_parallel is finite: the slope of the kernel map, by differences of an independent quadrature
    with mp.workdps(25):
        step = mp.mpf("1e-6")

        def kernel(k):
            function = {
                "abs(z)^0.5": abs,
                "sign(z)*sqrt(abs(z))": abs,
                "sqrt(abs(z^2-1))": lambda x: abs(x * x - 1),
                "max(z,0)^0.5 + z": lambda x: (mp.sqrt(max(x, 0)) + x) ** 2,
            }[formula]
            s = mp.sqrt(k)
            places = sorted({-30, -1 / s, 0, 1 / s, 30})
            return mp.quad(lambda t: function(s * t) * mp.npdf(t), places)

        slope = (kernel(2 + step) - kernel(2 - step)) / (2 * step)
    assert abs(theory.chi_parallel.evalf(K=2, C_W=1) / slope - 1) < 1e-9


def test_an_unbounded_slope_with_a_finite_mean_square_is_no_number():
    theory = derived("abs(z)^0.75")
    moment = mp.mpf(2) ** 0.75 * mp.gamma(1.25) / mp.sqrt(mp.pi)  # <|t|^(3/2)>
    assert abs(theory.kernel_map.evalf(K=16, C_W=1, C_b=0) / (8 * moment) - 1) < 1e-14
    assert theory.chi_perp.status is theory.h.status is sr.Status.UNKNOWN
    assert "unbounded" in theory.chi_perp.reason
    assert theory.universality_class == "unknown"
    with pytest.raises(sr.NoClosedForm, match="unbounded"):
        theory.chi_perp.evalf(K=1)
    found = theory.fixed_points(C_W=1, C_b=1)
    assert found and all(point.phase == "unknown" and math.isnan(point.chi_perp) for point in found)


def test_close_fixed_points_are_told_apart():
    """At the critical values of GELU, K* touches the diagonal and a stable kernel lies 15 % below it."""
    theory = derived("gelu")
    point = theory.critical_points[0]
    stable, critical = theory.fixed_points(C_W=point.C_W, C_b=point.C_b)
    assert abs(critical.K / ((3 + 17**0.5) / 2) - 1) < 1e-9
    assert (critical.phase, stable.phase) == ("critical", "ordered")
    for found in (stable, critical):
        growth = theory.kernel_map.evalf(K=found.K, C_W=point.C_W, C_b=point.C_b)
        assert abs(growth / found.K - 1) < 1e-12


def test_fixed_points_on_the_grid_and_close_to_zero():
    (point,) = derived("sign").fixed_points(C_W=1, C_b=0)
    assert point.K == 1
    _, small = derived("tanh").fixed_points(C_W="1.0000001", C_b=0)
    assert abs(small.K / 5e-8 - 1) < 1e-6  # K' = C_W (K - 2 K^2 + ...)


def test_kernels_that_cannot_be_searched_are_named():
    theory = derived("sin(z^3)")
    assert any("not searched" in remark for remark in theory.remarks)
    with pytest.raises(sr.SymresError, match="varies too fast"):
        theory.kernel_map.evalf(K="1e6", C_W=1, C_b=0)


def test_the_squared_activation():
    theory = derived(sr.residual("gelu"))
    squared = theory.phi_squared
    assert squared is theory.phi_squared
    assert squared.name == "phi_squared"
    assert next(iter(theory.quantities)) == "phi_squared"
    assert squared.expr == sr.expect("gelu(z)^2").expr
    assert squared.evalf(20, K=1, C_W=2) == squared.evalf(20, K=1)  # what the other quantities depend on is ignored
    alpha = derived("elu").phi_squared
    assert alpha.symbols[0] == sr.K and [s.name for s in alpha.symbols[1:]] == ["alpha"]
    given = derived(sr.mlp("elu")).subs(alpha=2).phi_squared
    assert given.evalf(20, K=3) == alpha.evalf(20, K=3, alpha=2)


def test_several_activations_have_no_common_square():
    gelu, tanh = sr.activation("gelu"), sr.activation("tanh")
    theory = derived(sr.Layer(sr.Dense(gelu(sr.z)) + sr.Dense(tanh(sr.z))))
    squared = theory.phi_squared
    assert list(theory.quantities) == ["kernel_map", "covariance_map", "chi_parallel", "chi_perp", "h"]
    assert squared.status is sr.Status.UNKNOWN and squared.reason == "the layer has 2 activations"
    nested = derived(sr.Layer(sr.Dense(gelu(sr.Dense(gelu(sr.z)))))).quantities["phi_squared"]
    assert nested.expr == derived("gelu").phi_squared.expr


def exact_average(function, k, breaks=()):
    with mp.workdps(25):
        s = mp.sqrt(k)
        places = sorted({-30, *(mp.mpf(b) / s for b in breaks), 30})
        return mp.quad(lambda t: function(s * t) * mp.npdf(t), places)


@pytest.mark.parametrize(
    ("formula", "function", "slope", "breaks"),
    [
        ("max(z-1,0)", lambda x: max(x - 1, 0), lambda x: x > 1, [1]),
        (
            "max(z-1/2,0) + min(z+1/2,0)",
            lambda x: mp.sign(x) * max(abs(x) - 0.5, 0),
            lambda x: abs(x) > 0.5,
            [-0.5, 0.5],
        ),
    ],
)
def test_a_line_of_critical_points(formula, function, slope, breaks):
    """An activation that is linear between its zeros has equal susceptibilities at every kernel."""
    theory = derived(formula)
    (line,) = theory.critical_points
    assert line.K == sr.K
    assert (line.stability, theory.universality_class) == ("half-stable", "half-stable")
    assert any("line of critical points" in remark for remark in theory.remarks)
    for k in (sp.Rational(1, 3), sp.Integer(2)):
        weight, bias = (mp.mpf(sp.N(e.subs(sr.K, k), 25)) for e in (line.C_W, line.C_b))
        assert bias > 0
        assert abs(weight * exact_average(lambda x: slope(x), k, breaks) - 1) < 1e-15
        assert abs(bias + weight * exact_average(lambda x: function(x) ** 2, k, breaks) - k) < 1e-15


def test_a_line_without_biases_is_none():
    theory = derived("max(z+1,0)")
    assert theory.critical_points == ()
    assert theory.universality_class == "none"
    assert "no C_b >= 0" in theory.remarks[0]


@pytest.mark.parametrize(
    ("make", "weight"),
    [
        (lambda relu: sr.Layer(sr.gamma * sr.z + sr.Dense(relu(sr.Dense(sr.z)))), sp.sqrt(2 * (1 - sr.gamma**2))),
        (lambda relu: sr.Layer(sr.Dense(sr.z + sr.Dense(relu(sr.z)))), sp.sqrt(3) - 1),
        (lambda relu: sr.Layer(sr.gamma * sr.z + sr.Dense(relu(sr.z), C_b=0)), 2 * (1 - sr.gamma**2)),
    ],
)
def test_scale_invariant_layers_of_any_shape(make, weight):
    """The susceptibilities are gamma^2 + C_W^2/2;  C_W (1 + C_W/2);  gamma^2 + C_W/2, at every kernel."""
    theory = derived(make(sr.activation("relu")))
    (point,) = theory.critical_points
    assert theory.universality_class == "scale-invariant"
    assert (point.K, point.C_b, point.stability) == (sr.K, 0, "neutral")
    assert sp.expand(point.C_W**2 - weight**2) == 0
    assert point.C_W.subs(sr.gamma, 0) > 0


@pytest.mark.exhaustive
def test_stable_zero_decides_the_class_of_nested_layers():
    tanh, erf = sr.activation("tanh"), sr.activation("erf")
    theory = derived(sr.Layer(sr.gamma * sr.z + sr.Dense(tanh(sr.Dense(erf(sr.z))))))
    assert theory.universality_class == "K*=0"
    assert any("not searched" in remark and "not linear" in remark for remark in theory.remarks)


@pytest.mark.parametrize("correlation", [1, -1])
@pytest.mark.parametrize("name", ["gelu", "tanh"])
def test_a_covariance_that_floats_round_beyond_its_limit(name, correlation):
    """sqrt(K1*K2) in floats may exceed the exact root by an ulp; that is a correlation of 1, not an error."""
    covariance = derived(name).covariance_map
    variances = {"K1": 0.3, "K2": 0.7, "C_W": 1, "C_b": 0}
    above = correlation * math.nextafter(math.sqrt(0.3 * 0.7), 1)
    limit = covariance.evalf(**variances, C=correlation * sp.sqrt(sp.Rational(21, 100)))
    assert abs(covariance.evalf(**variances, C=above) - limit) < 1e-15
    with pytest.raises(sr.DeclarationError, match="no covariance"):
        covariance.evalf(**variances, C=correlation * 0.46)
    with pytest.raises(sr.DeclarationError, match="no covariance"):
        covariance.evalf(K1=1, K2=1, C=f"{correlation}.0000000000000001", C_W=1, C_b=0)


def test_counts_may_be_of_any_exact_type_and_must_be_whole():
    squared = sr.expect("tanh(z)^2")
    assert squared.evalf("20", K=1) == squared.evalf(20, K=1)
    assert squared.series("2").expr == squared.series(2).expr == sr.K - 2 * sr.K**2
    theory = derived("tanh")
    assert len(theory.kernels("3", 1, C_W=1, C_b=0)) == 4
    for wrong in (-1, 0, 1.5, "x", True):
        with pytest.raises(sr.DeclarationError):
            squared.evalf(wrong, K=1)
    for wrong in (-1, 0.5, None):
        with pytest.raises(sr.DeclarationError):
            squared.series(wrong)
        with pytest.raises(sr.DeclarationError):
            theory.kernels(wrong, 1, C_W=1, C_b=0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("formula", ["erf(z)+z*exp(-z^2)", "erf(z)+exp(-z^2)", "z+pi*z^2-z^3", "sqrt(2)*z-z^3"])
def test_polynomial_conditions_with_irrational_coefficients(formula):
    """Their roots are no algebraic numbers: the scan finds them."""
    theory = derived(formula)
    for point in theory.critical_points:
        if point.K != 0:
            at = {"K": sp.N(point.K, 30), "C_W": sp.N(point.C_W, 30), "C_b": sp.N(point.C_b, 30)}
            for quantity, target in ((theory.kernel_map, at["K"]), (theory.chi_parallel, 1), (theory.chi_perp, 1)):
                assert abs(quantity.evalf(20, **{s.name: at[s.name] for s in quantity.symbols}) / target - 1) < 1e-15


def test_two_critical_points_in_one_cell_of_the_grid():
    """Found by an independent search: K* = 6.28104 (C_W = 1.93329, C_b = 0.24382) and 6.69866 (1.93036, 0.25330)."""
    theory = derived("gelu(z) + 0.00036775*z^3")
    found = [tuple(float(e) for e in (p.K, p.C_W, p.C_b)) for p in theory.critical_points if p.K != 0]
    expected = [(6.28104, 1.93329, 0.24382), (6.69866, 1.93036, 0.25330)]
    assert all(
        abs(a - b) < 6e-6 for one, other in zip(found, expected, strict=True) for a, b in zip(one, other, strict=True)
    )


def test_critical_points_at_large_kernels():
    """Of silu(z/1000): K* of SiLU times 1e6."""
    point = derived("silu(z/1000)*1000").critical_points[0]
    assert abs(float(point.K) / 14.3201736180258e6 - 1) < 1e-13
    assert abs(float(point.C_W) / 1.98800467826949 - 1) < 1e-13


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("make", "weight"),
    [
        (lambda phi: sr.Layer(sr.Dense(phi(sr.gamma * sr.z))), sr.gamma**-2),
        (lambda phi: sr.Layer(sr.gamma * sr.Dense(phi(sr.z))), sr.gamma**-2),
        (lambda phi: sr.Layer(sr.Dense(phi(sr.z)) / sr.gamma), sr.gamma**2),
        (lambda phi: sr.Layer(sr.gamma * sr.z + sp.sqrt(1 - sr.gamma**2) * sr.Dense(phi(sr.z))), sp.Integer(1)),
        (lambda phi: sr.residual(phi, xi=sp.Symbol("rho", real=True)), None),
    ],
)
def test_zero_is_critical_whatever_multiplies_the_branch(make, weight):
    theory = derived(make(sr.activation("tanh")))
    (point,) = theory.critical_points
    rho = sp.Symbol("rho", real=True)
    assert point.K == point.C_b == 0
    assert sp.simplify(point.C_W - ((1 - sr.gamma**2) / rho**2 if weight is None else weight)) == 0
    assert theory.universality_class == "K*=0"


def test_the_weight_of_the_branch_scales_the_critical_weights():
    point = derived(sr.residual("gelu", xi=sr.xi)).critical_points[0]
    usual = derived(sr.residual("gelu")).critical_points[0]
    assert point.K == usual.K == (3 + sp.sqrt(17)) / 2
    for found, known in ((point.C_W * sr.xi**2, usual.C_W), (point.C_b * sr.xi**2, usual.C_b)):
        assert abs(sp.N((found - known).subs({sr.xi: 3, sr.gamma: sp.Rational(1, 3)}), 25)) < 1e-20


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["z-z*abs(z)^sqrt(2)", "2*z-z*abs(z)^(1/pi)"])
def test_an_unexamined_zero_leaves_the_class_open(formula):
    """K* = 0 is critical and stable here, but the series has powers that are not known: no class is claimed."""
    theory = derived(formula)
    assert theory.universality_class == "unknown"
    assert any("not examined" in remark for remark in theory.remarks)


def layers_with_multiples():
    relu, tanh, sin = (sr.activation(name) for name in ("relu", "tanh", "sin"))
    z, dense = sr.z, sr.Dense
    return {
        "relu(z) + relu(-z)": (dense(relu(z) + relu(-z)), abs),
        "relu(2z) - z": (dense(relu(2 * z) - z), abs),
        "relu(z) relu(-z)": (dense(relu(z) * relu(-z)), lambda x: 0 * x),
        "tanh(2z) + tanh(z)": (dense(tanh(2 * z) + tanh(z)), lambda x: mp.tanh(2 * x) + mp.tanh(x)),
        "tanh(2z) z": (dense(tanh(2 * z) * z), lambda x: mp.tanh(2 * x) * x),
        "sin(2z) sin(z)": (dense(sin(2 * z) * sin(z)), lambda x: mp.sin(2 * x) * mp.sin(x)),
    }


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", list(layers_with_multiples()))
def test_activations_of_multiples_of_one_neuron(name):
    """They share one Gaussian variable: a law of two would be singular."""
    forward, function = layers_with_multiples()[name]
    theory = derived(sr.Layer(forward))
    for k in (0.3, 2):
        kernel = exact_average(lambda x: function(x) ** 2, k, [0])
        assert abs(theory.kernel_map.evalf(K=k, C_W=1, C_b=0) - kernel) < 1e-14 * (1 + kernel)
        step = mp.mpf("1e-5")
        ends = (exact_average(lambda x: function(x) ** 2, k + s, [0]) for s in (step, -step))
        slope = (next(ends) - next(ends)) / (2 * step)
        values = {s.name: 1 for s in theory.chi_parallel.symbols} | {"K": k}
        assert abs(theory.chi_parallel.evalf(**values) - slope) < 1e-8
        pair = {s.name: 1 for s in theory.covariance_slope.symbols} | {"K1": k, "K2": k, "C": k}
        one = {s.name: 1 for s in theory.chi_perp.symbols} | {"K": k}
        assert abs(theory.covariance_slope.evalf(**pair) - theory.chi_perp.evalf(**one)) < 1e-12


def test_a_quantity_without_a_definition_is_unknown_and_harms_nobody():
    theory = derived("sign")
    assert theory.h.status is sr.Status.UNKNOWN
    assert "infinite" in theory.h.reason
    assert {q.status for name, q in theory.quantities.items() if name != "h"} == {sr.Status.EXACT}


def test_the_slope_of_chi_perp_where_slopes_of_two_neurons_jump():
    relu = sr.activation("relu")
    theory = derived(sr.Layer(sr.Dense(relu(sr.z + sr.Dense(relu(sr.z))) + relu(sr.z))))
    assert {q.status for q in theory.quantities.values()} == {sr.Status.EXACT}
    point, step = {"C_W": "1.3", "C_b": "0.2"}, sp.Rational(1, 10**8)
    with mp.workdps(30):
        above, below = (theory.chi_perp.evalf(25, K=sp.Rational(3, 2) + s, **point) for s in (step, -step))
        assert abs((above - below) / (4 * mp.mpf(10) ** -8) - theory.h.evalf(20, K="1.5", **point)) < 1e-15
