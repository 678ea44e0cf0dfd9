"""Every operation that the printers can spell is executed and compared with mpmath."""

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
import torch

from symres.codegen.emission.emitter import Emitter
from symres.codegen.stable.primitives import Atan2
from symres.codegen.targets.jax import TARGET as jax_target
from symres.codegen.targets.jax.dialect import JAX
from symres.codegen.targets.numpy import TARGET as numpy_target
from symres.codegen.targets.numpy.dialect import NUMPY
from symres.codegen.targets.torch import TARGET as torch_target
from symres.codegen.targets.torch.dialect import TORCH
from symres.core.symbols import K1, K2, C, K, z
from symres.functions.companions import Erfcx, ExpCosh, ExpCoshm1, Expm1, ExpSinh, Log1p, Sigmoid, Softplus
from tests.shared import runtime

NAMES = {K: "K", K1: "K1", K2: "K2", C: "C", z: "z"}
POINTS = {"K": [0.3, 1.3, 2.5], "K1": [0.7, 1.2, 3.0], "K2": [1.1, 0.4, 2.0], "C": [-0.2, 0.5, 1.9]}
POINTS["z"] = [-1.5, 0.3, 2.0]
PLAIN = [
    sp.Integer(3), sp.Rational(-1, 3), sp.pi, sp.sqrt(2) * K, -K, K - C, -K - C, 2 * (K + C), K * C / 3, C / (K * K1),
    1 / K, -1 / K, K**2, K**3, K**5, K**-2, sp.sqrt(K), 1 / sp.sqrt(K), K ** sp.Rational(3, 2),
    (K + 1) ** sp.Rational(-5, 2),
    K ** sp.Rational(1, 3), K**K1, K / (1 + C**2) / (1 + K1), (K + C) * (K1 - C) / (K2 + 1),
    K * sp.sqrt(K1) * sp.sqrt(K2),
    (C - K) ** 2 * (C - K), -(C - K) / 2, (K - C / 2) - (K1 - 3 * C), 1 - (1 - (1 - K) ** 2) ** 2, sp.E**2 * K,
    sp.exp(K) - sp.exp(-K), sp.log(K), sp.sin(z), sp.cos(z), sp.tan(z), sp.sinh(z), sp.cosh(z), sp.tanh(z),
    sp.asin(z / 4),
    sp.acos(z / 4), sp.atan(z), sp.asinh(z), sp.erf(z), sp.erfc(z), sp.Abs(z), sp.sign(z),
    sp.exp(-(K1 + K2) / 2) * sp.sinh(C) * sp.erf(C) ** 2,
]  # fmt: skip
STABLE = [
    (Atan2(C, K), lambda v: mp.atan2(v["C"], v["K"])),
    (Atan2(sp.sqrt(K), -C), lambda v: mp.atan2(mp.sqrt(v["K"]), -v["C"])),
    (Expm1(C), lambda v: mp.expm1(v["C"])),
    (Log1p(K), lambda v: mp.log1p(v["K"])),
    (Erfcx(K), lambda v: mp.exp(v["K"] ** 2) * mp.erfc(v["K"])),
    (ExpSinh(-K, C), lambda v: mp.exp(-v["K"]) * mp.sinh(v["C"])),
    (ExpCosh(-K, C), lambda v: mp.exp(-v["K"]) * mp.cosh(v["C"])),
    (ExpCoshm1(-K, C), lambda v: mp.exp(-v["K"]) * (mp.cosh(v["C"]) - 1)),
    (Sigmoid(z), lambda v: 1 / (1 + mp.exp(-v["z"]))),
    (Softplus(z), lambda v: mp.log(1 + mp.exp(v["z"]))),
]
CATALOGUE = [(e, None) for e in PLAIN] + STABLE


def function(dialect, expr):
    """The expression as a function of the target library, and how to make its arrays."""
    lines = Emitter(dialect, NAMES).function([("return", expr)])
    body = "\n".join(["def f(K, K1, K2, C, z):", *(f"    {line}" for line in lines)])
    space = runtime(numpy_target if dialect is NUMPY else torch_target, *lines)
    exec(body, space)
    return space["f"], np.array if dialect is NUMPY else lambda v: torch.tensor(v, dtype=torch.float64)


def expected(expr, oracle):
    with mp.workdps(30):
        for i in range(3):
            values = {name: mp.mpf(v[i]) for name, v in POINTS.items()}
            if oracle is not None:
                yield float(oracle(values))
            else:
                yield float(expr.evalf(30, subs={s: sp.Float(values[n], 30) for s, n in NAMES.items()}))


@pytest.mark.parametrize("dialect", [NUMPY, TORCH], ids=lambda d: d.name)
@pytest.mark.parametrize(("expr", "oracle"), CATALOGUE, ids=[str(e) for e, _ in CATALOGUE])
def test_operation_is_spelled_right(dialect, expr, oracle):
    f, array = function(dialect, expr)
    found = f(**{name: array(values) for name, values in POINTS.items()})
    found = np.broadcast_to(np.asarray(found, dtype=float), (3,))
    np.testing.assert_allclose(found, list(expected(expr, oracle)), rtol=4e-15)


def test_operations_are_spelled_right_in_jax():
    """All in one function, which is compiled once."""
    jax = pytest.importorskip("jax")
    catalogue = [*CATALOGUE, (sp.Max(z, 0), lambda v: max(v["z"], 0)), (sp.Min(z, 0), lambda v: min(v["z"], 0))]
    lines = Emitter(JAX, NAMES).function([(f"r{i}", expr) for i, (expr, _) in enumerate(catalogue)])
    lines.append(f"return [{', '.join(f'r{i} + 0.0*K' for i in range(len(catalogue)))}]")
    space = runtime(jax_target, *lines)
    exec("\n".join(["def f(K, K1, K2, C, z):", *(f"    {line}" for line in lines)]), space)
    with jax_target.in_double_precision():
        found = jax.jit(space["f"])(**{name: np.array(values) for name, values in POINTS.items()})
    for value, (expr, oracle) in zip(found, catalogue, strict=True):
        np.testing.assert_allclose(value, list(expected(expr, oracle)), rtol=4e-15, err_msg=str(expr))


def test_maximum_is_spelled_in_numpy():
    (line,) = Emitter(NUMPY, NAMES).function([("return", sp.Max(z, 0, C))])
    assert eval(line.removeprefix("return "), {"np": np, "z": np.array([-1.0, 2.0]), "C": -3.0}).tolist() == [0.0, 2.0]


def test_infinity_is_spelled():
    assert Emitter(NUMPY, NAMES).function([("return", sp.oo)]) == ["return np.inf"]
    assert Emitter(TORCH, NAMES).function([("return", -sp.oo)]) == ["return -math.inf"]
