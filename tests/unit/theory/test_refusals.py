"""What a theory is asked for and refuses: the call, the class of the error, and what it says."""

import re

import numpy as np
import pytest
import sympy as sp

import symres as sr
from symres import L, M, xi, z
from tests.shared import derived

NUMBERS = {"C_W": 1, "C_b": 0}
HALF = {**NUMBERS, "gamma": "1/2"}
FISCHER = {"C_W": "1.25", "C_b": "0.05"}
Declaration, NoClosedForm, Unsupported = sr.DeclarationError, sr.NoClosedForm, sr.UnsupportedLayer
relu, tanh = sr.activation("relu"), sr.activation("tanh")


def three_sums():
    """A product of functions of sums of any two of three neurons."""
    one, two, three = (sr.Dense(z) for _ in range(3))
    return sr.Layer(sr.Dense(tanh(one + two) * relu(two + three) * sr.activation("erf")(one + three)))


def residual(name, **own):
    return derived(sr.residual(name, **own))


def fischer(name="erf"):
    return residual(name, gamma=1, xi=xi)


def batch(name="relu"):
    return derived(sr.batch_norm(name))


def jacobian_of_relu(l0=0, **own):
    return residual("relu").jacobian(l0, 3, 1, **({"C_W": 1, "C_b": 0, "gamma": 0.5} | own))


def read_in(n_0, pair):
    return derived(sr.mlp("erf")).network(2).input_jacobian(2, 1, n_0, pair, **NUMBERS)


def vertex_of_tanh(depth=2, kernel=1, **own):
    return residual("tanh").vertex(depth, kernel, **(own or {**NUMBERS, "gamma": 0}))


def depth_limit(layer=None):
    """Of a block of ReLU in raw weights, or of another layer."""
    raw = sr.Layer(z + xi * sr.Dense(relu(sr.Dense(z, C_b=0)), C_b=0))
    return derived(layer or raw).depth_limit()


NETWORKS = [
    (lambda: jacobian_of_relu(gamma=[1, 2]), Declaration, "2 values"),
    (lambda: jacobian_of_relu(mu=1), Declaration, "mu"),
    (lambda: jacobian_of_relu(l0=5), Declaration, "l0 <= l"),
    (lambda: sr.network([]), sr.SymresError, "it has no layers"),
    (lambda: batch().kernels(2, 1, **NUMBERS), Declaration, "covariance"),
    (lambda: batch("erf").dual_kernels(2, 1, 2, "0.3", **NUMBERS), Declaration, r"their kernels \S+ and \S+ differ"),
    (lambda: batch("relu").vertex(2, 1, **NUMBERS), Unsupported, "batch"),
    (lambda: batch("relu").response(2, 1, **NUMBERS), Unsupported, "normalises over a batch"),
    (lambda: batch("relu").chi_perp.evalf(8, K=1, C="2", C_W=1), Declaration, "0 <= C <= K"),
    (lambda: batch("relu").chi_perp.evalf(8, K=1, C="-1/10", C_W=1), Declaration, "0 <= C <= K"),
    (lambda: batch("relu").vertex_recursion, NoClosedForm, r"a batch, .* normalise over neurons"),
    (lambda: batch("relu").correlation_fixed_points(**NUMBERS), Unsupported, "over a batch"),
    (lambda: read_in(0, (1, 0)), Declaration, "n_0"),
    *(
        (lambda pair=pair: read_in(3, pair), Declaration, "no input has kernel")
        for pair in ((1, 2), (0, 0), (1, "-1/2"))
    ),
    *((lambda p=p: read_in(3, p), Declaration, "pair") for p in (1, (1, 0, 0))),
    (lambda: derived(sr.pre_ln("relu", sr.gamma)).kernels(2, 0, **HALF), Declaration, "no direction"),
    (lambda: derived(sr.pre_ln("relu", sr.gamma)).jacobian(0, 2, 0, **HALF), Declaration, "no direction"),
    (lambda: residual("erf").critical_line(C_W=1), Declaration, "gamma"),
    (lambda: residual("erf").critical_line(C_W=1, gamma=0.5, C_b=1), Declaration, "C_b"),
    (lambda: residual("erf").critical_line(C_W=1, gamma=0.5, mu=1), Declaration, "mu"),
    (lambda: residual("erf").critical_line(C_W=-1, gamma=0.5), Declaration, "negative"),
    *(
        (lambda kernels=kernels: derived("erf").critical_curve(kernels), Declaration, "a number for a kernel")
        for kernels in ([None], ["a"], None, [float("nan")])
    ),
    (lambda: derived("tanh").correlation_fixed_points(C_W="1/2", C_b=0), NoClosedForm, "the kernel ends at 0"),
    (lambda: derived("relu").correlation_fixed_points(C_W=3, C_b=0), NoClosedForm, "the kernel ends at inf"),
    (lambda: derived("linear").correlation_fixed_points(**NUMBERS), NoClosedForm, "keeps every correlation"),
    (lambda: sr.expect2("erf", "erf").evalf(K1=1, K2=1, C=2), Declaration, "not a covariance"),
    (lambda: sr.expect2("erf", "erf").evalf(K1=-1, K2=1, C=0), Declaration, "negative"),
    (lambda: sr.expect2("erf", "erf").evalf(K1="two", K2=1, C=0), Declaration, "two"),
    (lambda: residual("relu").quantity("vertex_limt"), Declaration, "did you mean vertex_limit"),
]

DERIVING = [
    (lambda: sr.derive(three_sums()).kernel_map, Unsupported, "3 correlated Gaussian variables at once"),
    (lambda: sr.derive("mlp"), Declaration, 'name an activation for it: sr.derive\\("gelu", layer="mlp"\\)'),
    (lambda: sr.derive(sr.residual("relu"), "mlp"), Declaration, "the subject is a layer already"),
    (lambda: sr.derive("relu", sr.residual("relu")), Declaration, "residual: it is not a name or an equation"),
    (lambda: sr.derive("tanh", gamma=3), Declaration, "it has no parameter gamma"),
    (lambda: sr.derive("LayerNorm"), Declaration, "it is a part of an equation"),
    (lambda: sr.compare(["relu", "gelu"]), Declaration, "pass them one by one"),
]

FINITE_WIDTH = [
    (lambda: derived("sin(z^3)").kernel_map.evalf(K="1e6", **NUMBERS), sr.SymresError, "varies too fast"),
    (lambda: vertex_of_tanh(kernel=0), Declaration, "is zero"),
    (lambda: vertex_of_tanh(kernel=-1), Declaration, "negative"),
    (lambda: vertex_of_tanh(C_W=-1, C_b=0, gamma=0), Declaration, "negative"),
    (lambda: vertex_of_tanh(C_b=0, gamma=0), Declaration, "no value was passed for C_W"),
    (lambda: vertex_of_tanh(kernel=[[1, 1], [1, 1]]), Declaration, "are parallel"),
    (lambda: vertex_of_tanh(kernel=[[1, 0.5], [0.4, 1]]), Declaration, "symmetric"),
    (lambda: vertex_of_tanh(depth="x"), Declaration, "finite real number"),
    (lambda: vertex_of_tanh(kernel=np.ones((3, 3)).tolist()), Declaration, "are parallel"),
    (
        lambda: vertex_of_tanh(kernel=[[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]),
        Declaration,
        "their cosines have the eigenvalue",
    ),
    (lambda: residual("tanh").response(2, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], **HALF), Declaration, "3 inputs"),
    (lambda: derived(sr.Layer(sr.LayerNorm(z + sr.Dense(relu(z))))).vertex_recursion, NoClosedForm, "mean of preactiv"),
    (lambda: residual("relu").optimal_gamma("0.02", 1), Declaration, r"ratio, 0\.0266.*; take gamma = 0\.448825"),
    (lambda: float(residual("relu").optimal_gamma("0.03", 1)), Declaration, "several"),
    (lambda: derived(sr.mlp("relu")).optimal_gamma(1, 1), NoClosedForm, "gamma is missing"),
    (lambda: residual("tanh").optimal_gamma(1, 0), Declaration, "n_L"),
    (lambda: residual("tanh").optimal_gamma(0, 1), Declaration, "an aspect ratio is positive"),
    (lambda: residual("relu").nu.evalf(gamma=2), Declaration, "-1 < gamma < 1"),
    (lambda: residual("tanh").nu.evalf(gamma=2), Declaration, "-1 < gamma < 1"),
    (lambda: sr.export(batch("relu").vertex_limit), NoClosedForm, "normalises over a batch"),
]

DEEP = [
    (lambda: derived(sr.residual("tanh", gamma="1/2", xi=xi)).depth_limit("xi"), sr.SymresError, "without the branch"),
    (lambda: derived(sr.residual("tanh", gamma=1)).depth_limit("xi"), sr.SymresError, "the parameters are"),
    (lambda: derived(sr.two_layer_block("tanh")).depth_limit("alpha"), sr.SymresError, "the parameters are"),
    (lambda: depth_limit(sr.Layer(z + sr.Dense(tanh(xi * z)))), sr.SymresError, "inside of an average"),
    (lambda: depth_limit(sr.Layer(z + xi**2 * sr.Dense(tanh(z)))).regime(1), NoClosedForm, "regimes"),
    *(
        (lambda scale=scale: depth_limit().regime(scale), Declaration, "not a product of powers")
        for scale in (1 / (M + L), sp.exp(-L), sp.Symbol("a", positive=True) / M)
    ),
    (lambda: depth_limit().regime(M / L**2), NoClosedForm, "grow together"),
    *((lambda scale=scale: depth_limit().regime(scale), Declaration, "not positive") for scale in (0, -1, sp.oo)),
    *(
        (lambda shape=shape: depth_limit().regime(1e-4, **shape), Declaration, "numbers for L and M")
        for shape in ({"L": 12}, {"L": 12, "M": 0}, {"L": -1, "M": 4})
    ),
]

TANH = derived("tanh")
BY_POSITION = [  # numbers in the wrong place of a call: the error ends with the call to write
    (lambda: TANH.correlation_length(1.5, 0.05), "correlation_length(C_W=1.5, C_b=0.05)"),
    (lambda: TANH.fixed_points(1.5, 0.05), "fixed_points(C_W=1.5, C_b=0.05)"),
    (lambda: TANH.fixed_points(1.5), "fixed_points(C_W=..., C_b=...)"),
    (lambda: TANH.kernels(3, 1, 1.5, C_b=0.05), "kernels(3, 1, C_W=1.5, C_b=0.05)"),
    (lambda: TANH.critical_line(1.5, 1), "critical_line(1.5, C_b=1)"),
    (lambda: TANH.network(2).kernels(1, 1.5, 0.05), "kernels(1, C_W=1.5, C_b=0.05)"),
    (lambda: depth_limit(sr.two_layer_block("relu")).kernel(1, 1, 2, 0), "kernel(1, 1, C_W=2, C_b=0)"),
    (lambda: TANH.kernel_map(1, 1.5, 0.05), "kernel_map(K=1, C_W=1.5, C_b=0.05)"),
    (lambda: TANH.kernel_map(1, K=2), "kernel_map(K=..., C_W=..., C_b=...)"),
]

ENTROPY = [
    *((name, "not shown to be finite and different") for name in ("relu", "sin")),
    *((name, "infinite or too large") for name in ("softsign", "atan(z)", "z/sqrt(1 + z**2)")),
    ("step", "it jumps"),
    ("3*erf(z) + erf(1000*(z - 7.3)) - erf(1000*(z - 7.31))", "it is not increasing everywhere"),  # it falls at 7.31
]

RESPONSES = [
    (
        lambda: fischer("relu").branch_scale(10, 1, **NUMBERS),
        NoClosedForm,
        r"no interior maximum between xi = .* and .*e\+15: it rises throughout",
    ),
    (
        lambda: fischer("relu").branch_scale_limit(1, **NUMBERS),
        NoClosedForm,
        r"between the final K = 1 and .*e\+149: it rises throughout",
    ),
    (lambda: fischer().branch_scale(10, 5, **FISCHER), NoClosedForm, "it falls, and without the branch it is largest"),
    (lambda: fischer().branch_scale_limit(5, **FISCHER), NoClosedForm, "without branches"),
    (
        lambda: fischer().branch_scale_for("0.01", 10, "0.05", **FISCHER),
        NoClosedForm,
        r"between xi = .* and .*e\+149 all final kernels are larger",
    ),
    (lambda: fischer("tanh").branch_scale(2, "1e6", **NUMBERS), NoClosedForm, "lose all digits"),
    (lambda: fischer("tanh").branch_scale_limit("1e6", **NUMBERS), NoClosedForm, "lose all digits"),
    (lambda: fischer().branch_scale(10, 1, scale="rho", **FISCHER), Declaration, "weight rho"),
    (
        lambda: residual("erf").branch_scale(10, 1, gamma=1, **FISCHER),
        Declaration,
        r'--layer "gamma\*z \+ xi\*Dense.* sr\.residual\(phi, xi=sr\.xi\)',
    ),
    (lambda: derived(sr.mlp("exp(2*z)")).response(2, "1.7", C_W="1.1", C_b="0.2"), NoClosedForm, "overflow"),
    (lambda: derived("sigmoid").response_decay, NoClosedForm, "exponentially"),
    (lambda: residual("erf").vertex(0, 1, mu=1), Declaration, "mu"),
    (
        lambda: residual("erf").response(0, 1, gamma=1, C_W=[], C_b=0),
        Declaration,
        "C_W of 0 layers: it has 0 values",
    ),
    (
        lambda: fischer().response(3, 1, C_W=[1, 2, 3, 4], C_b=0, xi=1),
        Declaration,
        r"C_W of 3 layers: it has 4 values; .* the readout takes the last",
    ),
    *(
        (lambda name=name: derived(name).maximum_entropy_kernel, NoClosedForm, f"maximum entropy.*{said}")
        for name, said in ENTROPY
    ),
]


ROWS = [*NETWORKS, *DERIVING, *FINITE_WIDTH, *DEEP, *RESPONSES]
ROWS += [(call, Declaration, re.escape(f"write {remedy}") + "$") for call, remedy in BY_POSITION]


@pytest.mark.parametrize(("call", "error", "said"), ROWS)
def test_it_is_refused_with_its_reason(call, error, said):
    with pytest.raises(error, match=said):
        call()
