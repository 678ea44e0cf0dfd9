"""PyTorch: averages without a closed form and their derivatives, arguments, vmap."""

import inspect

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

import symres as sr
from symres.activations.activation import Activation
from symres.codegen import generate
from symres.codegen.planning.plan import Component
from symres.core.symbols import K1, K2, C, x1, x2, z
from symres.gaussian.calculus.expectation import Expectation
from symres.results.quantity import Quantity, Status
from tests.languages import EDGE
from tests.oracles.closed_forms import PAIRS, covariance_map
from tests.shared import Lazily, derived


def double(*values):
    return [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]


# ---- averages without a closed form ------------------------------------------------------------------------------
NUMERIC = {"hard_tanh": {}, "tanh": {}, "elu": {"alpha": 0.8}, "swish": {"beta": 1.4}}


@pytest.fixture(scope="module")
def open_modules():
    def load(name):
        quantity = derived(name).covariance_map
        return sr.export(quantity, "torch").load().covariance_map, sr.export(quantity).load().covariance_map

    return Lazily(load)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NUMERIC)
def test_open_pair_kernels_have_the_derivatives_of_their_values(open_modules, name):
    """In the kernels, the covariance and the parameters of the activation."""
    f, reference = open_modules[name]
    arguments = double([0.7, 3.0, 0.02], [1.9, 0.4, 5.0], [0.6, -0.9, 0.1], *NUMERIC[name].values())
    assert torch.autograd.gradcheck(lambda *a: f(*a[:3], 1.3, 0.1, *a[3:]), arguments)
    exact = reference(*(a.detach().numpy() for a in arguments[:3]), 1.3, 0.1, **NUMERIC[name])
    np.testing.assert_allclose(f(*arguments[:3], 1.3, 0.1, **NUMERIC[name]).detach(), exact, rtol=1e-14)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("kind", [torch.float64, torch.float32], ids=str)
def test_open_pair_kernels_have_finite_gradients_at_the_edge(open_modules, name, kind):
    """In float64; in float32 they are the same, infinite where they exceed its largest number: elu at K1 = 0."""
    own = list(NUMERIC[name].values())
    for point in EDGE:
        gradients = []
        for dtype in (torch.float64, kind):
            arguments = [torch.tensor([v], dtype=dtype, requires_grad=True) for v in (*point, *own)]
            value = open_modules[name][0](*arguments[:3], 1.0, 0.0, *arguments[3:])
            assert value.dtype == dtype
            assert torch.isfinite(value).all()
            value.sum().backward()
            gradients.append(torch.stack([a.grad for a in arguments]))
        assert torch.isfinite(gradients[0]).all()
        assert torch.equal(torch.isfinite(gradients[1]), torch.isfinite(gradients[0].to(kind)))


TWICE = {
    **{name: {} for name in ("relu", "gelu", "sin", "step", "tanh", "mish")},
    "leaky_relu": {"slope": 0.3},
    "swish": {"beta": 1.3},
    "elu": {"alpha": 0.8},
    "hard_tanh": {},
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", TWICE)
def test_every_function_has_second_derivatives(name):
    own = TWICE[name]
    module = sr.export(derived(name), "torch").load()
    values = {"K": 0.9, "K1": [1.2, 0.6], "K2": [0.7, 0.9], "C": [0.3, -0.5], "C_W": 1.3, "C_b": 0.1, **own}
    for function in (getattr(module, quantity) for quantity in module.__all__):
        names = list(inspect.signature(function).parameters)
        place = double(*(values[n] for n in names))
        if torch.isinf(function(*place[:1], **dict(zip(names[1:], place[1:], strict=True)))).any():
            continue  # the susceptibility of a jump

        def called(*given, function=function, names=names):
            return function(**dict(zip(names, given, strict=True)))

        assert torch.autograd.gradgradcheck(called, place)


@pytest.mark.exhaustive
def test_second_derivatives_of_open_pair_kernels_with_kinks_are_refused():
    module = sr.export(sr.expect2("abs(z)*tanh(z)", "abs(z)*tanh(z)"), "torch")
    assert "Differentiable once: a second derivative is a NoDerivative error." in module.text
    f = module.load().expect2
    (c,) = double(0.3)
    (slope,) = torch.autograd.grad(f(1.0, 1.0, c), c, create_graph=True)
    with pytest.raises(NotImplementedError, match="first derivatives only"):
        slope.backward()


@pytest.mark.exhaustive
@pytest.mark.parametrize("correlation", [0.3, -0.8, 1.0, -1.0])
def test_a_parameter_that_moves_a_jump_has_a_gradient(correlation):
    """What is lost in passing: twice the density at the jump, times its height, times the mean of the other neuron."""
    place = sp.Symbol("place", positive=True)
    phi = Activation("late", sp.Heaviside(z - place, 1) * (1 + sp.tanh(z)), (place,))
    body = Expectation(phi(x1) * phi(x2), K1, C, K2)
    f = sr.export(Quantity("covariance_map", (K1, K2, C, place), body, body, Status.NUMERIC), "torch").load()
    c, where = double(correlation, 0.5)
    f.covariance_map(1.0, 1.0, c, where).backward()
    spread = mp.sqrt(1 - mp.mpf(correlation) ** 2)
    if spread:
        edge = (0.5 - 0.5 * correlation) / spread
        other = mp.quad(lambda t: (1 + mp.tanh(0.5 * correlation + spread * t)) * mp.npdf(t), [edge, edge + 2, 9, 14])
    else:  # equal neurons jump together, opposite ones never
        other = (1 + mp.tanh(0.5)) / 2 if correlation > 0 else 0
    assert float(where.grad) == pytest.approx(
        float(-2 * mp.npdf(0.5) * (1 + mp.tanh(0.5)) * other), rel=1e-14 if spread else 1e-7
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kernel", "mean", "edge"), [(1.3, 0.4, 0.3), (1e-4, 0.4, 0.41), (100.0, -0.4, 3.0)])
def test_means_and_breakpoints_that_move_past_a_jump(kernel, mean, edge):
    shift, b = sp.Symbol("m", real=True), sp.Symbol("b", real=True)
    formula = sp.Piecewise((z**2, z > b), (sp.cos(z) * sp.tanh(z), True))
    values = dict(zip(("K", "m", "b"), double(kernel, mean, edge), strict=True))
    sr.export(sr.expect(Activation("f", formula, (b,)), shift), "torch").load().expect(**values).backward()

    def value(k, m, b):
        width, cut = mp.sqrt(k), (b - m) / mp.sqrt(k)
        left = mp.quad(lambda x: mp.cos(m + width * x) * mp.tanh(m + width * x) * mp.npdf(x), mp.linspace(-12, cut, 25))
        return left + mp.quad(lambda x: (m + width * x) ** 2 * mp.npdf(x), mp.linspace(cut, 12, 9))

    for tensor, order in zip(values.values(), ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True):
        with mp.workdps(25):
            exact = float(mp.diff(value, (kernel, mean, edge), order))
        assert float(tensor.grad) == pytest.approx(exact, rel=1e-11)


# ---- the arguments of a function ---------------------------------------------------------------------------------
LAYERS = {"mlp": ["C_W", "C_b"], "residual": ["C_W", "C_b", "gamma"]}
FLAT = ("relu", "leaky_relu", "scale_invariant", "abs", "linear", "sign", "step")  # constant susceptibilities


def cheap_component(name, symbols, formula, target, reference, fallback_integral):
    """Code that depends on every argument, without the search for accurate code."""
    return Component(name, symbols, formula, sp.Add(*symbols))


@pytest.mark.sample(2)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("name", sr.activations)
def test_functions_of_a_layer_are_called_alike_for_every_activation(monkeypatch, name, layer):
    """Kernels and all parameters of the layer by name; by position whatever is good for gelu."""
    monkeypatch.setattr(generate, "build_component", cheap_component)
    theory = sr.derive(sr.architectures[layer](name))
    own = [str(p) for p in sr.activations[name].parameters]
    known = [q for q in theory.quantities.values() if q.status is not Status.UNKNOWN]
    numpy_module, torch_module = (sr.export({q.name: q for q in known}, target).load() for target in ("numpy", "torch"))
    for quantity in known:
        kernels = ["K1", "K2", "C"] if quantity.name == "covariance_map" else ["K"]
        signatures = [inspect.signature(getattr(m, quantity.name)).parameters for m in (numpy_module, torch_module)]
        assert list(signatures[0]) == [*signatures[1], "out"]
        assert set(signatures[1]) == {*kernels, *LAYERS[layer], *own}
        required = [name for name, p in signatures[1].items() if p.default is p.empty]
        assert required == [str(s) for s in quantity.symbols] == list(signatures[1])[: len(required)]
        arguments = {name: torch.full((2,), 0.5, dtype=torch.float64, requires_grad=True) for name in signatures[1]}
        arguments["C_b"] = torch.full((3, 1), 0.1, dtype=torch.float64, requires_grad=True)
        if "C" in arguments:  # parallel inputs need the slopes of true code
            arguments["C"] = torch.full((2,), 0.25, dtype=torch.float64, requires_grad=True)
        found = getattr(torch_module, quantity.name)(**arguments)
        assert found.shape == (3, 2)
        found.sum().backward()
        assert all(torch.isfinite(a.grad).all() for a in arguments.values())
        values = {name: a.detach().numpy() for name, a in arguments.items()}
        np.testing.assert_allclose(getattr(numpy_module, quantity.name)(**values), found.detach(), rtol=1e-14)


@pytest.mark.parametrize("name", FLAT)
def test_constant_susceptibilities_are_differentiable(name):
    theory = sr.derive(sr.residual(name))
    for quantity in (theory.chi_parallel, theory.chi_perp):
        f = getattr(sr.export(quantity, "torch").load(), quantity.name)
        k, C_W, gamma = double([0.0, 1.0, 3.0], 1.3, 0.5)
        own = dict.fromkeys((str(p) for p in sr.activations[name].parameters), 0.3)
        value = f(k, C_W=C_W, gamma=gamma, **own)
        assert value.shape == (3,)
        assert (value == value[0]).all()
        value.sum().backward()
        assert k.grad.tolist() == [0.0, 0.0, 0.0]
        if quantity.name == "chi_perp" and name in ("sign", "step"):
            assert value[0] == torch.inf
        else:
            assert gamma.grad == 3.0  # of gamma^2 + ..., three times
        assert torch.isfinite(C_W.grad)


def test_the_arguments_that_may_be_left_out_are_documented():
    text = sr.export(sr.derive("relu").chi_perp, "torch").text
    assert "C_b: variance of a bias; C_b >= 0; tensor or number; not used here, may be left out." in text


def test_module_works_under_vmap():
    f = sr.export(covariance_map(PAIRS["relu"]), "torch").load().covariance_map
    c = torch.linspace(-1, 1, 7, dtype=torch.float64)
    slope = torch.func.vmap(torch.func.grad(lambda c: f(1.0, 1.0, c, 1.0, 0.0, 0.0)))(c)
    np.testing.assert_allclose(slope, (np.pi - np.arccos(c.numpy())) / (2 * np.pi), atol=1e-15)


@pytest.mark.exhaustive
def test_slopes_at_zero_beside_roots_of_kernels():
    """K' = C_W (K - 2 a K^(4/3) + ...) of z/(1 + |z|^(2/3)): the roots have no slope at 0, K' has C_W."""
    kernel_map = sr.derive("z/(1+abs(z)^(2/3))").kernel_map
    K0 = torch.tensor([0.0, 1e-15, 0.5], dtype=torch.float64, requires_grad=True)
    value = sr.export(kernel_map, "torch").load().kernel_map(K0, 3.0, 0.25)
    (slope,) = torch.autograd.grad(value.sum(), K0)
    exact = sr.derive("z/(1+abs(z)^(2/3))").chi_parallel
    assert value[0].item() == 0.25
    assert slope[0].item() == pytest.approx(3, rel=1e-12)
    for k, found in zip((1e-15, 0.5), slope[1:].tolist(), strict=True):
        assert found == pytest.approx(float(exact.evalf(K=k, C_W=3)), rel=1e-9)


def test_numbers_stand_beside_tensors_in_functions_with_slopes():
    """Behind a norm the exponent of sin's average is a number."""
    quantity = derived(sr.pre_ln("sin")).ntk_map
    arguments = double(0.7, 1.3, 0.4, 0.5, 1.1, 0.2)
    value = sr.export(quantity, "torch").load().ntk_map(*arguments)
    assert value.item() == pytest.approx(sr.export(quantity).load().ntk_map(*(a.item() for a in arguments)), rel=1e-14)
    assert all(torch.isfinite(slope) for slope in torch.autograd.grad(value, arguments))
