"""The quantities of one layer at kinks, jumps and infinite slopes, of nested layers and of several activations."""

import math

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.results.observable import Section
from symres.theory.observables import registry
from tests.oracles.average import average_of
from tests.shared import derived


def test_no_two_observables_have_one_name():
    assert len(registry.observables) == len(registry.RECORDS)


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
            return average_of(function, k, (-1, 1))

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
    maps = [name for name, record in registry.observables.items() if record.section is Section.MAPS]
    assert ["phi_squared", *theory.quantities] == maps
    assert squared.status is sr.Status.UNKNOWN and squared.reason == "the layer has 2 activations"
    nested = derived(sr.Layer(sr.Dense(gelu(sr.Dense(gelu(sr.z)))))).quantities["phi_squared"]
    assert nested.expr == derived("gelu").phi_squared.expr


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
        kernel = average_of(lambda x: function(x) ** 2, k)
        assert abs(theory.kernel_map.evalf(K=k, C_W=1, C_b=0) - kernel) < 1e-14 * (1 + kernel)
        step = mp.mpf("1e-5")
        ends = (average_of(lambda x: function(x) ** 2, k + s) for s in (step, -step))
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


def test_maps_of_one_input_exist_where_two_inputs_have_too_many_variables():
    """<erf(z)^2 relu(z + y)^2> has two variables, the covariance of two inputs four."""
    erf, relu = sr.activation("erf"), sr.activation("relu")
    theory = derived(sr.Layer(sr.z / 2 + sr.Dense(erf(sr.z) * relu(sr.z + sr.Dense(sr.z)))))
    assert theory.covariance_map.status is theory.ntk_map.status is sr.Status.UNKNOWN
    assert "4 correlated" in theory.covariance_map.reason
    k, weight, bias = 0.9, 1.4, 0.3
    spread = mp.sqrt(bias + weight * k)  # of y

    def squares(x):
        """With <max(x + y, 0)^2> by hand."""
        rising = (x**2 + spread**2) * mp.ncdf(x / spread) + x * spread * mp.npdf(x / spread)
        return mp.erf(x) ** 2 * rising

    found = theory.kernel_map.evalf(K=k, C_W=weight, C_b=bias)
    assert found == pytest.approx(k / 4 + bias + weight * float(average_of(squares, k)), rel=1e-14)
    assert theory.kernels(1, k, C_W=weight, C_b=bias)[1] == pytest.approx(found, rel=1e-14)


def test_a_source_that_does_not_change_may_jump():
    """sign(y) of a neuron y that no input reaches: gates at random, with infinite slope in y but none in z."""
    gelu, sign = sr.activation("gelu"), sr.activation("sign")
    gated, plain = derived(sr.Layer(sr.Dense(gelu(sr.z) * sign(sr.Dense(sp.Integer(1)))))), derived("gelu")
    for name in ("chi_perp", "chi_delta"):
        one, other = (getattr(theory, name) for theory in (gated, plain))
        values = {"K": "1.4", "C_W": "1.3", "C_b": "0.2"}
        one, other = (q.evalf(**{s.name: values[s.name] for s in q.symbols}) for q in (one, other))
        assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize(
    ("equation", "squared", "mixed"),
    [
        ("sigmoid(h)", "1/4", "1/4"),
        ("step(h)", "1/2", "1/4"),  # the mean of the squares on both sides; draws of different inputs are independent
        ("step(h)*step(-h)", 0, 0),
        ("sigmoid(h)*z", "K/4", "C/4"),
    ],
)
def test_draws_of_kernel_0_have_the_value_of_a_function_at_0(equation, squared, mixed):
    theory = derived(sr.layer(f"Dense({equation}, 1, 0), h = Dense(z, 0, 0)"))
    assert theory.kernel_map.status is theory.covariance_map.status is sr.Status.EXACT
    symbols = {"K": sr.K, "C": sr.C}
    assert theory.kernel_map.expr == sp.sympify(squared, symbols)
    assert theory.covariance_map.expr == sp.sympify(mixed, symbols)
