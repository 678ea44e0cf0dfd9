"""Activations from PyTorch modules and functions, each against the module on a grid of its own."""

import functools
import math

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch
import torch.nn.functional as F
from torch import nn

import symres as sr
from symres.core.errors import CheckRefuted, DeclarationError
from symres.functions.companions import Sigmoid
from symres.torch.activations import operations
from tests.oracles.torch_blocks import SineInReverse

# kinks of torch's activations, both tails, and the ordinary; no point is one of a grid in the package
LEFT = (-700, -98.5, -31, -20.5, -8.2, -6, -3, -2.75, -1, -0.9, -0.5, -0.3, -1e-4)
RIGHT = (0, 2e-5, 0.11, 0.45, 0.5, 0.77, 1, 2.2, 3, 3.1, 5.9, 6, 6.4, 19, 21, 77, 650)
POINTS = np.array([*LEFT, *RIGHT], dtype=float)


class Swish(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = nn.Parameter(torch.tensor([beta]))

    def forward(self, x):
        return x * torch.sigmoid(self.beta * x)


class ScaledSquare(nn.Module):
    """Parameter, buffer and in-place operations."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.75))
        self.register_buffer("shift", torch.full((4,), -0.25))

    def forward(self, x):
        y = F.relu(x).pow(2)
        return y.mul_(self.scale).add_(self.shift)


def gelu_of_gpt2(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def hard_silu(x):
    return x * torch.clamp(x + 3, 0, 6) / 6


# module or function: the name that it gets; modules as they are without arguments are tried below
CONVERTED = [
    (nn.ReLU(inplace=True), "relu"),
    (nn.LeakyReLU(0.2), "leaky_relu(slope=1/5)"),
    (nn.PReLU(), "leaky_relu(slope=1/4)"),
    (nn.PReLU(3, init=0.5), "leaky_relu(slope=1/2)"),
    (nn.RReLU().eval(), "leaky_relu(slope=11/48)"),
    (nn.ELU(), "elu(alpha=1)"),
    (nn.ELU(0.7, inplace=True), "elu(alpha=7/10)"),
    (nn.CELU(2.0), "celu(alpha=2)"),
    (nn.GELU("tanh"), "gelu_tanh"),
    (nn.Softplus(2.0), "Softplus(beta=2.0, threshold=20.0)"),
    (nn.Softplus(1.0, 2.0), "Softplus(beta=1.0, threshold=2.0)"),
    (nn.Hardtanh(-2.0, 3.0), "Hardtanh(min_val=-2.0, max_val=3.0)"),
    (nn.Softshrink(0.3), "softshrink(threshold=3/10)"),
    (nn.Hardshrink(), "hardshrink(threshold=1/2)"),
    (nn.Threshold(0.1, 20.0), "threshold(level=1/10, value=20)"),
    (nn.Identity(), "linear"),
    (nn.Dropout().eval(), "linear"),
    (nn.Sequential(nn.Softplus(), nn.Tanh()), "Sequential( (0): Softplus(beta=1.0, threshold=20.0) (1): Tanh() )"),
    (Swish(1.5), "swish(beta=3/2)"),
    (Swish(1.0), "silu"),
    (ScaledSquare(), "ScaledSquare"),
    (gelu_of_gpt2, "gelu_tanh"),
    (F.gelu, "gelu"),
    (F.elu, "elu(alpha=1)"),
    (torch.sin, "sin"),
    (torch.erf, "erf"),
    (torch.special.ndtr, "special_ndtr"),
    (functools.partial(F.gelu, approximate="tanh"), "gelu_tanh"),
    (functools.partial(F.hardshrink, lambd=0.25), "hardshrink(threshold=1/4)"),
    (SineInReverse.apply, "sin"),
    (hard_silu, "hard_swish"),
    (lambda x: x * torch.sigmoid(1.702 * x), "swish(beta=851/500)"),
    (lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), "gelu"),
    (lambda x: x * torch.tanh(F.softplus(x)), "mish"),
    (lambda x: torch.where(x > 0, x, 0.1 * x), "leaky_relu(slope=1/10)"),
    (lambda x: x.masked_fill(x < 0, 0), "relu"),
    (lambda x: (x > 0) * x, "relu"),
    (lambda x: (x > 0).to(x.dtype) * x, "relu"),
    (lambda x: torch.clamp(x, min=0).square(), "Max(0,z)^2"),
    (lambda x: torch.where((x > -1) & ~(x > 1), x, torch.sign(x)), "hard_tanh"),
    (lambda x: torch.logaddexp(x, torch.zeros_like(x)), "softplus"),
    (lambda x: F.silu(x.float()).to(x.dtype), "silu"),
    (lambda x: x.lerp(torch.relu(x), 0.5), "leaky_relu(slope=1/2)"),
    (lambda x: torch.addcmul(x, x, x, value=2), "2*z^2+z"),
    (lambda x: torch.log(torch.cosh(x)), "log(cosh(z))"),
    (lambda x: F.leaky_relu(x.view(-1), negative_slope=0.2).view(x.shape), "leaky_relu(slope=1/5)"),
    (lambda x: torch.maximum(x, torch.tensor(0.0)), "relu"),
    (lambda x: (1 - x) ** 2, "(1-z)^2"),
    (lambda x: x.clamp(min=-1, max=math.inf), "threshold(level=-1, value=-1)"),
    (lambda x: 2 - x, "2-z"),
]


@pytest.mark.parametrize(("module", "name"), CONVERTED, ids=[name for _, name in CONVERTED])
def test_a_conversion_has_the_values_of_the_module(module, name):
    phi = sr.activation(module)
    assert phi.name == name
    columns = 4 if name == "ScaledSquare" else 3 if isinstance(module, nn.PReLU) and module.num_parameters == 3 else 2
    points = POINTS[: len(POINTS) // columns * columns]
    double = module.double() if isinstance(module, nn.Module) else module
    with torch.no_grad():
        expected = double(torch.tensor(points.reshape(-1, columns))).numpy().reshape(-1)
    loose = 1e-6 if "softplus" in name.lower() or name == "mish" else 0  # the switch at 20: 2e-9 off
    loose = 1e-5 if name == "silu" and not isinstance(module, nn.Module) else loose  # one of them goes through float32
    formula = sp.lambdify(sr.z, phi.expr.rewrite(sp.Piecewise), "mpmath")
    for x, value in zip(points, expected, strict=True):
        if math.isfinite(value):
            with mp.workdps(30):
                assert float(formula(mp.mpf(float(x)))) == pytest.approx(value, rel=1e-13 + loose, abs=1e-13)


NO_FUNCTIONS_OF_ONE_ENTRY = {"GLU", "MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax"}
GIVEN = {"Threshold": (-0.25, 0.7), "MultiheadAttention": (4, 2), **dict.fromkeys(("Softmax", "Softmin"), (-1,))}
GIVEN["LogSoftmax"] = (-1,)


@pytest.mark.parametrize("kind", nn.modules.activation.__all__)
def test_every_activation_of_torch_is_of_the_catalogue_or_refused(kind):
    module = getattr(nn, kind)(*GIVEN.get(kind, ())).eval()
    if kind in NO_FUNCTIONS_OF_ONE_ENTRY:
        with pytest.raises(DeclarationError, match=r"has no rule for|it fails on a tensor of shape|changes the shape"):
            sr.activation(module)
        return
    phi = sr.activation(module)
    assert phi.formula.label()[0] in sr.activations
    points = torch.tensor(POINTS[np.abs(POINTS) < 18], dtype=torch.float64)  # softplus of torch is linear from 20 on
    with torch.no_grad():
        expected = module.double()(points).numpy()
    formula = sp.lambdify(sr.z, phi.expr.rewrite(sp.Piecewise), "mpmath")
    with mp.workdps(30):
        found = [float(formula(mp.mpf(float(x)))) for x in points]
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_the_catalogue_is_given_back():
    assert sr.activation(nn.GELU()) == sr.activations["gelu"]
    assert sr.activation(nn.SELU()).source == sr.activations["selu"].source
    assert sr.derive(sr.mlp(nn.ReLU())).critical_points[0].C_W == 2
    assert sr.mlp(torch.tanh) == sr.mlp("tanh")
    assert sr.expect(nn.ReLU()).evalf(K=1) == pytest.approx(1 / math.sqrt(2 * math.pi))


def test_parameters_count_as_they_are():
    module = nn.PReLU()
    with torch.no_grad():
        module.weight.fill_(-0.5)
    assert sr.activation(module).expr.subs(sr.z, -2) == 1
    beta = sp.Rational("0.30000001192092896")  # the float32 nearest to 0.3
    assert sr.activation(Swish(0.3)).expr == sr.z * Sigmoid(beta * sr.z)


def test_a_compiled_module_is_read_without_compiling_it():
    assert sr.activation(torch.compile(nn.GELU())).name == "gelu"


def test_the_module_stays_as_it_is():
    module = nn.Sequential(nn.PReLU(), nn.Dropout()).eval()
    module[0].half()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    sr.activation(module)
    assert not module.training and module[0].weight.grad is None
    assert all(
        value.dtype == torch.float16 and torch.equal(value, before[n]) for n, value in module.state_dict().items()
    )


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, "1/10"),
        (1.702, "851/500"),
        (1 / 3, "1/3"),
        (-1 / 6, "-1/6"),
        (math.sqrt(2), "sqrt(2)"),
        (-math.sqrt(0.5), "-sqrt(2)/2"),
        (math.sqrt(2 / math.pi), "sqrt(2)/sqrt(pi)"),
        (math.pi, "pi"),
        (1 / math.pi, "1/pi"),
        (1.0507009873554805, "1.0507009873554804934193349852946"),
        (0.7071067811865, "0.7071067811865"),
        (1.2345678901234567, "1.2345678901234567"),
        (3, "3"),
    ],
)
def test_constants_in_code_are_exact(value, exact):
    found = sr.activation(lambda x: x + value).expr - sr.z
    assert found == sp.sympify(exact, rational=True)


# module or function, what its error says
REFUSED = [
    (nn.Softmax(-1), "Softmax(dim=-1): symres has no rule for the operation softmax"),
    (nn.GLU(), "GLU(dim=-1): symres has no rule for the operation glu"),
    (nn.LayerNorm(2), "symres has no rule for the operation layer_norm"),
    (nn.BatchNorm1d(2).eval(), "symres has no rule for the operation batch_norm"),
    (nn.Linear(2, 2), "symres has no rule for the operation addmm"),
    (nn.Dropout(), "Dropout(p=0.5, inplace=False): it is random"),
    (nn.RReLU(), "RReLU: it is random in training mode"),
    (nn.GELU, "GELU: it is a class; pass GELU()"),
    (lambda x: x if x.sum() > 0 else -x, "symres has no rule for the operation sum"),
    (lambda x: x if bool((x > 0).view(-1)[0]) else -x, "symres has no rule for the operation select"),
    (lambda x: x if x.view(-1) > 0 else -x, "it fails on a tensor"),
    (lambda x: (x, x), "it returns a tuple"),
    (lambda x: {"x": x}, "it returns a dict"),
    (lambda x: x > 0, "it returns truth values, not numbers"),
    (lambda x: torch.ones(2, 2), "its result does not depend on its input"),
    (lambda x: torch.zeros_like(x), "the formula does not contain z"),
    (lambda x: torch.empty_like(x) + x, "it uses a tensor whose entries were never set"),
    (lambda x: x.view(-1), "it changes the shape from (2, 2) to (4,)"),
    (lambda x, y: x, "it fails on a tensor of shape (2, 2)"),
    (lambda x: x * math.nan, "<lambda>: one of its numbers is nan"),
    (lambda x: torch.where(x < 0, -math.inf, x), "NegativeInfinity is not supported"),
    (lambda x: torch.log(x), "log(z) is not real"),
    (lambda x: torch.exp(x * x), "it has no Gaussian average"),
    (lambda x: x.long() * 0.5, "it converts its values to the type int64"),
    (lambda x: torch.div(x, 2, rounding_mode="floor"), "it divides with rounding"),
    (lambda x: x + x.flip(0), "symres has no rule for the operation flip"),
    (lambda x: x - x.mean(), "symres has no rule for the operation mean"),
    (lambda x: x * torch.randn_like(x), "it is random"),
]


@pytest.mark.parametrize(("module", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_read_is_refused(module, message):
    with pytest.raises(DeclarationError) as caught:
        sr.activation(module)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_different_parameters_are_refused_by_name():
    module = nn.Sequential(nn.PReLU(3))
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([0.1, 0.2, 0.3]))
    with pytest.raises(DeclarationError, match=r"0\.weight has 3 different values: 0\.1, 0\.2, 0\.3"):
        sr.activation(module)


def test_what_is_no_module_is_refused():
    for what in (3, [1], torch.ones(2)):
        with pytest.raises(DeclarationError):
            sr.activation(what)
    with pytest.raises(DeclarationError, match="no parameter beta"):
        sr.activation(nn.GELU(), beta=2)


@pytest.mark.parametrize(
    "function", [StraightThrough.apply, lambda x: 2 * x.detach(), lambda x: x + torch.relu(x).data]
)
def test_a_gradient_that_is_not_the_derivative_is_caught(function):
    with pytest.raises(CheckRefuted, match="its gradient is"):
        sr.activation(function)


def test_entries_that_depend_on_others_are_caught():
    def rows(x):
        y = x.clone().view(2, -1) if x.shape == (2, 2) else torch.cumsum(x, 0)
        return y.view(x.shape)

    with pytest.raises(CheckRefuted, match="its value is"):
        sr.activation(rows)


def _changed(name, change):
    """The table of operations with one entry sabotaged."""
    original = operations.OPERATIONS[name]
    return {**operations.OPERATIONS, name: lambda *args, **kwargs: change(original(*args, **kwargs))}


@pytest.mark.parametrize(
    ("module", "name", "change"),
    [
        (nn.GELU(), "gelu", lambda e: e.subs(sp.sqrt(2), sp.Rational("1.4142"))),
        (nn.GELU(), "gelu", lambda e: e * sp.Rational("1.000001")),
        (nn.Tanh(), "tanh", lambda e: -e),
        (nn.Softshrink(), "softshrink", lambda e: e.subs(sp.Rational(1, 2), sp.Rational("0.50001"))),
        (nn.SELU(), "elu", lambda e: e * (1 + sp.Rational(1, 10**9))),
        (nn.Hardtanh(), "hardtanh", lambda e: sp.Max(e, sp.Rational("-0.99"))),
        (nn.Softplus(), "softplus", lambda e: e + sp.Rational(1, 10**10)),
    ],
)
def test_a_sabotaged_formula_is_caught(monkeypatch, module, name, change):
    monkeypatch.setattr("symres.torch.activations.symbolic_tensor.OPERATIONS", _changed(name, change))
    with pytest.raises(CheckRefuted, match="its value is"):
        sr.activation(module)
