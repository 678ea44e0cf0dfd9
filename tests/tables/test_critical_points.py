"""Critical points against values that are known to many digits; nothing of this table stands in the package."""

import mpmath as mp
import pytest
import sympy as sp

from symres.declare.activation import Activation
from symres.declare.architectures import mlp, residual
from symres.declare.catalogue import activation
from symres.declare.layer import Layer
from symres.declare.nodes import Dense
from symres.symbols import C_b, gamma, z
from symres.theory.derive import derive

HALF_STABLE = {
    "gelu": ((3 + mp.sqrt(17)) / 2, "1.98305826", "0.17292239"),
    "silu": ("14.32017362", "1.98800468", "0.55514317"),
    "mish": ("1.67016913", "2.01352407", "0.09452179"),
}
ZERO = {"tanh": sp.Integer(1), "sin": sp.Integer(1), "erf": sp.pi / 4}


@pytest.mark.parametrize("name", HALF_STABLE)
def test_half_stable_points(name):
    theory = derive(residual(name))
    point = theory.critical_points[0]
    for found, known in zip((point.K, point.C_W, point.C_b), HALF_STABLE[name], strict=True):
        value = sp.N(found.subs(gamma, 0), 20)
        assert abs(value - mp.mpf(known)) < 5.1e-9
    assert point.stability == "half-stable"
    assert theory.universality_class == "half-stable"


def test_gelu_is_exact():
    point = derive(mlp("gelu")).critical_points[0]
    assert point.exact
    assert sp.expand(point.K - (3 + sp.sqrt(17)) / 2) == 0


@pytest.mark.parametrize(
    ("name", "parameter", "value", "power"),
    [
        ("swish", "beta", 3, -2),
        ("z*(1 + erf(b*z))", "b", 5, -2),
        ("z*exp(z/w)/(1 + exp(z/w))/w", "w", 7, 2),
        ("z*(1 + erf(b*sqrt(b)*z))", "b", 2, None),  # a unit b**-3 is not tried
        ("z*(1 + erf(b*z)) + z^2", "b", 2, None),
    ],
)
def test_a_parameter_that_sets_a_scale_is_the_unit_of_the_kernel(name, parameter, value, power):
    symbol = sp.Symbol(parameter, positive=True)
    phi = activation(name) if name == "swish" else activation(name, **{parameter: symbol})
    theory = derive(residual(phi))
    if power is None:
        assert not [p for p in theory.critical_points if p.K != 0]
        assert parameter in " ".join(theory.remarks)
        return
    symbolic, numeric = theory.critical_points[0], derive(residual(phi.subs(**{parameter: value}))).critical_points[0]
    assert symbolic.stability == numeric.stability == theory.universality_class == "half-stable"
    assert not (symbolic.K / symbol**power).free_symbols
    for name in ("K", "C_W", "C_b"):
        at = {symbol: value, gamma: sp.Rational(1, 3)}
        found, known = (sp.N(getattr(point, name).subs(at), 30) for point in (symbolic, numeric))
        assert abs(found - known) < 1e-25 * abs(known), name


@pytest.mark.parametrize("name", ZERO)
def test_kernel_zero_class(name):
    theory = derive(residual(name))
    point = theory.critical_points[0]
    assert (point.K, point.C_b, point.stability) == (0, 0, "stable")
    assert sp.expand(point.C_W - (1 - gamma**2) * ZERO[name]) == 0
    assert theory.universality_class == "K*=0"


@pytest.mark.parametrize(
    ("name", "weight"), [("relu", 2), ("abs", 1), ("linear", 1), ("leaky_relu(1/10)", sp.Rational(200, 101))]
)
def test_scale_invariant_class(name, weight):
    theory = derive(residual(name))
    (point,) = theory.critical_points
    assert sp.expand(point.C_W - (1 - gamma**2) * weight) == 0
    assert point.C_b == 0
    assert theory.universality_class == "scale-invariant"


@pytest.mark.parametrize("name", [*HALF_STABLE, "snake", "gelu_tanh", "selu", "elu(1)"])
def test_every_point_satisfies_the_conditions_it_was_found_from(name):
    """An independent test: evaluate the maps at the point."""
    theory = derive(mlp(name))
    for point in theory.critical_points:
        if point.K == 0:
            continue
        at = {"K": sp.N(point.K, 30), "C_W": sp.N(point.C_W, 30), "C_b": sp.N(point.C_b, 30)}
        for quantity, target in ((theory.kernel_map, at["K"]), (theory.chi_parallel, 1), (theory.chi_perp, 1)):
            value = quantity.evalf(20, **{s.name: at[s.name] for s in quantity.symbols})
            assert abs(value / target - 1) < 1e-15


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "step", "sign", "square", "cube"])
def test_no_critical_point_is_invented(name):
    theory = derive(mlp(name))
    assert theory.critical_points == ()
    assert theory.universality_class == "none"
    assert theory.remarks


@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_half_stable_means_that_the_kernel_moves_one_way_on_both_sides(name):
    """Direct evaluation of the recursion around the point: K' - K has the same sign above and below."""
    theory = derive(mlp(name))
    point = theory.critical_points[0]
    settings = {"C_W": sp.N(point.C_W, 40), "C_b": sp.N(point.C_b, 40)}
    drifts = []
    for factor in (sp.Rational(999, 1000), sp.Rational(1001, 1000)):
        k = sp.N(point.K, 40) * factor
        drifts.append(theory.kernel_map.evalf(30, K=k, **settings) - k)
    assert drifts[0] * drifts[1] > 0
    assert min(map(abs, drifts)) > 1e-15


def test_a_parameter_that_sets_no_scale_of_the_biases_keeps_its_own_sign():
    """Gamma z + Dense(swish, C_b + 1): at beta = 1/4 a critical C_b > 0 exists, at beta = 1 it would be negative."""
    swish = activation("swish")
    layer = Layer(gamma * z + Dense(swish(z), C_b=C_b + 1))
    assert derive(layer).universality_class == "unknown"
    assert derive(layer.subs(beta="1/4")).universality_class == "half-stable"
    assert derive(layer.subs(beta=1)).universality_class == "none"


def test_a_unit_is_no_coincidence_at_a_few_values():
    beta = sp.Symbol("beta", positive=True)
    slope = beta * (1 + (beta - 1) * (beta - sp.Rational(5, 2)) * (beta - sp.Rational(3, 7)))
    bent = Activation("bent", z * (1 + sp.erf(slope * z)) / 2, parameters=(beta,))
    assert derive(mlp(bent)).universality_class == "unknown"


def test_susceptibilities_that_meet_at_every_quarter_of_pi():
    """For exp(z) sin(z): <phi phi''> = <exp(2z) sin(2z)> = sin(4K)."""
    theory = derive(mlp("exp(z)*sin(z)"))
    found = [point.K for point in theory.critical_points if point.K != 0]
    assert len(found) > 8
    for n, kernel in enumerate(found, 1):
        assert abs(sp.N(kernel, 20) - sp.N(n * sp.pi / 4, 20)) < 1e-15
    assert any("too many zeros" in remark for remark in theory.remarks)


def test_a_skip_connection_that_leaves_nothing_to_the_branch():
    one, two = (derive(residual("gelu", gamma=value)) for value in (1, 2))
    assert one.universality_class == two.universality_class == "none"
    assert "chi_perp is 1 already" in one.remarks[0] and "C_W ~ 1/depth" in one.remarks[0]
    assert "chi_perp is 4 already" in two.remarks[0] and "depth" not in two.remarks[0]
    assert not any("already" in remark for remark in derive(residual("gelu", gamma="1/2")).remarks)
