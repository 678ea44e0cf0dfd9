"""Derivations as paths into the public API, and what a path may not do."""

import pytest
import sympy as sp

import symres as sr
from symres.literature.finite_networks import networks
from symres.literature.paths import follow

VALUES = {"K": sp.Rational(7, 10), "C_W": sp.Rational(7, 4), "C_b": sp.Rational(1, 8), "gamma": sp.Rational(1, 2)}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("derive(residual(phi)).kernel_map", 0.175 + 1.75 * 0.35 + 0.125),
        ("derive(residual(phi)).chi_perp", 0.25 + 1.75 / 2),
        ("derive(mlp(phi)).kernels(2, K, C_W=2, C_b=0)[-1]", 0.7),
        ("derive(mlp(phi)).critical_points[0].C_W", 2),
        ("derive(mlp(phi)).kernel_map.expr", 1.75 * 0.35 + 0.125),
        ("2*K + 1/4", 1.65),
    ],
)
def test_what_paths_lead_to(path, expected):
    assert float(follow(path, {"phi": "relu"}, VALUES)) == pytest.approx(expected, rel=1e-12)


def test_relations():
    assert follow("derive(mlp(phi)).universality_class == 'scale-invariant'", {"phi": "relu"}, VALUES) is True


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("derive(mlp(phi)).__class__", sr.DeclarationError),
        ("derive(mlp(phi)).universality_class", sr.DeclarationError),
        ("[x for x in range(3)]", sr.DeclarationError),
        ("lambda: 1", sr.DeclarationError),
        ("open('x')", AttributeError),
        ("derive(mlp(phi)).no_such_call(3)", AttributeError),
    ],
)
def test_what_is_refused(path, error):
    with pytest.raises(error):
        follow(path, {"phi": "relu"}, VALUES)


@pytest.mark.exhaustive
def test_networks_are_witnesses_of_their_own():
    nets = networks(sr.residual("tanh"), C_W="7/4", C_b="1/8", gamma="1/2")
    theory = sr.derive("tanh", layer="residual")
    at = {"C_W": "7/4", "C_b": "1/8", "gamma": "1/2"}
    assert nets.kernel(1) == pytest.approx(float(theory.kernel_map.evalf(15, K=1, **at)), rel=0.01)
    assert nets.jacobian(1) == pytest.approx(float(theory.chi_perp.evalf(15, K=1, C_W="7/4", gamma="1/2")), rel=0.01)
    assert nets.chi_parallel(1) == pytest.approx(
        float(theory.chi_parallel.evalf(15, K=1, C_W="7/4", gamma="1/2")), rel=0.03
    )
    kernels = theory.kernels(2, 1, **at)
    assert nets.vertex(list(kernels)) == pytest.approx(float(theory.vertex(2, 1, **at)[-1]), rel=0.1)
