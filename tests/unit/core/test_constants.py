"""A constant expression is a number wherever a number is taken, and stays exact."""

import copy
import math
import pickle

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres.core.errors import DeclarationError
from symres.core.scalars import number
from symres.core.words import Obstruction, Reason, SeriesRange, obstruction, predicate

EXACT = {
    "sqrt(2)": sp.sqrt(2),
    "1/sqrt(2)": sp.sqrt(2) / 2,
    "2^(-1/2)": sp.sqrt(2) / 2,
    "2**-0.5": sp.sqrt(2) / 2,
    "exp(-1)": sp.exp(-1),
    "-pi/3": -sp.pi / 3,
    "log(8)": 3 * sp.log(2),
    "relu(3)": sp.Integer(3),
    "gelu(1)": sp.Rational(1, 2) + sp.erf(sp.sqrt(2) / 2) / 2,
    "1.0507": sp.Rational(10507, 10000),
    " 3 / 4 ": sp.Rational(3, 4),
    "max(1, sqrt(3))": sp.sqrt(3),
}
REFUSED = {
    "two": "'two' is not a finite real number: unknown name 'two'",
    "1/0": "division by zero",
    "z + 1": "it depends on z",
    "sqrt(2": "'(' is never closed",
    "sqrt(-1)": "not real",
    "exp(1e9)": "a number too large or too small",
    "exp(-1e9)": "a number too large or too small",
    "erfc(1e300)": "a constant that is too large or too small",
    "": "is empty",
    "__import__('os')": "unknown function",
}


@pytest.mark.parametrize("text", EXACT)
def test_text_is_an_exact_number(text):
    assert number(text, "K") == EXACT[text]
    assert not number(text, "K").has(sp.Float)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_constant_says_why(text):
    with pytest.raises(DeclarationError, match=r"a number for K: .*is not a finite real number") as refused:
        number(text, "K")
    assert REFUSED[text] in str(refused.value)


def test_logarithms_of_powers_cancel():
    (point,) = sr.derive("z*log(4)").critical_points
    assert (point.C_W, point.C_b) == (1 / (4 * sp.log(2) ** 2), 0)
    (point,) = sr.derive(sr.Activation("a", sp.log(8) * sr.z)).critical_points
    assert (point.C_W, point.C_b) == (1 / (9 * sp.log(2) ** 2), 0)


ROOT = math.sqrt(0.5)
TANH = sr.residual("tanh")


def _all(x):
    return {"C_W": x, "C_b": x, "gamma": x}


def _branch():
    return sr.derive(sr.residual("erf", gamma=1, xi=sr.xi))


def _tensors(x):
    from symres import torch as st

    return st.gain("leaky_relu", slope=x)


def _kernels(x):
    from symres.kernels import ZonalKernel, matrix
    from symres.kernels.sklearn import NeuralKernel

    module, rows = sr.export(sr.network(["relu"] * 2)), np.array([[1.0, 0.5], [0.2, -1.0]])
    found = [ZonalKernel(module, x, C_W=x, C_b=x).K, NeuralKernel("relu", 2, C_W=x, C_b=x)(rows)]
    return np.concatenate([np.ravel(found[0]), np.ravel(found[1]), np.ravel(matrix(module, rows, C_W=x, C_b=x))])


TAKEN = {
    "evalf": lambda x: sr.derive(TANH).kernel_map.evalf(15, K=x, **_all(x)),
    "call": lambda x: sr.derive(TANH).kernel_map(K=x, **_all(x)),
    "enclosure": lambda x: sr.derive(TANH).kernel_map.enclosure(15, K=x, **_all(x))[0],
    "at": lambda x: sr.derive(TANH).kernel_map.at(gamma=x)(K=1, C_W=1, C_b=1),
    "fixed_points": lambda x: sr.derive("tanh").fixed_points(C_W="3/2", C_b=x)[0].K,
    "phase": lambda x: sr.derive("tanh").phase(C_W=x, C_b=x).chi_perp,
    "correlation_length": lambda x: sr.derive("tanh").correlation_length(C_W=x, C_b=x),
    "critical_curve": lambda x: sr.derive("tanh").critical_curve([x])[0][:2],
    "kernels": lambda x: sr.derive(TANH).kernels(2, x, **_all(x)),
    "dual_kernels": lambda x: sr.derive(TANH).dual_kernels(2, x, x, "1/2", **_all(x))[-1].C,
    "displacement": lambda x: sr.derive(TANH).displacement(2, x, **_all(x)),
    "jacobian": lambda x: sr.derive(TANH).jacobian(0, 2, x, **_all(x)),
    "input_jacobian": lambda x: sr.derive(TANH).network(2).input_jacobian(2, x, 3, (x, x), **_all(x)),
    "vertex": lambda x: sr.derive(TANH).vertex(2, x, **_all(x)),
    "covariance": lambda x: sr.derive(TANH).covariance("z", "z^2", 2, x, **_all(x)),
    "response": lambda x: sr.derive(TANH).response(2, x, **_all(x)).eta,
    "branch_scale_for": lambda x: _branch().branch_scale_for(1, 2, x, C_W=1, C_b=0),
    "depth_limit": lambda x: _branch().depth_limit("xi").kernel(x, x, C_W=x, C_b=x),
    "advice": lambda x: sr.derive("tanh").advice(10, 100, x).inputs_kernel,
    "tune_block": lambda x: sr.tune_block(x, 1, 0, gamma=x),
    "epsilon": lambda x: sr.LayerNorm(sr.z, x).args[1],
    "Dense": lambda x: sr.Dense(sr.z, x, x, x).args[1:4],
    "mean": lambda x: sr.expect("tanh", mean=x).evalf(15, K=1),
    "means": lambda x: sr.expect2("erf", "relu", means=(x, x)).evalf(15, K1=1, K2=1, C="1/sqrt(5)"),
    "subs": lambda x: sr.residual("relu").subs(gamma=x).program.out.coeff(sr.z),
    "parameters": lambda x: sr.activation("leaky_relu", slope=x).expr.subs(sr.z, -1),
    "called": lambda x: sr.activation(f"leaky_relu({x})").expr.subs(sr.z, -1),
    "architectures": lambda x: sr.residual("tanh", gamma=x, xi=x).program.out.coeff(sr.z),
    "gain": _tensors,
    "kernel classes": _kernels,
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_constant_is_taken_where_a_number_is(name):
    of_text, of_float = (np.array(TAKEN[name](x), dtype=float) for x in ("1/sqrt(2)", ROOT))
    assert np.isfinite(of_text).all()
    np.testing.assert_allclose(of_text, of_float, rtol=1e-12)


@pytest.mark.exhaustive
def test_a_check_and_a_diagram_take_one():
    theory = sr.derive(TANH)
    assert sr.check(theory, "quadrature", points=1, parameters={"gamma": "1/sqrt(2)"}).outcome.name == "PASSED"
    axes = ("C_W", 0, 2), ("C_b", 0, "sqrt(2)")
    assert sr.phase_diagram(sr.derive("tanh"), *axes, points=3, K="sqrt(2)") is not None


def test_names_of_activations_say_the_constant():
    phi = sr.activation("leaky_relu", slope="1/sqrt(2)")
    assert phi.name == "leaky_relu(slope=sqrt(2)/2)" == str(sr.activation("leaky_relu(1/sqrt(2))").name)
    assert r"slope=\frac{\sqrt{2}}{2}" in sp.latex(phi(sr.z))
    assert sr.activation(sr.activation("elu", alpha="exp(1)").name) == sr.activation("elu", alpha=sp.E)


def test_a_reason_is_its_words_and_knows_its_kind():
    reason = Reason("tanh(z)", "is not a polynomial", Obstruction.OUTSIDE)
    assert reason == "tanh(z) is not a polynomial" and predicate(reason) == "is not a polynomial"
    assert obstruction(reason) is Obstruction.OUTSIDE
    for twin in (copy.deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert twin == reason and (twin.subject, twin.obstruction) == ("tanh(z)", Obstruction.OUTSIDE)
    assert obstruction("plain words") is Obstruction.OTHER and predicate("plain words") == "plain words"


def test_several_reasons_are_of_the_first_kind_that_says_something():
    inside = Reason("the sign of w", "is unknown")
    outside = Reason("tanh(z)", "is not a polynomial", Obstruction.OUTSIDE)
    assert Reason.listed([]) == "" and Reason.listed([outside, outside]) is outside
    both = Reason.listed([inside, outside])
    assert both == "the sign of w is unknown; tanh(z) is not a polynomial"
    assert obstruction(both) is Obstruction.OUTSIDE
    plain = Reason.listed(["unknown", outside])
    assert plain == "unknown; tanh(z) is not a polynomial" and obstruction(plain) is Obstruction.OUTSIDE


def test_quantities_have_typed_reasons():
    assert obstruction(sr.derive("tanh").kernel_map.reason) is Obstruction.OUTSIDE
    assert obstruction(sr.derive("sign(z)").chi_perp.reason) is Obstruction.INFINITE
    assert obstruction(sr.derive("sign(z)").chi_delta.reason) is Obstruction.INFINITE
    found = sr.derive("tanh").kernel_map.series(4).reason
    assert isinstance(found, SeriesRange) and found == f"{found.terms}; {found.reach}"
