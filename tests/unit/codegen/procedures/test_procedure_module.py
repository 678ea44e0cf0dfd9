"""Generated recursions, searches and sums over powers of gamma: the numbers of the theory, and what they refuse."""

import re
from functools import cache, partial

import numpy as np
import pytest
import sympy as sp
import torch
from numpy.polynomial.chebyshev import chebval

import symres as sr
from symres.codegen.power_sums.power_curve import series_of
from symres.core import symbols
from symres.core.symbols import r
from symres.functions.balls import evaluate
from symres.theory.aspect_ratio.geometric_sum import GeometricSum
from symres.theory.quantities.build import build
from tests.shared import derived

OWN = {"C_W": 1.4, "C_b": 0.2, "gamma": 0.8}
FISCHER = {"C_W": 1.25, "C_b": 0.05}
LAYERS = {
    "relu": lambda: sr.residual("relu"),
    "mlp": lambda: sr.mlp("relu"),
    "pre_ln": lambda: sr.pre_ln("relu", gamma=sr.gamma),
    "tanh": lambda: sr.residual("tanh"),
    "block": lambda: sr.two_layer_block("tanh", gamma=sr.gamma, xi=1),
    "gelu": lambda: sr.residual("gelu"),
    "erf": lambda: sr.residual("erf"),
    "after the skip": lambda: sr.Layer(sr.RMSNorm(sr.gamma * sr.z + sr.Dense(sr.activation("relu")(sr.z)))),
}
PROCEDURES = {
    "vertex": lambda: derived(sr.residual("relu")).vertex_recursion,
    "response": lambda: fischer().response_recursion(),
    "branch_scale": lambda: fischer().branch_scale_procedure(),
    "fixed_point": lambda: derived(sr.mlp("tanh")).fixed_point_procedure,
    "squares": lambda: derived(sr.mlp("z^2")).fixed_point_procedure,
    "optimal_gamma": lambda: derived(sr.residual("relu")).aspect_ratio_curve(1).inverse,
    "polynomial": lambda: derived(sr.residual("tanh")).aspect_ratio_curve(1).inverse,
}


def fischer():
    return derived(sr.residual("erf", gamma=1, xi=sr.xi))


def decimals(numbers):
    return {name: repr(value) for name, value in numbers.items()}


@cache
def loaded(name, target="numpy"):
    return sr.export(PROCEDURES[name](), target=target).load()


# ---- the vertex --------------------------------------------------------------------------------------------------
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", LAYERS)
def test_vertex(name):
    layer = LAYERS[name]()
    own = {s.name: OWN[s.name] for s in layer.parameters}
    module = sr.export(derived(layer).vertex_recursion).load()
    for function in ("vertex", "kernel_fluctuation"):
        expected = getattr(derived(layer), function)(12, "0.6", **decimals(own))
        assert getattr(module, function)(12, 0.6, **own) == pytest.approx(expected, rel=1e-12)


def test_kernels_and_parameters_broadcast():
    kernels, gammas = np.array([0.3, 2.0]), np.array([0.0, 0.5, 0.9])[:, None]
    found = loaded("vertex").vertex(4, kernels, 1.4, 0.2, gammas)
    assert found.shape == (5, 3, 2)
    assert found[:, 1, 1] == pytest.approx(loaded("vertex").vertex(4, 2.0, 1.4, 0.2, 0.5), rel=1e-14)
    assert loaded("vertex").vertex(0, 1.0, 1.4, 0.2, 0.5).tolist() == [0.0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["relu", "pre_ln", "tanh"])
def test_gradients_of_the_vertex(name):
    layer = LAYERS[name]()
    module = sr.export(derived(layer).vertex_recursion, target="torch").load()
    values = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.6, 1.4, 0.2, 0.8)]
    assert torch.autograd.gradcheck(lambda *own: module.vertex(3, *own), values, atol=1e-7)
    expected = derived(layer).vertex(3, "0.6", **decimals(OWN))
    assert module.vertex(3, *values).tolist() == pytest.approx(expected, rel=1e-12)


def test_layers_without_noise_have_no_vertex():
    """A normalised branch: its mean square is 1 for any neurons."""
    module = sr.export(derived(sr.ln_act("relu", gamma=sr.gamma)).vertex_recursion).load()
    assert module.vertex(3, 0.6, **OWN).tolist() == [0.0] * 4


# ---- the fixed point -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
def test_fixed_points(target):
    module, star = loaded("fixed_point", target), derived(sr.mlp("tanh")).at_fixed_point()
    digits = 1e-5 if target == "jax" else 1e-13  # its numbers are float32
    for own in ({"C_W": 1.5, "C_b": 0.1}, {"C_W": 30.0, "C_b": 0.0}, {"C_W": 0.9, "C_b": 1e-3}):
        exact, place = decimals(own), {s: sp.Rational(repr(own[s.name])) for s in (symbols.C_W, symbols.C_b)}
        assert float(module.fixed_point(1.0, **own)) == pytest.approx(star.K(**exact), rel=digits)
        assert float(module.correlation_length(1.0, **own)) == pytest.approx(
            star.correlation_length(**exact), rel=10 * digits
        )
        slopes = module.fixed_point_slopes(1.0, **own)
        for symbol in place:
            expected = evaluate(star.K.expr.diff(symbol).subs(place), {})[0]
            assert float(slopes[symbol.name]) == pytest.approx(float(expected), rel=100 * digits)


def test_where_kernels_end_is_told_by_the_kernel_of_the_input():
    """3 C_W K^2 + C_b = K has the roots .61257 and 2.72076; above, kernels grow without bound."""
    module = loaded("squares")
    ends = module.fixed_point(np.array([0.0, 0.3, 2.7, 2.8, np.nan]), 0.1, 0.5)
    assert ends == pytest.approx([0.6125741132772069] * 3 + [np.inf, np.nan], rel=1e-14, nan_ok=True)
    assert module.fixed_point(np.array([[0.1], [3.0]]), np.array([0.1, 0.05]), 0.0).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert loaded("fixed_point").fixed_point(1.0, 0.5, 0.0) == 0


def test_derivatives_of_fixed_points():
    values = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (1.5, 0.1)]
    module = loaded("fixed_point", "torch")
    assert torch.autograd.gradcheck(lambda *own: module.fixed_point(1.0, *own), values, atol=1e-7)
    assert torch.autograd.gradcheck(lambda *own: module.correlation_length(1.0, *own), values, atol=1e-5)
    jax = pytest.importorskip("jax")
    of_jax = jax.jit(jax.grad(partial(loaded("fixed_point", "jax").fixed_point, 1.0)))(1.5, 0.1)
    assert float(of_jax) == pytest.approx(0.53155312203666684, rel=1e-5)


# ---- the response and the branch scale -----------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_response(target):
    eta, chi, out = loaded("response", target).response(8, 0.3, xi=0.4, **FISCHER)
    expected = fischer().response(8, "0.3", xi="0.4", **decimals(FISCHER))
    assert eta.tolist() == pytest.approx(expected.eta, rel=1e-12)
    assert chi.tolist() == pytest.approx(expected.chi, rel=1e-12)
    assert float(out) == pytest.approx(expected.chi_out, rel=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize(("depth", "expected"), [(10, 0.326509160259975), (200, 0.0685226948707319)])
def test_branch_scale(target, depth, expected):
    found = loaded("branch_scale", target).branch_scale(depth, 0.05, **FISCHER)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_the_branch_scale_broadcasts_and_may_not_exist():
    module = loaded("branch_scale")
    found = module.branch_scale(10, np.array([[0.05, 0.01]]), **FISCHER)
    assert found.shape == (1, 2)
    assert found[0, 1] == pytest.approx(fischer().branch_scale(10, "0.01", **decimals(FISCHER)), rel=1e-12)
    with pytest.raises(ValueError, match=r"no interior maximum between xi = .* and .*e\+12: it falls, and without"):
        module.branch_scale(10, 5.0, **FISCHER)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_branch_scales_far_from_the_usual_ones(target):
    module = loaded("branch_scale", target)
    assert float(module.branch_scale(1, 1e-6, C_W=1.25, C_b=0.0)) == pytest.approx(712.966168586, rel=1e-10)
    own = {"C_W": 1e26, "C_b": 1e25}
    expected = fischer().branch_scale(10, "0.05", **decimals(own))
    assert float(module.branch_scale(10, 0.05, **own)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("name", ["vertex", "response", "branch_scale"])
def test_depths_that_are_none(name, target):
    own = {"C_W": 1.25, "C_b": 0.05} | {"vertex": {"gamma": 0.5}, "response": {"xi": 0.5}}.get(name, {})
    function = getattr(loaded(name, target), name)
    for depth in (-1, 1.5, float("nan"), float("inf"), *([0] if name == "branch_scale" else [])):
        with pytest.raises(
            ValueError, match=rf"depth = {depth} is not a whole number of layers >= {name == 'branch_scale':d}"
        ):
            function(depth, 0.3, **own)


def test_slopes_that_vanish_are_left_out():
    """Of relu chi_parallel is the same for all kernels; its response has no maximum, and no error to be measured."""
    module = sr.export(derived(sr.residual("relu", gamma=1, xi=sr.xi)).branch_scale_procedure())
    assert "chi_slope" not in module.functions
    assert "not measured" in module.text
    with pytest.raises(ValueError, match=r"between xi = .* and .*e\+149: it rises throughout"):
        module.load().branch_scale(10, 1.0, C_W=1.0, C_b=0.0)


def test_outputs_that_do_not_respond_have_no_branch_scale():
    """Normalised streams have the kernel 1 whatever it was."""
    layer = sr.Layer(sr.RMSNorm(sr.z + sr.xi * sr.Dense(sr.activation("erf")(sr.z))))
    with pytest.raises(sr.NoClosedForm, match="forgets"):
        derived(layer).branch_scale_procedure()


# ---- the optimal gamma -----------------------------------------------------------------------------------------------
@pytest.mark.exhaustive
@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_every_branch_of_the_optimal_gamma(target):
    module, theory = loaded("optimal_gamma", target), derived(sr.residual("relu"))
    for ratio, outputs, count in ((0.03, 1, 2), (0.05, 1, 1), (0.2, 10, 1)):
        found = module.optimal_gamma(ratio, outputs)
        assert found.shape == (count,)
        assert found.tolist() == pytest.approx(theory.optimal_gamma(repr(ratio), outputs), rel=1e-12)


def test_ratios_of_no_gamma():
    module = loaded("polynomial")
    assert module.optimal_gamma(5, 1).tolist() == pytest.approx([(1 - 6 / (23 * 5)) ** 0.25], rel=1e-14)
    least = module.aspect_ratio(0.0, 1)
    assert module.optimal_gamma(least, 1).tolist() == [0.0]
    with pytest.raises(ValueError, match=r"below the smallest optimal ratio, 0\.26"):
        module.optimal_gamma(0.2, 1)
    with pytest.raises(ValueError, match="within"):
        module.optimal_gamma(1e9, 1)
    with pytest.raises(ValueError, match="number of outputs"):
        module.optimal_gamma(1.0, 0)


# ---- the text --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["vertex", "response", "branch_scale", "polynomial"])
def test_modules_stand_alone_and_state_a_measured_error(name):
    module = sr.export(PROCEDURES[name]())
    imports = re.findall(r"^(?:import|from) (\S+)", module.text, re.MULTILINE)
    assert set(imports) <= {"functools", "math", "numpy", "scipy"}
    assert re.search(r"Error: at most \de-1[3-6] of each value, measured against the theory", module.text)
    assert module.text == sr.export(PROCEDURES[name]()).text
    assert not re.search(r"[ \t]+$", module.text, re.MULTILINE)


def test_a_parameter_must_not_have_the_name_of_an_argument():
    depth = sp.Symbol("depth", positive=True)
    steep = sr.Activation("steep", sp.Piecewise((0, sr.z < 0), (depth * sr.z, True)), (depth,))
    with pytest.raises(sr.DeclarationError, match="the code needs this name"):
        sr.export(sr.derive(sr.residual(steep)).vertex_recursion)


@pytest.fixture(scope="module")
def theory():
    return derived(sr.residual("relu"))


def test_numpy(theory):
    module = sr.export(theory.nu, target="numpy").load()
    gammas = np.array([[-0.5, 0.0], [0.5, 0.99]])
    expected = [[float(theory.nu.evalf(gamma=float(g))) for g in row] for row in gammas]
    assert np.allclose(module.nu(gammas), expected, rtol=1e-13)
    assert module.nu(0.5) == pytest.approx(6.49631254396469, rel=1e-14)
    assert np.isnan(module.nu(1.0))


def test_the_aspect_ratio_broadcasts(theory):
    module = sr.export(theory.aspect_ratio, target="numpy").load()
    found = module.aspect_ratio(np.array([0.0, 0.5])[:, None], np.array([1.0, 10.0]))
    assert found.shape == (2, 2)
    assert found[1, 1] == pytest.approx(float(theory.aspect_ratio.evalf(gamma="1/2", n_L=10)), rel=1e-14)


def test_torch_is_differentiable(theory):
    module = sr.export(theory.nu, target="torch").load()
    gamma = torch.tensor([0.3, 0.5], dtype=torch.float64, requires_grad=True)
    values = module.nu(gamma)
    values.sum().backward()
    step = 1e-5
    slope = (theory.nu.evalf(20, gamma=repr(0.5 + step)) - theory.nu.evalf(20, gamma=repr(0.5 - step))) / (2 * step)
    assert values[1].item() == pytest.approx(6.49631254396469, rel=1e-14)
    assert gamma.grad[1].item() == pytest.approx(float(slope), rel=1e-7)


def test_polynomials_and_latex_as_before(theory):
    assert sr.export(derived(sr.residual("tanh")).nu, target="numpy").load().nu(0.5) == 0.625
    assert r"\sum" in sr.export(theory.nu, target="latex").text


def test_terms_become_series():
    """``r/(2 - r)``, and a function that is not smooth at 1."""
    found = series_of(r / (2 - r), r)
    places = np.array([-1.0, -0.3, 0.0, 0.7, 1.0])
    assert np.allclose(chebval(places, found), 1 / (2 - places), rtol=1e-15)
    assert len(found) < 40
    with pytest.raises(sr.NoClosedForm, match="234 terms"):
        series_of(r * sp.sqrt(1 - r**2), r)


@pytest.mark.parametrize("target", ["numpy", "torch"])
def test_what_the_language_lacks(target):
    """Averages: constants become decimals, terms polynomials; parameters of the activation are too many variables."""
    smooth = sp.Symbol("alpha", positive=True)
    average = sr.expect(sp.tanh(sr.z) ** 2).definition
    for beta, sample in ((1, True), (smooth, False)):
        constant = average.xreplace({symbols.K: 2 * beta})
        body = (1 - sr.gamma**2) * (constant + GeometricSum(constant * r / (2 - r), r, sr.gamma, sp.Integer(1)))
        quantity = build("nu", (sr.gamma,), body, parameters=(sr.gamma,))
        if not sample:
            with pytest.raises(sr.NoClosedForm, match=f"that {target} lacks, of alpha"):
                sr.export(quantity, target=target)
            continue
        found = sr.export(quantity, target=target).load().nu(0.4)
        assert float(found) == pytest.approx(float(quantity.evalf(gamma="0.4")), rel=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("formula", ["gelu", "z*tanh(log(1 + exp(z)))"])
def test_nu_of_smooth_activations(formula):
    """Gelu's closed form has functions that no library has; that of the formula has averages."""
    quantity = derived(sr.residual(formula)).aspect_ratio
    for target in ("numpy", "torch"):
        module = sr.export(quantity, target=target).load()
        for gamma in ("-0.3", "0", "0.6", "0.97"):
            found = float(module.aspect_ratio(float(gamma), 2.0))
            assert found == pytest.approx(float(quantity.evalf(gamma=gamma, n_L=2)), rel=1e-13)


def test_the_stated_error_is_measured(theory):
    assert "relative at gamma" in sr.export(theory.nu, target="numpy").text
