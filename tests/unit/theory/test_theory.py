"""The public face of a theory: fixed points, iteration, limits, series, digits, and what is refused."""

import copy
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import mpmath as mp
import pytest
import sympy as sp

import symres as sr
from tests.oracles.average import average_of
from tests.shared import derived


def test_every_fixed_point_is_found():
    """Tanh in the chaotic phase without biases: K = 0 repels, one K > 0 attracts."""
    zero, positive = derived(sr.mlp("tanh")).fixed_points(C_W=2, C_b=0)
    assert (zero.K, zero.chi_parallel, zero.chi_perp) == (0.0, 2.0, 2.0)
    assert abs(2 * average_of(lambda z: mp.tanh(z) ** 2, positive.K) / positive.K - 1) < 1e-12
    assert positive.chi_parallel < 1 < positive.chi_perp


@pytest.mark.parametrize("one_half", [0.5, "0.5", "1/2", Fraction(1, 2), sp.Rational(1, 2), mp.mpf("0.5")])
def test_numbers_of_every_kind(one_half):
    value = derived(sr.residual("erf", gamma=one_half)).chi_perp.evalf(30, K=one_half, C_W=one_half)
    with mp.workdps(40):
        assert abs(value - (mp.mpf(1) / 4 + 2 / (mp.pi * mp.sqrt(3)))) < mp.mpf(10) ** -30


def test_names_that_a_map_ignores_are_accepted_and_typing_errors_are_not():
    chi = derived(sr.mlp("erf")).chi_perp
    assert chi.evalf(K=1, C_W=1, C_b=7) == chi.evalf(K=1, C_W=1)
    with pytest.raises(sr.DeclarationError, match="C_c"):
        chi.evalf(K=1, C_W=1, C_c=7)
    with pytest.raises(sr.DeclarationError, match="no value was passed for C_W"):
        chi.evalf(K=1)


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


def test_the_stated_error_bound():
    assert sr.expect("gelu").error_bound == 0
    numeric = sr.expect("tanh(z)^2")
    assert numeric.error_bound == 1e-15
    with mp.workdps(30):
        assert abs(numeric.evalf(K=3) / numeric.evalf(28, K=3) - 1) <= numeric.error_bound


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


@pytest.mark.parametrize("correlation", [1, -1])
@pytest.mark.parametrize("name", ["gelu", "tanh"])
def test_a_covariance_that_floats_round_beyond_its_limit(name, correlation):
    """sqrt(K1*K2) in floats may exceed the exact root by an ulp; that is a correlation of 1, not an error."""
    covariance = derived(name).covariance_map
    variances = {"K1": 0.3, "K2": 0.7, "C_W": 1, "C_b": 0}
    above = correlation * math.nextafter(math.sqrt(0.3 * 0.7), 1)
    limit = covariance.evalf(**variances, C=correlation * sp.sqrt(sp.Rational(21, 100)))
    assert abs(covariance.evalf(**variances, C=above) - limit) < 1e-15
    with pytest.raises(sr.DeclarationError, match="not a covariance"):
        covariance.evalf(**variances, C=correlation * 0.46)
    with pytest.raises(sr.DeclarationError, match="not a covariance"):
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


MEANT = {"critical_point": "critical_points", "K_star": r"at_fixed_point\(\).K", "ntk": "ntk_map"}


@pytest.mark.parametrize("name", MEANT)
def test_attributes_that_a_theory_lacks_are_answered_with_others(name):
    theory = derived(sr.mlp("relu"))
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; did you mean {MEANT[name]}"):
        getattr(theory, name)
    assert not hasattr(theory, name) and getattr(theory, name, 3) == 3
    with pytest.raises(AttributeError, match="'Theory' object has no attribute '_hidden'"):
        _ = theory._hidden
    assert pickle.loads(pickle.dumps(theory)) == copy.deepcopy(theory) == copy.copy(theory) == theory


def test_what_is_missing_inside_of_an_attribute_is_not_taken_for_the_attribute(monkeypatch):
    monkeypatch.setattr(sr.Theory, "critical_points", property(lambda theory: theory.layer.nowhere))
    with pytest.raises(AttributeError, match="'Layer' object has no attribute 'nowhere'"):
        _ = sr.derive("tanh").critical_points


def test_rooms_for_users_are_attributes():
    source = "import symres as sr, sys; assert 'symres.kernels' not in sys.modules; print(sr.kernels.matrix.__name__)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("matrix\n", "")
    with pytest.raises(AttributeError, match="module 'symres' has no attribute 'kernel_s'; did you mean kernels"):
        _ = sr.kernel_s
    assert not hasattr(sr, "anything") and "kernels" not in sr.__all__


def test_errors_inside_of_a_theory_are_not_taken_for_missing_quantities(monkeypatch):
    def broken(*_):
        raise AttributeError("an object of a library has no attribute lower")

    theory = sr.derive("tanh")
    monkeypatch.setattr(type(theory), "of_section", broken)
    with pytest.raises(AttributeError, match="no attribute lower"):
        theory.quantities  # noqa: B018
    with pytest.raises(AttributeError, match="'Theory' object has no attribute 'nonsense'"):
        theory.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("what", "layer", "numbers"),
    [
        ("gelu", "residual", {"gamma": "1/2"}),
        (sr.residual("gelu"), None, {"gamma": "1/2"}),
        ("a*z + Dense(gelu(z))", None, {"a": "1/2"}),
        ("gelu(a*z)", "a*z + Dense(phi(z/a))", {"a": "1/2"}),
    ],
)
def test_layers_by_name_and_numbers_for_parameters(what, layer, numbers):
    """What the command line takes, derive gelu --layer residual --set gamma=1/2."""
    chi = sr.derive(what, layer, **numbers).chi_perp.evalf(K=2, C_W=1.5)
    assert chi == pytest.approx(derived(sr.residual("gelu", gamma=Fraction(1, 2))).chi_perp.evalf(K=2, C_W=1.5))


TANH = sr.derive("tanh")


def test_methods_of_theories_keep_their_names_and_signatures():
    assert sr.Theory.kernels.__name__ == "kernels"
    assert "mpmath numbers" in sr.Theory.kernels.__doc__


def test_kernels_may_be_passed_by_position():
    assert TANH.chi_perp(1.0, C_W=2) == TANH.chi_perp(K=1.0, C_W=2)
    assert TANH.covariance_map(1, 2, 0.5, C_W=2, C_b=0) == TANH.covariance_map(K1=1, K2=2, C=0.5, C_W=2, C_b=0)
    assert TANH.covariance_map(1, C_W=2, C_b=0, K2=2, C=0.5) == TANH.covariance_map(K1=1, K2=2, C=0.5, C_W=2, C_b=0)
    with pytest.raises(sr.DeclarationError, match="C_W=1"):
        TANH.chi_perp(1.0)


@pytest.mark.parametrize("made", [sr.mlp("tanh"), sr.activation("tanh"), "tanh", TANH])
def test_a_theory_of_anything_that_has_one(made):
    theory = sr.derive(made)
    assert theory == TANH
    assert sr.network([made, made]) == TANH.network(2)
    if made is TANH:
        assert theory is TANH


def test_layers_and_activations_derive_themselves():
    assert sr.mlp("tanh").derive() == sr.activation("tanh").derive() == TANH
