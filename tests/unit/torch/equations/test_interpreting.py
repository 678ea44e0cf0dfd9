"""Functions of tensors as forward equations: what is read, and what is refused although it looks alike."""

import pytest
import sympy as sp
import torch
from torch.nn import functional

import symres as sr
from symres.torch.equations.formula_values import NotRead
from symres.torch.equations.interpreting import Interpreter
from symres.torch.models.call_arguments import CallArguments
from symres.torch.tracing.recording import record_run
from tests.oracles.torch_blocks import Computed

N = 6
W = torch.randn(N, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
V = torch.randn(N, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
U = torch.randn(2 * N, N, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
B = torch.randn(N, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
KNOWN = {}  # activations that were read
C1, C2 = (sp.Symbol(f"C_W{i}", positive=True) for i in (1, 2))
B1, B2 = (sp.Symbol(f"C_b{i}", nonnegative=True) for i in (1, 2))


def read(function, shape=(3, 5, N), axis=-1):
    x = torch.randn(shape, dtype=torch.float64)
    record = record_run(Computed(function), CallArguments.of(x))
    return Interpreter(record, KNOWN, 0, axis).read(record.calls, record.output)


def dense(u, C_W=sr.C_W, C_b=sr.C_b, width=1):
    return sr.Dense(u, C_W, C_b, width)


def linear(x, weight=W):
    return functional.linear(x, weight)


def mean(x):
    return x.mean(-1, keepdim=True)


def layer_norm(x):
    return (x - mean(x)) / torch.sqrt(mean((x - mean(x)) ** 2) + 1e-3)


def rms_norm(x):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


relu, tanh, sigmoid = (sr.activation(name) for name in ("relu", "tanh", "sigmoid"))
READ = {
    "linear": (lambda x: functional.linear(x, W, B), dense(sr.z)),
    "matrix product": (lambda x: x @ W.T + 0 * x, dense(sr.z)),
    "addmm": (lambda x: torch.addmm(B, x.view(-1, N), W).view(x.shape), dense(sr.z)),
    "activation": (lambda x: linear(torch.relu(x)), dense(relu(sr.z))),
    "method": (lambda x: linear(x.clamp(min=0)), dense(relu(sr.z))),
    "scaled": (lambda x: x / 2 - 3 * linear(torch.tanh(x)), sr.z / 2 - 3 * dense(tanh(sr.z))),
    "gate": (
        lambda x: x + torch.sigmoid(linear(x)) * linear(x, V),
        sr.z + sigmoid(dense(sr.z, C1, B1)) * dense(sr.z, C2, B2),
    ),
    "cube": (lambda x: linear(x * x * x), dense(sr.activation("cube")(sr.z))),
    "layer norm": (lambda x: functional.layer_norm(x, (N,), eps=0.5), sr.LayerNorm(sr.z, "1/2")),
    "constant weights": (lambda x: functional.layer_norm(x, (N,), torch.full((N,), 2.0).double()),
                         2 * sr.LayerNorm(sr.z, "1e-5")),
    "own layer norm": (layer_norm, sr.LayerNorm(sr.z, "1e-3")),
    "own layer norm with var": (
        lambda x: (x - mean(x)) * (x.var(-1, unbiased=False, keepdim=True) + 1e-3).pow(-0.5),
        sr.LayerNorm(sr.z, "1e-3"),
    ),
    "own rms norm": (rms_norm, sr.RMSNorm(sr.z, "1e-6")),
    "scaled rms norm": (lambda x: 3 * x / (x.square().mean(-1, keepdim=True) + 1e-2).sqrt(),
                        3 * sr.RMSNorm(sr.z, "1e-2")),
    "there and back": (lambda x: linear(torch.tanh(x.transpose(0, 1))).transpose(0, 1) + x,
                       sr.z + dense(tanh(sr.z))),
    "not the axis of the neurons": (lambda x: torch.tanh(x.movedim(-1, 0)).movedim(0, -1) @ W, dense(tanh(sr.z))),
    "halves": (
        lambda x: x + torch.relu(linear(x, U)[..., :N]) * linear(x, V),
        sr.z + relu(dense(sr.z, C1, B1)) * dense(sr.z, C2, B2),
    ),
    "gated unit": (lambda x: functional.glu(linear(x, U)), dense(sr.z, C1, B1) * sigmoid(dense(sr.z, C2, B2))),
    "types": (lambda x: x.to(torch.float64) + linear(torch.tanh(x.double()).type_as(x)), sr.z + dense(tanh(sr.z))),
    "whole slice": (lambda x: linear(x[...]), dense(sr.z)),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_equations(name):
    function, expected = READ[name]
    found = read(function)
    assert sr.Layer(sr.Dense(found.expression)) == sr.Layer(sr.Dense(expected)), found.expression
    assert found.axis == -1


def test_one_draw_used_twice_is_one_draw():
    def function(x):
        h = linear(x)
        return linear(torch.sigmoid(h) * h, V)

    h = sr.Dense(sr.z, C1, B1)
    assert sr.Layer(read(function).expression) == sr.Layer(dense(sr.activation("silu")(h), C2, B2))


def test_convolution():
    kernel = torch.randn(N, N, 3, 3, dtype=torch.float64)
    found = read(lambda x: functional.conv2d(torch.relu(x), kernel, padding=1), (2, N, 5, 5), None)
    assert sr.Layer(found.expression) == sr.mlp("relu")
    assert found.axis == -3 and found.dense[0].made.fan_in == 9 * N


REFUSED = {
    "other positions": lambda x: x[:, :3] + x[:, 2:],
    "shifted": lambda x: x + x.roll(1, 1),
    "transposed": lambda x: x[:, :3] + x[:, :3].transpose(0, 1),
    "positions mixed": lambda x: x + linear(x.transpose(1, 2), torch.ones(5, 5).double()).transpose(1, 2),
    "averages over positions": lambda x: x - x.mean(1, keepdim=True),
    "variance with n - 1": lambda x: x / (x.var(-1, keepdim=True) + 1e-3).sqrt(),
    "standard deviation": lambda x: x / x.std(-1, keepdim=True),
    "epsilon outside of the root": lambda x: x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-3),
    "softmax": lambda x: linear(torch.softmax(x, -1)),
    "sorted": lambda x: linear(x.sort(dim=-1).values),
    "sum of neurons": lambda x: x * x.sum(-1, keepdim=True),
    "constant vector": lambda x: x * B,
    "constant in positions": lambda x: x + torch.randn(5, 1).double(),
    "heads": lambda x: x.view(3, 5, 2, 3).transpose(1, 2).reshape(3, 5, 6),
    "weights twice": lambda x: linear(torch.relu(linear(x))),
    "neurons of the stream": lambda x: torch.cat([x[..., :3] * x[..., 3:], x[..., :3]], -1),
    "overlapping parts": lambda x: linear(x, U)[..., :N] * linear(x, U)[..., 3 : N + 3],
    "products of values": lambda x: x @ (x.transpose(1, 2) @ x),
    "uneven at the end of a sum": lambda x: x + functional.layer_norm(x, (N,), B),
    "groups": lambda x: functional.conv1d(x.transpose(1, 2), torch.ones(N, 1, 1).double(), groups=N),
    "quotient": lambda x: linear(x) / (1 + linear(x, V) ** 2),
    "mask": lambda x: torch.where(torch.rand(3, 5, N) > 0.5, x, 0.0),
    "dropout is active": lambda x: functional.dropout(x, 0.5, True),
    "argmax": lambda x: x * x.argmax(-1, keepdim=True),
    "fourier": lambda x: torch.fft.fft(x).real,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(NotRead) as problem:
        read(REFUSED[name])
    assert problem.value.reason and "\n" not in problem.value.reason


def test_norms_with_uneven_weights_go_into_the_dense_layer_behind_them():
    found = read(lambda x: linear(functional.layer_norm(x, (N,), B, B)))
    (use,) = found.dense
    square = float(B.square().mean())
    assert (use.scale, use.shift) == (pytest.approx(square), pytest.approx(square))
    assert sr.Layer(found.expression) == sr.Layer(dense(sr.LayerNorm(sr.z, "1e-5")))
