"""Critical points and universality classes: where they are, to many digits, and why there are none."""

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from symres.functions.roots.root import Root
from tests.shared import derived


def test_a_root_is_known_to_any_number_of_digits():
    point = derived(sr.mlp("silu")).critical_points[0]
    assert isinstance(point.K, Root)
    k = sp.N(point.K, 60)
    theory = derived(sr.mlp("silu"))
    with mp.workdps(60):
        difference = theory.chi_parallel.evalf(40, K=k, C_W=1) - theory.chi_perp.evalf(40, K=k, C_W=1)
    assert abs(difference) < mp.mpf(10) ** -38
    assert str(point.K).startswith("14.3201736180")


def test_a_jump_has_no_critical_point_and_says_why():
    theory = derived(sr.mlp("sign"))
    assert theory.chi_perp.evalf(K=1) == mp.inf
    assert theory.h.status is sr.Status.UNKNOWN
    with pytest.raises(sr.NoClosedForm, match="infinite"):
        theory.h.evalf(K=1)
    assert theory.critical_points == ()
    assert "infinite" in theory.remarks[0]


@pytest.mark.exhaustive
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
@pytest.mark.parametrize("formula", ["erf(z)+z*exp(-z^2)", "erf(z)+exp(-z^2)", "z+pi*z^2-z^3", "sqrt(2)*z-z^3"])
def test_polynomial_conditions_with_irrational_coefficients(formula):
    """Their roots are no algebraic numbers: the scan finds them."""
    theory = derived(formula)
    for point in theory.critical_points:
        if point.K != 0:
            at = {"K": sp.N(point.K, 30), "C_W": sp.N(point.C_W, 30), "C_b": sp.N(point.C_b, 30)}
            for quantity, target in ((theory.kernel_map, at["K"]), (theory.chi_parallel, 1), (theory.chi_perp, 1)):
                assert abs(quantity.evalf(20, **{s.name: at[s.name] for s in quantity.symbols}) / target - 1) < 1e-15


@pytest.mark.exhaustive
def test_two_critical_points_in_one_cell_of_the_grid():
    """Found by an independent search: K* = 6.28104 (C_W = 1.93329, C_b = 0.24382) and 6.69866 (1.93036, 0.25330)."""
    theory = derived("gelu(z) + 0.00036775*z^3")
    found = [tuple(float(e) for e in (p.K, p.C_W, p.C_b)) for p in theory.critical_points if p.K != 0]
    expected = [(6.28104, 1.93329, 0.24382), (6.69866, 1.93036, 0.25330)]
    assert all(
        abs(a - b) < 6e-6 for one, other in zip(found, expected, strict=True) for a, b in zip(one, other, strict=True)
    )


@pytest.mark.exhaustive
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


erf, tanh = sr.activation("erf"), sr.activation("tanh")
REMARKS = {  # the layer, its class, and what is said of it
    "fixed variances": (sr.Layer(sr.Dense(erf(sr.z), C_W=1, C_b=0)), "unknown", "not a free parameter"),
    "two powers": (sr.Layer(sr.gamma * sr.z + sr.Dense(tanh(sr.Dense(erf(sr.z))))), "K*=0", "not linear"),
    "a gate": (
        sr.Layer(sr.gamma * sr.z + sr.Dense(sr.z * erf(sr.z + sr.Dense(sr.z)))),
        "unknown",
        "not linear in C_W and C_b; set numbers for gamma",
    ),
    "waves": ("sin(z^3)", "half-stable", "not searched"),
    # K* = 0 is critical and stable, but the series has powers that are not known: no class is claimed
    "a root of two": ("z-z*abs(z)^sqrt(2)", "unknown", "whether K* = 0 is critical is unknown"),
    "one over pi": ("2*z-z*abs(z)^(1/pi)", "unknown", "whether K* = 0 is critical is unknown"),
    "a full skip": (sr.residual("gelu", gamma=1), "none", "chi_perp is 1 already"),
    "a larger skip": (sr.residual("gelu", gamma=2), "none", "chi_perp is 4 already"),
    "a small skip": (sr.residual("gelu", gamma="1/2"), "half-stable", ""),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", REMARKS)
def test_remarks_say_what_was_not_found_and_why(name):
    layer, kind, said = REMARKS[name]
    theory = derived(layer)
    remarks = " ".join(theory.remarks)
    assert theory.universality_class == kind
    assert said in remarks and ("already" in remarks) == ("already" in said)
    assert ("C_W ~ 1/depth" in remarks) == (name == "a full skip")
